"""Published medians and means as statements about how many people of each kind there are.

Whether a median is above a value depends on how many people are, against how many are not: a weighted sum. With an even
number of people it is the middle of two values, each of which says something; then a clause ties them together.
Source: Garfinkel, Abowd and Martindale 2018, whose block has counts, medians and means with cells suppressed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack.reconstruction._statements import Clause, Kinds, Statement
from discreet.errors import ParameterError

__all__ = ["Statistic", "summaries_of"]

_FAR = 1 << 60
_LARGEST = 1_000_000
_FINEST = Fraction(1, 10_000)


@dataclass(frozen=True)
class Statistic:
    """A column of a published table that has a median or a mean of each row's people.

    Attributes
    ----------
    name
        Which of both. The median of an even number of people is the middle of the two values in the middle.
    column
        Of which column of people, which has integers.
    step
        To what it is rounded, as "0.1" or 1; which way a tie is rounded does not matter. None for a median that is
        exact. A mean has a step.

    Raises
    ------
    ParameterError
        For another statistic, a step that is none or too fine, and a mean without one.

    >>> Statistic("mean", "age", step="0.1")
    Statistic(name='mean', column='age', step=Fraction(1, 10))
    """

    name: Literal["median", "mean"]
    column: str
    step: Fraction | str | float | None = None

    def __post_init__(self) -> None:
        if self.name not in {"median", "mean"}:
            raise ParameterError(f"a statistic is 'median' or 'mean', not {self.name!r}")
        if self.step is None:
            if self.name == "mean":
                raise ParameterError("a mean is published with so many decimals: say which by step='0.1'")
            return
        try:
            step = Fraction(str(self.step))
        except ValueError:
            raise ParameterError(f"step is what the {self.name} is rounded to, as '0.1', not {self.step!r}") from None
        if not _FINEST <= step <= _LARGEST or ((1 / step).denominator != 1 and step.denominator != 1):
            raise ParameterError(f"step is an integer or a part of 1, of {float(_FINEST)} at least, not {self.step!r}")
        object.__setattr__(self, "step", step)

    def ends(self, published: Any) -> tuple[Fraction, Fraction]:
        """Between what the statistic was before it was rounded. Raises `ParameterError` if it is not so rounded.

        >>> Statistic("median", "age", step=1).ends(38)
        (Fraction(75, 2), Fraction(77, 2))
        """
        step = self.step if isinstance(self.step, Fraction) else Fraction(0)
        try:
            value = Fraction(str(published))
        except ValueError:
            raise ParameterError(f"a {self.name} of {self.column} is {published!r}, which is no number") from None
        if (value / (step or Fraction(1, 2))).denominator != 1:
            raise ParameterError(
                f"a {self.name} of {self.column} is {published!r}, which is no multiple of {step or Fraction(1, 2)}: "
                "say by step= to what it is rounded"
            )
        return value - step / 2, value + step / 2


@dataclass(frozen=True)
class _Cell:
    """The kinds of a row's people, the value that each kind has, and the number of people if it is known."""

    kinds: tuple[int, ...]
    values: tuple[int, ...]
    size: int | None


def summaries_of(
    rows: pa.Table,
    fits: Sequence[NDArray[np.bool_]],
    kinds: Kinds,
    statistics: Mapping[str, Statistic],
    sizes: Sequence[int | None],
) -> tuple[list[Statement], list[Clause]]:
    """What the medians and means of a table say. A null says nothing, and others that there is somebody.

    Raises `ParameterError` for a statistic of an unknown column, or one whose values are no integers.

    Parameters
    ----------
    rows
        The table.
    fits
        For each row which kinds are in it, of those that could have people.
    statistics
        For each column of the table that has a statistic, which one.
    sizes
        How many people each row has, None where that is not known.
    """
    statements: list[Statement] = []
    clauses: list[Clause] = []
    for name, statistic in statistics.items():
        if name not in rows.column_names:
            continue
        values = _values(kinds, statistic.column)
        for fit, published, size in zip(fits, rows.column(name).to_pylist(), sizes, strict=True):
            if published is None:
                continue
            low, high = statistic.ends(published)
            own = np.flatnonzero(fit)
            cell = _Cell(tuple(own.tolist()), tuple(values[own].tolist()), size)
            statements.append(Statement(cell.kinds, 1, _FAR))
            if not cell.kinds:
                continue
            if statistic.name == "mean":
                statements += _mean(cell, low, high)
            else:
                statements += [
                    _split(cell, _floor(high), 0, is_below=True),
                    _split(cell, _ceil(low), 0, is_below=False),
                ]
                clauses += [] if (cell.size or 0) % 2 else _middles(cell, low, high)
    return statements, clauses


def _values(kinds: Kinds, column: str) -> NDArray[np.int64]:
    """The value that each kind has in a column."""
    if column not in kinds.columns:
        raise ParameterError(f"a statistic is of {column}, which is none of the columns {', '.join(kinds.columns)}")
    values = kinds.columns[column]
    if not all(isinstance(each, int) and not isinstance(each, bool) and abs(each) <= _LARGEST for each in values):
        raise ParameterError(f"a statistic is of integers up to {_LARGEST:,}, which columns[{column!r}] are not")
    places = np.unravel_index(np.arange(kinds.count), kinds.shape)[list(kinds.columns).index(column)]
    return np.array(values, np.int64)[places]


def _mean(cell: _Cell, low: Fraction, high: Fraction) -> list[Statement]:
    """That people's mean is between two numbers: the sum of what each is off them has a sign."""
    scale = low.denominator * high.denominator
    above = tuple(int((each - low) * scale) for each in cell.values)
    below = tuple(int((high - each) * scale) for each in cell.values)
    return [Statement(cell.kinds, 0, _FAR, above), Statement(cell.kinds, 0, _FAR, below)]


def _split(cell: _Cell, cut: int, surplus: int, *, is_below: bool) -> Statement:
    """That of people at most a cut, or at least, there are so many more than of all others.

    With a surplus of 0 the lower one of the two in the middle is at most the cut, or the upper one at least; with one
    of 1 both are. It is how many people there are at least where all are known, from which a search learns more.
    """
    is_there = [each <= cut if is_below else each >= cut for each in cell.values]
    if cell.size and any(is_there):
        there = tuple(kind for kind, is_one in zip(cell.kinds, is_there, strict=True) if is_one)
        return Statement(there, (cell.size + surplus + 1) // 2, _FAR)
    return Statement(cell.kinds, surplus, _FAR, tuple(1 if each else -1 for each in is_there))


def _middles(cell: _Cell, low: Fraction, high: Fraction) -> list[Clause]:
    """That the two values in the middle have a mean between two numbers.

    It is at most `high` if for each value the lower one is less, or the upper one is no more than is left for it; and
    at least `low` likewise.
    """
    values = sorted(set(cell.values))
    clauses: list[Clause] = []
    for place, value in enumerate(values[: bisect_right(values, high)]):
        rest = _floor(2 * high) - value
        if rest < values[-1]:
            most = _split(cell, rest, 1, is_below=True)
            clauses.append((most, _split(cell, values[place - 1], 0, is_below=True)) if place else (most,))
    start = bisect_left(values, low)
    for place, value in enumerate(values[start:], start + 1):
        rest = _ceil(2 * low) - value
        if rest > values[0]:
            least = _split(cell, rest, 1, is_below=False)
            is_last = place == len(values)
            clauses.append((least,) if is_last else (least, _split(cell, values[place], 0, is_below=False)))
    return clauses


def _floor(number: Fraction) -> int:
    return number.numerator // number.denominator


def _ceil(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)
