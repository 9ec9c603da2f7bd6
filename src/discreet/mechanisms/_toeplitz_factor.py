"""A lower triangular Toeplitz matrix near the square root of the prefix-sum matrix, that a few numbers of state apply.

Its first column is 1, c₁, c₂, … with cⱼ = Σᵢ wᵢ λᵢ^(j−1): a buffered linear Toeplitz matrix (Dvijotham, McMahan,
Pillutla, Steinke and Thakurta 2024). The proofs are in ``proofs/toeplitz_counter.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from discreet.mechanisms._root import root_up

__all__ = ["PLACES", "ToeplitzFactor", "factor_for"]

PLACES = 64
"""Weights and decays are whole numbers over 2**PLACES."""

_FINE = 2 * PLACES
_NEAR, _FAR = 0.3, 0.6


@dataclass(frozen=True, slots=True)
class ToeplitzFactor:
    """Weights wᵢ and decays λᵢ between 0 and 1, both times 2**PLACES, exact."""

    weights: tuple[int, ...]
    decays: tuple[int, ...]

    def norm(self, steps: int) -> Fraction:
        """The L2 norm of the first column up to `steps` entries, which is the largest, rounded up by about 2**−40."""
        one, squared = 1 << _FINE, 1 << _FINE
        for w, decay in zip(self.weights, self.decays, strict=True):
            for v, other in zip(self.weights, self.decays, strict=True):
                ratio = decay * other
                squared += -(-w * v * (one - _power_below(ratio, steps - 1)) // (one - ratio))
        return root_up(Fraction(squared, one))

    def reach(self) -> Fraction:
        """Σᵢ wᵢ / (1 − λᵢ), the sum of all entries below the first, rounded up to a whole number."""
        one = 1 << PLACES
        return Fraction(sum(-(-w // (one - decay)) for w, decay in zip(self.weights, self.decays, strict=True)))

    def inverse_squares(self, steps: int) -> float:
        """Σ bⱼ² over the first `steps` entries of the first column of A·C⁻¹: the variance of that prefix sum."""
        rest, parts, falls = self._inverse()
        whole = rest**2 * steps + 2 * rest * float(np.sum(parts * _geometric(falls, steps)))
        return whole + float(np.outer(parts, parts).ravel() @ _geometric(_join(falls), steps))

    def inverse_sum(self, steps: int) -> float:
        """Σ bⱼ over the same entries, none of which is below 0."""
        rest, parts, falls = self._inverse()
        return rest * steps + float(np.sum(parts * _geometric(falls, steps)))

    def _inverse(self) -> tuple[float, np.ndarray, np.ndarray]:
        """b∞, pᵢ and fᵢ with bⱼ = b∞ + Σᵢ pᵢ (1 − fᵢ)ʲ; f are the eigenvalues of diag(1 − λ) + √w √wᵀ."""
        weights = np.array([w / 2**PLACES for w in self.weights])
        losses = np.array([((1 << PLACES) - decay) / 2**PLACES for decay in self.decays])
        root = np.column_stack([np.diag(np.sqrt(losses)), np.sqrt(weights)])
        falls = np.linalg.svd(root, compute_uv=False) ** 2  # keeps twice the digits of the least ones that eigh does
        parts = 1 / (falls * np.sum(weights / (losses - falls[:, None]) ** 2, axis=1))
        return 1 / (1 + float(np.sum(weights / losses))), parts, falls


def _geometric(falls: np.ndarray, steps: int) -> np.ndarray:
    """Σ (1 − f)ʲ over j < steps, for 0 < f < 1, without loss of digits."""
    return -np.expm1(steps * np.log1p(-falls)) / falls


def _join(falls: np.ndarray) -> np.ndarray:
    """The falls of products of two powers: 1 − (1 − f)(1 − g), for all pairs."""
    return (falls[:, None] + falls[None, :] - np.outer(falls, falls)).ravel()


def _power_below(ratio: int, exponent: int) -> int:
    """ratio**exponent for a ratio below 1 over 2**_FINE, rounded down."""
    power = 1 << _FINE
    while exponent:
        if exponent & 1:
            power = power * ratio >> _FINE
        ratio, exponent = ratio * ratio >> _FINE, exponent >> 1
    return power


@lru_cache(maxsize=64)
def factor_for(steps: int) -> ToeplitzFactor:
    """A factor for so many steps, with ⌈ln(steps)/2⌉ + 2 decays, or steps − 1 if that is less.

    The square root has entries cⱼ = ∫ λ^(j−1) dF(λ) with F(λ) = (θ − sin θ cos θ)/π at λ = sin² θ. Decays e^(−s) are
    geometric in s, and each takes the mass of F that is nearest to it. Floats choose the factor; what they chose is
    exact from then on.

    >>> [round(factor_for(steps).norm(steps) ** 2, 3) for steps in (1, 2, 1000)]
    [Fraction(1, 1), Fraction(5, 4), Fraction(1657, 500)]
    """
    many = min(steps - 1, math.ceil(math.log(steps) / 2) + 2)
    logs = np.linspace(math.log(_NEAR / steps), math.log(_FAR), many).tolist()
    edges = [1.0, *(math.exp(-math.exp((a + b) / 2)) for a, b in pairwise(logs)), 0.0]
    below = [_mass_below(edge) for edge in edges]
    one = 1 << PLACES
    return ToeplitzFactor(
        weights=tuple(round((a - b) * one) for a, b in pairwise(below)) if many else (),
        decays=tuple(round(math.exp(-math.exp(each)) * one) for each in logs),
    )


def _mass_below(decay: float) -> float:
    angle = math.asin(math.sqrt(decay))
    return (angle - math.sin(angle) * math.cos(angle)) / math.pi
