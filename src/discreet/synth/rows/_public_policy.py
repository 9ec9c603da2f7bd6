"""The policy of synthetic rows: a public table, with the types, keys and bounds that the private one has."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction

from discreet.marginals import ColumnCells
from discreet.policy import Bound, Column, ColumnType, column_to_toml, toml_key, toml_value
from discreet.synth.rules import Follower

__all__ = ["declared_column", "public_policies", "public_policy"]

_HEAD = """\
# Synthetic rows of the {noun} {tables}. They follow from what was released, whose loss was charged then: what is
# public costs nothing more to read. Copy the sections into a policy that has private tables too.
version = {version}
"""


def public_policy(
    table: str, name: str, columns: Sequence[ColumnCells], version: str, followers: Sequence[Follower] = ()
) -> str:
    """The policy of a public table in TOML."""
    declared = [(each.name, declared_column(each)) for each in columns]
    for each in sorted(followers, key=lambda follower: follower.place):
        declared.insert(each.place, (each.name, each.declared))
    return public_policies([(table, name, declared)], version)


def public_policies(tables: Sequence[tuple[str, str, Sequence[tuple[str, Column]]]], version: str) -> str:
    """The policy of several public tables in TOML: what each stands for, its name, and its columns."""
    listed = ", ".join(_comment(table) for table, _, _ in tables)
    head = _HEAD.format(noun="table" if len(tables) == 1 else "tables", tables=listed, version=toml_value(version))
    return head + "".join(_section(name, columns) for _, name, columns in tables)


def _section(name: str, columns: Sequence[tuple[str, Column]]) -> str:
    lines = "".join(f"{column_to_toml(each, column)}\n" for each, column in columns)
    return f"\n[tables.{toml_key(name)}]\npublic = true\n\n[tables.{toml_key(name)}.columns]\n{lines}"


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def declared_column(cells: ColumnCells) -> Column:
    """A column as a policy declares it."""
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
