"""A histogram as a question: checked under public terms, charged once, then counted and measured by its strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.census.histograms._aware import (
    FIRST_SHARE,
    LEVEL_SHARES,
    REST_SHARE,
    UNIT_SHARE,
    is_spread,
    levels_of,
    partition_by,
)
from discreet.census.histograms._measured import (
    BLOCKS,
    FIRST_BLOCKS,
    PARTITIONED,
    Measured,
    factorization_norms,
    parts_cost,
)
from discreet.census.histograms._release import Histogram, workload_to_json
from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells, column_cells, private_table
from discreet.marginals.strategies import (
    Factorization,
    Partition,
    TreeStrategy,
    Workload,
    factorized,
    fitted_tree,
    nested,
)
from discreet.policy import Policy
from discreet.prices import Additive, Prices, Purse, check_spend
from discreet.privacy import Loss
from discreet.query import BoundedAggregate, Count, Marginals, coded_rows, match_name, measure_norms
from discreet.release import PreparedQuestion, ReleaseContext, Terms
from discreet.sensitivity import Norms

__all__ = ["CountCells", "PreparedHistogram", "WorkloadChoice"]

WorkloadChoice = str | Sequence[tuple[object, object]]
"""``"ranges"``, ``"prefixes"``, or the first and the last value of each query."""
_FEWEST_CELLS = 64
_MOST_DEVIATION = 2.0**48


@dataclass(frozen=True)
class CountCells:
    """Counts by cells of a column; see `discreet.census.histogram`."""

    column: str
    spend: Loss
    cells: int | Sequence[object] | None = None
    workload: WorkloadChoice = "ranges"
    data_aware: bool = False
    table: str | None = None

    def prepare(self, terms: Terms) -> PreparedHistogram:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be counted."""
        check_spend(self.spend)
        policy = terms.policy
        table = _only_table(policy, self.table)
        declared = policy.tables[table].columns
        name = match_name(str(self.column), declared, table, "column")
        if name in policy.identifiers(table):
            raise QueryError(f"{name} says whose a row is, and is never published")
        column = column_cells(table, name, declared[name], self.cells)
        if column.keys == ():
            raise QueryError(f"{table}.{name} has no keys: list its public values in the policy")
        bounded = coded_rows(policy, table, {name: column.coded})
        terms.accept(bounded)
        prices = Prices.of_spend(self.spend, measure_norms(Count(None), bounded, policy.relation))
        workload = _workload(self.workload, column)
        prepared = PreparedHistogram(
            column, workload, bool(self.data_aware), bounded, prices, policy.tables[table].rows_per_unit,
            self.spend, policy,
        )  # fmt: skip
        prepared.check()
        return prepared


def _only_table(policy: Policy, table: str | None) -> str:
    """A private table by its name, or the only one."""
    private = [name for name, each in policy.tables.items() if not each.public]
    if table is None and len(private) != 1:
        raise QueryError(f"the policy has {len(private)} private tables: say which one, with table=")
    return private_table(policy, private[0] if table is None else table)[0]


def _runs(merged: Workload) -> dict[str, Any]:
    """What a factorisation follows from, so that how long its columns are can be computed again."""
    return {"cells": merged.cells, "queries": [list(each) for each in merged.ends]}


def _workload(choice: WorkloadChoice, column: ColumnCells) -> Workload:
    if isinstance(choice, str):
        return Workload(choice, column.valued)  # pyright: ignore[reportArgumentType] - it raises for others
    ends = list[tuple[int, int]]()
    for query in choice:
        if not isinstance(query, Sequence) or isinstance(query, str) or len(query) != 2:  # pyright: ignore[reportUnnecessaryIsInstance, reportUnnecessaryComparison]
            raise ParameterError(f"a query of a workload is a pair of its first and last value, not {query!r}")
        cells = [column.cell(value) for value in query]
        first, last = (column.valued if cell is None else cell for cell in cells)
        if not first <= last < column.valued:
            raise ParameterError(f"{column.name} has no values from {query[0]!r} to {query[1]!r}")
        ends.append((first, last))
    return Workload("queries", column.valued, tuple(sorted(ends)))


@dataclass(frozen=True)
class PreparedHistogram(PreparedQuestion):
    """A histogram that was checked; see `discreet.release.Prepared`."""

    kind = "census_histogram"

    column: ColumnCells
    workload: Workload
    data_aware: bool
    bounded: BoundedAggregate
    prices: Prices
    rows: int
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            "table": self.bounded.tables[0],
            "column": self.column.to_json(),
            "workload": workload_to_json(self.workload),
            "data_aware": self.data_aware,
        }

    @cached_property
    def merged(self) -> Workload:
        """The queries of the runs of cells that none of them cuts."""
        return self.workload.merged()

    @cached_property
    def tree(self) -> TreeStrategy:
        """The tree that is fitted to the workload, for pure ε."""
        return fitted_tree(self.merged)

    @cached_property
    def factorization(self) -> Factorization:
        """The factorisation of the workload, for Gaussian noise."""
        return factorized(self.merged)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The blocks of cells that are measured: of the tree, or of the levels before a partition."""
        if self.prices.is_quadratic:
            return ()
        return levels_of(self.merged.cells) if self.data_aware else self.tree.widths

    @cached_property
    def mechanisms(self) -> tuple[Additive, ...]:
        """The noise of each level, or of the rows of the factorisation."""
        if self.prices.is_quadratic:
            return (replace(self.prices, norms=self.norms).measurement(self.prices.total),)
        return self._noise(LEVEL_SHARES if self.data_aware else self.tree.shares)

    @property
    def first(self) -> Additive:
        """The noise of the blocks that are measured before anything else, if it is aware of the data."""
        return self._noise((FIRST_SHARE,))[0]

    @property
    def tree_noise(self) -> tuple[Additive, ...]:
        """The noise of the levels of the tree, if the first blocks of one that is aware of the data are spread."""
        return self._noise([share * (1 - FIRST_SHARE) for share in self.tree.shares])

    def _noise(self, shares: Sequence[Fraction]) -> tuple[Additive, ...]:
        return tuple(self.prices.measurement(self.prices.total * share) for share in shares)

    @property
    def norms(self) -> Norms:
        """How far one person moves what is measured of a level, or by the factorisation."""
        if not self.prices.is_quadratic:
            return self.prices.norms
        return factorization_norms(self.rows, substitute=self.policy.relation == "substitute")

    def check(self) -> None:
        """Raise `ParameterError` for what is not offered together, and where the spend is too small for any noise."""
        if self.data_aware and self.prices.is_quadratic:
            raise ParameterError("a histogram that is aware of the data spends a pure ε; spend dp.pure(...)")
        if self.data_aware and self.merged.cells < _FEWEST_CELLS:
            raise ParameterError(f"a private partition is of {_FEWEST_CELLS} cells or more; use data_aware=False")
        mechanisms = (*self.mechanisms, self.first, *self.tree_noise) if self.data_aware else self.mechanisms
        if max(mechanism.std for mechanism in mechanisms) > _MOST_DEVIATION * (1 + self.prices.is_quadratic * 2**15):
            raise ParameterError("the spend is so small that noise would hide any table; spend more")
        if self.prices.is_quadratic:
            _ = self.factorization

    def answer(self, context: ReleaseContext) -> Histogram:
        """Count, and add noise. Its loss is charged."""
        context.step(0, 1)
        (counted,) = context.count_marginals(Marginals(self.bounded, ((0,),)), noise.secret(16))
        counts = np.add.reduceat(np.asarray(counted, np.int64).ravel()[: self.column.valued], self.workload.starts)
        purse = Purse(self.prices)
        if self.prices.is_quadratic:
            (mechanism,) = self.mechanisms
            purse.pay(mechanism.loss(self.norms))
            exact = self.factorization.measured(counts)
            return self._released(
                (Measured("strategy", mechanism, tuple(mechanism.release(exact))),), (), None, context
            )
        if not self.data_aware:
            return self._released(self._levels(counts, self.widths, self.mechanisms, purse), self.widths, None, context)
        return self._aware(counts, purse, context)

    def _levels(
        self, counts: NDArray[np.int64], widths: Sequence[int], mechanisms: Sequence[Additive], purse: Purse
    ) -> tuple[Measured, ...]:
        sums = nested(len(counts), widths).sums(counts)[1:]
        return tuple(
            self._measure(f"{BLOCKS}{width}", exact, mechanism, purse)
            for width, exact, mechanism in zip(widths, sums, mechanisms, strict=True)
        )

    def _measure(self, part: str, exact: NDArray[np.int64], mechanism: Additive, purse: Purse) -> Measured:
        purse.pay(mechanism.loss(self.norms))
        return Measured(part, mechanism, tuple(mechanism.release(exact.tolist())))

    def _aware(self, counts: NDArray[np.int64], purse: Purse, context: ReleaseContext) -> Histogram:
        """Measure the first blocks; then a tree of all cells, or levels and the partition that follows from them."""
        wide = self.widths[0]
        blocks = np.add.reduceat(counts, np.arange(0, len(counts), wide))
        first = self._measure(f"{FIRST_BLOCKS}{wide}", blocks, self.first, purse)
        if is_spread(first):
            widths = self.tree.widths
            return self._released((first, *self._levels(counts, widths, self.tree_noise, purse)), widths, None, context)
        levels = self._levels(counts, self.widths, self.mechanisms, purse)
        rest = self.prices.total * REST_SHARE
        partition = self.partition(first, levels)
        shares = dict(zip(PARTITIONED, (Fraction(1), UNIT_SHARE, 1 - UNIT_SHARE), strict=True))
        by_part = {part: self.prices.measurement(rest * share) for part, share in shares.items()}
        losses = [(part, mechanism.loss(self.norms)) for part, mechanism in by_part.items()]
        purse.pay(self.prices.budget(parts_cost(losses, self.prices.currency)))
        split = np.array(partition.split)
        segments, buckets = partition.segment_sums(counts), partition.bucket_sums(counts)
        exact = (segments[~split], segments[split], buckets[split[partition.segments]])
        parts = tuple(
            Measured(part, mechanism, tuple(mechanism.release(sums.tolist())) if len(sums) else ())
            for (part, mechanism), sums in zip(by_part.items(), exact, strict=True)
        )
        return self._released((first, *levels, *parts), self.widths, partition, context)

    def partition(self, first: Measured, levels: Sequence[Measured]) -> Partition:
        """The partition that follows from the noisy counts of the first levels, and from nothing else."""
        rest = self.prices.measurement(self.prices.total * REST_SHARE)
        return partition_by(first, levels, self.merged.cells, self.widths, rest)

    def _released(
        self,
        measured: tuple[Measured, ...],
        widths: tuple[int, ...],
        partition: Partition | None,
        context: ReleaseContext,
    ) -> Histogram:
        bare = Histogram(self.column, self.workload, widths, partition, measured, (), self.loss, {}).with_values()
        table = self.bounded.tables[0]
        statement = {
            **self.stated,
            "unit": self.policy.unit(table).name or "rows",
            "rows_per_unit": self.rows,
            "table": table,
            "column": self.column.name,
            "cells": self.workload.cells,
            "workload": self.workload.kind,
            "data_aware": self.data_aware,
            "currency": self.prices.currency,
            **({"runs": _runs(self.merged)} if self.prices.is_quadratic else {}),
            "measured": [each.stated for each in measured],
            "answer": bare.digest(),
        }
        return bare.certified(context.certify(statement))

    def read(self, payload: bytes) -> Histogram:
        """Restore a stored histogram. Raises `LedgerError` if the bytes are none."""
        return Histogram.from_bytes(payload)
