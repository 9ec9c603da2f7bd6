"""Overlapping groups as a question: noisy totals, the choice of detail by these alone, then fresh noise on cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.census.details._chance import least_threshold, reaches
from discreet.census.details._layout import DetailLayout, Source, group_norms, source_of
from discreet.census.details._measured import LevelCounts
from discreet.census.details._release import DetailTables
from discreet.census.details._spec import STAGES, DetailSpec, Stage
from discreet.errors import ParameterError
from discreet.policy import Policy
from discreet.prices import Additive, Prices, Purse, additive_to_json, check_spend, with_noise
from discreet.privacy import Loss
from discreet.query import Marginals
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["PreparedDetail", "PublishDetail"]

_MOST_DEVIATION = 2.0**48
_AT_ONCE = 2**24
"""So many cells are counted in one pass, or those of one group."""
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PublishDetail:
    """Overlapping groups of a private table; see `discreet.census.detail`."""

    spec: DetailSpec
    spend: Loss

    def prepare(self, terms: Terms) -> PreparedDetail:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be published."""
        check_spend(self.spend)
        layout, source = source_of(self.spec, terms.policy)
        terms.accept(source.bounded)
        prices = Prices.of_spend(self.spend, group_norms(layout.most, source.rows, terms.policy.relation))
        prepared = PreparedDetail(layout, source, prices, self.spend, terms.policy)
        prepared.check()
        return prepared


@dataclass(frozen=True)
class PreparedDetail(PreparedQuestion):
    """Overlapping groups that were checked; see `discreet.release.Prepared`."""

    kind = "census_detail"

    layout: DetailLayout
    source: Source
    prices: Prices
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {"spec": self.layout.spec.to_json(), "groups": self.layout.to_json()}

    @property
    def unit(self) -> str:
        """The column that names a person, or ``"rows"``."""
        return self.policy.unit(self.source.table).name or "rows"

    @cached_property
    def shares(self) -> dict[tuple[str, Stage], Fraction]:
        """The share of each stage at each level, together 1."""
        given = self.layout.spec.given_shares()
        total = sum(given.values())
        return {each: share / total for each, share in given.items()}

    @cached_property
    def mechanisms(self) -> dict[str, dict[Stage, Additive]]:
        """The noise of each stage at each level."""
        return {
            level: {stage: self.prices.measurement(self.prices.total * self.shares[level, stage]) for stage in STAGES}
            for level in self.layout.levels
        }

    def check(self) -> None:
        """Raise `ParameterError` for a spend too small for any noise, or for the promised choices of detail."""
        try:
            every = [mechanism for stages in self.mechanisms.values() for mechanism in stages.values()]
        except ParameterError as error:
            raise ParameterError(
                f"the spend is too small for {len(self.shares):,} measurements: {error}; spend more, or measure fewer "
                "levels"
            ) from None
        if max(mechanism.std for mechanism in every) > _MOST_DEVIATION:
            raise ParameterError("the spend is so small that noise would hide any group; spend more")
        self._check_chances()
        self._request_totals()
        self._request_cells(np.arange(1))

    def _check_chances(self) -> None:
        """Large groups reach the lowest threshold, and so the others, with the chance that is asked for."""
        spec = self.layout.spec
        for level, stages in self.mechanisms.items():
            least = least_threshold(stages["totals"], spec.margin, spec.chance)
            name, detail = next(iter(spec.details.items()))
            if detail.threshold < least:
                chance = self.chance(level, name)
                raise ParameterError(
                    f"detail.{name}.from: at the level {level} a group {float(spec.margin):.3g} of it above the "
                    f"threshold {detail.threshold:,} would be shown so in {chance:.2%} of runs, and "
                    f"{float(spec.chance):.2%} is asked for: noise on totals has a standard deviation of "
                    f"{stages['totals'].std:,.4g}; take a threshold of {least:,} or more, give totals of {level} a "
                    "larger share, spend more, or lower chance"
                )

    def chance(self, level: str, name: str, count: int | None = None) -> float:
        """How likely a group of so many people in an area of a level is shown at least as finely as under this name.

        By default of a group that is larger than the threshold by the margin of the specification.
        """
        spec = self.layout.spec
        threshold = spec.details[name].threshold
        people = math.ceil(threshold * (1 + spec.margin)) if count is None else count
        return reaches(self.mechanisms[level]["totals"], people, threshold)

    def answer(self, context: ReleaseContext) -> DetailTables:
        """Count, and add noise, twice. Its loss is charged."""
        steps = 2 * len(self.mechanisms) + 1
        context.step(0, steps)
        purse, salt = Purse(self.prices), noise.secret(16)
        exact = self.counted_totals(context, salt)
        totals: dict[str, Integers] = {}
        for done, (level, stages) in enumerate(self.mechanisms.items()):
            context.step(done, steps)
            totals[level] = self._noisy(exact[level], stages["totals"], purse)
        chosen = {level: self.layout.chosen(noisy) for level, noisy in totals.items()}
        cells = self.counted_cells(chosen, exact, context, salt)
        measured: dict[str, LevelCounts] = {}
        for done, (level, stages) in enumerate(self.mechanisms.items()):
            context.step(len(totals) + done, steps)
            noisy = self._noisy(np.concatenate([each.ravel() for each in cells[level]]), stages["detail"], purse)
            measured[level] = LevelCounts(totals[level], _split(noisy, cells[level]), stages)
        return self._released(measured, context)

    def _noisy(self, exact: Integers, mechanism: Additive, purse: Purse) -> Integers:
        """Counts with noise that is paid before it is drawn: what a person moves in all of them together."""
        purse.pay(mechanism.loss(self.prices.norms))
        return with_noise(exact, mechanism)

    def counted_totals(self, context: ReleaseContext, salt: bytes) -> dict[str, Integers]:
        """The exact number of people of each group in each area, level by level: groups by areas, private."""
        counted = self._counted(self._request_totals(), context, salt)[: len(self.layout.codes)]
        by_level = self.layout.spec.geography.tree.sums(np.ascontiguousarray(counted.T))
        return {level: by_level[self._place(level)].T for level in self.layout.levels}

    def counted_cells(
        self,
        chosen: Mapping[str, Integers],
        totals: Mapping[str, Integers],
        context: ReleaseContext,
        salt: bytes,
    ) -> dict[str, tuple[Integers, ...]]:
        """The exact cells of each way to show a group, of the groups and areas that are shown so: private.

        The same rows count as in totals, as they are drawn by the same salt. Which passes there are follows from what
        was chosen, which is public by now.
        """
        wanted = np.flatnonzero(np.any([(ways > 0).any(axis=1) for ways in chosen.values()], axis=0))
        parts: dict[str, list[list[Integers]]] = {
            level: [[totals[level][ways == 0][:, None]], *([] for _ in self.layout.sizes[1:])]
            for level, ways in chosen.items()
        }
        for groups in self._batches(wanted):
            counted = np.moveaxis(self._counted(self._request_cells(groups), context, salt)[: len(groups)], 1, 0)
            for way in range(1, len(self.layout.sizes)):
                by_level = self.layout.spec.geography.tree.sums(np.ascontiguousarray(self.layout.summed(counted, way)))
                for level, ways in chosen.items():
                    cells = np.moveaxis(by_level[self._place(level)], 0, 1)
                    parts[level][way].append(cells[ways[groups] == way])
        return {
            level: tuple(
                np.concatenate([np.empty((0, size), np.int64), *each])
                for size, each in zip(self.layout.sizes, by_way, strict=True)
            )
            for level, by_way in parts.items()
        }

    def _batches(self, groups: Integers) -> Iterator[Integers]:
        """Groups by so many that their cells are counted in one pass."""
        inner = int(np.prod([column.size for column in self.layout.finest]))
        each = inner * self.layout.spec.geography.tree.sizes[-1] * len(self.layout.spec.groups)
        size = max(1, _AT_ONCE // each - 1)
        for begin in range(0, len(groups), size):
            yield groups[begin : begin + size]

    def _counted(self, request: Marginals, context: ReleaseContext, salt: bytes) -> Integers:
        """By groups, smallest areas and what else is asked: over all columns of groups."""
        counts: list[Integers] = list(context.count_marginals(request, salt))
        return np.asarray(sum(counts[1:], counts[0]))

    def _request_totals(self) -> Marginals:
        """What is counted first. Raises `QueryError` for too many cells."""
        columns = len(self._columns)
        return Marginals(self.source.bounded, tuple((place, columns) for place in range(columns)))

    def _request_cells(self, groups: Integers) -> Marginals:
        """What is counted of some groups: all others are merged into one. Raises `QueryError` for too many cells."""
        bounded, columns = self.source.bounded, len(self._columns)
        into = np.full(len(bounded.keys[0].values or ()), len(groups))
        into[groups] = np.arange(len(groups))
        if len(groups) == len(into):
            merged: tuple[int, ...] | None = None
        else:
            merged = tuple(into.tolist())
        others = range(columns, len(bounded.keys))
        return Marginals(
            bounded,
            tuple((place, *others) for place in range(columns)),
            (*(merged for _ in range(columns)), *(None for _ in others)),
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.layout.spec.groups

    def _place(self, level: str) -> int:
        return self.layout.spec.geography.level(level)

    def _released(self, measured: Mapping[str, LevelCounts], context: ReleaseContext) -> DetailTables:
        bare = DetailTables(self.layout, measured, self.loss, {})
        return bare.certified(context.certify({**self.stated, **self._statement(), "answer": bare.digest()}))

    def _statement(self) -> dict[str, Any]:
        """What ran, from which `discreet verify` recomputes the loss."""
        spec = self.layout.spec
        return {
            "table": self.source.table,
            "unit": self.unit,
            "source": self.source.kind,
            "rows_per_unit": self.source.rows,
            "groups_per_row": self.layout.most,
            "groups": len(self.layout.codes),
            "geography": {"levels": list(spec.geography.levels), "digest": spec.geography.digest},
            "thresholds": dict(zip(spec.details, spec.thresholds, strict=True)),
            "currency": self.prices.currency,
            "measured": [
                {"level": level, "stage": stage, **additive_to_json(mechanism)}
                for level, stages in self.mechanisms.items()
                for stage, mechanism in stages.items()
            ],
        }

    def read(self, payload: bytes) -> DetailTables:
        """Restore stored tables. Raises `LedgerError` if the bytes are none."""
        return DetailTables.from_bytes(payload)


def _split(noisy: Integers, like: tuple[Integers, ...]) -> tuple[Integers, ...]:
    """An array as arrays of the shapes of others."""
    ends = np.cumsum([each.size for each in like])[:-1]
    return tuple(part.reshape(each.shape) for part, each in zip(np.split(noisy, ends), like, strict=True))
