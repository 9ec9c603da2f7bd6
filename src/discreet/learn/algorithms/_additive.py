"""An additive model: a term for each input, a number for each bin. Proof: ``proofs/learning_additive.md``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms, deviation
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._bin_pairs import measured_labels, measured_pairs
from discreet.learn.algorithms._bins import BinnedRows, Bins, check_classes, check_whole
from discreet.learn.algorithms._residuals import GRID, residuals
from discreet.learn.algorithms._softmax import softmax
from discreet.learn.algorithms._trees import LARGEST_SCORE

__all__ = ["AdditiveAlgorithm"]

_MOST_BINS = 256
_MOST_PLACES = 4096
_USUAL_BINS = 32
_USUAL_PLACES = 512
_PAIR_SHARE = Fraction(3, 20)
_LABEL_SHARE = Fraction(1, 10)
_GRADIENTS = 3
_CURVATURE = 2 / 3
"""Of a class's π(1 − π), what the mean of p(1 − p) over rows is taken to be, once a model tells them apart."""
_TERM_VARIANCE = 10.0
"""The variance of the sum of all terms that is expected before any row is seen; neighbouring bins differ by less."""

_JUMP_VARIANCE = 7.0
_SCALES = (0.1, 0.3, 1.0, 10.0, 100.0)

Numbers = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class AdditiveAlgorithm(Algorithm):
    """Logistic regression on bins, by noisy counts of pairs of bins, of classes, and of what a model leaves over.

    `bins` is 32 if it is None, fewer where there are many inputs. The counts of pairs say how inputs go together, so
    that few steps are needed: the noisiest part of each step is what costs.
    """

    bins: int | None = None
    name: ClassVar[str] = "additive"
    task: ClassVar[Task] = "classification"
    currencies: ClassVar[tuple[str, ...]] = ("rho", "mu")

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for fewer than two classes, or bins out of range or too many in all."""
        if self.bins is not None:
            check_whole("bins", self.bins, 2, _MOST_BINS)
        check_classes(inputs)
        count = self.binned(inputs).count
        if count > _MOST_PLACES:
            raise ParameterError(
                f"the inputs have {count} bins in all, and an additive model at most {_MOST_PLACES}: leave "
                "inputs out, or ask for fewer bins"
            )

    def binned(self, inputs: Inputs) -> Bins:
        """The bins of some inputs."""
        fewer = max(4, _USUAL_PLACES // max(1, len(inputs.numbers)))
        return Bins(inputs, min(_USUAL_BINS, fewer) if self.bins is None else self.bins)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A row is in one bin of each input; what a model leaves over of it is at most the grid, and its opposite."""
        count, columns = len(inputs.features), _columns(inputs)
        match step:
            case "pairs":
                return RowNorms(count * (count + 1) // 2, count * (count + 1) // 2)
            case "labels":
                return RowNorms(count, count)
            case "residuals":
                opposite = 1 if columns == 1 else 2
                return RowNorms(opposite * count * GRID, opposite * count * GRID**2, nonnegative=False)
            case _:
                raise KeyError(step)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """Counts of pairs and labels; then what a model leaves over, three times, or more labels where rows are few."""
        rows = BinnedRows.from_examples(self.binned(examples.inputs), examples)
        bins = rows.bins
        labels = measured_labels(rows, measurer, _LABEL_SHARE)
        pairs = measured_pairs(rows, measurer, _PAIR_SHARE)
        noise = measurer.noise_of("residuals", measurer.left / _GRADIENTS)
        sd = deviation(noise) / GRID
        shares = labels.shares(bins)
        usual = _CURVATURE * float(np.mean(shares * (1 - shares))) * pairs.rows(bins) * len(bins.sizes) / bins.count
        few = usual < sd
        if few:
            labels = labels.pooled(measured_labels(rows, measurer, measurer.left))
            shares = labels.shares(bins)
        singles, together = pairs.denoised(bins, labels)
        columns = slice(-_columns(examples.inputs), None)
        solvers = [_Solver(bins, _CURVATURE * p * (1 - p) * together) for p in shares[columns]]
        terms = _solved(solvers, labels.towards(shares)[:, columns], labels.variance / 2)
        intercepts = np.log(shares)
        seen: list[Matrix] = []
        for _ in range(0 if few else _GRADIENTS):
            left_over = residuals(rows, _all_classes(terms), intercepts)[:, columns]
            exact = np.stack([rows.sums(column) for column in left_over.T], axis=1)
            noisy = measurer.measure("residuals", exact, noise) / GRID
            seen.append(noisy + np.stack([each.forward(terms[:, i]) for i, each in enumerate(solvers)], axis=1))
            terms = _solved(solvers, np.mean(seen, axis=0), sd**2 / len(seen))
        return _centred(bins, _all_classes(terms), intercepts, singles)

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a number for each bin and class, and one for each class."""
        classes = len(inputs.classes)
        shapes = {"terms": (self.binned(inputs).count, classes), "intercepts": (classes,)}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        if any(float(np.abs(array).max()) > LARGEST_SCORE for array in parameters.values()):
            raise ValueError

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> Numbers:
        """The probability of each class: the softmax of the intercepts and the terms of the row's bins."""
        bins = self.binned(inputs)
        scores = np.tile(parameters["intercepts"], (len(numbers), 1))
        for start, column in zip(bins.starts, bins.places(numbers, cells).T, strict=True):
            scores += parameters["terms"][start + column]
        return softmax(scores)


def _columns(inputs: Inputs) -> int:
    """How many classes have terms of their own: of two the second alone."""
    return 1 if len(inputs.classes) == 2 else len(inputs.classes)


def _all_classes(terms: Matrix) -> Matrix:
    return np.concatenate([np.zeros_like(terms), terms], axis=1) if terms.shape[1] == 1 else terms


def _solved(solvers: list[_Solver], sums: Matrix, variance: float) -> Matrix:
    columns = [each.terms(sums[:, i], variance) for i, each in enumerate(solvers)]
    return np.stack(columns, axis=1)


class _Solver:
    """The likeliest terms given noisy sums, of which the mean is the curvature times the terms."""

    def __init__(self, bins: Bins, curvature: Matrix) -> None:
        self.curvature, self.penalty = curvature, _penalty(bins)
        self.prior = curvature @ np.linalg.solve(self.penalty, curvature)

    def forward(self, terms: Numbers) -> Numbers:
        """The mean of the sums."""
        return self.curvature @ terms

    def terms(self, sums: Numbers, variance: float) -> Numbers:
        """Weighted least squares: rows vary by the curvature, noise by its variance, and terms are small and smooth.

        How small they are is read off the sums too: of some scales the likeliest.
        """
        total = self.curvature + (variance + 1e-6) * np.eye(len(sums))
        scale = max(_SCALES, key=lambda each: _log_density(sums, total + each * self.prior))
        weighted = np.linalg.solve(total, self.curvature)
        solved = np.linalg.solve(self.curvature @ weighted + self.penalty / scale, weighted.T @ sums)
        return np.asarray(solved, np.float64)


def _log_density(sums: Numbers, covariance: Matrix) -> float:
    """Twice the logarithm of the density of a normal distribution around 0, but for a constant."""
    factor = np.linalg.cholesky(covariance)
    white = np.linalg.solve(factor, sums)
    return -float(white @ white) - 2 * float(np.log(np.diag(factor)).sum())


def _penalty(bins: Bins) -> Matrix:
    """The inverse of the variance of terms: all are small, and those of neighbouring bins of a number alike."""
    inputs = len(bins.sizes)
    penalty = np.eye(bins.count) * inputs / _TERM_VARIANCE
    for i in range(len(bins.inputs.numbers)):
        jumps = np.diff(np.eye(bins.bins), axis=0)
        inside = slice(bins.starts[i], bins.starts[i] + bins.bins)
        penalty[inside, inside] += jumps.T @ jumps * (inputs / _JUMP_VARIANCE * bins.bins / 16)
    return penalty


def _centred(bins: Bins, terms: Matrix, intercepts: Numbers, singles: Numbers) -> Parameters:
    """Terms that are 0 in the mean over rows, and intercepts."""
    moved, level = terms.copy(), intercepts.copy()
    for i in range(len(bins.sizes)):
        mine = bins.slice_of(i)
        mean = singles[mine] @ terms[mine] / singles[mine].sum()
        moved[mine] -= mean
        level += mean
    return {"terms": moved, "intercepts": level}
