"""Whether what a file holds can be a synthetic table: bounded in size and consistent, before it is computed with."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from discreet.marginals import Clique, ColumnCells, Merge, Numbers, neighbours_of, triangulated
from discreet.synth.rules import Rules, columns_of

__all__ = ["check_counts", "check_rules", "check_table", "check_ties", "clique_from_json", "integers_from_json"]

_MOST_COLUMNS = 2_048
_MOST_CELLS = 2**26
"""Of all cliques of the junction tree together: half a GiB, beyond what a fit makes."""
_MOST_POTENTIAL = 1e100
_MOST_COUNT = 2**100
_MOST_TOTAL = 1e30
_NEAR = 1e-6


def check_table(
    columns: Sequence[ColumnCells], merges: Sequence[Merge], total: float, potentials: Mapping[Clique, Numbers]
) -> None:
    """Raise `ValueError` unless these are the parts of one distribution that can be computed with."""
    names = {column.name.casefold() for column in columns}
    if not 0 < len(columns) == len(names) == len(merges) <= _MOST_COLUMNS or not 0 <= total <= _MOST_TOTAL:
        raise ValueError
    for column, merge in zip(columns, merges, strict=True):
        shares = np.array(merge.shares)
        if len(merge.into) != column.size or not (np.isfinite(shares) & (shares >= 0)).all():
            raise ValueError
        if not np.allclose(merge.summed(shares), 1, atol=_NEAR):
            raise ValueError
    sizes = [merge.size for merge in merges]
    for clique, values in potentials.items():
        if values.size != math.prod(sizes[column] for column in clique) or not (np.abs(values) < _MOST_POTENTIAL).all():
            raise ValueError
    triangulated(sizes, neighbours_of(len(sizes), potentials), most=_MOST_CELLS)


def check_rules(rules: Rules, columns: Sequence[ColumnCells]) -> None:
    """Raise `ValueError` or `QueryError` unless rules are on the columns, and what follows has a value in each cell."""
    names = [column.name for column in columns]
    every = [*names, *(each.name for each in rules.followers)]
    if len({name.casefold() for name in every}) < len(every):
        raise ValueError
    for follower in rules.followers:
        follower.check(columns)
    _check_tree([column.size for column in columns], _ruled(rules, columns))


def check_ties(
    rules: Rules, columns: Sequence[ColumnCells], merges: Sequence[Merge], cliques: Collection[Clique]
) -> None:
    """Raise `ValueError` unless rules and the cliques of a distribution leave a tree that can be computed with."""
    _check_tree([merge.size for merge in merges], [*cliques, *_ruled(rules, columns)])


def _ruled(rules: Rules, columns: Sequence[ColumnCells]) -> list[Clique]:
    return [columns_of(each, columns, rules.followers) for each in rules.conditions]


def _check_tree(sizes: Sequence[int], cliques: Sequence[Clique]) -> None:
    triangulated(sizes, neighbours_of(len(sizes), cliques), most=_MOST_CELLS)


def check_counts(
    columns: Sequence[ColumnCells],
    merges: Sequence[Merge],
    cliques: Collection[Clique],
    clique: Clique,
    counts: Sequence[int],
) -> None:
    """Raise `ValueError` unless there is a count for each cell of a marginal: a public cell, or a merged one.

    One of several columns is among `cliques`, those that the distribution has potentials for.
    """
    if len(clique) > 1 and clique not in cliques:
        raise ValueError
    sizes = [columns[clique[0]].size] if len(clique) == 1 else [merges[column].size for column in clique]
    if len(counts) != math.prod(sizes) or any(abs(count) > _MOST_COUNT for count in counts):
        raise ValueError


def clique_from_json(data: object, columns: int) -> Clique:
    """Positions of columns, each one once, in rising order. Raises `ValueError` for anything else."""
    clique = integers_from_json(data)
    if not clique or list(clique) != sorted(set(clique)) or not 0 <= clique[0] <= clique[-1] < columns:
        raise ValueError
    return clique


def integers_from_json(data: object) -> tuple[int, ...]:
    """A list of whole numbers. Raises `ValueError` for anything else."""
    if not isinstance(data, list) or any(type(each) is not int for each in data):  # pyright: ignore[reportUnknownVariableType]
        raise ValueError
    return tuple(data)  # pyright: ignore[reportUnknownArgumentType]
