"""How far the exact integers of two neighbouring databases are apart, held against what was planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.query import Group, Level, Plan

__all__ = ["beyond", "moves", "touchable"]


def touchable(plan: Plan, level: Level) -> int:
    """The most groups of a level that the caps let one person touch, in both databases together."""
    bounded = level.bounded
    most = min(bounded.max_rows, bounded.max_groups or bounded.max_rows) if bounded.keys else 1
    return most * (2 if plan.unit.relation == "substitute" else 1)


def beyond(plan: Plan, one: Sequence[Sequence[Group]], other: Sequence[Sequence[Group]]) -> str | None:
    """What moved further than planned, of the groups of each level; None if nothing did."""
    found = (f"{what} moved {move}, planned {most}" for what, move, most in moves(plan, one, other) if move > most)
    return next(found, None)


def moves(
    plan: Plan, one: Sequence[Sequence[Group]], other: Sequence[Sequence[Group]]
) -> Iterator[tuple[str, int, int]]:
    """What can move in each level, how far it did, and how far it may.

    Each measure over all groups together in L1, L2 and L∞, the rows in the cells of each histogram over all groups
    together, the people of each group and of all groups, and the number of groups in which anything moved.
    """
    for level, here, there in zip(plan.levels, one, other, strict=True):
        yield from _moves(plan, level, here, there)


def _moves(plan: Plan, level: Level, one: Sequence[Group], other: Sequence[Group]) -> Iterator[tuple[str, int, int]]:
    bounded, most = level.bounded, touchable(plan, level)
    before, after = ({group.key: group for group in groups} for groups in (one, other))
    nothing = Group((), 0, (0,) * len(bounded.measures))
    pairs = [(before.get(key, nothing), after.get(key, nothing)) for key in before.keys() | after.keys()]
    for i, norms in enumerate(level.norms):
        apart = [abs(a.sums[i] - b.sums[i]) for a, b in pairs]
        found = (sum(apart), sum(move * move for move in apart), max(apart, default=0))
        for name, move, limit in zip(("L1", "L2²", "L∞"), found, (norms.l1, norms.l2_squared, norms.linf), strict=True):
            yield f"{bounded.measures[i]} in {name}", move, limit
    for i, histogram in enumerate(bounded.histograms):
        rows = sum(_cells_apart(a, b, i) for a, b in pairs)
        yield f"rows in the cells of {histogram}", rows, _rows_moved(plan, level, i)
    if bounded.count_units:
        units = [abs(a.units - b.units) for a, b in pairs]
        yield "the people of a group", max(units, default=0), 1
        yield "the people of all groups", sum(units), most
    yield "the number of groups that are not the same", sum(_differ(a, b) for a, b in pairs), most


def _rows_moved(plan: Plan, level: Level, histogram: int) -> int:
    """What the noise is for; without a spend, what it would be for."""
    if level.noise is not None:
        return level.noise.quantiles[histogram].moves
    return level.bounded.max_rows * (2 if plan.unit.relation == "substitute" else 1)


def _cells_apart(one: Group, other: Group, histogram: int) -> int:
    first, second = (_rows_by_cell(group, histogram) for group in (one, other))
    return sum(abs(first.get(cell, 0) - second.get(cell, 0)) for cell in first.keys() | second.keys())


def _rows_by_cell(group: Group, histogram: int) -> dict[int, int]:
    if not group.cells:
        return {}
    cells, rows = group.cells[histogram]
    return dict(zip(cells.tolist(), rows.tolist(), strict=True))


def _differ(one: Group, other: Group) -> bool:
    if (one.sums, one.units) != (other.sums, other.units):
        return True
    return any(_cells_apart(one, other, i) for i in range(max(len(one.cells), len(other.cells))))
