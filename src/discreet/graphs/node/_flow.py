"""Edges that fit under a cap at every vertex, half-edges allowed: one maximum flow, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from discreet.graphs._graph import Graph
from discreet.graphs.node._truncation import Resolution, Truncated

__all__ = ["HALF_EDGES", "EdgeFlows", "edge_flow"]

HALF_EDGES = Resolution(steps=2, slack=0)
"""Flows are counted in half edges, without any error."""


def edge_flow(graph: Graph, cap: int) -> int:
    """Twice the most edges whose weights from 0 to 1 add up to at most `cap` at every vertex. SENSITIVE.

    It is twice the number of edges if no degree is above the cap, moves by 0 to 2 · cap when a vertex goes with all
    its edges, and is an integer: the maximum flow from each vertex (cap) along each edge both ways (1) to each vertex
    (cap). Source: Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013, section 4; ``proofs/graph_node_counts.md``.

    >>> star = Graph.from_pairs([(0, 1), (0, 2), (0, 3)])
    >>> edge_flow(star, 3), edge_flow(star, 2)
    (6, 4)
    """
    n, degrees = graph.vertices, graph.degrees()
    cap = min(cap, int(degrees.max(initial=0)))
    if cap == 0:
        return 0
    a, b = graph.ends[:, 0], graph.ends[:, 1]
    left, right, source, sink = np.arange(n), np.arange(n, 2 * n), 2 * n, 2 * n + 1
    tails = np.concatenate([np.full(n, source), a, b, right])
    heads = np.concatenate([left, b + n, a + n, np.full(n, sink)])
    capacities = np.concatenate([np.full(n, cap), np.ones(2 * len(a), np.int64), np.full(n, cap)])
    network = csr_array((capacities.astype(np.int32), (tails, heads)), shape=(2 * n + 2, 2 * n + 2))
    return int(maximum_flow(network, source, sink).flow_value)


@dataclass(frozen=True, slots=True)
class EdgeFlows:
    """The edges of a graph truncated at any cap. SENSITIVE."""

    graph: Graph

    def truncated(self, cap: int) -> Truncated:
        """The flow at a cap; at a smaller one it is no larger."""
        return Truncated(edge_flow(self.graph, cap), slope=0)
