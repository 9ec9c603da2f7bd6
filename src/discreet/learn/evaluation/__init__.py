"""How well a model predicts private rows, bought like any other answer."""

from __future__ import annotations

from discreet.errors import ParameterError
from discreet.learn._model import Model
from discreet.learn.evaluation._accuracy import AccuracyByEpsilon, PublicRows, accuracy_by_epsilon
from discreet.learn.evaluation._kind import EVALUATION_KIND
from discreet.learn.evaluation._question import Evaluate
from discreet.learn.evaluation._release import Evaluation
from discreet.privacy import Loss
from discreet.records import Records

__all__ = [
    "EVALUATION_KIND",
    "AccuracyByEpsilon",
    "Evaluate",
    "Evaluation",
    "PublicRows",
    "accuracy_by_epsilon",
    "evaluate",
]


def evaluate(model: object, records: Records, spend: Loss, *, idempotency_key: str | None = None) -> Evaluation:
    """How well a model predicts the label of private rows, charged to their session's ledger.

    Nothing else tells about private rows: the score of an estimator is for rows that are not private.

    Parameters
    ----------
    model
        A `Model`, or an estimator that was fitted.
    records
        Of `Session.records`, with the columns and the label that the model was trained on.
    spend
        What it costs: ε, (ε, δ), ρ or μ.
    idempotency_key
        As in `Session.answer`.

    Raises `ParameterError` for rows that are not what the model reads, and as `Session.answer` does.
    Source: ``proofs/learning_evaluation.md``.
    """
    fitted = getattr(model, "model_", model)
    if not isinstance(fitted, Model):
        raise ParameterError(f"evaluate takes a model or a fitted estimator, not {type(model).__name__}")
    return records.session.answer(Evaluate(fitted, records.plan, records.label, spend), idempotency_key=idempotency_key)
