"""How far one unit can move each measure, over all groups together."""

from __future__ import annotations

from discreet.privacy import Relation
from discreet.query._bounded import BoundedAggregate, public_groups
from discreet.query._measures import Measure, People
from discreet.sensitivity import Norms, bounded_sum, keys_touched

__all__ = ["chosen_norms", "measure_norms"]


def measure_norms(measure: Measure, bounded: BoundedAggregate, relation: Relation) -> Norms:
    """The norms by which one unit moves a measure, in its whole numbers. Attained, not only bounds.

    A unit adds at most `max_rows` rows' parts to a sum or a count. Of distinct values it adds at most one with each
    row, and a value that others have too it adds not at all, so the norms are those of a count of rows. To a count of
    people it adds one in each of its groups, and there may be fewer public ones than the caps allow. Source:
    ``proofs/sensitivity.md``.

    Costs no privacy.
    """
    grouped = bool(bounded.keys)
    if not isinstance(measure, People):
        return bounded_sum(measure.lower, measure.upper, rows=bounded.max_rows, relation=relation, grouped=grouped)
    if not grouped:
        return Norms(1, 1, 1)
    return _people(bounded, relation, public_groups(bounded.keys))


def chosen_norms(measure: Measure, bounded: BoundedAggregate, relation: Relation, chosen: int) -> Norms:
    """The norms by which one unit moves a measure on any `chosen` of the groups together: attained for some of them.

    All rows of a unit may be in one of the groups, so for all but counts of people they are those over all groups,
    unless a single group is chosen and a unit is replaced. Source: ``proofs/query_top_k.md``.

    Costs no privacy.
    """
    if isinstance(measure, People):
        return _people(bounded, relation, chosen)
    grouped = chosen > 1
    return bounded_sum(measure.lower, measure.upper, rows=bounded.max_rows, relation=relation, grouped=grouped)


def _people(bounded: BoundedAggregate, relation: Relation, groups: int | None) -> Norms:
    touched = keys_touched(min(bounded.groups_per_unit, bounded.max_rows), relation)
    moved = touched if groups is None else min(touched, groups)
    return Norms(moved, moved, 1)
