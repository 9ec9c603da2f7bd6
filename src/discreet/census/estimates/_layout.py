"""A specification under a policy: the cells of its columns, and the components that its tables are sums of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.census.estimates._components import Columns, Components
from discreet.census.specs._geography import Geography
from discreet.census.specs._reading import at_key
from discreet.census.specs._source import Source
from discreet.census.specs._spec import Spec
from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells, column_cells
from discreet.marginals.conditions import CellTable, Sandbox, Undetermined, column_names, condition
from discreet.marginals.trees import Tree
from discreet.policy import Key, Policy
from discreet.query import BoundedAggregate, match_name
from discreet.recursion import with_room

__all__ = ["Layout", "Measure", "area_keys"]

Measure = tuple[str, str]
"""A level, or a kind of districts, and the name of a table that is measured there."""
_MOST_CELLS = 2**28


@dataclass(frozen=True, eq=False)
class Layout:
    """What is measured where, in public cells.

    Attributes
    ----------
    spec
        What was asked for.
    columns
        The cells of every column of a table, in the order in which tables name them.
    """

    spec: Spec
    columns: tuple[ColumnCells, ...]

    @classmethod
    def of_policy(cls, spec: Spec, policy: Policy) -> Layout:
        """Find the columns in a policy. Raises `QueryError` and `ParameterError` for what cannot be published."""
        source = at_key("table", lambda: Source.of_policy(spec.table, policy))
        table, declared, tables_of = source.called, source.columns, dict[str, str]()
        for each, columns in spec.tables.items():
            for column in columns:
                name = at_key(f"tables.{each}", lambda column=column: match_name(column, declared, table, "column"))
                tables_of.setdefault(name, each)
        for name, each in (*tables_of.items(), (spec.column, None)):
            if name in source.identifiers:
                where = "geography.column" if each is None else f"tables.{each}"
                raise QueryError(f"{where}: {name} says whose a row is, and cannot be published; leave it out")
        chosen = {
            at_key(f"cells.{name}", lambda name=name: match_name(name, tables_of, "the tables", "column")): choice
            for name, choice in spec.cells.items()
        }
        columns = tuple(
            at_key(
                f"cells.{name}" if name in chosen else f"tables.{each}",
                lambda name=name: column_cells(source.table, name, declared[name], chosen.get(name)),
            )
            for name, each in tables_of.items()
        )
        for column in columns:
            if column.keys == ():
                raise QueryError(
                    f"tables.{tables_of[column.name]}: {source.named(column.name)} has no public keys: list them in "
                    "the policy; cells must be public"
                )
        layout = cls(spec, columns)
        layout.check()
        return layout

    def check(self) -> None:
        """Raise `ParameterError` for more cells than fit, or rules that name no cells."""
        every = sum(self.tree.sizes) * math.prod(self.sizes)
        if every > _MOST_CELLS:
            raise ParameterError(
                f"tables: all columns together have {math.prod(self.sizes):,} cells in each of "
                f"{sum(self.tree.sizes):,} areas, and {_MOST_CELLS:,} are the most; use coarser cells, fewer columns "
                "or larger areas, or publish the areas in parts, as docs/scale.md does"
            )
        if not self.allowed.any():
            raise ParameterError("zeros: these conditions leave no cell for anybody to be in")

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """The cells of all columns that somebody may be in."""
        allowed = np.ones(self.sizes, bool)
        for place, rule in enumerate(self.spec.zeros):
            try:
                allowed &= self.weights(rule, self.detail) == 0
            except QueryError as error:
                raise QueryError(f"zeros: condition {place + 1}: {error}") from None
        return allowed

    @property
    def tree(self) -> Tree:
        """The tree of areas."""
        return self.spec.geography.tree

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The cells of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def detail(self) -> Columns:
        """All columns."""
        return tuple(range(len(self.columns)))

    @cached_property
    def tables(self) -> Mapping[str, Columns]:
        """The columns of each table, rising."""
        places = {column.name.casefold(): i for i, column in enumerate(self.columns)}
        return {
            name: tuple(sorted(places[column.casefold()] for column in columns))
            for name, columns in self.spec.tables.items()
        }

    @cached_property
    def components(self) -> Components:
        """The components of the tables, and the total where totals are held."""
        tables = tuple(self.tables.values())
        return Components(self.sizes, (*tables, ()) if self.spec.held and () not in tables else tables)

    @cached_property
    def held(self) -> tuple[int, NDArray[np.int64]] | None:
        """The level whose totals are public, and the totals in the order of the tree."""
        for level, totals in self.spec.held.items():
            place = self.spec.geography.level(level)
            return place, np.array([totals[name] for name in self.spec.geography.names[place]], np.int64)
        return None

    def areas(self, place: str) -> int:
        """How many areas a level has, or districts a kind."""
        geography = self.spec.geography
        is_level = place in geography.levels
        return self.tree.sizes[geography.level(place)] if is_level else len(self.spec.districts[place])

    def names(self, place: str) -> tuple[str, ...]:
        """The areas of a level, or the districts of a kind. Raises `ParameterError` for a name that neither has."""
        if place in self.spec.districts:
            return tuple(self.spec.districts[place])
        return self.spec.geography.names[self.spec.geography.level(place)]

    def weights_of(self, kind: str) -> list[list[NDArray[np.float64] | None]]:
        """For each district of a kind its weights of areas, level by level."""
        geography = self.spec.geography
        return [geography.weights(inside, f"{kind} {name}") for name, inside in self.spec.districts[kind].items()]

    def columns_of(self, table: str) -> Columns:
        """The columns of a table by its name. Raises `QueryError` if there is none of that name."""
        return self.tables[match_name(str(table), self.tables, "the specification", "table")]

    def shares(self) -> dict[Measure, Fraction]:
        """The share of each level and table, together 1. Not of ``"auto"``."""
        given = {
            (place, table): share
            for place, by_table in self.spec.given_shares().items()
            for table, share in by_table.items()
            if share
        }
        total = sum(given.values())
        return {each: share / total for each, share in given.items()}

    def rows(self, policy: Policy) -> BoundedAggregate:
        """The rows that count, by area and by the cells of each column."""
        source = Source.of_policy(self.spec.table, policy)
        area = at_key("geography.column", lambda: match_name(self.spec.column, source.columns, source.called, "column"))
        keys = area_keys(self.spec.geography, source.named(area), source.columns[area].type)
        return source.rows({area: keys, **{each.name: each.coded for each in self.columns}})

    @with_room
    def columns_in(self, where: str | None) -> Columns:
        """The columns that a condition names. Raises `QueryError` for one that no table has."""
        names = [column.name for column in self.columns]
        used = () if where is None else column_names(condition(where))
        return tuple(sorted({names.index(match_name(each, names, "the publication", "column")) for each in used}))

    @with_room
    def weights(self, where: str | None, table: Columns) -> NDArray[np.float64]:
        """1 in each cell of a table in which a condition holds, and 0 in the others.

        Raises `QueryError` for a condition that is none, or that holds in a part of a cell.
        """
        shape = tuple(self.sizes[column] for column in table)
        if where is None:
            return np.ones(shape)
        tree = condition(where)
        names = [self.columns[column].name for column in table]
        for name in column_names(tree):
            match_name(name, names, "this table", "column")
        with Sandbox({}) as sandbox:
            cells = CellTable(self.columns, (self.spec.table,), sandbox)
            try:
                value = cells.value(tree, table)
            except Undetermined:
                value = None
            if value is None or not value.known.all():
                raise QueryError(
                    f"{where!r} holds in a part of a cell; cells are the finest that there is: cut them there in the "
                    "specification, as in cells.age = [18, 65]"
                )
            holds = np.array([bool(each) for each in value.values.to_pylist()], np.float64)
        return holds.reshape(shape)


def area_keys(geography: Geography, where: str, kind: str) -> tuple[Key, ...]:
    """The names of the smallest areas as values of a column, which `where` names.

    Raises `QueryError` for a column of another type than int or string, `ParameterError` for names that are no ints.
    """
    names = geography.names[-1]
    if kind == "string":
        return names
    if kind != "int":
        raise QueryError(f"geography.column: {where} names areas, and must be an int or a string, not a {kind}")
    try:
        return tuple(map(int, names))
    except ValueError:
        raise ParameterError(
            f"geography.areas: {where} is an int, and the list of areas has names that are none"
        ) from None
