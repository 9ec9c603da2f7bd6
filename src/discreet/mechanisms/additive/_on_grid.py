"""Real numbers with exact noise: cut to public bounds, rounded to a grid, and released as multiples of its step."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, Protocol, cast, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.additive._base import Mechanism
from discreet.mechanisms.numeric._roots import root_up
from discreet.mechanisms.statistics._answer import to_float
from discreet.privacy import Loss
from discreet.rational import Number, rational
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["Grid", "Move", "OnGrid"]


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
    def from_numbers(cls, step: Number, bounds: object, entries: int) -> Grid:
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
        l1_steps = min(math.ceil(first) + self.entries - 1, self.entries * linf)
        l2_squared_steps = math.ceil(second**2 + 2 * first + self.entries) - 1
        return Norms(l1_steps, min(l2_squared_steps, l1_steps * linf), linf)

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


Real = float | Fraction | Decimal


class _Kind(Protocol):
    def calibrate(self, spend: Loss, sensitivity: int | Norms) -> Mechanism: ...


@dataclass(frozen=True, slots=True, init=False)
class OnGrid:
    """Releases real numbers with the noise of a mechanism for integers, on the multiples of `step`, exactly.

    Parameters
    ----------
    mechanism
        For integers: `DiscreteLaplace`, `DiscreteGaussian`, `Gaussian` and their kin. Its noise is in steps.
    step
        The distance of the grid, public. A power of two keeps what is released exact. Where it divides the
        sensitivity of one entry it costs nothing, and the finer it is the less it costs several.
    bounds
        Lower and upper end, public: values beyond are moved to the end. Without them, values are moved to the largest
        finite float only, and the sensitivity has to hold for all others.
    entries
        How many numbers a release has.

    A float means its exact binary value. Rounding can turn a move of less than a step into one of a step, which `loss`
    counts. What is released is the float nearest to a whole number of steps, and depends on that number alone: no bit
    of it tells of the value as float noise does (Mironov 2012). Raises `ParameterError` for a step or entries that are
    not above 0, and for bounds less than a step apart. Source: ``proofs/on_grid.md``.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> mean = OnGrid(DiscreteLaplace(scale=64), step=2**-10, bounds=(0, 1))
    >>> mean.loss(sensitivity=1 / 16), mean.release(0.3) * 2**10 % 1
    (pure(1), 0.0)
    """

    mechanism: Mechanism
    step: Fraction
    bounds: tuple[Fraction, Fraction] | None
    entries: int

    __repr__ = call_repr

    def __init__(
        self, mechanism: Mechanism, step: Number, bounds: tuple[Number, Number] | None = None, entries: int = 1
    ) -> None:
        if not all(hasattr(mechanism, each) for each in ("loss", "release", "error", "std")):
            raise ParameterError(
                f"OnGrid puts noise on numbers, by a mechanism such as DiscreteLaplace, not {type(mechanism).__name__}"
            )
        grid = Grid.from_numbers(step, bounds, entries)
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "step", grid.step)
        object.__setattr__(self, "bounds", grid.bounds)
        object.__setattr__(self, "entries", grid.entries)

    @classmethod
    def calibrate(  # noqa: PLR0913 - one name per field
        cls,
        spend: Loss,
        sensitivity: Move,
        *,
        kind: _Kind,
        step: Number,
        bounds: tuple[Number, Number] | None = None,
        entries: int = 1,
    ) -> OnGrid:
        """The mechanism of that kind with the least noise whose loss is within `spend`, as `kind.calibrate` finds it.

        `sensitivity` is as `loss` takes it. Costs no privacy. Raises `ParameterError` as the constructor and
        `kind.calibrate` do; a scale above 2**56 steps means that the step is too fine.

        >>> from discreet.mechanisms import DiscreteGaussian
        >>> from discreet.privacy import approx
        >>> noisy = OnGrid.calibrate(approx(1, 1e-5), sensitivity=1, kind=DiscreteGaussian, step="0.001")
        >>> round(noisy.std, 3)
        3.731
        """
        mechanism = kind.calibrate(spend, Grid.from_numbers(step, bounds, entries).move(sensitivity))
        return cls(mechanism, step, bounds, entries)

    @property
    def _grid(self) -> Grid:
        return Grid(self.step, self.bounds, self.entries)

    def loss(self, sensitivity: Move) -> Loss:
        """What a release costs, where neighbours' values move by at most `sensitivity`, in the unit of the values.

        For one entry a number; for several their L1 norm, or a pair (L1, L2), of which one may be `None`. On the grid,
        with m entries, moves are L1 ≤ ⌈Δ₁/step⌉ + m − 1 and L2² < (Δ₂/step)² + 2Δ₁/step + m, never beyond the bounds.
        Raises `ParameterError` if a norm is below 0. Source: ``proofs/on_grid.md``.
        """
        return self.mechanism.loss(self._grid.move(sensitivity))

    @overload
    def release(self, value: Real) -> float: ...
    @overload
    def release(self, value: NDArray[Any]) -> NDArray[np.float64]: ...
    @overload
    def release(self, value: Sequence[Real]) -> list[float]: ...
    def release(self, value: Real | Sequence[Real] | NDArray[Any]) -> float | list[float] | NDArray[np.float64]:
        """The value with fresh noise on each entry: a float, a list, or an array of floats of the same shape.

        Takes ints, floats, fractions and decimals. What would be beyond the largest float is that float. Costs
        `loss(sensitivity)`, **and charges nobody**: this is the raw toolbox. Raises `ParameterError`, before anything
        is drawn, unless there are `entries` numbers, all finite. Source: ``proofs/on_grid.md``.

        >>> from discreet.mechanisms import DiscreteLaplace
        >>> OnGrid(DiscreteLaplace("0.001"), step="0.25", bounds=(0, 10), entries=3).release([1.3, -5, 10**400])
        [1.25, 0.0, 10.0]
        """
        if isinstance(value, np.ndarray):
            return np.array(self._released(value.ravel().tolist()), dtype=np.float64).reshape(value.shape)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
            return self._released(list(value))
        return self._released([value])[0]

    def _released(self, items: list[Any]) -> list[float]:
        return [to_float(each, self.step) for each in self.mechanism.release(self._grid.steps(items))]

    def error(self, level: Number = 0.95) -> float:
        """How far a released entry is from the value within the bounds at most, with probability `level` or more.

        In the unit of the values: the error of the noise, and half a step for rounding. Does not depend on data and
        costs no privacy. Raises `ParameterError` unless 0 < level < 1.

        >>> from discreet.mechanisms import DiscreteLaplace
        >>> OnGrid(DiscreteLaplace(10), step="0.25").error(0.95)
        7.625
        """
        exact = (self.mechanism.error(level) + Fraction(1, 2)) * self.step
        nearest = to_float(1, exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in the unit of the values and in float precision."""
        return self.mechanism.std * float(self.step)
