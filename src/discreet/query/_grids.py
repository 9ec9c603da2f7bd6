"""The public grids on which values and their products become whole numbers."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._intervals import LARGEST, Interval
from discreet.query._measures import Product, Sum

__all__ = ["grid_step", "grid_steps", "on_grid", "product_on_grid"]

_BITS = 30
"""The larger bound is 2^29 to 2^31 grid steps from zero, unless whole numbers make a coarser grid exact. So a
contribution, centred or not, is below 2^32 in magnitude, and 2^40 of them sum to less than 2^72: 128 bits hold it."""


def grid_step(bounds: Interval) -> Fraction:
    """The grid: 1 for whole numbers up to 2^30, else the power of two that spends 30 bits on the larger bound."""
    largest = max(abs(bounds.lower), abs(bounds.upper))
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise QueryError("the bounds of a SUM or AVG lie beyond 1e200, or all within 1e-200 of zero; rescale it")
    if largest == 0 or (bounds.whole and largest <= 2**_BITS):
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
