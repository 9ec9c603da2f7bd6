"""How many people have how many rows in a query, as a level of its own: what a cap is chosen by."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.policy import Policy
from discreet.privacy import Unit
from discreet.query.budget._noise import Level
from discreet.query.expressions._types import Field
from discreet.query.measures._bounded import BoundedAggregate, GroupKey
from discreet.query.measures._footprint import with_bounded_footprint
from discreet.query.measures._measures import Count
from discreet.query.measures._sensitivity import measure_norms
from discreet.query.relations._nodes import Filtered, Grouped, Total, unlimited

__all__ = ["people_by_rows"]


def people_by_rows(bounded: BoundedAggregate, caps: Sequence[int], unit: Unit, policy: Policy) -> Level:
    """The level that counts, for each cap, the people who have as many rows or fewer, and more than the cap before.

    Rows are those that an aggregate reads, where its condition holds. People with more than the last cap are counted
    with it. A person is in one group, so that one person moves one count by 1. Costs nothing without noise.
    """
    rows = _new_name(bounded.columns)
    relation = unlimited(bounded.relation)
    if bounded.where is not None:
        relation = Filtered(relation, bounded.where)
    most = caps[-1]
    total = Total("COUNT", None, "int", upper=most)
    key = GroupKey("rows", tuple(caps), _least_cap(rows, caps), "int")
    counted = BoundedAggregate(
        relation=Grouped(relation, None, None, {}, {rows: total}),
        unit=bounded.unit,
        max_rows=1,
        max_groups=None,
        where=None,
        keys=(key,),
        measures=(Count(None),),
        columns={**bounded.columns, rows: Field("int", (Fraction(1), Fraction(most)), None, nullable=False)},
        used=bounded.used | {rows},
        count_units=False,
    )
    counted = with_bounded_footprint(counted, policy)
    return Level(counted, (measure_norms(Count(None), counted, unit.relation),), None)


def _least_cap(rows: str, caps: Sequence[int]) -> exp.Expr:
    """The least cap that is as many as the rows."""
    column = exp.column(exp.to_identifier(rows, quoted=True))
    steps = [exp.If(this=exp.LTE(this=column.copy(), expression=_number(cap)), true=_number(cap)) for cap in caps[:-1]]
    return exp.Case(ifs=steps, default=_number(caps[-1]))


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _new_name(columns: Mapping[str, Field]) -> str:
    names = itertools.chain(["rows"], (f"rows_{i}" for i in itertools.count(2)))
    taken = {name.casefold() for name in columns}
    return next(name for name in names if name not in taken)
