"""How much an anonymised table lost: numbers from 0, where nothing was changed, upwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.anonymize.algorithms import Groups, Problem
from discreet.anonymize.tables import Codes

__all__ = ["Losses", "losses_of"]


@dataclass(frozen=True)
class Losses:
    """What generalisation and suppression cost.

    Attributes
    ----------
    certainty
        The normalised certainty penalty (NCP): the mean over all cells of what each costs, from 0 to 1; a suppressed
        row costs 1 in each. Source: Xu et al. 2006.
    geometric
        The geometric mean over columns instead, as ARX has it: the product of 1 + each, to the power of one over how
        many there are, less 1.
    by_column
        The same of each quasi-identifier.
    discernibility
        The sum over rows of how many rows look alike; a suppressed row counts all. Source: Bayardo and Agrawal 2005.
    average_class
        Rows in a class, a mean over classes.
    entropy
        The mean over rows of the bits that a guesser lacks to name the row's values, were all of a class equally
        likely: 0 to the logarithm of the number of rows.
    suppressed
        The share of rows that were left out.
    """

    certainty: float
    geometric: float
    by_column: dict[str, float]
    discernibility: int
    average_class: float
    entropy: float
    suppressed: float


def losses_of(problem: Problem, classes: Codes) -> Losses:
    """The losses of a division into classes; a suppressed row has the class −1."""
    there = classes >= 0
    left_out = int((~there).sum())
    sizes = np.bincount(classes[there])
    rows = np.argsort(classes, kind="stable")[left_out:]
    by_column = {each.name: left_out / problem.rows for each in problem.quasi}
    if len(rows):
        groups = Groups.from_sorted(classes[rows])
        for column, extent in zip(problem.quasi, problem.extents, strict=True):
            by_column[column.name] += float(extent.of_classes(groups, column.codes[rows]) @ sizes) / problem.rows
    weights, lost_in = np.array(problem.weights), np.array(list(by_column.values()))
    return Losses(
        certainty=float(lost_in @ weights / weights.sum()),
        geometric=float(np.exp(np.log1p(lost_in).mean()) - 1),
        by_column=by_column,
        discernibility=int((sizes**2).sum()) + left_out * problem.rows,
        average_class=float(sizes.mean()) if len(sizes) else 0.0,
        entropy=float((sizes * np.log2(np.maximum(sizes, 1))).sum() + left_out * np.log2(problem.rows)) / problem.rows,
        suppressed=left_out / problem.rows,
    )
