"""The conditions that every row of a relation satisfies."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from discreet.query.passes._conjuncts import conjuncts
from discreet.query.relations._nodes import Computed, Filtered, Joined, Limited, Ranked, Relation, SemiJoined

__all__ = ["conditions"]


def conditions(relation: Relation) -> Iterator[exp.Expr]:
    """The parts of the conditions of sub-queries and joins, over columns that stand in the rows of the relation.

    Not those on the right of a LEFT JOIN, whose columns may be null instead.

    >>> from discreet.query.relations._nodes import Scan
    >>> [part.sql() for part in conditions(Filtered(Scan("t", {"x": "x"}), exp.maybe_parse("x > 1 AND x < 9")))]
    ['x > 1', 'x < 9']
    """
    match relation:
        case Filtered():
            yield from conjuncts(relation.condition)
            yield from conditions(relation.input)
        case Joined():
            yield from conditions(relation.left)
            if not relation.outer:
                yield from conditions(relation.right)
                yield from () if relation.on is None else conjuncts(relation.on)
        case SemiJoined():
            yield from conditions(relation.left)
        case Computed() | Limited() | Ranked():
            yield from conditions(relation.input)
        case _:
            pass
