"""Accuracy by ε: how right models of different price are, on private rows that were paid for or on public ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.charts import Accuracy, accuracy_chart, load_altair
from discreet.errors import ParameterError
from discreet.learn._model import Model
from discreet.learn.evaluation._release import Evaluation
from discreet.privacy import Loss, budget_of
from discreet.rational import Number
from discreet.records import Records

__all__ = ["AccuracyByEpsilon", "PublicRows", "accuracy_by_epsilon"]

_PRIVATE, _PUBLIC = "private rows, paid for", "public rows"


@dataclass(frozen=True)
class PublicRows:
    """Rows that are nobody's secret, and what is right of each: a test set that may be shown to anyone.

    Attributes
    ----------
    rows
        A frame or a matrix, as `Model.predict` takes it.
    labels
        The class of each row.
    """

    rows: Any
    labels: Sequence[Any]


@dataclass(frozen=True)
class AccuracyByEpsilon:
    """The accuracy of models by the ε that they cost, with intervals at `level`. Made by `accuracy_by_epsilon`."""

    target: str
    points: tuple[Accuracy, ...]
    level: float

    def to_arrow(self) -> pa.Table:
        """A row for each model: its ε, its accuracy, the ends of the interval, and on which rows."""
        names = ("epsilon", "estimate", "low", "high", "rows")
        return pa.table({name: [getattr(each, name) for each in self.points] for name in names})

    def plot(self) -> Any:
        """It as an altair chart, which a notebook shows and ``.save`` writes. Raises `MissingExtra` without altair."""
        return load_altair().Chart.from_dict(self.to_vega_lite())

    def to_vega_lite(self) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        notes = [f"{100 * self.level:.10g} % intervals", *dict.fromkeys(each.rows for each in self.points)]
        return accuracy_chart(self.points, f"Accuracy of {self.target} by ε", notes)


def accuracy_by_epsilon(
    measured: Iterable[tuple[object, Evaluation | PublicRows]], *, delta: Number | None = None, level: float = 0.95
) -> AccuracyByEpsilon:
    """How right classifiers are by the ε that each cost. Costs nothing: nothing here asks private rows.

    Parameters
    ----------
    measured
        Pairs of a classifier, a `Model` or a fitted estimator, and of what says how right it is: an `Evaluation` by
        `evaluate`, which was paid for, or `PublicRows`.
    delta
        At which δ losses are read as ε; it may be left out where all of them are stated as ε, or as ε and δ.
    level
        The confidence of the intervals: of the noise for private rows, which are all there are; for public rows of
        Wilson, as if they were drawn at random.

    Raises `ParameterError` for records, which have to be paid for, for an evaluation of another model, and for models
    that predict no class or not the same target.
    """
    if not 0 < level < 1:
        raise ParameterError(f"level must be between 0 and 1, both excluded, got {level!r}")
    points: list[Accuracy] = []
    targets: dict[str, None] = {}
    for given, answer in measured:
        model = given if isinstance(given, Model) else getattr(given, "model_", None)
        if not isinstance(model, Model):
            raise ParameterError(f"a model is a Model or a fitted estimator, not {type(given).__name__}")
        if model.algorithm.task != "classification" or model.inputs.target is None:
            raise ParameterError(f"a model by {model.algorithm.name} has no classes, and so no accuracy")
        targets[model.inputs.target.name] = None
        points.append(_point(model, answer, _epsilon(model.loss, delta), level))
    if len(targets) != 1:
        raise ParameterError("give models that predict the same target, one or more")
    return AccuracyByEpsilon(next(iter(targets)), tuple(sorted(points, key=lambda each: each.epsilon)), level)


def _epsilon(loss: Loss, delta: Number | None) -> float:
    if delta is not None:
        return float(loss.epsilon(delta=delta))
    currency, parts = budget_of(loss)
    if currency not in ("pure", "approx"):
        raise ParameterError("a loss in ρ or μ has an ε for each δ: say which, as in delta=1e-6")
    return float(parts[0])


def _point(model: Model, answer: object, epsilon: float, level: float) -> Accuracy:
    if isinstance(answer, Evaluation):
        if answer.model != model.digest():
            raise ParameterError("an evaluation is of another model than the one beside it")
        estimate, error = answer.estimate("accuracy"), answer.error("accuracy", level)
        return Accuracy(epsilon, estimate, max(estimate - error, 0.0), min(estimate + error, 1.0), _PRIVATE)
    if isinstance(answer, PublicRows):
        labels = list(answer.labels)
        predicted = model.predict(answer.rows)
        if len(labels) != len(predicted) or not labels:
            raise ParameterError(f"there are {len(predicted)} public rows and {len(labels)} labels")
        right = int(np.sum([each == label for each, label in zip(predicted, labels, strict=True)]))
        low, high = _wilson(right, len(labels), level)
        return Accuracy(epsilon, right / len(labels), low, high, _PUBLIC)
    if isinstance(answer, Records):
        raise ParameterError("accuracy on records is bought: give learn.evaluate(model, records, spend=…)")
    raise ParameterError(f"give an Evaluation, or PublicRows(rows, labels), not {type(answer).__name__}")


def _wilson(right: int, rows: int, level: float) -> tuple[float, float]:
    """The interval of Wilson 1927 for a share.

    >>> [round(end, 3) for end in _wilson(8, 10, 0.95)]
    [0.49, 0.943]
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    share = right / rows
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return max(middle - half, 0.0), min(middle + half, 1.0)
