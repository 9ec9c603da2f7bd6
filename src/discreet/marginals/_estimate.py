"""Estimate one joint distribution from noisy marginals: weighted least squares over the exponential family of a tree.

The distribution has a potential for each measured marginal, so that of all those with the same marginals it is the one
of most entropy. The squared distances to the measurements, by their variances, are minimised over the potentials: by
damped Newton steps of each marginal on its own with momentum, and then by L-BFGS with exact gradients, which are
covariances under the tree. Source: McKenna, Sheldon and Miklau 2019 (the problem); Nocedal and Wright 2006, chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.marginals._junction_tree import Clique, JunctionTree, Numbers, junction_tree

__all__ = ["FORBIDDEN", "Measurement", "Model", "estimate", "model_of"]

FORBIDDEN = -1e6
"""A potential that leaves a cell no rows: its exponential is 0 in double precision beside any that data lead to."""

_MOST_STEP = 4.0
"""The most that a potential moves in one step."""
_MEMORY = 10
_NEWTON_STEP, _MOST_HALVINGS = 0.3, 12


@dataclass(frozen=True, eq=False)
class Measurement:
    """Unbiased estimates of the counts in the cells of a marginal, in C order, and the variance of each."""

    clique: Clique
    counts: Numbers
    variances: Numbers

    def with_counts(self, counts: Numbers, variances: Numbers) -> Measurement:
        """The same marginal measured twice: the mean by precision.

        >>> one = Measurement((0,), np.array([1.0, 4.0]), np.array([1.0, 1.0]))
        >>> one.with_counts(np.array([3.0, 4.0]), np.array([1.0, 3.0])).counts.tolist()
        [2.0, 4.0]
        """
        both = 1 / self.variances + 1 / variances
        mean = (self.counts / self.variances + counts / variances) / both
        return Measurement(self.clique, mean, 1 / both)


@dataclass(frozen=True, eq=False)
class Model:
    """A joint distribution of columns: a tree, the marginal of each of its cliques, and how many rows there are.

    `potentials` are those of the measured marginals from which it was estimated, as arrays in C order of each clique.
    """

    tree: JunctionTree
    beliefs: tuple[Numbers, ...]
    total: float
    potentials: dict[Clique, Numbers]

    def marginal(self, clique: Clique) -> Numbers:
        """The distribution over the cells of columns that one clique of the tree holds, in C order.

        Raises `KeyError` if none does.
        """
        home = self.tree.home(clique)
        return _reduced(self.beliefs[home], self.tree.cliques[home], clique).ravel()


def model_of(
    sizes: Sequence[int], potentials: dict[Clique, Numbers], total: float, allowed: dict[int, Numbers] | None = None
) -> Model:
    """The distribution of given potentials; of a column in `allowed` only the cells of weight above 0 have rows.

    Raises `ZeroDivisionError` if that leaves nothing.
    """
    cliques = list(potentials)
    tree = junction_tree(sizes, cliques)
    weights = {(column,): np.log(np.maximum(weight, _LEAST_WEIGHT)) for column, weight in (allowed or {}).items()}
    beliefs = tree.beliefs(arrays_of(tree, potentials, weights))
    model = Model(tree, tuple(beliefs), total, potentials)
    for column, weight in (allowed or {}).items():
        if not (weight > 0).any() or model.marginal((column,))[weight <= 0].sum() > _NOTHING_LEFT:
            raise ZeroDivisionError
    return model


def arrays_of(tree: JunctionTree, *potentials: Mapping[Clique, Numbers]) -> list[Numbers]:
    """An array for each clique of a tree: the sum of all potentials that it is the home of."""
    arrays, sizes = [np.zeros(shape) for shape in tree.shapes], tree.sizes
    for clique, values in (item for each in potentials for item in each.items()):
        home = tree.home(clique)
        columns = [column for column in tree.cliques[home] if column in clique]
        turned = values.reshape([sizes[c] for c in clique]).transpose([clique.index(c) for c in columns])
        arrays[home] += turned.reshape([sizes[c] if c in clique else 1 for c in tree.cliques[home]])
    return arrays


_LEAST_WEIGHT = 1e-200
_NOTHING_LEFT = 1e-6


def _reduced(array: Numbers, columns: Clique, clique: Clique) -> Numbers:
    """The sum over all columns of an array but those of a clique, in the clique's order."""
    inside = [column for column in columns if column in clique]
    summed = array.sum(axis=tuple(i for i, column in enumerate(columns) if column not in clique))
    return summed.transpose([inside.index(column) for column in clique])


def estimate(  # noqa: PLR0913
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    total: float,
    *,
    newton: int = 25,
    steps: int = 50,
    start: dict[Clique, Numbers] | None = None,
    fixed: dict[Clique, Numbers] | None = None,
) -> Model:
    """The distribution of `total` rows nearest to the measurements.

    `start` has potentials of an earlier estimate, `fixed` potentials that stay as they are beside those estimated, as
    `FORBIDDEN` where there are no rows; the potentials of the model are without them. At most so many `newton` and
    L-BFGS `steps` are taken.

    >>> counts = np.array([30.0, 10.0, 0.0, 60.0])
    >>> model = estimate([2, 2], [Measurement((0, 1), counts, np.ones(4))], 100)
    >>> (100 * model.marginal((0, 1))).round().tolist()
    [30.0, 10.0, 0.0, 60.0]
    """
    fixed = fixed or {}
    tree = junction_tree(sizes, [*(each.clique for each in measurements), *fixed])
    problem = _Problem(tree, tuple(measurements), total, arrays_of(tree, fixed))
    potentials = problem.potentials(start or {})
    potentials = problem.newton(potentials, newton)
    potentials = problem.lbfgs(potentials, steps)
    return problem.model(potentials)


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a measured marginal is: its home, the axes to sum out, and the shape in which it is added there."""

    home: int
    summed: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Problem:
    """The sum of squares as a function of all potentials in one vector, each marginal in the order of its home."""

    tree: JunctionTree
    measurements: tuple[Measurement, ...]
    total: float
    fixed: Sequence[Numbers]

    @cached_property
    def open(self) -> NDArray[np.bool_] | bool:
        """The measured cells that may hold rows."""
        if not any(each.any() for each in self.fixed):
            return True
        expected, _, _ = self.evaluate(np.zeros_like(self.counts))
        return expected > 0

    @cached_property
    def places(self) -> tuple[_Place, ...]:
        places: list[_Place] = []
        for each in self.measurements:
            home = self.tree.home(each.clique)
            columns, shape = self.tree.cliques[home], self.tree.shapes[home]
            summed = tuple(i for i, column in enumerate(columns) if column not in each.clique)
            spread = tuple(size if column in each.clique else 1 for column, size in zip(columns, shape, strict=True))
            places.append(_Place(home, summed, spread))
        return tuple(places)

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        ends = np.cumsum([each.counts.size for each in self.measurements]).tolist()
        return tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False))

    @cached_property
    def counts(self) -> Numbers:
        return self._vector([each.counts for each in self.measurements])

    @cached_property
    def weights(self) -> Numbers:
        return 1 / self._vector([each.variances for each in self.measurements])

    @cached_property
    def noise(self) -> Numbers:
        """The standard deviation of each cell's noise."""
        return 1 / np.sqrt(self.weights)

    def potentials(self, start: dict[Clique, Numbers]) -> Numbers:
        given = [start.get(each.clique) for each in self.measurements]
        return self._vector(
            [np.zeros(m.counts.size) if g is None else g for m, g in zip(self.measurements, given, strict=True)]
        )

    def _vector(self, arrays: Sequence[Numbers]) -> Numbers:
        """Arrays in C order of each clique, each in the order of its home."""
        return np.concatenate([self._turned(i, array) for i, array in enumerate(arrays)])

    def _turned(self, i: int, array: Numbers) -> Numbers:
        clique = self.measurements[i].clique
        columns = [column for column in self.tree.cliques[self.places[i].home] if column in clique]
        shape = [self.tree.sizes[column] for column in clique]
        return array.reshape(shape).transpose([clique.index(column) for column in columns]).ravel()

    def _returned(self, i: int, vector: Numbers) -> Numbers:
        clique = self.measurements[i].clique
        columns = [column for column in self.tree.cliques[self.places[i].home] if column in clique]
        shape = [self.tree.sizes[column] for column in columns]
        return vector.reshape(shape).transpose([columns.index(column) for column in clique]).ravel()

    def _spread(self, vector: Numbers) -> list[Numbers]:
        """What the measured marginals add to each clique of the tree."""
        return self._added(vector, [np.zeros(shape) for shape in self.tree.shapes])

    def _added(self, vector: Numbers, arrays: list[Numbers]) -> list[Numbers]:
        for place, part in zip(self.places, self._slices, strict=True):
            arrays[place.home] += vector[part].reshape(place.shape)
        return arrays

    def _gathered(self, arrays: Sequence[Numbers]) -> Numbers:
        return np.concatenate([arrays[place.home].sum(axis=place.summed).ravel() for place in self.places])

    def evaluate(self, potentials: Numbers) -> tuple[Numbers, float, list[Numbers]]:
        """The expected counts of all measured cells, the sum of squares, and the beliefs."""
        beliefs = self.tree.beliefs(self._added(potentials, [each.copy() for each in self.fixed]))
        expected = self.total * self._gathered(beliefs)
        error = expected - self.counts
        return expected, float(self.weights @ (error * error)) / 2, beliefs

    def gradient(self, expected: Numbers, beliefs: Sequence[Numbers]) -> Numbers:
        """The derivative of the sum of squares by each potential."""
        pulls = self._spread(self.weights * (expected - self.counts))
        return self.total * self._gathered(self.tree.covariances(beliefs, pulls))

    def newton(self, potentials: Numbers, steps: int) -> Numbers:
        """Damped Newton steps as if each cell were alone, with momentum: quick while far away."""
        if steps == 0:
            return potentials
        before, (_, value, _) = potentials, self.evaluate(potentials)
        step, momentum = _NEWTON_STEP, 0
        damping = 5 * self.noise
        highest = None if self.open is True else _MOST_STEP  # none outgrows what closes a cell
        for _ in range(steps):
            ahead = potentials + momentum / (momentum + 3) * (potentials - before)
            expected, here, _ = self.evaluate(ahead)
            direction = np.clip((self.counts - expected) / (np.maximum(expected, 0) + damping), -_MOST_STEP, highest)
            direction *= self.open
            for _ in range(_MOST_HALVINGS):
                moved = ahead + step * direction
                _, reached, _ = self.evaluate(moved)
                if reached <= here:
                    break
                step /= 2
            else:
                break
            if reached > value:
                before, momentum = potentials, 0
                continue
            before, potentials, value = potentials, moved, reached
            momentum, step = momentum + 1, step * 1.1
        return potentials

    def lbfgs(self, potentials: Numbers, steps: int, *, enough: float = 1e-4) -> Numbers:
        """L-BFGS, scaled by the curvature that each cell would have alone; ends where little is gained."""
        if steps == 0:
            return potentials
        expected, value, beliefs = self.evaluate(potentials)
        gradient = self.gradient(expected, beliefs)
        moves: list[tuple[Numbers, Numbers, float]] = []
        slow = 0
        for _ in range(steps):
            scale = 1 / (self.weights * np.maximum(expected, 1e-12) * (expected + self.noise))
            direction = _direction(gradient, scale, moves)
            slope, step = (
                float(gradient @ direction),
                min(1.0, _MOST_STEP / max(float(np.abs(direction).max()), 1e-300)),
            )
            if slope <= 0:
                break
            for _ in range(_MOST_HALVINGS):
                moved = potentials - step * direction
                expected, reached, beliefs = self.evaluate(moved)
                if reached <= value - 1e-4 * step * slope:
                    break
                step /= 2
            else:
                break
            turned = self.gradient(expected, beliefs)
            move, change = moved - potentials, turned - gradient
            curvature = float(move @ change)
            if curvature > 1e-10 * float(np.linalg.norm(move) * np.linalg.norm(change)):
                moves = [*moves, (move, change, 1 / curvature)][-_MEMORY:]
            slow = slow + 1 if value - reached < enough * value else 0
            potentials, gradient, value = moved, turned, reached
            if slow == 3:
                break
        return potentials

    def model(self, potentials: Numbers) -> Model:
        _, _, beliefs = self.evaluate(potentials)
        by_clique = {
            each.clique: self._returned(i, potentials[part])
            for i, (each, part) in enumerate(zip(self.measurements, self._slices, strict=True))
        }
        return Model(self.tree, tuple(beliefs), self.total, by_clique)


def _direction(gradient: Numbers, scale: Numbers, moves: Sequence[tuple[Numbers, Numbers, float]]) -> Numbers:
    """The two loops of L-BFGS."""
    direction, parts = gradient.copy(), list[float]()
    for move, change, inverse in reversed(moves):
        parts.append(inverse * float(move @ direction))
        direction -= parts[-1] * change
    gain = 0.1
    if moves:
        move, change, _ = moves[-1]
        gain = float(move @ change) / float(change @ (scale * change))
    direction *= gain * scale
    for (move, change, inverse), part in zip(moves, reversed(parts), strict=True):
        direction += (part - inverse * float(change @ direction)) * move
    return direction
