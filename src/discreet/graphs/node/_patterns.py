"""Subgraphs of one shape, grouped by which of their vertices are constrained: triangles and stars."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups", "Patterns", "Stars", "Triangles", "exact_sum"]

_WEDGES_AT_ONCE = 1 << 22
_MOST = 1 << 50
"""Loads and multiplicities are cut to this, which is more than any cap: both matter only up to the cap."""
_HALF = 20


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Subgraphs that meet the same constrained vertices, counted together. SENSITIVE.

    Attributes
    ----------
    members
        The constrained vertices of each group, shape (groups, size); a row is filled up with the number of vertices.
    multiplicity
        How many patterns each group has, shape (groups,), each at least 1, and cut to 2**50: more than any cap on what
        one vertex has, so that it is the same program.
    free
        How many patterns meet no constrained vertex.
    """

    members: NDArray[np.int64]
    multiplicity: NDArray[np.int64]
    free: int


@dataclass(frozen=True)
class Triangles:
    """The triangles of a simple graph with `ends` of shape (m, 2), a < b, unique. SENSITIVE.

    >>> Triangles(4, np.array([[0, 1], [0, 2], [1, 2], [2, 3]])).total
    1
    """

    vertices: int
    ends: NDArray[np.int64]

    @cached_property
    def corners(self) -> NDArray[np.int64]:
        """The three vertices of each triangle, shape (triangles, 3).

        Each edge points to the end of larger degree; a triangle is a pair of edges out of one vertex whose heads are
        joined. Time and space are O(m^1.5).
        """
        n = self.vertices
        degree = np.bincount(self.ends.ravel(), minlength=n)
        rank = np.empty(n, np.int64)
        rank[np.lexsort((np.arange(n), degree))] = np.arange(n)
        arcs = np.sort(rank[self.ends], axis=1)
        arcs = arcs[np.lexsort((arcs[:, 1], arcs[:, 0]))]
        codes = arcs[:, 0] * n + arcs[:, 1]
        after = np.searchsorted(arcs[:, 0], arcs[:, 0], side="right") - np.arange(len(arcs)) - 1
        starts = np.concatenate([[0], np.cumsum(after)])
        parts: list[NDArray[np.int64]] = []
        first = 0
        while first < len(arcs):
            last = max(int(np.searchsorted(starts, starts[first] + _WEDGES_AT_ONCE, side="right")) - 1, first + 1)
            count = after[first:last]
            left = np.repeat(np.arange(first, last), count)
            right = left + 1 + np.arange(len(left)) - np.repeat(starts[first:last] - starts[first], count)
            wanted = arcs[left, 1] * n + arcs[right, 1]
            place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
            closed = codes[place] == wanted
            parts.append(np.column_stack([arcs[left[closed]], arcs[right[closed], 1]]))
            first = last
        corners = np.concatenate(parts) if parts else np.empty((0, 3), np.int64)
        return np.argsort(rank)[corners]

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.corners)

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """How many there are at each vertex."""
        return np.bincount(self.corners.ravel(), minlength=self.vertices)

    def groups(self, constrained: NDArray[np.bool_]) -> Groups:
        """The triangles, grouped by their constrained vertices."""
        members = np.where(constrained[self.corners], self.corners, self.vertices)
        return _merged(members, np.ones(len(members), np.int64), self.vertices)


@dataclass(frozen=True)
class Stars:
    """The k-stars of a simple graph, a centre and `leaves` of its neighbours, for 2 leaves or more. SENSITIVE.

    >>> Stars(4, np.array([[0, 1], [0, 2], [1, 2], [2, 3]]), leaves=2).total
    5
    """

    vertices: int
    ends: NDArray[np.int64]
    leaves: int

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of each vertex."""
        return np.bincount(self.ends.ravel(), minlength=self.vertices)

    @cached_property
    def total(self) -> int:
        """How many there are."""
        return sum(math.comb(d, self.leaves) for d in self.degrees.tolist())

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """How many there are at each vertex: C(d, k) as a centre, C(d − 1, k − 1) as a leaf of each neighbour."""
        degrees, k = self.degrees, self.leaves
        loads = _binomials(degrees, k)
        as_leaf = _binomials(degrees - 1, k - 1)
        for near, far in ((0, 1), (1, 0)):  # floats are exact up to 2**53, and what is above stays above 2**50
            loads += np.bincount(self.ends[:, near], as_leaf[self.ends[:, far]], minlength=self.vertices)
        return np.minimum(loads, _MOST).astype(np.int64)

    def groups(self, constrained: NDArray[np.bool_]) -> Groups:
        """A centre's stars with the same constrained leaves are one group, whichever their other leaves are."""
        n, k = self.vertices, self.leaves
        both = np.concatenate([self.ends, self.ends[:, ::-1]])
        both = both[constrained[both[:, 1]]]
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        starts = np.searchsorted(both[:, 0], np.arange(n + 1))
        rows: list[NDArray[np.int64]] = []
        counts: list[NDArray[np.int64]] = []
        for centre, degree in enumerate(self.degrees.tolist()):
            near = both[starts[centre] : starts[centre + 1], 1]
            others = degree - len(near)
            for size in range(max(0, k - others), min(k, len(near)) + 1):
                chosen = near[_subsets(len(near), size)]
                row = np.full((len(chosen), k + 1), n, np.int64)
                row[:, :size] = chosen
                row[:, k] = centre if constrained[centre] else n
                rows.append(row)
                counts.append(np.full(len(chosen), min(math.comb(others, k - size), _MOST), np.int64))
        if not rows:
            return Groups(np.empty((0, k + 1), np.int64), np.empty(0, np.int64), 0)
        return _merged(np.concatenate(rows), np.concatenate(counts), n)


Patterns = Triangles | Stars
"""All subgraphs of one shape in one graph."""


def _subsets(n: int, size: int) -> NDArray[np.int64]:
    """All subsets of 0 … n − 1 of a size, shape (subsets, size)."""
    if size == 0:
        return np.empty((1, 0), np.int64)
    if size == 1:
        return np.arange(n)[:, None]
    if size == 2:
        return np.column_stack(np.triu_indices(n, 1))
    return np.array(list(combinations(range(n), size)), np.int64).reshape(-1, size)


def _merged(members: NDArray[np.int64], multiplicity: NDArray[np.int64], n: int) -> Groups:
    """Equal sets of members as one group; those without any are free."""
    ordered = np.sort(members, axis=1)
    bound = ordered[:, 0] < n if len(ordered) else np.empty(0, np.bool_)
    free = exact_sum(multiplicity[~bound])
    ordered, multiplicity = ordered[bound], multiplicity[bound]
    if not len(ordered):
        return Groups(ordered, multiplicity, free)
    order = np.lexsort(ordered.T[::-1])
    ordered, multiplicity = ordered[order], multiplicity[order]
    first = np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)])
    high = np.minimum(np.add.reduceat(multiplicity >> _HALF, first), _MOST >> _HALF)
    low = np.add.reduceat(multiplicity & ((1 << _HALF) - 1), first)
    return Groups(ordered[first], np.minimum((high << _HALF) + low, _MOST), free)


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum of numbers of 0 or more, beyond 64 bits as well.

    >>> exact_sum(np.array([2**62, 2**62, 1])) == 2**63 + 1
    True
    """
    return (int((values >> _HALF).sum()) << _HALF) + int((values & ((1 << _HALF) - 1)).sum())


def _binomials(degrees: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """C(d, k) for each degree, cut to 2**50."""
    different, place = np.unique(degrees, return_inverse=True)
    return np.array([float(min(math.comb(max(d, 0), k), _MOST)) for d in different.tolist()])[place]
