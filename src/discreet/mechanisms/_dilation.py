"""Noise that is moved and stretched at once: what its loss is, and how much of both a spend allows.

Neighbours' answers are at most S apart and their S are within e**β of each other; the noise has scale S / rate.
Proofs in ``proofs/smooth_sensitivity.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms._answer import power_of_two_below
from discreet.mechanisms._root import root_down
from discreet.noise import exp_bounds

__all__ = ["laplace_beta", "laplace_delta", "laplace_rate", "student_rate"]

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
