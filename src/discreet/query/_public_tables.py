"""The rows of a public table, read as groups of its columns, so that no private row is ever near."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Key, Policy
from discreet.query._public_keys import ReadPublic
from discreet.query.measures._bounded import BoundedAggregate, GroupKey, order_of
from discreet.query.measures._footprint import HELD_TEXT
from discreet.query.relations._columns import Columns

__all__ = ["MOST_PUBLIC_ROWS", "READABLE", "read_rows"]

MOST_PUBLIC_ROWS = 100_000
"""Rows of a public table that are read beside releases."""

READABLE = ("bool", "date", "int", "string", "timestamp")
"""Types of columns that are read as they are."""


def read_rows(policy: Policy, table: str, columns: Sequence[str], read: ReadPublic) -> Sequence[tuple[Key | None, ...]]:
    """The rows of a public table that has a `key`, which is among the columns, so that no two rows are alike.

    Raises `QueryError` for more than 100,000 rows, or texts of more characters than are read, and what `read` raises.
    """
    bound = Columns()
    scan, nodes = bound.scan(policy, table)
    types = policy.tables[table].columns
    request = BoundedAggregate(
        relation=scan,
        unit=None,
        max_rows=1,
        max_groups=None,
        where=None,
        keys=tuple(GroupKey(name, None, nodes[name], types[name].type) for name in columns),
        measures=(),
        columns=bound.fields,
        used=frozenset(column.name for name in columns for column in nodes[name].find_all(exp.Column)),
        count_units=False,
        most_groups=MOST_PUBLIC_ROWS + 1,
    )
    rows = read(request)
    if len(rows) > MOST_PUBLIC_ROWS:
        raise QueryError(
            f"the public table {table} has more than {MOST_PUBLIC_ROWS:,} rows, and no more are read beside releases; "
            "write the part over it as a query of its own"
        )
    if any(isinstance(value, str) and len(value) >= HELD_TEXT for row in rows for value in row):
        raise QueryError(
            f"the public table {table} has texts of {HELD_TEXT} characters or more, which are not read beside "
            "releases; leave out that column"
        )
    return sorted(rows, key=lambda row: [order_of(value) for value in row])
