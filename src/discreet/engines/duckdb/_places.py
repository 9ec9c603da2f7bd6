"""Public keys as small numbers: what DuckDB computes for a row, and the cell that each number stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines._marginals import as_number
from discreet.engines.duckdb._dialect import text
from discreet.engines.duckdb._layout import Field
from discreet.query import GroupKey, Marginals

__all__ = ["Places", "places_of"]

_DENSE = 2**20
"""Up to this many numbers from the least value to the largest have a place each, whether they are values or not."""
_KINDS = ((8, "UTINYINT"), (16, "USMALLINT"), (32, "UINTEGER"))


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one key's values, in the order of the values, as packed rows have them: from 1, with 0 for null.

    `cells` has the cell of each place; −1 where no public value is. `is_shifted` says that each is the place before, so
    that none has to be looked up.
    """

    field: Field
    cells: NDArray[np.int32]
    is_shifted: bool

    def cells_at(self, places: NDArray[Any]) -> NDArray[Any]:
        """The cells of rows by their places, below 0 or beyond all cells where a row is of no public value.

        Places are unsigned, so that the one before 0 is the largest number of their type.
        """
        if self.is_shifted:
            return places - places.dtype.type(1)
        return self.cells[places]

    @property
    def kind(self) -> str:
        """The least unsigned type of DuckDB's that holds a place."""
        return next(kind for bits, kind in _KINDS if self.field.bits <= bits)


def places_of(request: Marginals, enums: Sequence[bool]) -> list[Places]:
    """The places of each key; `enums` says which keys are enumerations in DuckDB."""
    keys = zip(request.bounded.keys, request.merged, enums, strict=True)
    return [_places(f"k{i}", key, merged, enum=enum) for i, (key, merged, enum) in enumerate(keys)]


def _places(name: str, key: GroupKey, merged: Sequence[int] | None, *, enum: bool) -> Places:
    values = key.values or ()
    cells = np.arange(len(values)) if merged is None else np.array(merged, np.int64)
    null = values.index(None) if None in values else None
    present = [i for i, value in enumerate(values) if value is not None]
    if enum:
        field, at = Field(f"enum_code({name})", 0, max(len(values) - 1, 0)), np.arange(len(values))
    elif key.type == "string":
        known = sorted(str(values[i]) for i in present)
        where = {value: place for place, value in enumerate(known)}
        field, at = _listed(name, known), np.array([where[str(values[i])] for i in present], np.int64)
    else:
        field, at = _numbers(name, key, [values[i] for i in present])
    table = np.full(field.high - field.low + 2, -1, np.int32)
    table[1 + at] = cells[present]
    if null is not None:
        table[0] = cells[null]
    return Places(field, table, is_shifted=bool(np.array_equal(table, np.arange(-1, table.size - 1))))


def _numbers(name: str, key: GroupKey, values: Sequence[Any]) -> tuple[Field, NDArray[np.int64]]:
    """A field for values that are numbers, or days or times, and the places of the values in it, from 0."""
    numbers = [as_number(value) for value in values] or [0]
    low, high = min(numbers), max(numbers)
    sql, step = _NUMBERS[key.type].format(name), 1
    if key.type == "timestamp":
        step = math.gcd(*(number - low for number in numbers)) or 1
    if (high - low) // step >= _DENSE:
        known = sorted(numbers)
        where = {number: place for place, number in enumerate(known)}
        field, places = _listed(f"CAST({sql} AS VARCHAR)", list(map(str, known))), [where[each] for each in numbers]
    elif step == 1:
        field, places = Field(sql, low, high), [number - low for number in numbers]
    else:
        field, places = (
            Field(f"(({sql} - ({low})) // {step})", 0, (high - low) // step),
            [(number - low) // step for number in numbers],
        )
    return field, np.array(places[: len(values)], np.int64)


_NUMBERS = {
    "bool": "CAST({} AS INTEGER)",
    "int": "{}",
    "date": "({} - CAST('1970-01-01' AS DATE))",
    "timestamp": "epoch_us({})",
}


def _listed(sql: str, known: Sequence[str]) -> Field:
    """The place of a text among known ones."""
    if not known:
        return Field("CAST(NULL AS INTEGER)", 0, 0)
    return Field(f"enum_code(TRY_CAST({sql} AS ENUM({', '.join(map(text, known))})))", 0, len(known) - 1)
