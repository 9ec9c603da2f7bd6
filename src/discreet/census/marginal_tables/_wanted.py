"""Which marginals of a table are wanted, over which public cells, and how much each counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, QueryError
from discreet.marginals import CellChoice, ColumnCells, column_cells
from discreet.marginals.residuals import Columns, Lattice, OptimalShares, least_largest, least_sum
from discreet.policy import Policy
from discreet.query import match_name
from discreet.rational import Number, rational

__all__ = ["Minimized", "Wanted", "Ways", "tabled_columns", "wanted_marginals"]

Ways = int | Sequence[Sequence[str]] | Mapping[tuple[str, ...], Number]
"""Up to how many columns, or lists of columns; or of each list how many times as much as others it counts."""
Minimized = Literal["sum", "largest"]
"""The variances of all cells together, or the largest of one."""
_EXAMPLE = 'ways=2, or ways=[("age", "sex"), ("region",)]'
_MOST_MARGINALS = 2**20
_MOST_CELLS = 2**28


@dataclass(frozen=True)
class Wanted:
    """The marginals that are wanted, and what is minimised.

    Attributes
    ----------
    columns
        The columns with their cells.
    marginals
        By the places of their columns.
    weights
        How many times as much as others each counts.
    minimized
        ``"sum"`` or ``"largest"``.
    """

    columns: tuple[ColumnCells, ...]
    marginals: tuple[Columns, ...]
    weights: tuple[Fraction, ...]
    minimized: Minimized

    @cached_property
    def lattice(self) -> Lattice:
        """The residuals of the marginals."""
        return Lattice(tuple(column.size for column in self.columns), self.marginals)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def named(self, columns: Columns) -> tuple[str, ...]:
        """The names of some of the columns."""
        return tuple(self.columns[column].name for column in columns)

    def places(self, names: Sequence[str]) -> Columns:
        """The places of columns by their names, rising. Raises `QueryError` where no marginal has all of them."""
        known = self.names
        places = [known.index(match_name(str(name), known, "the release", "column")) for name in names]
        columns = tuple(sorted(places))
        if len(set(columns)) < len(columns) or not set(self.lattice.parts(columns)) <= self.lattice.places.keys():
            raise QueryError(
                f"no marginal that was asked for has {' and '.join(map(str, names))} together, each once; ask for "
                f"some columns of one of them"
            )
        return columns

    @property
    def factors(self) -> NDArray[np.float64]:
        """By what the variance of a cell of each marginal is multiplied in what is minimised."""
        weights = np.array([float(each) for each in self.weights])
        if self.minimized == "largest":
            return weights
        return weights * np.array([float(self.lattice.cells(each)) for each in self.marginals])

    def shares(self, costs: NDArray[np.float64]) -> OptimalShares:
        """The best shares among residuals that cost so much."""
        best = least_sum if self.minimized == "sum" else least_largest
        return best(self.lattice, costs, self.factors)

    def check(self) -> None:
        """Raise `QueryError` for more cells than are measured, `ParameterError` for weights that are none."""
        cells = sum(self.lattice.cells(each) for each in self.lattice.residuals)
        if cells > _MOST_CELLS:
            raise QueryError(
                f"these marginals have {cells:,} cells in all, and at most {_MOST_CELLS:,} are measured; ask for fewer "
                "columns, fewer ways, or fewer cells of a column"
            )
        if len(self.weights) != len(self.marginals) or any(not 0 < each < 10**100 for each in self.weights):
            raise ParameterError("the weight of a marginal is a number greater than 0")
        if self.minimized not in get_args(Minimized):
            raise ParameterError(f"minimize is 'sum' or 'largest', not {self.minimized!r}")

    def to_json(self) -> dict[str, Any]:
        """As plain JSON; `from_json` restores it."""
        return {
            "cells": [column.to_json() for column in self.columns],
            "marginals": [list(each) for each in self.marginals],
            "weights": [str(each) for each in self.weights],
            "minimized": self.minimized,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Wanted:
        """The inverse of `to_json`. Raises as code does that meets a wrong type."""
        marginals = tuple(tuple(int(column) for column in each) for each in data["marginals"])
        weights = tuple(Fraction(each) for each in data["weights"])
        columns = tuple(ColumnCells.from_json(each) for each in data["cells"])
        wanted = cls(columns, marginals, weights, data["minimized"])
        wanted.check()
        return wanted


def tabled_columns(
    policy: Policy, table: str, columns: Sequence[str] | None, cells: Mapping[str, CellChoice]
) -> tuple[ColumnCells, ...]:
    """The cells of the columns that are named, or of all but the ones that say whose a row is.

    Raises `QueryError` for a column that is not there, or has neither keys nor bounds, `ParameterError` for cells of
    a column that is left out.
    """
    declared = policy.tables[table].columns
    hidden = policy.identifiers(table)
    if isinstance(columns, str):
        raise ParameterError("columns is a list of names")
    if columns is None:
        wanted = [name for name in declared if name not in hidden]
    else:
        wanted = list(dict.fromkeys(match_name(str(name), declared, table, "column") for name in columns))
    surrogates = [name for name in wanted if name in hidden]
    if surrogates:
        raise QueryError(f"{surrogates[0]} says whose a row is, and has no public cells; leave it out of columns")
    if not wanted:
        raise QueryError(f"{table} has no column to tabulate; list columns with keys or bounds in the policy")
    chosen = {match_name(str(name), declared, table, "column"): choice for name, choice in cells.items()}
    odd = [name for name in chosen if name not in wanted]
    if odd:
        raise ParameterError(f"cells are chosen for {odd[0]}, which is not among the columns")
    tabled = tuple(column_cells(table, name, declared[name], chosen.get(name)) for name in wanted)
    bare = [column.name for column in tabled if column.keys == ()]
    if bare:
        raise QueryError(
            f"{table}.{bare[0]} is text without public keys: list its keys in the policy, or leave it out of columns"
        )
    return tabled


def wanted_marginals(columns: Sequence[ColumnCells], ways: object, minimized: object) -> Wanted:
    """The marginals that `ways` names, each once. Raises `ParameterError` and `QueryError` for what are none."""
    names = [column.name for column in columns]
    if isinstance(ways, int) and not isinstance(ways, bool):
        if not 1 <= ways <= len(names):
            raise ParameterError(f"ways is from 1 to the number of columns, {len(names)}, not {ways}")
        if sum(math.comb(len(names), width) for width in range(ways + 1)) > _MOST_MARGINALS:
            raise QueryError(f"these are more than {_MOST_MARGINALS:,} marginals; name fewer columns, or fewer ways")
        sets = {each: Fraction(1) for width in range(ways + 1) for each in combinations(range(len(names)), width)}
    elif isinstance(ways, Mapping):
        sets = {_places(each, names): rational(weight, "a weight") for each, weight in ways.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    elif isinstance(ways, Sequence) and not isinstance(ways, str):
        sets = {_places(each, names): Fraction(1) for each in ways}  # pyright: ignore[reportUnknownVariableType]
    else:
        raise ParameterError(f"ways is a number of columns, or a list of lists of columns, as in {_EXAMPLE}")
    marginals = tuple(sorted(sets, key=lambda each: (len(each), each)))
    wanted = Wanted(tuple(columns), marginals, tuple(sets[each] for each in marginals), minimized)  # type: ignore[arg-type]
    wanted.check()
    return wanted


def _places(marginal: object, names: Sequence[str]) -> Columns:
    if isinstance(marginal, str) or not isinstance(marginal, Sequence):
        raise ParameterError(f"each marginal is a list of columns, as in {_EXAMPLE}; got {marginal!r}")
    places = [names.index(match_name(str(name), names, "the table", "column")) for name in marginal]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if len(set(places)) < len(places):
        raise ParameterError(f"a marginal names a column once; got {marginal!r}")
    return tuple(sorted(places))
