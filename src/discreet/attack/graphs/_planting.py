"""What an attacker plants in a graph before it is published: vertices joined to each other, and to targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.attack.graphs._edges import checked_pairs
from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.noise import fresh_draws, permutation

__all__ = ["Planting", "without_names"]

_EXCESS = 0.1
"""Planted are (2 + δ) log2 n vertices: this is δ."""
_MOST_LINKS = 3
"""A target is linked to so many planted vertices at most."""
_MOST_SIZE = 200


@dataclass(frozen=True, repr=False, eq=False)
class Planting:
    """Vertices that an attacker adds to a graph, and their edges. `Planting.random` draws one.

    All of it is chosen before the graph is published, without knowing any of its edges. The planted vertices are
    x₀, x₁, …: each is joined to the next, other pairs of them by a coin, and each targeted vertex is joined to a set of
    them that no other target has. In a data set they are accounts that the attacker made up.

    Attributes
    ----------
    vertices
        How many vertices the graph has without them; theirs are the numbers that follow.
    pairs
        The targets, pairs of vertices of the graph of which it is guessed whether they are joined: int64 of shape
        (p, 2).
    inside
        Which planted vertices are joined to each other: boolean of shape (k, k).
    links
        Which planted vertices each targeted vertex is joined to, in the order of `targets`: boolean of shape (t, k).

    Raises `ParameterError` for parts that do not fit, a path that is broken, and targets that are linked to nobody or
    as another one is, who could not be recognised.
    """

    vertices: int
    pairs: NDArray[np.int64]
    inside: NDArray[np.bool_]
    links: NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Check that the parts fit."""
        object.__setattr__(self, "pairs", checked_pairs(self.pairs, self.vertices))
        size, targets = len(self.inside), len(self.targets)
        if self.inside.shape != (size, size) or self.links.shape != (targets, size) or size < 2:
            raise ParameterError("of k planted vertices inside is of shape (k, k), and links (targets, k)")
        if self.inside.dtype != bool or self.links.dtype != bool:
            raise ParameterError("inside and links are truth values")
        if self.inside.diagonal().any() or (self.inside != self.inside.T).any() or not self.inside.diagonal(1).all():
            raise ParameterError("planted vertices are joined both ways, not to themselves, and each to the next")
        if not self.links.any(axis=1).all() or len(np.unique(self.links, axis=0)) < targets:
            raise ParameterError("each targeted vertex is linked to a set of planted ones that no other target has")

    def __repr__(self) -> str:
        return f"<Planting of {self.size} vertices for {len(self.targets):,} targeted ones, {len(self.pairs):,} pairs>"

    @classmethod
    def random(cls, vertices: int, pairs: ArrayLike, *, size: int | None = None) -> Planting:
        """Draw the edges of planted vertices, for a graph of so many vertices.

        Parameters
        ----------
        vertices
            How many the graph has.
        pairs
            Pairs of vertices that the attacker wants to know about, of shape (p, 2).
        size
            How many vertices are planted. Left out, 2.1 log2 n, rounded up, or as many as it takes to link each target
            to another set of one to three: with so many no other part of the graph looks like the planted one, but
            with a probability that vanishes. With fewer that usually holds as well.

        Raises
        ------
        ParameterError
            For pairs that are none of the graph's, and too few planted vertices for the targets.

        Source: Backstrom, Dwork and Kleinberg 2007, section 3.1, the walk-based attack.

        >>> Planting.random(1000, [(3, 8), (3, 5)])
        <Planting of 21 vertices for 3 targeted ones, 2 pairs>
        """
        wanted = checked_pairs(pairs, vertices)
        targets = len(np.unique(wanted))
        if size is None:
            size = max(math.ceil((2 + _EXCESS) * math.log2(vertices)), 4)
            while _subsets(size) < targets:
                size += 1
        if isinstance(size, bool) or not 4 <= size <= _MOST_SIZE or _subsets(size) < targets:
            raise ParameterError(
                f"size is a number of planted vertices from 4 to {_MOST_SIZE}, enough to link {targets:,} targets "
                f"each to another set of at most {_MOST_LINKS}; not {size!r}"
            )
        inside = np.zeros((size, size), np.bool_)
        first, second = np.triu_indices(size, 1)
        inside[first, second] = fresh_draws().coins(Fraction(1, 2), len(first)) | (second == first + 1)
        several = [each for count in range(1, _MOST_LINKS + 1) for each in combinations(range(size), count)]
        links = np.zeros((targets, size), np.bool_)
        for row, place in enumerate(permutation(len(several))[:targets].tolist()):
            links[row, list(several[place])] = True
        return cls(vertices, wanted, inside | inside.T, links)

    @property
    def size(self) -> int:
        """How many vertices are planted."""
        return len(self.inside)

    @property
    def targets(self) -> NDArray[np.int64]:
        """The targeted vertices, ascending: those of the pairs."""
        return np.unique(self.pairs)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many edges each planted vertex has, which the attacker knows: int64 of shape (k,)."""
        return (self.inside.sum(axis=0) + self.links.sum(axis=0)).astype(np.int64)

    def into(self, graph: Graph) -> Graph:
        """The graph with the planted vertices, which come last. SENSITIVE: it is the data.

        Raises `ParameterError` for a graph of another number of vertices than the planting is for.

        >>> graph = Graph.from_pairs([(0, 1)], 30)
        >>> Planting.random(30, [(0, 1)]).into(graph).vertices
        41
        """
        if graph.vertices != self.vertices:
            raise ParameterError(f"the planting is for {self.vertices:,} vertices; the graph has {graph.vertices:,}")
        first, second = np.nonzero(np.triu(self.inside))
        row, place = np.nonzero(self.links)
        among = np.column_stack([first, second]) + self.vertices
        linked = np.column_stack([self.targets[row], place + self.vertices])
        return Graph.from_pairs(np.concatenate([graph.ends, among, linked]), self.vertices + self.size)


def without_names(graph: Graph) -> Graph:
    """The graph with its vertices renumbered in a random order: what many have published as anonymous. SENSITIVE."""
    return Graph.from_pairs(permutation(graph.vertices)[graph.ends], graph.vertices)


def _subsets(size: int) -> int:
    """How many sets of planted vertices a target can be linked to.

    >>> _subsets(4)
    14
    """
    return sum(math.comb(size, count) for count in range(1, _MOST_LINKS + 1))
