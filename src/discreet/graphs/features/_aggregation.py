"""Aggregation perturbation: neighbours' vectors of bounded norm are summed, with noise on each sum, hop after hop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import LedgerError, ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs._losses import added_up
from discreet.mechanisms import DiscreteGaussian, Gaussian
from discreet.prices import Prices, additive_from_json, additive_to_json, with_noise
from discreet.privacy import Loss, budget_of
from discreet.sensitivity import Norms

__all__ = ["GRID", "MOST_COLUMNS", "MOST_HOPS", "NoisyAggregation", "neighbour_sums", "normalized", "unit_vectors"]

GRID = 2**12
"""A length of 1 in whole numbers, if no other grid is given."""
MOST_COLUMNS = 2**12
MOST_HOPS = 16
_MOST_GRID = 2**20
_STEPS = 2.0**24
"""Entries of a row are rounded to so many parts of its largest: squares of 2**12 of them add up in 64 bits."""


@dataclass(frozen=True, slots=True)
class NoisyAggregation:
    """Features of a vertex's neighbourhood for a learner, with edge privacy.

    Each hop sums the vectors of a vertex's neighbours, which are whole numbers and no longer than `grid`, and adds
    noise to every sum. The noisy sums, made as long again, are the vectors of the next hop: what it starts from is
    public by then. An edge adds a vector to the sums of both its ends, so the squared L2 sensitivity of a hop is
    2 grid².

    Attributes
    ----------
    hops
        From 1 to 16. Each costs as much.
    noise
        What each number of each hop gets, in whole numbers of which `grid` are a length of 1.
    grid
        How long a vector is at most, from 16 to 2**20.

    Raises `ParameterError` for a parameter out of its range. Source: the aggregation module of GAP,
    Sajadmanesh, Shamsabadi, Bellet and Gatica-Perez 2023; ``proofs/graph_features.md``.

    >>> from discreet.privacy import mu
    >>> NoisyAggregation(hops=2, noise=Gaussian(2**13)).loss() == mu(1)
    True
    """

    ledger_counts: ClassVar[Literal["edges"]] = "edges"

    hops: int
    noise: DiscreteGaussian | Gaussian
    grid: int = GRID

    def __post_init__(self) -> None:
        for name, value, (low, high) in (("hops", self.hops, (1, MOST_HOPS)), ("grid", self.grid, (16, _MOST_GRID))):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ParameterError(f"{name} must be an integer from {low} to {high}, got {value!r}")
        if not isinstance(self.noise, DiscreteGaussian | Gaussian):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the noise of an aggregation is Gaussian or DiscreteGaussian")

    @classmethod
    def calibrate(cls, spend: Loss, hops: int = 2) -> NoisyAggregation:
        """The one whose hops together are within a spend, an equal part each.

        Discrete Gaussian noise for a ρ; for a μ, or an (ε, δ), continuous Gaussian noise that is rounded exactly, whose
        hops compose without loss. Raises `ParameterError` for a spend without a δ, and for a number of hops that is
        none.

        >>> from discreet.privacy import approx
        >>> round(float(NoisyAggregation.calibrate(approx(2, 1e-5)).noise.sigma) / GRID, 2)
        3.99
        """
        kind, (_, *deltas) = budget_of(spend)
        if kind == "pure" or (kind == "approx" and not any(deltas)):
            raise ParameterError(
                "features of neighbourhoods have Gaussian noise, which no epsilon without a delta pays for; "
                "spend dp.approx(2, 1e-5), dp.rho(0.1) or dp.mu(0.5)"
            )
        plain = cls(hops, Gaussian(1))
        prices = Prices.of_spend(spend, plain.moved)
        noise = prices.measurement(prices.total / hops)
        return cls(hops, cast("DiscreteGaussian | Gaussian", noise))

    @property
    def moved(self) -> Norms:
        """How far one edge moves the sums of one hop: two rows, by a vector each, of 2**12 columns at most."""
        return Norms(2 * self.grid * isqrt(MOST_COLUMNS), 2 * self.grid**2, self.grid)

    def loss(self) -> Loss:
        """What all hops lose for one edge: ρ = hops · grid² / sigma², or μ with μ² = 2 hops · grid² / sigma²."""
        currency = "mu" if isinstance(self.noise, Gaussian) else "rho"
        return added_up([self.noise.loss(self.moved)] * self.hops, currency)

    def release(self, graph: Graph, vectors: ArrayLike) -> NDArray[np.int64]:
        """The noisy sums of all hops. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        Parameters
        ----------
        vectors
            Public: a row of finite numbers for each vertex, of any length but made as long as each other.

        Returns
        -------
        int64, of shape (hops, vertices, columns): `grid` is a length of 1, and `features` makes them as long again.

        Raises `ParameterError` for vectors that are none, by what they are alone.

        >>> path = Graph.from_pairs([(0, 1), (1, 2)])
        >>> NoisyAggregation(1, DiscreteGaussian("0.001")).release(path, [[3, 4], [0, 0], [5, 12]])[0].tolist()
        [[0, 0], [4032, 7056], [0, 0]]
        """
        units = unit_vectors(vectors, graph.vertices, self.grid)
        return np.stack(list(self.draw(graph, units)))

    def draw(self, graph: Graph, units: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The noisy sums of one hop after another, from vectors of `unit_vectors`. Costs as `release`."""
        rows = units
        for hop in range(1, self.hops + 1):
            noisy = with_noise(neighbour_sums(graph, rows), self.noise)
            yield noisy
            rows = normalized(noisy, self.grid) if hop < self.hops else rows

    def features(self, units: NDArray[np.int64], noisy: NDArray[np.int64]) -> NDArray[np.float64]:
        """The vectors, and the noisy sums of each hop made as long again, side by side: what a learner reads.

        float64, of shape (vertices, (hops + 1) columns); each vector is no longer than 1. Post-processing: it is free.
        """
        return np.concatenate([units, *(normalized(each, self.grid) for each in noisy)], axis=1) / self.grid

    def to_json(self) -> dict[str, Any]:
        """The parameters as plain JSON."""
        return {"hops": self.hops, "bound": self.grid, "noise": additive_to_json(self.noise)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NoisyAggregation:
        """The inverse of `to_json`. Raises `LedgerError`, `KeyError` or `ParameterError` for anything else."""
        noise = additive_from_json(data["noise"])
        if not isinstance(noise, DiscreteGaussian | Gaussian):
            raise LedgerError("an aggregation has Gaussian noise, and this certificate states another")
        return cls(data["hops"], noise, data["bound"])


def normalized(rows: NDArray[Any], grid: int = GRID) -> NDArray[np.int64]:
    """Each row with its direction, in whole numbers, and a length just below `grid`, never above; zeros stay zeros.

    Finite numbers of shape (n, columns), columns at most 2**12; int64 of the same shape. Floating point proposes a row,
    whose squares are then added up in exact integers; so no rounding, of this machine or another, makes a row longer.

    >>> normalized(np.array([[3, 4], [0, 0], [1e308, -1e308], [5e-324, 0]]), 100).tolist()
    [[60, 80], [0, 0], [70, -70], [100, 0]]
    """
    numbers = np.asarray(rows, np.float64)
    largest = np.abs(numbers).max(axis=1, keepdims=True, initial=0.0)
    steps = np.rint(numbers / np.where(largest > 0, largest, 1.0) * _STEPS)
    squares = np.square(steps.astype(np.int64)).sum(axis=1, keepdims=True)
    lengths = np.sqrt(np.maximum(squares, 1).astype(np.float64))
    sizes = np.floor(np.abs(steps) * grid / lengths).astype(np.int64)
    while (longer := np.square(sizes).sum(axis=1) > grid * grid).any():
        sizes[longer] = np.maximum(sizes[longer] - 1, 0)
    return np.where(steps < 0, -sizes, sizes)


def unit_vectors(vectors: ArrayLike, vertices: int, grid: int = GRID) -> NDArray[np.int64]:
    """Public vectors of vertices, a row each, as `normalized` makes them.

    Raises `ParameterError` for another shape, for NaN and infinities, and for what are no numbers.
    """
    try:
        given = np.asarray(vectors)
    except ValueError:
        raise ParameterError("the vectors must be an array of numbers, with a row for each vertex") from None
    if given.ndim != 2 or given.shape[0] != vertices or not 1 <= given.shape[1] <= MOST_COLUMNS:
        raise ParameterError(
            f"the vectors must have a row for each of {vertices:,} vertices and from 1 to {MOST_COLUMNS:,} columns, "
            f"got the shape {given.shape}"
        )
    if given.dtype.kind not in "biuf":
        raise ParameterError(f"the vectors must be numbers, got {given.dtype}; encode categories first, as 0 and 1")
    with np.errstate(over="ignore"):
        numbers = given.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ParameterError("the vectors must be finite: fill in or leave out NaN and infinities")
    return normalized(numbers, grid)


def neighbour_sums(graph: Graph, units: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each vertex the sum of its neighbours' vectors: int64 of the same shape, exact. SENSITIVE.

    >>> neighbour_sums(Graph.from_pairs([(0, 1), (1, 2)]), np.array([[1], [10], [100]])).tolist()
    [[10], [101], [10]]
    """
    from scipy import sparse

    n, (a, b) = graph.vertices, graph.ends.T
    ends = np.concatenate([a, b]), np.concatenate([b, a])
    matrix: Any = sparse.csr_array((np.ones(2 * graph.edges, np.int64), ends), shape=(n, n))
    return np.asarray(matrix @ units, np.int64)
