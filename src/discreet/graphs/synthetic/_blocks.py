"""A random graph of given degrees and given clustering by degree: dense blocks, and edges between them at random.

After Seshadhri, Kolda and Pinar 2012 and Kolda, Pinar, Plantenga and Seshadhri 2014 (BTER, block two-level
Erdős–Rényi): vertices of similar degrees form blocks, each a random graph whose density gives the clustering; the edges
that a vertex lacks then join it to any other. All randomness is drawn through `discreet.noise`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.graphs._graph import Graph
from discreet.graphs.synthetic._statistics import class_of_degree
from discreet.noise import fresh_draws, permutation

__all__ = ["block_graph"]

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

_INWARD = 0.5
"""How far the share of a vertex's edges within its block is from BTER's, c^(1/3), towards 1. A public assumption: the
share decides how modular the graph is, and nothing is measured of that."""
_LEAST = 1e-4
_SPARSEST = 1 / 8
_ROUNDS = 30
_TRIES = 60
_WORD = 2.0**32


def block_graph(degrees: Integers, clustering: Numbers) -> Graph:
    """A random graph in which vertex i has about `degrees[i]` neighbours.

    Parameters
    ----------
    degrees
        Of each vertex, the largest first.
    clustering
        The mean local clustering coefficient that the vertices of each class of degrees should have, from 0 to 1.

    Degrees are met exactly, but where no graph has them, or none was hit upon. Costs no privacy.

    >>> graph = block_graph(np.full(30, 2), np.array([1.0]))
    >>> set(graph.degrees().tolist()), graph.edges
    ({2}, 30)
    """
    vertices = len(degrees)
    within = _within_blocks(degrees, clustering)
    within = within[_fitting(within, degrees)]
    inner = np.sort(within[:, 0] * vertices + within[:, 1])
    lacking = degrees - np.bincount(within.ravel(), minlength=vertices)
    keys = np.sort(_matched(inner, lacking))
    return Graph(vertices, np.column_stack(np.divmod(keys, vertices)) if keys.size else np.empty((0, 2), np.int64))


def _within_blocks(degrees: Integers, clustering: Numbers) -> Integers:
    """Pairs of vertices within blocks, each independently an edge."""
    firsts: list[Integers] = []
    seconds: list[Integers] = []
    thresholds: list[NDArray[np.uint64]] = []
    for begin, end, density in _blocks(degrees, clustering):
        first, second = np.triu_indices(end - begin, 1)
        firsts.append(first + begin)
        seconds.append(second + begin)
        thresholds.append(np.full(len(first), round(density * _WORD), np.uint64))
    if not firsts:
        return np.empty((0, 2), np.int64)
    chosen = fresh_draws().steps(np.concatenate(thresholds))
    return np.column_stack([np.concatenate(firsts)[chosen], np.concatenate(seconds)[chosen]]).astype(np.int64)


def _blocks(degrees: Integers, clustering: Numbers) -> list[tuple[int, int, float]]:
    """Where each block begins and ends, and its density; the vertices of the highest degrees make the first one.

    A vertex of degree k with a share s of its edges in a block of density p and size 1 + s k / p has a clustering of
    about p s²; so p = c / s² for a clustering of c. BTER has s = p. A block is as large as its last vertex allows; for
    little clustering it is no larger than for a density of 1/8, and has fewer of the edges.
    """
    last = int(np.count_nonzero(degrees >= 2))
    k = degrees[:last].astype(np.float64)
    c = np.clip(clustering[class_of_degree(degrees[:last])], _LEAST, 1.0)
    share = np.cbrt(c)
    share = share + _INWARD * (1 - share)
    most = np.maximum(share * k / np.maximum(c / share**2, _SPARSEST), 2.0)
    blocks: list[tuple[int, int, float]] = []
    begin = 0
    while begin < last:
        window = most[begin : begin + int(most[begin]) + 2]
        over = np.arange(len(window)) > np.floor(window)
        size = int(np.argmax(over)) if over.any() else len(window)
        end = begin + size
        if size > 2:
            degree = k[begin:end]
            closed = float(np.mean((size - 1) * (size - 2) / (degree * (degree - 1))))
            density = min(np.cbrt(float(c[begin:end].mean()) / closed), degree[-1] / (size - 1), 1.0)
            blocks.append((begin, end, density))
        begin = end
    return blocks


def _fitting(pairs: Integers, degrees: Integers) -> NDArray[np.bool_]:
    """Which edges stay so that no vertex has more than its degree: the first ones of both ends, in random order."""
    order = permutation(len(pairs))
    ends = pairs[order].ravel()
    places = np.argsort(ends, kind="stable")
    rank = np.empty(len(ends), np.int64)
    rank[places] = np.arange(len(ends)) - np.searchsorted(ends[places], ends[places], side="left")
    stay = np.empty(len(pairs), np.bool_)
    stay[order] = (rank < degrees[ends]).reshape(-1, 2).all(axis=1)
    return stay


def _matched(inner: Integers, lacking: Integers) -> Integers:
    """All edges, once random ends were joined until no vertex lacks one: loops and repeats are drawn again."""
    vertices, outer = len(lacking), np.empty(0, np.int64)
    for _ in range(_ROUNDS):
        ends = np.repeat(np.arange(vertices), lacking)
        pairs = ends[permutation(len(ends))[: len(ends) // 2 * 2]].reshape(-1, 2)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        if not len(pairs):
            break
        keys = np.unique(pairs.min(axis=1) * vertices + pairs.max(axis=1))
        keys = keys[~_is_member(keys, inner) & ~_is_member(keys, outer)]
        outer = np.sort(np.concatenate([outer, keys]))
        lacking = lacking - np.bincount(np.concatenate(np.divmod(keys, vertices)), minlength=vertices)
    ends = np.repeat(np.arange(vertices), lacking)
    if len(ends) < 2:
        return np.concatenate([outer, inner])
    ends = ends[permutation(len(ends))[: len(ends) // 2 * 2]].reshape(-1, 2)
    return _Switching(inner, outer, vertices).edges(ends)


def _is_member(keys: Integers, members: Integers) -> NDArray[np.bool_]:
    """Which keys are among the sorted members."""
    if not members.size:
        return np.zeros(len(keys), np.bool_)
    return members[np.minimum(np.searchsorted(members, keys), len(members) - 1)] == keys


class _Switching:
    """Edges for the last ends a and b, which only loops and repeats would match: an edge xy becomes ax and by.

    Edges between blocks are taken first, so that blocks stay dense, and then any.
    """

    def __init__(self, inner: Integers, outer: Integers, vertices: int) -> None:
        self._vertices, self._between = vertices, len(outer)
        self._edges = [*outer.tolist(), *inner.tolist()]
        self._present = set(self._edges)

    def edges(self, ends: Integers) -> Integers:
        """All edges, with those of the last ends: int64 of shape (p, 2)."""
        draws = fresh_draws()
        for a, b in ends.tolist():
            for size in (self._between, len(self._edges)):
                places = draws.below(size, _TRIES).tolist() if size else []
                turns = draws.below(2, len(places)).tolist()
                if any(self._is_switched(a, b, place, turn) for place, turn in zip(places, turns, strict=True)):
                    break
        return np.array(self._edges, np.int64)

    def _is_switched(self, a: int, b: int, place: int, turn: int) -> bool:
        x, y = divmod(self._edges[place], self._vertices)
        x, y = (y, x) if turn else (x, y)
        if a == x or b == y:
            return False
        one, two = (min(p, q) * self._vertices + max(p, q) for p, q in ((a, x), (b, y)))
        if one == two or one in self._present or two in self._present:
            return False
        self._present.remove(self._edges[place])
        self._present |= {one, two}
        self._edges[place] = one
        self._edges.append(two)
        return True
