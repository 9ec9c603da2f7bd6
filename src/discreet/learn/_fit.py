"""Fitting a model as a question: checked under public terms, charged once, then measured step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet import noise
from discreet.errors import ParameterError
from discreet.learn._examples import Examples, examples_of_records, inputs_of_plan, rows_asked
from discreet.learn._inputs import Inputs
from discreet.learn._model import Model
from discreet.learn._steps import Measurer, steps_to_json
from discreet.learn.algorithms import Algorithm
from discreet.learn.selection import Tries
from discreet.policy import Policy
from discreet.prices import Prices, check_spend
from discreet.privacy import Loss, Relation, currency, to_json
from discreet.query import Feature, RecordPlan
from discreet.release import Certify, PreparedQuestion, ReleaseContext, Terms, check_cancelled

__all__ = ["Fit", "PreparedFit", "fit_examples"]

_TICKS = 100


@dataclass(frozen=True)
class Fit:
    """A model by an algorithm, for a spend: a question that `discreet.Session.answer` takes.

    Attributes
    ----------
    plan, label
        Which rows, and which of their columns is predicted (None: none), as `Session.records` has them.
    algorithm
        How the model is learnt.
    spend
        What is charged.
    """

    plan: RecordPlan
    label: Feature | None
    algorithm: Algorithm
    spend: Loss

    def prepare(self, terms: Terms) -> PreparedFit:
        """Check it under public terms. Raises `ParameterError` for what cannot be fitted, `QueryError` for the rows."""
        plan = self.plan
        inputs = inputs_of_plan(plan, self.label)
        bounded = plan.rows.bounded
        terms.accept(bounded)
        task = self.algorithm.task
        if task in ("classification", "regression") and self.label is None:
            raise ParameterError("the records have no label to predict: name one, as in records(query, label=…)")
        core = _Core(self.algorithm, inputs, self.spend, bounded.max_rows, terms.policy.relation)
        core.rehearse()
        return PreparedFit(plan, self.label, core, terms.policy, bounded.unit or "rows", self.spend)


@dataclass(frozen=True)
class _Core:
    """What is the same of a fit on a ledger and of one in memory."""

    algorithm: Algorithm
    inputs: Inputs
    spend: Loss
    rows_per_unit: int
    relation: Relation

    def __post_init__(self) -> None:
        self.algorithm.check(self.inputs)
        prices = self.prices
        if prices.currency not in self.algorithm.allowed():
            raise ParameterError(
                f"{self.algorithm.name} adds Gaussian noise, which has no pure ε: spend (ε, δ), ρ or μ, or use a "
                "decision tree, a random forest or naive Bayes"
            )

    @property
    def prices(self) -> Prices:
        """What all steps may spend, or those of each try."""
        return self.budget[0]

    @cached_property
    def budget(self) -> tuple[Prices, Tries | None]:
        check_spend(self.spend)
        currency(self.spend)
        return self.algorithm.budget(self.spend)

    def measurer(self, report: Callable[[Fraction], None]) -> Measurer:
        """A measurer that has spent nothing yet."""
        norms = partial(self.algorithm.row_norms, self.inputs)
        return Measurer(self.prices, self.rows_per_unit, self.relation, norms, report, tries=self.budget[1])

    def rehearse(self) -> None:
        """Fit a model of no rows. Raises `ParameterError` for a spend that buys nothing, or whose noise no step has."""
        inputs = self.inputs
        numbers, cells = (np.zeros((0, len(each)), np.int32) for each in (inputs.numbers, inputs.categories))
        nobody = Examples(inputs, numbers, cells, np.zeros(0, np.int32))
        measurer = self.measurer(lambda share: None)  # noqa: ARG005 - as it is called
        self.algorithm.rehearse(nobody, measurer)
        if measurer.tries is None and not measurer.steps:
            raise ParameterError(
                f"{self.algorithm.name} asks nothing of rows here, for all of it is public: spend nothing on it"
            )

    def fitted(
        self, examples: Examples, context: ReleaseContext | None, certify: Certify, statement: Mapping[str, Any]
    ) -> Model:
        algorithm, tries = self.algorithm, self.budget[1]

        def report(share: Fraction) -> None:
            if tries is not None:  # progress would say how many there are
                check_cancelled()
            elif context is not None:
                context.step(int(share * _TICKS), _TICKS)

        measurer = self.measurer(report)
        parameters = algorithm.fit(examples, measurer)
        algorithm.check_parameters(self.inputs, parameters)
        bare = Model(algorithm, self.inputs, parameters, self.spend, {})
        certificate = certify(
            {
                "kind": "model",
                **statement,
                "algorithm": algorithm.to_json(),
                "inputs": self.inputs.to_json(),
                "relation": self.relation,
                "rows_per_unit": self.rows_per_unit,
                "loss": to_json(self.spend),
                "currency": self.prices.currency,
                "steps": steps_to_json(measurer.steps),
                **({} if tries is None else {"one_try": str(self.prices.total)}),
                "answer": bare.digest(),
            }
        )
        return Model(algorithm, self.inputs, parameters, self.spend, certificate)


@dataclass(frozen=True)
class PreparedFit(PreparedQuestion):
    """A fit that was checked; see `discreet.release.Prepared`."""

    kind = "model"

    plan: RecordPlan
    label: Feature | None
    core: _Core
    policy: Policy
    unit: str
    loss: Loss

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            **rows_asked(self.plan, self.label),
            "algorithm": self.core.algorithm.to_json(),
        }

    def answer(self, context: ReleaseContext) -> Model:
        """Read the rows and fit. Its loss is charged."""
        context.step(0, _TICKS)
        plan = self.plan
        rows = context.read_records(plan.rows, noise.secret(16))
        examples = examples_of_records(plan, self.label, self.core.inputs, rows)
        statement = {**self.stated, "query": plan.sql, "unit": self.unit}
        return self.core.fitted(examples, context, context.certify, statement)

    def read(self, payload: bytes) -> Model:
        """Restore a stored model. Raises `LedgerError` if the bytes are none."""
        return Model.from_bytes(payload)


def fit_examples(examples: Examples, algorithm: Algorithm, spend: Loss) -> Model:
    """A model of rows in memory, each another person, under add/remove neighbours: **nobody is charged**.

    Its certificate is not signed and names no ledger. Raises `ParameterError` as `Fit` does.
    """
    core = _Core(algorithm, examples.inputs, spend, 1, "add_remove")
    return core.fitted(examples, None, dict, {"unit": "rows"})
