"""The sensitivity that a caller states, and probabilities, checked."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms._epsilon import positive_of
from discreet.rational import Number, decimal_text, rational
from discreet.sensitivity import Norms

__all__ = ["l1_of", "l2_squared_of", "level_of", "linf_of", "whole_steps"]


def l1_of(sensitivity: Number | Norms) -> Fraction:
    """The L1 sensitivity."""
    return Fraction(sensitivity.l1) if isinstance(sensitivity, Norms) else _not_negative(sensitivity)


def l2_squared_of(sensitivity: Number | Norms) -> Fraction:
    """The square of the L2 sensitivity."""
    return Fraction(sensitivity.l2_squared) if isinstance(sensitivity, Norms) else _not_negative(sensitivity) ** 2


def linf_of(sensitivity: Number | Norms) -> Fraction:
    """The L∞ sensitivity, by how much one entry moves at most: above 0, as a selection divides by it."""
    return positive_of(sensitivity.linf if isinstance(sensitivity, Norms) else sensitivity, "sensitivity")


def whole_steps(sensitivity: Number) -> int:
    """By how many whole steps one integer moves at most: rounded up, which covers a real number put on the grid too."""
    return math.ceil(_not_negative(sensitivity))


def level_of(level: Number) -> Fraction:
    """A probability between 0 and 1, both excluded."""
    exact = rational(level, "level")
    if not 0 < exact < 1:
        raise ParameterError(f"level must be between 0 and 1, both excluded, got {decimal_text(exact)}")
    return exact


def _not_negative(value: Number) -> Fraction:
    exact = rational(value, "sensitivity")
    if exact < 0:
        raise ParameterError(f"sensitivity must be 0 or more, got {decimal_text(exact)}")
    return exact
