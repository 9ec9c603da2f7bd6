"""Floats as exact integers, and exact rationals as floats rounded up.

Rounding up is monotone: `round_up(a) <= round_up(b)` whenever `a <= b`, and `round_up(a) > t` exactly when `a > t` for
a float t. So comparisons between sensitivities of neighbours survive it (``proofs/local_sensitivity.md``, Rounding).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["difference_up", "integers", "round_up"]


def round_up(exact: Fraction | int) -> float:
    """The least float that is at least `exact`.

    >>> from fractions import Fraction
    >>> round_up(Fraction(1, 4)), round_up(Fraction(1, 10)) >= Fraction(1, 10)
    (0.25, True)
    """
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def difference_up(high: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    """`high - low`, each rounded up to a float; exact error terms by Knuth's TwoSum."""
    nearest = high - low
    back = nearest - high
    lost = (high - (nearest - back)) + (-low - back)
    return np.where(lost > 0, np.nextafter(nearest, np.inf), nearest)


def integers(values: NDArray[np.float64]) -> tuple[NDArray[Any], Fraction]:
    """Whole numbers m and a power of two, the unit, such that every value is exactly m units. The m are Python ints.

    >>> import numpy as np
    >>> integers(np.array([0.5, -1.25]))
    (array([2, -5], dtype=object), Fraction(1, 4))
    """
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    trailing = np.where(mantissas == 0, 0, mantissas & -mantissas)
    shifts = np.where(trailing > 0, np.frexp(np.maximum(trailing, 1).astype(np.float64))[1] - 1, 0)
    odd, powers = mantissas >> shifts, exponents.astype(np.int64) - 53 + shifts
    used = powers[mantissas != 0]
    least = int(used.min()) if used.size else 0
    further = np.where(odd == 0, 0, powers - least)
    if int(further.max(initial=0)) < 10:  # all fit a word: odd has 53 bits at most
        return (odd << further).astype(object), Fraction(2) ** least
    multiples = np.empty(len(values), dtype=object)
    multiples[:] = [m << s for m, s in zip(odd.tolist(), further.tolist(), strict=True)]
    return multiples, Fraction(2) ** least
