"""What a model reads, in public: its inputs by name, and how a value becomes a level or a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.policy import Column, ColumnType, Key
from discreet.query import Feature, plain_value
from discreet.rational import from_exact_text

__all__ = ["LEVELS", "MISSING", "Input", "Inputs", "Places", "input_of_feature"]

LEVELS = 1024
"""Into how many steps the bounds of a number are divided: a level is a whole number from 0 to this."""
MISSING = -1
"""The level of a number that is null or NaN, and the cell of a value that is not among the public ones."""

Places = NDArray[np.int32]
"""Levels or cells: a row each, a column for each input."""
_LONGEST_NUMBER = 800
_LONGEST_NAME = 10_000
_FAR = Fraction(10) ** 300


@dataclass(frozen=True, slots=True)
class Input:
    """One column that a model reads or predicts, by public facts alone.

    Attributes
    ----------
    name
        What the query, or the frame, calls it.
    values
        The public values of a category, in order; None for a number.
    lower, upper
        The bounds of a number: values beyond them are moved to them.
    type
        The type of a category; ``"float"`` for a number.
    """

    name: str
    values: tuple[Key | None, ...] | None = None
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(0)
    type: ColumnType = "float"

    def __post_init__(self) -> None:
        """Raises `ParameterError` for bounds between which floats have no levels."""
        if self.values is None and self.lower < self.upper:
            ends = [abs(each) for each in (self.lower, self.upper, self.upper - self.lower)]
            if not (max(ends) <= _FAR and ends[2] >= 1 / _FAR and float(self.lower) < float(self.upper)):
                raise ParameterError(f"the bounds of {self.name} are too far apart, too close or too large for floats")

    @property
    def is_number(self) -> bool:
        """Whether it is a number, not a category."""
        return self.values is None

    @property
    def size(self) -> int:
        """How many cells a category has."""
        return 0 if self.values is None else len(self.values)

    def levels(self, numbers: NDArray[np.float64]) -> Places:
        """The level of each number: by basic operations of IEEE 754, so that it depends on the number alone.

        >>> age = Input("age", lower=Fraction(0), upper=Fraction(64))
        >>> age.levels(np.array([0.0, 1.0, 99.0, np.nan]))
        array([   0,   16, 1024,   -1], dtype=int32)
        """
        lower, upper = float(self.lower), float(self.upper)
        with np.errstate(invalid="ignore"):
            inside = np.minimum(np.maximum(numbers, lower), upper)
            places = np.floor((inside - lower) * self._per_unit + 0.5)
            return np.where(np.isnan(numbers), MISSING, np.minimum(places, LEVELS)).astype(np.int32)

    def numbers(self, levels: NDArray[Any]) -> NDArray[np.float64]:
        """The number in the middle of each level, which may be a fraction of one."""
        return float(self.lower) + levels / LEVELS * float(self.upper - self.lower)

    @property
    def _per_unit(self) -> float:
        return LEVELS / float(self.upper - self.lower) if self.upper > self.lower else 0.0

    def cells(self, values: Sequence[object]) -> Places:
        """The cell of each value; `MISSING` for one that is not among the public ones.

        A whole number is an int, a 0 or 1 a truth value and a midnight a date where the public values are those.
        Raises `ParameterError` for values of no such kind, as lists.
        """
        places = {_known(value): i for i, value in enumerate(self.values or ())}
        try:
            return np.array([places.get(_known(_as_key(each, self.type)), MISSING) for each in values], np.int32)
        except TypeError:
            raise ParameterError(f"the column {self.name} is to be values of the type {self.type}") from None

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON; `from_json` restores it."""
        if self.values is None:
            return {"name": self.name, "bounds": [str(self.lower), str(self.upper)]}
        return {"name": self.name, "type": self.type, "values": [plain_value(each) for each in self.values]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Input:
        """Restore it from JSON that is not trusted. Raises `ValueError` or `ParameterError` for what is none."""
        name = data["name"]
        if not isinstance(name, str) or len(name) > _LONGEST_NAME:
            raise ValueError
        if "values" not in data:
            lower, upper = (_exact(each) for each in data["bounds"])
            if lower > upper:
                raise ValueError
            return cls(name, None, lower, upper)
        values = list(data["values"])
        known = [value for value in values if value is not None]
        if data["type"] == "bool":
            if any(type(value) is not bool for value in known):
                raise ValueError
            keys = tuple(known)
        else:
            keys = Column(type=data["type"], keys=tuple(known)).keys or ()
        if len(keys) != len(known) or len(set(map(_known, values))) != len(values) or not values:
            raise ValueError
        listed = iter(keys)
        return cls(name, tuple(None if value is None else next(listed) for value in values), type=data["type"])


def _known(value: object) -> tuple[type, object]:
    """A value with its type, for True is not 1 here."""
    plain = value.item() if isinstance(value, np.generic) else value
    return (type(plain), plain)


def _as_key(value: object, kind: ColumnType) -> object:
    """A value of a frame as the policy's type has it, where frames have no such type; others as they are."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float | datetime) and plain != plain:  # noqa: PLR0124 - NaN, and no time
        return None
    match kind:
        case "int" if isinstance(plain, float) and plain.is_integer():
            return int(plain)
        case "bool" if isinstance(plain, int | float) and plain in (0, 1):
            return bool(plain)
        case "date" if isinstance(plain, datetime) and plain.time() == time():
            return date(plain.year, plain.month, plain.day)
        case "timestamp" if isinstance(plain, datetime) and type(plain) is not datetime:
            # A pandas timestamp: one that has nanoseconds is none of the values.
            return None if getattr(plain, "nanosecond", 0) else datetime.combine(plain.date(), plain.timetz())
        case _:
            return plain


def _exact(text: object) -> Fraction:
    if not isinstance(text, str) or len(text) > _LONGEST_NUMBER:
        raise ValueError
    return from_exact_text(text)


def input_of_feature(feature: Feature) -> Input:
    """What a column of records is to a model."""
    if feature.is_number:
        lower, upper = feature.bounds
        return Input(feature.name, None, lower, upper)
    return Input(feature.name, feature.values, type=feature.type)


@dataclass(frozen=True)
class Inputs:
    """All that a model reads, and what it predicts (None: nothing)."""

    features: tuple[Input, ...]
    target: Input | None = None

    @cached_property
    def numbers(self) -> tuple[Input, ...]:
        """The inputs that are numbers, in order."""
        return tuple(each for each in self.features if each.is_number)

    @cached_property
    def categories(self) -> tuple[Input, ...]:
        """The inputs that are categories, in order."""
        return tuple(each for each in self.features if not each.is_number)

    @property
    def classes(self) -> tuple[Key | None, ...]:
        """The public classes of the target. Raises `ParameterError` if it has none."""
        if self.target is None or self.target.values is None:
            raise ParameterError("there are no classes to tell apart: name a label with public values")
        return self.target.values

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON; `from_json` restores it."""
        target = None if self.target is None else self.target.to_json()
        return {"features": [each.to_json() for each in self.features], "target": target}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Inputs:
        """Restore it from JSON that is not trusted. Raises `ValueError` or `ParameterError` for what is none."""
        features = tuple(map(Input.from_json, data["features"]))
        if not features:
            raise ValueError
        return cls(features, None if data["target"] is None else Input.from_json(data["target"]))

    def of_frame(self, frame: object) -> tuple[Places, Places]:
        """The levels and cells of the rows of a frame or a matrix, whose columns are the inputs by name or in order.

        Raises `ParameterError` for another shape, a column that is not there, or values of another kind.
        """
        columns = _columns(frame, [each.name for each in self.features])
        named = list(zip(self.features, columns, strict=True))
        numbers = [each.levels(_floats(column, each.name)) for each, column in named if each.is_number]
        cells = [each.cells(_values(column)) for each, column in named if not each.is_number]
        rows = len(columns[0])
        return _stacked(numbers, rows), _stacked(cells, rows)


def _stacked(columns: Sequence[Places], rows: int) -> Places:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int32)


def _columns(frame: object, names: Sequence[str]) -> list[Any]:
    if isinstance(frame, np.ndarray | list | tuple):
        # A list may have numbers beside texts, which an array of one type would turn into texts.
        matrix = frame if isinstance(frame, np.ndarray) else np.asarray(frame, object)
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            raise ParameterError(f"the model reads {len(names)} columns, got an array of shape {matrix.shape}")
        return list(matrix.T)
    import narwhals as nw

    if isinstance(frame, pa.Table):
        table = frame
    else:
        try:
            table = nw.from_native(frame, eager_only=True).to_arrow()  # pyright: ignore[reportArgumentType, reportCallIssue]
        except TypeError:
            raise ParameterError(
                f"the rows are a frame, an Arrow table or a matrix, not {type(frame).__name__}"
            ) from None
    left = [name for name in names if name not in table.column_names]
    if left:
        raise ParameterError(f"the rows have no column {left[0]}, which the model reads; it reads {', '.join(names)}")
    twice = [name for name in names if table.column_names.count(name) > 1]
    if twice:
        raise ParameterError(f"the rows have two columns {twice[0]}; keep the one that the model is to read")
    return [table.column(name) for name in names]


def _floats(column: Any, name: str) -> NDArray[np.float64]:
    try:
        if isinstance(column, np.ndarray):
            if column.dtype == object:
                column = np.array([np.nan if each is None else each for each in column], object)
            return column.astype(np.float64)
        numbers = column.cast(pa.float64(), safe=False).to_numpy()
        return np.asarray(numbers, np.float64)
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ParameterError(f"the column {name} is to be numbers") from None


def _values(column: Any) -> Sequence[object]:
    return column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
