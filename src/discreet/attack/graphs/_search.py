"""Planted vertices are searched in an edge list without names; through them targets are recognised, and their edges.

Source: Backstrom, Dwork and Kleinberg 2007, "Wherefore art thou R3579X?", section 3: the walk-based attack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import read_frame
from discreet.attack._outcome import Control, Outcome
from discreet.attack.graphs._edges import are_joined
from discreet.attack.graphs._planting import Planting
from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.noise import permutation

__all__ = ["planted"]

_Ints = NDArray[np.int64]

_MOST_EXACT = 500_000
"""So many walks that fit exactly are followed at once."""
_MOST_NEAR = 20_000
"""So many others, the nearest."""
_MOST_TIES = 50
"""Among so many walks that fit equally well the one that recognises the most targets is taken."""
_NO_LIMIT = 2**40


def planted(release: object, planting: Planting, graph: Graph, *, tolerance: int | None = 0) -> Outcome:
    """Look for the planted vertices in a published graph, recognise the targets by them, and guess their edges.

    Walks are followed through the published graph that have, step by step, the degrees of the planted vertices and the
    edges among them. Whoever is joined to the last one's vertices as a target was linked is taken for that target, and
    a pair of targets is guessed to be joined if it is in the published graph. Who is not recognised is guessed as the
    control guesses: as most pairs are.

    Parameters
    ----------
    release
        What was published: a `Graph`, a synthetic graph of `discreet.graphs`, one of networkx, or a table of two
        columns, the ends of each edge. Names do not count, and their order does not.
    planting
        What was planted in the graph before, and the targets.
    graph
        The truth, with the planted vertices or without, to which guesses are compared.
    tolerance
        By how much the planted vertices may differ from what was planted: degrees and edges among them, all together,
        and the links of each target. 0, which fits where names alone are removed, claims nothing else. None takes the
        nearest walk, and for each target the nearest vertex, whatever they differ by: an attacker who never gives up,
        though of very many walks only the nearest are followed.

    Raises
    ------
    ParameterError
        For a release that is no graph, and a truth of another number of vertices.

    Examples
    --------
    >>> ring = Graph.from_pairs([(i, (i + 1) % 300) for i in range(300)])
    >>> planting = Planting.random(300, [(0, 1), (7, 8), (20, 30), (40, 90)])
    >>> from discreet.attack import without_names
    >>> planted(without_names(planting.into(ring)), planting, ring)
    <Outcome of planted subgraph: 4 of 4 right, baseline 0.5>
    """
    if graph.vertices not in (planting.vertices, planting.vertices + planting.size):
        raise ParameterError(
            f"the planting is for a graph of {planting.vertices:,} vertices; the truth has {graph.vertices:,}"
        )
    if tolerance is not None and (isinstance(tolerance, bool) or tolerance < 0):
        raise ParameterError(f"tolerance is a number of edges, 0 or more, or None, not {tolerance!r}")
    secret = are_joined(graph, planting.pairs)
    share = float(secret.mean())
    published = _read_graph(release)
    ends = _recognised(published, planting, _NO_LIMIT if tolerance is None else tolerance)
    guess, claimed = _guesses(published, ends, usual=share > 0.5)
    right = guess == secret
    evidence = pa.table(
        [pa.array(each) for each in (planting.pairs[:, 0], planting.pairs[:, 1], claimed, guess, right)],
        ["a", "b", "claimed", "guess", "right"],
    )
    return Outcome(
        "planted subgraph",
        int(right.sum()),
        len(right),
        Control(max(share, 1 - share)),
        evidence,
        claims=int(claimed.sum()),
        false_claims=int((claimed & ~right).sum()),
    )


def _recognised(published: Graph, planting: Planting, tolerance: int) -> _Ints:
    """For both ends of each targeted pair the vertex of the published graph that it is taken for, or −1."""
    neighbours = _Neighbours.of_graph(published)
    vertices = np.full(len(planting.targets), -1)
    for walk in _walks(neighbours, planting.inside, planting.degrees, tolerance):
        other = _linked(neighbours, walk, planting.links, tolerance)
        if (other >= 0).sum() > (vertices >= 0).sum():
            vertices = other
    return vertices[np.searchsorted(planting.targets, planting.pairs)]


def _guesses(published: Graph, ends: _Ints, *, usual: bool) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each pair is joined, and for which pairs that is claimed: the others are guessed as usual."""
    claimed = (ends >= 0).all(axis=1) & (ends[:, 0] != ends[:, 1])
    guess = np.full(len(ends), usual)
    guess[claimed] = are_joined(published, ends[claimed])
    return guess, claimed


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """A published graph by vertex: the neighbours of v are those from starts[v] to starts[v + 1]."""

    keys: _Ints
    """Edges both ways, as numbers, ascending."""
    starts: _Ints
    neighbours: _Ints
    degrees: _Ints

    @classmethod
    def of_graph(cls, graph: Graph) -> _Neighbours:
        n, (a, b) = graph.vertices, graph.ends.T
        keys = np.sort(np.concatenate([a * n + b, b * n + a]))
        starts = np.searchsorted(keys, np.arange(n + 1) * n)
        return cls(keys, starts, keys % max(n, 1), np.diff(starts))

    def joined(self, first: _Ints, second: _Ints) -> NDArray[np.bool_]:
        """Whether vertices are joined, elementwise."""
        wanted = first * len(self.degrees) + second
        return self.keys[np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)] == wanted

    def after(self, vertices: _Ints) -> tuple[_Ints, _Ints]:
        """All neighbours of each vertex, one vertex after another; and of which one each is."""
        sizes = self.degrees[vertices]
        parent = np.repeat(np.arange(len(vertices)), sizes)
        begin = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) + np.repeat(self.starts[vertices] - begin, sizes)
        return self.neighbours[places], parent


def _walks(graph: _Neighbours, inside: NDArray[np.bool_], degrees: _Ints, tolerance: int) -> _Ints:
    """Walks through different vertices that are as the planted ones: (w, k), those that differ the least, or none."""
    off = np.abs(graph.degrees - degrees[0])
    start = np.flatnonzero(off <= tolerance)
    walks, off = start[:, np.newaxis], off[start]
    for i in range(1, len(degrees)):
        following, parent = graph.after(walks[:, -1])
        grown = off[parent] + np.abs(graph.degrees[following] - degrees[i])
        for earlier in walks.T:  # before the nearest are chosen: of those alone that come back none may be left
            grown[earlier[parent] == following] = _NO_LIMIT + 1
        chosen = _nearest(grown, tolerance)
        following, parent, grown = following[chosen], parent[chosen], grown[chosen]
        before = walks[parent]
        joined = graph.joined(before, following[:, np.newaxis])
        grown = grown + (joined != inside[:i, i]).sum(axis=1)
        chosen = _nearest(grown, tolerance)
        walks, off = np.column_stack([before[chosen], following[chosen]]), grown[chosen]
    return walks[off == off.min(initial=_NO_LIMIT)][:_MOST_TIES]


def _nearest(off: _Ints, tolerance: int) -> _Ints:
    """The places of what is off by the tolerance at most; of very many the nearest."""
    places = np.flatnonzero(off <= tolerance)
    most = max(_MOST_NEAR, min(int((off == 0).sum()), _MOST_EXACT))
    if len(places) <= most:
        return places
    return places[np.argpartition(off[places], most)[:most]]


def _linked(graph: _Neighbours, walk: _Ints, links: NDArray[np.bool_], tolerance: int) -> _Ints:
    """The vertex that is joined to a walk's as each target was linked; −1 where there is none, or more than one.

    Without a limit to what it is off by, ties are broken by lot.
    """
    vertices, place = graph.after(walk)
    outside = np.unique(vertices[~np.isin(vertices, walk)])
    if not len(outside):
        return np.full(len(links), -1)
    outside = outside[permutation(len(outside))]
    patterns = np.zeros((len(outside), len(walk)))
    for i in range(len(walk)):
        patterns[np.isin(outside, vertices[place == i]), i] = 1
    wanted = links.astype(np.float64)
    off = wanted.sum(axis=1)[:, np.newaxis] + patterns.sum(axis=1) - 2 * wanted @ patterns.T
    least = off.min(axis=1)
    single = (off == least[:, np.newaxis]).sum(axis=1) == 1
    return np.where((single | (tolerance == _NO_LIMIT)) & (least <= tolerance), outside[off.argmin(axis=1)], -1)


def _read_graph(release: object) -> Graph:
    """A published graph, whatever its vertices are called. Raises `ParameterError` for what is none."""
    inner: Any = getattr(release, "graph", None)
    for each in (release, inner):
        if isinstance(each, Graph):
            return each
    if hasattr(release, "nodes") and hasattr(release, "edges"):
        return Graph.from_networkx(release)
    table = read_frame(release).table
    if table.num_columns != 2:
        raise ParameterError(f"an edge list has two columns, the ends of each edge, not {table.num_columns}")
    number: dict[Any, int] = {}
    ends = zip(*(each.to_pylist() for each in table.columns), strict=True)
    pairs = [tuple(number.setdefault(end, len(number)) for end in pair) for pair in ends if None not in pair]
    return Graph.from_pairs(pairs or np.empty((0, 2), np.int64), len(number))
