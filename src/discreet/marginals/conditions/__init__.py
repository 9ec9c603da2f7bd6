"""Conditions and expressions on one row, in SQL, and what they are in each public cell."""

from discreet.marginals.conditions._cell_table import SAME_EACH_TIME, CellTable, Following, Undetermined, Valued
from discreet.marginals.conditions._condition import column_names, condition, free_name, rows_that_keep, truth
from discreet.marginals.conditions._sandbox import Sandbox

__all__ = [
    "SAME_EACH_TIME",
    "CellTable",
    "Following",
    "Sandbox",
    "Undetermined",
    "Valued",
    "column_names",
    "condition",
    "free_name",
    "rows_that_keep",
    "truth",
]
