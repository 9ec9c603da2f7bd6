"""Graphs: whose privacy is it, the edge's or the person's?

Two graphs are neighbours if they differ in one edge (edge privacy), or in one vertex with all its edges (node privacy).
The second is far stronger: with ε per edge, a person with k edges is protected with kε.
"""

from discreet.graphs._graph import Graph
from discreet.graphs._private_graph import PrivateGraph, plan_count
from discreet.graphs._private_graph import open_graph as open  # noqa: A004
from discreet.graphs.edge import (
    COUNT_KIND,
    DEGREES_KIND,
    CountGraph,
    GraphCount,
    GraphDegrees,
    GraphPlan,
    ReleaseDegrees,
    SmoothCount,
)

__all__ = [
    "COUNT_KIND",
    "DEGREES_KIND",
    "CountGraph",
    "Graph",
    "GraphCount",
    "GraphDegrees",
    "GraphPlan",
    "PrivateGraph",
    "ReleaseDegrees",
    "SmoothCount",
    "open",
    "plan_count",
]
