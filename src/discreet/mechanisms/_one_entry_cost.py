"""The cost of moving entries whose noise is priced one by one, not by the L1 norm of the whole move."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.mechanisms._sensitivity import l1_of
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["cost_of", "one_move"]


def cost_of(sensitivity: Number | Norms, cost: Callable[[int], Fraction]) -> Fraction:
    """What a release costs, if moving one entry by k costs ``cost(k)``, which is at most k · cost(1).

    A number says how far one entry moves, the others not at all. `Norms` leave open how many entries share the move,
    and the worst is that each of them moves by 1.
    """
    entries, move = one_move(sensitivity)
    return entries * cost(move) if move else Fraction(0)


def one_move(sensitivity: Number | Norms) -> tuple[int, int]:
    """How many entries move in the worst case, and how far each: integers move by whole numbers."""
    whole = math.floor(l1_of(sensitivity))
    return (whole, min(whole, 1)) if isinstance(sensitivity, Norms) else (1, whole)
