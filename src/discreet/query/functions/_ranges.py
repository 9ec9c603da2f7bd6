"""Interval arithmetic in exact numbers, rounded outward; an end may be infinite."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction

__all__ = ["ANYTHING", "LARGEST", "NOTHING", "End", "Range", "exponential", "grown", "span"]

LARGEST = Fraction(10) ** 200
End = Fraction | float
"""A fraction, or an infinity as a float."""

_DIGITS = 30
_CONTEXT = Context(prec=_DIGITS + 10, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SLACK = Fraction(1, 10**_DIGITS)
_BITS = 256
_SMALLEST = 1 / LARGEST**2


def _above(value: End) -> End:
    """The end itself, or one of some 77 digits that is not below it."""
    if isinstance(value, float) or value.denominator.bit_length() <= _BITS:
        return value
    if abs(value) <= _SMALLEST:
        return _SMALLEST if value > 0 else Fraction(0)
    scale = 1 << max(_BITS - value.numerator.bit_length() + value.denominator.bit_length(), 0)
    return Fraction(math.ceil(value * scale), scale)


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers from `lower` to `upper`, or only the whole ones.

    Ends beyond 1e200 are infinite, and those of very many digits are rounded outward.
    """

    lower: End
    upper: End
    integer: bool = False

    def __post_init__(self) -> None:
        if self.lower < -LARGEST:
            object.__setattr__(self, "lower", -math.inf)
        if self.upper > LARGEST:
            object.__setattr__(self, "upper", math.inf)
        if self.lower > LARGEST:
            object.__setattr__(self, "lower", LARGEST)
        if self.upper < -LARGEST:
            object.__setattr__(self, "upper", -LARGEST)
        object.__setattr__(self, "lower", -_above(-self.lower))
        object.__setattr__(self, "upper", _above(self.upper))

    @property
    def finite(self) -> bool:
        """Whether both ends are."""
        return not (math.isinf(self.lower) or math.isinf(self.upper))

    @property
    def largest(self) -> End:
        """The largest magnitude."""
        return max(abs(self.lower), abs(self.upper))

    def __neg__(self) -> Range:
        return Range(-self.upper, -self.lower, self.integer)

    def __add__(self, other: Range) -> Range:
        return Range(self.lower + other.lower, self.upper + other.upper, self.integer and other.integer)

    def __sub__(self, other: Range) -> Range:
        return self + -other

    def __mul__(self, other: Range) -> Range:
        corners = [_product(a, b) for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Range(min(corners), max(corners), self.integer and other.integer)

    def __truediv__(self, other: Range) -> Range:
        """The quotients; anything if the divisor may be zero."""
        if other.lower <= 0 <= other.upper:
            return ANYTHING
        inverse = self * Range(_inverse(other.upper), _inverse(other.lower))
        return Range(inverse.lower, inverse.upper)

    def __or__(self, other: Range) -> Range:
        return Range(min(self.lower, other.lower), max(self.upper, other.upper), self.integer and other.integer)

    def modulo(self, other: Range) -> Range:
        """Remainders with the sign of the dividend, which are smaller than the divisor; it is not zero."""
        most = other.largest
        integer = self.integer and other.integer
        if integer and not math.isinf(most):
            most = max(most - 1, Fraction(0))
        lower = max(self.lower, -most) if self.lower < 0 else Fraction(0)
        upper = min(self.upper, most) if self.upper > 0 else Fraction(0)
        return Range(lower, upper, integer)

    def magnitude(self) -> Range:
        """Absolute values."""
        if self.lower <= 0 <= self.upper:
            return Range(Fraction(0), self.largest, self.integer)
        return self if self.lower > 0 else -self

    def power(self, exponent: Range) -> Range:
        """Powers; anything where that may be undefined or infinite."""
        if exponent.lower == exponent.upper and isinstance(exponent.lower, Fraction):
            if exponent.lower.denominator == 1 and abs(exponent.lower) <= _MOST_STEPS:
                return self._whole_power(int(exponent.lower))
            if exponent.lower > 0:  # a negative base gives null
                base = Range(max(self.lower, Fraction(0)), max(self.upper, Fraction(0)))
                low = grown(_power, base.lower, exponent.lower)
                return Range(low.lower, grown(_power, base.upper, exponent.lower).upper)
        if self.lower <= 0:
            return ANYTHING
        corners = [grown(_power, a, b) for a in (self.lower, self.upper) for b in (exponent.lower, exponent.upper)]
        return Range(min(c.lower for c in corners), max(c.upper for c in corners))

    def _whole_power(self, exponent: int) -> Range:
        if exponent < 0:
            below = self._whole_power(-exponent)
            return Range(Fraction(1), Fraction(1)) / below
        base = self.magnitude() if exponent % 2 == 0 else self
        return Range(_times(base.lower, exponent), _times(base.upper, exponent), self.integer)


ANYTHING = Range(-math.inf, math.inf)
NOTHING = Range(Fraction(0), Fraction(0), integer=True)
"""For what is always null."""
_MOST_STEPS = 1000


def span(lower: int, upper: int) -> Range:
    """Whole numbers between two ends."""
    return Range(Fraction(lower), Fraction(upper), integer=True)


def grown(function: Callable[..., Decimal], *ends: End) -> Range:
    """A function at a point, in more digits than a double has, rounded outward."""
    context = _CONTEXT.copy()
    context.clear_flags()
    value = function(*(_decimal(end, context) for end in ends), context)
    if value.is_infinite():
        return Range(LARGEST, math.inf) if value > 0 else Range(-math.inf, -LARGEST)
    exact = Fraction(value)
    if not context.flags[Inexact]:
        return Range(exact, exact)
    slack = abs(exact) * _SLACK
    return Range(_rounded(exact - slack, up=False), _rounded(exact + slack, up=True))


def _power(base: Decimal, exponent: Decimal, context: Context) -> Decimal:
    if base == 0:
        return Decimal(0) if exponent > 0 else Decimal("Infinity")
    if base == 1 or exponent == 0:
        return Decimal(1)
    steps = context.multiply(exponent, context.ln(base)) if not base.is_infinite() else exponent * base
    return exponential(steps, context)


def exponential(value: Decimal, context: Context) -> Decimal:
    if value > 1000:
        return Decimal("Infinity")
    return context.exp(max(value, Decimal(-1000)))  # which rounds outward to zero and 1e-60


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    """A fraction nearby with a small denominator."""
    grid = 10**60
    scaled = value * grid
    return Fraction(math.ceil(scaled) if up else math.floor(scaled), grid)


def _decimal(value: End, context: Context) -> Decimal:
    if isinstance(value, float):
        return Decimal(str(value))
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _product(a: End, b: End) -> End:
    return Fraction(0) if a == 0 or b == 0 else a * b


def _inverse(value: End) -> End:
    return Fraction(0) if math.isinf(value) else 1 / Fraction(value)


def _times(base: End, exponent: int) -> End:
    if math.isinf(base):
        return base**exponent if exponent else Fraction(1)
    if base != 0 and exponent * abs(math.log2(abs(Fraction(base)))) > 4000:
        large = abs(base) > 1
        sign = -1 if base < 0 and exponent % 2 else 1
        return sign * math.inf if large else Fraction(sign, 10**400)
    return Fraction(base) ** exponent
