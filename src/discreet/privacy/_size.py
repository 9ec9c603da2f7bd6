"""How large the numbers of a nested loss may become when its interpreters multiply them out."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy._checks import LEAST, MOST_COUNT
from discreet.privacy._combinators import Group, Parallel, Sampled, Shuffled, Substituted
from discreet.privacy._loss import Loss, Sum, Times

__all__ = ["check_size"]


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
