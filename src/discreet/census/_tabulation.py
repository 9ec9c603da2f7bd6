"""A table at a level, cell by cell: numbers with their intervals, and what the rule of precision does with some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import log_ndtr

from discreet.census._totals import Totals
from discreet.census.estimates import Columns, Errors, Layout, half_widths

__all__ = ["Tabulation", "selection_bias"]

Numbers = NDArray[np.float64]
TOGETHER, ALL = "(withheld)", "(all)"
"""In place of a cell's name: the cells of an area that are withheld, and all cells of a column."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The numbers of a table's cells: areas by cells."""

    columns: Columns
    values: NDArray[np.int64]
    unbiased: Numbers
    variances: Numbers


@dataclass(frozen=True, eq=False)
class Tabulation:
    """Tables of a publication at its levels and of its districts."""

    totals: Totals

    @property
    def layout(self) -> Layout:
        """What is measured where."""
        return self.totals.layout

    @property
    def errors(self) -> Errors:
        """The variances."""
        return self.totals.errors

    def table(self, columns: Columns, place: str, confidence: float) -> pa.Table:
        """See `Publication.table`: rows of an area stand together, areas in the order of the tree."""
        names, cells = self.layout.names(place), self._cells(columns, place)
        odd = self._imprecise(cells) if self.layout.spec.precision else np.zeros(cells.values.shape, bool)
        if self._is_held(columns, place):
            flags = np.where(np.ones_like(odd), "held", "")
            return self._rows(place, names, cells, flags, confidence)
        match self.layout.spec.imprecise:
            case "withhold" if columns and odd.any():
                return self._withheld(place, names, cells, odd, confidence)
            case "coarsen" if columns and odd.any():
                return self._coarsened(place, names, cells, odd, confidence)
            case _:
                return self._rows(place, names, cells, np.where(odd, "imprecise", ""), confidence)

    def cell_names(self, columns: Columns, areas: int) -> dict[str, pa.Array[Any]]:
        """For each column of a table the cell of each row, as text."""
        shape = tuple(self.layout.sizes[column] for column in columns)
        places = np.indices(shape).reshape(len(columns), -1) if columns else ()
        texts: dict[str, pa.Array[Any]] = {}
        for column, place in zip(columns, places, strict=True):
            cells = self.layout.columns[column]
            words = pa.array([cells.text(i) for i in range(cells.size)], pa.string())
            texts[cells.name] = words.take(pa.array(np.tile(place, areas), pa.int64()))
        return texts

    def _cells(self, columns: Columns, place: str) -> Cells:
        if place in self.layout.spec.districts:
            districts, one = self.layout.weights_of(place), self.layout.components.one_cell(columns)
            parts = [self.totals.over(areas, columns) for areas in districts]
            spread = np.array([self.errors.variance_of_sum(areas, columns, one) for areas in districts])
            values, unbiased = (np.array([each[i].ravel() for each in parts]) for i in (0, 1))
        else:
            level = self.layout.spec.geography.level(place)
            spread = self.errors.cell_variance(level, columns)
            unbiased = self.totals.unbiased(level, columns).reshape(len(spread), -1)
            values = self.totals.published(level, columns).reshape(len(spread), -1)
        return Cells(columns, values.astype(np.int64), unbiased, np.repeat(spread[:, None], values.shape[1], axis=1))

    def _is_held(self, columns: Columns, place: str) -> bool:
        held = self.layout.held
        return held is not None and columns == () and place == self.layout.spec.geography.levels[held[0]]

    def _imprecise(self, cells: Cells) -> NDArray[np.bool_]:
        """Of which numbers the rule of precision says so, by noisy values alone."""
        odd, errors = np.zeros(cells.values.shape, bool), np.sqrt(cells.variances)
        for rule, limit in self.layout.spec.precision.items():
            match rule:
                case "standard_error":
                    odd |= errors > limit
                case "half_width":
                    odd |= half_widths(cells.variances, 0.95, heavy=self.errors.heavy) > limit
                case _:
                    odd |= errors > limit * np.maximum(cells.unbiased, 0.0)
        return odd

    def _withheld(
        self, place: str, names: tuple[str, ...], cells: Cells, odd: NDArray[np.bool_], confidence: float
    ) -> pa.Table:
        """Without the numbers that are imprecise, and with the sum of those of each area."""
        shown = self._rows(place, names, cells, np.where(odd, "withheld", ""), confidence, blank=odd)
        there = np.flatnonzero(odd.any(axis=1))
        values, unbiased = ((each * odd)[there].sum(axis=1, keepdims=True) for each in (cells.values, cells.unbiased))
        together = Cells((), values, unbiased, self._variances(cells.columns, place, odd[there], there))
        flags = np.full((len(there), 1), "withheld together")
        sums = self._rows(place, tuple(names[i] for i in there), together, flags, confidence)
        texts = {
            self.layout.columns[each].name: pa.array([TOGETHER] * len(there), pa.string()) for each in cells.columns
        }
        sums = pa.Table.from_pydict({place: sums.column(place), **texts} | _numbers(sums))
        order = np.concatenate([np.repeat(np.arange(len(names)), cells.values.shape[1]), there])
        return pa.concat_tables([shown, sums]).take(pa.array(np.argsort(order, kind="stable"), pa.int64()))

    def _variances(self, columns: Columns, place: str, inside: NDArray[np.bool_], areas: NDArray[np.intp]) -> Numbers:
        """The variance of the sum of some cells of each area, (areas, 1)."""
        shape = tuple(self.layout.sizes[column] for column in columns)
        if place not in self.layout.spec.districts:
            level = self.layout.spec.geography.level(place)
            return self.errors.variances_of(level, columns, inside.astype(np.float64), areas)[:, None]
        every = self.layout.weights_of(place)
        return np.array([
            [self.errors.variance_of_sum(every[i], columns, own.reshape(shape).astype(np.float64))]
            for i, own in zip(areas.tolist(), inside, strict=True)
        ])  # fmt: skip

    def _coarsened(
        self, place: str, names: tuple[str, ...], cells: Cells, odd: NDArray[np.bool_], confidence: float
    ) -> pa.Table:
        """Each area by as many of the first columns as leave no number imprecise; at worst its total."""
        chosen = np.where(odd.any(axis=1), -1, len(cells.columns))
        parts, order = list[pa.Table](), list[NDArray[np.int64]]()
        order_of_columns = self._asked_order(cells.columns)
        for many in range(len(cells.columns), -1, -1):
            columns = tuple(sorted(order_of_columns[:many]))
            coarse = cells if many == len(cells.columns) else self._cells(columns, place)
            bad = self._imprecise(coarse)
            fits = (chosen == -1) & ((~bad.any(axis=1)) | (many == 0))
            chosen[fits] = many
            inside = np.flatnonzero(chosen == many)
            if not len(inside):
                continue
            own = Cells(columns, coarse.values[inside], coarse.unbiased[inside], coarse.variances[inside])
            flags = np.full(own.values.shape, "" if many == len(cells.columns) else "coarsened", object)
            flags[bad[inside]] = "coarsened, imprecise"
            rows = self._rows(place, tuple(names[i] for i in inside), own, flags, confidence)
            dropped = pa.array([ALL] * rows.num_rows, pa.string())
            texts = {
                self.layout.columns[each].name: rows.column(self.layout.columns[each].name)
                if each in columns
                else dropped
                for each in cells.columns
            }
            parts.append(pa.Table.from_pydict({place: rows.column(place), **texts} | _numbers(rows)))
            order.append(np.repeat(inside, own.values.shape[1]))
        return pa.concat_tables(parts).take(pa.array(np.argsort(np.concatenate(order), kind="stable"), pa.int64()))

    def _asked_order(self, columns: Columns) -> list[int]:
        """The columns of a table in the order in which the specification names them."""
        name = next(name for name, each in self.layout.tables.items() if each == columns)
        places = {column.name.casefold(): i for i, column in enumerate(self.layout.columns)}
        return [places[each.casefold()] for each in self.layout.spec.tables[name]]

    def _rows(  # noqa: PLR0913
        self, place: str, names: tuple[str, ...], cells: Cells, flags: NDArray[Any], confidence: float,
        *, blank: NDArray[np.bool_] | None = None,
    ) -> pa.Table:  # fmt: skip
        half = half_widths(cells.variances, confidence, heavy=self.errors.heavy)
        numbers = {
            "value": cells.values,
            "unbiased": cells.unbiased,
            "standard_error": np.sqrt(cells.variances),
            "lower": cells.unbiased - half,
            "upper": cells.unbiased + half,
        }
        mask = None if blank is None else blank.ravel()
        return pa.Table.from_pydict({
            place: pa.array(np.repeat(np.array(names, object), cells.values.shape[1]), pa.string()),
            **self.cell_names(cells.columns, len(names)),
            **{name: pa.array(each.ravel(), mask=mask) for name, each in numbers.items()},
            "flag": pa.array(flags.ravel(), pa.string()),
        })  # fmt: skip


def _numbers(table: pa.Table) -> dict[str, Any]:
    return {name: table.column(name) for name in ("value", "unbiased", "standard_error", "lower", "upper", "flag")}


def selection_bias(cv: float, truth: float) -> float:
    """By how many standard errors a number that a rule of `cv` shows is too high on average.

    Parameters
    ----------
    cv
        The most that the standard error may be, in parts of the number.
    truth
        The true number, in standard errors.

    A number is shown if it is 1 / cv standard errors or more; by the mean of a Gaussian that is cut there.

    >>> round(selection_bias(0.25, 4), 2), round(selection_bias(0.25, 8), 4)
    (0.8, 0.0001)
    """
    beyond = 1 / cv - truth
    return float(np.exp(-(beyond**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(-beyond)))
