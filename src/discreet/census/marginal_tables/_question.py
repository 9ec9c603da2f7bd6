"""Marginals of a table as a question: checked under public terms, charged once, then counted and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.census.marginal_tables._measurement import (
    Measurements,
    measured_norms,
    planned_measurements,
    widest,
)
from discreet.census.marginal_tables._tables import MarginalTables
from discreet.census.marginal_tables._wanted import (
    Minimized,
    Wanted,
    Ways,
    tabled_columns,
    wanted_marginals,
)
from discreet.marginals import CellChoice, private_table
from discreet.marginals.residuals import Columns
from discreet.policy import Policy
from discreet.prices import Prices, Purse, additive_to_json, check_spend, with_noise
from discreet.privacy import Loss
from discreet.query import BoundedAggregate, Count, Marginals, coded_rows, measure_norms
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["PreparedMarginals", "PublishMarginals"]

_TICKS = 100


@dataclass(frozen=True)
class PublishMarginals:
    """Marginals of a private table; see `discreet.census.marginals`."""

    table: str
    spend: Loss
    ways: Ways = 2
    columns: Sequence[str] | None = None
    cells: Mapping[str, CellChoice] = field(default_factory=dict[str, CellChoice])
    minimize: Minimized = "sum"

    def prepare(self, terms: Terms) -> PreparedMarginals:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be published."""
        policy = terms.policy
        check_spend(self.spend)
        name, declared = private_table(policy, self.table)
        columns = tabled_columns(policy, name, self.columns, dict(self.cells))
        wanted = wanted_marginals(columns, self.ways, self.minimize)
        bounded = coded_rows(policy, name, {each.name: each.coded for each in columns})
        terms.accept(bounded)
        prices = Prices.of_spend(self.spend, measure_norms(Count(None), bounded, policy.relation))
        measurements = planned_measurements(wanted, prices, declared.rows_per_unit, policy.relation)
        prepared = PreparedMarginals(name, wanted, bounded, prices, measurements, self.spend, policy)
        prepared.request()
        return prepared


@dataclass(frozen=True)
class PreparedMarginals(PreparedQuestion):
    """Marginals that were checked; see `discreet.release.Prepared`."""

    kind = "marginals"

    table: str
    wanted: Wanted
    bounded: BoundedAggregate
    prices: Prices
    measurements: Measurements
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {"table": self.table, **self.wanted.to_json()}

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one person count."""
        return self.policy.tables[self.table].rows_per_unit

    @property
    def unit(self) -> str:
        """The column that names a person, or ``"rows"``."""
        return self.policy.unit(self.table).name or "rows"

    def request(self) -> Marginals:
        """What is counted: the widest marginals, in one pass. Raises `QueryError` for too many cells."""
        return Marginals(self.bounded, widest(self.wanted.lattice))

    def answer(self, context: ReleaseContext) -> MarginalTables:
        """Count, and add noise. Its loss is charged."""
        context.step(0, _TICKS)
        request = self.request()
        counts = _Counts(dict(zip(request.sets, context.count_marginals(request, noise.secret(16)), strict=True)))
        purse, measured = Purse(self.prices), dict[Columns, NDArray[np.int64]]()
        planned = self.measurements.mechanisms
        for done, (columns, mechanism) in enumerate(planned.items()):
            context.step(_TICKS * done // len(planned), _TICKS)
            sizes = self.wanted.lattice.shape(columns)
            purse.pay(
                mechanism.loss(measured_norms(self.measurements.form, sizes, self.rows_per_unit, self.policy.relation))
            )
            measured[columns] = with_noise(self.measurements.query(counts.over(columns)), mechanism)
        bare = MarginalTables(self.table, self.measurements, measured, self.loss, {})
        return bare.certified(context.certify({**self.stated, **self._statement(), "answer": bare.digest()}))

    def _statement(self) -> dict[str, Any]:
        """What ran, from which `discreet verify` recomputes the loss."""
        return {
            "table": self.table,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "currency": self.prices.currency,
            "form": self.measurements.form,
            "sizes": {column.name: column.size for column in self.wanted.columns},
            "measured": [
                {"columns": list(self.wanted.named(columns)), **additive_to_json(mechanism)}
                for columns, mechanism in self.measurements.mechanisms.items()
            ],
        }

    def read(self, payload: bytes) -> MarginalTables:
        """Restore stored marginals. Raises `LedgerError` if the bytes are none."""
        return MarginalTables.from_bytes(payload)


class _Counts:
    """Exact counts of marginals, those of fewer columns from the widest."""

    def __init__(self, widest: Mapping[Columns, NDArray[np.int64]]) -> None:
        self._counts = dict(widest)
        self._wider = {each[:i] + each[i + 1 :]: each for each in _within(widest) for i in range(len(each))}

    def over(self, columns: Columns) -> NDArray[np.int64]:
        """The counts over some columns: the sums of those over one more."""
        if columns not in self._counts:
            wider = self._wider[columns]
            axis = next(place for place, each in enumerate(wider) if each not in columns)
            self._counts[columns] = self.over(wider).sum(axis=axis)
        return self._counts[columns]


def _within(sets: Mapping[Columns, Any]) -> list[Columns]:
    """All subsets of these sets."""
    todo, seen = list(sets), set(sets)
    for each in todo:
        new = {each[:i] + each[i + 1 :] for i in range(len(each))} - seen
        seen |= new
        todo += new
    return todo
