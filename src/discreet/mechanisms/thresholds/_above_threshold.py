"""Sparse vector: which of a stream of queries are above a threshold, at a cost that depends on how many are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from threading import Lock
from typing import Any, Literal, NoReturn

from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import epsilon_within, level_of, linf_of, positive_of
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numeric._integers import whole_number, whole_numbers
from discreet.noise import MIN_SCALE, discrete_laplace, scale_in_range
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["AboveThreshold", "ThresholdStream"]


_CHUNK = 1 << 14


class ThresholdStream:
    """A running stream: whether each answer is above a noisy threshold, until `cutoff` answers were.

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
        """How many more answers may be above before the stream stops. Public: it follows from what was released."""
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
                "this stream has stopped: as many answers were above as its cutoff allows; "
                "start another, which costs as much again, or use a larger cutoff"
            )
        return self.ask_all([exact])[0]

    def ask_all(self, answers: Sequence[int] | NDArray[Any]) -> list[bool | int | None]:
        """As `ask` for each answer in turn, up to the one at which the stream stops: the list may be shorter.

        Costs and raises as `ask`, but an answer after the stop is left out, not refused.
        """
        exact = iter(whole_numbers(answers))
        results: list[bool | int | None] = []
        with self._lock:
            if os.getpid() != self._pid:
                raise ParameterError("a stream cannot go on in a forked process; start another there")
            while chunk := list(islice(exact, _CHUNK)):
                for answer, noise in zip(chunk, discrete_laplace(self._query_scale, len(chunk)).tolist(), strict=True):
                    if self._left == 0:
                        return results
                    above = answer + int(noise) >= self._threshold
                    self._left -= above
                    results.append(self._result(answer, above=above))
        return results

    def _result(self, answer: int, *, above: bool) -> bool | int | None:
        if self._value_scale is None:
            return above
        return answer + int(discrete_laplace(self._value_scale, 1)[0]) if above else None

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "a stream cannot be copied or pickled: both copies together would answer beyond the cutoff"
        )


_GRID = 1 << 20


@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold:
    """Compares whole-number answers with a threshold, both with discrete Laplace noise, until `cutoff` are above.

    Parameters
    ----------
    threshold
        A whole number, public.
    epsilon
        The pure ε of a whole stream, however many queries it answers.
    sensitivity
        Δ, in units of the answers: by how much neighbouring data move any one answer at most. `Norms`: its L∞.
    cutoff
        c: the stream stops at the c-th answer above.
    monotone
        Whether neighbouring data move all answers up, or all down, as adding a person does to counts.
    numeric
        Whether answers above come with their value. Half of ε pays for fresh noise on up to c values, 2cΔ/ε each.
    split
        Of what pays for decisions, ``"even"`` gives half to the threshold: noise 2Δ/ε there and 4cΔ/ε per query, or
        2cΔ/ε if monotone. ``"optimal"`` divides it 1 : (2c)^(2/3), or 1 : c^(2/3), which gives comparisons the least
        variance. A numeric and monotone stream has ε/2 for each of threshold, comparisons and values with any split.

    Raises `ParameterError` unless the numbers are above 0, the scales within 2**56, threshold and cutoff whole.
    Source: Lyu, Su and Li 2017, Algorithm 7 and section 4.2; ``proofs/above_threshold.md``.

    >>> search = AboveThreshold(threshold=1000, epsilon=1, sensitivity=1, cutoff=2)
    >>> search.release([0, 5000, -300, 5000, 7])
    [False, True, False, True]
    """

    threshold: int
    epsilon: Fraction
    sensitivity: Fraction
    cutoff: int
    monotone: bool
    numeric: bool
    split: Literal["even", "optimal"]

    __repr__ = call_repr

    def __init__(  # noqa: PLR0913 - one name per field
        self,
        threshold: int,
        epsilon: Number,
        sensitivity: Number | Norms,
        cutoff: int = 1,
        *,
        monotone: bool = False,
        numeric: bool = False,
        split: Literal["even", "optimal"] = "even",
    ) -> None:
        if isinstance(cutoff, bool) or not isinstance(cutoff, int) or cutoff < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"cutoff must be a whole number, 1 or more, got {cutoff!r}")
        if split not in ("even", "optimal"):
            raise ParameterError(f'split must be "even" or "optimal", got {split!r}')
        for name, value in (
            ("threshold", whole_number(threshold)),
            ("epsilon", positive_of(epsilon, "epsilon")),
            ("sensitivity", linf_of(sensitivity)),
            ("cutoff", cutoff),
            ("monotone", monotone),
            ("numeric", numeric),
            ("split", split),
        ):
            object.__setattr__(self, name, value)
        for scale in (self.threshold_scale, self.query_scale, self.value_scale):
            scale_in_range(scale or 1, "the scale of the noise")

    @classmethod
    def calibrate(  # noqa: PLR0913 - one name per field
        cls,
        spend: Loss,
        sensitivity: Number | Norms,
        *,
        threshold: int,
        cutoff: int = 1,
        monotone: bool = False,
        numeric: bool = False,
        split: Literal["even", "optimal"] = "even",
    ) -> AboveThreshold:
        """The mechanism with the largest ε that the spend allows, in its own currency: ε, (ε, δ), ρ = ε²/2, or μ.

        A spend in (ε, δ) is taken at its ε. Costs no privacy. Raises `ParameterError` as the constructor does, and for
        a spend of nothing. Source: ``proofs/above_threshold.md``.

        >>> from discreet.privacy import rho
        >>> AboveThreshold.calibrate(rho(0.125), 1, threshold=10).epsilon
        Fraction(1, 2)
        """
        epsilon = epsilon_within(spend, per_rho=2)
        return cls(threshold, epsilon, sensitivity, cutoff, monotone=monotone, numeric=numeric, split=split)

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the threshold's noise: Δ/ε₁, or 0.001 if that is larger."""
        return max(self.sensitivity / self._epsilons[0], MIN_SCALE)

    @property
    def query_scale(self) -> Fraction:
        """The scale of the noise of each comparison: 2cΔ/ε₂, or cΔ/ε₂ if monotone, or 0.001 if that is larger."""
        moves = self.cutoff if self.monotone else 2 * self.cutoff
        return max(moves * self.sensitivity / self._epsilons[1], MIN_SCALE)

    @property
    def value_scale(self) -> Fraction | None:
        """The scale of the noise of each released value: cΔ/ε₃, or 0.001 if that is larger; `None` if not numeric."""
        return max(self.cutoff * self.sensitivity / self._epsilons[2], MIN_SCALE) if self.numeric else None

    @property
    def _epsilons(self) -> tuple[Fraction, Fraction, Fraction]:
        """ε₁ for the threshold, ε₂ for the comparisons, ε₃ for the values: the proof says how they make up ε."""
        if self.numeric and self.monotone:
            return self.epsilon / 2, self.epsilon / 2, self.epsilon / 2
        decisions = self.epsilon / 2 if self.numeric else self.epsilon
        share = 1 / (1 + self._ratio)
        return decisions * share, decisions * (1 - share), self.epsilon - decisions

    @property
    def _ratio(self) -> Fraction:
        """ε₂/ε₁. Every positive number is private; k^(2/3) is the best, and 2**−20 from it is as good."""
        if self.split == "even":
            return Fraction(1)
        return Fraction(round(float(self.cutoff if self.monotone else 2 * self.cutoff) ** (2 / 3) * _GRID), _GRID)

    def loss(self) -> Loss:
        """Pure ε for a whole stream: all comparisons, however many, and the values if numeric.

        Source: Lyu, Su and Li 2017, Theorems 4 and 5; ``proofs/above_threshold.md``.

        >>> AboveThreshold(10, 0.5, 1, cutoff=3).loss()
        pure(0.5)
        """
        return PureLoss(self.epsilon)

    def start(self) -> ThresholdStream:
        """A stream with a fresh noisy threshold, that answers one query at a time, adaptively chosen.

        Starting costs `loss()` for the whole stream, **and charges nobody**: this is the raw toolbox.
        Source: ``proofs/above_threshold.md``.

        >>> stream = AboveThreshold(threshold=1000, epsilon=1, sensitivity=1, numeric=True).start()
        >>> stream.ask(0), abs(stream.ask(5000) - 5000) < 200, stream.stopped
        (None, True, True)
        """
        return ThresholdStream(
            self.threshold,
            self.cutoff,
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            value_scale=self.value_scale,
        )

    def release(self, answers: Sequence[int] | NDArray[Any]) -> list[bool | int | None]:
        """One stream over all the answers in turn, up to the one at which it stops: the list may be shorter.

        True or False for each; if numeric, a noisy value or `None`. Costs `loss()`, **and charges nobody**: this is
        the raw toolbox. Raises `ParameterError` for anything but whole numbers, before anything is drawn.
        Source: ``proofs/above_threshold.md``.
        """
        exact = whole_numbers(answers)
        return self.start().ask_all(exact)

    def error(self, level: Number = 0.95, *, queries: int = 1) -> int:
        """How far answers must be from the threshold to be compared rightly, with probability `level` or more.

        It is a k such that, with that probability, among `queries` queries before the stop, all answers at least k
        above the threshold are reported above, and all answers more than k below it are reported below.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1 and queries ≥ 1.
        Source: a union bound, half of 1 − level for the threshold; ``proofs/above_threshold.md``.

        >>> AboveThreshold(threshold=0, epsilon=1, sensitivity=1).error(queries=100)
        40
        """
        if isinstance(queries, bool) or not isinstance(queries, int) or queries < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"queries must be a whole number, 1 or more, got {queries!r}")
        miss = (1 - level_of(level)) / 2
        of_threshold = DiscreteLaplace(self.threshold_scale).error(1 - miss)
        return of_threshold + DiscreteLaplace(self.query_scale).error(1 - miss / queries)
