"""Ridge regression from noisy moments and noisy gradients. Proof: ``proofs/learning_linear.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._centre import centre_norms, check_coordinates, measure_centre, reach, strength
from discreet.learn.algorithms._vectors import (
    MOST_MOMENT_COORDINATES,
    UNIT,
    Ball,
    Reals,
    Vectors,
    bounded,
    coordinate_count,
    example_vectors,
    l2_norms,
    product_sums,
    second_moment_matrix,
    second_moment_norms,
    second_moments,
    vectors,
)
from discreet.rational import from_exact_text

__all__ = ["RidgeAlgorithm"]

_CENTRE_SHARE, _TARGET_SHARE, _MOMENT_SHARE = Fraction(20, 100), Fraction(7, 100), Fraction(11, 100)
_GRADIENT_STEPS = ((Fraction(32, 100), 0.6), (Fraction(30, 100), 0.4))
"""Shares of the spend, and the errors that are shortened to, in half widths of the target's bounds."""
_RADIUS, _WIDENS = 0.33, 25.0
_SHRINKS = 0.9
_MOST_PENALTY = 10**6
_WEIGHT_STEPS, _MOST_WEIGHT = 2.0**20, 2.0**5
"""Weights are whole numbers of these steps while rows are asked, so that their products are exact."""


@dataclass(frozen=True)
class RidgeAlgorithm(Algorithm):
    """Second moments of the inputs once, then a step of Newton's method by them, and another on what errors are left.

    How much the moments are shrunk, and the penalty, follow from the noise on them, which is public: `penalty` is in
    parts of what noise alone would make of them, as exact text.
    """

    penalty: str = "1/5"
    name: ClassVar[str] = "ridge_regression"
    task: ClassVar[Task] = "regression"
    currencies: ClassVar[tuple[str, ...]] = ("rho", "mu")

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless the target is a number, and the coordinates can be handled."""
        if inputs.target is None or not inputs.target.is_number:
            raise ParameterError("a regression predicts a number: name a label that is one, with bounds")
        _ = self._penalty
        check_coordinates(inputs, MOST_MOMENT_COORDINATES)

    @property
    def _penalty(self) -> float:
        try:
            value = from_exact_text(self.penalty)
        except ValueError:
            value = Fraction(-1)
        if not 0 <= value <= _MOST_PENALTY:
            raise ParameterError(f"penalty is a number from 0 to {_MOST_PENALTY:,}")
        return float(value)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A gradient is a vector times an error, whose norm is the product of the norms."""
        count = coordinate_count(inputs)
        own = {
            "target": RowNorms(LEVELS, LEVELS * LEVELS, nonnegative=False),
            "second_moments": second_moment_norms(count),
            "gradient": l2_norms(count, UNIT**4),
        }
        return {**centre_norms(inputs), **own}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """Weights, the intercept, and the ball that rows are read in."""
        inputs = examples.inputs
        scales = np.ones(coordinate_count(inputs))
        centre = measure_centre(measurer, examples, scales, _CENTRE_SHARE)
        signal = centre.rows * strength(measurer) / len(scales)
        width = min(_RADIUS * max(signal / _WIDENS, 1.0) ** 0.25, 1.0)
        ball = Ball(scales, centre.point, width * reach(inputs, scales))
        rows = example_vectors(ball, examples)
        intercept = _mean_target(examples, measurer, centre.rows)
        inverse = _regularized_inverse(rows, measurer, self._penalty)
        weights = np.zeros((len(scales), 1))
        for share, longest in _GRADIENT_STEPS:
            exact = error_sums(rows, examples.target, weights, intercept, longest)
            noisy = measurer.measure("gradient", exact, measurer.noise_of("gradient", share))
            weights = weights + inverse @ (noisy * (longest / UNIT / UNIT))
            weights = np.clip(weights, -_MOST_WEIGHT, _MOST_WEIGHT)
        return {
            "weights": weights,
            "intercept": np.array(intercept),
            "centre": ball.centre,
            "radius": np.array(ball.radius),
        }

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a weight for each coordinate, an intercept and a ball."""
        count = coordinate_count(inputs)
        shapes = {"weights": (count, 1), "intercept": (), "centre": (count,), "radius": ()}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        _ball(inputs, parameters).check()

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The number that is predicted, within the target's bounds."""
        ball = _ball(inputs, parameters)
        rows = vectors(ball, inputs, numbers, cells)
        predicted = np.clip(_predicted(rows, parameters["weights"], float(parameters["intercept"])), -1, 1)
        target = inputs.target
        assert target is not None
        return target.numbers((predicted + 1) / 2 * LEVELS)


def _ball(inputs: Inputs, parameters: Parameters) -> Ball:
    return Ball(np.ones(coordinate_count(inputs)), parameters["centre"], float(parameters["radius"]))


def error_sums(rows: Vectors, target: Places, weights: Reals, intercept: float, longest: float) -> NDArray[np.int64]:
    """Σ over rows of row × error: integers of L2 norm UNIT² or less for each, the error within ± `longest`."""
    errors = (target[:, None] * (2.0 / LEVELS) - 1.0) - _predicted(rows, weights, intercept)
    return product_sums(rows, bounded(errors / longest, UNIT))


def _predicted(rows: Vectors, weights: Reals, intercept: float) -> Reals:
    """Products of whole numbers, whose sums are below 2^53 and so exact in any order."""
    steps = np.round(np.clip(weights, -_MOST_WEIGHT, _MOST_WEIGHT) * _WEIGHT_STEPS)
    return rows.astype(np.float64) @ steps / (UNIT * _WEIGHT_STEPS) + intercept


def _mean_target(examples: Examples, measurer: Measurer, rows: float) -> float:
    """The mean of the target, as −1 to 1 between its bounds."""
    exact = np.array([(2 * examples.target.astype(np.int64) - LEVELS).sum()])
    (noisy,) = measurer.measure("target", exact, measurer.noise_of("target", _TARGET_SHARE))
    return float(np.clip(noisy / LEVELS / rows, -1, 1))


def _regularized_inverse(rows: Vectors, measurer: Measurer, penalty: float) -> Reals:
    """The inverse of the second moments, shrunk towards a sphere by as much as noise could have made of them."""
    noise, count = measurer.noise_of("second_moments", _MOMENT_SHARE), rows.shape[1]
    matrix = second_moment_matrix(measurer.measure("second_moments", second_moments(rows), noise), count)
    spread = math.sqrt(2 * count) / (strength(measurer) * math.sqrt(_MOMENT_SHARE))
    values, directions = np.linalg.eigh(matrix)
    values = np.maximum(values, 0)
    mean = float(values.mean())
    shrunk = _SHRINKS * spread / (spread + mean)
    return (directions / ((1 - shrunk) * values + shrunk * mean + penalty * spread)) @ directions.T
