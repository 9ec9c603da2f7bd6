"""How far one person moves what a check asks. Proof: ``proofs/synth_check.md``."""

from __future__ import annotations

from discreet.privacy import Relation
from discreet.sensitivity import Norms, bounded_sum

__all__ = ["count_norms", "distance_norms", "score_norms"]


def count_norms(rows: int, relation: Relation) -> Norms:
    """Of the number of rows.

    >>> count_norms(2, "substitute")
    Norms(l1=2, l2_squared=4, linf=2)
    """
    return bounded_sum(0, 1, rows=rows, relation=relation, grouped=False)


def distance_norms(rows: int, relation: Relation, sets: int, grid: int) -> Norms:
    """Of a sum of distances over so many marginals, in parts of a row: `grid` parts are one.

    >>> distance_norms(1, "substitute", 10, 1)
    Norms(l1=20, l2_squared=400, linf=20)
    """
    moved = sets * grid * score_norms(rows, relation).l1
    return Norms(moved, moved**2, moved)


def score_norms(rows: int, relation: Relation) -> Norms:
    """Of the number of rows in each range of scores, by label."""
    return bounded_sum(0, 1, rows=rows, relation=relation, grouped=True)
