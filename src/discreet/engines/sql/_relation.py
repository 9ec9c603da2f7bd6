"""Stored tables and columns, as the SQL engines reference them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from discreet.errors import DataError
from discreet.policy import ColumnType, Policy

__all__ = ["Relation", "StoredColumn", "check_links", "check_people"]


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column's name, its type in the engine's words, and a reference in which different texts are different."""

    name: str
    type: str
    sql: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What FROM reads, and for each name in the policy (columns and unit) the stored column."""

    sql: str
    columns: Mapping[str, StoredColumn]


def check_links(
    name: str,
    policy: Policy,
    served: Container[str],
    relation: Callable[[str], Relation],
    family: Callable[[str], str],
) -> None:
    """Raise `DataError` unless the columns that link a table to its owners are stored alike in both tables.

    `family` maps a stored type to its family: types of which equal values have equal texts.
    """
    declared, stored = policy.tables[name], relation(name).columns
    pairs: list[tuple[str, str, str]] = []
    if declared.path is not None:
        pairs.append((declared.path.column, declared.path.table, declared.path.key))
    if declared.person is not None:
        others = ((n, t.person) for n, t in policy.tables.items() if n != name and n in served)
        pairs += [(declared.person, other, column) for other, column in others if column is not None]
    for column, other, key in pairs:
        here, there = stored[column].type, relation(other).columns[key].type
        if family(here) != family(there):
            raise DataError(
                f"{name}.{column} is stored as {here} and {other}.{key} as {there}, so that the same person would "
                "not be found in both; store them alike"
            )


def check_people(
    name: str, policy: Policy, relation: Callable[[str], Relation], declared_as: Callable[[str], ColumnType | None]
) -> None:
    """Raise `DataError` where the people of a graph are not stored as what they are declared: two could become one.

    `declared_as` maps stored types of whole numbers and texts to what a policy calls them.
    """
    declared = policy.tables[name]
    for column in policy.people_of_graphs(name):
        here = relation(name).columns[column].type
        if declared_as(here) != declared.columns[column].type:
            raise DataError(
                f"{name}.{column} is declared {declared.columns[column].type} and stored as {here}, so that two people "
                "of a graph could be read as one; store it as it is declared"
            )
