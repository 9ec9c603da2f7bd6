"""Sensitivities of counts and of sums of bounded integers, over the whole table or per group."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._data import adds_or_removes

__all__ = ["Norms", "bounded_sum", "count", "keys_touched"]


@dataclass(frozen=True, slots=True, init=False)
class Norms:
    """How far apart the answers of two neighbouring tables can be: the L1 norm, the square of the L2 norm, and L∞.

    L∞ is the largest move of one entry; where it is not given, it is what the other two imply, which is at most L1.
    The answers are whole numbers, so all three are, and stay exact. Raises `ParameterError` for anything else.

    >>> Norms(l1=5, l2_squared=13)
    Norms(l1=5, l2_squared=13, linf=3)
    """

    l1: int
    l2_squared: int
    linf: int

    def __init__(self, l1: int, l2_squared: int, linf: int | None = None) -> None:
        for value, name in ((l1, "l1"), (l2_squared, "l2_squared"), (0 if linf is None else linf, "linf")):
            _check_integer(value, name)
            if value < 0:
                raise ParameterError(f"{name} must be 0 or more, got {value}")
        object.__setattr__(self, "l1", l1)
        object.__setattr__(self, "l2_squared", l2_squared)
        object.__setattr__(self, "linf", min(l1, math.isqrt(l2_squared)) if linf is None else linf)


def count(rows: int, relation: Relation, *, grouped: bool) -> Norms:
    """Sensitivity of a count of rows: every row counts 1, or 0 where it is filtered out or null.

    Parameters
    ----------
    rows
        The most rows that one unit has, over all groups together; 1 or more.
    relation
        What neighbours are.
    grouped
        Whether the answer has one entry per group, or is one number.

    Costs no privacy. Raises `ParameterError` if an argument is out of its range.
    Source: ``proofs/sensitivity.md``, with bounds 0 and 1.

    >>> count(3, "add_remove", grouped=True)
    Norms(l1=3, l2_squared=9, linf=3)
    >>> count(1, "substitute", grouped=True)
    Norms(l1=2, l2_squared=2, linf=1)
    """
    return bounded_sum(0, 1, rows, relation, grouped=grouped)


def bounded_sum(lower: int, upper: int, rows: int, relation: Relation, *, grouped: bool) -> Norms:
    """Sensitivity of a sum of integers between `lower` and `upper`; a row that is filtered out or null adds 0.

    The unit is that of the integers summed. `rows`, `relation` and `grouped` are as in `count`. Attained, not only
    an upper bound, when there are two groups or more.

    Costs no privacy. Raises `ParameterError` if an argument is out of its range.
    Source: ``proofs/sensitivity.md``.

    >>> bounded_sum(-2, 5, 1, "add_remove", grouped=False)
    Norms(l1=5, l2_squared=25, linf=5)
    >>> bounded_sum(-2, 5, 1, "substitute", grouped=False)
    Norms(l1=7, l2_squared=49, linf=7)
    """
    _check_integer(lower, "lower")
    _check_integer(upper, "upper")
    _positive(rows, "rows")
    if lower > upper:
        raise ParameterError(f"lower must be at most upper, got {lower} and {upper}")
    farthest = rows * max(abs(lower), abs(upper))
    if adds_or_removes(relation):
        return Norms(farthest, farthest**2, farthest)
    width = rows * (max(upper, 0) - min(lower, 0))
    if grouped:
        return Norms(2 * farthest, max(2 * farthest**2, width**2), width)
    return Norms(width, width**2, width)


def keys_touched(groups: int, relation: Relation) -> int:
    """In how many groups a neighbour can differ, when one unit has rows in at most `groups` of them.

    A substituted unit leaves its old groups and enters as many new ones. Costs no privacy.
    Raises `ParameterError` if an argument is out of its range. Source: ``proofs/sensitivity.md``.

    >>> keys_touched(3, "add_remove"), keys_touched(3, "substitute")
    (3, 6)
    """
    _positive(groups, "groups")
    return groups if adds_or_removes(relation) else 2 * groups


def _check_integer(value: int, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{name} must be a whole number, got {value!r}")


def _positive(value: int, name: str) -> None:
    _check_integer(value, name)
    if value < 1:
        raise ParameterError(f"{name} must be 1 or more, got {value}")
