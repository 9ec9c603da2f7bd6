"""How losses are written, so that `from_text` reads them back: exact numbers, and calls of constructors."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction

__all__ = ["exact_text", "root_text", "written"]

_DECIMAL = Context(prec=30, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_MOST_INTEGER = 10**16


def exact_text(value: Fraction) -> str:
    """The number exactly: a decimal if one of 30 digits is exact, else a quotient.

    >>> exact_text(Fraction(3, 2)), exact_text(Fraction(1, 10**6)), exact_text(Fraction(1, 3))
    ('1.5', '1e-06', '1/3')
    """
    if value.denominator == 1 and abs(value) < _MOST_INTEGER:
        return str(value.numerator)
    try:
        near = repr(float(value))
    except OverflowError:
        near = "inf"
    if near not in ("inf", "0.0") and Fraction(near) == value:
        return near
    try:
        decimal = _DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))
    except Inexact:
        return str(value)
    return str(decimal.normalize(_DECIMAL)).lower()


def root_text(square: Fraction) -> str:
    """The square root exactly: a number, or ``sqrt`` of one.

    >>> root_text(Fraction(9, 4)), root_text(Fraction(2))
    ('1.5', 'sqrt(2)')
    """
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return exact_text(Fraction(top, bottom))
    return f"sqrt({exact_text(square)})"


def written(name: str, *arguments: Fraction | int | str, as_node: bool = False) -> str:
    """A call. With `as_node` in square brackets: a node that its constructor would refuse or change.

    >>> written("approx", Fraction(1, 2), Fraction(0)), written("approx", Fraction(1), Fraction(3, 2), as_node=True)
    ('approx(0.5, 0)', 'approx[1, 1.5]')
    """
    left, right = "[]" if as_node else "()"
    shown = (exact_text(each) if isinstance(each, Fraction) else str(each) for each in arguments)
    return f"{name}{left}{', '.join(shown)}{right}"
