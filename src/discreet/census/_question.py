"""A publication as a question: checked under public terms, charged once, then counted and measured with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.census._fitting import Fitting
from discreet.census._publication import Publication
from discreet.census.estimates import Errors, Estimate, Layout, Measure, planned_shares
from discreet.census.rules import RuledTotals, check_rules, class_totals
from discreet.census.specs import Spec, below
from discreet.errors import ParameterError
from discreet.marginals.trees import Slices, Tree, integer_cells, integer_totals
from discreet.policy import Policy
from discreet.prices import Additive, Prices, Purse, additive_to_json, check_spend, with_noise
from discreet.privacy import Loss
from discreet.query import BoundedAggregate, Count, Marginals, measure_norms
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["Payments", "PreparedPublication", "Publish", "published_integers"]

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
        universes = {
            name: below(f"universes.{name}", lambda each=each, name=name: self._universe(each, name, terms))
            for name, each in self.spec.universes.items()
        }
        prepared = replace(self._universe(self.spec, self.spec.name, terms), universes=universes)
        if prepared.ruled is not None:
            check_rules(prepared.ruled, {name: each.errors for name, each in prepared.every.items()})
        return prepared

    def _universe(self, spec: Spec, name: str, terms: Terms) -> PreparedPublication:
        layout, part = Layout.of_policy(spec, terms.policy), self.spec.universe_shares[name]
        rows = layout.rows(terms.policy)
        terms.accept(rows)
        prices = Prices.of_spend(self.spend, measure_norms(Count(None), rows, terms.policy.relation))
        shares = {each: part * share for each, share in planned_shares(layout, prices).items()}
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
    universes: Mapping[str, PreparedPublication] = field(default_factory=dict[str, "PreparedPublication"])

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        beside = {name: each.measures_to_json() for name, each in self.universes.items()}
        return {
            "spec": self.layout.spec.to_json(),
            **self.measures_to_json(),
            **({"universes": beside} if beside else {}),
        }

    def measures_to_json(self) -> dict[str, Any]:
        """The cells, and the share of each measurement."""
        return {
            "cells": [column.to_json() for column in self.layout.columns],
            "shares": [[place, table, str(share)] for (place, table), share in self.shares.items()],
        }

    @property
    def every(self) -> dict[str, PreparedPublication]:
        """These rows and the other universes, by name."""
        return {self.layout.spec.name: self, **self.universes}

    @cached_property
    def ruled(self) -> RuledTotals | None:
        """What the rules tie. Raises `ParameterError` and `QueryError` for rules that cannot be kept."""
        layouts = {name: each.layout for name, each in self.every.items()}
        return RuledTotals.of_rules(layouts, self.layout.spec.parsed_rules)

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
        payments = self.payments(context)
        measured = {name: each.measured(each.counted(context), payments) for name, each in self.every.items()}
        estimates = {name: Estimate(each.errors, measured[name]) for name, each in self.every.items()}
        integers = published_integers(estimates, self.ruled)
        return self._released(measured, integers, context)

    def payments(self, context: ReleaseContext) -> Payments:
        """What pays for the measurements of all universes, once."""
        many = sum(len(each.shares) for each in self.every.values())
        return Payments(context, Purse(self.prices), many + 1)

    def counted(self, context: ReleaseContext) -> dict[Measure, NDArray[np.int64]]:
        """The exact counts of each measurement, areas by cells: private."""
        tables = dict.fromkeys(self.layout.tables[name] for _, name in self.shares)
        counted = context.count_marginals(self.request(), noise.secret(16))
        by_level = {table: self.layout.tree.sums(each) for table, each in zip(tables, counted, strict=True)}
        return {(place, name): self._exact(place, by_level[self.layout.tables[name]]) for place, name in self.shares}

    def measured(
        self, counts: Mapping[Measure, NDArray[np.int64]], payments: Payments
    ) -> dict[Measure, NDArray[np.int64]]:
        """The counts with noise, each mechanism paid before it draws."""
        noisy = dict[Measure, NDArray[np.int64]]()
        for each, mechanism in self.mechanisms.items():
            payments.pay(mechanism.loss(self.prices.norms))
            noisy[each] = with_noise(counts[each], mechanism)
        return noisy

    def _released(
        self,
        measured: Mapping[str, Mapping[Measure, NDArray[np.int64]]],
        integers: Mapping[str, NDArray[np.int64]],
        context: ReleaseContext,
    ) -> Publication:
        name, *others = self.every
        universes = {each: self.universes[each].bare(measured[each], integers[each]) for each in others}
        bare = replace(self.bare(measured[name], integers[name]), loss=self.loss, universes=universes)
        statement = {
            **self.stated,
            **self.stated_measurements(),
            "spec": self._spec(),
            "currency": self.prices.currency,
            "answer": bare.digest(),
            **({"universes": {each: self.universes[each].stated_measurements() for each in others}} if others else {}),
        }
        return bare.certified(context.certify(statement))

    def bare(self, measured: Mapping[Measure, NDArray[np.int64]], integers: NDArray[np.int64]) -> Publication:
        """What is published of these rows, at the part of the spend that they have, without a certificate."""
        loss = self.prices.budget(self.prices.total * sum(self.shares.values()))
        return Publication(self.layout, self.mechanisms, measured, integers, loss, {})

    def stated_measurements(self) -> dict[str, Any]:
        """Whom rows belong to, and the noise, as the certificate states them."""
        return {
            "unit": self.bounded.unit or "rows",
            "rows_per_unit": self.bounded.max_rows,
            "measured": [
                {"level": place, "table": table, **additive_to_json(mechanism)}
                for (place, table), mechanism in self.mechanisms.items()
            ],
        }

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
        stated: dict[str, Any] = {
            **spec.to_json(),
            "geography": {"levels": list(spec.geography.levels), "digest": spec.geography.digest},
            "districts": {kind: len(areas) for kind, areas in spec.districts.items()},
            "held": {level: len(totals) for level, totals in spec.held.items()},
        }
        for name, each in spec.universes.items():
            stated["universes"][name]["held"] = {level: len(totals) for level, totals in each.held.items()}
        return stated

    def read(self, payload: bytes) -> Publication:
        """Restore a stored publication. Raises `LedgerError` if the bytes are none."""
        return Publication.from_bytes(payload)


@dataclass(slots=True)
class Payments:
    """Pays for measurements, and shows how many of them are made."""

    context: ReleaseContext
    purse: Purse
    most: int
    done: int = 0

    def pay(self, loss: Loss) -> None:
        """Pay for one more."""
        self.context.step(self.done, self.most)
        self.done += 1
        self.purse.pay(loss)


def published_integers(
    estimates: Mapping[str, Estimate], ruled: RuledTotals | None = None
) -> dict[str, NDArray[np.int64]]:
    """The integers of each universe: of the areas of the last level that is measured, by cells of all columns.

    Deterministic. Those of universes that rules tie keep them.
    """
    tied = {} if ruled is None else class_totals(ruled, {name: estimates[name] for name in ruled.layouts})
    integers: dict[str, NDArray[np.int64]] = {}
    for name, each in estimates.items():
        if ruled is not None and name in tied:
            integers[name] = _integers(each, tied[name], ruled.classes[name].cells)
            continue
        totals = integer_totals(_tree(each), lambda level, each=each: each.cells(level, ()), each.layout.held)
        integers[name] = _integers(each, [own[:, None] for own in totals], (slice(None),))
    return integers


def _tree(estimate: Estimate) -> Tree:
    return Tree(estimate.layout.tree.parents[: estimate.errors.depth])


def _integers(
    estimate: Estimate, totals: Sequence[NDArray[np.int64]], classes: Sequence[NDArray[np.intp] | slice]
) -> NDArray[np.int64]:
    layout = estimate.layout

    def cells(level: int, areas: slice) -> NDArray[np.float64]:
        some = estimate.cells(level, layout.detail, areas)
        return some.reshape(len(some), -1)

    return integer_cells(
        _tree(estimate),
        totals,
        lambda level: Slices(level, cells),
        classes,
        allowed=layout.allowed.ravel(),
        fit=Fitting(estimate).cells,
    )
