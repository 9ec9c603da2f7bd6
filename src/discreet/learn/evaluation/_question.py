"""How well a model predicts private rows: counts of right and wrong predictions, charged, with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError
from discreet.learn._examples import Examples, examples_of_records, inputs_of_plan, rows_asked
from discreet.learn._inputs import LEVELS, Inputs
from discreet.learn._model import Model
from discreet.learn._steps import RowNorms
from discreet.learn.evaluation._predictor import Predictor, predictor_of
from discreet.learn.evaluation._release import Evaluation
from discreet.policy import Policy
from discreet.prices import Additive, Prices, additive_to_json, check_spend
from discreet.privacy import Loss, currency
from discreet.query import Feature, RecordPlan
from discreet.release import PreparedQuestion, ReleaseContext, Terms
from discreet.sensitivity import Norms

__all__ = ["Evaluate", "PreparedEvaluation", "evaluation_norms", "exact_counts"]

ERRORS = 3
"""What is summed of a number: a whole for each row, how far off it is, and its square, each in `LEVELS` parts."""


@dataclass(frozen=True)
class Evaluate:
    """How well a model predicts the label of some records: a question that `discreet.Session.answer` takes."""

    model: Model | Predictor
    plan: RecordPlan
    label: Feature | None
    spend: Loss

    @property
    def predictor(self) -> Predictor:
        """What predicts. Raises `ParameterError` for a model that predicts no label."""
        return predictor_of(self.model) if isinstance(self.model, Model) else self.model

    def prepare(self, terms: Terms) -> PreparedEvaluation:
        """Check it under public terms. Raises `ParameterError` for rows that are not what the model reads."""
        terms.accept(self.plan.rows.bounded)
        predictor = self.predictor
        check_spend(self.spend)
        inputs = inputs_of_plan(self.plan, self.label)
        if inputs != predictor.inputs:
            raise ParameterError(
                "these records are not what the model reads and predicts: give the columns that it was trained on with "
                "the same bounds and values, and the same label"
            )
        currency(self.spend)
        bounded = self.plan.rows.bounded
        norms = evaluation_norms(inputs).of_unit(bounded.max_rows, terms.policy.relation)
        prices = replace(Prices.of_spend(self.spend, Norms(1, 1)), norms=norms)
        return PreparedEvaluation(self, terms.policy, prices.measurement(prices.total), prices.currency, self.spend)


@dataclass(frozen=True)
class PreparedEvaluation(PreparedQuestion):
    """An evaluation that was checked; see `discreet.release.Prepared`."""

    kind = "evaluation"

    question: Evaluate
    policy: Policy
    mechanism: Additive
    currency: str
    loss: Loss

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        question = self.question
        return {**rows_asked(question.plan, question.label), "model": question.model.digest()}

    def answer(self, context: ReleaseContext) -> Evaluation:
        """Read the rows, predict each, and count. Its loss is charged."""
        context.step(0, 1)
        plan, label, predictor = self.question.plan, self.question.label, self.question.predictor
        rows = context.read_records(plan.rows, noise.secret(16))
        exact = exact_counts(predictor, examples_of_records(plan, label, predictor.inputs, rows))
        target = predictor.inputs.target
        assert target is not None
        noisy = tuple(map(int, self.mechanism.release(exact)))
        bare = Evaluation(predictor.digest(), target, noisy, self.mechanism, self.loss, {})
        bounded = plan.rows.bounded
        statement: Mapping[str, Any] = {
            **self.public,
            **self.stated,
            "unit": bounded.unit or "rows",
            "rows_per_unit": bounded.max_rows,
            "currency": self.currency,
            "target": target.to_json(),
            "noise": additive_to_json(self.mechanism),
            "answer": bare.digest(),
        }
        return replace(bare, certificate=context.certify(statement))

    def read(self, payload: bytes) -> Evaluation:
        """Restore a stored evaluation. Raises `LedgerError` if the bytes are none."""
        return Evaluation.from_bytes(payload)


def evaluation_norms(inputs: Inputs) -> RowNorms:
    """How much one row adds: to one cell of predicted and actual classes, or to each of the `ERRORS` sums."""
    if inputs.target is not None and inputs.target.is_number:
        return RowNorms(ERRORS * LEVELS, ERRORS * LEVELS**2)
    return RowNorms(1, 1)


def exact_counts(predictor: Predictor, examples: Examples) -> NDArray[np.int64]:
    """What is counted, before noise: each row adds its own, whatever the others are."""
    target = predictor.inputs.target
    assert target is not None
    predicted, actual = predictor.predicted(examples), examples.target.astype(np.int64)
    if not target.is_number:
        cells = predicted.astype(np.int64) * target.size + actual
        return np.bincount(cells, minlength=target.size**2).astype(np.int64)
    off = np.minimum(np.abs(target.levels(predicted).astype(np.int64) - actual), LEVELS)
    return np.array([LEVELS * len(off), off.sum(), (off * off // LEVELS).sum()], np.int64)
