"""Small databases made to break a policy: one unit does its worst beside a crowd of others."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from discreet.errors import ParameterError
from discreet.policy import Column, ColumnType, Policy, Table

__all__ = ["ARROW", "BEYOND", "MOST_ROWS", "Row", "beyond", "ends", "hostile_databases", "nothing", "row_of"]


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
        name: _far(column.type, upper=upper)
        for name, column in table.columns.items()
        if column.bounds is not None and column.keys is None
    }


def _far(kind: ColumnType, *, upper: bool) -> Any:
    if kind in ("date", "timestamp"):
        moments = dt.datetime if kind == "timestamp" else dt.date
        return moments.max if upper else moments.min
    return (BEYOND if kind == "int" else math.inf) * (1 if upper else -1)


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
        if column.type in ("date", "timestamp"):
            return bound
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


_MOST_GROUPS = 8
_PERSON = 1


def hostile_databases(policy: Policy, crowd: int = 3) -> dict[str, tuple[dict[str, pa.Table], dict[str, pa.Table]]]:
    """Pairs of small neighbouring databases for a policy, by what their unit does; ``.values()`` are the pairs.

    Beside a `crowd` of other units with a row each, all the same, one unit has its rows:

    - at the lower ends of all columns, and at the upper ones, as many as the caps let count (1,000 at most);
    - beyond the bounds, at both sides, and more of them than the caps let count;
    - null, and NaN where a type has it;
    - in many groups, more than the caps let count: in every public key, and in private keys of its own;
    - alone in a key that is private, or that the policy does not list;
    - the same as the crowd's, once.

    Under ``"add_remove"`` the second database of a pair is without the unit. Under ``"substitute"`` the unit has rows
    at the upper ends there, or at the lower ones where the first has the upper. Where the unit is a person it is the
    same in every table; where it is a row, pairs are made for each table, under the table's name.

    Costs no privacy. Raises `ParameterError` unless `crowd` is a whole number, 0 or more.

    >>> from discreet.policy import load_policy
    >>> policy = load_policy({"version": "1", "tables": {"t": {"unit": "u", "max_rows": 2, "columns": {
    ...     "x": {"type": "int", "bounds": [0, 9]}}}}})
    >>> one, other = hostile_databases(policy, crowd=1)["at the upper ends"]
    >>> one["t"].to_pydict(), other["t"].to_pydict()
    ({'u': [2, 1, 1], 'x': [0, 9, 9]}, {'u': [2], 'x': [0]})
    """
    if isinstance(crowd, bool) or not isinstance(crowd, int) or crowd < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"crowd must be a whole number, 0 or more, got {crowd!r}")
    people = [name for name, table in policy.tables.items() if table.person or table.path]
    apart = [("", people)] if people else []
    apart += [(f"{name}: ", [name]) for name, table in policy.tables.items() if table.by_rows]
    pairs: dict[str, tuple[dict[str, pa.Table], dict[str, pa.Table]]] = {}
    for prefix, names in apart:
        kinds = {name: _scenarios(policy.tables[name]) for name in names}
        for scenario in kinds[names[0]]:
            there = {name: kinds[name][scenario] for name in names}
            instead: Mapping[str, list[Row]] = {}
            if policy.relation == "substitute":
                other = "at the lower ends" if "upper" in scenario else "at the upper ends"
                instead = {name: kinds[name][other] for name in names}
            first, second = (_database(policy, crowd, rows) for rows in (there, instead))
            pairs[prefix + scenario] = first, second
    return pairs


def _scenarios(table: Table) -> dict[str, list[Row]]:
    counted = table.rows_per_unit
    many = 1 if table.by_rows else min(3 * counted + 1, counted + 50, MOST_ROWS)
    usual, everywhere = ends(table, upper=False), list(itertools.islice(_groups(table), many))
    own = usual | {name: _strange(column.type) for name, column in table.columns.items() if column.bounds is None}
    few = min(counted, many)
    return {
        "at the lower ends": [usual] * few,
        "at the upper ends": [ends(table, upper=True)] * few,
        "beyond the lower bounds": [beyond(table, upper=False)] * many,
        "beyond the upper bounds": [beyond(table, upper=True)] * many,
        "beyond both bounds": [beyond(table, upper=i % 2 == 0) for i in range(many)],
        "null": [nothing(table, nan=False)] * many,
        "not a number": [nothing(table, nan=True)] * many,
        "in many groups": everywhere or [usual],
        "alone in a key": [own] * few,
        "the same as the crowd": [usual],
    }


def _groups(table: Table) -> Iterable[Row]:
    """Rows at the upper ends, each in another group of the keys, public and private; endless with private keys."""
    usual = ends(table, upper=True)
    public = {name: column.keys for name, column in table.columns.items() if column.keys is not None}
    own = [n for n, c in table.columns.items() if c.keys is None and c.bounds is None and c.type in ("string", "int")]
    listed = (dict(zip(public, values, strict=True)) for values in itertools.product(*public.values()))
    chosen = list(itertools.islice(listed, _MOST_GROUPS))
    for i, row in enumerate(itertools.cycle(chosen)):
        if i >= len(chosen) and not own:
            return
        yield usual | row | {name: i if table.columns[name].type == "int" else f"own {i}" for name in own}


def _strange(kind: str) -> object:
    """A value that no crowd has."""
    return {"int": 987_654_321, "string": "nobody else"}.get(kind)


def _database(policy: Policy, crowd: int, rows: Mapping[str, list[Row]]) -> dict[str, pa.Table]:
    tables: dict[str, pa.Table] = {}
    for name, table in policy.tables.items():
        unit = [(column, pa.int64()) for column in dict.fromkeys([*table.hidden, *policy.linked_by(name)])]
        known = [column for column, _ in unit]
        columns = [(column, ARROW[declared.type]) for column, declared in table.columns.items() if column not in known]
        usual = ends(table, upper=False)
        numbered = [(_PERSON + 1 + i, usual) for i in range(crowd)]
        numbered += [(_PERSON, row) for row in rows.get(name, [])]
        listed = [row | dict.fromkeys([n for n, _ in unit], who) for who, row in numbered]
        tables[name] = pa.Table.from_pylist(listed, schema=pa.schema([*unit, *columns]))
    return tables
