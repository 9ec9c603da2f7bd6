"""Multinomial logistic regression by noisy gradient steps over all rows. Proof: ``proofs/learning_linear.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._centre import centre_norms, check_coordinates, measure_centre, reach, strength
from discreet.learn.algorithms._softmax import softmax
from discreet.learn.algorithms._vectors import (
    UNIT,
    Ball,
    Reals,
    Vectors,
    bounded,
    coordinate_count,
    example_vectors,
    l2_norms,
    product_sums,
    vectors,
)

__all__ = ["LogisticAlgorithm"]

_CENTRE_SHARE, _LENGTH_SHARE = Fraction(12, 100), Fraction(1, 100)
_LEAST_SQUARE = 1 / 32
_WIDENS, _MOST_ERROR, _MOST_INERTIA = 50.0, 1.0, 0.9
_RADIUS = 0.15
"""Of the reach: rows farther from the centre count as if they were so far, which most are in many inputs."""
_CONSTANT = UNIT // 8
"""The input that is the same for all rows, whose weights are the intercepts."""
_ERROR = 0.3
"""Errors of predicted probabilities longer than this, in L2 norm, count as if they were so long."""
_STEPS, _LEAST_STEPS, _MOST_STEPS = 2.5, 4, 100
_RATE_PER_COORDINATE, _LEAST_RATE, _MOST_RATE = 0.5, 2.0, 32.0
_AVERAGED = 0.5
"""The last part of the steps, whose weights are averaged."""
_WEIGHT_STEPS, _MOST_WEIGHT = 2.0**10, 2.0**10
"""Weights are whole numbers of these steps while rows are asked, so that their products are exact."""
_MOST_CLASSES = 1_000
_ROWS = 2**13


@dataclass(frozen=True)
class LogisticAlgorithm(Algorithm):
    """Full gradient steps: each sums input × error over all rows, both of them within a bound on their L2 norms.

    How many steps there are, and how far they go, follows from the number of rows that was bought, from the spend and
    from how many inputs and classes there are.
    """

    name: ClassVar[str] = "logistic_regression"
    task: ClassVar[Task] = "classification"
    currencies: ClassVar[tuple[str, ...]] = ("rho", "mu")

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless there are two classes or more, and coordinates that can be handled."""
        if not 2 <= len(inputs.classes) <= _MOST_CLASSES:
            raise ParameterError(f"a classifier needs two classes or more, {_MOST_CLASSES} at most")
        check_coordinates(inputs)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A gradient is an outer product, whose norm is the product of the norms."""
        entries = (coordinate_count(inputs) + 1) * len(inputs.classes)
        gradient = l2_norms(entries, (UNIT * UNIT + _CONSTANT * _CONSTANT) * UNIT * UNIT)
        return {**centre_norms(inputs), "lengths": RowNorms(UNIT * UNIT, UNIT**4), "gradient": gradient}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """Weights of the average of the last steps, and the ball that rows are read in."""
        inputs = examples.inputs
        scales = np.ones(coordinate_count(inputs))
        centre = measure_centre(measurer, examples, scales, _CENTRE_SHARE)
        size, classes = len(scales) + 1, len(inputs.classes)
        signal = centre.rows * strength(measurer) / math.sqrt(len(scales) * classes)
        wider = max(signal / _WIDENS, 1.0) ** 0.5
        longest = min(_ERROR * wider, _MOST_ERROR)
        ball = Ball(scales, centre.point, min(_RADIUS * wider, 1.0) * reach(inputs, scales))
        rows = example_vectors(ball, examples)
        steps = min(max(round(_STEPS * signal), _LEAST_STEPS), _MOST_STEPS)
        rate = min(max(_RATE_PER_COORDINATE * len(scales), _LEAST_RATE), _MOST_RATE)
        share = 1 - _CENTRE_SHARE
        if wider > 1:  # else nearly all rows are on the surface, and their length is 1
            rate /= _mean_square(rows, measurer, centre.rows)
            share -= _LENGTH_SHARE
        noise = measurer.noise_of("gradient", share / steps)
        inertia = min(1 - 1 / wider, _MOST_INERTIA)
        weights, velocity, average = (np.zeros((size, classes)) for _ in range(3))
        first = round(steps * (1 - _AVERAGED))
        for step in range(steps):
            exact = gradient_sums(rows, examples.target, weights, longest)
            gradient = measurer.measure("gradient", exact, noise) * (longest / UNIT / UNIT / centre.rows)
            velocity = inertia * velocity + rate * (gradient - gradient.mean(axis=1, keepdims=True))
            weights = np.clip(weights + velocity, -_MOST_WEIGHT, _MOST_WEIGHT)
            if step >= first:
                average += weights / (steps - first)
        return {"weights": average, "centre": ball.centre, "radius": np.array(ball.radius)}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a weight for each coordinate and class, and a ball."""
        count = coordinate_count(inputs)
        shapes = {"weights": (count + 1, len(inputs.classes)), "centre": (count,), "radius": ()}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        _ball(inputs, parameters).check()

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The probability of each class."""
        ball = _ball(inputs, parameters)
        return _probabilities(vectors(ball, inputs, numbers, cells), _grid_steps(parameters["weights"]))


def _ball(inputs: Inputs, parameters: Parameters) -> Ball:
    return Ball(np.ones(coordinate_count(inputs)), parameters["centre"], float(parameters["radius"]))


def gradient_sums(rows: Vectors, target: Places, weights: Reals, longest: float) -> NDArray[np.int64]:
    """Σ over rows of (row, constant) ⊗ error: integers of L2 norm √(UNIT² + constant²)·UNIT or less for each row.

    The error is what was right, a 1 among 0s, less what the weights predict, by basic operations on that row alone.
    """
    count, classes = rows.shape[1], weights.shape[1]
    steps, total = _grid_steps(weights), np.zeros((rows.shape[1] + 1, weights.shape[1]), np.int64)
    for start in range(0, len(rows), _ROWS):
        block, right = rows[start : start + _ROWS], target[start : start + _ROWS, None] == np.arange(classes)
        errors = bounded((right - _probabilities(block, steps)) / longest, UNIT)
        total[:count] += product_sums(block, errors)
        total[count] += errors.sum(axis=0, dtype=np.int64) * _CONSTANT
    return total


def _mean_square(rows: Vectors, measurer: Measurer, count: float) -> float:
    """The mean of the rows' squared lengths, where the radius of the ball is 1."""
    exact = (rows.astype(np.int64) ** 2).sum()
    (noisy,) = measurer.measure("lengths", np.array([exact]), measurer.noise_of("lengths", _LENGTH_SHARE))
    return min(max(float(noisy) / UNIT**2 / count, _LEAST_SQUARE), 1.0)


def _grid_steps(weights: Reals) -> Reals:
    """Weights as whole numbers of steps."""
    return np.round(np.clip(weights, -_MOST_WEIGHT, _MOST_WEIGHT) * _WEIGHT_STEPS)


def _probabilities(rows: Vectors, steps: Reals) -> Reals:
    """Products of whole numbers, whose sums are below 2^53 and so exact in any order; then their softmax."""
    scores = rows.astype(np.float64) @ steps[:-1] + _CONSTANT * steps[-1]
    return softmax(scores / (UNIT * _WEIGHT_STEPS))
