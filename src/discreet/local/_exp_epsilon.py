"""exp(ε) as a fraction that is rounded down: never above it, and below it by less than 2**−96 of it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.noise import exp_bounds
from discreet.rational import Number, decimal_text, rational

__all__ = ["epsilon_of", "exp_epsilon"]

_LEAST, _MOST = Fraction(1, 10**6), 100
_BITS = 128


def epsilon_of(epsilon: Number) -> Fraction:
    """The exact ε of one report, from 1e-6 to 100; raises `ParameterError` for any other."""
    exact = rational(epsilon, "epsilon")
    if not _LEAST <= exact <= _MOST:
        raise ParameterError(f"epsilon of a report must be from 1e-6 to 100, got {decimal_text(exact)}")
    return exact


@lru_cache(maxsize=256)
def exp_epsilon(epsilon: Fraction) -> Fraction:
    """The largest likelihood ratio of a report: at most exp(ε), and below it by less than 2**−96 of it.

    A mechanism whose likelihood ratios are at most this has an exact ε of at most `epsilon`, and, where they attain
    it, of at least ε − 2**−96. Raises nothing for what `epsilon_of` returns.

    >>> from math import exp
    >>> float(exp_epsilon(Fraction(1))) == exp(1)
    True
    """
    bits = _BITS + 2 * -(-epsilon.numerator // epsilon.denominator)
    fall = exp_bounds(epsilon, bits)[1]
    return Fraction((1 << (bits + _BITS)) // fall, 1 << _BITS)
