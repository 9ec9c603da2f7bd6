"""Values that a policy says most about: at its bounds, beyond them, none at all, and keys that few have."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa

from discreet.policy import Column, Table

__all__ = ["ARROW", "BEYOND", "MOST_ROWS", "Row", "beyond", "ends", "nothing", "row_of"]

Row = dict[str, Any]

ARROW: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "decimal": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""How a made-up table stores each type of the policy; decimals as doubles, so that they can be NaN too."""

BEYOND = 2**62
"""A whole number beyond most bounds."""

MOST_ROWS = 1_000
"""How many rows a made-up unit has at most, whatever its cap."""

_ENDS: dict[str, tuple[Any, Any]] = {
    "bool": (False, True),
    "int": (-1, 1),
    "float": (-1.0, 1.0),
    "decimal": (-1.0, 1.0),
    "string": ("", "z"),
    "date": (dt.date(1970, 1, 1), dt.date(2030, 1, 1)),
    "timestamp": (dt.datetime.fromisoformat("1970-01-01"), dt.datetime.fromisoformat("2030-01-01")),
}


def ends(table: Table, *, upper: bool) -> Row:
    """A row at the upper or the lower end of every column: its bound, its last or first key, or a far value.

    >>> ends(Table(unit="rows", columns={"x": Column(type="int", bounds=(0, 9))}), upper=True)
    {'x': 9}
    """
    return {name: _end(column, upper=upper) for name, column in table.columns.items()}


def beyond(table: Table, *, upper: bool) -> Row:
    """A row whose bounded numbers lie beyond every bound, at infinity where the type has one."""
    return ends(table, upper=upper) | {
        name: (BEYOND if column.type == "int" else math.inf) * (1 if upper else -1)
        for name, column in table.columns.items()
        if column.bounds is not None and column.keys is None
    }


def nothing(table: Table, *, nan: bool) -> Row:
    """A row without values: null everywhere, or NaN where the type has one; public keys are those of the lower end."""
    row: Row = {}
    for name, column in table.columns.items():
        missing = math.nan if nan and column.type in ("float", "decimal") else None
        row[name] = missing if column.keys is None else column.keys[0]
    return row


def row_of(row: Row, like: pa.Table) -> Row:
    """The row with the columns of a table, in its types as far as they hold the values, null where they do not."""
    return {field.name: _stored(row.get(field.name), field.type) for field in like.schema}


def _end(column: Column, *, upper: bool) -> Any:
    if column.keys is not None:
        return column.keys[-1 if upper else 0]
    if column.bounds is not None:
        bound = column.bounds[1 if upper else 0]
        return _inside(int(bound)) if column.type == "int" else float(bound)
    return _ENDS[column.type][1 if upper else 0]


def _inside(value: int) -> int:
    return max(-BEYOND, min(value, BEYOND))


def _stored(value: object, kind: pa.DataType) -> Any:
    for held in (value, str(value)):
        try:
            return pa.scalar(held, kind).as_py()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return None
