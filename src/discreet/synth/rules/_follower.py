"""A column whose value follows from other columns by a public table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.marginals import ColumnCells, cells
from discreet.policy import Column
from discreet.query import plain_value

__all__ = ["TYPES", "Follower"]

TYPES = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "date": pa.date32()}
_MOST_VALUES = 2**20


@dataclass(frozen=True)
class Follower:
    """A column that follows from others.

    Attributes
    ----------
    name, type, nullable
        As in the policy.
    place
        Where it stands among all columns of a row.
    given
        The names of the columns that it follows from.
    values
        Its value in each cell of these, in C order; None is null.
    """

    name: str
    type: str
    nullable: bool
    place: int
    given: tuple[str, ...]
    values: tuple[object, ...]

    @property
    def array(self) -> pa.Array[Any]:
        """`values` with the type of the column."""
        return pa.array(list(self.values), TYPES[self.type])

    @property
    def declared(self) -> Column:
        """The column as a policy of synthetic rows has it."""
        distinct = [value for value in dict.fromkeys(self.values) if value is not None]
        if self.type == "bool":
            return Column(type="bool", nullable=self.nullable)
        if self.type == "float":
            return Column(type="float", bounds=(min(distinct), max(distinct)), nullable=self.nullable)  # pyright: ignore[reportArgumentType]
        return Column(type=self.type, keys=tuple(distinct), nullable=self.nullable)  # pyright: ignore[reportArgumentType]

    def sources(self, columns: Sequence[ColumnCells]) -> tuple[int, ...]:
        """The positions of the columns that it follows from."""
        names = [column.name for column in columns]
        return tuple(names.index(name) for name in self.given)

    def at(self, columns: Sequence[ColumnCells], drawn: Mapping[int, NDArray[np.int64]]) -> pa.Array[Any]:
        """Its values in rows, by the public cells of these in the columns that it follows from."""
        sources = self.sources(columns)
        place = drawn[sources[0]]
        for i in sources[1:]:
            place = place * columns[i].size + drawn[i]
        return self.array.take(pa.array(place, pa.int64()))

    def to_json(self) -> dict[str, Any]:
        """The column as plain JSON; `from_json` restores it."""
        return {
            "name": self.name,
            "type": self.type,
            "nullable": self.nullable,
            "place": self.place,
            "given": list(self.given),
            "values": [plain_value(value) for value in self.values],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Follower:
        """Restore it. Raises `ValueError`, `KeyError` or `TypeError` for what is none."""
        values = tuple(_restored(data["type"], value) for value in data["values"])
        texts = (data["name"], *data["given"])
        if not all(isinstance(each, str) for each in texts) or type(data["nullable"]) is not bool:
            raise ValueError
        if type(data["place"]) is not int or not 0 < len(values) <= _MOST_VALUES or data["type"] not in TYPES:
            raise ValueError
        follower = cls(data["name"], data["type"], data["nullable"], data["place"], tuple(data["given"]), values)
        follower.check()
        return follower

    def check(self, columns: Sequence[ColumnCells] | None = None) -> None:
        """Raise `ValueError` unless values are of its type, one for each cell of the columns that it follows from."""
        try:
            exact = self.array.to_pylist() == list(self.values)
            _ = self.declared
        except (pa.ArrowException, ValidationError, OverflowError):
            raise ValueError from None
        if not exact or (None in self.values and not self.nullable):
            raise ValueError
        if columns is not None and len(self.values) != cells([each.size for each in columns], self.sources(columns)):
            raise ValueError


def _restored(kind: object, value: object) -> object:
    return dt.date.fromisoformat(value) if kind == "date" and isinstance(value, str) else value
