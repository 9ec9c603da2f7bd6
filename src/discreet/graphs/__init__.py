"""Graphs: whose privacy is it, the edge's or the person's?

Two graphs are neighbours if they differ in one edge (edge privacy), or in one vertex with all its edges (node privacy).
The second is far stronger: with ε per edge, a person with k edges is protected with kε.
"""

from discreet.graphs._graph import Graph

__all__ = ["Graph"]
