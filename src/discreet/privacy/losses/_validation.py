"""The ranges that parameters of losses must lie in; every message names the argument and its range.

Noise, scales and sampling rates above 0 lie between 1e-100 and 1e100, stated losses are at most 1e100, and counts at
most 10¹⁵: then no sum, square or product of them leaves the range of floats.
"""

from __future__ import annotations

from fractions import Fraction
from operator import index
from typing import SupportsIndex, cast

from discreet.errors import ParameterError
from discreet.rational import Number, decimal_text, rational

__all__ = [
    "LEAST",
    "MOST",
    "MOST_COUNT",
    "at_least_zero",
    "check_costs",
    "check_integer",
    "check_noise",
    "delta",
    "fraction_in",
    "integer",
    "positive",
    "probability",
]

MOST_COUNT = 10**15
LEAST, MOST = Fraction(1, 10**100), Fraction(10) ** 100
_MOST_IN_NODE = 10**300  # what sums, squares and groups of stated losses stay below
_ARGUMENT = {"eps": "epsilon", "at_delta": "delta", "rho_value": "rho", "mu_squared": "mu squared"}


def positive(value: Number, name: str) -> Fraction:
    """An exact number above 0, and at most 1e100."""
    exact = rational(value, name)
    if exact <= 0:
        raise ParameterError(f"{name} must be greater than 0, got {decimal_text(exact)}")
    if exact > MOST:
        raise ParameterError(f"{name} must be at most 1e100, got {decimal_text(exact)}")
    return exact


def at_least_zero(value: Number, name: str) -> Fraction:
    """An exact number of at least 0, and at most 1e100."""
    exact = rational(value, name)
    if exact < 0:
        raise ParameterError(f"{name} must be at least 0, got {decimal_text(exact)}")
    if exact > MOST:
        raise ParameterError(f"{name} must be at most 1e100, got {decimal_text(exact)}")
    return exact


def delta(value: Number) -> Fraction:
    """A δ in [0, 1)."""
    exact = rational(value, "delta")
    if not 0 <= exact < 1:
        raise ParameterError(f"delta must be at least 0 and less than 1, got {decimal_text(exact)}")
    return exact


def probability(value: Number, name: str) -> Fraction:
    """An exact number in [0, 1]."""
    exact = rational(value, name)
    if not 0 <= exact <= 1:
        raise ParameterError(f"{name} must be between 0 and 1, got {decimal_text(exact)}")
    return exact


def integer(value: object, name: str, least: int = 1, most: int = MOST_COUNT) -> int:
    """A whole number from `least` to `most`."""
    try:
        number = None if isinstance(value, bool) else index(cast("SupportsIndex", value))
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        shown = repr(value) if number is None else decimal_text(Fraction(number))
        raise ParameterError(f"{name} must be a whole number of at least {least} and at most {most:,}, got {shown}")
    return number


def fraction_in(node: object, field: str) -> Fraction:
    """The exact number in a field of a node; a whole number there becomes a fraction."""
    value = getattr(node, field)
    if type(value) is not Fraction:
        if type(value) is not int:
            raise ParameterError(f"{_ARGUMENT.get(field, field)} must be a Fraction in a node, got {value!r}")
        value = Fraction(value)
        object.__setattr__(node, field, value)
    return value


def check_costs(node: object, *fields: str) -> None:
    """Numbers that add up, ε, δ, ρ or μ²: each at least 0, and at most 1e300."""
    for field in fields:
        value = fraction_in(node, field)
        if value.numerator < 0 or value.numerator > _MOST_IN_NODE * value.denominator:
            name = _ARGUMENT.get(field, field)
            raise ParameterError(f"{name} must be at least 0 and at most 1e300, got {decimal_text(value)}")


def check_noise(node: object, field: str) -> None:
    """The size of a noise: greater than 0, from 1e-100 to 1e100."""
    value = fraction_in(node, field)
    if value.numerator <= 0:
        raise ParameterError(f"{field} must be greater than 0, got {decimal_text(value)}")
    if not LEAST <= value <= MOST:
        raise ParameterError(f"{field} must be between 1e-100 and 1e100, got {decimal_text(value)}")


def check_integer(node: object, field: str, least: int = 1, most: int = MOST_COUNT) -> None:
    """A whole number from `least` to `most`."""
    value = getattr(node, field)
    if type(value) is not int or not least <= value <= most:
        object.__setattr__(node, field, integer(value, field, least, most))
