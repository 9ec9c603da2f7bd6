"""Discrete Laplace noise that never leaves a public bound: (ε, δ) differential privacy, by L1 sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import epsilon_within, l1_of, level_of
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import least, sums, whole_in
from discreet.mechanisms.numeric._roots import powers, second_moment
from discreet.noise import MAX_WINDOW, MIN_SCALE, laplace_in_window, scale_in_range
from discreet.privacy import ApproxLoss, Loss, PureLoss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["TruncatedLaplace"]

_LEAST_DELTA = Fraction(1, 10**300)
_DIGITS = 60  # binary ones, to which a δ is certified, if it is above 2**−4000
_MOST_BITS = 4096


@dataclass(frozen=True, slots=True, init=False)
class TruncatedLaplace(IntegerRelease):
    """Adds independent noise x to each integer, |x| ≤ bound, with probability proportional to exp(−|x| / scale).

    The error is certain to be within `bound`, and a δ pays for that: at the ends one neighbour's answers cannot be the
    other's. Where δ is not small beside ε it errs less than any other noise here; where δ is tiny, about as much as
    `DiscreteLaplace`, which needs none.

    Parameters
    ----------
    scale
        In units of the integers, from 0.001 to 2**56.
    bound
        A whole number from 0 to 2**61.

    Raises `ParameterError` for an argument out of its range. Source: Geng, Ding, Guo and Kumar 2018, on the
    integers and with exact constants; ``proofs/truncated_laplace.md``.

    >>> all(abs(x) <= 5 for x in TruncatedLaplace(scale=10, bound=5).release([0] * 1000))
    True
    """

    scale: Fraction
    bound: int

    __repr__ = call_repr

    def __init__(self, scale: Number, bound: int) -> None:
        object.__setattr__(self, "scale", scale_in_range(scale, "scale"))
        object.__setattr__(self, "bound", whole_in(bound, "bound", 0, MAX_WINDOW // 2))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> TruncatedLaplace:
        """Scale Δ₁/ε, and with it the least bound at which the exact δ is within that of `spend`.

        A spend in ρ or μ is taken at the pure ε that it pays for, with the δ beside it. Where less than the least scale
        would do, it is 0.001. Costs no privacy. Raises `ParameterError` for a spend without a δ of 1e-300 or more, for
        a sensitivity below 0, and if the scale would be above 2**56. Source: ``proofs/truncated_laplace.md``.

        >>> from discreet.privacy import approx
        >>> TruncatedLaplace.calibrate(approx(1, 1e-6), sensitivity=1)
        TruncatedLaplace(scale=1, bound=14)
        """
        _, allowed = budget_of(spend)
        delta = allowed[-1] if len(allowed) > 1 else Fraction(0)
        if delta < _LEAST_DELTA:
            raise ParameterError(
                "noise within a bound needs a delta of 1e-300 or more; spend dp.approx(epsilon, delta), or use "
                "DiscreteLaplace for a pure epsilon"
            )
        moved = _steps(sensitivity)
        scale = scale_in_range(max(moved / epsilon_within(spend, per_rho=2), MIN_SCALE), "scale")
        return cls(scale, least(lambda bound: _outside(scale, bound, moved) <= delta))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """(ε, δ) with ε = sensitivity / scale and the least δ for it, where values are that far apart in L1 norm.

        Integers move by whole numbers, so a sensitivity is rounded down to one. If the answers of neighbours may have
        nothing in common, that is (0, 1). Raises `ParameterError` if the sensitivity is below 0.
        Source: ``proofs/truncated_laplace.md``.

        >>> round(TruncatedLaplace(scale=1, bound=14).loss(1).delta(1), 9)
        3.84e-07
        """
        moved = _steps(sensitivity)
        if moved == 0:
            return PureLoss(Fraction(0))
        delta = _outside(self.scale, self.bound, moved)
        return ApproxLoss(moved / self.scale, delta) if delta < 1 else ApproxLoss(Fraction(0), Fraction(1))

    def _released(self, values: list[int]) -> list[int]:
        lowest = np.full(len(values), -self.bound, dtype=np.int64)
        return sums(values, laplace_in_window(self.scale, lowest, 2 * self.bound))

    def error(self, level: Number = 0.95) -> int:
        """The least k such that one entry's noise is within ±k with probability `level` or more, or one more.

        At most `bound`, which holds at every level. Does not depend on data and costs no privacy. Raises
        `ParameterError` unless 0 < level < 1. Source: ``proofs/truncated_laplace.md``.

        >>> TruncatedLaplace(10, 50).error(0.95)
        29
        """
        miss = 1 - level_of(level)
        power = powers(self.scale, 256 + math.ceil(1 / miss).bit_length() + 2 * math.ceil(self.scale).bit_length())
        end, total = power(self.bound + 1), 1 + power(1)[0] - 2 * power(self.bound + 1)[1]
        return least(lambda k: k >= self.bound or 2 * (power(k + 1)[1] - end[0]) <= miss * total)

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in float precision."""
        mass, square = second_moment(self.scale, self.bound)
        return math.sqrt(2 * square / (1 + 2 * mass))


def _steps(sensitivity: Number | Norms) -> int:
    return math.floor(l1_of(sensitivity))


def _outside(scale: Fraction, bound: int, moved: int) -> Fraction:
    """P(X < moved − bound), rounded up by less than 2**−60 of itself where it is above 2**−4000."""
    if moved > 2 * bound:
        return Fraction(1)
    if moved > bound + 1:
        low, _ = _end(scale, bound, 2 * bound + 1 - moved)
        return 1 - low
    return _end(scale, bound, moved)[1]


def _end(scale: Fraction, bound: int, places: int) -> tuple[Fraction, Fraction]:
    """The probability of the `places` lowest numbers, all of them 0 or less: between two rationals."""
    bits = 256 + 2 * math.ceil(scale).bit_length()
    while True:
        power = powers(scale, bits)
        (near_low, near_high), (far_low, far_high), (q_low, q_high) = map(power, (bound - places + 1, bound + 1, 1))
        low = max((near_low - far_high) / (1 + q_high - 2 * far_low), Fraction(0))
        high = (near_high - far_low) / (1 + q_low - 2 * far_high)
        if (high - low) * 2**_DIGITS <= high or bits >= _MOST_BITS:
            return _cut(low, bits), _cut(high, bits) + Fraction(1, 1 << bits)
        bits *= 2


def _cut(value: Fraction, bits: int) -> Fraction:
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)
