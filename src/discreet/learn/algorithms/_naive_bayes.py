"""Naive Bayes over binned inputs, from noisy counts of each input with the class. Proof: ``proofs/naive_bayes.md``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._softmax import softmax

__all__ = ["NaiveBayesAlgorithm"]

_MOST_BINS = 256
_SMOOTHING = 1.0


@dataclass(frozen=True)
class NaiveBayesAlgorithm(Algorithm):
    """Counts of every input with the class, a row in one cell of each, measured at once; the rest follows from them."""

    bins: int = 8
    name: ClassVar[str] = "naive_bayes"
    task: ClassVar[Task] = "classification"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless there are two classes or more, and bins from 2 to 256."""
        if isinstance(self.bins, bool) or not isinstance(self.bins, int) or not 2 <= self.bins <= _MOST_BINS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"bins is a whole number from 2 to {_MOST_BINS}, not {self.bins!r}")
        if len(inputs.classes) < 2:
            raise ParameterError("a classifier needs two classes or more")

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A row is in one cell for each input."""
        inputs_with_class = {"counts": len(inputs.features)}[step]
        return RowNorms(inputs_with_class, inputs_with_class)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """Log-likelihoods of each cell by class, and of the classes, from noisy counts."""
        inputs = examples.inputs
        classes = len(inputs.classes)
        places = self._cells(inputs, examples.numbers, examples.cells)
        sizes = self._sizes(inputs)
        tables = [
            np.bincount(places[:, i] * classes + examples.target, minlength=size * classes)
            for i, size in enumerate(sizes)
        ]
        exact = np.concatenate(tables)
        noisy = measurer.measure("counts", exact, measurer.noise_of("counts", Fraction(1)))
        blocks = np.split(noisy, np.cumsum([size * classes for size in sizes])[:-1])
        counts = [block.reshape(size, classes) for block, size in zip(blocks, sizes, strict=True)]
        priors = np.maximum(np.mean([block.sum(0) for block in counts], axis=0), _SMOOTHING)
        smooth = [np.maximum(block, 0) + _SMOOTHING for block in counts]
        likelihoods = [np.log(block / block.sum(0)) for block in smooth]
        return {"likelihoods": np.concatenate(likelihoods), "priors": np.log(priors / priors.sum())}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a likelihood for each cell and class, and a prior for each class."""
        classes = len(inputs.classes)
        shapes = {"likelihoods": (sum(self._sizes(inputs)), classes), "priors": (classes,)}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The probability of each class, by Bayes' theorem."""
        places = self._cells(inputs, numbers, cells)
        scores = np.tile(parameters["priors"], (len(places), 1))
        start = 0
        for i, size in enumerate(self._sizes(inputs)):
            scores += parameters["likelihoods"][start + places[:, i]]
            start += size
        return softmax(scores)

    def _sizes(self, inputs: Inputs) -> list[int]:
        """How many cells each input has: bins and one for what is missing, or its values and one for any other."""
        return [*(self.bins + 1 for _ in inputs.numbers), *(each.size + 1 for each in inputs.categories)]

    def _cells(self, inputs: Inputs, numbers: Places, cells: Places) -> Places:
        bins = np.where(numbers == MISSING, self.bins, np.minimum(numbers * self.bins // LEVELS, self.bins - 1))
        sizes = np.array([each.size for each in inputs.categories], np.int32)
        return np.concatenate([bins, np.where(cells == MISSING, sizes, cells)], axis=1).astype(np.int32)
