"""Nested areas as a tree, least squares on it in two passes, and non-negative integers near its estimates."""

from discreet.marginals.trees._integers import Slices, integer_cells, integer_totals, integers_near
from discreet.marginals.trees._least_squares import LeastSquares
from discreet.marginals.trees._off_tree import OffTree
from discreet.marginals.trees._tree import Tree

__all__ = [
    "LeastSquares",
    "OffTree",
    "Slices",
    "Tree",
    "integer_cells",
    "integer_totals",
    "integers_near",
]
