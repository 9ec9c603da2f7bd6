"""A synthetic table as a question: checked under public terms, charged once, then counted, measured and estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet import noise
from discreet.errors import ParameterError
from discreet.marginals import CellChoice, Clique, ColumnCells, Measurement, Merge, Numbers, merge, private_table
from discreet.policy import Policy
from discreet.prices import Choice, Prices, Purse, check_spend
from discreet.privacy import Loss, to_json
from discreet.query import BoundedAggregate, Count, Marginals, coded_rows, measure_norms
from discreet.release import Certify, PreparedQuestion, ReleaseContext, Terms
from discreet.synth._candidates import Candidates, Wanted, candidates
from discreet.synth._columns import column_named, fitted_columns
from discreet.synth._discovery import Discovery, discoveries, with_keys
from discreet.synth._prior import Prior
from discreet.synth._rounds import Shares, best, instant, one_way_share
from discreet.synth._state import Counts, Fit, step_to_json
from discreet.synth._table import Measured, SyntheticTable
from discreet.synth._verify import measured_digest
from discreet.synth._workload import Workload, weighted_sets
from discreet.synth.rows._rows import public_rows
from discreet.synth.rules import BoundRules, Rule, Rules, followers, following_names, sorted_rules

__all__ = ["DEGREE", "PreparedTable", "Synthesize", "Tier"]

DEGREE = {"instant": 2, "best": 4}
"""How many columns a marginal has at most, by tier."""
_FINAL_STEPS = 200
_TICKS = 100
_NO_KEYS = ("",)
"""Stands for keys that are yet to be discovered, where only the rest of a query is checked."""
Tier = Literal["instant", "best"]


@dataclass(frozen=True)
class Synthesize:
    """A synthetic stand-in for a private table; see `discreet.synth.fit`."""

    table: str
    spend: Loss
    tier: Tier = "best"
    columns: Sequence[str] | None = None
    cells: Mapping[str, CellChoice] = field(default_factory=dict[str, CellChoice])
    target: str | None = None
    workload: Workload = ()
    rules: Sequence[Rule] = ()

    def prepare(self, terms: Terms) -> PreparedTable:
        """Check it under public terms. Raises `QueryError` for what cannot be fitted, `ParameterError` for the rest."""
        policy = terms.policy
        name, declared = private_table(policy, self.table)
        if self.tier not in DEGREE:
            raise ParameterError(f"tier is 'instant' or 'best', not {self.tier!r}")
        check_spend(self.spend)
        rules, follows = sorted_rules(self.rules)
        following = following_names(policy, name, follows)
        columns = fitted_columns(policy, name, self.columns, dict(self.cells), following)
        rules = replace(rules, followers=followers(policy, name, follows, columns, self.columns))
        bounded = coded_rows(policy, name, {each.name: each.coded or _NO_KEYS for each in columns})
        terms.accept(bounded)
        planned, spend = discoveries(policy, name, columns, self.spend)
        for each in planned:
            terms.accept(each.level.bounded)
        prices = Prices.of_spend(spend, measure_norms(Count(None), bounded, policy.relation))
        wanted = Wanted(self._target(columns, rules), weighted_sets(self.workload, name, columns, rules.followers))
        prepared = PreparedTable(
            table=name, tier=self.tier, columns=columns, bounded=bounded, prices=prices, wanted=wanted,
            loss=self.spend, fit_loss=spend, planned=planned, policy=policy, unit=policy.unit(name).name or "rows",
            rows_per_unit=declared.rows_per_unit, rules=rules,
        )  # fmt: skip
        prepared.bound.check()
        if rules.hard:
            public_rows(prepared.bound)
        prepared.first_noise()
        return prepared

    def _target(self, columns: Sequence[ColumnCells], rules: Rules) -> int | None:
        if self.target is None:
            return None
        if str(self.target).casefold() in {each.name.casefold() for each in rules.followers}:
            raise ParameterError(f"{self.target} follows from other columns: choose one of those as the target")
        return column_named(columns, self.target, "the fit")


@dataclass(frozen=True)
class PreparedTable(PreparedQuestion):
    """A synthetic table that was checked; see `discreet.release.Prepared`."""

    kind = "synthetic_table"

    table: str
    tier: Tier
    columns: tuple[ColumnCells, ...]
    bounded: BoundedAggregate
    prices: Prices
    wanted: Wanted
    loss: Loss
    fit_loss: Loss
    planned: tuple[Discovery, ...]
    policy: Policy
    unit: str
    rows_per_unit: int
    known: Mapping[int, Prior | int] = field(default_factory=dict[int, "Prior | int"])
    rules: Rules = field(default_factory=Rules)

    @cached_property
    def bound(self) -> BoundRules:
        """The rules, with the cells of the columns that have public ones: all of them, once keys are discovered."""
        return BoundRules(self.rules, tuple(column for column in self.columns if column.keys != ()))

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        names = [column.name for column in self.columns]
        return {
            "table": self.table,
            "tier": self.tier,
            "cells": [column.to_json() for column in self.columns],
            "target": None if self.wanted.target is None else names[self.wanted.target],
            "workload": sorted([[names[column] for column in each], weight] for each, weight in self.wanted.workload),
            "rules": self.rules.to_json(),
        }

    def first_noise(self) -> Any:
        """The noise of the marginal of each column. Raises `ParameterError` where the spend is too small for any."""
        share = self.prices.total * self._one_way / len(self._measured)
        try:
            return self.prices.measurement(share)
        except ParameterError as error:
            measured = f"one marginal of each of {len(self.columns)} columns"
            raise ParameterError(
                f"the spend is too small to measure {measured}: {error}; spend more, or fit fewer columns"
            ) from None

    @property
    def _measured(self) -> list[int]:
        """The columns whose marginals are measured."""
        return [i for i in range(len(self.columns)) if i not in self.known]

    @property
    def _one_way(self) -> Fraction:
        return Fraction(1) if len(self.columns) == 1 else one_way_share(self.tier)

    def answer(self, context: ReleaseContext) -> SyntheticTable:
        """Count, measure and estimate. Its loss is charged."""
        context.step(0, _TICKS)
        if not self.planned:
            return self.estimated(context, self.hash)
        columns = with_keys(self.planned, self.columns, context)
        names = [column.name for column in columns]
        places = {i: names.index(each.name) for i, each in enumerate(self.columns) if each.name in names}
        bounded = coded_rows(self.policy, self.table, {each.name: each.coded for each in columns})
        known = replace(self, columns=columns, bounded=bounded, wanted=self.wanted.moved(places))
        return known.estimated(context, self.hash)

    def estimated(self, context: ReleaseContext, plan: str) -> SyntheticTable:
        """The table, once all columns have cells; its certificate names the `plan` that was charged."""
        salt = noise.secret(16)
        fit, merges = self._one_way_fit(context, salt)
        listed = candidates(fit.sizes, self.wanted, DEGREE[self.tier])
        counts = self._counted(context, salt, list(listed.weights), merges)
        if counts:
            self._two_way_fit(fit, counts, listed, context)
        model = fit.estimate(newton=40 if fit.model is None else 10, steps=_FINAL_STEPS)
        potentials = self.bound.finished(model.potentials, merges)
        return _release(self, plan, fit, merges, potentials, context.certify)

    def read(self, payload: bytes) -> SyntheticTable:
        """Restore a stored table. Raises `LedgerError` if the bytes are none."""
        return SyntheticTable.from_bytes(payload)

    def _counted(
        self, context: ReleaseContext, salt: bytes, sets: Sequence[Clique], merges: Sequence[Merge | None]
    ) -> dict[Clique, Counts]:
        if not sets:
            return {}
        merged = tuple(None if each is None else each.into for each in merges)
        request = Marginals(self.bounded, tuple(sets), merged)
        return dict(zip(sets, context.count_marginals(request, salt), strict=True))

    def _one_way_fit(self, context: ReleaseContext, salt: bytes) -> tuple[Fit, list[Merge]]:
        """The marginal of each column with noise, and the cells that are merged by it."""
        columns, purse = self.columns, Purse(self.prices)
        sets: list[Clique] = [(i,) for i in self._measured]
        counts = self._counted(context, salt, sets, [None] * len(columns))
        raw = Fit(tuple(column.size for column in columns), 0.0, purse, {})
        mechanism = self.first_noise()
        for each in sets:
            raw.measure(each, counts[each], mechanism)
        sums = np.array([raw.measurements[each].counts.sum() for each in sets])
        weights = np.array([1 / raw.sizes[i] for (i,) in sets])
        total = float(self.rules.rows or max(float(sums @ weights / weights.sum()), 1.0))
        priors: dict[int, Prior] = {}
        measured: dict[Clique, Measurement] = {}
        for (i,) in sets:
            one = raw.measurements[i,]
            each = merge(columns[i], one.counts, mechanism.std, total, self.bound.apart(i))
            measured[i,] = Measurement((i,), each.summed(one.counts), each.summed(one.variances))
            priors[i] = Prior(each, measured[i,].counts)
        for i, known in self.known.items():
            priors[i] = known if isinstance(known, Prior) else priors[known]
            measured[i,] = priors[i].measurement(i, total)
        merges = [priors[i].merge for i in range(len(columns))]
        sizes = tuple(each.size for each in merges)
        ruled = tuple(self.bound.cliques)
        return Fit(sizes, total, purse, measured, raw.steps, fixed=self.bound.fixed(merges), ruled=ruled), merges

    def _two_way_fit(
        self, fit: Fit, counts: Mapping[Clique, Counts], listed: Candidates, context: ReleaseContext
    ) -> None:
        spends_all = self.tier == "instant"
        until = Fraction(1) if spends_all else Shares().until_network(fit, has_target=self.wanted.target is not None)
        instant(fit, counts, self.wanted.target, until, self.wanted.first)
        if not spends_all:
            best(fit, counts, listed, lambda share: context.step(int(share * _TICKS), _TICKS))


def _release(  # noqa: PLR0913, PLR0917
    prepared: PreparedTable,
    plan: str,
    fit: Fit,
    merges: Sequence[Merge],
    potentials: dict[Clique, Numbers],
    certify: Certify,
) -> SyntheticTable:
    """The release of a fit, with its certificate, which lists every mechanism that ran."""
    measured = tuple(
        Measured(step.clique, step.counts, step.mechanism)
        for step in fit.steps
        if not isinstance(step.mechanism, Choice)
    )
    bare = SyntheticTable(
        table=prepared.table,
        columns=prepared.columns,
        merges=tuple(merges),
        total=fit.total,
        potentials=potentials,
        measured=measured,
        loss=prepared.loss,
        certificate={},
        rules=prepared.rules,
    )
    names = [column.name for column in prepared.columns]
    steps = [step_to_json(step, names, prepared.prices) for step in fit.steps]
    noisy = [each for each in steps if "measured" in each]
    statement = {
        **prepared.stated,
        "plan": plan,
        "table": prepared.table,
        "tier": prepared.tier,
        "unit": prepared.unit,
        "rows_per_unit": prepared.rows_per_unit,
        "keys": [each.to_json() for each in prepared.planned],
        "fit_loss": to_json(prepared.fit_loss),
        "currency": prepared.prices.currency,
        "steps": steps,
        "measured": measured_digest([each["measured"] for each in noisy], noisy),
        "answer": bare.digest(),
    }
    return replace(bare, certificate=certify(statement))
