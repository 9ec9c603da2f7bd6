"""What is shown of a publication: how wrong totals are, by level and by size of area, and one table at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.census.estimates import Estimate
from discreet.privacy import Loss, in_words
from discreet.release import ShownTable

__all__ = ["PublishedTable", "Report", "ReportRow", "report_of"]

_NUMBERS = ("value", "unbiased", "standard_error", "lower", "upper")
_ENDS = (1, 10, 100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The areas of one level whose published totals are of one size.

    Attributes
    ----------
    level, least, most
        Which areas; `most` is None for all from `least` on.
    areas
        How many there are.
    bend
        The mean of published less unbiased totals.
    bend_error
        The standard error of that mean, from the noise of the unbiased totals as if areas were independent.
    standard_error
        The root of the mean variance of the unbiased totals.
    """

    level: str
    least: int
    most: int | None
    areas: int
    bend: float
    bend_error: float
    standard_error: float


@dataclass(frozen=True, slots=True, repr=False)
class Report(ShownTable):
    """How wrong the totals of a publication are, by level and by size of area."""

    rows: tuple[ReportRow, ...]

    def header(self) -> list[tuple[str, bool]]:
        """Level, size, areas, bend and error."""
        names = ("areas", "bend", "standard error")
        return [("level", False), ("people", False), *((name, True) for name in names)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The rows as text."""
        return [
            [
                row.level,
                _size(row),
                f"{row.areas:,}",
                f"{row.bend:+.2f} ± {row.bend_error:.2f}",
                f"{row.standard_error:.2f}",
            ]
            for row in self.rows[:first]
        ]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What the bend is."""
        return "bend: mean of published less unbiased totals, ± its standard error"

    def _cost(self) -> str:
        return "nothing"


def report_of(estimate: Estimate, integers: Sequence[NDArray[np.int64]]) -> Report:
    """The report of a publication: see `discreet.census.Publication.report`."""
    rows: list[ReportRow] = []
    for place, name in enumerate(estimate.layout.spec.geography.levels):
        if not estimate.errors.is_published(place, ()):
            break
        values = integers[place].sum(axis=1)
        bends = values - estimate.table(place, ())
        variances = estimate.errors.variance(place, (), np.ones(()))
        for least, most in zip((0, *_ENDS), (*_ENDS, None), strict=True):
            inside = (values >= least) & ((values < most) if most is not None else True)
            areas = int(inside.sum())
            if areas:
                mean = float(variances[inside].mean())
                rows.append(ReportRow(
                    name, least, None if most is None else most - 1, areas, float(bends[inside].mean()),
                    (mean / areas) ** 0.5, mean**0.5,
                ))  # fmt: skip
    return Report(tuple(rows))


def _size(row: ReportRow) -> str:
    if row.most is None:
        return f"{row.least:,} and more"
    return f"{row.least:,}" if row.least == row.most else f"{row.least:,} to {row.most:,}"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublishedTable(ShownTable):
    """One table at one level; `rows` has it as Arrow."""

    name: str
    level: str
    rows: pa.Table
    confidence: float
    loss: Loss

    def header(self) -> list[tuple[str, bool]]:
        """The columns."""
        return [(name.replace("_", " "), name in _NUMBERS) for name in self.rows.column_names]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The rows as text; intervals are at the confidence that the table was made with."""
        rows = self.rows if first is None else self.rows.slice(0, first)
        return [[_text(name, each) for name, each in row.items()] for row in rows.to_pylist()]

    @property
    def shown_rows(self) -> int:
        """How many rows there are."""
        return self.rows.num_rows

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is."""
        return f"{self.name} by {self.level}, intervals at {100 * self.confidence:.10g} %"

    def _cost(self) -> str:
        return in_words(self.loss)


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if name == "value":
        return f"{value:,}"
    return f"{value:,.1f}" if name in _NUMBERS else str(value)
