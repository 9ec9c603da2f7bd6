"""A histogram as a release: whole numbers of 0 or more, and beside each range the unbiased number and its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.census.estimates import half_widths
from discreet.census.histograms._estimates import (
    Estimates,
    FactorizationEstimates,
    PartitionEstimates,
    TreeEstimates,
)
from discreet.census.histograms._measured import BLOCKS, FIRST_BLOCKS, PARTITIONED, Measured
from discreet.census.histograms._pictures import MOST_BARS, histogram_chart
from discreet.charts import AreaValue, load_altair
from discreet.errors import ParameterError
from discreet.marginals import ColumnCells
from discreet.marginals.strategies import Partition, Workload
from discreet.prices import DiscreteLaplace
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease

__all__ = ["Histogram", "RangeCount", "workload_from_json", "workload_to_json"]

_MOST_VALUE = 2**62


@dataclass(frozen=True)
class RangeCount:
    """How many rows are in a range.

    Attributes
    ----------
    value
        The published integer, never negative.
    unbiased
        The estimate that is right on average, whatever the data.
    standard_error
        Of the unbiased number.
    """

    value: int
    unbiased: float
    standard_error: float
    heavy: bool = False

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the true number lies, with a probability of about `confidence`.

        Raises `ParameterError` for no confidence.
        """
        half = float(half_widths(np.array([self.standard_error**2]), confidence, heavy=self.heavy)[0])
        return self.unbiased - half, self.unbiased + half


@dataclass(frozen=True, repr=False, eq=False)
class Histogram(JsonRelease):
    """Counts of the rows of a table by cells of one column. What is done with it is free.

    Attributes
    ----------
    column
        The cells, as the policy and the question have them.
    workload
        What it was measured for.
    widths
        The blocks of its tree, falling; none for a factorisation.
    partition
        The buckets, if it is aware of the data.
    measured
        The noisy sums themselves, part by part.
    values
        The published integers by runs of cells that no query of the workload cuts; all cells, for ranges and prefixes.
    loss, certificate
        As of every release. Made by `discreet.census.histogram`.
    """

    called = "histogram"
    fields = frozenset({"column", "workload", "widths", "partition", "measured", "values"})
    left_out = "the table; it follows from what was measured"

    column: ColumnCells
    workload: Workload
    widths: tuple[int, ...]
    partition: Partition | None
    measured: tuple[Measured, ...]
    values: tuple[int, ...]
    loss: Loss
    certificate: Mapping[str, Any]

    @cached_property
    def _merged(self) -> Workload:
        return self.workload.merged()

    @cached_property
    def estimates(self) -> Estimates:
        """What follows from the noisy sums."""
        cells = self._merged.cells
        levels = [each for each in self.measured if each.part.startswith(BLOCKS)]
        if self.partition is not None:
            (first,) = (each for each in self.measured if each.part.startswith(FIRST_BLOCKS))
            parts = [each for each in self.measured if each.part in PARTITIONED]
            return PartitionEstimates(self.partition, self.widths, first, levels, parts)
        if self.widths:
            return TreeEstimates(cells, self.widths, levels)
        return FactorizationEstimates(self._merged, self.measured[0])

    def with_values(self) -> Histogram:
        """It with the integers that follow from its estimates."""
        return replace(self, values=tuple(self.estimates.near_integers().tolist()))

    def certified(self, certificate: Mapping[str, Any]) -> Histogram:
        """It with its certificate."""
        return replace(self, certificate=certificate)

    def range(self, lower: object = None, upper: object = None) -> RangeCount:
        """How many rows have values from the cell of `lower` to that of `upper`, both whole; None for the ends. Free.

        Raises `ParameterError` for values that the column cannot have, and for a range that cuts what was measured
        together.
        """
        first = 0 if lower is None else _cell(self.column, lower)
        last = self.workload.cells - 1 if upper is None else _cell(self.column, upper)
        return self._cells(first, last)

    def _cells(self, first: int, last: int) -> RangeCount:
        starts = self.workload.starts
        ends = {*starts.tolist(), self.workload.cells}
        if first > last or not {first, last + 1} <= ends:
            raise ParameterError(
                "this histogram was measured for listed queries, and a range that they do not end at was not; ask with "
                'workload="ranges"'
            )
        inside = (starts >= first) & (starts <= last)
        query = inside.astype(np.float64)
        unbiased, variance = self.estimates.query(query)
        value = int(sum(np.array(self.values, object)[inside]))
        heavy = isinstance(self.measured[0].mechanism, DiscreteLaplace)
        return RangeCount(value, unbiased, variance**0.5, heavy)

    def table(self, confidence: float = 0.95) -> pa.Table:
        """A row for each run of cells: value, unbiased, standard_error, lower and upper at a confidence.

        Raises `ParameterError` for no confidence.
        """
        counts = [self._cells(first, last) for first, last in self._runs]
        intervals = [each.interval(confidence) for each in counts]
        return pa.table({
            self.column.name: pa.array(self._names, pa.string()),
            "value": pa.array([each.value for each in counts], pa.int64()),
            "unbiased": pa.array([each.unbiased for each in counts], pa.float64()),
            "standard_error": pa.array([each.standard_error for each in counts], pa.float64()),
            "lower": pa.array([each for each, _ in intervals], pa.float64()),
            "upper": pa.array([each for _, each in intervals], pa.float64()),
        })  # fmt: skip

    @property
    def _runs(self) -> list[tuple[int, int]]:
        starts = self.workload.starts.tolist()
        return list(zip(starts, [each - 1 for each in (*starts[1:], self.workload.cells)], strict=True))

    @property
    def _names(self) -> list[str]:
        text = self.column.text
        return [text(a) if a == b else f"{text(a)} … {text(b)}" for a, b in self._runs]

    def plot(self, level: float = 0.95) -> Any:
        """Counts with the intervals of their unbiased numbers as an altair chart, in at most 40 ranges. Costs nothing.

        Raises `ParameterError` for no confidence, `MissingExtra` without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        runs, text = self._runs, self.column.text
        together = -(-len(runs) // MOST_BARS)
        rows: list[AreaValue] = []
        for begin in range(0, len(runs), together):
            first, last = runs[begin][0], runs[min(begin + together, len(runs)) - 1][1]
            count = self._cells(first, last)
            name = text(first) if first == last else f"{text(first)} … {text(last)}"
            rows.append(AreaValue(name, count.value, count.unbiased, count.interval(level)[1] - count.unbiased))
        return histogram_chart(self.column.name, rows, level, in_words(self.loss))

    def content(self) -> dict[str, Any]:
        """What was measured, and the published integers."""
        partition = self.partition
        return {
            "column": self.column.to_json(),
            "workload": workload_to_json(self.workload),
            "widths": list(self.widths),
            "partition": None if partition is None else {
                "unit": partition.unit, "starts": list(partition.starts), "split": list(partition.split),
            },
            "measured": [each.to_json() for each in self.measured],
            "values": list(self.values),
        }  # fmt: skip

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Histogram:
        """The inverse of `content`."""
        column = ColumnCells.from_json(content["column"])
        workload = workload_from_json(content["workload"], column)
        stored, cells = content["partition"], workload.merged().cells
        widths = tuple(map(int, content["widths"]))
        partition = None
        if stored is not None:
            starts = tuple(map(int, stored["starts"]))
            partition = Partition(cells, int(stored["unit"]), starts, tuple(map(bool, stored["split"])))
        measured, values = tuple(map(Measured.from_json, content["measured"])), tuple(content["values"])
        if len(values) != cells or any(type(each) is not int or not 0 <= each < _MOST_VALUE for each in values):
            raise ValueError
        release = cls(column, workload, widths, partition, measured, values, loss, certificate)
        _check_sizes(release, cells)
        return release

    def header(self) -> list[tuple[str, bool]]:
        """The cells, and what is published of them."""
        return [(self.column.name, False), ("value", True), ("unbiased", True), ("standard error", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002 - shown alike
        """A row for each run of cells as text."""
        rows: list[list[str]] = []
        for name, run in list(zip(self._names, self._runs, strict=True))[:first]:
            count = self._cells(*run)
            rows.append([name, f"{count.value:,}", f"{count.unbiased:,.1f}", f"{count.standard_error:,.1f}"])
        return rows

    @property
    def shown_rows(self) -> int:
        """How many runs of cells there are."""
        return len(self.values)

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002 - shown alike
        """What it was measured for."""
        even = "; the integers are even within a private partition" if self.partition is not None else ""
        return f"{self.column.name} in {self.workload.cells:,} cells, measured for {self.workload.kind}{even}"


def _check_sizes(release: Histogram, cells: int) -> None:
    """Raise `ValueError` unless each part has as many sums as its blocks, segments or rows."""
    partition = release.partition
    sizes = {f"{BLOCKS}{width}": -(-cells // width) for width in release.widths}
    for first in (each.part for each in release.measured if each.part.startswith(FIRST_BLOCKS)):
        sizes[first] = -(-cells // int(first.removeprefix(FIRST_BLOCKS)))
    if partition is not None:
        split = sum(partition.split)
        alone = int(np.array(partition.split)[partition.segments].sum())
        sizes |= dict(zip(PARTITIONED, (len(partition.split) - split, split, alone), strict=True))
    elif not release.widths:
        sizes = {"strategy": cells}
    if {each.part: len(each.counts) for each in release.measured} != sizes or len(release.measured) != len(sizes):
        raise ValueError


def _cell(column: ColumnCells, value: object) -> int:
    cell = column.cell(value)
    if cell is None or cell >= column.valued:
        raise ParameterError(f"{column.name} cannot be {value!r}; give ends of a range that the policy allows")
    return cell


def workload_to_json(workload: Workload) -> str | list[list[int]]:
    """A workload as plain JSON."""
    return workload.kind if workload.kind != "queries" else [list(each) for each in workload.ends]


def workload_from_json(data: str | Sequence[Sequence[int]], column: ColumnCells) -> Workload:
    """The inverse of `workload_to_json`. Raises `ParameterError` or `ValueError` for what is none."""
    if isinstance(data, str):
        return Workload(data, column.valued)  # pyright: ignore[reportArgumentType] - it raises for others
    return Workload("queries", column.valued, tuple((int(first), int(last)) for first, last in data))
