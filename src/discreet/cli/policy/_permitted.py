"""What a policy permits to be asked of each column. The planner itself is asked, with a query for each answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from discreet.errors import QueryError
from discreet.policy import Bound, Column, ColumnType, Key, Policy, Table
from discreet.query import Plan, make_plan

__all__ = ["Permitted", "join_conditions", "permitted"]

Grouping = Literal["free", "delta", "expression", "person"]
_NUMBERS = ("int", "float", "decimal")
_COARSER = {"float": "FLOOR(x)", "decimal": "FLOOR(x)", "timestamp": "CAST(x AS DATE)"}
"""For types of too many values, what is grouped by instead."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """What can be asked of a column, beside COUNT and WHERE, which take every column.

    `group_by` is "free" for public groups, "delta" for private ones, "expression" where only what is computed of the
    column has groups, and "person" where each of them would be one person's. `coarser` is an expression over the
    column x with fewer groups, where it has too many; they are public if `coarser_free`. `numbers` says that it can be
    summed, and have averages and quantiles.
    """

    group_by: Grouping
    numbers: bool
    missing: tuple[str, ...]
    coarser: str | None
    coarser_free: bool


def permitted(policy: Policy, table: str, name: str) -> Permitted:
    """What can be asked of a column of a table, and what it lacks for more.

    >>> from discreet.policy import load_policy
    >>> columns = {"x": {"type": "int"}, "who": {"type": "int"}}
    >>> policy = load_policy({"version": "1", "tables": {"t": {"unit": "who", "max_rows": 1, "columns": columns}}})
    >>> able = permitted(policy, "t", "x")
    >>> able.group_by, able.numbers, able.missing[0]
    ('delta', False, 'bounds, for SUM, AVG and quantiles')
    >>> permitted(policy, "t", "who").group_by
    'person'
    """
    declared = policy.tables[table]
    column = declared.columns[name]
    able = _permitted(column.type, column.bounds, column.keys)
    if able.group_by != "delta" or declared.public:
        return able
    sql = f"SELECT COUNT(*) AS n FROM {_quoted(table)} GROUP BY {_quoted(name)}"  # noqa: S608 - for a plan
    return able if _plan(sql, policy) is not None else replace(able, group_by="person")


@cache
def _permitted(kind: ColumnType, bounds: tuple[Bound, Bound] | None, keys: tuple[Key, ...] | None) -> Permitted:
    column = Column(type=kind, bounds=bounds, keys=keys)
    facts = Policy(version="1", tables={"t": Table(unit="rows", columns={"x": column})})
    by, coarser = _grouping("x", facts), _COARSER.get(kind) if keys is None else None
    coarser_free = coarser is not None and _grouping(coarser, facts) == "free"
    numbers = _plan("SELECT SUM(x) AS s, AVG(x) AS a, MEDIAN(x) AS m FROM t", facts) is not None
    missing: list[str] = []
    if column.type in _NUMBERS and not numbers:
        missing.append("bounds, for SUM, AVG and quantiles")
    if by == "delta" and not coarser_free:
        lacks = "keys or bounds" if kind in ("int", "date", "timestamp") and bounds is None else "keys"
        missing.append(f"{lacks}, for GROUP BY without a delta")
    return Permitted(by, numbers, tuple(missing), coarser, coarser_free)


def _grouping(key: str, facts: Policy) -> Grouping:
    plan = _plan(f"SELECT COUNT(*) AS n FROM t GROUP BY {key}", facts)  # noqa: S608 - for a plan
    if plan is None:
        return "expression"
    return "delta" if plan.levels[0].bounded.keys[0].values is None else "free"


def join_conditions(policy: Policy, table: str) -> Iterator[str]:
    """How a table can be joined to the others: on the person, along a path, or to a public table."""
    own = policy.tables[table]
    for name, other in policy.tables.items():
        if name == table or own.public:
            continue
        if other.public:
            if other.key is not None:
                yield f"{name} (public) on {name}.{other.key}"
            elif not own.by_rows:
                yield f"{name} (public)"
            continue
        pairs = [(own.person, other.person)]
        for path, here in ((own.path, True), (other.path, False)):
            if path is not None and path.table == (name if here else table):
                pairs.append((path.column, path.key) if here else (path.key, path.column))
        for left, right in dict.fromkeys(pairs):
            if left is not None and right is not None and _joins(policy, table, left, name, right):
                yield f"{name} on {table}.{left} = {name}.{right}"


def _joins(policy: Policy, table: str, left: str, other: str, right: str) -> bool:
    here, left, there, right = (_quoted(name) for name in (table, left, other, right))
    sql = f"SELECT COUNT(*) AS n FROM {here} JOIN {there} ON {here}.{left} = {there}.{right}"  # noqa: S608 - for a plan
    return _plan(sql, policy) is not None


def _plan(sql: str, policy: Policy) -> Plan | None:
    try:
        return make_plan(sql, policy)
    except QueryError:
        return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
