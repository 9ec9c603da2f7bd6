"""Discrete Laplace noise: pure differential privacy for integers, by L1 sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import l1_of, level_of
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import least, sums
from discreet.noise import MIN_SCALE, discrete_laplace, exp_bounds, scale_in_range
from discreet.privacy import Loss, PureLoss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(IntegerRelease):
    """Adds independent noise x to each integer, with probability proportional to exp(−|x| / scale), exactly.

    `scale` is in units of the integers, from 0.001 to 2**56, otherwise `ParameterError`. A release costs pure
    (L1 sensitivity / scale). Source: Ghosh, Roughgarden and Sundararajan 2012; ``proofs/discrete_laplace.md``.

    >>> DiscreteLaplace(scale=10).loss(sensitivity=1)
    pure(0.1)
    """

    scale: Fraction

    __repr__ = call_repr

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", scale_in_range(scale, "scale"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> DiscreteLaplace:
        """The mechanism with the least noise whose loss is at most the ε of `spend`.

        A spend in (ε, δ) is taken at its ε: this noise has no use for a δ. Where less than the least scale would do,
        the scale is 0.001. Costs no privacy. Raises `ParameterError` for a spend in ρ or μ, for a sensitivity below 0,
        and if the scale would be above 2**56. Source: scale = Δ₁/ε, ``proofs/discrete_laplace.md``.

        >>> from discreet.privacy import pure
        >>> DiscreteLaplace.calibrate(pure(0.1), sensitivity=3)
        DiscreteLaplace(scale=30)
        """
        kind, (epsilon, *_) = budget_of(spend)
        if kind not in {"pure", "approx"}:
            raise ParameterError(
                f"discrete Laplace noise is calibrated to an epsilon, and this spend is in {kind}; "
                "spend dp.pure(epsilon), or use DiscreteGaussian"
            )
        if epsilon <= 0:
            raise ParameterError("epsilon must be greater than 0")
        return cls(max(l1_of(sensitivity) / epsilon, MIN_SCALE))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """Pure ε with ε = sensitivity / scale, where neighbours' values are at most `sensitivity` apart in L1 norm.

        Raises `ParameterError` if the sensitivity is below 0. Source: ``proofs/discrete_laplace.md``.
        """
        return PureLoss(l1_of(sensitivity) / self.scale)

    def _released(self, values: list[int]) -> list[int]:
        return sums(values, discrete_laplace(self.scale, len(values)))

    def error(self, level: Number = 0.95) -> int:
        """The least k such that one entry's noise is within ±k with probability `level` or more, rounded up.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: P(|X| > k) = 2 q^(k+1) / (1 + q) with q = exp(−1/scale).

        >>> DiscreteLaplace(10).error(0.95)
        30
        """
        return _half_width(self.scale, 1 - level_of(level))

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in float precision: 1 / (√2 · sinh(1 / (2 scale)))."""
        return 1 / (math.sqrt(2) * math.sinh(float(1 / (2 * self.scale))))


@lru_cache(maxsize=1_024)
def _half_width(scale: Fraction, miss: Fraction) -> int:
    """The least k that a draw of this scale is beyond with probability `miss` or less."""
    bits = 128 + math.ceil(1 / miss).bit_length()
    q_low, _ = exp_bounds(1 / scale, bits)
    return least(lambda k: 2 * exp_bounds((k + 1) / scale, bits)[1] <= miss * ((1 << bits) + q_low))
