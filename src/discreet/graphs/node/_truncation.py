"""Patterns that fit under a cap at every vertex: a linear program between exact bounds, its tolerance charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.graphs.node._interior_point import Packing, solve_packing
from discreet.graphs.node._patterns import Groups, Patterns, exact_sum
from discreet.graphs.node._simplex import exact_packing, solve_by_library

__all__ = ["PACKED", "PackedPatterns", "Resolution", "Truncated", "certified", "exactly", "solvers"]

_BITS, _MOST_BITS = 30, 50
_INT64_BITS = 62
_GAP = 8192
"""The interior point stops at this part of the cap: an eighth of the tolerance, of which rounding takes up to half."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The public grid of a truncated count: `steps` to 1, and up to `slack` · cap steps of tolerance.

    The value V of a graph at a cap C is an integer with steps · F ≤ V ≤ steps · F + slack · C, where F is the exact
    value of the extension, which moves by 0 to C when a vertex goes. What is measured is V, or, `from_vertices`, what V
    leaves of as many times `steps` as there are vertices.
    """

    steps: int
    slack: int
    from_vertices: bool = False

    def measured(self, value: int, vertices: int) -> int:
        """What gets noise, in steps: the value, or what it leaves of the vertices. SENSITIVE."""
        return self.steps * vertices - value if self.from_vertices else value

    def sensitivity(self, cap: int) -> int:
        """By how many steps what is measured moves at most when a vertex comes or goes.

        A vertex that comes adds 1 to the vertices and 0 to C to F, so that their difference moves by 1 − C to 1.
        """
        if self.from_vertices:
            return max((self.steps + self.slack) * cap - self.steps, self.steps + self.slack * cap)
        return (self.steps + self.slack) * cap

    def weight(self, cap: int) -> int:
        """A bound on the move of the difference of two such values, at this cap and a smaller one."""
        return (self.steps + 2 * self.slack) * cap


@dataclass(frozen=True, slots=True)
class Truncated:
    """A value in steps, and by how many steps it must fall for each 1 that the cap is lower. SENSITIVE.

    The value at a smaller cap is at most `value` − `slope` · (the difference of caps), and then its own tolerance.
    """

    value: int
    slope: int


PACKED = Resolution(steps=4096, slack=4)
"""What the solver may leave open is 1/1024 of the cap, rounding included: the noise is scaled up by so much."""


@dataclass(frozen=True, slots=True)
class PackedPatterns:
    """The count of patterns truncated at any cap: Σ x with 0 ≤ x ≤ 1, and at most the cap at every vertex. SENSITIVE.

    Source: Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013, section 4.2 (the linear program); certificate:
    ``proofs/graph_node_counts.md``.
    """

    patterns: Patterns

    def truncated(self, cap: int) -> Truncated:
        """The count at a cap, on the grid of `PACKED`, certified to be within its tolerance."""
        patterns = self.patterns
        groups = patterns.groups(patterns.loads > cap)
        if not len(groups.members):
            return Truncated(PACKED.steps * patterns.total, slope=0)
        for solve in solvers():
            value = certified(groups, solve(groups, patterns.vertices, cap), patterns.vertices, cap)
            if value is not None:
                return value
        return exactly(groups, patterns.vertices, cap)


Solver = Callable[[Groups, int, int], Packing]


def solvers() -> tuple[Solver, ...]:
    """What is tried in turn until one is certified; if none is, the exact method runs, however long it takes."""
    return (
        lambda groups, n, cap: solve_packing(groups.members, groups.multiplicity, n, cap, cap / _GAP),
        lambda groups, n, cap: solve_by_library(groups.members, groups.multiplicity, n, cap),
    )


def exactly(groups: Groups, vertices: int, cap: int) -> Truncated:
    """The extension itself in fractions, rounded up to the grid. SENSITIVE."""
    weights, prices = exact_packing(groups.members, groups.multiplicity, vertices, cap)
    value = groups.free + sum(int(m) * x for m, x in zip(groups.multiplicity, weights, strict=True))
    return Truncated(math.ceil(PACKED.steps * value), slope=math.floor(PACKED.steps * sum(prices)))


def certified(groups: Groups, packing: Packing, vertices: int, cap: int) -> Truncated | None:
    """The dual objective, rounded up to the grid, if a feasible primal point shows it to be within the tolerance.

    Both are sums of integers: whatever the floats of `packing` are, the value is never below the extension, and never
    above it by more than the tolerance. None if that is not shown.
    """
    members, m = groups.members, groups.multiplicity
    kind, bits = _arithmetic(exact_sum(m) + groups.free, cap, vertices)
    scale = 1 << bits
    prices = _integers(packing.prices, 0, 1, scale, kind)
    at_members = np.append(prices, np.zeros(1, kind))[members].sum(axis=1)
    dual = cap * int(prices.sum()) + int((m.astype(kind) * np.maximum(scale - at_members, 0)).sum())
    weights = _feasible(_integers(packing.weights, 0, 1, scale, kind), groups, vertices, cap * scale, kind)
    value = _up((dual + groups.free * scale) * PACKED.steps, scale)
    if weights is None:
        return None
    primal = int((m.astype(kind) * weights).sum()) + groups.free * scale
    if value - primal * PACKED.steps // scale > PACKED.slack * cap:
        return None
    return Truncated(value, slope=int(prices.sum()) * PACKED.steps // scale)


def _arithmetic(total: int, cap: int, vertices: int) -> tuple[type, int]:
    """Integers of 64 bits where no sum can pass them, else those of Python; and the bits after the point."""
    bits = _INT64_BITS - max(3 * total, cap * vertices, 1).bit_length()
    return (np.int64, min(bits, _MOST_BITS)) if bits >= _BITS else (object, _MOST_BITS)


def _integers(values: NDArray[np.float64], low: float, high: float, scale: int, kind: type) -> NDArray[np.int64]:
    finite = np.nan_to_num(values, nan=low, posinf=high, neginf=low)
    return np.rint(np.clip(finite, low, high) * scale).astype(np.int64).astype(kind)


def _loads(weights: NDArray[np.int64], groups: Groups, vertices: int, kind: type) -> NDArray[np.int64]:
    loads = np.zeros(vertices + 1, kind)
    weighted = groups.multiplicity.astype(kind) * weights
    for column in groups.members.T:
        np.add.at(loads, column, weighted)
    return loads[:vertices]


def _feasible(
    weights: NDArray[np.int64], groups: Groups, vertices: int, room: int, kind: type
) -> NDArray[np.int64] | None:
    """The weights, lowered where a vertex has more than there is room for; None if that is not enough."""
    loads = _loads(weights, groups, vertices, kind)
    over = loads > room
    if not over.any():
        return weights
    share = np.ones(vertices + 1)
    share[:vertices][over] = np.array([room / load for load in loads[over].tolist()]) * (1 - 2.0**-40)
    lowest = share[groups.members].min(axis=1)
    lowered = np.where(lowest < 1, np.floor(weights.astype(np.float64) * lowest).astype(np.int64), weights).astype(kind)
    return lowered if (_loads(lowered, groups, vertices, kind) <= room).all() else None


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
