"""Counts and degrees of graphs, seen by somebody who knows all edges and wonders about one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.audit.catalog._entry import Entry
from discreet.graphs import Graph, SmoothCount
from discreet.graphs.counts import Stars, Triangles
from discreet.noise import rounded_pareto
from discreet.privacy import pure

__all__ = ["graph_entries"]

_LEAVES = 80


@dataclass(frozen=True, eq=False)
class _Counted:
    """A count with noise, drawn many times: the scale is computed once for each graph."""

    mechanism: SmoothCount

    def draw(self, data: Graph, size: int) -> list[int]:
        """`size` independent counts."""
        value, scale = self.mechanism.before_noise(data)
        return [rounded_pareto(Fraction(value), scale, self.mechanism.shape) for _ in range(size)]


def _hubs() -> Graph:
    """Two vertices with 80 neighbours in common, and no edge between them."""
    return Graph.from_pairs([(hub, leaf) for hub in (0, 1) for leaf in range(2, 2 + _LEAVES)])


def _clique() -> Graph:
    """A clique without one edge: 64 common neighbours of its ends, as of all others."""
    return Graph.from_pairs([(a, b) for a in range(66) for b in range(a)]).toggled(0, 1)


def graph_entries() -> tuple[Entry, ...]:
    """Triangles of two hubs and of a clique, 2-stars of a star, each with an edge and without.

    >>> [entry.name for entry in graph_entries()]
    ['SmoothCount of two hubs', 'SmoothCount of a clique', 'SmoothCount of a star']
    """
    epsilon, hubs, clique = 1, _hubs(), _clique()
    star = Graph.from_pairs([(0, leaf) for leaf in range(1, 91)], 92)
    triangles = SmoothCount(Triangles(hubs.vertices), epsilon)
    cliques = SmoothCount(Triangles(clique.vertices), epsilon)
    stars = SmoothCount(Stars(star.vertices, 2), epsilon)
    cases = (
        ("two hubs", triangles, (hubs, hubs.toggled(0, 1)), "Triangles(82)", "the edge of two hubs is in 80 triangles"),
        ("a clique", cliques, (clique, clique.toggled(0, 1)), "Triangles(66)", "a clique less an edge: 64 triangles"),
        ("a star", stars, (star, star.toggled(0, 91)), "Stars(92, 2)", "an edge at the centre moves 2-stars by 90"),
    )
    return tuple(
        Entry(
            name=f"SmoothCount of {name}",
            group="graphs",
            shown=f"SmoothCount({shown}, epsilon=1)",
            mechanism=_Counted(mechanism),
            pairs=(pair,),
            claim=pure(epsilon),
            kind=SmoothCount,
            samples=40_000,
            note=f"{note}, which is its local sensitivity; a draw takes a fifth of a millisecond",
        )
        for name, mechanism, pair, shown, note in cases
    )
