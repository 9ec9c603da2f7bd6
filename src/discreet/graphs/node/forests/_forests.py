"""The size of a spanning forest with few edges at each vertex: a linear program between exact bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.graphs._graph import Graph
from discreet.graphs.node._truncation import Resolution, Truncated
from discreet.graphs.node.forests._attempts import Attempt, attempts, grown_attempt
from discreet.graphs.node.forests._bounds import ONE, Bounds, bounds, exact_forests
from discreet.graphs.node.forests._pieces import CappedGraph, reduce_to_pieces

__all__ = ["FORESTS", "SpanningForests", "certified"]

FORESTS = Resolution(steps=256, slack=4, from_vertices=True)
"""Components are vertices less the forest's size, which may be 1/64 of the cap too large: noise is scaled up by it."""


@dataclass(frozen=True, slots=True)
class SpanningForests:
    """The size of the largest forest of a graph under a cap on the edges at each vertex, in fractions. SENSITIVE.

    F is the largest Σ x over the edges, of points x of the forest polytope (means of forests) with at most the cap at
    every vertex: the size of a spanning forest if some has no more edges anywhere, and moved by 0 to the cap when a
    vertex goes. Source: Kalemaj, Raskhodnikova, Smith and Tsourakakis 2023; ``proofs/graph_node_components.md``.

    >>> star = SpanningForests(Graph.from_pairs([(0, leaf) for leaf in range(1, 10)]))
    >>> [star.truncated(cap).value // FORESTS.steps for cap in (4, 8, 16)]
    [4, 8, 9]
    """

    graph: Graph

    def truncated(self, cap: int) -> Truncated:
        """F at a cap, on the grid of `FORESTS`, certified to be within its tolerance."""
        taken, pieces = reduce_to_pieces(CappedGraph.uniform(self.graph, cap))
        brackets = _distinct(pieces)
        while True:
            value = certified(_total(taken, brackets), cap)
            if value is not None:
                return value
            unsolved = sum(bracket.copies for bracket in brackets if bracket.bounds.gap)
            widest = max(brackets, key=lambda bracket: bracket.copies * bracket.bounds.gap)
            widest.narrow(FORESTS.slack * cap / (2 * FORESTS.steps * unsolved))


def certified(total: Bounds, cap: int) -> Truncated | None:
    """The upper bound of F, rounded up to the grid, if the lower one shows it to be within the tolerance."""
    value = -(-total.upper * FORESTS.steps // ONE)
    return Truncated(int(value), slope=0) if value - total.lower * FORESTS.steps // ONE <= FORESTS.slack * cap else None


class _Bracket:
    """The best bounds so far of one piece, and how many copies of it there are."""

    def __init__(self, piece: CappedGraph) -> None:
        self.copies = 0
        self._piece = piece
        prices, mix = grown_attempt(piece)
        self.bounds = bounds(piece, prices, mix)
        self._forests: Sequence[NDArray[np.int64]] = mix.forests
        self._attempts: Iterator[Attempt] | None = None

    def narrow(self, goal: float) -> None:
        """One more attempt, or the exact value after the last; prices may be left so far from a forest as the goal."""
        if self._attempts is None:
            self._attempts = attempts(self._piece, self._forests[0], goal)
        for prices, mix in self._attempts:
            self.bounds = self.bounds.within(bounds(self._piece, prices, mix))
            self._forests = mix.forests
            return
        exact = ONE * exact_forests(self._piece, self._forests)
        self.bounds = Bounds(exact, exact)


def _distinct(pieces: Sequence[CappedGraph]) -> list[_Bracket]:
    """Pieces that are the same up to an order of numbers are solved once."""
    brackets: dict[tuple[bytes, bytes], _Bracket] = {}
    for piece in pieces:
        key = piece.graph.ends.tobytes(), piece.caps.tobytes()
        if key not in brackets:
            brackets[key] = _Bracket(piece)
        brackets[key].copies += 1
    return list(brackets.values())


def _total(taken: int, brackets: Sequence[_Bracket]) -> Bounds:
    lower = ONE * taken + sum(bracket.copies * bracket.bounds.lower for bracket in brackets)
    return Bounds(lower, ONE * taken + sum(bracket.copies * bracket.bounds.upper for bracket in brackets))
