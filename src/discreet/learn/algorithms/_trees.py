"""Complete binary trees as arrays: where a row ends in them, what they predict, and whether arrays are such trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.learn._inputs import Places
from discreet.learn.algorithms._algorithm import Parameters
from discreet.learn.algorithms._bins import Bins

__all__ = ["LARGEST_SCORE", "Nodes", "check_trees", "leaves", "votes"]

LARGEST_SCORE = 1e6
"""The largest logarithm of a probability, or sum of such, that a model may hold."""
Nodes = NDArray[np.int64]
"""Of each tree a row, of each inner node an entry, in order by level: the children of node i are 2i + 1 and 2i + 2."""


def leaves(bins: Bins, places: Places, inputs: Nodes, thresholds: Nodes, depth: int) -> NDArray[np.int64]:
    """The node of each row on a level of one tree, counted from 0 at the left; it depends on that row alone.

    A row goes right if its bin of the node's input is the threshold, or above it where the input is a number. What is
    missing goes right.
    """
    rows = np.arange(len(places))
    at = np.zeros(len(places), np.int64)
    for level in range(depth):
        node = (1 << level) - 1 + at
        chosen, threshold = inputs[node], thresholds[node]
        place = places[rows, chosen]
        at = 2 * at + np.where(bins.ordered[chosen], place >= threshold, place == threshold)
    return at


def votes(bins: Bins, parameters: Parameters, places: Places) -> NDArray[np.float64]:
    """The sums over trees of what each says of each class: additions in one order, so of each row alone."""
    inputs, thresholds = parameters["inputs"].astype(np.int64), parameters["thresholds"].astype(np.int64)
    tables = parameters["tables"]
    sums = np.zeros((len(places), tables.shape[2]))
    for i, table in enumerate(tables):
        sums += table[leaves(bins, places, inputs[i], thresholds[i], _depth(tables.shape[1]))]
    return sums


def check_trees(bins: Bins, classes: int, parameters: Parameters) -> None:
    """Raise `ValueError` unless the arrays are trees over these bins, with a number for each leaf and class."""
    if set(parameters) != {"inputs", "thresholds", "tables", "priors"}:
        raise ValueError
    inputs, thresholds, tables = parameters["inputs"], parameters["thresholds"], parameters["tables"]
    if tables.ndim != 3 or tables.shape[2] != classes or parameters["priors"].shape != (classes,):
        raise ValueError
    trees, ends = tables.shape[:2]
    if trees < 1 or ends < 2 or ends != 1 << _depth(ends):
        raise ValueError
    if inputs.shape != (trees, ends - 1) or thresholds.shape != inputs.shape:
        raise ValueError
    if not _whole_below(inputs, len(bins.sizes)) or not _whole_below(thresholds, max(bins.sizes)):
        raise ValueError
    if max(float(np.abs(tables).max()), float(np.abs(parameters["priors"]).max())) > LARGEST_SCORE:
        raise ValueError


def _whole_below(values: NDArray[np.float64], most: int) -> bool:
    return bool(((values == np.floor(values)) & (values >= 0) & (values < most)).all())


def _depth(ends: int) -> int:
    return ends.bit_length() - 1
