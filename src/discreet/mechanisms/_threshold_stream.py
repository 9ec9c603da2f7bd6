"""One run of the sparse vector technique: queries come one at a time, and it stops by itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from threading import Lock
from typing import Any, NoReturn

from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._integers import whole_number, whole_numbers
from discreet.noise import discrete_laplace

__all__ = ["ThresholdStream"]

_CHUNK = 1 << 14


class ThresholdStream:
    """Tells of each answer whether it is above a noisy threshold, until it has said so as often as it may.

    `AboveThreshold.start` makes it. It keeps its noisy threshold, which must stay secret, so it cannot be copied,
    pickled or used in a forked process: a second copy would answer beyond the cutoff. Threads may share it.
    Source: Lyu, Su and Li 2017, Algorithm 7; ``proofs/above_threshold.md``.
    """

    __slots__ = ("_left", "_lock", "_pid", "_query_scale", "_threshold", "_value_scale")

    def __init__(
        self,
        threshold: int,
        cutoff: int,
        *,
        threshold_scale: Fraction,
        query_scale: Fraction,
        value_scale: Fraction | None,
    ) -> None:
        self._threshold = threshold + int(discrete_laplace(threshold_scale, 1)[0])
        self._query_scale, self._value_scale = query_scale, value_scale
        self._left, self._lock, self._pid = cutoff, Lock(), os.getpid()

    @property
    def left(self) -> int:
        """How many more answers may be told above. Public: it follows from what was told."""
        return self._left

    @property
    def stopped(self) -> bool:
        """Whether the stream has ended."""
        return self._left == 0

    def ask(self, answer: int) -> bool | int | None:
        """Whether the answer is above the threshold; if numeric, its own noisy value, or `None` for below.

        Costs nothing beyond the start of the stream, **which charged nobody**: this is the raw toolbox. Raises
        `ParameterError` once the stream has stopped, in another process, and for anything but a whole number.
        Source: ``proofs/above_threshold.md``.

        >>> stream = ThresholdStream(
        ...     100, 1, threshold_scale=Fraction("0.001"), query_scale=Fraction("0.001"), value_scale=None
        ... )
        >>> stream.ask(99), stream.ask(100), stream.stopped
        (False, True, True)
        """
        exact = whole_number(answer)
        if self.stopped:
            raise ParameterError(
                "this stream has told as many answers above as its cutoff allows; "
                "start another, which costs as much again, or use a larger cutoff"
            )
        return self.ask_all([exact])[0]

    def ask_all(self, answers: Sequence[int] | NDArray[Any]) -> list[bool | int | None]:
        """As `ask` for each answer in turn, up to the one at which the stream stops: the list may be shorter.

        Costs and raises as `ask`, but an answer after the stop is left out, not refused.
        """
        exact = iter(whole_numbers(answers))
        told: list[bool | int | None] = []
        with self._lock:
            if os.getpid() != self._pid:
                raise ParameterError("a stream cannot go on in a forked process; start another there")
            while chunk := list(islice(exact, _CHUNK)):
                for answer, noise in zip(chunk, discrete_laplace(self._query_scale, len(chunk)).tolist(), strict=True):
                    if self._left == 0:
                        return told
                    above = answer + int(noise) >= self._threshold
                    self._left -= above
                    told.append(self._said(answer, above=above))
        return told

    def _said(self, answer: int, *, above: bool) -> bool | int | None:
        if self._value_scale is None:
            return above
        return answer + int(discrete_laplace(self._value_scale, 1)[0]) if above else None

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "a stream cannot be copied or pickled: both copies together would answer beyond the cutoff"
        )
