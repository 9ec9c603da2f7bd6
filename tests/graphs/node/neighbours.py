"""Graphs with one vertex and all its edges gone, for all small graphs and random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import networkx as nx
import numpy as np
from tests.graphs.small import atlas, labelled

from discreet.graphs import Graph
from discreet.graphs.node import PackedPatterns, Stars, Triangles, TwoStars, edge_flow

Extension = Callable[[Graph, int], int]


def without_vertex(graph: Graph, vertex: int) -> Graph:
    """The vertex is not there at all: those after it have numbers one lower."""
    ends = graph.ends[(graph.ends != vertex).all(axis=1)]
    return Graph(graph.vertices - 1, ends - (ends > vertex))


def removals(graph: Graph) -> Iterator[tuple[int, Graph]]:
    for vertex in range(graph.vertices):
        yield vertex, without_vertex(graph, vertex)


def small(most: int, drawn: int = 0) -> Iterator[Graph]:
    """All graphs of so many vertices up to their names, all of up to 4 with names, and random ones of up to 12."""
    for plain in atlas():
        if 0 < len(plain) <= most:
            yield Graph.from_networkx(plain)
    for n in range(1, min(most, 4) + 1):
        yield from labelled(n)
    generator = np.random.default_rng(29)
    for _ in range(drawn):
        n = int(generator.integers(4, 13))
        yield Graph.from_networkx(
            nx.gnp_random_graph(n, generator.uniform(0.1, 0.9), seed=int(generator.integers(2**31)))
        )


def key_of(graph: Graph) -> tuple[int, bytes]:
    return graph.vertices, graph.ends.tobytes()


_SEEN: dict[tuple[int, bytes], Graph] = {}


def remembered(value: Extension) -> Extension:
    """The same, computed once for each graph and cap."""

    @cache
    def of_key(key: tuple[int, bytes], cap: int) -> int:
        return value(_SEEN[key], cap)

    def computed(graph: Graph, cap: int) -> int:
        key = key_of(graph)
        _SEEN.setdefault(key, graph)
        return of_key(key, cap)

    return computed


def triangles(graph: Graph, cap: int) -> int:
    return PackedPatterns(Triangles(graph.vertices, graph.ends)).truncated(cap).value


def two_stars(graph: Graph, cap: int) -> int:
    return TwoStars(Stars(graph.vertices, graph.ends, 2)).truncated(cap).value


def three_stars(graph: Graph, cap: int) -> int:
    return PackedPatterns(Stars(graph.vertices, graph.ends, 3)).truncated(cap).value


edges = edge_flow
