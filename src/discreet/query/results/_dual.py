"""Dual numbers: released values with their derivatives by the noise of each measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dual", "Floats", "add", "between", "choose", "constant", "div", "missing_where", "mul", "sqrt", "sub"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Dual:
    """A column of numbers with its derivative by each measure it depends on; NaN where it is null.

    `linear` says that the derivatives are constants, so the error is that of the noise exactly; otherwise it is
    approximate. No error exceeds `cap`, where one is known.
    """

    value: Floats
    slopes: Mapping[int, Floats]
    linear: bool = True
    cap: float | None = None


def constant(value: float, rows: int) -> Dual:
    """A column of one number without noise."""
    return Dual(np.full(rows, value), {})


def add(left: Dual, right: Dual) -> Dual:
    """Left + right."""
    ones = np.ones_like(left.value)
    return Dual(left.value + right.value, _slopes((left, ones), (right, ones)), left.linear and right.linear)


def sub(left: Dual, right: Dual) -> Dual:
    """Left − right."""
    ones = np.ones_like(left.value)
    return Dual(left.value - right.value, _slopes((left, ones), (right, -ones)), left.linear and right.linear)


def mul(left: Dual, right: Dual) -> Dual:
    """Left · right."""
    linear = left.linear and right.linear and not (left.slopes and right.slopes)
    return Dual(left.value * right.value, _slopes((left, right.value), (right, left.value)), linear)


def div(left: Dual, right: Dual) -> Dual:
    """Left / right; NaN where the divisor is zero."""
    a, b = left.value, right.value
    with np.errstate(all="ignore"):
        slopes = _slopes((left, 1 / b), (right, -a / (b * b)))
        return Dual(np.where(b == 0, np.nan, a / b), slopes, left.linear and right.linear and not right.slopes)


def sqrt(inner: Dual) -> Dual:
    """The square root; NaN where it is of less than zero."""
    with np.errstate(all="ignore"):
        root = np.where(inner.value < 0, np.nan, np.sqrt(inner.value))
        cap = None if inner.cap is None else inner.cap**0.5
        return Dual(root, _slopes((inner, 0.5 / root)), linear=False, cap=cap)


def between(lower: float, inner: Dual, upper: float) -> Dual:
    """Cut off at public limits, which an error cannot exceed the distance of."""
    return Dual(np.clip(inner.value, lower, upper), inner.slopes, linear=False, cap=upper - lower)


def missing_where(empty: Booleans, inner: Dual) -> Dual:
    """Null in some rows."""
    return replace(inner, value=np.where(empty, np.nan, inner.value))


def choose(first: Booleans, left: Dual, right: Dual) -> Dual:
    """Left in some rows, right in the others. Its error is that of the one taken, and approximate."""
    slopes = _slopes((left, np.ones_like(left.value)), (right, np.ones_like(right.value)), keep=first)
    return Dual(np.where(first, left.value, right.value), slopes, linear=False)


def _slopes(*parts: tuple[Dual, Floats], keep: Booleans | None = None) -> dict[int, Floats]:
    """The chain rule: each part's slopes times the derivative by it; with `keep`, of the first part or the second."""
    slopes: dict[int, Floats] = {}
    for place, (dual, by) in enumerate(parts):
        for i, slope in dual.slopes.items():
            part = slope * by
            if keep is not None:
                part = np.where(keep if place == 0 else ~keep, part, 0.0)
            slopes[i] = slopes[i] + part if i in slopes else part
    return slopes
