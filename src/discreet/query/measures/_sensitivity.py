"""How far one unit can move each measure, over all groups together."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy import Relation
from discreet.query.measures._bounded import BoundedAggregate, public_groups
from discreet.query.measures._measures import Measure, People
from discreet.sensitivity import Norms, bounded_sum, keys_touched

__all__ = ["Limits", "chosen_norms", "limits_of", "measure_norms"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers that norms follow from.

    A row adds a whole number from `lower` to `upper` to a measure, or, if it counts `people`, a unit adds at most 1 to
    each group. A unit has at most `rows` rows and `groups_each` groups; there are so many `groups` by the policy alone,
    None if a key is private.
    """

    people: bool
    lower: int
    upper: int
    rows: int
    groups_each: int
    grouped: bool
    groups: int | None

    @property
    def counts_people(self) -> bool:
        """Whether a unit adds at most 1 to each group, and nothing is below 0."""
        return self.people or (self.rows == 1 and (self.lower, self.upper) == (0, 1))

    def norms(self, relation: Relation) -> Norms:
        """The norms by which one unit moves the measure, in its whole numbers. Attained, not only bounds.

        A unit adds at most `rows` rows' parts to a sum or a count. Of distinct values it adds at most one with each
        row, and a value that others have too it adds not at all, so the norms are those of a count of rows. To a count
        of people it adds one in each of its groups, and there may be fewer public ones than the caps allow. Source:
        ``proofs/sensitivity.md``.
        """
        if self.people:
            return self._people(relation, self.groups) if self.grouped else Norms(1, 1, 1)
        return bounded_sum(self.lower, self.upper, rows=self.rows, relation=relation, grouped=self.grouped)

    def chosen(self, relation: Relation, groups: int) -> Norms:
        """The norms on any so many chosen `groups` together: attained for some of them.

        All rows of a unit may be in one of the groups, so for all but counts of people they are those over all groups,
        unless a single group is chosen and a unit is replaced. Source: ``proofs/query_top_k.md``.
        """
        if self.people:
            return self._people(relation, groups)
        return bounded_sum(self.lower, self.upper, rows=self.rows, relation=relation, grouped=groups > 1)

    def _people(self, relation: Relation, groups: int | None) -> Norms:
        touched = keys_touched(min(self.groups_each, self.rows), relation)
        moved = touched if groups is None else min(touched, groups)
        return Norms(moved, moved, 1)


def limits_of(measure: Measure, bounded: BoundedAggregate) -> Limits:
    """The limits of a measure, all of them public."""
    return Limits(
        people=isinstance(measure, People),
        lower=measure.lower,
        upper=measure.upper,
        rows=bounded.max_rows,
        groups_each=bounded.groups_per_unit,
        grouped=bool(bounded.keys),
        groups=public_groups(bounded.keys),
    )


def measure_norms(measure: Measure, bounded: BoundedAggregate, relation: Relation) -> Norms:
    """The norms by which one unit moves a measure over all groups; see `Limits.norms`. Costs no privacy."""
    return limits_of(measure, bounded).norms(relation)


def chosen_norms(measure: Measure, bounded: BoundedAggregate, relation: Relation, chosen: int) -> Norms:
    """The norms by which one unit moves a measure on any `chosen` of the groups together; see `Limits.chosen`.

    Costs no privacy.
    """
    return limits_of(measure, bounded).chosen(relation, chosen)
