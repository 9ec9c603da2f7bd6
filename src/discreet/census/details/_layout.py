"""A specification of overlapping groups under a policy: rows that count, groups, and the cells of each way to show one.

A person is in at most so many different groups, and counts once in each of them: ``proofs/detail.md``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.census.details._spec import DetailSpec
from discreet.census.estimates import area_keys
from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells, column_cells, private_table
from discreet.policy import Key, Policy
from discreet.privacy import Relation
from discreet.query import BoundedAggregate, Cut, RelatedKey, coded_rows, match_name, related_rows
from discreet.sensitivity import Norms

__all__ = ["DetailLayout", "Source", "group_norms", "source_of"]

_MOST_CELLS = 2**26
_MOST_PUBLISHED = 2**28


def group_norms(groups: int, rows: int, relation: Relation) -> Norms:
    """How far one person moves counts by groups, areas and cells: `rows` rows, each in so many different groups.

    A row is once in each of its groups, in one area and one cell, so that rows move one cell by `rows` at most. By
    substitution the cells that a person leaves and those that another enters may be different ones. Attained. Source:
    ``proofs/detail.md``.

    >>> group_norms(8, 1, "add_remove"), group_norms(8, 1, "substitute")
    (Norms(l1=8, l2_squared=8, linf=1), Norms(l1=16, l2_squared=16, linf=1))
    """
    people = 1 if relation == "add_remove" else 2
    return Norms(people * groups * rows, people * groups * rows**2, rows)


@dataclass(frozen=True, eq=False)
class DetailLayout:
    """Groups, areas and cells, all of them public.

    Attributes
    ----------
    spec
        What was asked for.
    codes
        The groups, in order.
    cells
        Of each way to show a group, from the total on, the cells of its columns.
    """

    spec: DetailSpec
    codes: tuple[Key, ...]
    cells: tuple[tuple[ColumnCells, ...], ...]

    def check(self) -> None:
        """Raise `ParameterError` for more cells than fit."""
        leaves, inner = self.spec.geography.tree.sizes[-1], math.prod(each.size for each in self.finest)
        counted = leaves * max(len(self.codes), 2 * inner) * len(self.spec.groups)
        if counted > _MOST_CELLS:
            raise ParameterError(
                f"{len(self.codes):,} groups, and the {inner:,} cells of one, in {leaves:,} smallest areas are more "
                f"than can be counted at once: {counted:,}, and {_MOST_CELLS:,} are the most; list larger areas, or "
                "coarser cells"
            )
        areas = sum(self.spec.geography.tree.sizes[self.spec.geography.level(level)] for level in self.levels)
        published = areas * len(self.codes) * max(self.sizes)
        if published > _MOST_PUBLISHED:
            raise ParameterError(
                f"as many as {published:,} numbers might be published, and {_MOST_PUBLISHED:,} are the most; leave out "
                "a level, or take coarser cells"
            )

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that are measured, from large areas to small ones."""
        return tuple(dict.fromkeys(level for level, _ in self.spec.given_shares()))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each way to show a group has."""
        return tuple(math.prod(each.size for each in columns) for columns in self.cells)

    @property
    def most(self) -> int:
        """In how many groups a row, or a person, can be: no more than there are."""
        return min(self.spec.most, len(self.codes))

    @cached_property
    def finest(self) -> tuple[ColumnCells, ...]:
        """For each column the cells of which those of every way are sums."""
        by_name: dict[str, list[ColumnCells]] = {}
        for column in (column for columns in self.cells for column in columns):
            by_name.setdefault(column.name, []).append(column)
        return tuple(_finest(cells) for cells in by_name.values())

    def summed(self, counts: NDArray[np.int64], way: int) -> NDArray[np.int64]:
        """Counts by the finest cells, in the last axes, as those of a way to show a group, in one axis."""
        lead = counts.ndim - len(self.finest)
        columns = {column.name: column for column in self.cells[way]}
        for axis, fine in enumerate(self.finest):
            starts = [0] if fine.name not in columns else _starts(fine, columns[fine.name])
            counts = np.add.reduceat(counts, starts, axis=lead + axis)
        names = [fine.name for fine in self.finest if fine.name in columns]
        counts = counts.reshape(*counts.shape[:lead], *(columns[name].size for name in names))
        order = [lead + names.index(column.name) for column in self.cells[way]]
        return counts.transpose(*range(lead), *order).reshape(*counts.shape[:lead], -1)

    def chosen(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """The way to show each group, by noisy totals alone: the number of thresholds that a total reaches."""
        return np.searchsorted(np.array(self.spec.thresholds), totals, side="right").astype(np.int64)

    def texts(self, way: int) -> list[tuple[str, ...]]:
        """What each cell of a way holds, in words, by its columns."""
        words = [[column.text(i) for i in range(column.size)] for column in self.cells[way]]
        return list(itertools.product(*words))

    def to_json(self) -> dict[str, Any]:
        """The groups and the cells, as plain JSON."""
        return {"codes": list(self.codes), "cells": [[each.to_json() for each in columns] for columns in self.cells]}

    @classmethod
    def from_json(cls, spec: Mapping[str, Any], data: Mapping[str, Any]) -> DetailLayout:
        """The inverse of `to_json`, with a specification. Raises as code does that meets a wrong type."""
        cells = tuple(tuple(ColumnCells.from_json(each) for each in columns) for columns in data["cells"])
        layout = cls(DetailSpec.from_json(spec), tuple(data["codes"]), cells)
        if len(cells) != len(layout.spec.ways) or cells[0] or not all(cells[1:]) or not layout.codes:
            raise ValueError
        layout.check()
        return layout


@dataclass(frozen=True)
class Source:
    """Where groups come from.

    Attributes
    ----------
    kind
        ``"memberships"``: a row for each group of a person. ``"columns"``: several groups in one row.
    table
        Whose rows count.
    bounded
        The rows, by groups, the smallest area, and the finest cells of each column.
    rows
        How many times one person counts in a group at most.
    """

    kind: Literal["memberships", "columns"]
    table: str
    bounded: BoundedAggregate
    rows: int


def source_of(spec: DetailSpec, policy: Policy) -> tuple[DetailLayout, Source]:
    """The groups and cells of a specification, and the rows that count.

    Raises `QueryError` and `ParameterError` for what cannot be counted.
    """
    table, declared = private_table(policy, spec.table)
    names = [match_name(each, declared.columns, table, "column") for each in spec.groups]
    codes = _codes(spec, policy, table, names)
    by_rows = policy.unit(table).name is None
    is_columns = len(names) > 1 or by_rows
    parent = None if is_columns else _parent(spec, policy, table)
    if is_columns and spec.people:
        raise ParameterError("people: columns of groups are of one row, and so are all others; leave people out")
    seeking = _Seeking(policy, table, parent)
    cells = ((), *(_cells(seeking, f"detail.{name}", each.columns, each.cells) for name, each in spec.details.items()))
    layout = DetailLayout(spec, codes, cells)
    layout.check()
    where, area = seeking.place(spec.column)
    areas = area_keys(spec.geography, f"{where}.{area}", policy.tables[where].columns[area].type)
    seeking.check_shown([*names, area, *(each.name for each in layout.finest)])
    if is_columns:
        inner = {area: areas, **{each.name: each.coded for each in layout.finest}}
        bounded = coded_rows(policy, table, inner, [(name, codes) for name in names])
        if spec.most != len(names):
            raise ParameterError(
                "groups.most: every row has one group here, as every row is another person; say most = 1"
            )
        return layout, Source("columns", table, bounded, declared.rows_per_unit)
    if spec.most > declared.groups_per_unit:
        raise ParameterError(
            f"groups.most: the policy has at most {declared.groups_per_unit:,} rows of one person of {table} count, so "
            f"that nobody is in {spec.most:,} groups; lower most, or raise max_rows in the policy"
        )
    (name,) = names
    keys = [
        RelatedKey("own", name, codes, name),
        seeking.key(spec.column, areas),
        *(seeking.key(each.name, each.coded, nullable=each.nullable) for each in layout.finest),
    ]
    used = parent if any(key.kind == "parent" for key in keys) else None
    bounded = related_rows(policy, table, keys, parent=used, once=0, most=layout.most)
    return layout, Source("memberships", table, bounded, 1)


def _codes(spec: DetailSpec, policy: Policy, table: str, names: Sequence[str]) -> tuple[Key, ...]:
    """The groups: those that are listed, or the keys of the columns in the policy."""
    declared = [policy.tables[table].columns[name] for name in names]
    odd = next((n for n, each in zip(names, declared, strict=True) if each.type != declared[0].type), None)
    if odd is not None or declared[0].type not in ("int", "string"):
        raise QueryError(f"{table}.{odd or names[0]} must name groups as an int or a string, and all columns alike")
    if spec.codes:
        if any(type(code) is not (int if declared[0].type == "int" else str) for code in spec.codes):
            raise ParameterError(f"groups.codes: {table}.{names[0]} is a {declared[0].type}, and these are none")
        return spec.codes
    codes = tuple(dict.fromkeys(key for each in declared for key in each.keys or ()))
    if not codes or any(each.keys is None for each in declared):
        raise QueryError(f"{table}.{names[0]} has no public keys: list the groups under groups.codes, or in the policy")
    return codes


def _parent(spec: DetailSpec, policy: Policy, table: str) -> str | None:
    """The table of whose rows those of a table are. Raises `QueryError` for one that is not linked."""
    here = policy.tables[table]
    if not spec.people:
        return None if here.path is None else here.path.table
    parent, above = private_table(policy, spec.people)
    linked = here.path.table == parent if here.path is not None else bool(here.person and above.person)
    if parent == table or not linked:
        raise QueryError(f"people: the policy has no path from {table} to {parent}; give {table} one, under unit")
    return parent


@dataclass(frozen=True)
class _Seeking:
    """Where a column is: in the table of groups, or in that of whose rows its rows are."""

    policy: Policy
    table: str
    parent: str | None

    def place(self, column: str) -> tuple[str, str]:
        """The table and the name of a column. Raises `QueryError` if it is in neither."""
        for table in (self.table, self.parent):
            if table is None:
                continue
            for name in self.policy.tables[table].columns:
                if name.casefold() == str(column).casefold():
                    return table, name
        return self.parent or self.table, match_name(
            str(column), self.policy.tables[self.parent or self.table].columns, self.parent or self.table, "column"
        )

    def key(self, column: str, cells: Sequence[Cut] | tuple[Key | None, ...], *, nullable: bool = False) -> RelatedKey:
        """What rows are counted by."""
        table, name = self.place(column)
        return RelatedKey("own" if table == self.table else "parent", name, cells, name, nullable)

    def check_shown(self, columns: Sequence[str]) -> None:
        """Raise `QueryError` for a column that says whose a row is."""
        for column in columns:
            table, name = self.place(column)
            if name in self.policy.identifiers(table):
                raise QueryError(f"{name} says whose a row is, and cannot be published; leave it out")


def _cells(
    seeking: _Seeking, where: str, columns: Sequence[str], choices: Mapping[str, Any]
) -> tuple[ColumnCells, ...]:
    """The cells of one way to show a group."""
    listed: list[ColumnCells] = []
    places = [seeking.place(column) for column in columns]
    chosen = {match_name(name, [each for _, each in places], where, "column"): each for name, each in choices.items()}
    for table, name in places:
        cells = column_cells(table, name, seeking.policy.tables[table].columns[name], chosen.get(name))
        if cells.keys == ():
            raise QueryError(f"{table}.{name} has no public keys: list them in the policy; cells must be public")
        listed.append(cells)
    return tuple(listed)


def _lasts(column: ColumnCells) -> NDArray[np.int64]:
    """The last point of the grid that each cell of numbers holds."""
    return column.points[:, 0] + column.points[:, 1] - 1


def _finest(cells: Sequence[ColumnCells]) -> ColumnCells:
    """Cells that end wherever one of several ways to cut a column ends a cell."""
    first = cells[0]
    if first.keys is not None:
        return first
    ends: dict[int, Cut] = {}
    for each in cells:
        ends |= dict(zip(_lasts(each)[:-1].tolist(), each.cuts, strict=True))
    cuts = tuple(ends[last] for last in sorted(ends))
    return ColumnCells(
        first.name, first.type, first.nullable, None, cuts, first.lower, first.upper, first.step
    )  # fmt: skip


def _starts(fine: ColumnCells, column: ColumnCells) -> list[int]:
    """Where each cell of a column begins among its finest cells."""
    if fine.keys is not None:
        return list(range(fine.size))
    starts = np.searchsorted(fine.points[:, 0], column.points[:, 0]).tolist()
    return [*starts, fine.valued] if fine.nullable else starts
