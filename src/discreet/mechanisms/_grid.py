"""A grid of real numbers: where a number lies on it, and how many steps a move of real numbers can become."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._root import root_up
from discreet.rational import Number, rational
from discreet.sensitivity import Norms

__all__ = ["Grid", "Move"]

Move = Number | tuple[Number | None, Number | None]
"""How far real numbers move at most, in their unit: a number, or the norms (L1, L2), of which one may be `None`."""

_WIDEST = Fraction(2) ** 1000
_LARGEST = Fraction(sys.float_info.max)
_FAR = 400


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of `step` between `bounds`, for `entries` numbers; without bounds, as far as finite floats go.

    Raises `ParameterError` unless step and bounds are numbers of 2**−1000 to 2**1000 in size, or bounds of 0, the lower
    bound is below the upper one by a step or more, and entries is a whole number, 1 or more.
    """

    step: Fraction
    bounds: tuple[Fraction, Fraction] | None
    entries: int

    @classmethod
    def of(cls, step: Number, bounds: object, entries: int) -> Grid:
        """The grid, from numbers as people write them."""
        exact = rational(step, "step")
        if not 1 / _WIDEST <= exact <= _WIDEST:
            raise ParameterError(f"step must be greater than 0, and from 2**-1000 to 2**1000, got {step!r}")
        if isinstance(entries, bool) or not isinstance(entries, int) or entries < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"entries must be a whole number, 1 or more, got {entries!r}")
        return cls(exact, None if bounds is None else _interval(bounds, exact), entries)

    @property
    def ends(self) -> tuple[int, int]:
        """The bounds in steps."""
        low, high = self.bounds or (-_LARGEST, _LARGEST)
        return self._rounded(low), self._rounded(high)

    def steps(self, items: list[Any]) -> list[int]:
        """Each number, cut to the bounds, in steps: the nearest, and the upper one of two. SENSITIVE.

        Raises `ParameterError` unless there are `entries` of them and each is a finite real number.
        """
        if len(items) != self.entries:
            raise ParameterError(f"this mechanism releases {self.entries} number(s) at once, got {len(items)}")
        low, high = self.ends
        return [max(low, min(self._rounded(_exact(item)), high)) for item in items]

    def move(self, sensitivity: Move) -> int | Norms:
        """In whole steps, how far numbers that move by at most `sensitivity` can move: an int for one number.

        A number means L1 where there are several entries, and so covers L2 too. ``proofs/on_grid.md``.
        """
        l1, l2 = sensitivity if isinstance(sensitivity, tuple) else (sensitivity, None)
        known = [
            _size(each, name) / self.step for each, name in ((l1, "sensitivity"), (l2, "L2 norm")) if each is not None
        ]
        if not known:
            raise ParameterError("sensitivity must be a number, or a pair (L1, L2) of which at most one is None")
        low, high = self.ends
        linf = min(math.ceil(min(known)), high - low)
        if self.entries == 1 or linf == 0:
            return linf if self.entries == 1 else Norms(0, 0)
        first = root_up(self.entries * known[-1] ** 2) if l1 is None else known[0]
        if l1 is not None and l2 is not None:
            first = min(first, root_up(self.entries * known[1] ** 2))
        second = min(first, known[-1])
        whole = min(math.ceil(first) + self.entries - 1, self.entries * linf)
        squared = math.ceil(second**2 + 2 * first + self.entries) - 1
        return Norms(whole, min(squared, whole * linf), linf)

    def _rounded(self, value: Fraction | float) -> int:
        """⌊value / step + ½⌋. Halves all go up: if they went to even numbers, 1 step could become 2."""
        over, under = value.as_integer_ratio()
        over, under = 2 * over * self.step.denominator, under * self.step.numerator
        return (over + under) // (2 * under)


def _interval(bounds: object, step: Fraction) -> tuple[Fraction, Fraction]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(f"bounds must be a pair (lower, upper) of public numbers, or None, got {bounds!r}")
    lower, upper = (rational(each, "bounds") for each in bounds)
    if not -_WIDEST <= lower < lower + step <= upper <= _WIDEST:
        raise ParameterError(
            f"bounds must be (lower, upper), a step apart or more and at most 2**1000 in size, got {bounds!r}"
        )
    return lower, upper


def _size(value: Number, name: str) -> Fraction:
    exact = rational(value, name)
    if exact < 0:
        raise ParameterError(f"{name} must be 0 or more, got {value!r}")
    return exact


def _exact(item: object) -> Fraction | float:
    """A number whose `as_integer_ratio` is exactly what was given; a float means its binary value."""
    if isinstance(item, Integral) and not isinstance(item, bool | np.bool_):
        return Fraction(int(cast("int", item)))
    if isinstance(item, Fraction):
        return item
    if isinstance(item, Decimal) and item.is_finite():
        # Far from all grids the exact fraction would be huge: such a number is cut to the bounds, or rounded to 0.
        if item == 0 or item.adjusted() < -_FAR:
            return Fraction(0)
        if item.adjusted() > _FAR:
            return Fraction((-1 if item < 0 else 1) * 10**_FAR)
        return Fraction(item)
    if isinstance(item, float | np.floating) and bool(np.isfinite(item)):
        return cast("float", item)
    raise ParameterError(
        "a release on a grid takes finite real numbers: ints, floats, fractions or decimals; "
        f"got {type(item).__name__}, or a NaN or an infinity: replace what is missing by a public value first"
    )
