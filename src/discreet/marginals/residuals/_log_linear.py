"""Counts that are never negative, from residuals with noise: the most probable log-linear model of a few columns.

The logarithm of a cell's count is a sum of *interactions*, one for each set of columns, each centred along its columns.
A priori an interaction is normal around 0, and the more columns it has the narrower; what was measured is normal around
the residuals of the counts. The counts are those of the most probable interactions. The fit uses what was measured and
public constants alone, so it is post-processing. It is biased, as every estimate is that is never negative.

All is written in an orthonormal basis in which the first coefficient along a column is its sum and the others are
centred: residuals, precisions and priors are diagonal there. Damped steps of Gauss and Newton are solved by Cholesky
for few cells, else by conjugate gradients. Source: Agresti 2013, chapter 9 (the models); Nocedal and Wright 2006,
chapters 7 and 10 (the steps).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations

import numpy as np

from discreet.marginals.residuals._lattice import Columns, Numbers
from discreet.marginals.residuals._residual import spread

__all__ = ["DIRECT_CELLS", "log_linear"]

DIRECT_CELLS = 1024
"""Up to so many cells a step is solved directly, whatever was measured; above it all residuals should have been."""
_PRIOR = (5.0, 5.0, 3.0, 0.2)
"""The standard deviation, a cell, of interactions of no column, one, two, and three or more."""
_LEAST_VARIANCE = 1e-6
"""Of a cell: noise below it is fitted as if it had this variance."""
_STEPS, _INNER = 100, 30
_LONGEST = 3.0
"""The most that a logarithm moves in one step."""
_SMALLEST = 1e-6
_INEXACT = 0.3
_ENOUGH = 0.005
"""The fit ends where a step would gain less than this times the root of the number of cells."""
_HIGHEST = 50.0
_RIDGE = 1e-10
_BLOCK = 64


def log_linear(
    sizes: Sequence[int], residuals: Mapping[Columns, Numbers], variances: Mapping[Columns, float]
) -> Numbers:
    """The counts of all cells of columns of these sizes, none negative, that fit measured residuals best.

    `residuals` and `variances`, of their noise as if on independent cells, are by the places of columns in `sizes`,
    each of which is 2 or more; the residual of no columns is the total.

    >>> total, centred = np.array(20.0), np.array([11.0, -11.0])
    >>> counts = log_linear((2,), {(): total, (0,): centred}, {(): 1.0, (0,): 1.0})
    >>> bool(counts[0] > 19.5), bool(0 < counts[1] < 0.5)
    (True, True)
    """
    if not sizes:
        return np.maximum(residuals[()], 0.0)
    problem = _Problem.from_residuals(tuple(sizes), residuals, variances)
    step = _direct_step(problem) if problem.size <= DIRECT_CELLS else _conjugate_step(problem)
    return _most_probable(problem, step)


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is minimised: half the squared distance to what was measured, and half the squares of scaled interactions.

    Attributes
    ----------
    sizes
        Of the columns.
    measured, precisions
        The coefficients of the counts, and the inverse of their variances: 0 where there is no measurement.
    deviations
        The standard deviations a priori of the coefficients of the logarithms.
    """

    sizes: tuple[int, ...]
    measured: Numbers
    precisions: Numbers
    deviations: Numbers

    @classmethod
    def from_residuals(
        cls, sizes: tuple[int, ...], residuals: Mapping[Columns, Numbers], variances: Mapping[Columns, float]
    ) -> _Problem:
        cells, columns = np.zeros(sizes), tuple(range(len(sizes)))
        precisions, deviations = np.zeros(sizes), np.zeros(sizes)
        for width in range(len(sizes) + 1):
            for part in combinations(columns, width):
                rest = math.prod(size for column, size in enumerate(sizes) if column not in part)
                block = tuple(slice(1, None) if column in part else slice(0, 1) for column in columns)
                deviations[block] = _PRIOR[min(width, len(_PRIOR) - 1)] * math.sqrt(rest)
                if part in residuals:
                    cells += spread(residuals[part], part, columns, sizes)
                    precisions[block] = rest / max(variances[part], _LEAST_VARIANCE * rest)
        bare = cls(sizes, cells, precisions, deviations)
        return cls(sizes, bare.coefficients(cells), precisions, deviations)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(self.sizes)

    @cached_property
    def bases(self) -> tuple[Numbers, ...]:
        """The basis along each column."""
        return tuple(map(_centring_basis, self.sizes))

    @cached_property
    def mean(self) -> float:
        """The logarithm of the mean count of a cell."""
        return math.log(max(float(self.measured.flat[0]) * math.sqrt(self.size), 1.0) / self.size)

    def coefficients(self, cells: Numbers) -> Numbers:
        """An array over the cells in the basis."""
        for axis, basis in enumerate(self.bases):
            cells = np.moveaxis(np.tensordot(basis, cells, (1, axis)), 0, axis)
        return cells

    def cells(self, coefficients: Numbers) -> Numbers:
        """The inverse of `coefficients`."""
        for axis, basis in enumerate(self.bases):
            coefficients = np.moveaxis(np.tensordot(basis.T, coefficients, (1, axis)), 0, axis)
        return coefficients

    def start(self) -> Numbers:
        """No interactions; or those of the unbiased counts where each cell is measured within 1."""
        if (self.precisions == 0).any():
            return np.zeros(self.sizes)
        deviation = math.sqrt(float((1 / self.precisions).sum()) / self.size)
        if deviation >= 1:
            return np.zeros(self.sizes)
        logs = np.log(np.maximum(self.cells(self.measured), deviation / 2))
        return self.coefficients(logs - self.mean) / self.deviations

    def logs(self, scaled: Numbers) -> Numbers:
        """The logarithms of counts."""
        return self.mean + self.cells(self.deviations * scaled)

    def evaluate(self, scaled: Numbers, logs: Numbers) -> tuple[float, Numbers, Numbers]:
        """What is minimised, the counts, and the errors of their coefficients."""
        counts = np.exp(np.minimum(logs, _HIGHEST))
        error = self.coefficients(counts) - self.measured
        return float((self.precisions * error**2).sum() + (scaled**2).sum()) / 2, counts, error


_Step = Callable[[Numbers, Numbers], Numbers]
"""From counts and a gradient, by scaled interactions, to how these move."""


def _most_probable(problem: _Problem, step: _Step) -> Numbers:
    scaled = problem.start()
    logs = problem.logs(scaled)
    value, counts, error = problem.evaluate(scaled, logs)
    for _ in range(_STEPS):
        gradient = scaled + problem.deviations * problem.coefficients(
            counts * problem.cells(problem.precisions * error)
        )
        move = step(counts, gradient)
        change = problem.cells(problem.deviations * move)
        slope = float((gradient * move).sum())
        if -slope < _ENOUGH * math.sqrt(problem.size):
            break
        share = min(1.0, _LONGEST / max(float(np.abs(change).max()), _SMALLEST))
        while share > _SMALLEST:
            reached, moved, off = problem.evaluate(scaled + share * move, logs + share * change)
            if reached <= value + 1e-4 * share * slope:
                scaled, logs = scaled + share * move, logs + share * change
                value, counts, error = reached, moved, off
                break
            share /= 2
        else:
            break
    return counts


def _direct_step(problem: _Problem) -> _Step:
    """Newton's steps by Cholesky, over the logarithms of all cells."""
    basis = reduce(np.kron, problem.bases)
    precision = (basis.T * problem.precisions.ravel()) @ basis
    prior = (basis.T / problem.deviations.ravel() ** 2) @ basis

    def step(counts: Numbers, gradient: Numbers) -> Numbers:
        counts = counts.ravel()
        matrix = counts[:, None] * precision * counts + prior
        matrix.flat[:: problem.size + 1] *= 1 + _RIDGE
        slopes = problem.cells(gradient / problem.deviations).ravel()
        return problem.coefficients(_solved(matrix, -slopes).reshape(problem.sizes)) / problem.deviations

    return step


def _solved(matrix: Numbers, right: Numbers) -> Numbers:
    """The solution of a positive definite system, by Cholesky in blocks; both arrays are overwritten.

    The threads of LAPACK's own wait for one another at full load, which beside other work takes many times as long;
    those of products of matrices, of which this is made, do so less.

    >>> _solved(np.array([[4.0, 2.0], [2.0, 2.0]]), np.array([2.0, 0.0]))
    array([ 1., -1.])
    """
    size = len(right)
    blocks = [(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
    inverses: list[Numbers] = []
    for start, end in blocks:
        inverse: Numbers = np.linalg.inv(np.linalg.cholesky(matrix[start:end, start:end])).astype(
            np.float64, copy=False
        )
        below = matrix[end:, start:end] @ inverse.T
        matrix[end:, start:end] = below
        matrix[end:, end:] -= below @ below.T
        right[start:end] = inverse @ right[start:end]
        right[end:] -= below @ right[start:end]
        inverses.append(inverse)
    for (start, end), inverse in zip(reversed(blocks), reversed(inverses), strict=True):
        right[start:end] = inverse.T @ (right[start:end] - matrix[end:, start:end].T @ right[end:])
    return right


def _conjugate_step(problem: _Problem) -> _Step:
    """Newton's steps by conjugate gradients, as if each cell were measured and known a priori on its own."""
    deviations, precisions = problem.deviations, problem.precisions
    measured = float(precisions.mean())
    known = float((deviations**2).mean())

    def step(counts: Numbers, gradient: Numbers) -> Numbers:
        alone = 1 / (1 / known + measured * counts**2)

        def curved(x: Numbers) -> Numbers:
            seen = problem.coefficients(counts * problem.cells(deviations * x))
            return x + deviations * problem.coefficients(counts * problem.cells(precisions * seen))

        def conditioned(x: Numbers) -> Numbers:
            return problem.coefficients(alone * problem.cells(x / deviations)) / deviations

        left, move = -gradient, np.zeros(problem.sizes)
        if not gradient.any():
            return move
        direction = ahead = conditioned(left)
        size = first = float((left * ahead).sum())
        for _ in range(_INNER):
            turned = curved(direction)
            share = size / float((direction * turned).sum())
            move, left = move + share * direction, left - share * turned
            ahead = conditioned(left)
            smaller = float((left * ahead).sum())
            if smaller <= _INEXACT**2 * first:
                break
            direction, size = ahead + smaller / size * direction, smaller
        return move

    return step


def _centring_basis(size: int) -> Numbers:
    """An orthonormal basis whose first row is constant, so that the others are centred (Helmert's).

    >>> _centring_basis(2).round(4).tolist()
    [[0.7071, 0.7071], [0.7071, -0.7071]]
    """
    basis = np.tril(np.ones((size, size)), -1)
    basis[range(1, size), range(1, size)] = -np.arange(1.0, size)
    basis[0] = 1
    return basis / np.linalg.norm(basis, axis=1, keepdims=True)
