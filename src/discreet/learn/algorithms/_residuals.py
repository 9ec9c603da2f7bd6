"""What a model leaves over of each row, in whole numbers from start to end. Proof: ``proofs/learning_additive.md``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.learn.algorithms._bins import BinnedRows

__all__ = ["GRID", "residuals"]

GRID = 1 << 16
"""A residual of 1, in whole numbers."""
_SCORE_GRID = 1 << 10
_LARGEST_SCORE = 1 << 20
_STEP = 1 << 4
"""Scores are told apart by this: a 64th."""
_WEIGHT = 1 << 30


def _weights() -> NDArray[np.int64]:
    """2^30 · exp(−i/64), rounded; its last entry is 0."""
    steps = np.arange(22 * _SCORE_GRID // _STEP)
    return np.append(np.rint(_WEIGHT * np.exp(-steps * (_STEP / _SCORE_GRID))), 0).astype(np.int64)


_TABLE = _weights()


def residuals(rows: BinnedRows, terms: NDArray[np.float64], intercepts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Of each row and class, whether it is the row's class less its probability by softmax, on the grid.

    Each row's are made of its own bins and class alone, by whole numbers. Those of the other classes are between
    −`GRID` and 0, and sum to at least −`GRID`; that of its own is their sum's opposite.
    """
    places, target, classes = rows.places, rows.target, terms.shape[1]
    rounded, levels = _on_grid(terms), _on_grid(intercepts)
    scores = np.repeat(levels[:, None], len(places), axis=1)
    for start, column in zip(rows.bins.starts, places.T, strict=True):
        for i in range(classes):
            scores[i] += rounded[start + column, i]
    best = scores[0].copy()
    for i in range(1, classes):
        np.maximum(best, scores[i], out=best)
    weights = [_TABLE[np.minimum((best - each) // _STEP, len(_TABLE) - 1)] for each in scores]
    total = np.zeros(len(places), np.int64)
    for each in weights:
        total += each
    left = np.zeros((len(places), classes), np.int64)
    others = np.zeros(len(places), np.int64)
    for i, each in enumerate(weights):
        share = np.where(target == i, 0, each * GRID // total)
        left[:, i] = -share
        others += share
    left[np.arange(len(places)), target] = others
    return left


def _on_grid(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    limited = np.clip(np.nan_to_num(scores * _SCORE_GRID), -_LARGEST_SCORE, _LARGEST_SCORE)
    return np.rint(limited).astype(np.int64)
