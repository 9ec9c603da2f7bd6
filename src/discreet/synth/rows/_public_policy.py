"""The policy of synthetic rows: a public table, with the types, keys and bounds that the private one has."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction

from discreet.marginals import ColumnCells
from discreet.policy import Bound, Column, ColumnType, column_to_toml, toml_key, toml_value
from discreet.synth.rules import Follower

__all__ = ["public_policy"]

_HEAD = """\
# Synthetic rows of the table {table}. They follow from what was released, whose loss was charged then: the table is
# public, and reading it costs nothing more. Copy its section into a policy that has private tables too.
version = {version}

[tables.{name}]
public = true

[tables.{name}.columns]
"""


def public_policy(
    table: str, name: str, columns: Sequence[ColumnCells], version: str, followers: Sequence[Follower] = ()
) -> str:
    """The policy of a public table in TOML."""
    head = _HEAD.format(table=_comment(table), version=toml_value(version), name=toml_key(name))
    declared = [(each.name, _column(each)) for each in columns]
    for each in sorted(followers, key=lambda follower: follower.place):
        declared.insert(each.place, (each.name, each.declared))
    return head + "".join(f"{column_to_toml(each, column)}\n" for each, column in declared)


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def _column(cells: ColumnCells) -> Column:
    if cells.type == "bool":
        return Column(type="bool", nullable=cells.nullable)
    if cells.keys is not None:
        return Column(type=cells.type, keys=cells.keys, nullable=cells.nullable)
    ends = (_end(cells.type, cells.lower), _end(cells.type, cells.upper))
    return Column(type=cells.type, bounds=ends, nullable=cells.nullable)


def _end(kind: ColumnType, end: Fraction) -> Bound:
    match kind:
        case "date":
            return dt.date(1970, 1, 1) + dt.timedelta(days=int(end))
        case "timestamp":
            return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(end))  # noqa: DTZ001 - bounds have no zone
        case _:
            return end
