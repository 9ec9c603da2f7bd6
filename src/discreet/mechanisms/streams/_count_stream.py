"""One run of a continual counter: increments come one at a time, and each is answered by an estimate of their sum."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.numeric._integers import whole_number, whole_numbers

__all__ = ["MOST_STEPS", "CountStream", "CounterRelease", "drawn_in_blocks"]


MOST_STEPS = 1 << 40

_BLOCK = 1 << 10


def drawn_in_blocks(noise: Callable[[int], NDArray[np.int64]]) -> Iterator[int]:
    """The draws of ``noise(how many)``, one by one, without end."""
    while True:
        yield from map(int, noise(_BLOCK).tolist())


class CountStream:
    """Adds up increments and tells an estimate of the sum after each.

    `TreeCounter.start` and `ToeplitzCounter.start` make it. It keeps the true sum and the noise to come, which must
    stay secret, so it cannot be copied, pickled or used in a forked process: two copies that go on with the same noise
    would tell the difference of their increments. Whoever reads its memory reads the true sum (it is not pan-private).
    Threads may share it. Source: ``proofs/tree_counter.md``, ``proofs/toeplitz_counter.md``.
    """

    __slots__ = ("_left", "_lock", "_noise", "_pid", "_sum")

    def __init__(self, noise: Iterator[int], steps: int) -> None:
        self._noise, self._left, self._sum = noise, steps, 0
        self._lock, self._pid = Lock(), os.getpid()

    @property
    def left(self) -> int:
        """How many more steps it can take. Public: it follows from how many were taken."""
        return self._left

    def add(self, increment: int) -> int:
        """An estimate of the sum of all increments so far, this one included.

        Costs nothing beyond the start of the stream, **which charged nobody**: this is the raw toolbox. Raises
        `ParameterError` once all steps are taken, in another process, and for anything but a whole number.

        >>> stream = CountStream(iter([1, -2]), steps=2)
        >>> stream.add(10), stream.add(5), stream.left
        (11, 13, 0)
        """
        return self.add_all([whole_number(increment)])[0]

    def add_all(self, increments: Sequence[int] | NDArray[Any]) -> list[int]:
        """As `add` for each increment in turn: as many estimates as increments. Costs and raises as `add`.

        Too many increments are refused before any is added.
        """
        exact = whole_numbers(increments)
        if os.getpid() != self._pid:
            raise ParameterError("a stream cannot go on in a forked process; start another there")
        with self._lock:
            if len(exact) > self._left:
                raise ParameterError(
                    f"{len(exact)} increments are too many for a stream with {self._left} steps left; "
                    "make a counter of more steps"
                )
            self._left -= len(exact)
            noise = list(islice(self._noise, len(exact)))
            if len(noise) < len(exact):
                raise ParameterError("this stream was interrupted while it drew noise; start another")
            sums = list(accumulate(exact, initial=self._sum))
            self._sum = sums[-1]
        return [total + each for total, each in zip(sums[1:], noise, strict=True)]

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "a stream cannot be copied or pickled: two copies with the same noise would tell their increments apart"
        )


class CounterRelease(ABC):
    """A counter that starts streams."""

    __slots__ = ()

    @abstractmethod
    def start(self) -> CountStream:
        """A stream that takes one increment at a time."""

    def release(self, increments: Sequence[int] | NDArray[Any]) -> list[int]:
        """An estimate of the sum after each increment: one fresh stream over all of them.

        Integers may be of any size. Costs `loss(sensitivity)`, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError` for anything but whole numbers and for more than `steps` of them, before anything is drawn.
        Source: the proof note of the counter.

        >>> from discreet.mechanisms import TreeCounter
        >>> TreeCounter(steps=5, scale="1/1000").release([1, 1, 1, 2**100])
        [1, 2, 3, 1267650600228229401496703205379]
        """
        return self.start().add_all(increments)
