"""The public cells in which a suggestion counts: a fixed ladder of round numbers on both sides of zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

__all__ = ["Ladder", "cap_ladder", "floats", "value_ladder"]

_ROUND = tuple(Fraction(each) for each in ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8"))
_DECADES = 33
_LARGEST, _LARGEST_WHOLE = 18, 19
_MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Ladder:
    """Cells between `ends`, in rising order: cell i lies between ends i and i + 1, and holds the end away from zero.

    The cell of zero, if there is one, has zero at both ends; it holds what is at most `least` in size. Numbers beyond
    the ladder are in its outermost cells. Nothing here depends on data.
    """

    ends: tuple[Fraction, ...]
    least: Fraction
    integer: bool

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.ends) - 1

    @property
    def zero(self) -> int | None:
        """The cell of zero."""
        return next((i for i, (a, b) in enumerate(pairwise(self.ends)) if a == b), None)

    @property
    def middles(self) -> tuple[Fraction, ...]:
        """The middle of each cell, of its whole numbers if all are."""
        middles: list[Fraction] = []
        zero = self.zero
        for i, (below, above) in enumerate(pairwise(self.ends)):
            closed = below == above or (zero is None and i in (0, self.cells - 1))
            inside = Fraction(int(self.integer and not closed))
            middles.append((below + above + (inside if above > 0 else -inside)) / 2)
        return tuple(middles)

    def cell(self, number: exp.Expr) -> exp.Expr:
        """The cell of a number as an expression: a tree of comparisons, so that each row meets few of them.

        >>> Ladder((Fraction(0), Fraction(1), Fraction(2)), Fraction(0), True).cell(exp.column("n")).sql()
        'CASE WHEN n <= 1 THEN 0 ELSE 1 END'
        """
        zero = self.zero
        ends = list(self.ends[1:-1])
        strict = [end < 0 for end in ends]
        if zero:  # below it lie the negative numbers
            ends[zero - 1], strict[zero - 1] = -self.least, True
        if zero is not None and zero < len(ends):
            ends[zero] = self.least

        def among(first: int, last: int) -> exp.Expr:
            if first == last:
                return exp.Literal.number(first)
            middle = (first + last) // 2
            up_to = exp.LT if strict[middle] else exp.LTE
            test = up_to(this=number.copy(), expression=_literal(ends[middle]))
            return exp.Case(ifs=[exp.If(this=test, true=among(first, middle))], default=among(middle + 1, last))

        return among(0, self.cells - 1)


def value_ladder(bounds: tuple[Fraction, Fraction] | None, *, integer: bool) -> Ladder:
    """The cells for a column: 10 a decade, over all 64-bit whole numbers, or from 1e-15 to 1e18 in size.

    Declared bounds end the ladder; 33 decades below the larger of them it reaches zero.

    >>> [str(end) for end in value_ladder((Fraction(-2), Fraction(4)), integer=True).ends]
    ['-2', '-1', '0', '0', '1', '2', '3', '4']
    """
    top = _LARGEST_WHOLE if integer else _LARGEST
    if bounds is not None:
        largest = max(abs(bounds[0]), abs(bounds[1]))
        while 10**top < largest:
            top += 1
    bottom = 0 if integer else top - _DECADES
    rungs = [each * Fraction(10) ** power for power in range(bottom, top) for each in _ROUND]
    rungs = [rung for rung in (*rungs, Fraction(10) ** top) if not integer or rung.denominator == 1]
    lower, upper = bounds or (-rungs[-1], rungs[-1])
    least = Fraction(0) if integer else rungs[0]
    inner = [*(-rung for rung in reversed(rungs)), *rungs]
    if not integer:
        inner.remove(least)
        inner.remove(-least)
    inside = [rung for rung in inner if lower < rung < upper]
    if lower > 0 or upper < 0:
        return Ladder((lower, *inside, upper), least, integer)
    below = [lower, *(rung for rung in inside if rung < 0)] if lower < 0 else []
    above = [*(rung for rung in inside if rung > 0), upper] if upper > 0 else []
    return Ladder((*below, Fraction(0), Fraction(0), *above), least, integer)


def cap_ladder() -> Ladder:
    """The cells for how many rows, or groups, one person has: 1, 2, 3, … up to a million, the most that a cap can be.

    >>> [int(end) for end in cap_ladder().ends[:12]]
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20]
    """
    rungs = [each * 10**power for power in range(6) for each in _ROUND]
    caps = [*(rung for rung in rungs if rung.denominator == 1), Fraction(_MOST_ROWS)]
    return Ladder((Fraction(0), *caps), Fraction(0), integer=True)


def floats(ends: Sequence[Fraction]) -> NDArray[np.float64]:
    """Ends as doubles, for estimates."""
    return np.array(ends, dtype=np.float64)


def _literal(value: Fraction) -> exp.Expr:
    digits = exp.Literal.number(format(Decimal(abs(value).numerator) / Decimal(value.denominator), "f"))
    return exp.Neg(this=digits) if value < 0 else digits
