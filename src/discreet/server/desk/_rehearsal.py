"""Made-up rows, drawn from the policy alone: what code and dashboards are built on before anything is spent.

The same policy gives the same rows: each value is a hash of its place. No row has anything to do with the data.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from discreet.policy import Column, Policy, Table

__all__ = ["ROWS", "made_up_tables"]

ROWS = 2_000
"""Made-up rows of a table."""

_PER_PERSON = 2
_DAY = dt.date(2024, 1, 1)
_TYPES = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "decimal": pa.decimal128(38, 6),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


def made_up_tables(policy: Policy, rows: int = ROWS) -> dict[str, pa.Table]:
    """A table of made-up rows for each table of a policy, of its columns and types, within its bounds and keys.

    People have one or two rows of a table. A column that another table refers to, or that is a key, has each value
    once. Costs nothing and reads nothing.

    >>> from discreet.policy import load_policy
    >>> policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {
    ...     "city": {"type": "string", "keys": ["Oslo", "Rome"]}, "age": {"type": "int", "bounds": [0, 99]}}}}})
    >>> sorted(set(made_up_tables(policy)["t"]["city"].to_pylist()))
    ['Oslo', 'Rome']
    """
    referred = {(path.table, path.key) for table in policy.tables.values() if (path := table.path) is not None}
    return {name: _made_up(name, table, policy, referred, rows) for name, table in policy.tables.items()}


def _made_up(name: str, table: Table, policy: Policy, referred: set[tuple[str, str]], rows: int) -> pa.Table:
    numbered = {column for home, column in referred if home == name} | ({table.key} if table.key else set())
    columns: dict[str, pa.Array[Any]] = {}
    for column in dict.fromkeys([*table.columns, *table.hidden]):
        declared = table.columns.get(column) or _undeclared(table, policy)
        make: Callable[[int], object]
        if column in numbered:
            make = _numbers(declared)
        elif column == table.person:
            make = _after(lambda i: i // _PER_PERSON, _numbers(declared))
        elif table.path is not None and column == table.path.column:
            make = _after(_places(f"{name}.{column}", rows), _numbers(declared))
        else:
            make = _values(f"{name}.{column}", declared)
        columns[column] = pa.array([make(i) for i in range(rows)], _TYPES[declared.type])
    return pa.table(columns)


def _after(first: Callable[[int], int], then: Callable[[int], object]) -> Callable[[int], object]:
    return lambda i: then(first(i))


def _places(place: str, rows: int) -> Callable[[int], int]:
    """From the number of a row to that of a row of the table it belongs to."""
    return lambda i: _hash(place, i) % rows


def _undeclared(table: Table, policy: Policy) -> Column:
    """A column that says whose a row is and is not declared: of the type of the one that it leads to, or a number."""
    path = table.path
    named = None if path is None else policy.tables[path.table].columns.get(path.key)
    return named or Column(type="int")


def _numbers(column: Column) -> Callable[[int], object]:
    """From a number to a value of a column, another one for each as long as there are keys."""
    if column.keys is not None:
        keys = column.keys
        return lambda i: keys[i % len(keys)]
    match column.type:
        case "string":
            return lambda i: f"made-up {i}"
        case "date" | "timestamp":
            return lambda i: _moment(column, i)
        case "bool":
            return lambda i: i % 2 == 0
        case "decimal":
            return Decimal
        case _:
            low = 0 if column.number_bounds is None else int(column.number_bounds[0])
            return lambda i: low + i


def _values(place: str, column: Column) -> Callable[[int], object]:
    """From the number of a row to a value spread over the keys or the bounds of a column."""
    if column.keys is not None:
        keys = column.keys
        return lambda i: keys[_hash(place, i) % len(keys)]
    match column.type:
        case "bool":
            return lambda i: _hash(place, i) % 2 == 0
        case "string":
            return lambda i: f"made-up {_hash(place, i) % 10}"
        case "date" | "timestamp":
            return lambda i: _moment(column, _hash(place, i))
        case kind:
            return lambda i: _number(kind, column, _share(place, i))


def _number(kind: str, column: Column, share: Fraction) -> object:
    low, high = column.number_bounds or (Fraction(0), Fraction(100))
    value = low + (high - low) * share
    match kind:
        case "int":
            return int(value)
        case "decimal":
            return Decimal(int(value * 100)) / 100
        case _:
            return float(value)


def _moment(column: Column, step: int) -> dt.date | dt.datetime:
    low, high = column.bounds or (_DAY, _DAY + dt.timedelta(days=365))
    first = low if isinstance(low, dt.datetime) else dt.datetime.combine(low, dt.time())  # pyright: ignore[reportArgumentType]
    last = high if isinstance(high, dt.datetime) else dt.datetime.combine(high, dt.time())  # pyright: ignore[reportArgumentType]
    moment = first + dt.timedelta(hours=step % (1 + int((last - first).total_seconds() // 3600)))
    return moment if column.type == "timestamp" else moment.date()


def _share(place: str, i: int) -> Fraction:
    return Fraction(_hash(place, i), 1 << 64)


def _hash(place: str, i: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{place} {i}".encode(), digest_size=8).digest())
