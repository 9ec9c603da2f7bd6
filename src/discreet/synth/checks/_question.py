"""A check of a synthetic table as a question: what is asked of the private rows, charged once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells, Numbers, cells, private_table
from discreet.policy import Column, Policy
from discreet.prices import Additive, Prices, Purse, additive_to_json, check_spend
from discreet.privacy import Loss
from discreet.query import BoundedAggregate, Field, Marginals, coded_rows, scored_rows
from discreet.release import PreparedQuestion, ReleaseContext, Terms
from discreet.synth._scores import distance
from discreet.synth._table import SyntheticTable
from discreet.synth.checks._classifier import Classifier, Target, target_of, train
from discreet.synth.checks._norms import count_norms, distance_norms, score_norms
from discreet.synth.checks._release import Distance, Scores, SyntheticCheck, limits_of
from discreet.synth.checks._rows import CHECKED_ROWS, checked_rows, chosen_sets, shares_of

__all__ = ["CheckTable", "PreparedCheck"]

_FINEST, _MOST_PARTS = 16, 42
_PARTS = {"rows": 2, "distance": 1, "scores": 2}
"""How the spend is shared: the number of rows is part of every answer."""


@dataclass(frozen=True)
class CheckTable:
    """How far a synthetic table is from the private rows; see `discreet.synth.check`."""

    table: SyntheticTable
    spend: Loss
    target: Target | None = None
    accept: Mapping[str, float] = field(default_factory=dict[str, float])

    def prepare(self, terms: Terms) -> PreparedCheck:
        """Check it under public terms. Raises `QueryError` for what cannot be asked, `ParameterError` for the rest."""
        if not isinstance(self.table, SyntheticTable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("check a synthetic table, as discreet.synth.fit gives it")
        check_spend(self.spend)
        policy, columns = terms.policy, self.table.columns
        name, declared = private_table(policy, self.table.table)
        for column in columns:
            _check_column(name, column, declared.columns)
        sample, classifier = checked_rows(self.table), None
        if self.target is not None:
            place, cell = target_of(columns, self.target)
            classifier = train(columns, sample, place, cell)
        limits = limits_of(self.accept, has_scores=classifier is not None, widths=min(len(columns), 3))
        bounded = coded_rows(policy, name, {each.name: each.coded for each in columns})
        if classifier is not None:
            bounded = scored_rows(bounded, classifier.points, classifier.ends)
        terms.accept(bounded)
        rows, relation = declared.rows_per_unit, policy.relation
        prices = Prices.of_spend(self.spend, score_norms(rows, relation))
        prepared = PreparedCheck(
            table=self.table, sample=sample, name=name, bounded=bounded, prices=prices, classifier=classifier,
            limits=limits, loss=self.spend, policy=policy, rows_per_unit=rows,
        )  # fmt: skip
        prepared.check_noise()
        return prepared


def _check_column(table: str, column: ColumnCells, declared: Mapping[str, Column]) -> None:
    stated = declared.get(column.name)
    if stated is None or not _is_same(column, stated):
        raise QueryError(
            f"{table}.{column.name} is not the column that the synthetic table was fitted to; its type, keys, bounds "
            "and nulls must be those of this policy: check it under the policy that it was fitted under, or fit again"
        )


def _is_same(column: ColumnCells, stated: Column) -> bool:
    """Whether the policy has the values of a column; of text without listed keys those that were discovered count."""
    if (stated.type, stated.nullable) != (column.type, column.nullable):
        return False
    if column.keys is not None:
        has_others = stated.keys is None and stated.type in ("bool", "string")
        return stated.keys == column.keys or has_others
    return stated.keys is None and Field.from_column(stated).bounds == (column.lower, column.upper)


@dataclass(frozen=True)
class PreparedCheck(PreparedQuestion):
    """A check that was checked itself; see `discreet.release.Prepared`."""

    kind = "synthetic_check"

    table: SyntheticTable
    sample: Sequence[NDArray[np.int64]]
    name: str
    bounded: BoundedAggregate
    prices: Prices
    classifier: Classifier | None
    limits: Mapping[str, float]
    loss: Loss
    policy: Policy
    rows_per_unit: int

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the table that is checked."""
        return self.table.digest()

    @cached_property
    def sets(self) -> Mapping[int, tuple[tuple[tuple[int, ...], ...], int]]:
        """The marginals that are compared, by their number of columns."""
        return chosen_sets([column.size for column in self.table.columns], self.digest)

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        classifier = self.classifier
        return {
            "table": self.name,
            "synthetic": self.digest,
            "target": None if classifier is None else [classifier.target, classifier.positive],
        }

    def _share(self, what: str) -> Fraction:
        parts = _PARTS["rows"] + len(self.sets) * _PARTS["distance"]
        parts += 0 if self.classifier is None else _PARTS["scores"]
        return self.prices.total * Fraction(_PARTS[what], parts)

    def _noise(self, what: str, sets: int = 1, grid: int = 1) -> Additive:
        relation, rows = self.policy.relation, self.rows_per_unit
        norms = {
            "rows": count_norms(rows, relation),
            "distance": distance_norms(rows, relation, sets, grid),
            "scores": score_norms(rows, relation),
        }[what]
        return replace(self.prices, norms=norms).measurement(self._share(what))

    def check_noise(self) -> None:
        """Raise `ParameterError` where the spend is too small."""
        try:
            self._noise("rows")
            for sets, _ in self.sets.values():
                self._noise("distance", len(sets), 2**_FINEST)
            if self.classifier is not None:
                self._noise("scores")
        except ParameterError as error:
            raise ParameterError(f"the spend does not suit a check: {error}") from None

    def answer(self, context: ReleaseContext) -> SyntheticCheck:
        """Count all marginals in one pass, and add noise to what is asked of them. Its loss is charged."""
        context.step(0, 2)
        classifier, columns, purse = self.classifier, self.table.columns, Purse(self.prices)
        sets = [each for listed, _ in self.sets.values() for each in listed]
        scored = [] if classifier is None else [(classifier.target, len(columns))]
        total, *counts = context.count_marginals(Marginals(self.bounded, ((), *sets, *scored)), noise.secret(16))
        context.step(1, 2)
        mechanism = self._noise("rows")
        purse.pay(mechanism.loss(count_norms(self.rows_per_unit, self.policy.relation)))
        rows = int(mechanism.release(int(total)))
        grid = _grid(rows)
        steps: list[dict[str, Any]] = [{"rows": self.name, **additive_to_json(mechanism)}]
        sizes = [column.size for column in columns]
        counted, distances = iter(counts), list[Distance]()
        for width, (listed, count) in self.sets.items():
            gaps = [_gap(next(counted), rows, grid, shares_of(self.sample, sizes, each)) for each in listed]
            each = self._noise("distance", len(listed), grid)
            purse.pay(each.loss(distance_norms(self.rows_per_unit, self.policy.relation, len(listed), grid)))
            held = sum(cells(sizes, clique) for clique in listed)
            distances.append(Distance(width, len(listed), count, held, grid, int(each.release(sum(gaps))), each))
            steps.append({"distance": width, "sets": len(listed), "grid": grid, **additive_to_json(each)})
        scores = None
        if classifier is not None:
            scores = self._scores(classifier, next(counted), purse)
            steps.append({"scores": len(scores.counts), **additive_to_json(scores.mechanism)})
        bare = SyntheticCheck(
            table=self.name, synthetic=self.digest, rows=rows, mechanism=mechanism, distances=tuple(distances),
            scores=scores, limits=self.limits, loss=self.loss, certificate={},
        )  # fmt: skip
        statement = {
            **self.stated,
            "table": self.name,
            "synthetic": self.digest,
            "compared_rows": CHECKED_ROWS,
            "unit": self.policy.unit(self.name).name or "rows",
            "rows_per_unit": self.rows_per_unit,
            "currency": self.prices.currency,
            "steps": steps,
            "answer": bare.digest(),
        }
        return replace(bare, certificate=context.certify(statement))

    def _scores(self, classifier: Classifier, counts: np.ndarray, purse: Purse) -> Scores:
        """The histogram of scores, of rows that are positive and of those with another value."""
        target = self.table.columns[classifier.target]
        others = [cell for cell in range(target.valued) if cell != classifier.positive]
        exact = [*counts[others].sum(axis=0).tolist(), *counts[classifier.positive].tolist()]
        mechanism = self._noise("scores")
        purse.pay(mechanism.loss(score_norms(self.rows_per_unit, self.policy.relation)))
        drawn = tuple(int(each) for each in mechanism.release(exact))
        name = f"{target.name} = {target.text(classifier.positive)}"
        return Scores(name, classifier.ends, classifier.threshold, drawn, mechanism)

    def read(self, payload: bytes) -> SyntheticCheck:
        """Restore a stored check, with the limits asked for now. Raises `LedgerError` if the bytes are none."""
        return replace(SyntheticCheck.from_bytes(payload), limits=self.limits)


def _grid(rows: int) -> int:
    """Into how many parts a row is cut: fine, and so that sums over tables of about `rows` rows stay exact."""
    return 2 ** max(0, min(_FINEST, _MOST_PARTS - math.ceil(math.log2(max(rows, 1)))))


def _gap(counts: np.ndarray, rows: int, grid: int, shares: Numbers) -> int:
    """The L1 distance of a marginal from so many synthetic rows, in parts of a row."""
    return distance(grid * counts, grid * max(rows, 0) * shares)
