"""Measures: the exact integers that an engine sums or counts, each with public limits of one row's part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._intervals import LARGEST, Interval

__all__ = [
    "Count",
    "Distinct",
    "Measure",
    "People",
    "Product",
    "Sum",
    "grid_step",
    "grid_steps",
    "on_grid",
    "product_on_grid",
]


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows there are, or have `argument`, and `beside` if given, not null. Each row contributes 0 or 1.

    Here and below only rows that satisfy `when` contribute, if it is given: SQL's FILTER.
    """

    argument: exp.Expr | None
    beside: exp.Expr | None = None
    when: exp.Expr | None = None
    lower = 0
    upper = 1


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum over rows of round(argument / step) − center, clamped to [lower, upper]: whole numbers all.

    Only rows where `beside` is not null either contribute, if it is given.
    """

    argument: exp.Expr
    step: Fraction
    center: int
    lower: int
    upper: int
    beside: exp.Expr | None = None
    when: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """The sum over rows of round(l · r / 2^shift) − center, clamped to [lower, upper]: whole numbers all.

    l and r are the whole numbers of `left` and `right`, which are the same for a sum of squares. Only rows where
    `beside` is not null either contribute, if it is given.
    """

    left: Sum
    right: Sum
    shift: int
    center: int
    lower: int
    upper: int
    beside: exp.Expr | None = None
    when: exp.Expr | None = None

    @property
    def argument(self) -> exp.Expr:
        """The product that is summed, but for the centring."""
        return exp.Mul(this=self.left.argument.copy(), expression=self.right.argument.copy())

    @property
    def step(self) -> Fraction:
        """What one whole number stands for."""
        return self.left.step * self.right.step * 2**self.shift


@dataclass(frozen=True, slots=True)
class People:
    """How many units have a row that counts in the group. Each unit contributes 0 or 1 to a group."""

    when: exp.Expr | None = None
    argument = None
    lower = 0
    upper = 1


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many distinct values, not null, `argument` takes among the rows that count; columns are not clamped.

    Removing a row removes at most one value from its group, whatever the other rows hold.
    """

    argument: exp.Expr
    when: exp.Expr | None = None
    lower = 0
    upper = 1


Measure = Count | Sum | Product | People | Distinct


_BITS = 30
"""The larger bound is 2^29 to 2^31 grid steps from zero, unless whole numbers make a coarser grid exact. So a
contribution, centred or not, is below 2^32 in magnitude, and 2^40 of them sum to less than 2^72: 128 bits hold it."""


def grid_step(bounds: Interval) -> Fraction:
    """The grid: 1 for whole numbers up to 2^30, else the power of two that spends 30 bits on the larger bound."""
    largest = max(abs(bounds.lower), abs(bounds.upper))
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise QueryError("the bounds of a SUM or AVG lie beyond 1e200, or all within 1e-200 of zero; rescale it")
    if largest == 0 or (bounds.integer and largest <= 2**_BITS):
        return Fraction(1)
    exponent = (largest.numerator.bit_length() - largest.denominator.bit_length()) - _BITS
    return Fraction(2) ** exponent


def grid_steps(bounds: Interval, step: Fraction) -> tuple[int, int]:
    """The bounds in steps, rounded outward."""
    lower, upper = bounds.lower / step, bounds.upper / step
    return lower.numerator // lower.denominator, -(-upper.numerator // upper.denominator)


def on_grid(argument: exp.Expr, bounds: Interval, *, centered: bool) -> Sum:
    """The sum of a bounded expression on its grid, each value less the middle of the bounds if `centered`.

    Raises `QueryError` for bounds that no grid of doubles fits.
    """
    step = grid_step(bounds)
    lower, upper = grid_steps(bounds, step)
    center = (lower + upper) // 2 if centered else 0
    return Sum(argument, step, center, lower - center, upper - center)


def product_on_grid(left: Sum, right: Sum) -> Product:
    """The sum of products of two centred values on a grid of 30 bits, less the middle of what a product can be.

    A square of a value at most h from the middle lies in [0, h²], so it is at most h²/2 from the middle of that.

    Raises `QueryError` for bounds whose product no double holds.
    """
    corners = [a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    lower, upper = (0, max(corners)) if left == right else (min(corners), max(corners))
    shift = max(0, max(-lower, upper).bit_length() - _BITS)
    low, high = _floor(Fraction(lower, 2**shift) + Fraction(1, 2)), -_floor(Fraction(1, 2) - Fraction(upper, 2**shift))
    center = (low + high) // 2
    product = Product(left, right, shift, center, low - center, high - center)
    largest = product.step * max(-low, high)
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise QueryError("the bounds of a variance or covariance lie beyond 1e100, or within 1e-100; rescale it")
    return product


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
