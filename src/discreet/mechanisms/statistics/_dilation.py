"""Noise that is moved and stretched at once: what its loss is, and how much of both a spend allows.

Neighbours' answers are at most S apart and their S are within e**β of each other; the noise has scale S / rate.
Proofs in ``proofs/smooth_sensitivity.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.mechanisms.numeric._roots import root_down
from discreet.mechanisms.statistics._answer import power_of_two_below
from discreet.noise import exp_bounds

__all__ = [
    "LogNormal",
    "fit_log_normal",
    "laplace_beta",
    "laplace_delta",
    "laplace_rate",
    "log_normal_rate",
    "log_normal_std",
    "steepest",
    "student_rate",
]


_BITS = 128
_WIDE = 1024
_DIGITS = 50
_LARGEST = Fraction(64)
_ENOUGH = Fraction(1000)


def laplace_delta(epsilon: Fraction, beta: Fraction, rate: Fraction) -> Fraction:
    """At least δ(ε) of Laplace noise, over moves of at most S and stretches of at most e**β, both ways; rounded up.

    1, which says nothing, where the narrower noise alone has a loss above ε somewhere. Floor: 2**-1024.

    >>> float(laplace_delta(Fraction(1), Fraction(1, 40), Fraction(1, 2))) < 1e-10
    True
    """
    if not 0 < rate <= epsilon or beta > _LARGEST:
        return Fraction(1)
    one = 1 << _BITS
    low, high = exp_bounds(beta, _BITS)
    if (epsilon - beta) * one < rate * high:
        return Fraction(1)
    growth = Fraction(one, low) - 1  # at least e**beta - 1
    if growth == 0:
        return Fraction(0)
    terms = (exp_bounds((epsilon + beta + side * rate) / growth, _WIDE)[1] for side in (-1, 1))
    return Fraction(one - low, one) * sum(terms) / (2 << _WIDE)


@lru_cache(maxsize=64)
def laplace_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest β up to 64, to 50 binary digits, at which noise of scale 2 S / ε is (ε, δ)."""
    return _largest(lambda beta: laplace_delta(epsilon, beta, epsilon / 2) <= delta, min(epsilon, _LARGEST))


@lru_cache(maxsize=64)
def laplace_rate(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    """The largest rate, to 50 binary digits of ε, at which noise of scale S / rate is (ε, δ); 0 if there is none."""
    return _largest(lambda rate: laplace_delta(epsilon, beta, rate) <= delta, epsilon)


@lru_cache(maxsize=64)
def student_rate(epsilon: Fraction, beta: Fraction, degrees: int) -> Fraction:
    """The largest rate, rounded down, at which noise of density ∝ (1 + y²)**(−m), m = (degrees + 1)/2, is pure ε.

    0 if there is none, which is so from degrees · β = ε on. An ε above 1000 counts as 1000.
    rate² is the lesser of 2 cosh(ε/m) − 2 and e**((ε + β)/m) + e**((degrees · β − ε)/m) − e**(2β) − 1.

    >>> round(float(student_rate(Fraction(1), Fraction(1, 2), degrees=1)), 6)
    1.042191
    """
    m, paid = (degrees + 1) // 2, min(epsilon, _ENOUGH)
    if not 0 <= degrees * beta < paid:
        return Fraction(0)
    bits = _WIDE + 4 * paid.__ceil__()
    one = 1 << bits

    def at(q: Fraction) -> tuple[Fraction, Fraction]:
        """Bounds on e**−q."""
        low, high = exp_bounds(q, bits)
        return Fraction(low, one), Fraction(high, one)

    still = at(paid / m)
    squares = (
        1 / still[1] + still[0] - 2,
        1 / at((paid + beta) / m)[1] + at((paid - degrees * beta) / m)[0] - 1 / at(2 * beta)[0] - 1,
    )
    return root_down(min(squares)) if min(squares) > 0 else Fraction(0)


def _largest(allowed: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest multiple of a power of two near 2**-50 · most that is allowed, where less is allowed if more is."""
    unit = power_of_two_below(most) / 2**_DIGITS
    low, high = 0, most // unit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle * unit) else (low, middle)
    return low * unit


LogNormal = Literal["uniform_log_normal", "laplace_log_normal"]

_ROOT_BITS = 128
_ONE = 1 << _ROOT_BITS
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
    best = min(_candidates(noises, rho, chosen), default=None)
    if best is None:
        return noises[0], chosen, Fraction(3), Fraction(0)
    _, noise, sigma = best
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
    return Fraction(_ONE, exp_bounds(q, _ROOT_BITS)[0])
