"""Continuous Gaussian noise, rounded exactly to the grid: Gaussian differential privacy, by L2 sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import l2_squared_of, level_of
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import sums
from discreet.mechanisms.numeric._roots import root_up
from discreet.noise import MIN_SCALE, rounded_gaussian, scale_in_range
from discreet.privacy import Loss, MuLoss, PureLoss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["Gaussian"]

_PRECISION = Fraction(1, 2**40)


@dataclass(frozen=True, slots=True, init=False)
class Gaussian(IntegerRelease):
    """Adds to each integer the rounding of an independent continuous Gaussian of standard deviation `sigma`, exactly.

    `sigma` is in units of the integers, from 0.001 to 2**56, otherwise `ParameterError`. Rounding an integer plus
    continuous noise is post-processing, so a release costs what the Gaussian mechanism costs: μ = L2 sensitivity /
    sigma, for one number and for a vector alike. Source: Dong, Roth and Su 2022, Theorem 2.7; ``proofs/gaussian.md``.

    >>> Gaussian(sigma=10).loss(sensitivity=1) == MuLoss(Fraction(1, 100))
    True
    """

    sigma: Fraction

    __repr__ = call_repr

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", scale_in_range(sigma, "sigma"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> Gaussian:
        """The mechanism with about the least sigma, to 2**−40 of itself, whose loss is within `spend`.

        For (ε, δ) by the exact curve of the Gaussian mechanism (Balle and Wang 2018, Theorem 8), at any ε; for ρ by
        μ² = 2ρ, for μ as it is. `sensitivity` is the L2 norm, or `Norms`, whose square is exact. Costs no privacy.
        Raises `ParameterError` for a pure ε, which no Gaussian noise meets, for a sensitivity below 0 and if sigma
        would be above 2**56.

        >>> from discreet.privacy import approx
        >>> round(float(Gaussian.calibrate(approx(1, 1e-5), sensitivity=1).sigma), 3)
        3.731
        """
        squared = _squared_for(spend)
        return cls(max(root_up(l2_squared_of(sensitivity) / squared), MIN_SCALE))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """μ with μ² = sensitivity² / sigma², where neighbours' values are at most `sensitivity` apart in L2 norm.

        Raises `ParameterError` if the sensitivity is below 0.
        """
        squared = l2_squared_of(sensitivity) / self.sigma**2
        return MuLoss(squared) if squared else PureLoss(Fraction(0))

    def _released(self, values: list[int]) -> list[int]:
        return sums(values, rounded_gaussian(self.sigma, len(values)))

    def error(self, level: Number = 0.95) -> int:
        """The least k such that one entry's noise is within ±k with probability `level` or more, or one more.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: P(|X| > k) = 2Φ(−(k + ½)/sigma).

        >>> Gaussian(10).error(0.95)
        20
        """
        from scipy.special import ndtri

        miss = float(1 - level_of(level)) * (1 - 1e-12)
        return max(0, math.ceil(-float(ndtri(miss / 2)) * float(self.sigma) * (1 + 1e-12) - 0.5))

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in float precision."""
        sigma = float(self.sigma)
        if sigma >= 1:
            return math.sqrt(sigma * sigma + 1 / 12)
        from scipy.special import ndtr

        reach = math.ceil(40 * sigma) + 1
        return math.sqrt(2 * sum((2 * k - 1) * float(ndtr(-(k - 0.5) / sigma)) for k in range(1, reach + 1)))


def _squared_for(spend: Loss) -> Fraction:
    """The largest μ², nearly, that the spend allows."""
    match budget_of(spend):
        case "rho", (rho, _):
            squared = 2 * rho
        case "mu", (squared, _):
            pass
        case "approx", (epsilon, delta) if delta > 0:
            squared = _by_curve(epsilon, delta)
        case _:
            raise ParameterError(
                "Gaussian noise is calibrated to a spend with a delta, a rho or a mu; spend "
                "dp.approx(epsilon, delta), dp.rho(rho) or dp.mu(mu), or use DiscreteLaplace for a pure epsilon"
            )
    if squared <= 0:
        raise ParameterError("the spend must be greater than 0")
    return squared


def _by_curve(eps: Fraction, delta: Fraction) -> Fraction:
    """The largest μ², nearly, with a certified δ(ε) of the Gaussian mechanism of at most `delta`, by bisection."""

    def fits(mu: Fraction) -> bool:
        return Fraction(MuLoss(mu * mu).delta(eps)) <= delta

    low, high = Fraction(0), Fraction(1)
    while fits(high):
        low, high = high, high * 2
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if middle.denominator > 2**1000:
            raise ParameterError("this delta is so small that no Gaussian noise is known to meet it")
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low * low
