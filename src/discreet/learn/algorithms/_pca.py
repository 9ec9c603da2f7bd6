"""Principal components from noisy second moments around a noisy centre. Proof: ``proofs/learning_linear.md``."""

from __future__ import annotations

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
from discreet.learn.algorithms._centre import (
    Centre,
    centre_norms,
    check_coordinates,
    measure_centre,
    reach,
    relative_widths,
    strength,
    widest,
)
from discreet.learn.algorithms._vectors import (
    MOST_MOMENT_COORDINATES,
    Ball,
    Reals,
    Vectors,
    coordinate_count,
    coordinates,
    example_vectors,
    second_moment_matrix,
    second_moment_norms,
    second_moments,
)

__all__ = ["PcaAlgorithm", "check_numbers", "principal_directions", "wide_enough"]

_CENTRE_SHARE = Fraction(1, 8)
_LARGEST = 1 + 1e-9
_RADIUS, _WIDENS = 0.5, 50.0
"""Of the reach: rows farther from the centre count as if they were so far; farther where there are many rows."""


@dataclass(frozen=True)
class PcaAlgorithm(Algorithm):
    """Directions in which the rows vary most, in the units of the inputs, from their noisy second moments."""

    components: int = 2
    name: ClassVar[str] = "principal_components"
    task: ClassVar[Task] = "transformation"
    currencies: ClassVar[tuple[str, ...]] = ("rho", "mu")

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for inputs that are no numbers, or fewer than the components."""
        check_numbers(inputs)
        count = coordinate_count(inputs)
        if isinstance(self.components, bool) or not isinstance(self.components, int) or self.components < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"components is a whole number from 1, not {self.components!r}")
        if self.components > count:
            raise ParameterError(f"there are {count} inputs, and so no {self.components} components")

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """An outer product of a vector with itself, whose norm is that of the vector, squared."""
        return {**centre_norms(inputs), "second_moments": second_moment_norms(coordinate_count(inputs))}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The components in rows, the variance along each and the centre, where half the widest bounds are 1."""
        scales = relative_widths(examples.inputs)
        centre = measure_centre(measurer, examples, scales, _CENTRE_SHARE)
        width = wide_enough(centre, strength(measurer))
        ball = Ball(scales, centre.point, width * reach(examples.inputs, scales))
        rows = example_vectors(ball, examples)
        directions, values = principal_directions(rows, centre, measurer, 1 - _CENTRE_SHARE)
        first = slice(self.components)
        return {
            "components": directions.T[first],
            "variances": values[first] * ball.radius**2,
            "centre": centre.point,
        }

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless each component has an entry for each input."""
        count = coordinate_count(inputs)
        shapes = {"components": (self.components, count), "variances": (self.components,), "centre": (count,)}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        if any((abs(parameters[name]) > _LARGEST).any() for name in ("components", "centre")):
            raise ValueError

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """How far each row is along each component."""
        away = coordinates(inputs, numbers, cells) * relative_widths(inputs) - parameters["centre"]
        return np.where(np.isnan(away), 0.0, away) @ parameters["components"].T * widest(inputs)


def check_numbers(inputs: Inputs) -> None:
    """Raise `ParameterError` unless all inputs are numbers with room between their bounds, and not too many."""
    if inputs.categories:
        raise ParameterError(f"distances are between numbers, and {inputs.categories[0].name} is a category")
    if not any(each.upper > each.lower for each in inputs.numbers):
        raise ParameterError("all inputs have one value alone between their bounds")
    check_coordinates(inputs, MOST_MOMENT_COORDINATES)


def wide_enough(centre: Centre, per_row: float) -> float:
    """The radius of the ball for second moments, of the reach: all of it where rows are many for so many inputs."""
    return min(_RADIUS * max(centre.rows * per_row / len(centre.point) / _WIDENS, 1.0) ** 0.25, 1.0)


def principal_directions(rows: Vectors, centre: Centre, measurer: Measurer, share: Fraction) -> tuple[Reals, Reals]:
    """Directions in columns, the one of most variance first, and the variances, from noisy second moments.

    Coordinates whose own variance is below the noise count less, for what is measured of them is noise.
    """
    noise, count = measurer.noise_of("second_moments", share), rows.shape[1]
    matrix = second_moment_matrix(measurer.measure("second_moments", second_moments(rows), noise), count)
    level = 1 / (strength(measurer) * float(share) ** 0.5)
    own = np.maximum(np.diag(matrix), 0)
    trust = np.sqrt(own / (own + level))
    values, directions = np.linalg.eigh(matrix * trust[:, None] * trust)
    return directions[:, ::-1], np.maximum(values[::-1], 0) / centre.rows
