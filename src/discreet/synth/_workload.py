"""The workload of a fit: marginals and queries that matter more than others, with weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.marginals import Clique, ColumnCells
from discreet.query import match_name, parse
from discreet.recursion import with_room
from discreet.synth.rules import Follower

__all__ = ["USUAL_WEIGHT", "Marginal", "Workload", "is_query", "weighted_sets"]

Marginal = str | Sequence[str]
"""The columns of a marginal, or a query in SQL, which is over a marginal of the columns that it names."""
Workload = Sequence[Marginal] | Mapping[str | tuple[str, ...], int]
"""Marginals or queries; or of each how many times as much as other marginals it counts."""

USUAL_WEIGHT = 4
_MOST_WEIGHT = 100
_SQL = re.compile(r"\s*(select|with|from)\b", re.IGNORECASE)
_EXAMPLE = 'as in [("site", "cost"), "SELECT site, AVG(cost) FROM visits GROUP BY site"], or {("site", "cost"): 8}'


def is_query(text: str) -> bool:
    """Whether a text of a workload is meant as a query, and not as the name of a column.

    >>> is_query("SELECT site, COUNT(*) FROM visits GROUP BY site"), is_query("site")
    (True, False)
    """
    return _SQL.match(text) is not None


def weighted_sets(
    workload: object, table: str, columns: Sequence[ColumnCells], followers: Sequence[Follower]
) -> tuple[tuple[Clique, int], ...]:
    """The marginals of a workload by the positions of their columns, each once, with the largest weight that it has.

    A column that follows from others stands for these. Raises `ParameterError` for what is no workload, `QueryError`
    for a column or table that is not there, or what is no query.
    """
    if isinstance(workload, str) or not isinstance(workload, Mapping | Sequence):
        raise ParameterError(_wrong())
    items: list[tuple[object, object]] = (
        list(workload.items()) if isinstance(workload, Mapping) else [(each, USUAL_WEIGHT) for each in workload]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    )
    sets: dict[Clique, int] = {}
    for marginal, weight in items:
        if type(weight) is not int or not 1 <= weight <= _MOST_WEIGHT:
            raise ParameterError(f"a weight in a workload is a whole number from 1 to {_MOST_WEIGHT}, not {weight!r}")
        clique = _positions(_names(marginal, table), columns, followers)
        sets[clique] = max(sets.get(clique, 0), weight)
    return tuple(sorted(sets.items()))


def _wrong() -> str:
    return f"a workload is a list of marginals, each a list of columns or a query in SQL, {_EXAMPLE}"


def _names(marginal: object, table: str) -> list[str]:
    if isinstance(marginal, str):
        if not is_query(marginal):
            raise ParameterError(_wrong())
        return _named_in(marginal, table)
    if not isinstance(marginal, Sequence) or not marginal:
        raise ParameterError(_wrong())
    return [str(name) for name in marginal]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


@with_room
def _named_in(query: str, table: str) -> list[str]:
    """The columns that a query over the table names."""
    tree = parse(query)
    inner = {each.alias.casefold() for each in tree.find_all(exp.CTE, exp.Subquery)}
    for each in tree.find_all(exp.Table):
        if each.name.casefold() not in (table.casefold(), *inner):
            raise QueryError(f"a workload is of queries over {table}, and one is over {each.name}")
    computed = {each.alias.casefold() for each in tree.find_all(exp.Alias)}
    named = dict.fromkeys(each.name for each in tree.find_all(exp.Column) if each.name.casefold() not in computed)
    if not named:
        raise QueryError(
            f"a query of the workload names no column of {table}; leave it out: the total is always measured"
        )
    return list(named)


def _positions(names: Sequence[str], columns: Sequence[ColumnCells], followers: Sequence[Follower]) -> Clique:
    fitted = [column.name for column in columns]
    by_name = {each.name: each for each in followers}
    positions: set[int] = set()
    for name in names:
        matched = match_name(name, [*fitted, *by_name], "the fit", "column")
        positions.update(by_name[matched].sources(columns) if matched in by_name else [fitted.index(matched)])
    return tuple(sorted(positions))
