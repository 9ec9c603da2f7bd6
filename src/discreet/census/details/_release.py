"""Overlapping groups as they were published: noisy counts of both stages, and the tables that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.census._files import integers_from_json, integers_to_json
from discreet.census.details._chance import choice_bias, spread
from discreet.census.details._layout import DetailLayout
from discreet.census.details._measured import LevelCounts, Shown, combined_weight
from discreet.census.estimates import half_widths
from discreet.charts import AreaValue, area_chart, load_altair
from discreet.errors import ParameterError
from discreet.prices import DiscreteLaplace, additive_from_json, additive_to_json
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease

__all__ = ["DetailTables", "GroupTotal", "most_choice_bias"]

_SHOWN = 200
_DRAWN = 20
_STAGES = ("totals", "detail")


@dataclass(frozen=True)
class GroupTotal:
    """How many people of a group an area has.

    Attributes
    ----------
    value
        The published whole number, from 0 on, to which the published cells add up.
    unbiased, standard_error
        The fresh count of the second stage: right on average, whatever detail was chosen.
    first
        The noisy total that chose the detail.
    combined, combined_error
        Both by least squares: less noise, and bent a little by the choice, as `bias` says at most.
    detail
        In which way the group is shown there.
    """

    value: int
    unbiased: int
    standard_error: float
    first: int
    combined: float
    combined_error: float
    detail: str
    bias: float
    heavy: bool

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the true number lies with about this probability. Raises `ParameterError` for no confidence."""
        half = float(half_widths(np.array([self.standard_error**2]), confidence, heavy=self.heavy)[0])
        return self.unbiased - half, self.unbiased + half


@dataclass(frozen=True, repr=False, eq=False)
class DetailTables(JsonRelease):
    """Overlapping groups by areas, each as finely as its noisy total allowed. What is done with it is free.

    Attributes
    ----------
    layout
        The groups, areas and ways to show one.
    measured
        The noisy counts of both stages, level by level. How finely a group is shown follows from the noisy totals.
    loss, certificate
        As of every release. Made by `discreet.census.detail`.
    """

    called = "release of overlapping groups"
    fields = frozenset({"spec", "groups", "noise", "counts"})

    layout: DetailLayout
    measured: Mapping[str, LevelCounts]
    loss: Loss
    certificate: Mapping[str, Any]

    def certified(self, certificate: Mapping[str, Any]) -> DetailTables:
        """It with its certificate."""
        return replace(self, certificate=certificate)

    @property
    def last_level(self) -> str:
        """The level of the smallest areas that are published."""
        return list(self.measured)[-1]

    def chosen(self, level: str | None = None) -> pa.Table:
        """How finely each group is shown in each area of a level: the noisy total, and what it chose. Costs nothing."""
        place, counts = self._at(level)
        ways = np.array(self.layout.spec.ways, object)[self.layout.chosen(counts.totals)]
        groups, areas = (each.ravel() for each in np.indices(counts.totals.shape))
        return pa.Table.from_pydict(
            {**self._names(place, groups, areas), "noisy_total": counts.totals.ravel(), "detail": ways.ravel()}
        )

    def totals(self, level: str | None = None, confidence: float = 0.95) -> pa.Table:
        """The total of each group in each area of a level. Costs nothing.

        Columns: the area; ``group``; ``detail``, how finely it is shown; ``value``, the published whole number;
        ``unbiased``, the sum of the second stage, right on average whatever was chosen; its ``standard_error``;
        ``lower`` and ``upper``, its interval; ``first``, the noisy total that chose; ``combined`` and
        ``combined_error``, both by least squares; ``flag``: ``imprecise`` by the rule of the specification.
        Raises `ParameterError` for a level that is not measured.
        """
        place, counts = self._at(level)
        parts: list[pa.Table] = []
        for way, name in enumerate(self.layout.spec.ways):
            shown = counts.shown(self.layout, way)
            numbers = self._numbers(
                shown.values.sum(axis=1), shown.totals, shown.totals_variance, confidence, counts
            )  # fmt: skip
            flag = numbers.pop("flag")
            parts.append(pa.Table.from_pydict({
                **self._names(place, shown.groups, shown.areas),
                "detail": pa.array([name] * len(shown.groups), pa.string()),
                **numbers,
                "first": shown.first,
                "combined": shown.combined_totals,
                "combined_error": np.full(len(shown.groups), shown.combined_totals_variance**0.5),
                "flag": flag,
            }))  # fmt: skip
        table = pa.concat_tables(parts)
        order = np.argsort(np.concatenate([self._order(counts.shown(self.layout, way)) for way in self._ways]))
        return table.take(pa.array(order, pa.int64()))

    def table(self, level: str | None = None, detail: str | None = None, confidence: float = 0.95) -> pa.Table:
        """The cells of the groups and areas of a level, of one way to show them or of all. Costs nothing.

        Columns: the area; ``group``; ``detail``; the cell of each column, null where the way has none; ``value``, a
        whole number from 0 on, which add up to that of `totals`; ``unbiased``, the fresh count; its
        ``standard_error``; ``lower`` and ``upper``; ``combined`` and ``combined_error``, moved by the total of the
        first stage; and ``flag``. Raises `ParameterError` for a level that is not measured, or no such way.
        """
        place, counts = self._at(level)
        ways = self.layout.spec.ways
        if detail is not None and detail not in ways:
            raise ParameterError(f"there is no detail {detail!r}; there are {', '.join(ways)}")
        return pa.concat_tables([
            self._cells(place, counts, way, confidence) for way in self._ways if detail in (None, ways[way])
        ])  # fmt: skip

    def _cells(self, place: int, counts: LevelCounts, way: int, confidence: float) -> pa.Table:
        shown, size = counts.shown(self.layout, way), self.layout.sizes[way]
        pairs = len(shown.groups)
        texts = self.layout.texts(way)
        columns = [each.name for each in self.layout.cells[way]]
        words = {
            fine.name: pa.array(
                [row[columns.index(fine.name)] for row in texts] * pairs
                if fine.name in columns
                else [None] * (pairs * size),
                pa.string(),
            )
            for fine in self.layout.finest
        }
        numbers = self._numbers(
            shown.values.ravel(), shown.unbiased.ravel(), shown.variance, confidence, counts
        )  # fmt: skip
        flag = numbers.pop("flag")
        return pa.Table.from_pydict({
            **self._names(place, np.repeat(shown.groups, size), np.repeat(shown.areas, size)),
            "detail": pa.array([self.layout.spec.ways[way]] * (pairs * size), pa.string()),
            **words,
            **numbers,
            "combined": shown.combined.ravel(),
            "combined_error": np.full(pairs * size, shown.combined_variance**0.5),
            "flag": flag,
        })  # fmt: skip

    def total(self, group: object, area: object = None, level: str | None = None) -> GroupTotal:
        """The total of one group in one area, the largest one by default. Costs nothing.

        Raises `ParameterError` for no such group or area, and for a level that is not measured.
        """
        geography = self.layout.spec.geography
        place, at = (0, 0) if area is None and level is None else geography.place(area, level)
        if area is None and level is None:
            place = geography.level(next(iter(self.measured)))
            if geography.tree.sizes[place] > 1:
                raise ParameterError("name the area: there are several of the largest that are measured")
        level = geography.levels[place]
        if group not in self.layout.codes:
            few = ", ".join(str(each) for each in self.layout.codes[:3])
            raise ParameterError(f"there is no group {group!r}; groups are {few}, …")
        _, counts = self._at(level)
        code = self.layout.codes.index(group)  # pyright: ignore[reportArgumentType]
        way = int(self.layout.chosen(counts.totals[code, at]))
        shown = counts.shown(self.layout, way)
        row = int(np.flatnonzero((shown.groups == code) & (shown.areas == at))[0])
        return GroupTotal(
            value=int(shown.values[row].sum()),
            unbiased=int(shown.totals[row]),
            standard_error=shown.totals_variance**0.5,
            first=int(shown.first[row]),
            combined=float(shown.combined_totals[row]),
            combined_error=shown.combined_totals_variance**0.5,
            detail=self.layout.spec.ways[way],
            bias=most_choice_bias(self.layout, counts),
            heavy=isinstance(counts.noise["detail"], DiscreteLaplace),
        )

    def plot(self, level: str | None = None) -> Any:
        """The largest totals of a level with their intervals, as an altair chart. Costs nothing.

        Raises `ParameterError` for a level that is not measured, `MissingExtra` without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: str | None = None) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        at = self.last_level if level is None else level
        rows = sorted(self.totals(at).to_pylist(), key=lambda row: -row["value"])[:_DRAWN]
        values = [
            AreaValue(
                f"{row[at]} · {row['group']} · {row['detail']}", row["value"], row["unbiased"],
                row["upper"] - row["unbiased"],
            )
            for row in rows
        ]  # fmt: skip
        return area_chart(values, f"Largest groups by {at}", [f"cost {in_words(self.loss)}"])

    @property
    def _ways(self) -> range:
        return range(len(self.layout.sizes))

    def _at(self, level: str | None) -> tuple[int, LevelCounts]:
        name = self.last_level if level is None else level
        if name not in self.measured:
            raise ParameterError(f"groups are not measured at {name!r}, but at {', '.join(self.measured)}")
        return self.layout.spec.geography.level(name), self.measured[name]

    def _names(self, place: int, groups: NDArray[np.int64], areas: NDArray[np.int64]) -> dict[str, pa.Array[Any]]:
        geography = self.layout.spec.geography
        codes = pa.array([str(code) for code in self.layout.codes], pa.string())
        names = pa.array(list(geography.names[place]), pa.string())
        return {
            geography.levels[place]: names.take(pa.array(areas, pa.int64())),
            "group": codes.take(pa.array(groups, pa.int64())),
        }

    def _order(self, shown: Shown) -> NDArray[np.int64]:
        return shown.groups * (int(max(self.layout.spec.geography.tree.sizes)) + 1) + shown.areas

    def _numbers(
        self,
        values: NDArray[np.int64],
        unbiased: NDArray[np.int64],
        variance: float,
        confidence: float,
        counts: LevelCounts,
    ) -> dict[str, Any]:
        """The published and the unbiased numbers with their intervals, and what the rule of precision says of them."""
        heavy = isinstance(counts.noise["detail"], DiscreteLaplace)
        half = float(half_widths(np.array([variance]), confidence, heavy=heavy)[0])
        odd = np.zeros(len(values), bool)
        for rule, limit in self.layout.spec.precision.items():
            match rule:
                case "standard_error":
                    odd |= variance**0.5 > limit
                case "half_width":
                    odd |= float(half_widths(np.array([variance]), 0.95, heavy=heavy)[0]) > limit
                case _:
                    odd |= variance**0.5 > limit * np.maximum(unbiased, 0)
        return {
            "value": values,
            "unbiased": unbiased,
            "standard_error": np.full(len(values), variance**0.5),
            "lower": unbiased - half,
            "upper": unbiased + half,
            "flag": pa.array(np.where(odd, "imprecise", ""), pa.string()),
        }

    def choice_bias(self, count: int, level: str | None = None) -> float:
        """How far the combined total of a group of so many people is off on average, over all noise. Costs nothing.

        The noise of the first stage is in the combined total with a weight that depends on the detail that it chose.
        """
        _, counts = self._at(level)
        weights = weights_of(self.layout, counts)
        return choice_bias(counts.noise["totals"], count, self.layout.spec.thresholds, weights)

    def content(self) -> dict[str, Any]:
        """The specification, the groups and cells, the noise and the noisy counts."""
        return {
            "spec": self.layout.spec.to_json(),
            "groups": self.layout.to_json(),
            "noise": [
                [level, *(additive_to_json(each.noise[stage]) for stage in _STAGES)]
                for level, each in self.measured.items()
            ],
            "counts": [
                [integers_to_json(each.totals), *map(integers_to_json, each.cells)] for each in self.measured.values()
            ],
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> DetailTables:
        """The inverse of `content`. The way to show each group is chosen again, by the noisy totals that are stored."""
        layout = DetailLayout.from_json(content["spec"], content["groups"])
        measured: dict[str, LevelCounts] = {}
        for (level, *noise), (totals, *cells) in zip(content["noise"], content["counts"], strict=True):
            mechanisms = {stage: additive_from_json(each) for stage, each in zip(_STAGES, noise, strict=True)}
            counts = LevelCounts(integers_from_json(totals), tuple(map(integers_from_json, cells)), mechanisms)
            if not counts.sizes_fit(layout, layout.spec.geography.tree.sizes[layout.spec.geography.level(level)]):
                raise ValueError
            measured[level] = counts
        if tuple(measured) != layout.levels:
            raise ValueError
        return cls(layout, measured, loss, certificate)

    @cached_property
    def _pairs(self) -> list[tuple[str, str, int, int]]:
        """For each level and way how many groups and areas are shown so, and in how many cells."""
        rows: list[tuple[str, str, int, int]] = []
        for level, counts in self.measured.items():
            for name, cells in zip(self.layout.spec.ways, counts.cells, strict=True):
                rows.append((level, name, len(cells), cells.size))
        return rows

    def header(self) -> list[tuple[str, bool]]:
        """How many groups and areas are shown in which way."""
        return [
            ("level", False),
            ("detail", False),
            ("groups by area", True),
            ("cells", True),
            ("standard error", True),
        ]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002 - shown alike
        """A row for each level and way to show a group, as text."""
        return [
            [at, name, f"{pairs:,}", f"{cells:,}", f"{self.measured[at].variances[1] ** 0.5:,.1f}"]
            for at, name, pairs, cells in self._pairs[:first]
        ]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002 - shown alike
        """What it is."""
        spec = self.layout.spec
        levels = ", ".join(self.measured)
        return f"{len(self.layout.codes):,} groups of {spec.table}, at most {spec.most} of one person, at {levels}"


def weights_of(layout: DetailLayout, counts: LevelCounts) -> list[float]:
    """How much of the noise of the first total is in the combined one, by the way that it chose."""
    return [combined_weight(counts.noise["totals"], counts.noise["detail"], size) for size in layout.sizes]


def most_choice_bias(layout: DetailLayout, counts: LevelCounts) -> float:
    """The most that a combined total is off on average, whatever the true one: ``proofs/detail.md``."""
    weights = weights_of(layout, counts)
    return (max(weights) - min(weights)) * spread(counts.noise["totals"]) / 2
