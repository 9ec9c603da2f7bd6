"""Which neighbour relation a loss is valid for."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import ParameterError
from discreet.privacy._combinators import Group, Parallel, Sampled, Shuffled, Substituted
from discreet.privacy._loss import Loss, Sum, Times
from discreet.privacy._nodes import RandomizedResponse
from discreet.privacy._unit import Relation, joined

__all__ = ["common_relation", "relation_of"]


def relation_of(loss: Loss) -> Relation | None:
    """The relation, or `None` for a loss that holds for whichever relation its sensitivity was worked out for.

    Raises `ParameterError` for a sample of a loss that is not valid for the neighbours of that sample.

    >>> from discreet.privacy import gaussian
    >>> gaussian(1).relation, gaussian(1).sampled(0.01).relation
    (None, 'add_remove')
    """
    match loss:
        case Sum():
            return loss.neighbours
        case Times(_, term) | Group(_, term):
            return relation_of(term)
        case Sampled(_, "poisson", term):
            return joined(("add_remove", relation_of(term)))
        case Sampled(_, _, term):
            return "substitute" if _holds_for_two(term) else joined(("substitute", relation_of(term)))
        case Parallel():
            return loss.neighbours
        case Substituted() | Shuffled() | RandomizedResponse():
            return "substitute"
        case _:
            return None


def common_relation(losses: Sequence[Loss]) -> Relation | None:
    """The one relation that several losses hold under; raises `ParameterError` if there is none."""
    try:
        return joined([relation_of(loss) for loss in losses])
    except ParameterError:
        if all(relation_of(loss) != "add_remove" or _holds_for_two(loss) for loss in losses):
            return "substitute"
        raise


def _holds_for_two(loss: Loss) -> bool:
    """Whether it is a loss for groups of two or more by add/remove: a substitution is such a group."""
    match loss:
        case Sum(terms):
            return all(relation_of(term) != "add_remove" or _holds_for_two(term) for term in terms)
        case Times(_, term):
            return _holds_for_two(term)
        case Group(k, term):
            return k >= 2 and relation_of(term) == "add_remove"
        case _:
            return False
