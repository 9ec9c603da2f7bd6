"""Exact counts of a graph, and how far one edge can move them. SENSITIVE: for mechanisms alone."""

from discreet.graphs.counts._clustering import CLUSTERING_UNIT, ClusteringSum, clustering_sum
from discreet.graphs.counts._degree_products import DegreeProducts, degree_products
from discreet.graphs.counts._facts import CountedGraph, GraphFacts, facts_of
from discreet.graphs.counts._in_engine import count_in_engine
from discreet.graphs.counts._shape import cliques, components, core_numbers, degeneracy
from discreet.graphs.counts._statistics import Cliques, Count, FourCycles, Stars, Triangles
from discreet.graphs.counts._subgraphs import four_cycles, stars, triangles, vertex_triangles, wedges_closed

__all__ = [
    "CLUSTERING_UNIT",
    "Cliques",
    "ClusteringSum",
    "Count",
    "CountedGraph",
    "DegreeProducts",
    "FourCycles",
    "GraphFacts",
    "Stars",
    "Triangles",
    "cliques",
    "clustering_sum",
    "components",
    "core_numbers",
    "count_in_engine",
    "degeneracy",
    "degree_products",
    "facts_of",
    "four_cycles",
    "stars",
    "triangles",
    "vertex_triangles",
    "wedges_closed",
]
