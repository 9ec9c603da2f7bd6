"""How far one unit can move each measure, over all groups together."""

from __future__ import annotations

from discreet.privacy import Relation
from discreet.query._bounded import BoundedAggregate
from discreet.query._measures import Measure, People
from discreet.sensitivity import Norms, bounded_sum, keys_touched

__all__ = ["measure_norms"]


def measure_norms(measure: Measure, bounded: BoundedAggregate, relation: Relation) -> Norms:
    """The norms by which one unit moves a measure, in its whole numbers. Attained, not only bounds.

    A unit adds at most `max_rows` rows' parts to a sum or a count. Of distinct values it adds at most one with each
    row, and a value that others have too it adds not at all, so the norms are those of a count of rows. To a count of
    people it adds one in each of its groups. Source: ``proofs/sensitivity.md``.

    Costs no privacy.
    """
    grouped = bool(bounded.keys)
    if not isinstance(measure, People):
        return bounded_sum(measure.lower, measure.upper, rows=bounded.max_rows, relation=relation, grouped=grouped)
    if not grouped:
        return Norms(1, 1, 1)
    groups = bounded.max_rows if bounded.max_groups is None else min(bounded.max_groups, bounded.max_rows)
    touched = keys_touched(groups, relation)
    return Norms(touched, touched, 1)
