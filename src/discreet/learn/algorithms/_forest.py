"""A random forest: public random trees, whose leaves are counted with noise. Proof: ``proofs/learning_trees.md``."""

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
from discreet.learn.algorithms._trees import Nodes, check_trees, leaves, votes

__all__ = ["RandomForestAlgorithm"]

_MOST_BINS = 256
_MOST_TREES = 1_000
_MOST_DEPTH = 9
_MOST_ENTRIES = 1 << 20
_CLASS_SHARE = Fraction(1, 32)
_CELL_SHARE = Fraction(3, 20)
_SHARPNESS_SHARE = Fraction(1, 40)
_SHARPNESS = (1.0, 2.0, 4.0, 8.0, 16.0)
_FLOOR = 0.003
_BLUR = 0.05
"""Above which noise, as a share of all that a split can tell apart, it is not asked which splits do."""


@dataclass(frozen=True)
class RandomForestAlgorithm(Algorithm):
    """Trees whose splits are drawn at random, and whose leaves' counts of classes are measured, all rows in each tree.

    `trees` is 128 if it is None, or 16 on pure ε, where each of them costs as much as the others together save.
    """

    trees: int | None = None
    bins: int = 32
    name: ClassVar[str] = "random_forest"
    task: ClassVar[Task] = "classification"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for fewer than two classes, or parameters out of range."""
        check_whole("bins", self.bins, 2, _MOST_BINS)
        if self.trees is not None:
            check_whole("trees", self.trees, 1, _MOST_TREES)
        check_classes(inputs)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A row is of one class, in one leaf of a tree, in one bin of each input, and told right or not."""
        count = {"classes": 1, "bins": len(inputs.features), "tree": 1, "right": 1}[step]
        return RowNorms(count, count)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """Count classes; buy which splits tell them apart, if that can be seen; draw trees; count leaves; sharpen."""
        inputs, target = examples.inputs, examples.target
        bins = Bins(inputs, self.bins)
        rows = BinnedRows.from_examples(bins, examples)
        places = rows.places
        classes = self._classes(target, len(inputs.classes), measurer)
        splits = Splits.over(bins)
        weights = self._weights(rows, classes, splits, measurer)
        trees = self.trees or (16 if measurer.currency == "pure" else 128)
        noise = measurer.noise_of("tree", (measurer.left - _SHARPNESS_SHARE) / trees)
        sd = deviation(noise)
        depth = _depth_for(classes, trees, sd)
        drawn = measurer.draw(weights, trees * ((1 << depth) - 1)).reshape(trees, -1)
        split_inputs, thresholds = splits.inputs[drawn], splits.thresholds[drawn]
        tables = np.empty((trees, 1 << depth, len(classes)))
        for i in range(trees):
            at = leaves(bins, places, split_inputs[i], thresholds[i], depth)
            exact = np.bincount(at * len(classes) + target, minlength=tables[i].size).reshape(tables[i].shape)
            tables[i] = _log_ratios(measurer.measure("tree", exact, noise), classes, sd) / trees
        model = _model(split_inputs, thresholds, tables, classes)
        sums = votes(bins, model, places)
        scores = [int((_scores(model, sums, each).argmax(axis=1) == target).sum()) for each in _SHARPNESS]
        sharpness = _SHARPNESS[measurer.choose("right", np.array(scores), _SHARPNESS_SHARE)]
        return {**model, "tables": tables * sharpness}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are trees over these inputs."""
        check_trees(Bins(inputs, self.bins), len(inputs.classes), parameters)

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The probability of each class by the votes of all trees."""
        bins = Bins(inputs, self.bins)
        return softmax(_scores(parameters, votes(bins, parameters, bins.places(numbers, cells)), 1.0))

    def _classes(self, target: Places, classes: int, measurer: Measurer) -> NDArray[np.float64]:
        """About how many rows each class has: noisy counts, nearer to equal ones the less they say."""
        noise = measurer.noise_of("classes", _CLASS_SHARE)
        noisy = measurer.measure("classes", np.bincount(target, minlength=classes), noise)
        mean = max(float(noisy.mean()), 1.0)
        apart = float(np.square(noisy - noisy.mean()).sum()) / (classes - 1)
        trust = max(0.0, 1 - deviation(noise) ** 2 / max(apart, 1e-9))
        return np.maximum(mean + trust * (noisy - noisy.mean()), mean / 50)

    def _weights(
        self,
        rows: BinnedRows,
        classes: NDArray[np.float64],
        splits: Splits,
        measurer: Measurer,
    ) -> NDArray[np.float64]:
        """How likely each split is to be drawn: all inputs alike, and by how far it tells classes apart, if bought."""
        noise = measurer.noise_of("bins", _CELL_SHARE)
        variance = deviation(noise) ** 2 / 4 * float((1 / classes).sum()) / float(classes.sum())
        blur = variance * np.array(rows.bins.sizes)[splits.inputs]
        if float(np.median(blur)) > _BLUR:
            return splits.base
        noisy = measurer.measure("bins", rows.counts(), noise)
        separation = np.maximum(_separation(splits, noisy, classes) - blur, 0)
        return splits.base * (separation + blur / 2 + _FLOOR)


def _separation(splits: Splits, counts: NDArray[np.float64], classes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over classes of the squared distance of their shares to the right of each split from all rows'."""
    apart = counts - classes / classes.sum() * counts.sum(axis=1, keepdims=True)
    return np.square(splits.right(apart) - splits.total(apart) / 2) @ (1 / classes) / classes.sum()


def _depth_for(classes: NDArray[np.float64], trees: int, sd: float) -> int:
    """Deeper where a class stands out more from the noise of all its leaves; within what a model may hold."""
    clear = float(classes.mean()) * math.sqrt(trees) / sd
    most = int(math.log2(_MOST_ENTRIES / (trees * len(classes))))
    return max(1, min(round(math.log2(max(clear, 1.0))) + 1, most, _MOST_DEPTH))


def _log_ratios(counts: NDArray[np.float64], classes: NDArray[np.float64], sd: float) -> NDArray[np.float64]:
    """The logarithm of each class's share in each leaf over its share in all, nearer to 0 the less a count says."""
    prior = classes / classes.sum()
    extra = 0.6 * sd * len(classes) * prior
    likely = np.maximum(counts + extra, 0.7 * extra)
    return np.log(likely / likely.sum(axis=1, keepdims=True) / prior)


def _model(inputs: Nodes, thresholds: Nodes, tables: NDArray[np.float64], classes: NDArray[np.float64]) -> Parameters:
    return {
        "inputs": inputs.astype(np.float64),
        "thresholds": thresholds.astype(np.float64),
        "tables": tables,
        "priors": np.log(classes / classes.sum()),
    }


def _scores(model: Parameters, sums: NDArray[np.float64], sharpness: float) -> NDArray[np.float64]:
    return model["priors"] + sharpness * sums
