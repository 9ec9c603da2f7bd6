"""Cells, marginals and the joint distributions estimated from them: what synthetic and statistical tables share."""

from discreet.marginals._cells import CellChoice, ColumnCells, column_cells, private_table
from discreet.marginals._estimate import FORBIDDEN, Measurement, Model, estimate, model_of
from discreet.marginals._junction_tree import (
    Clique,
    JunctionTree,
    Numbers,
    cells,
    junction_tree,
    neighbours_of,
    triangulated,
)
from discreet.marginals._merge import Merge, merge, on_simplex
from discreet.marginals._rake import KnownShare, rake, summed_potentials
from discreet.marginals._sample import places_of, sample_cells
from discreet.marginals._sample_given import sample_given
from discreet.marginals._stream import PublicStream

__all__ = [
    "FORBIDDEN",
    "CellChoice",
    "Clique",
    "ColumnCells",
    "JunctionTree",
    "KnownShare",
    "Measurement",
    "Merge",
    "Model",
    "Numbers",
    "PublicStream",
    "cells",
    "column_cells",
    "estimate",
    "junction_tree",
    "merge",
    "model_of",
    "neighbours_of",
    "on_simplex",
    "places_of",
    "private_table",
    "rake",
    "sample_cells",
    "sample_given",
    "summed_potentials",
    "triangulated",
]
