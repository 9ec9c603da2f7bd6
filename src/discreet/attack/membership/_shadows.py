"""Shadow models: models of the attacker's own on random halves of the people, to see how each person moves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.elapsed import report_step
from discreet.errors import ParameterError
from discreet.noise import permutation

__all__ = ["Shadows", "confidences", "train_shadows"]

_EDGE = 1e-3
_Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Shadows:
    """How confident each shadow model is of each person's label, and whether the person was in its training.

    Attributes
    ----------
    logits
        A row for each shadow model, a column for each person.
    was_in
        Of the same shape.
    """

    logits: _Floats
    was_in: NDArray[np.bool_]


def confidences(model: Any, rows: Any, labels: NDArray[Any]) -> _Floats:
    """The logit of the probability that a model gives to each row's label.

    A model is a classifier with `predict_proba`, or a function from rows to a probability for each of the sorted
    labels. Raises `ParameterError` for another, and labels that it has not.
    """
    classes = getattr(model, "classes_", None)
    given: Any = model.predict_proba(rows) if hasattr(model, "predict_proba") else model(rows)
    shares = np.asarray(given, np.float64)
    listed = np.unique(labels) if classes is None else np.asarray(classes)
    if shares.ndim != 2 or shares.shape != (len(labels), len(listed)):
        raise ParameterError(
            f"a model gives a probability for each of {len(listed)} labels and {len(labels)} rows, got {shares.shape}"
        )
    place = np.searchsorted(listed, labels)
    if not (listed[np.minimum(place, len(listed) - 1)] == labels).all():
        raise ParameterError("some labels are not among the model's classes")
    own = np.clip(shares[np.arange(len(labels)), place], _EDGE, 1 - _EDGE)
    return np.log(own) - np.log1p(-own)


def train_shadows(
    train: Callable[[Any, NDArray[Any]], Any], rows: NDArray[Any], labels: NDArray[Any], count: int
) -> Shadows:
    """Train models on random halves of people; each person is in half of them, and in half of any two neighbours.

    Halves come in pairs, one what the other is not: so nobody is in all or none of them.
    """
    if count < 2 or count % 2:
        raise ParameterError(f"shadows is an even number of models, 2 or more, not {count!r}")
    people = len(labels)
    logits, was_in = np.zeros((count, people)), np.zeros((count, people), bool)
    for i in range(count):
        if i % 2:
            was_in[i] = ~was_in[i - 1]
        else:
            was_in[i, permutation(people)[: people // 2]] = True
        logits[i] = confidences(train(rows[was_in[i]], labels[was_in[i]]), rows, labels)
        report_step(i + 1, count)
    return Shadows(logits, was_in)
