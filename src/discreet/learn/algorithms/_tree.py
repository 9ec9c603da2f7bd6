"""A decision tree: splits by the exponential mechanism or permute-and-flip. Proof: ``proofs/learning_trees.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms, deviation
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._bins import BinnedRows, Bins, check_classes, check_whole
from discreet.learn.algorithms._softmax import softmax
from discreet.learn.algorithms._splits import Splits
from discreet.learn.algorithms._trees import check_trees, leaves, votes

__all__ = ["GRID", "DecisionTreeAlgorithm", "shares_on_grid", "split_scores"]

_MOST_BINS = 256
_MOST_DEPTH = 12
GRID = 16
"""Into how many parts the classes' shares are divided that splits are scored by."""
_COUNT_SHARE = Fraction(1, 10)
_LEAF_SHARE = Fraction(3, 10)


@dataclass(frozen=True)
class DecisionTreeAlgorithm(Algorithm):
    """Level by level: counts of classes in each node, then a split of each by how far it tells the classes apart.

    `depth` is found from about how many rows there are, a noisy count, if it is None.
    """

    depth: int | None = None
    bins: int = 32
    name: ClassVar[str] = "decision_tree"
    task: ClassVar[Task] = "classification"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for fewer than two classes, or parameters out of range."""
        check_whole("bins", self.bins, 2, _MOST_BINS)
        if self.depth is not None:
            check_whole("depth", self.depth, 1, _MOST_DEPTH)
        check_classes(inputs)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A row is of one class in one node of a level, and moves a score of its node by twice the grid at most."""
        del inputs
        return {"counts": RowNorms(1, 1), "split": RowNorms(2 * GRID, (2 * GRID) ** 2)}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """Counts of all rows say how deep; then splits and counts, and the leaves' counts with what is left."""
        inputs, target = examples.inputs, examples.target
        classes = len(inputs.classes)
        bins = Bins(inputs, self.bins)
        splits = Splits.over(bins)
        binned = BinnedRows.from_examples(bins, examples)
        places = binned.places
        noise = measurer.noise_of("counts", _COUNT_SHARE / 2)
        counts = measurer.measure("counts", np.bincount(target, minlength=classes).reshape(1, -1), noise)
        shares = _smoothed(counts, np.full((1, classes), 1 / classes), deviation(noise))
        depth = self.depth or _depth_for(float(counts.sum()), deviation(noise), classes)
        choice_share = (measurer.left - _COUNT_SHARE / 2 - _LEAF_SHARE) / depth
        chosen: list[NDArray[np.int64]] = []
        at = np.zeros(len(places), np.int64)
        for level in range(depth):
            if level:
                noise = measurer.noise_of("counts", _COUNT_SHARE / 2 / (depth - 1))
                counts = measurer.measure("counts", _counts(at, target, 1 << level, classes), noise)
                shares = _smoothed(counts, np.repeat(shares, 2, axis=0), deviation(noise))
            scores = [
                split_scores(splits, binned.some(rows).counts(), shares_on_grid(shares[node]))
                for node, rows in enumerate(_rows_of(at, 1 << level))
            ]
            chosen.append(np.array(measurer.choose_in_parts("split", scores, choice_share)))
            order = np.concatenate(chosen)
            at = leaves(bins, places, splits.inputs[order], splits.thresholds[order], level + 1)
        noise = measurer.noise_of("counts", measurer.left)
        counts = measurer.measure("counts", _counts(at, target, 1 << depth, classes), noise)
        shares = _smoothed(counts, np.repeat(shares, 2, axis=0), deviation(noise))
        order = np.concatenate(chosen)
        return {
            "inputs": splits.inputs[order][None].astype(np.float64),
            "thresholds": splits.thresholds[order][None].astype(np.float64),
            "tables": np.log(shares)[None],
            "priors": np.zeros(classes),
        }

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are a tree over these inputs."""
        check_trees(Bins(inputs, self.bins), len(inputs.classes), parameters)

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The shares of the classes in the leaf of each row."""
        bins = Bins(inputs, self.bins)
        return softmax(parameters["priors"] + votes(bins, parameters, bins.places(numbers, cells)))

    def leaf_shares(self, parameters: Parameters) -> NDArray[np.float64]:
        """The share of each class in each leaf, from the left. Raises `ValueError` for arrays of several trees."""
        (table,) = parameters["tables"]
        return softmax(parameters["priors"] + table)


def _rows_of(at: NDArray[np.int64], nodes: int) -> list[NDArray[np.int64]]:
    """The rows of each node."""
    return np.split(np.argsort(at, kind="stable"), np.cumsum(np.bincount(at, minlength=nodes))[:-1])


def _counts(at: NDArray[np.int64], target: Places, nodes: int, classes: int) -> NDArray[np.int64]:
    return np.bincount(at * classes + target, minlength=nodes * classes).reshape(nodes, classes)


def split_scores(splits: Splits, counts: NDArray[np.int64], shares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Σ over both sides and all classes of |grid · rows of the class − its share · rows|, for each split.

    `counts` are the node's rows by bin and class, `shares` whole numbers that sum to the grid.
    """
    right = splits.right(counts)
    left = counts[: splits.bins.sizes[0]].sum(axis=0) - right
    sides = (GRID * side - shares * side.sum(axis=1, keepdims=True) for side in (left, right))
    return np.sum([np.abs(side).sum(axis=1) for side in sides], axis=0)


def shares_on_grid(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Shares as whole numbers that sum to the grid: the largest remainders are rounded up."""
    parts = shares * GRID
    lower = np.floor(parts).astype(np.int64)
    missing = GRID - int(lower.sum())
    lower[np.argsort(lower - parts)[:missing]] += 1
    return lower


def _smoothed(counts: NDArray[np.float64], before: NDArray[np.float64], sd: float) -> NDArray[np.float64]:
    """The classes' shares in each node, nearer to those before the split the less its counts say."""
    likely = np.maximum(counts, 0) + (1 + sd) * before
    return likely / likely.sum(axis=1, keepdims=True)


def _depth_for(rows: float, sd: float, classes: int) -> int:
    """As deep as nodes of a level have rows to be split by, where a choice errs by about as much as some counts do."""
    return max(math.ceil(math.log2(classes)), min(round(math.log2(max(rows, 1) / (4 * sd * classes))), _MOST_DEPTH))
