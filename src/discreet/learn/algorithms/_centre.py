"""Where rows are, from noisy sums: how many there are, and a centre that most of them are near."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._vectors import (
    MOST_COORDINATES,
    UNIT,
    Ball,
    Reals,
    coordinate_count,
    example_vectors,
    l2_norms,
)

__all__ = [
    "Centre",
    "centre_norms",
    "check_coordinates",
    "measure_centre",
    "reach",
    "relative_widths",
    "strength",
    "widest",
]

_COUNT_SHARE, _FIRST_SHARE = Fraction(1, 10), Fraction(45, 100)
_FIRST_RADIUS, _SECOND_RADIUS = 0.6, 0.35


@dataclass(frozen=True)
class Centre:
    """How many rows there are, about, and where they are in weighted coordinates."""

    rows: float
    point: Reals


def check_coordinates(inputs: Inputs, most: int = MOST_COORDINATES) -> None:
    """Raise `ParameterError` for inputs with more coordinates than a vector may have."""
    count = coordinate_count(inputs)
    if count > most:
        raise ParameterError(f"the inputs have {count} numbers and values of categories, and may have {most}")


def centre_norms(inputs: Inputs) -> dict[str, RowNorms]:
    """What a row adds to the sums of `measure_centre` at most."""
    return {"count": RowNorms(1, 1), "mean": l2_norms(coordinate_count(inputs), UNIT * UNIT)}


def widest(inputs: Inputs) -> float:
    """Half of the distance between the bounds of the number that has the widest ones."""
    return float(max(each.upper - each.lower for each in inputs.numbers) / 2)


def relative_widths(inputs: Inputs) -> Reals:
    """Weights that keep the proportions of the numbers' own units: each one's width over the widest."""
    most = max(each.upper - each.lower for each in inputs.numbers)
    return np.array([float((each.upper - each.lower) / most) for each in inputs.numbers])


def reach(inputs: Inputs, weights: Reals) -> float:
    """How far rows can be from the middle of all bounds: the corner, in weighted coordinates."""
    numbers = len(inputs.numbers)
    squared = float((weights[:numbers] ** 2).sum()) + len(inputs.categories)
    return float(np.sqrt(squared)) or 1.0


def strength(measurer: Measurer) -> float:
    """One row over the noise of a sum that takes all of the spend: μ of the spend, per row."""
    return 1 / float(measurer.noise_of("count", Fraction(1)).sigma)  # pyright: ignore[reportAttributeAccessIssue]


def measure_centre(measurer: Measurer, examples: Examples, weights: Reals, share: Fraction) -> Centre:
    """The number of rows, a mean of the rows, and a mean again of the rows near that one, where less noise is needed.

    The rows are clipped to half of the reach around the middle, then to less of it around the first mean.
    """
    inputs = examples.inputs
    far = reach(inputs, weights)
    noise = measurer.noise_of("count", share * _COUNT_SHARE)
    counted = measurer.measure("count", np.array([len(examples.numbers)]), noise)
    rows = max(float(counted[0]), 1 / strength(measurer))
    point = np.zeros(len(weights))
    left = share * (1 - _COUNT_SHARE)
    for radius, part in ((_FIRST_RADIUS, _FIRST_SHARE), (_SECOND_RADIUS, 1 - _FIRST_SHARE)):
        ball = Ball(weights, point, radius * far)
        sums = example_vectors(ball, examples).astype(np.int64).sum(axis=0)
        noisy = measurer.measure("mean", sums, measurer.noise_of("mean", left * part))
        point = np.clip(point + noisy / UNIT / rows * ball.radius, -weights, weights)
    return Centre(rows, point)
