"""How large the numbers of a nested loss may become when its interpreters multiply them out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss, Sum, Times
from discreet.privacy.losses._combinators import Group, Parallel, Sampled, Shuffled, Substituted
from discreet.privacy.losses._leaves import RandomizedResponse
from discreet.privacy.losses._unit import Relation, joined
from discreet.privacy.losses._validation import LEAST, MOST_COUNT

__all__ = ["check_size", "common_relation", "relation_of"]


def check_size(loss: Loss) -> None:
    """Counts times sizes of groups come to 10¹⁵ at most within one loss, and rates of samples to 1e-100 at least.

    Otherwise raises `ParameterError`.
    """
    stack = [(loss, 1, Fraction(1))]
    while stack:
        node, many, share = stack.pop()
        match node:
            case Times(count, term):
                stack.append((term, many * max(count, 1), share))
            case Group(k, term):
                stack.append((term, many * k, share))
            case Sampled(rate, _, term):
                stack.append((term, many, share * (rate or 1)))
            case Substituted(term) | Shuffled(_, term):
                stack.append((term, many, share))
            case Sum(terms) | Parallel(terms):
                stack.extend((term, many, share) for term in terms)
            case _:
                pass
        if many > MOST_COUNT:
            raise ParameterError(f"counts and sizes of groups must multiply to at most {MOST_COUNT:,} within one loss")
        if share < LEAST:
            raise ParameterError("rate must be 0 or at least 1e-100, also as a product of rates within one loss")


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
