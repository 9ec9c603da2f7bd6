"""The relations that a client sees: the tables of a policy, and those in which the desk lists its own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.policy import Bound, Column, Key, PersonPath, Policy, Table

__all__ = ["DESK_SCHEMA", "TYPES", "Relation", "ShownColumn", "relations"]

TYPES: Mapping[str, str] = {
    "bool": "boolean",
    "int": "bigint",
    "float": "double precision",
    "decimal": "numeric",
    "string": "text",
    "date": "date",
    "timestamp": "timestamp without time zone",
}
"""PostgreSQL's types for those of a policy."""
DESK_SCHEMA = "discreet"
_DESK: Mapping[str, Mapping[str, str]] = {
    "history": {
        "number": "bigint",
        "answered": "timestamp without time zone",
        "account": "text",
        "question": "text",
        "loss": "text",
    },
    "budget": {"account": "text", "budget": "text", "spent": "text", "remaining": "text"},
    "shelf": {"number": "bigint", "question": "text", "loss": "text"},
}
_KEYS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column, its type as `format_type` writes it, whether it is NOT NULL, and its comment."""

    name: str
    type: str
    required: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the catalogue shows it: `key` is its primary key, `path` the foreign key to a table with that key."""

    schema: str
    name: str
    columns: tuple[ShownColumn, ...]
    key: str | None = None
    path: PersonPath | None = None
    comment: str = ""


def relations(policy: Policy) -> tuple[Relation, ...]:
    """Every relation, a table that another refers to before it."""
    ordered = dict[str, Relation]()
    for name in policy.tables:
        _add(policy, name, ordered)
    return (*ordered.values(), *_desk())


def _desk() -> Iterator[Relation]:
    for name, columns in _DESK.items():
        yield Relation(DESK_SCHEMA, name, tuple(ShownColumn(each, kind) for each, kind in columns.items()))


def _add(policy: Policy, name: str, ordered: dict[str, Relation]) -> None:
    if name in ordered:
        return
    table = policy.tables[name]
    path = table.path
    if path is not None:
        _add(policy, path.table, ordered)  # which a policy holds to lead to no circle
    refers = path is not None and policy.tables[path.table].key == path.key
    ordered[name] = Relation(
        "public", name, tuple(_columns(table)), table.key, path if refers else None, _comment(table)
    )


def _columns(table: Table) -> Iterator[ShownColumn]:
    """Those that say whose a row is may have no entry in the policy: they stand first then, as text."""
    for name in table.hidden:
        if name not in table.columns:
            yield ShownColumn(name, "text", name == table.key, "whose a row is")
    for name, column in table.columns.items():
        required = not column.nullable or name == table.key
        yield ShownColumn(name, TYPES[column.type], required, _describe(column))


def _comment(table: Table) -> str:
    if table.public:
        return "public: questions about it alone are free"
    if table.by_ends:
        return "each row is an edge, which belongs to both its ends"
    if table.by_rows:
        return "each row is another person"
    rows = (
        "as many rows of one person as each query chooses" if table.buys_cap else f"{table.max_rows} rows of one person"
    )
    return f"whose a row is: {table.unit}; at most {rows} count"


def _describe(column: Column) -> str:
    parts = list[str]()
    if column.bounds is not None:
        parts.append(f"bounds: {_end(column.bounds[0])} to {_end(column.bounds[1])}")
    if column.keys is not None:
        shown = ", ".join(_key(key) for key in column.keys[:_KEYS_SHOWN])
        more = len(column.keys) - _KEYS_SHOWN
        parts.append(f"public keys: {shown}{f' and {more:,} more' if more > 0 else ''}")
    return "; ".join(parts)


def _end(end: Bound) -> str:
    if isinstance(end, dt.date):
        return str(end)
    return str(end.numerator) if end.denominator == 1 else repr(float(end))


def _key(key: Key) -> str:
    return "'" + key.replace("'", "''") + "'" if isinstance(key, str) else str(key).lower()
