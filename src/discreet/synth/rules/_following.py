"""Columns that follow from others, checked against the policy and the cells of the columns that they follow from."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells, cells
from discreet.policy import Column, Policy
from discreet.query import Field, match_name
from discreet.synth.rules._follower import TYPES, Follower
from discreet.synth.rules._rules import Follows

__all__ = ["followers", "following_names"]

_MOST_VALUES = 2**20
_EPOCH = dt.date(1970, 1, 1)


def following_names(policy: Policy, table: str, follows: Sequence[Follows]) -> list[str]:
    """The columns that follow from others. Raises `QueryError` for one that is not there or cannot."""
    declared = policy.tables[table].columns
    names = [match_name(str(each.column), declared, table, "column") for each in follows]
    surrogates = policy.identifiers(table)
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"rules say twice what {name} follows from; keep one")
        if name in surrogates:
            raise QueryError(f"{name} says whose a row is: it gets new numbers, and follows from nothing")
        if declared[name].type not in TYPES:
            raise QueryError(
                f"{name} is a {declared[name].type}; what follows from others is of type {_words(list(TYPES))}"
            )
    return names


def followers(
    policy: Policy,
    table: str,
    follows: Sequence[Follows],
    columns: Sequence[ColumnCells],
    listed: Sequence[str] | None,
) -> tuple[Follower, ...]:
    """The columns that follow, with their values in each cell of those that they follow from.

    `listed` are the columns that the caller chose, in order. Raises `QueryError` or `ParameterError` for a value that
    is missing or that the column cannot have.
    """
    declared = policy.tables[table].columns
    names = following_names(policy, table, follows)
    order = _order(declared, [column.name for column in columns], names, listed)
    return tuple(
        _follower(f"{table}.{name}", name, declared, each, columns, order.index(name))
        for name, each in zip(names, follows, strict=True)
    )


def _order(
    declared: Collection[str], fitted: Sequence[str], names: Sequence[str], listed: Sequence[str] | None
) -> list[str]:
    """All columns of a row in order: that of the policy, or that which the caller chose, and then what follows."""
    if listed is None:
        return [name for name in declared if name in fitted or name in names]
    chosen = dict.fromkeys(match_name(str(name), declared, "the table", "column") for name in listed)
    return [*chosen, *(name for name in names if name not in chosen)]


def _follower(  # noqa: PLR0913, PLR0917
    where: str,
    name: str,
    policy: Mapping[str, Column],
    follows: Follows,
    columns: Sequence[ColumnCells],
    place: int,
) -> Follower:
    given = [follows.given] if isinstance(follows.given, str) else list(follows.given)
    if not given:
        raise ParameterError(f"{where} follows from nothing: name the columns that it is given by")
    fitted = [column.name for column in columns]
    sources = [fitted.index(match_name(str(each), fitted, "the fit", "column")) for each in given]
    for i in sources:
        if columns[i].keys == ():
            raise QueryError(
                f"{where} cannot follow from {fitted[i]}, whose keys are yet to be discovered: list its keys in the "
                "policy"
            )
        if columns[i].is_ordered and columns[i].points[:, 1].max() > 1:
            raise QueryError(
                f"{where} cannot follow from {fitted[i]}, which has cells of several values: choose cells of one value "
                "each, with cells="
            )
    if cells([column.size for column in columns], sources) > _MOST_VALUES:
        raise QueryError(f"{where} follows from more than {_MOST_VALUES:,} combinations of values")
    declared, table = policy[name], _mapping(where, name, follows, [fitted[i] for i in sources], policy)
    every = [_values(columns[i]) for i in sources]
    values = tuple(_value(where, table, each, [fitted[i] for i in sources]) for each in itertools.product(*every))
    follower = Follower(name, declared.type, declared.nullable, place, tuple(fitted[i] for i in sources), values)
    _check(where, follower, declared)
    return replace(follower, values=tuple(follower.array.to_pylist()))  # 1 of a float is 1.0: the same question


def _values(column: ColumnCells) -> Sequence[object]:
    return column.values(np.arange(column.size), np.zeros(column.size)).to_pylist()


def _mapping(
    where: str, name: str, follows: Follows, given: Sequence[str], policy: Mapping[str, Column]
) -> dict[tuple[object, ...], object]:
    """What follows from each tuple of values."""
    table = follows.values
    if isinstance(table, pa.Table):
        columns = [_typed(where, table, each, policy[each]) for each in (*given, name)]
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
        mapping: dict[tuple[object, ...], object] = {}
        for *key, value in rows:
            if mapping.setdefault(tuple(key), value) != value:
                raise ParameterError(f"{where} has two values where {_named(given, key)}")
        return mapping
    if not isinstance(table, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{where}: values is a mapping, or an Arrow table, not {type(table).__name__}")
    items: list[tuple[Any, object]] = list(table.items())
    return {(key if len(given) > 1 and isinstance(key, tuple) else (key,)): value for key, value in items}


def _typed(where: str, table: pa.Table, name: str, declared: Column) -> pa.ChunkedArray[Any]:
    """A column of a table with the type that the policy gives it, from text too."""
    column = table.column(match_name(name, table.column_names, f"the table of {where}", "column"))
    if declared.type not in TYPES:
        return column
    try:
        return column.cast(TYPES[declared.type])
    except pa.ArrowException:
        raise ParameterError(
            f"{where}: the column {name} of its table has values that are not of type {declared.type}"
        ) from None


def _value(
    where: str, table: Mapping[tuple[object, ...], object], key: tuple[object, ...], given: Sequence[str]
) -> object:
    if key in table:
        return table[key]
    if None in key:
        return None
    raise ParameterError(f"{where} has no value where {_named(given, key)}: list it in the rule")


def _check(where: str, follower: Follower, declared: Column) -> None:
    if None in follower.values and not declared.nullable:
        raise ParameterError(
            f"{where} is never null by the policy, but follows as NULL from some values: list what it is where "
            f"{' or '.join(follower.given)} is NULL"
        )
    values = [value for value in follower.values if value is not None]
    keys, bounds = declared.keys, Field.from_column(declared).bounds
    odd = [value for value in values if keys is not None and value not in keys]
    if not odd and bounds is not None:
        odd = [value for value in values if not _is_within(value, *bounds)]
    if odd:
        raise ParameterError(f"{where} cannot be {odd[0]!r} by the policy, but a rule says so")
    try:
        follower.check()
    except (ValueError, TypeError):
        raise ParameterError(f"{where} is of type {declared.type}, but a rule has values of other types") from None


def _is_within(value: object, lower: Fraction, upper: Fraction) -> bool:
    """Whether a number is between bounds, or a date, which they count in days."""
    if type(value) is dt.date:
        value = (value - _EPOCH).days
    return isinstance(value, int | float) and lower <= value <= upper


def _named(given: Sequence[str], key: Sequence[object]) -> str:
    return " and ".join(f"{name} is {value!r}" for name, value in zip(given, key, strict=True))


def _words(types: Sequence[str]) -> str:
    return f"{', '.join(types[:-1])} or {types[-1]}"
