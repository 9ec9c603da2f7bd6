"""How far the exact integers of two neighbouring databases are apart, held against what was planned."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.query import Group, Level, Plan

__all__ = ["beyond", "touchable"]


def touchable(plan: Plan, level: Level) -> int:
    """The most groups of a level that the caps let one person touch, in both databases together."""
    bounded = level.bounded
    most = min(bounded.max_rows, bounded.max_groups or bounded.max_rows) if bounded.keys else 1
    return most * (2 if plan.unit.relation == "substitute" else 1)


def beyond(plan: Plan, one: Sequence[Sequence[Group]], other: Sequence[Sequence[Group]]) -> str | None:
    """What moved further than planned, of the groups of each level; None if nothing did.

    Each measure over all groups together in L1, L2 and L∞, the people of each group and of all groups, and the number
    of groups in which anything moved.
    """
    found = (_beyond(plan, *each) for each in zip(plan.levels, one, other, strict=True))
    return next((each for each in found if each is not None), None)


def _beyond(plan: Plan, level: Level, one: Sequence[Group], other: Sequence[Group]) -> str | None:
    before, after = ({group.key: group for group in groups} for groups in (one, other))
    nothing = Group((), 0, (0,) * len(level.bounded.measures))
    pairs = [(before.get(key, nothing), after.get(key, nothing)) for key in before.keys() | after.keys()]
    for i, norms in enumerate(level.norms):
        moves = [abs(a.sums[i] - b.sums[i]) for a, b in pairs]
        found = (sum(moves), sum(move * move for move in moves), max(moves, default=0))
        for name, move, most in zip(("L1", "L2²", "L∞"), found, (norms.l1, norms.l2_squared, norms.linf), strict=True):
            if move > most:
                return f"{level.bounded.measures[i]} moved {move} in {name}, planned {most}"
    most = touchable(plan, level)
    if level.bounded.count_units:
        units = [abs(a.units - b.units) for a, b in pairs]
        if max(units, default=0) > 1 or sum(units) > most:
            return f"people moved {units}, planned 1 in {most} groups"
    touched = sum(a.sums != b.sums or a.units != b.units for a, b in pairs)
    return None if touched <= most else f"{touched} groups moved, planned {most}"
