"""What is shown of a publication: how wrong totals are, by level and by size of area, and one table at one level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.census._selection import noise_within
from discreet.census.estimates import Errors, Estimate, quantile
from discreet.privacy import Loss, in_words
from discreet.release import ShownTable

__all__ = ["PublishedTable", "Report", "ReportRow", "report_of"]

_NUMBERS = ("value", "unbiased", "standard_error", "lower", "upper")
_ENDS = (1, 10, 100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The areas of one level whose unbiased totals are of one size, when rounded.

    Attributes
    ----------
    level, least, most
        Which areas; those below 0 are with 0, and `most` is None for all from `least` on.
    areas
        How many there are.
    bend
        By how much their published totals are too high on average: an unbiased estimate of the mean of published less
        true ones. It is not the mean of published less unbiased ones, as noise had a part in which areas these are.
    bend_error
        The standard error of the bend, or somewhat more.
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

    @property
    def size(self) -> str:
        """The size in words."""
        if self.most is None:
            return f"{self.least:,} and more"
        return f"{self.least:,} to {self.most:,}" if self.least else f"{self.most:,} or fewer"

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the mean of published less true totals lies, with a probability of about `confidence` or more.

        By the normal quantile: of few areas of about one noise the probability is that of their noise. Raises
        `ParameterError` for no confidence.
        """
        half = quantile(confidence, heavy=False) * self.bend_error
        return self.bend - half, self.bend + half


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
                row.size,
                f"{row.areas:,}",
                f"{row.bend:+.2f} ± {row.bend_error:.2f}",
                f"{row.standard_error:.2f}",
            ]
            for row in self.rows[:first]
        ]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What the bend is."""
        return "people: by the unbiased total; bend: mean of published less true totals, ± its standard error"

    def _cost(self) -> str:
        return "nothing"


def report_of(estimate: Estimate, integers: Sequence[NDArray[np.int64]]) -> Report:
    """The report of a publication: see `discreet.census.Publication.report`."""
    rows: list[ReportRow] = []
    for place, name in enumerate(estimate.layout.spec.geography.levels):
        if not estimate.errors.is_published(place, ()):
            break
        values, unbiased = integers[place].sum(axis=1), estimate.table(place, ())
        variances = estimate.errors.variance(place, (), np.ones(()))
        for least, most in zip((0, *_ENDS), (*_ENDS, None), strict=True):
            low, high = (-math.inf if not least else least - 0.5), (math.inf if most is None else most - 0.5)
            inside = (unbiased >= low) & (unbiased < high)
            areas = int(inside.sum())
            if areas:
                noise, unsure = noise_within(unbiased, np.sqrt(variances), low, high, heavy=estimate.errors.heavy)
                bend = float((values - unbiased)[inside].sum() + noise.sum()) / areas
                squared = _sum_variance(estimate.errors, place, inside) + 2 * float(noise @ noise) + unsure.sum() ** 2
                last = None if most is None else most - 1
                rows.append(ReportRow(
                    name, least, last, areas, bend, squared**0.5 / areas, float(variances[inside].mean()) ** 0.5
                ))  # fmt: skip
    return Report(tuple(rows))


def _sum_variance(errors: Errors, place: int, inside: NDArray[np.bool_]) -> float:
    """The variance of the sum of the totals of some areas of a level."""
    weights = [inside.astype(np.float64) if level == place else None for level in range(errors.layout.tree.levels)]
    return errors.variance_of_sum(weights, (), np.ones(()))


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
