"""Noise X · e**(σY) that is moved and stretched at once: its ρ, and which σ needs the least noise.

Neighbours' answers are at most S apart and their S are within e**β of each other; the noise has scale S / rate.
Proofs in ``proofs/smooth_sensitivity.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from discreet.mechanisms._root import root_down
from discreet.noise import exp_bounds

__all__ = ["LogNormal", "fit_log_normal", "log_normal_rate", "log_normal_std", "steepest"]

LogNormal = Literal["uniform_log_normal", "laplace_log_normal"]

_BITS = 128
_ONE = 1 << _BITS
_GRID = 20  # σ is a multiple of 1/20
_RANGE = {"uniform_log_normal": range(16, 3 * _GRID + 1), "laplace_log_normal": range(1, 3 * _GRID + 1)}
_FLATTEST = {"uniform_log_normal": Fraction(4, 5), "laplace_log_normal": Fraction(9, 20)}
_VARIANCE = {"uniform_log_normal": 1 / 3, "laplace_log_normal": 2.0}
"""Of the factor X; that of e**(σY) is e**(2σ²)."""

_ROOT = Fraction(79788456, 10**8), Fraction(79788457, 10**8)
"""√(2/π) lies between these, the hazard of a standard normal at 0."""


def steepest(noise: LogNormal, sigma: Fraction) -> Fraction:
    """At least how fast the logarithm of the density of X · e**(σY) falls or rises anywhere.

    Laplace: e**(3σ²/2), attained at 0. Uniform, for σ of √(2/π) or more: √(2/π)/σ times the lesser of e**(3σ²/2) and
    e**(σ² + (σ − √(2/π))² / (2 − 4/π)).

    >>> round(float(steepest("uniform_log_normal", Fraction(4, 5))), 6)
    1.891478
    """
    published = 3 * sigma**2 / 2
    if noise == "laplace_log_normal":
        return _exp_up(published)
    low, high = _ROOT
    return high / sigma * _exp_up(min(published, sigma**2 + (sigma - low) ** 2 / (2 - 2 * high**2)))


def log_normal_rate(noise: LogNormal, rho: Fraction, beta: Fraction, sigma: Fraction) -> Fraction:
    """The largest rate, rounded down, with (β/σ)² + (rate · steepest)² ≤ 2ρ; 0 if there is none.

    >>> round(float(log_normal_rate("uniform_log_normal", Fraction(1, 2), Fraction(1, 2), Fraction(4, 5))), 4)
    0.4127
    """
    left = 2 * rho - (beta / sigma) ** 2
    return root_down(left) / steepest(noise, sigma) if left > 0 else Fraction(0)


def log_normal_std(noise: LogNormal, sigma: Fraction) -> float:
    """The standard deviation of X · e**(σY).

    >>> round(log_normal_std("laplace_log_normal", Fraction(1, 2)), 4)
    1.8159
    """
    return math.sqrt(_VARIANCE[noise]) * math.exp(sigma**2)


def fit_log_normal(
    noises: tuple[LogNormal, ...], rho: Fraction, beta: Fraction | None
) -> tuple[LogNormal, Fraction, Fraction, Fraction]:
    """The noise, β, σ and rate of the least standard deviation, for that β; a rate of 0 if no noise would do.

    If β is not given, it is the one for which the first noise is best where S falls like 1/β: σ √ρ.
    """
    chosen = _FLATTEST[noises[0]] * root_down(rho) if beta is None else beta
    found = min(_candidates(noises, rho, chosen), default=None)
    if found is None:
        return noises[0], chosen, Fraction(3), Fraction(0)
    _, noise, sigma = found
    return noise, chosen, sigma, log_normal_rate(noise, rho, chosen, sigma)


def _candidates(
    noises: tuple[LogNormal, ...], rho: Fraction, beta: Fraction
) -> Iterator[tuple[float, LogNormal, Fraction]]:
    """Standard deviation in units of S/√(2ρ), noise and σ. The numbers are public, and floats decide taste only."""
    for noise in noises:
        for sigma in (Fraction(k, _GRID) for k in _RANGE[noise]):
            left = float(max(Fraction(0), 1 - (beta / sigma) ** 2 / (2 * rho)))
            if left > 0:
                yield log_normal_std(noise, sigma) * float(steepest(noise, sigma)) / math.sqrt(left), noise, sigma


def _exp_up(q: Fraction) -> Fraction:
    return Fraction(_ONE, exp_bounds(q, _BITS)[0])
