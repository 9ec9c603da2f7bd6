"""Public cells of a column: into which its values are counted, and from which values are made again.

Everything here follows from the policy and from what the caller chose: no cell depends on data.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError, QueryError
from discreet.policy import Column, ColumnType, Key, Policy, Table
from discreet.query import Cut, Field, match_name, plain_value
from discreet.rational import from_exact_text, rational

__all__ = ["CellChoice", "ColumnCells", "column_cells", "private_table"]

CellChoice = int | Sequence[object]
"""How many equal cells, or the ends between cells."""

_CELLS = 32
_MOST_CELLS = 10_000
_FLOAT_STEPS = 1_000
_SECOND = 1_000_000
_MOST_STEPS = 2**63
_MOST_DIGITS = 37
_LONGEST = 800
_NUMBERS = ("int", "float", "decimal")
_DAY = dt.date(1970, 1, 1)
_MOMENT = dt.datetime(1970, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True)
class ColumnCells:
    """The cells of one column, in order; where it may be null, that is the last one.

    Attributes
    ----------
    name, type, nullable
        As in the policy.
    keys
        The public values, a cell each; None for numbers and dates between bounds.
    cuts
        Where the cells of numbers end, from `lower` to `upper`; dates in days, timestamps in microseconds.
    step
        The grid that numbers come back on: each is a whole number of steps.
    """

    name: str
    type: ColumnType
    nullable: bool
    keys: tuple[Key, ...] | None
    cuts: tuple[Cut, ...] = ()
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    @property
    def valued(self) -> int:
        """How many cells hold values."""
        return len(self.cuts) + 1 if self.keys is None else len(self.keys)

    @property
    def size(self) -> int:
        """How many cells there are, with that of null."""
        return self.valued + self.nullable

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring cells hold neighbouring numbers."""
        return self.keys is None

    @property
    def coded(self) -> tuple[Cut, ...] | tuple[Key | None, ...]:
        """What `discreet.query.coded_rows` takes."""
        if self.keys is None:
            return self.cuts
        return (*self.keys, None) if self.nullable else self.keys

    def to_json(self) -> dict[str, Any]:
        """The cells as plain JSON; `from_json` restores them."""
        return {
            "name": self.name,
            "type": self.type,
            "nullable": self.nullable,
            "keys": None if self.keys is None else [plain_value(key) for key in self.keys],
            "cuts": [[str(cut.end), cut.closed] for cut in self.cuts],
            "bounds": [str(self.lower), str(self.upper)],
            "step": str(self.step),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ColumnCells:
        """Restore cells. Raises `ValueError`, `KeyError` or `TypeError` for what are none."""
        declared = Column(type=data["type"], keys=data["keys"], nullable=data["nullable"])
        if len(data["cuts"]) > _MOST_CELLS or not isinstance(data["name"], str):
            raise ValueError
        cuts = tuple(Cut(_exact(end), bool(closed)) for end, closed in data["cuts"])
        lower, upper = map(_exact, data["bounds"])
        cells = cls(
            data["name"], declared.type, declared.nullable, declared.keys, cuts, lower, upper, _exact(data["step"])
        )
        cells.check()
        return cells

    def check(self) -> None:
        """Raise `ValueError` for cells that hold nothing, or values that the column's type has not."""
        if self.keys is not None:
            if self.cuts or not self.keys:
                raise ValueError
        elif (
            self.type in ("string", "bool")
            or self.step <= 0
            or not _is_grid(self.type, self.step)
            or not all(a.end <= b.end for a, b in pairwise((Cut(self.lower), *self.cuts, Cut(self.upper))))
            or max(abs(self.lower), abs(self.upper)) / self.step >= _MOST_STEPS
            or self.points[:, 1].min() < 1
        ):
            raise ValueError
        try:
            for place in (0.0, 1 - 2**-53):
                self.values(np.arange(self.size), np.full(self.size, place))
            for cell in range(self.size):
                self.text(cell)
        except (pa.ArrowException, ArithmeticError):
            raise ValueError from None

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """Of each cell of numbers the first point of the grid that it holds, and how many it holds."""
        firsts, lasts = [math.ceil(self.lower / self.step)], list[int]()
        for cut in self.cuts:
            lasts.append(_reached(cut, self.step))
            firsts.append(lasts[-1] + 1)
        lasts.append(math.floor(self.upper / self.step))
        return np.array([[first, last - first + 1] for first, last in zip(firsts, lasts, strict=True)])

    @property
    def spikes(self) -> tuple[int, ...]:
        """The cell of zero alone, where others hold several points of the grid."""
        firsts, sizes = self.points.T
        alone = (firsts == 0) & (sizes == 1)
        return tuple(np.flatnonzero(alone).tolist()) if sizes.max() > 1 else ()

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The number of each cell that holds values; None where some cell holds several, or something else."""
        if self.keys is not None:
            return np.array(self.keys, np.float64) if self.type in _NUMBERS else None
        firsts, sizes = self.points.T
        return firsts * float(self.step) if self.type in _NUMBERS and sizes.max() == 1 else None

    def text(self, cell: int) -> str:
        """What a cell holds, in words."""
        if cell == self.valued:
            return "null"
        if self.keys is not None:
            return str(self.keys[cell])
        first, count = self.points[cell].tolist()
        ends = [self._plain(first), self._plain(first + count - 1)]
        return str(ends[0]) if count == 1 else f"{ends[0]} to {ends[1]}"

    def cell(self, value: object) -> int | None:
        """The cell of a value as Python has it; None if the column cannot have it."""
        if value is None:
            return self.valued if self.nullable else None
        if self.keys is not None:
            same = [i for i, key in enumerate(self.keys) if type(key) is type(value) and key == value]
            return same[0] if same else None
        try:
            number = _number(self.type, value)
        except (ParameterError, ValueError, TypeError):
            return None
        if not self.lower <= number <= self.upper or (self.type == "int" and number.denominator != 1):
            return None
        above = [cut.end < number or (cut.end == number and not cut.closed) for cut in self.cuts]
        return sum(above)

    def values(self, cells: NDArray[np.int64], places: NDArray[np.float64]) -> pa.Array[Any]:
        """A value of each cell: of a cell of numbers that at a place from 0 to 1 among the points that it holds."""
        missing = cells == self.valued
        if self.keys is not None:
            values = pa.array(self.keys, _arrow_type(self.type, self.step))
            return values.take(pa.array(np.where(missing, 0, cells), mask=missing))
        points = self.points[np.where(missing, 0, cells)]
        steps = points[:, 0] + np.minimum((places * points[:, 1]).astype(np.int64), points[:, 1] - 1)
        return self._array(steps, missing)

    def _array(self, steps: NDArray[np.int64], missing: NDArray[np.bool_]) -> pa.Array[Any]:
        kind = _arrow_type(self.type, self.step)
        match self.type:
            case "float":
                scaled = steps.astype(np.float64) * float(self.step) if self.step > 1 else steps / self.step.denominator
                return pa.array(scaled, kind, mask=missing)
            case "decimal":
                exact = [Decimal(each * self.step.numerator) / self.step.denominator for each in steps.tolist()]
                return pa.array(exact, kind, mask=missing)
            case "date":
                return pa.array(steps.astype(np.int32), pa.int32(), mask=missing).cast(kind)
            case _:
                return pa.array(steps * int(self.step), pa.int64(), mask=missing).cast(kind)

    def _plain(self, steps: int) -> object:
        value = steps * self.step
        match self.type:
            case "date":
                return _DAY + dt.timedelta(days=int(value))
            case "timestamp":
                return _MOMENT + dt.timedelta(microseconds=int(value))
            case _:
                return int(value) if value.denominator == 1 else float(value)


def private_table(policy: Policy, table: object) -> tuple[str, Table]:
    """A private table by its name. Raises `QueryError` for one that is not there, or is public."""
    if not isinstance(table, str):
        raise QueryError(f'name a table as a text, for example "{next(iter(policy.tables))}"')
    name = match_name(table, policy.tables, "the policy", "table")
    if policy.tables[name].public:
        raise QueryError(f"{name} is public: use it as it is, it needs no noise")
    return name, policy.tables[name]


def column_cells(table: str, name: str, column: Column | Field, choice: CellChoice | None = None) -> ColumnCells:
    """The cells of a column: one for each public value, or equal ones between bounds, or those that were chosen.

    Text without public keys has none yet: they are discovered. Whole numbers and dates with no more values than cells
    have a cell for each. Zero is a cell of its own between other numbers. Raises `QueryError` for a column without
    keys or bounds, `ParameterError` for a wrong choice.

    >>> age = Column(type="int", bounds=(16, 96), nullable=False)
    >>> cells = column_cells("people", "age", age, 4)
    >>> [cells.text(i) for i in range(cells.size)]
    ['16 to 35', '36 to 55', '56 to 75', '76 to 96']
    """
    where = f"{table}.{name}" if table else name
    field = column if isinstance(column, Field) else Field.from_column(column)
    if field.keys is not None or field.type == "bool":
        if choice is not None:
            raise ParameterError(f"{where} has public keys, each a cell of its own; leave it out of cells")
        public = tuple(key for key in field.keys or (False, True) if key is not None)
        return ColumnCells(name, field.type, field.nullable, public)
    if field.type == "string":
        return ColumnCells(name, field.type, field.nullable, ())
    if field.bounds is None:
        raise QueryError(_needed(where, name))
    lower, upper = field.bounds
    step = _step(field.type, lower, upper)
    cuts = _cuts(where, field.type, lower, upper, step, choice)
    cells = ColumnCells(name, field.type, field.nullable, None, cuts, lower, upper, step)
    if max(abs(lower), abs(upper)) / step >= _MOST_STEPS:
        raise QueryError(f"{where}: its bounds are wider than the whole numbers of 63 bits; narrow them in the policy")
    if cells.points[:, 1].min() < 1:
        raise ParameterError(f"{where}: a cell between these ends would hold no value; choose fewer or wider cells")
    try:
        cells.check()
    except ValueError:
        raise QueryError(f"{where}: rows cannot be made of numbers between these bounds; narrow them") from None
    return cells


def _needed(where: str, name: str) -> str:
    return (
        f"{where} has no bounds: write its bounds or its keys into the policy, or leave it out of columns; "
        f"`discreet suggest` finds them for {name}"
    )


def _step(kind: ColumnType, lower: Fraction, upper: Fraction) -> Fraction:
    """The grid: whole numbers, days and seconds; else the power of ten that makes a thousand steps of a cell."""
    match kind:
        case "int" | "date":
            return Fraction(1)
        case "timestamp":
            return Fraction(_SECOND)
        case _:
            fine = math.floor(_log10((upper - lower) / (_CELLS * _FLOAT_STEPS)))
            coarse = math.ceil(_log10(max(abs(lower), abs(upper)) / _MOST_STEPS * 2))
            return Fraction(10) ** max(fine, coarse, -_MOST_DIGITS if kind == "decimal" else fine)


def _is_grid(kind: ColumnType, step: Fraction) -> bool:
    """Whether a column of this type has whole numbers of steps as values."""
    digits = len(str(step.denominator)) - 1
    return step.denominator == (10**digits if kind in ("float", "decimal") else 1)


def _log10(number: Fraction) -> float:
    return math.log10(number.numerator) - math.log10(number.denominator)


def _cuts(  # noqa: PLR0913, PLR0917
    where: str, kind: ColumnType, lower: Fraction, upper: Fraction, step: Fraction, choice: CellChoice | None
) -> tuple[Cut, ...]:
    if choice is not None and not isinstance(choice, int):
        return _chosen(where, kind, lower, upper, choice)
    count = _CELLS if choice is None else choice
    if isinstance(choice, bool) or not 1 <= count <= _MOST_CELLS:
        raise ParameterError(f"{where}: a number of cells is from 1 to {_MOST_CELLS:,}, not {choice!r}")
    points = math.floor(upper / step) - math.ceil(lower / step) + 1
    if points <= count:
        first = math.ceil(lower / step)
        return tuple(Cut((first + i) * step, closed=True) for i in range(points - 1))
    width = (upper - lower) / count
    ends = [Cut(lower + i * width) for i in range(1, count)]
    ends = _with_zero(ends, lower, upper) if kind in _NUMBERS else ends
    return _without_empty(ends, lower, upper, step)


def _without_empty(ends: list[Cut], lower: Fraction, upper: Fraction, step: Fraction) -> tuple[Cut, ...]:
    """The ends of cells that hold a point of the grid; one that holds none is left to its neighbour."""
    last, wanted = math.ceil(lower / step) - 1, list[Cut]()
    for cut in ends:
        reached = _reached(cut, step)
        if last < reached < math.floor(upper / step):
            wanted.append(cut)
            last = reached
    return tuple(wanted)


def _reached(cut: Cut, step: Fraction) -> int:
    """The last point of the grid before a cut."""
    place = cut.end / step
    return math.floor(place) if cut.closed else math.ceil(place) - 1


def _with_zero(ends: list[Cut], lower: Fraction, upper: Fraction) -> list[Cut]:
    """The ends with a cell of zero alone, if zero is within the bounds."""
    if not lower <= 0 <= upper:
        return ends
    zero = [Cut(Fraction(0))] * (lower < 0) + [Cut(Fraction(0), closed=True)] * (upper > 0)
    return [*(cut for cut in ends if cut.end < 0), *zero, *(cut for cut in ends if cut.end > 0)]


def _chosen(
    where: str, kind: ColumnType, lower: Fraction, upper: Fraction, choice: Sequence[object]
) -> tuple[Cut, ...]:
    try:
        ends = [_number(kind, end) for end in choice]
    except (ParameterError, ValueError, TypeError):
        raise ParameterError(
            f"{where}: the ends between cells are numbers or dates, as in cells={{'age': [18, 65]}}"
        ) from None
    if not all(a < b for a, b in pairwise([lower, *ends, upper])):
        raise ParameterError(f"{where}: the ends between cells must rise, and lie between the bounds")
    return tuple(map(Cut, ends))


def _exact(text: object) -> Fraction:
    """An exact number that a stranger may have written, short enough for there to be many."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ValueError
    return from_exact_text(text)


def _number(kind: ColumnType, end: object) -> Fraction:
    if kind not in ("date", "timestamp"):
        return rational(end, "an end")  # pyright: ignore[reportArgumentType]
    field = Field.from_column(Column(type=kind, bounds=(end, end)))
    assert field.bounds is not None
    return field.bounds[0]


def _arrow_type(kind: ColumnType, step: Fraction) -> Any:
    digits = len(str(step.denominator)) - 1
    return {
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "decimal": pa.decimal128(38, digits),
        "string": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }[kind]
