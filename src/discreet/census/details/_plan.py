"""What a release of overlapping groups would measure, and how likely each detail is: known before any data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.census.details._chance import choice_bias, spread
from discreet.census.details._layout import DetailLayout
from discreet.census.details._measured import combined_weight, variance_of
from discreet.census.details._question import PreparedDetail
from discreet.census.estimates import half_widths
from discreet.charts import AreaError, area_error_chart, load_altair
from discreet.errors import ParameterError, printable
from discreet.prices import Additive, DiscreteLaplace, additive_to_json
from discreet.privacy import Loss, in_words, to_json
from discreet.release import ShownTable

__all__ = ["DetailPlan", "detail_plan"]


@dataclass(frozen=True, repr=False, eq=False)
class DetailPlan(ShownTable):
    """What overlapping groups would be. Made by `plan_detail`: it costs nothing and touches no data.

    Attributes
    ----------
    prepared
        The question that was checked, with the noise and the share of each stage at each level.
    """

    prepared: PreparedDetail

    @property
    def layout(self) -> DetailLayout:
        """The groups, areas and ways to show one."""
        return self.prepared.layout

    @property
    def loss(self) -> Loss:
        """What it would cost."""
        return self.prepared.loss

    def chance(self, name: str, level: str | None = None, count: int | None = None) -> float:
        """How likely a group is shown at least as finely as under this name, at a level, the last by default.

        The group has `count` people; by default so many as are above the threshold by the margin of the specification.
        By the exact distribution of the noise. Raises `ParameterError` for no such detail or level.
        """
        if name not in self.layout.spec.details:
            raise ParameterError(f"there is no detail {name!r}; there are {', '.join(self.layout.spec.details)}")
        return self.prepared.chance(self._level(level), name, count)

    def error(self, level: str | None = None, detail: str | None = None, confidence: float = 0.95) -> float:
        """The half-width of a fresh cell at a level, or of the total of a group that is shown with this detail."""
        mechanism = self.prepared.mechanisms[self._level(level)]["detail"]
        cells = 1
        if detail is not None:
            if detail not in self.layout.spec.ways:
                raise ParameterError(f"there is no detail {detail!r}; there are {', '.join(self.layout.spec.ways)}")
            cells = self.layout.sizes[self.layout.spec.ways.index(detail)]
        return _half(mechanism, cells, confidence)

    def choice_bias(self, count: int, level: str | None = None) -> float:
        """How far the combined total of a group of so many people would be off on average. Fresh ones are never."""
        noise = self.prepared.mechanisms[self._level(level)]
        return choice_bias(noise["totals"], count, self.layout.spec.thresholds, self._weights(noise))

    def most_choice_bias(self, level: str | None = None) -> float:
        """The most that a combined total would be off on average, whatever the group."""
        noise = self.prepared.mechanisms[self._level(level)]
        weights = self._weights(noise)
        return (max(weights) - min(weights)) * spread(noise["totals"]) / 2

    def _weights(self, noise: dict[str, Additive]) -> list[float]:
        return [combined_weight(noise["totals"], noise["detail"], size) for size in self.layout.sizes]

    def _level(self, level: str | None) -> str:
        name = self.layout.levels[-1] if level is None else level
        if name not in self.layout.levels:
            raise ParameterError(f"groups are not measured at {name!r}, but at {', '.join(self.layout.levels)}")
        return name

    def plot(self) -> Any:
        """The half-width of a total by level and detail as an altair chart. Raises `MissingExtra` without altair."""
        return load_altair().Chart.from_dict(self.to_vega_lite())

    def to_vega_lite(self) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        errors = [
            AreaError(level, f"total of {name}", self.error(level, name))
            for level in self.layout.levels
            for name in self.layout.spec.ways
        ]
        return area_error_chart(
            errors, "Error of totals by level", "half-width at 95 %", [f"cost {in_words(self.loss)}"]
        )

    def explain(self, confidence: float = 0.95) -> str:
        """What would be published, how likely each detail is and how wrong numbers would be, in words."""
        spec, prepared = self.layout.spec, self.prepared
        people = "every row is another person" if prepared.unit == "rows" else f"a person is a value of {prepared.unit}"
        times = "once" if prepared.source.rows == 1 else f"{prepared.source.rows} times"
        lines = [
            f"{len(self.layout.codes):,} groups of {spec.table} at the levels {', '.join(self.layout.levels)}.",
            "",
            f"Protected: {people}, in at most {self.layout.most} groups, and {times} in each.",
            "Of a person in more groups so many are drawn, and the others lose this person.",
            "",
            f"A group {float(spec.margin):.0%} larger than a threshold is shown at least so finely in:",
        ]
        for level in self.layout.levels:
            for name, detail in spec.details.items():
                chance = self.chance(name, level)
                lines.append(f"  {level}, {name} from {detail.threshold:,}: {chance:.4%} of runs")
        lines += ["", f"Half-widths at {100 * confidence:.10g} %: of one cell, and of a total by how it is shown:"]
        for level in self.layout.levels:
            totals = ", ".join(f"{name} ± {self.error(level, name, confidence):,.1f}" for name in spec.ways)
            lines.append(f"  {level}: ± {self.error(level, None, confidence):,.1f}; {totals}")
        most = max(self.most_choice_bias(level) for level in self.layout.levels)
        lines += [
            "",
            f"Fresh counts are right on average, whatever was chosen; combined ones are off by {most:,.2f} at most.",
            f"Cost: {in_words(self.loss)}, once.",
        ]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON; errors are at `level`."""
        return {
            "groups": len(self.layout.codes),
            "groups_per_row": self.layout.most,
            "levels": list(self.layout.levels),
            "measured": [
                {
                    "level": at,
                    "stage": stage,
                    "share": float(self.prepared.shares[at, stage]),
                    **additive_to_json(noise),
                }
                for at, stages in self.prepared.mechanisms.items()
                for stage, noise in stages.items()
            ],
            "details": [
                {"level": at, "detail": name, "threshold": detail.threshold, "chance": self.chance(name, at),
                 "cells": self.layout.sizes[place + 1], "half_width": self.error(at, None, level)}
                for at in self.layout.levels
                for place, (name, detail) in enumerate(self.layout.spec.details.items())
            ],
            "confidence": level,
            "loss": to_json(self.loss),
        }  # fmt: skip

    def header(self) -> list[tuple[str, bool]]:
        """The ways to show a group, how likely and how wrong."""
        names = ("from", "cells", "chance", "error of a cell", "error of a total")
        return [("level", False), ("detail", False), *((name, True) for name in names)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """A row for each level and way, as text."""
        rows: list[list[str]] = []
        starts = (None, *self.layout.spec.thresholds)
        for at in self.layout.levels:
            for name, start, size in zip(self.layout.spec.ways, starts, self.layout.sizes, strict=True):
                rows.append([
                    at,
                    name,
                    "" if start is None else f"{start:,}",
                    f"{size:,}",
                    "" if start is None else f"{self.chance(name, at):.2%}",
                    f"{self.error(at, None, level):,.1f}",
                    f"{self.error(at, name, level):,.1f}",
                ])  # fmt: skip
        return rows[:first]

    def note(self, level: float = 0.95) -> str:
        """What the numbers are."""
        margin = float(self.layout.spec.margin)
        return (
            f"chance of at least that detail for a group {margin:.0%} above the threshold; half-widths at "
            f"{100 * level:.10g} %"
        )

    def _cost(self) -> str:
        return in_words(self.loss)


def detail_plan(prepared: PreparedDetail) -> DetailPlan:
    """The plan of a question that was checked."""
    return DetailPlan(prepared)


def _half(mechanism: Additive, cells: int, confidence: float) -> float:
    variance = np.array([cells * variance_of(mechanism)])
    return float(half_widths(variance, confidence, heavy=isinstance(mechanism, DiscreteLaplace))[0])
