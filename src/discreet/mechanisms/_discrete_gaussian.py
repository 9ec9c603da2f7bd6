"""Discrete Gaussian noise: concentrated differential privacy for integer vectors, by L2 sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._integers import add_noise
from discreet.mechanisms._root import root_up
from discreet.mechanisms._sensitivity import l2_squared_of, level_of
from discreet.noise import MIN_SCALE, discrete_gaussian, scale_in_range
from discreet.privacy import Loss, Rho, budget_of
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["DiscreteGaussian"]

_NAMES = {"pure": "epsilon", "approx": "epsilon", "mu": "mu"}

_SMALL = 32
"""Below this sigma, sums over the support; from it on, bounds by the continuous Gaussian."""


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian:
    """Adds independent noise x to each integer, with probability proportional to exp(−x² / (2 sigma²)), exactly.

    `sigma` is in units of the integers, from 0.001 to 2**56, otherwise `ParameterError`. A release costs
    ρ = (L2 sensitivity)² / (2 sigma²). Source: Canonne, Kamath and Steinke 2020; ``proofs/discrete_gaussian.md``.

    >>> DiscreteGaussian(sigma=10).loss(sensitivity=1)
    Rho(r=Fraction(1, 200), at_delta=Fraction(0, 1))
    """

    sigma: Fraction

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", scale_in_range(sigma, "sigma"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> DiscreteGaussian:
        """The mechanism with the least sigma, to 2**−40 of itself, whose loss is at most the ρ of `spend`.

        `sensitivity` is the L2 norm, or `Norms`, whose square is exact. Where less than the least sigma would do,
        sigma is 0.001. Costs no privacy. Raises `ParameterError` for a spend in ε, which no Gaussian noise meets
        exactly, for a sensitivity below 0 and if sigma would be above 2**56.
        Source: sigma² ≥ Δ₂² / (2ρ), Canonne, Kamath and Steinke 2020, Theorem 14.

        >>> from discreet.privacy import rho
        >>> DiscreteGaussian.calibrate(rho(0.005), sensitivity=1)
        DiscreteGaussian(sigma=Fraction(10, 1))
        """
        kind, (allowed, *_) = budget_of(spend)
        if kind != "rho":
            raise ParameterError(
                f"discrete Gaussian noise is calibrated to a rho, and this spend is in {_NAMES[kind]}; "
                "spend dp.rho(rho), or use DiscreteLaplace or Gaussian"
            )
        if allowed <= 0:
            raise ParameterError("rho must be greater than 0")
        return cls(max(root_up(l2_squared_of(sensitivity) / (2 * allowed)), MIN_SCALE))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """ρ = sensitivity² / (2 sigma²), where neighbours' values are at most `sensitivity` apart in L2 norm.

        Holds for one number and for a vector alike. Raises `ParameterError` if the sensitivity is below 0.
        Source: Canonne, Kamath and Steinke 2020, Theorems 4 and 14.
        """
        return Rho(l2_squared_of(sensitivity) / (2 * self.sigma**2), Fraction(0))

    @overload
    def release(self, value: int) -> int: ...
    @overload
    def release(self, value: NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def release(self, value: Sequence[int]) -> list[int]: ...
    def release(self, value: int | Sequence[int] | NDArray[Any]) -> int | list[int] | NDArray[Any]:
        """The value with fresh noise on each entry: an int, a list, or an array of Python ints of the same shape.

        Integers may be of any size. Costs `loss(sensitivity)`, **and charges nobody**: this is the raw toolbox.
        Raises `ParameterError` for anything but whole numbers. Source: ``proofs/discrete_gaussian.md``.

        >>> DiscreteGaussian("1/1000").release((2**100, -7))
        [1267650600228229401496703205376, -7]
        """
        return add_noise(value, lambda size: discrete_gaussian(self.sigma, size))

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
