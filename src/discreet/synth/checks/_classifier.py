"""A classifier that is a points score: whole-number points for each cell of a row, from synthetic rows alone.

Logistic regression on which cell a row is in, of every column but the target's, with a quadratic penalty; its weights
are rounded to hundredths. Source: Hastie, Tibshirani and Friedman 2009, section 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.marginals import ColumnCells, Numbers
from discreet.synth._columns import column_named

__all__ = ["Classifier", "Target", "target_of", "train"]

_POINTS = 100
_RANGES = 32
_PENALTY = 1.0
_OPTIONS = {"maxiter": 100, "ftol": 1e-7}
_LEARNT_ROWS = 2**15
_STEEPEST = 30.0

Target = str | Mapping[str, object]
"""A column of two values, or a column and the value that is to be recognised."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """Points for each cell of each column (None for the target), and where ranges of their sum begin.

    A row is taken to be `positive`, a cell of the column at `target`, if it is in the range at `threshold` or beyond.
    """

    target: int
    positive: int
    points: tuple[tuple[int, ...] | None, ...]
    ends: tuple[int, ...]
    threshold: int


def target_of(columns: Sequence[ColumnCells], target: Target) -> tuple[int, int]:
    """The position of a target column, and of the cell that is to be recognised.

    Raises `QueryError` for a column that is not there, `ParameterError` for one that has not two values.
    """
    if isinstance(target, str):
        place = column_named(columns, target, "the synthetic table")
        if columns[place].valued != 2:
            raise ParameterError(
                f"{columns[place].name} has {columns[place].valued} values; say which of them is to be recognised, "
                f"as in target={{{columns[place].name!r}: {columns[place].text(0)!r}}}"
            )
        return place, 1
    if not isinstance(target, Mapping) or len(target) != 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("a target is the name of a column, or a column and one of its values: {'income': '>50K'}")
    [(name, value)] = target.items()
    place = column_named(columns, name, "the synthetic table")
    cell = columns[place].cell(value)
    if cell is None or cell == columns[place].valued:
        raise ParameterError(f"{columns[place].name} has no value {value!r}; name one that it can have")
    return place, cell


def train(columns: Sequence[ColumnCells], rows: Sequence[NDArray[np.int64]], target: int, positive: int) -> Classifier:
    """The points score of a target, by synthetic rows. Raises `ParameterError` if they all have one label."""
    from scipy.optimize import minimize

    rows = [column[:_LEARNT_ROWS] for column in rows]
    known = rows[target] != columns[target].valued
    labels = (rows[target][known] == positive).astype(np.float64)
    if len(columns) < 2 or not 0 < labels.sum() < len(labels):
        raise ParameterError(
            f"all synthetic rows have one label for {columns[target].name}: nothing can be learnt; take another target"
        )
    others = [i for i in range(len(columns)) if i != target]
    starts = np.cumsum([0, *(columns[i].size for i in others)])
    every = np.stack([rows[i][known] + start for i, start in zip(others, starts, strict=False)])
    places, inverse = np.unique(every, axis=1, return_inverse=True)
    number, right = np.bincount(inverse.ravel()), np.bincount(inverse.ravel(), weights=labels)

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        margins = weights[places].sum(axis=0) + weights[-1]
        share = 1 / (1 + np.exp(-np.clip(margins, -_STEEPEST, _STEEPEST)))
        value = number @ np.logaddexp(0, margins) - right @ margins + _PENALTY / 2 * weights[:-1] @ weights[:-1]
        error = number * share - right
        pulls = [np.bincount(each, weights=error, minlength=starts[-1]) for each in places]
        return float(value), np.append(sum(pulls) + _PENALTY * weights[:-1], error.sum())

    optimum = minimize(loss, np.zeros(starts[-1] + 1), jac=True, method="L-BFGS-B", options=_OPTIONS)
    weights = np.rint(_POINTS * np.clip(optimum.x, -_STEEPEST, _STEEPEST)).astype(int)
    points: list[tuple[int, ...] | None] = [None] * len(columns)
    for i, start in zip(others, starts.tolist(), strict=False):
        points[i] = tuple(weights[start : start + columns[i].size].tolist())
    scores = weights[every].sum(axis=0)
    cut = int(-weights[-1])
    quantiles = np.quantile(scores, np.arange(1, _RANGES) / _RANGES, method="nearest").astype(int)
    ends = tuple(sorted({cut, *quantiles.tolist()}))
    return Classifier(target, positive, tuple(points), ends, ends.index(cut) + 1)
