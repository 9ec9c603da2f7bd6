"""Which neighbour relation a loss is valid for."""

from __future__ import annotations

from discreet.privacy._combinators import Group, Parallel, Sampled, Shuffled, Substituted
from discreet.privacy._loss import Loss, Sum, Times
from discreet.privacy._nodes import RandomizedResponse
from discreet.privacy._unit import Relation

__all__ = ["relation_of"]


def relation_of(loss: Loss) -> Relation | None:
    """The relation, or `None` for a loss that holds for whichever relation its sensitivity was worked out for.

    >>> from discreet.privacy import gaussian
    >>> gaussian(1).relation, gaussian(1).sampled(0.01).relation
    (None, 'add_remove')
    """
    match loss:
        case Sum():
            return loss.neighbours
        case Times(_, term) | Group(_, term):
            return relation_of(term)
        case Sampled():
            return "add_remove" if loss.scheme == "poisson" else "substitute"
        case Parallel():
            return loss.neighbours
        case Substituted() | Shuffled() | RandomizedResponse():
            return "substitute"
        case _:
            return None
