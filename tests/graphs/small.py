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


def plain_four_cycles(graph: nx.Graph) -> int:
    """Each is two paths of two edges between a pair of opposite vertices, for both pairs."""
    common = {pair: len(set(graph[pair[0]]) & set(graph[pair[1]])) for pair in combinations(graph, 2)}
    return sum(comb(paths, 2) for paths in common.values()) // 2
