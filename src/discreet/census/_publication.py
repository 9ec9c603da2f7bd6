"""Published tables: integers that add up, beside each the unbiased number and its interval, and any total for free."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.census._files import integers_from_json, integers_to_json, joined, listed, write_folder
from discreet.census._pictures import Picture, checked_picture, level_errors, shares, size_errors, values
from discreet.census._report import PublishedTable, Report, report_of
from discreet.census._tabulation import Tabulation
from discreet.census._totals import Population, Ratio, Total, Totals
from discreet.census.estimates import Columns, Errors, Estimate, Layout, Measure, Sum
from discreet.census.specs import Spec
from discreet.charts import load_altair
from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells
from discreet.marginals.trees import Tree
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss, from_json, in_words, to_json
from discreet.query import match_name
from discreet.release import JsonRelease

__all__ = ["Publication"]

_SHOWN = 1_000
_AT_ONCE = 2**20
"""Rows of a table that are made together: 8 MiB of each column of numbers."""


@dataclass(frozen=True, repr=False, eq=False)
class Publication(JsonRelease):
    """Statistical tables, published once. They may be shown to anyone, and all that is computed from them is free.

    Attributes
    ----------
    layout
        The areas, tables and cells.
    mechanisms
        The noise of each measurement, by level and table.
    measured
        What each measured, areas by cells: the noisy counts themselves.
    leaves
        The published integers of the last level that is measured, areas by cells of all columns: every other published
        number is a sum of these.
    loss, certificate
        As of every release; the certificate lists every measurement.
    universes
        What was published of other rows with these, by name; each has the part of the loss that it cost.
    """

    called = "publication of tables"
    fields = frozenset({"spec", "cells", "noise", "measured", "leaves"})
    optional = frozenset({"universes"})

    layout: Layout
    mechanisms: Mapping[Measure, Additive]
    measured: Mapping[Measure, NDArray[np.int64]]
    leaves: NDArray[np.int64]
    loss: Loss
    certificate: Mapping[str, Any]
    universes: Mapping[str, Publication] = field(default_factory=dict[str, "Publication"])

    def certified(self, certificate: Mapping[str, Any]) -> Publication:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @cached_property
    def errors(self) -> Errors:
        """The variances of all that is published."""
        return Errors.of_mechanisms(self.layout, self.mechanisms)

    @cached_property
    def estimate(self) -> Estimate:
        """The least-squares estimates."""
        return Estimate(self.errors, self.measured)

    @cached_property
    def integers(self) -> list[NDArray[np.int64]]:
        """The published integers at every level, areas by cells of all columns."""
        return Tree(self.layout.tree.parents[: self.errors.depth]).sums(self.leaves)

    def table(self, name: str, level: str | None = None, confidence: float = 0.95) -> pa.Table:
        """A table at a level, with a row for each area and cell. Costs nothing.

        Columns: the area; the cell of each column; ``value``, the published integer; ``unbiased``, the estimate that is
        right on average; its ``standard_error``; ``lower`` and ``upper``, its interval at `confidence`; and ``flag``:
        ``held`` for a public total, ``imprecise`` by the rule of the specification. Where the specification says so,
        imprecise numbers are null instead, ``withheld``, and each area has one more row with their sum; or an area is
        shown by fewer columns, ``coarsened``. Noisy values alone decide, and `measurements` has all of them.

        `level` is one of the tree, or a kind of district; the smallest areas by default.
        Raises `QueryError` for a table that is not there, or that is not measured at the level or below.
        """
        return joined(self._pieces(name, level, confidence))

    def _pieces(self, name: str, level: str | None = None, confidence: float = 0.95) -> Iterator[pa.Table]:
        """The rows of `table`, of some areas at a time; raises before the first of them."""
        columns, at = self.layout.columns_of(name), self.last_level if level is None else level
        if at in self.layout.spec.districts:
            return iter([Tabulation(self.totals).table(columns, at, confidence)])
        self.errors.check_published(self.layout.spec.geography.level(at), columns)
        runs = self._runs(self.layout.areas(at), columns)
        return (Tabulation(self.totals, some).table(columns, at, confidence) for some in runs)

    def _runs(self, areas: int, columns: Columns) -> list[slice]:
        """All areas, in runs that have not too many cells together."""
        step = max(_AT_ONCE // self.layout.components.cells(columns), 1)
        return [slice(begin, min(begin + step, areas)) for begin in range(0, areas, step)]

    @cached_property
    def totals(self) -> Totals:
        """Sums over areas and cells."""
        return Totals(self.estimate, self.integers)

    @property
    def last_level(self) -> str:
        """The level of the smallest areas that are published."""
        return self.layout.spec.geography.levels[self.errors.depth]

    def shown_table(self, name: str, level: str | None = None, confidence: float = 0.95) -> PublishedTable:
        """A table at a level as a table of text, to print. Raises as `table`."""
        at = self.last_level if level is None else level
        return PublishedTable(name, at, self.table(name, at, confidence), confidence, self.loss)

    def total(self, name: str | None = None, *, areas: Sequence[Any] | None = None, where: str | None = None) -> Total:
        """How many people some areas have together, in the cells in which a condition holds. Costs nothing.

        Parameters
        ----------
        name
            The table whose cells are summed; by default those of the columns that the condition names.
        areas
            Areas of any level, none within another, or ``(level, area)`` where a name is one of several levels; all
            areas by default.
        where
            A condition in SQL on the columns of the table, which holds in whole cells.

        Raises `QueryError` for a condition that no table answers, `ParameterError` for no such area.
        """
        return self.totals.total(self.totals.asked(name, areas, where))

    def rate(  # noqa: PLR0913
        self,
        where: str | None = None,
        *,
        areas: Sequence[Any] | None = None,
        among: str | None = None,
        universe: str | None = None,
        population: Population | None = None,
        per: float = 100_000,
    ) -> Ratio:
        """How many people of so many are in the cells in which a condition holds, over some areas. Costs nothing.

        Parameters
        ----------
        where
            A condition in SQL, as of `total`: who is counted.
        areas
            As of `total`.
        among
            Who counts below: those of whom this condition holds; all people by default.
        universe
            Whose rows count below: another universe, such as households, for people in each with ``per=1``.
        population
            Public numbers of people in place of those that were measured: one for all areas together, or one for each
            of `areas` by name.
        per
            Of how many people: 100,000 by default, 1 for a share.

        Raises as `total`, and `ParameterError` for a population or a universe that is none.
        """
        asked = self.totals.asked(None, areas, where)
        if population is not None:
            _check_one(among, universe)
            return self.totals.ratio(asked, self.totals.people_in(population, areas), per)
        other = self._other(universe)
        below = (other or self.totals).asked(None, areas, among)
        return self.totals.ratio(asked, below, per, other)

    def _other(self, universe: str | None) -> Totals | None:
        """The sums of another universe. Raises `QueryError` if there is none of that name."""
        if universe is None:
            return None
        return self.universes[match_name(universe, self.universes, "the publication", "universe")].totals

    def rates(  # noqa: PLR0913
        self,
        where: str | None = None,
        *,
        level: str | None = None,
        among: str | None = None,
        universe: str | None = None,
        population: Mapping[str, float] | None = None,
        per: float = 100_000,
        confidence: float = 0.95,
    ) -> pa.Table:
        """The rate of `rate` in each area of a level, or in each district of a kind. Costs nothing.

        Columns: the area; ``value``, of published numbers; ``estimate``, of unbiased ones; its ``standard_error``, to
        first order; and ``lower`` and ``upper``, its interval by Fieller's rule, up to infinity where there may be
        nobody. NaN where nobody is counted below. Raises as `rate`.
        """
        at, other = self.last_level if level is None else level, self._other(universe)
        asked: Sum = self.totals.asked(None, None, where)
        below: Sum | NDArray[np.float64] = (other or self.totals).asked(None, None, among)
        if population is not None:
            _check_one(among, universe)
            below = self.totals.people_of(population, at)
        if at in self.layout.spec.districts:
            return self.totals.district_ratios(at, asked, below, per, confidence, other)
        place = self.layout.spec.geography.level(at)
        return self.totals.ratios(place, asked, below, per, confidence, other)

    def beyond_cap(self, column: str, *, universe: str, areas: Sequence[Any] | None = None) -> Total:
        """How many rows the cap on rows of one person left out, by the sizes that another universe has. Costs nothing.

        Where households are protected, so many of each at most count among the people. A column of households with
        their sizes tells how many more there are: sizes above the cap, less the cap, summed. Raises as `mean`.

        Parameters
        ----------
        column
            The column of sizes, whose cells are single numbers.
        universe
            Whose column it is.
        areas
            As of `total`.
        """
        other = self._other(universe)
        assert other is not None
        cap = int(self.certificate["rows_per_unit"])
        return other.total(other.beyond(column, cap, other.asked(None, areas, None)))

    def mean(self, column: str, *, areas: Sequence[Any] | None = None, where: str | None = None) -> Ratio:
        """The average of a column of numbers, over the people of some areas of whom a condition holds. Costs nothing.

        Every cell of the column must hold one number; people without one do not count. Raises `QueryError` for another
        column, and as `total`.
        """
        above, below = self.totals.mean(column, self.totals.asked(None, areas, where))
        return self.totals.ratio(above, below, 1)

    def report(self) -> Report:
        """How wrong the published numbers are: at each level, by the size of the area. Costs nothing.

        The bend is how far published totals are off on average, because they are integers that are never negative: see
        `ReportRow`. Areas are sized by their unbiased totals.
        """
        return report_of(self.estimate, self.integers)

    def microdata(self) -> pa.Table:
        """A row for each published person: tables counted from these are those that were published. Costs nothing.

        They are made of published numbers: no row is a person.
        """
        areas, cells = np.nonzero(self.leaves)
        repeats = self.leaves[areas, cells]
        area, cell = np.repeat(areas, repeats), np.repeat(cells, repeats)
        names = pa.array(self.layout.spec.geography.names[self.errors.depth], pa.string())
        places = np.unravel_index(cell, self.layout.sizes) if self.layout.sizes else ()
        columns = {
            column.name: column.values(np.asarray(place, np.int64), np.full(len(cell), 0.5))
            for column, place in zip(self.layout.columns, places, strict=True)
        }
        return pa.table({self.last_level: names.take(pa.array(area, pa.int64())), **columns})

    def measurements(self) -> pa.Table:
        """The noisy counts themselves with their variances: for whoever has a better estimate. Costs nothing."""
        return joined(self._noisy_pieces())

    def _noisy_pieces(self) -> Iterator[pa.Table]:
        geography = self.layout.spec.geography
        for (level, name), counts in self.measured.items():
            columns, is_level = self.layout.tables[name], level in geography.levels
            areas = geography.names[geography.level(level)] if is_level else tuple(self.layout.spec.districts[level])
            texts = [each.to_pylist() for each in Tabulation(self.totals).cell_names(columns, 1).values()]
            words = [", ".join(row) for row in zip(*texts, strict=True)] or [""]
            for some in self._runs(len(areas), columns):
                inside, noisy = areas[some], counts[some].ravel()
                yield pa.Table.from_pydict({
                    "level": listed([level], np.zeros(noisy.size, np.int64)),
                    "table": listed([name], np.zeros(noisy.size, np.int64)),
                    "area": listed(inside, np.repeat(np.arange(len(inside)), len(words))),
                    "cell": listed(words, np.tile(np.arange(len(words)), len(inside))),
                    "noisy": noisy,
                    "variance": np.full(noisy.size, self.errors.noise[level, name]),
                })  # fmt: skip

    def plot(self, what: Picture = "errors", table: str | None = None, level: str | None = None) -> Any:
        """A picture as an altair chart, which a notebook shows and ``.save`` writes. Costs nothing.

        ``"errors"`` by level, ``"sizes"``: errors and bend of totals by size of area, ``"values"`` of a `table` at a
        `level` with their intervals, ``"shares"`` of the spend. Raises `ParameterError` for another, `MissingExtra`
        without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(what, table, level))

    def to_vega_lite(
        self, what: Picture = "errors", table: str | None = None, level: str | None = None
    ) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        cost = in_words(self.loss)
        match checked_picture(what):
            case "sizes":
                return size_errors(self.report(), cost)
            case "values":
                name = next(iter(self.layout.tables)) if table is None else table
                at = self.last_level if level is None else level
                return values(self.table(name, at), at, f"{name} by {at}", cost)
            case "shares":
                spent = {each: 1 / variance for each, variance in self.errors.noise.items()}
                return shares([(*each, part / sum(spent.values())) for each, part in spent.items()], cost)
            case _:
                return level_errors(self.errors.half_widths(0.95), 0.95, cost)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the publication to a new folder, or file: `discreet.census.load` reads both.

        A path that ends in a slash is a folder: the publication in ``publication.json``, which `discreet verify`
        checks, each table at each level as Parquet, those of other universes with their name before, the noisy
        counts, and a code book. Costs nothing. Raises
        `ParameterError` if there is such a file or folder already, `DataError` if it cannot be written.
        """
        if os.fspath(path).endswith(("/", os.sep)):
            write_folder(Path(path), self.files(), self.code_book, self.to_bytes())
        else:
            super().save(path)

    def files(self) -> Iterator[tuple[str, Iterator[pa.Table]]]:
        """The pieces of every table at every level where it is published, and of the noisy counts, by name."""
        for name in self.layout.tables:
            for level in (*self.layout.spec.geography.levels, *self.layout.spec.districts):
                with suppress(QueryError):
                    yield f"{name}.{level}", self._pieces(name, level)
        yield "noisy_counts", self._noisy_pieces()
        for universe, each in self.universes.items():
            for name, pieces in each.files():
                yield f"{universe}.{name}", pieces

    def content(self) -> dict[str, Any]:
        """The specification, the cells, the noise, the noisy counts and the integers, also of other universes."""
        content = {"spec": self.layout.spec.to_json(), **self.numbers_to_json()}
        if self.universes:
            content["universes"] = {
                name: {"loss": to_json(each.loss), **each.numbers_to_json()} for name, each in self.universes.items()
            }
        return content

    def numbers_to_json(self) -> dict[str, Any]:
        """The cells, the noise, the noisy counts and the integers."""
        keys = list(self.mechanisms)
        return {
            "cells": [column.to_json() for column in self.layout.columns],
            "noise": [[level, name, additive_to_json(self.mechanisms[level, name])] for level, name in keys],
            "measured": [integers_to_json(self.measured[each]) for each in keys],
            "leaves": integers_to_json(self.leaves),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Publication:
        """The inverse of `content`."""
        spec = Spec.from_json(content["spec"])
        beside = content.get("universes", {})
        if beside.keys() != spec.universes.keys():
            raise ValueError
        universes = {
            name: cls._of_numbers(each, beside[name], from_json(beside[name]["loss"]))
            for name, each in spec.universes.items()
        }
        return replace(cls._of_numbers(spec, content, loss), certificate=certificate, universes=universes)

    @classmethod
    def _of_numbers(cls, spec: Spec, content: Mapping[str, Any], loss: Loss) -> Publication:
        layout = Layout(spec, tuple(ColumnCells.from_json(each) for each in content["cells"]))
        layout.check()
        mechanisms: dict[Measure, Additive] = {}
        for level, name, data in content["noise"]:
            if level not in (*layout.spec.geography.levels, *layout.spec.districts) or name not in layout.tables:
                raise ValueError
            mechanisms[level, name] = additive_from_json(data)
        arrays = [integers_from_json(each) for each in content["measured"]]
        measured = dict(zip(mechanisms, arrays, strict=True))
        for (level, name), counts in measured.items():
            if counts.shape != (layout.areas(level), layout.components.cells(layout.tables[name])):
                raise ValueError
        leaves = integers_from_json(content["leaves"])
        published = cls(layout, mechanisms, measured, leaves, loss, {})
        areas = layout.tree.sizes[published.errors.depth]
        if leaves.shape != (areas, layout.components.cells(layout.detail)) or (leaves < 0).any():
            raise ValueError
        return published

    def header(self) -> list[tuple[str, bool]]:
        """The total of the areas of the first levels."""
        return [("level", False), ("area", False), ("value", True), ("unbiased", True), ("standard error", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The totals of the largest areas, as text."""
        rows: list[list[str]] = []
        geography = self.layout.spec.geography
        for place, names in enumerate(geography.names):
            if not self.errors.is_published(place, ()) or len(rows) + len(names) > _SHOWN:
                break
            values, unbiased = self.totals.published(place, ()), self.totals.unbiased(place, ())
            errors = np.sqrt(self.errors.variance(place, (), np.ones(())))
            for i, name in enumerate(names):
                rows.append(
                    [geography.levels[place], name, f"{values[i]:,}", f"{unbiased[i]:,.1f}", f"{errors[i]:,.1f}"]
                )
        return rows[:first]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is."""
        geography = self.layout.spec.geography
        tables = ", ".join(self.layout.tables)
        return f"{tables} by {len(geography.levels)} levels, {sum(geography.tree.sizes):,} areas"

    @cached_property
    def code_book(self) -> str:
        """What the files of a folder hold, in words."""
        lines = [
            "# Code book",
            "",
            f"Tables of {self.layout.spec.table} by {', '.join(self.layout.spec.geography.levels)}.",
            "",
        ]
        lines += ["| column | is |", "|---|---|"]
        lines += [
            "| value | the published number: an integer from 0, sums of which are published numbers |",
            "| unbiased | the least-squares estimate, right on average; it may be negative |",
            "| standard_error | of the unbiased number |",
            "| lower, upper | the interval of the unbiased number at 95 % |",
            "| flag | held: a public total; imprecise, withheld or coarsened: by the rule of precision |",
            "",
        ]
        for column in self.layout.columns:
            values = "; ".join(column.text(i) for i in range(column.size))
            lines.append(f"- `{column.name}`: {values}")
        for name, each in self.universes.items():
            lines += ["", f"## {name}", "", f"In files that begin with `{name}.`", "", *each.code_book.splitlines()[2:]]
        return "\n".join([*lines, ""])


def _check_one(among: str | None, universe: str | None) -> None:
    if among is not None or universe is not None:
        raise ParameterError("a rate is among people of whom a condition holds, or of a public population: not both")
