"""The ranges that parameters of losses must lie in; every message names the argument and its range."""

from __future__ import annotations

from fractions import Fraction
from operator import index
from typing import SupportsIndex, cast

from discreet.errors import ParameterError
from discreet.rational import Number, decimal_text, rational

__all__ = ["at_least_zero", "delta", "positive", "probability", "whole"]


def positive(value: Number, name: str) -> Fraction:
    """An exact number above 0."""
    exact = rational(value, name)
    if exact <= 0:
        raise ParameterError(f"{name} must be greater than 0, got {decimal_text(exact)}")
    return exact


def at_least_zero(value: Number, name: str) -> Fraction:
    """An exact number of at least 0."""
    exact = rational(value, name)
    if exact < 0:
        raise ParameterError(f"{name} must be at least 0, got {decimal_text(exact)}")
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


def whole(value: object, name: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    try:
        number = None if isinstance(value, bool) else index(cast("SupportsIndex", value))
    except TypeError:
        number = None
    if number is None or number < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number
