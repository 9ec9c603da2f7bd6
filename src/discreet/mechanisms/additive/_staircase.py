"""Discrete staircase noise: of all noises with the same pure ε, the one with the least error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import cost_of, epsilon_within, level_of, one_move, positive_of
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import least, sums, whole_in
from discreet.mechanisms.numeric._roots import powers
from discreet.noise import MAX_SCALE, MIN_SCALE, scale_in_range, staircase
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["Staircase"]

_BITS = 512


@dataclass(frozen=True, slots=True, init=False)
class Staircase(IntegerRelease):
    """Adds noise x with probability proportional to exp(−ε) for each stair on which |x| is above the lowest.

    The lowest stair is 0 ≤ |x| < `step`, and each of the next is `sensitivity` wide. For a single number that moves by
    at most `sensitivity`, no other noise with pure ε has a smaller mean of |x|; at large ε it errs far less than
    discrete Laplace noise, which it is for sensitivity 1.

    Parameters
    ----------
    epsilon
        From 2**−56 to 1000.
    sensitivity
        How far one entry moves: a whole number from 1 to 2**56, at most 2**56 ε.
    step
        From 1 to `sensitivity`; or which mean is to be the least, that of the ``"absolute"`` or of the ``"squared"``
        noise.

    Raises `ParameterError` for an argument out of its range. Source: Geng and Viswanath 2016, for integers;
    ``proofs/staircase.md``.

    >>> Staircase(epsilon=5, sensitivity=100)
    Staircase(epsilon=5, sensitivity=100, step=8)
    """

    epsilon: Fraction
    sensitivity: int
    step: int

    __repr__ = call_repr

    def __init__(
        self, epsilon: Number, sensitivity: int, step: int | Literal["absolute", "squared"] = "absolute"
    ) -> None:
        exact = positive_of(epsilon, "epsilon")
        scale = scale_in_range(1 / exact, "1 / epsilon")
        width = whole_in(sensitivity, "sensitivity", 1, int(min(MAX_SCALE, MAX_SCALE / scale)))
        if isinstance(step, str) and step in _MOMENTS:
            step = _best_step(exact, width, _MOMENTS[step])
        if isinstance(step, str):
            raise ParameterError(f"step must be a whole number, 'absolute' or 'squared', got {step!r}")
        for name, value in (("epsilon", exact), ("sensitivity", width), ("step", whole_in(step, "step", 1, width))):
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(
        cls, spend: Loss, sensitivity: Number | Norms, *, step: Literal["absolute", "squared"] = "absolute"
    ) -> Staircase:
        """The mechanism with the largest ε, at most 1000, that the spend allows, and with the best step for it.

        A spend in (ε, δ) is taken at its ε, one in ρ or μ at the pure ε that it pays for. A sensitivity below 1 counts
        as 1. With `Norms`, several entries may share the move, and the best is discrete Laplace noise, which is what is
        made. Costs no privacy. Raises `ParameterError` for a spend of nothing and for a sensitivity below 0 or above
        2**56 ε. Source: ``proofs/staircase.md``.

        >>> from discreet.privacy import pure
        >>> Staircase.calibrate(pure(1), sensitivity=10, step="squared")
        Staircase(epsilon=1, sensitivity=10, step=5)
        """
        entries, move = one_move(sensitivity)
        epsilon = epsilon_within(spend, per_rho=2) / max(entries, 1)
        return cls(min(epsilon, 1 / MIN_SCALE), max(move, 1), step)

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """Pure ε · ⌈k/Δ⌉ for one entry that moves by k, Δ being the sensitivity that the noise was made for.

        A number says how far one entry moves, while the others stay; with `Norms` several may share the move, and each
        of its units costs ε. Integers move by whole numbers, so a sensitivity is rounded down to one. Raises
        `ParameterError` if it is below 0. Source: ``proofs/staircase.md``.

        >>> Staircase(epsilon=1, sensitivity=10).loss(10), Staircase(epsilon=1, sensitivity=10).loss(11)
        (pure(1), pure(2))
        """
        return PureLoss(cost_of(sensitivity, lambda move: self.epsilon * -(-move // self.sensitivity)))

    def _released(self, values: list[int]) -> list[int]:
        return sums(values, staircase(self.epsilon, self.sensitivity, self.step, len(values)))

    def error(self, level: Number = 0.95) -> int:
        """The least k such that one entry's noise is within ±k with probability `level` or more.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: ``proofs/staircase.md``.

        >>> Staircase(5, 100).error(), Staircase(5, 100).error(0.99)
        (47, 96)
        """
        miss = 1 - level_of(level)
        power = powers(
            1 / self.epsilon, 256 + math.ceil(1 / miss).bit_length() + 2 * math.ceil(1 / self.epsilon).bit_length()
        )
        width, step = self.sensitivity, self.step
        low, high = power(1)
        total = 2 * step + 2 * low * (width - step) - (1 - low)

        def enough(k: int) -> bool:
            stair, place = divmod(k + 1 + width - step, width)
            return 2 * power(stair)[1] * ((width - place) * (1 - low) + width * high) <= miss * total

        return least(enough)

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in float precision."""
        return math.sqrt(_mean(self.epsilon, self.sensitivity, self.step, 2))


_MOMENTS: dict[str, int] = {"absolute": 1, "squared": 2}


def _best_step(epsilon: Fraction, width: int, moment: int) -> int:
    """The step with the least mean of |x|**moment: the mean falls, then rises with the step."""

    def rising(k: int) -> bool:
        return k + 1 >= width or _mean(epsilon, width, k + 2, moment) >= _mean(epsilon, width, k + 1, moment)

    return least(rising) + 1


def _mean(epsilon: Fraction, width: int, step: int, moment: int) -> Fraction:
    """The mean of |x|**moment, moment 1 or 2, to 100 digits or so: places in a stair, and stairs, add up apart."""
    b = powers(1 / epsilon, _BITS)(1)[1]
    stairs = (1 / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3)
    places = [(1 - b) * below + b * total for below, total in zip(_sums(step), _sums(width), strict=True)]
    means = (
        stairs[0] * places[0],
        width * stairs[1] * places[0] + stairs[0] * places[1],
        width**2 * stairs[2] * places[0] + 2 * width * stairs[1] * places[1] + stairs[0] * places[2],
    )
    return 2 * means[moment] / (2 * means[0] - 1)


def _sums(n: int) -> tuple[int, int, int]:
    """Σ j^p over j = 0, …, n − 1, for p = 0, 1, 2."""
    return n, n * (n - 1) // 2, n * (n - 1) * (2 * n - 1) // 6
