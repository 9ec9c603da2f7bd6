"""Rows as integers within a bound on their L2 norm, and exact sums. Proof: ``proofs/learning_vectors.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places
from discreet.learn._steps import RowNorms

__all__ = [
    "MOST_COORDINATES",
    "MOST_MOMENT_COORDINATES",
    "UNIT",
    "Ball",
    "Reals",
    "Vectors",
    "bounded",
    "coordinate_count",
    "coordinates",
    "example_vectors",
    "l2_norms",
    "product_sums",
    "second_moment_matrix",
    "second_moment_norms",
    "second_moments",
    "vectors",
]

UNIT = 2**14
"""Of how many steps a vector of length 1 is."""
MOST_COORDINATES = 2**12
"""How many coordinates a row may have."""
MOST_MOMENT_COORDINATES = 2**10
"""How many it may have where second moments are measured, of which there are half its square."""

Reals = NDArray[np.float64]
Vectors = NDArray[np.int16]

_ROWS = 2**13
_LEAST_RADIUS = 0.01
_DIAGONAL, _OFF_DIAGONAL = 5, 7
"""Weights of the entries of a second moment: 7/5 is a little below √2, so that both triangles count as one matrix."""


def l2_norms(entries: int, l2_squared: int, *, nonnegative: bool = False) -> RowNorms:
    """The norms of a row that adds a vector of so many integers with that L2 norm, squared, or less."""
    return RowNorms(math.isqrt(entries * l2_squared), l2_squared, nonnegative)


def coordinate_count(inputs: Inputs) -> int:
    """How many coordinates a row has: one for a number, one for each value of a category."""
    return len(inputs.numbers) + sum(each.size for each in inputs.categories)


def coordinates(inputs: Inputs, numbers: Places, cells: Places) -> Reals:
    """Rows in real coordinates: a number as −1 to 1 between its bounds, a category as a 1 among 0s; missing is NaN.

    Every entry is exact, and a function of its own row.
    """
    scaled = np.where(numbers == MISSING, np.nan, numbers * (2.0 / LEVELS) - 1.0)
    blocks = [scaled]
    for i, each in enumerate(inputs.categories):
        cell = cells[:, i : i + 1]
        blocks.append(np.where(cell == MISSING, np.nan, (cell == np.arange(each.size)).astype(np.float64)))
    return np.concatenate(blocks, axis=1)


def bounded(reals: Reals, bound: int) -> NDArray[np.int32]:
    """Each row times `bound`, shortened to a norm of 1 first if it is longer, as integers of L2 norm `bound` or less.

    Basic operations of IEEE 754 on numbers of one row, in the order of its columns, and the norm is checked on the
    integers: a row whose norm were above, which rounding cannot cause, would count as 0.
    """
    squared = np.zeros(len(reals))
    for column in reals.T:
        squared += column * column
    factor = (bound - 1) / np.maximum(np.sqrt(squared), 1.0)
    integers = np.trunc(reals * factor[:, None]).astype(np.int32)
    exact = (integers.astype(np.int64) ** 2).sum(axis=1)
    integers[exact > bound * bound] = 0
    return integers


@dataclass(frozen=True)
class Ball:
    """Where vectors are measured from, and which length counts as 1: rows farther away are moved to its surface.

    Attributes
    ----------
    weights
        By how much each coordinate counts; the centre and the radius are in weighted coordinates.
    centre, radius
        Public, or from answers that were released.
    """

    weights: Reals
    centre: Reals
    radius: float

    def check(self) -> None:
        """Raise `ValueError` for a ball that no fit ends with, in coordinates that weigh 1: it may be anybody's."""
        if not (self.radius >= _LEAST_RADIUS and (abs(self.centre) <= 1).all()):
            raise ValueError

    def vectors(self, reals: Reals) -> Vectors:
        """Rows as integers with L2 norm `UNIT` or less; what is missing is at the centre."""
        away = (reals * self.weights - self.centre) / self.radius
        return bounded(np.where(np.isnan(away), 0.0, away), UNIT).astype(np.int16)


def vectors(ball: Ball, inputs: Inputs, numbers: Places, cells: Places) -> Vectors:
    """The vectors of rows in a ball, a few thousand at a time."""
    blocks = [
        ball.vectors(coordinates(inputs, numbers[start : start + _ROWS], cells[start : start + _ROWS]))
        for start in range(0, len(numbers), _ROWS)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, coordinate_count(inputs)), np.int16)


def example_vectors(ball: Ball, examples: Examples) -> Vectors:
    """The vectors of examples."""
    return vectors(ball, examples.inputs, examples.numbers, examples.cells)


def product_sums(left: NDArray[np.signedinteger], right: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    """leftᵀ·right, exactly: entries of both are `UNIT` in size or less, so that float64 holds a block's sums."""
    total = np.zeros((left.shape[1], right.shape[1]), np.int64)
    for start in range(0, len(left), _ROWS):
        one, other = (each[start : start + _ROWS].astype(np.float64) for each in (left, right))
        total += (one.T @ other).astype(np.int64)
    return total


def second_moments(rows: Vectors) -> NDArray[np.int64]:
    """Σ x xᵀ as the entries of one triangle, weighted so that a row's L2 norm is 5 times its own, squared."""
    products = product_sums(rows, rows)
    weights = np.where(np.eye(rows.shape[1], dtype=bool), _DIAGONAL, _OFF_DIAGONAL)
    return (products * weights)[np.triu_indices(rows.shape[1])]


def second_moment_norms(count: int) -> RowNorms:
    """What a row of so many coordinates adds to `second_moments` at most."""
    return l2_norms(count * (count + 1) // 2, (_DIAGONAL * UNIT * UNIT) ** 2)


def second_moment_matrix(noisy: Reals, count: int) -> Reals:
    """The symmetric matrix of noisy `second_moments`, in units where a vector of length 1 is 1."""
    matrix = np.zeros((count, count))
    matrix[np.triu_indices(count)] = noisy / (_OFF_DIAGONAL * float(UNIT) ** 2)
    matrix += matrix.T
    matrix[np.diag_indices(count)] *= _OFF_DIAGONAL / (2 * _DIAGONAL)
    return matrix
