"""Exact numbers from numbers and texts."""

from __future__ import annotations

import math
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from numbers import Integral, Real

from discreet.errors import ParameterError

__all__ = ["Number", "decimal_text", "from_exact_text", "rational"]


Number = int | float | str | Decimal | Fraction

_MAX_DIGITS = 4_000


def rational(value: Number, name: str) -> Fraction:
    """The number that was written: a float means its printed decimal, so ``0.1`` is exactly 1/10.

    Parameters
    ----------
    value
        An int, a float, a `decimal.Decimal`, a `fractions.Fraction`, or text such as ``"0.1"``, ``"1e-6"``, ``"1/3"``.
    name
        What the number is for; it appears in the error.

    Raises
    ------
    ParameterError
        If the value is not a finite number.

    >>> rational(0.1, "epsilon") * 30 == 3
    True
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, str):
            return _from_text(value)
        if isinstance(value, Fraction):
            return value
        if isinstance(value, Decimal):
            return _from_text(str(value))
        if isinstance(value, Integral):
            return Fraction(int(value))
        if isinstance(value, Real):
            number = float(value)
            if not math.isfinite(number):
                raise ValueError
            return Fraction(str(value))
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise ParameterError(f"{name} must be a finite number, got {value!r}; write for example 0.1 or '1/10'")


def _from_text(text: str) -> Fraction:
    exponent = text.lower().partition("e")[2]
    if len(text) > _MAX_DIGITS or (exponent and abs(int(exponent)) > _MAX_DIGITS):
        raise ValueError
    return Fraction(text)


def decimal_text(value: Fraction, digits: int = 6) -> str:
    """A short decimal for people, rounded to `digits` significant digits; total on any size.

    >>> decimal_text(Fraction(1, 10)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(10) ** 400)
    ('0.1', '0.333333', '1e+400')
    """
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    near = float(rounded)
    return f"{near:.{digits}g}" if rounded == 0 or 0 < abs(near) < math.inf else f"{rounded.normalize(context):e}"


_EXACT = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")


def from_exact_text(text: object) -> Fraction:
    """The inverse of ``str`` of a fraction, for what a stranger may have written: its size and time are bounded.

    Raises `ValueError` for anything else.

    >>> from_exact_text("-3/2")
    Fraction(-3, 2)
    """
    if not isinstance(text, str) or not _EXACT.fullmatch(text) or text.endswith("/0"):
        raise ValueError("not a fraction")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("not a fraction") from None
