"""A policy against what its data declare: tables, columns and types, never rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.engines import Declared, declared_tables
from discreet.policy import Policy, Table

__all__ = ["Problem", "compared", "declared_for"]

_ONE_TABLE = re.compile(r"\.(parquet|pq|[ct]sv|[ct]sv\.gz)$", re.IGNORECASE)
_UNTYPED = re.compile(r"\.[ct]sv(\.gz)?($|&)", re.IGNORECASE)
_NUMBERS = frozenset({"int", "float", "decimal"})
_MOMENTS = frozenset({"date", "timestamp"})


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, at the end of the keys that lead there."""

    path: tuple[str, ...]
    text: str


def declared_for(policy: Policy, source: str | Mapping[str, str]) -> dict[str, tuple[Declared, bool]]:
    """From each table of the policy that the data have to its columns, and whether their types are declared."""
    sources = dict.fromkeys(policy.tables, source) if isinstance(source, str) else source
    places = {name.casefold(): place for name, place in sources.items()}
    listed = {place: declared_tables(place) for place in dict.fromkeys(places.values())}
    result: dict[str, tuple[Declared, bool]] = {}
    for name in policy.tables:
        place = places.get(name.casefold())
        if place is None:
            continue
        tables = listed[place]
        alone = _ONE_TABLE.search(place) is not None and (not isinstance(source, str) or len(policy.tables) == 1)
        by_name = {known.casefold(): columns for known, columns in tables.items()}
        columns = next(iter(tables.values())) if alone else by_name.get(name.casefold())
        if columns is not None:
            result[name] = columns, _UNTYPED.search(place) is None
    return result


def compared(policy: Policy, declared: Mapping[str, tuple[Declared, bool]]) -> Iterator[Problem]:
    """What the data lack, or store in a type of which no value converts to the policy's."""
    for name, table in policy.tables.items():
        where = ("tables", name)
        if name not in declared:
            yield Problem(where, f"the data have no table {name}")
            continue
        columns, typed = declared[name]
        yield from _columns(where, table, policy.linked_by(name), columns, typed=typed)


def _columns(
    where: tuple[str, ...], table: Table, linked: tuple[str, ...], columns: Declared, *, typed: bool
) -> Iterator[Problem]:
    stored = {name.casefold(): kind for name, kind in columns.items()}
    for name in dict.fromkeys([*table.hidden, *linked]):
        if name.casefold() not in stored:
            yield Problem((*where, "unit"), f"the data have no column {name}{_near(name, columns)}")
    for name, column in table.columns.items():
        path = (*where, "columns", name)
        if name.casefold() not in stored:
            yield Problem(path, f"the data have no column {name}{_near(name, columns)}")
            continue
        kind = stored[name.casefold()]
        if kind is None:
            yield Problem(path, "it is stored in a type that policies do not have, or may not be read; leave it out")
        elif typed and _is_empty(kind, column.type):
            yield Problem(
                path, f"it is stored as {kind}, of which nothing converts to {column.type}: every value would be NULL"
            )


def _is_empty(stored: str, wanted: str) -> bool:
    """Whether no stored value converts."""
    numbers = _NUMBERS | {"bool"}
    return (stored in numbers and wanted in _MOMENTS) or (stored in _MOMENTS and wanted in numbers)


def _near(name: str, columns: Declared) -> str:
    near = difflib.get_close_matches(name.casefold(), {each.casefold(): None for each in columns}, 1)
    return f"; did you mean {next(each for each in columns if each.casefold() == near[0])}?" if near else ""
