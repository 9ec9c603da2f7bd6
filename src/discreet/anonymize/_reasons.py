"""Why a class was not divided further, column by column."""

from __future__ import annotations

import numpy as np

from discreet.anonymize.algorithms import Problem
from discreet.anonymize.hierarchies import text_of
from discreet.anonymize.tables import Codes, Column

__all__ = ["why_class_is_undivided"]


def why_class_is_undivided(problem: Problem, classes: Codes, row: int) -> list[str]:
    """For each column whose cell stands for several values, why no cut of it is left."""
    rows = np.flatnonzero(classes == classes[row])
    return [
        f"{column.name} stands for {len(np.unique(column.codes[rows])):,} values: {_why(problem, column, rows)}"
        for column in problem.quasi
        if len(np.unique(column.codes[rows])) > 1
    ]


def _why(problem: Problem, column: Column, rows: Codes) -> str:
    values, counts = np.unique(column.codes[rows], return_counts=True)
    order = np.arange(len(values)) if column.is_number else np.argsort(-counts, kind="stable")
    failed: str | None = None
    nearest, side = 0, ""
    for size in range(1, len(values)):
        left = np.isin(column.codes[rows], values[order[:size]])
        smaller = min(int(left.sum()), int((~left).sum()))
        if smaller > nearest:
            nearest, side = smaller, text_of(column.values[values[order[size - 1]]])
        if smaller < problem.k:
            continue
        halves = left.astype(np.int64)
        for spread in problem.spreads:
            part = type(spread)(spread.column.taken(rows), spread.check)
            if not part.holds_of(halves, 2).all():
                failed = spread.column.name
    if failed is not None:
        return f"a cut would leave too little variety of {failed} on one side"
    if nearest >= problem.k:
        return "it could be cut; other cuts saved more, or the method does not try this one"
    return f"the most even cut, after {side}, leaves {nearest:,} rows on one side, and k is {problem.k:,}"
