"""exp(−q) between two integers, at any precision."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError

__all__ = ["exp_bounds"]

_GUARD = 24


def exp_bounds(q: Fraction, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low ≤ 2**bits · exp(−q) ≤ high, for q ≥ 0; high − low is at most 2.

    Costs no privacy: it is arithmetic. Raises `ParameterError` if q is negative.
    Source: alternating Taylor series after halving the argument; ``proofs/noise.md``, section 2.

    >>> low, high = exp_bounds(Fraction(1), 20)
    >>> low <= 2**20 * 0.36787944 <= high <= low + 2
    True
    """
    if q < 0:
        raise ParameterError("exp_bounds takes q of at least 0")
    if q >= bits:  # e > 2, so exp(-q) < 2**-bits
        return 0, 1
    halvings = (q.numerator // q.denominator).bit_length() + 1
    width = bits + 2 * halvings + _GUARD
    low, high = _series((q.numerator << width) // (q.denominator << halvings), width)
    for _ in range(halvings):
        low, high = low * low >> width, -(-high * high >> width)
    extra = width - bits
    return low >> extra, min(-(-high >> extra), 1 << bits)


def _series(t: int, width: int) -> tuple[int, int]:
    """Bounds on 2**width · exp(−s) for every s from t / 2**width to (t + 1) / 2**width, where t / 2**width ≤ 1/2.

    The terms fall and alternate, so what is cut off is at most the last term, which is at most 1; a change of s by
    2**−width moves exp(−s) down by at most 2**−width, which is the other 1.
    """
    low = high = term_low = term_high = 1 << width
    k = 1
    while term_high > 1:
        term_low = (term_low * t >> width) // k
        term_high = -(-(term_high * t) // (k << width))
        if k % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
        k += 1
    return max(low - 2, 0), high + 1
