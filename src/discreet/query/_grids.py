"""The public grids on which values and their products become whole numbers."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._grid import BITS, grid_step, grid_steps
from discreet.query._intervals import LARGEST, Interval
from discreet.query._measures import Product, Sum

__all__ = ["on_grid", "product_on_grid"]


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
    shift = max(0, max(-lower, upper).bit_length() - BITS)
    low, high = _floor(Fraction(lower, 2**shift) + Fraction(1, 2)), -_floor(Fraction(1, 2) - Fraction(upper, 2**shift))
    center = (low + high) // 2
    product = Product(left, right, shift, center, low - center, high - center)
    largest = product.step * max(-low, high)
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise QueryError("the bounds of a variance or covariance lie beyond 1e100, or within 1e-100; rescale it")
    return product


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
