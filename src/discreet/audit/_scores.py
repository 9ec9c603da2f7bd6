"""One number from many features: how much likelier an output looks on one input than on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audit._bins import Bins
from discreet.audit._columns import Columns, Floats
from discreet.audit._features import Feature

__all__ = ["Score", "fit_score"]

Computed = Sequence[tuple[Bins, NDArray[np.intp]]]

_ROUNDS = 12
_RIDGE = 1e-3
_PRIOR = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A weighted sum of the log-likelihood ratios of the places of single features, each from a table.

    Exact, up to what the tables miss, where the features are independent given the input.
    """

    features: tuple[Feature, ...]
    bins: tuple[Bins, ...]
    chosen: tuple[int, ...]
    tables: tuple[Floats, ...]

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"a learned score of {len(self.features)} features"

    @property
    def texts(self) -> None:
        """Its values are numbers."""

    def of_places(self, computed: Computed) -> Floats:
        """The score of outputs whose features are in these places."""
        return _total([computed[i][1] for i in self.chosen], self.tables)

    def compute(self, columns: Columns) -> Floats:
        """The score of outputs."""
        places = [bins.places(f.compute(columns)) for f, bins in zip(self.features, self.bins, strict=True)]
        return _total(places, self.tables)


def fit_score(
    features: Sequence[Feature],
    computed: Computed,
    is_other: NDArray[np.bool_],
    learning: NDArray[np.bool_],
    most: int,
) -> Score:
    """The tables from every other row in `learning`, the weights from the rest of it by logistic regression."""
    rows = np.flatnonzero(learning)
    first, second = rows[::2], rows[1::2]
    tables: list[Floats] = []
    worth: list[float] = []
    for bins, places in computed:
        seen = np.stack([np.bincount(places[first][is_other[first] == side], minlength=bins.count) for side in (0, 1)])
        share = (seen + _PRIOR) / (seen.sum(axis=1, keepdims=True) + _PRIOR * bins.count)
        table = np.log(share[0]) - np.log(share[1])
        tables.append(table)
        told = table[places[second]]
        worth.append(float(np.mean(told[~is_other[second]]) - np.mean(told[is_other[second]])) if len(second) else 0.0)
    chosen = tuple(sorted(np.argsort(-np.nan_to_num(np.array(worth)), kind="stable")[:most].tolist()))
    inputs = np.stack([tables[i][computed[i][1][second]] for i in chosen], axis=1)
    weights = _regression(inputs, ~is_other[second])
    scaled = tuple(tables[i] * weight for i, weight in zip(chosen, weights, strict=True))
    return Score(tuple(features[i] for i in chosen), tuple(computed[i][0] for i in chosen), chosen, scaled)


def _total(places: Sequence[NDArray[np.intp]], tables: Sequence[Floats]) -> Floats:
    total = np.zeros(len(places[0]))
    for place, table in zip(places, tables, strict=True):
        total += table[place]
    return np.round(total, 9)


def _regression(inputs: Floats, wanted: NDArray[np.bool_]) -> list[float]:
    """The weights of a logistic regression with an intercept and a small ridge, by Newton's method."""
    if not len(inputs):
        return [1.0] * inputs.shape[1]
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    weights = np.zeros(rows.shape[1])
    ridge = np.diag(np.full(rows.shape[1], _RIDGE * len(rows) + 1e-6))
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (wanted - chance) - ridge @ weights
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(bend, slope)
        weights += step
        if float(np.abs(step).max()) < 1e-6:
            break
    return weights[:-1].tolist()
