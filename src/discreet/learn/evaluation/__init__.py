"""How well a model predicts private rows, bought like any other answer."""

from __future__ import annotations

from discreet.learn.evaluation._accuracy import AccuracyByEpsilon, PublicRows, accuracy_by_epsilon
from discreet.learn.evaluation._kind import EVALUATION_KIND
from discreet.learn.evaluation._predictor import predictor_of
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
    "predictor_of",
]


def evaluate(
    model: object, records: Records, spend: Loss, *, net: object = None, idempotency_key: str | None = None
) -> Evaluation:
    """How well a model predicts the label of private rows, charged to their session's ledger.

    Nothing else tells about private rows: the score of an estimator is for rows that are not private.

    Parameters
    ----------
    model
        A `Model`, an estimator that was fitted, or a `Network` that was trained on records.
    records
        Of `Session.records`, with the columns and the label that the model was trained on.
    spend
        What it costs: ε, (ε, δ), ρ or μ.
    net
        For a `Network` the module that it was trained in, whose code is in no release: an output for each class, or one
        number. A copy of it runs with the weights of the release, in eval mode, on the CPU.
    idempotency_key
        As in `Session.answer`.

    Raises `ParameterError` for rows that are not what the model reads, for a module of another architecture or in which
    rows meet, and as `Session.answer` does. Source: ``proofs/learning_evaluation.md``.
    """
    question = Evaluate(predictor_of(model, net), records.plan, records.label, spend)
    return records.session.answer(question, idempotency_key=idempotency_key)
