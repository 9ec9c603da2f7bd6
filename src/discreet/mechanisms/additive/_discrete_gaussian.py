"""Discrete Gaussian noise: its own loss for one integer, concentrated differential privacy for vectors of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import l2_squared_of, level_of, whole_steps
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.numeric._integers import sums
from discreet.mechanisms.numeric._roots import root_up
from discreet.noise import MAX_SCALE, MIN_SCALE, discrete_gaussian, scale_in_range
from discreet.privacy import ApproxLoss, DiscreteGaussianLoss, Loss, RhoLoss, budget_of, solve
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["DiscreteGaussian"]

_NAMES = {"pure": "a pure epsilon", "approx": "an epsilon without a delta", "mu": "mu"}

_MOST_STEPS = 10**15
"""Moves that a loss in whole steps is kept for; larger ones are charged by ρ."""

_ROOM = 100
"""How many times the sigma of continuous noise could be needed, and far more."""

_SMALL = 32
"""Below this sigma, sums over the support; from it on, bounds by the continuous Gaussian."""


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(IntegerRelease):
    """Adds independent noise x to each integer, with probability proportional to exp(−x² / (2 sigma²)), exactly.

    `sigma` is in units of the integers, from 0.001 to 2**56, otherwise `ParameterError`. A number as sensitivity is how
    far **one number** moves; for a vector give `Norms`, as the loss of one entry does not bound that of several.
    Source: Canonne, Kamath and Steinke 2020; ``proofs/discrete_gaussian.md``.

    >>> DiscreteGaussian(sigma=10).loss(sensitivity=1).rho()
    0.005
    """

    sigma: Fraction

    __repr__ = call_repr

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", scale_in_range(sigma, "sigma"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> DiscreteGaussian:
        """The mechanism with about the least sigma whose loss is within `spend`.

        For ρ, to 2**−40 of sigma. For (ε, δ) and one number, to 1e-4, by the certified δ of the discrete noise itself:
        the formula for continuous noise understates it. For (ε, δ) and `Norms`, to 1e-4, by the certified δ of the ρ;
        `Gaussian` needs less there. Where less than the least sigma would do, sigma is 0.001. Costs no privacy. Raises
        `ParameterError` for a pure ε, which no Gaussian noise meets, for a μ, for a sensitivity below 0 and if sigma
        would be above 2**56.
        Source: sigma² ≥ Δ₂² / (2ρ), Canonne, Kamath and Steinke 2020, Theorem 14; ``proofs/discrete_gaussian.md``.

        >>> from discreet.privacy import approx, rho
        >>> DiscreteGaussian.calibrate(rho(0.005), sensitivity=1)
        DiscreteGaussian(sigma=10)
        >>> round(float(DiscreteGaussian.calibrate(approx(1, 1e-5), sensitivity=1).sigma), 3)  # 3.731 is not enough
        3.741
        """
        match budget_of(spend):
            case "rho", (allowed, _):
                if allowed <= 0:
                    raise ParameterError("rho must be greater than 0")
            case "approx", (epsilon, delta) if delta > 0:
                if epsilon <= 0:
                    raise ParameterError("epsilon must be greater than 0")
                return cls._within(ApproxLoss(epsilon, delta), sensitivity)
            case kind, _:
                raise ParameterError(
                    f"discrete Gaussian noise is calibrated to a rho or to an epsilon with a delta, and this spend is "
                    f"in {_NAMES[kind]}; spend dp.rho(rho) or dp.approx(epsilon, delta), or use DiscreteLaplace or "
                    "Gaussian"
                )
        return cls(max(root_up(_squared(sensitivity) / (2 * allowed)), MIN_SCALE))

    @classmethod
    def _within(cls, spend: ApproxLoss, sensitivity: Number | Norms) -> DiscreteGaussian:
        """The least sigma, nearly, by a search that leaves from what continuous noise would need."""
        start = Gaussian.calibrate(spend, sensitivity if isinstance(sensitivity, Norms) else whole_steps(sensitivity))
        if start.sigma <= 4 * MIN_SCALE and cls(MIN_SCALE).loss(sensitivity).fits(spend):
            return cls(MIN_SCALE)

        def at(ratio: float) -> DiscreteGaussian:
            return cls(min(max(start.sigma * Fraction(ratio), MIN_SCALE), MAX_SCALE))

        low, high = float(MIN_SCALE / start.sigma), float(MAX_SCALE / start.sigma)
        if high < _ROOM and not cls(MAX_SCALE).loss(sensitivity).fits(spend):
            raise ParameterError("sigma would be above 2**56 (about 7.2e16); use a coarser grid, or spend more")
        return at(solve(lambda ratio: at(ratio).loss(sensitivity), spend, low=low, high=high))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """Of one number that moves by at most `sensitivity`: the loss of this very noise, for a move by whole steps.

        That has a certified δ at every ε, and ρ = sensitivity² / (2 sigma²); a sensitivity between two whole numbers
        is rounded up, and beyond 10**15 only the ρ is kept. Of a vector, given by `Norms`: ρ = Δ₂² / (2 sigma²).
        Raises `ParameterError` if the sensitivity is below 0.
        Source: Canonne, Kamath and Steinke 2020, Theorems 4, 7 and 14.

        >>> f"{DiscreteGaussian(3.7306).loss(1).delta(1):.3e}", DiscreteGaussian(2).loss(Norms(3, 5)).rho()
        ('1.035e-05', 0.625)
        """
        if not isinstance(sensitivity, Norms):
            steps = whole_steps(sensitivity)
            if 0 < steps <= _MOST_STEPS:
                return DiscreteGaussianLoss(self.sigma, steps)
        return RhoLoss(_squared(sensitivity) / (2 * self.sigma**2), Fraction(0))

    def _released(self, values: list[int]) -> list[int]:
        return sums(values, discrete_gaussian(self.sigma, len(values)))

    def error(self, level: Number = 0.95) -> int:
        """A k such that one entry's noise is within ±k with probability `level` or more: the least one, or one more.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: P(X > k) ≤ P(N(0, sigma²) ≥ k), Canonne, Kamath and Steinke 2020, Proposition 25; by summation where
        sigma is below 32, with a margin of 1e-12 of the tail for the floats in it.

        >>> DiscreteGaussian(10).error(0.95)
        20
        """
        miss = float(1 - level_of(level)) * (1 - 1e-12)
        if self.sigma >= _SMALL:
            from scipy.special import ndtri

            return math.ceil(-float(ndtri(miss / 2)) * float(self.sigma) * (1 + 1e-12))
        weights = self._weights()
        allowed = miss * (2 * sum(weights) - weights[0]) / 2
        tail, k = 0.0, len(weights) - 1
        while k > 0 and tail + weights[k] <= allowed:
            tail += weights[k]
            k -= 1
        return k

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in float precision; at most sigma."""
        if self.sigma >= _SMALL:
            return float(self.sigma)
        weights = self._weights()
        return math.sqrt(2 * sum(k * k * w for k, w in enumerate(weights)) / (2 * sum(weights) - weights[0]))

    def _weights(self) -> list[float]:
        """exp(−k² / (2 sigma²)) for k = 0, 1, 2, … as far as floats go."""
        rate = float(1 / (2 * self.sigma**2))
        weights: list[float] = []
        while (weight := math.exp(-rate * len(weights) ** 2)) > 0:
            weights.append(weight)
        return weights


def _squared(sensitivity: Number | Norms) -> Fraction:
    """The square of the L2 norm of a move of integers."""
    return l2_squared_of(sensitivity if isinstance(sensitivity, Norms) else whole_steps(sensitivity))
