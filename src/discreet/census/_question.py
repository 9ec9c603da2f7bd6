"""A publication as a question: checked under public terms, charged once, then counted and measured with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.census._fitting import Fitting
from discreet.census._publication import Publication
from discreet.census.estimates import Errors, Estimate, Layout, Measure, planned_shares
from discreet.census.specs import Spec
from discreet.errors import ParameterError
from discreet.marginals.trees import Slices, Tree, integers_near
from discreet.policy import Policy
from discreet.prices import Additive, Prices, Purse, additive_to_json, check_spend, with_noise
from discreet.privacy import Loss
from discreet.query import BoundedAggregate, Count, Marginals, measure_norms
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["PreparedPublication", "Publish"]

_MOST_DEVIATION = 2.0**48


@dataclass(frozen=True)
class Publish:
    """Statistical tables of a private table; see `discreet.census.publish`."""

    spec: Spec
    spend: Loss

    def prepare(self, terms: Terms) -> PreparedPublication:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be published."""
        check_spend(self.spend)
        with self.spec.naming_lines():
            return self._prepared(terms)

    def _prepared(self, terms: Terms) -> PreparedPublication:
        layout = Layout.of_policy(self.spec, terms.policy)
        rows = layout.rows(terms.policy)
        terms.accept(rows)
        prices = Prices.of_spend(self.spend, measure_norms(Count(None), rows, terms.policy.relation))
        shares = planned_shares(layout, prices)
        prepared = PreparedPublication(layout, rows, prices, shares, self.spend, terms.policy)
        prepared.request()
        prepared.check()
        return prepared


@dataclass(frozen=True)
class PreparedPublication(PreparedQuestion):
    """A publication that was checked; see `discreet.release.Prepared`."""

    kind = "census"

    layout: Layout
    bounded: BoundedAggregate
    prices: Prices
    shares: Mapping[Measure, Fraction]
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            "spec": self.layout.spec.to_json(),
            "cells": [column.to_json() for column in self.layout.columns],
            "shares": [[place, table, str(share)] for (place, table), share in self.shares.items()],
        }

    @cached_property
    def mechanisms(self) -> Mapping[Measure, Additive]:
        """The noise of each measurement."""
        return {each: self.prices.measurement(self.prices.total * share) for each, share in self.shares.items()}

    @cached_property
    def errors(self) -> Errors:
        """The variances of what would be published."""
        return Errors.of_mechanisms(self.layout, self.mechanisms)

    def check(self) -> None:
        """Raise `ParameterError` where the spend is too small for any noise, or nothing measures a table at all."""
        try:
            _ = self.mechanisms
        except ParameterError as error:
            raise ParameterError(
                f"the spend is too small for {len(self.shares):,} measurements: {error}; spend more, or measure "
                "fewer levels and tables"
            ) from None
        if max(mechanism.std for mechanism in self.mechanisms.values()) > _MOST_DEVIATION:
            raise ParameterError("the spend is so small that noise would hide any country; spend more")
        for table in self.layout.tables.values():
            self.errors.check_published(0, table)

    def request(self) -> Marginals:
        """What is counted: each table that is measured, by smallest areas. Raises `QueryError` for too many cells."""
        tables = dict.fromkeys(self.layout.tables[name] for _, name in self.shares)
        return Marginals(self.bounded, tuple((0, *(column + 1 for column in table)) for table in tables))

    def answer(self, context: ReleaseContext) -> Publication:
        """Count, and add noise. Its loss is charged."""
        context.step(0, len(self.shares) + 1)
        measured = self.measured(self.counted(context), context)
        integers = published_integers(Estimate(self.errors, measured))
        return self._released(measured, integers, context)

    def counted(self, context: ReleaseContext) -> dict[Measure, NDArray[np.int64]]:
        """The exact counts of each measurement, areas by cells: private."""
        tables = dict.fromkeys(self.layout.tables[name] for _, name in self.shares)
        counted = context.count_marginals(self.request(), noise.secret(16))
        by_level = {table: self.layout.tree.sums(each) for table, each in zip(tables, counted, strict=True)}
        return {(place, name): self._exact(place, by_level[self.layout.tables[name]]) for place, name in self.shares}

    def measured(
        self, counts: Mapping[Measure, NDArray[np.int64]], context: ReleaseContext
    ) -> dict[Measure, NDArray[np.int64]]:
        """The counts with noise, each mechanism paid before it draws."""
        purse, noisy = Purse(self.prices), dict[Measure, NDArray[np.int64]]()
        for done, (each, mechanism) in enumerate(self.mechanisms.items()):
            context.step(done, len(self.shares) + 1)
            purse.pay(mechanism.loss(self.prices.norms))
            noisy[each] = with_noise(counts[each], mechanism)
        return noisy

    def _released(
        self, measured: Mapping[Measure, NDArray[np.int64]], integers: NDArray[np.int64], context: ReleaseContext
    ) -> Publication:
        bare = Publication(self.layout, self.mechanisms, measured, integers, self.loss, {})
        table = self.bounded.tables[0]
        statement = {
            **self.stated,
            "unit": self.policy.unit(table).name or "rows",
            "rows_per_unit": self.policy.tables[table].rows_per_unit,
            "spec": self._spec(),
            "currency": self.prices.currency,
            "measured": [
                {"level": place, "table": name, **additive_to_json(mechanism)}
                for (place, name), mechanism in self.mechanisms.items()
            ],
            "answer": bare.digest(),
        }
        return bare.certified(context.certify(statement))

    def _exact(self, place: str, by_level: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The exact counts of a table at a level or for a kind of districts, areas by cells."""
        geography = self.layout.spec.geography
        if place in geography.levels:
            counts = by_level[geography.level(place)]
        else:
            leaves = by_level[-1]
            names = self.layout.spec.districts[place].items()
            counts = np.stack([leaves[geography.leaves(inside, name)].sum(axis=0) for name, inside in names])
        return counts.reshape(len(counts), -1)

    def _spec(self) -> dict[str, Any]:
        """The specification, with digests of its long lists."""
        spec = self.layout.spec
        return {
            **spec.to_json(),
            "geography": {"levels": list(spec.geography.levels), "digest": spec.geography.digest},
            "districts": {kind: len(areas) for kind, areas in spec.districts.items()},
            "held": {level: len(totals) for level, totals in spec.held.items()},
        }

    def read(self, payload: bytes) -> Publication:
        """Restore a stored publication. Raises `LedgerError` if the bytes are none."""
        return Publication.from_bytes(payload)


def published_integers(estimate: Estimate) -> NDArray[np.int64]:
    """The integers of the areas of the last level that is measured, by cells of all columns. Deterministic."""
    layout = estimate.layout
    tree = Tree(layout.tree.parents[: estimate.errors.depth])

    def cells(level: int, areas: slice) -> NDArray[np.float64]:
        some = estimate.cells(level, layout.detail, areas)
        return some.reshape(len(some), -1)

    return integers_near(
        tree,
        lambda level: estimate.cells(level, ()),
        lambda level: Slices(level, cells),
        layout.allowed.ravel(),
        layout.held,
        Fitting(estimate).cells,
    )
