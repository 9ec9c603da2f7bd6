"""Graphs without trust: each client holds its own neighbours and randomises what it reports of them.

Two lists are neighbours if they differ in one vertex. An edge is in two lists: each protocol states what it costs by
the reports of both its ends, `edge_loss`.
"""

from discreet.graphs.local._degrees import DegreeReport, DegreeServer, LocalDegrees, LocalStars, StarReport, StarServer
from discreet.graphs.local._lists import Estimate, neighbour_lists
from discreet.graphs.local._randomized_lists import ListReport, ListServer, LocalEdges
from discreet.graphs.local._triangles import (
    Broadcast,
    CountReport,
    FirstReport,
    FirstServer,
    LocalTriangles,
    TriangleClient,
    TriangleServer,
    list_variance,
)

__all__ = [
    "Broadcast",
    "CountReport",
    "DegreeReport",
    "DegreeServer",
    "Estimate",
    "FirstReport",
    "FirstServer",
    "ListReport",
    "ListServer",
    "LocalDegrees",
    "LocalEdges",
    "LocalStars",
    "LocalTriangles",
    "StarReport",
    "StarServer",
    "TriangleClient",
    "TriangleServer",
    "list_variance",
    "neighbour_lists",
]
