"""A graph with degrees under a cap, in which a vertex that comes or goes moves few degrees."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph

__all__ = ["Name", "edge_order", "projected_degrees"]

Name = int | str | bytes
_DIGEST = 16


def edge_order(graph: Graph, names: Sequence[Name], salt: bytes) -> NDArray[np.int64]:
    """The edges in an order in which any two stand as their four ends and the salt say, and nothing else does.

    `names` are the values that name the vertices, all different; `salt` has up to 64 bytes. Neither the number of a
    vertex, nor the row of an edge, nor what other edges there are moves two edges past each other: so the order of the
    graph without a vertex is this order without its edges. Returns positions in `graph.ends`, shape (edges,).
    SENSITIVE. Raises `ParameterError` if the names are not one for each vertex, and different.

    >>> edge_order(Graph.from_pairs([(0, 1), (1, 2)]), ["ann", "bob", "cyd"], b"salt").tolist()
    [1, 0]
    """
    encoded = [_encoded(name) for name in names]
    if len(encoded) != graph.vertices or len(set(encoded)) != graph.vertices:
        raise ParameterError("the names of a graph are one for each vertex, and all different")
    keys = [(hashlib.blake2b(name, key=salt, digest_size=_DIGEST).digest(), name) for name in encoded]
    order = sorted(range(graph.vertices), key=keys.__getitem__)
    rank = np.empty(graph.vertices, np.int64)
    rank[order] = np.arange(graph.vertices)
    words = np.array([int.from_bytes(digest[:8], "little") for digest, _ in keys], np.uint64)
    by_rank = np.array(order, np.int64)
    ends = np.sort(rank[graph.ends], axis=1)
    first, second = words[by_rank[ends[:, 0]]], words[by_rank[ends[:, 1]]]
    return np.lexsort((ends[:, 1], ends[:, 0], _mixed(_mixed(first) + second))).astype(np.int64)


def projected_degrees(graph: Graph, cap: int, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The degrees after edges went in, in that order, wherever both ends had less than `cap` so far. SENSITIVE.

    If a vertex comes or goes, with degree d after the projection, the degrees of the others move by at most d in sum.
    Source: Day, Li and Lyu 2016, Algorithm 1 and Lemma 3; ``proofs/graph_node_degrees.md``.

    >>> path = Graph.from_pairs([(0, 1), (1, 2), (2, 3)])
    >>> projected_degrees(path, 1, np.array([1, 0, 2])).tolist()
    [0, 1, 1, 0]
    """
    degrees = graph.degrees()
    if degrees.max(initial=0) <= cap:
        return degrees
    filled = [0] * graph.vertices
    for a, b in graph.ends[order].tolist():
        if filled[a] < cap and filled[b] < cap:
            filled[a] += 1
            filled[b] += 1
    return np.array(filled, np.int64)


def _encoded(name: Name) -> bytes:
    """Different names as different bytes, whatever their types are."""
    match name:
        case bytes():
            return b"b" + name
        case str():
            return b"s" + name.encode("utf-8", "surrogatepass")
        case _:
            return b"i" + str(int(name)).encode()


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64 bits that spreads them. Source: Steele, Lea and Flood 2014 (SplitMix64)."""
    x = words + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
