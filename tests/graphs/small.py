"""Small graphs, all of them, and counts by plain enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import networkx as nx

from discreet.graphs import Graph


def labelled(n: int) -> Iterator[Graph]:
    """All graphs of n named vertices."""
    pairs = list(combinations(range(n), 2))
    for chosen in range(1 << len(pairs)):
        yield Graph.from_pairs([pair for i, pair in enumerate(pairs) if chosen >> i & 1], n)


def atlas() -> list[nx.Graph]:
    """All 1,253 graphs of up to 7 vertices, up to their names."""
    return nx.graph_atlas_g()


def plain_stars(graph: nx.Graph, k: int) -> int:
    return sum(comb(degree, k) for _, degree in graph.degree)


def plain_cliques(graph: nx.Graph, k: int) -> int:
    return sum(all(graph.has_edge(a, b) for a, b in combinations(some, 2)) for some in combinations(graph, k))


def plain_four_cycles(graph: nx.Graph) -> int:
    cycles = 0
    for a, b, c, d in combinations(graph, 4):
        for p, q, r, s in ((a, b, c, d), (a, c, b, d), (a, b, d, c)):
            cycles += all(graph.has_edge(x, y) for x, y in ((p, q), (q, r), (r, s), (s, p)))
    return cycles
