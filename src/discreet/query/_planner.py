"""SQL to plan: the passes in order, then the bounded aggregate, then what each part may spend."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Policy, Table
from discreet.privacy import Loss, Unit
from discreet.query._bounded import BoundedAggregate, GroupKey
from discreet.query._calibrate import calibrate
from discreet.query._canonical import canonicalize, name_outputs
from discreet.query._measures import Measure, lift_aggregates
from discreet.query._names import resolve_names, table_name
from discreet.query._parse import SUPPORTED, TOO_DEEP, check_understood, parse, refuse
from discreet.query._plan import Plan
from discreet.query._quantile_spelling import spell_quantiles
from discreet.query._references import expand_references
from discreet.query._scalars import check_predicate
from discreet.sensitivity import Norms, bounded_sum

__all__ = ["PASSES", "make_plan"]

Pass = Callable[[exp.Select, Policy], exp.Select]

PASSES: tuple[Pass, ...] = (
    resolve_names,
    lambda select, _: expand_references(select),
    lambda select, _: spell_quantiles(select),
    lambda select, _: canonicalize(select),
    lambda select, _: name_outputs(select),
)
"""Tree → tree. After them, two queries that ask the same thing in other words are the same tree."""


def make_plan(text: str, policy: Policy, spend: Loss | None = None) -> Plan:
    """Check a query against a policy and, given a spend, calibrate its noise. Costs nothing and touches no data.

    Raises `QueryError` for what is not supported or not allowed by the policy, `ParameterError` for a spend that cannot
    buy the query.
    """
    try:
        return _make_plan(parse(text), policy, spend)
    except RecursionError:
        raise QueryError(TOO_DEEP) from None


def _make_plan(select: exp.Select, policy: Policy, spend: Loss | None) -> Plan:
    for step in PASSES:
        select = step(select, policy)
    name = table_name(select, policy)
    table = policy.tables[name]
    keys = _keys(select, table)
    where = select.args.get("where")
    if where is not None:
        check_predicate(where.this, table.columns)
    canonical = select.sql()
    lifted, measures, histograms, aggregates = lift_aggregates(select, table.columns, name)
    private = any(key.values is None for key in keys)
    if not aggregates and not private:
        raise QueryError(f"the query has no aggregate: rows about people are never released. {SUPPORTED}")
    unit = policy.unit(name)
    bounded = BoundedAggregate(
        table=name,
        unit=unit.name,
        max_rows=table.rows_per_unit,
        max_groups=table.groups_per_unit if keys and table.groups_per_unit < table.rows_per_unit else None,
        where=None if where is None else where.this,
        keys=keys,
        measures=measures,
        columns=table.columns,
        used=frozenset(column.name for column in select.find_all(exp.Column)),
        count_units=private,
        histograms=histograms,
    )
    norms = tuple(_norms(measure, bounded, unit) for measure in measures)
    noise = None if spend is None else calibrate(spend, bounded, norms, unit, table)
    plan = Plan(canonical, lifted, bounded, aggregates, unit, spend, norms, noise)
    plan.check_result()
    check_understood(select)
    return plan


def _keys(select: exp.Select, table: Table) -> tuple[GroupKey, ...]:
    group = select.args.get("group")
    keys: list[GroupKey] = []
    for node in [] if group is None else group.expressions:
        if not isinstance(node, exp.Column):
            raise refuse(f"GROUP BY {node.sql()}, which is not a column,")
        column = table.columns[node.name]
        if column.type in ("float", "decimal"):
            raise QueryError(f"{node.name} is a {column.type} column, which has no groups; declare it int or string")
        key = GroupKey(node.name, column.keys)
        if key not in keys:
            keys.append(key)
    return tuple(keys)


def _norms(measure: Measure, bounded: BoundedAggregate, unit: Unit) -> Norms:
    """How far one unit can move a measure, over all its groups together."""
    return bounded_sum(
        measure.lower, measure.upper, rows=bounded.max_rows, relation=unit.relation, grouped=bool(bounded.keys)
    )
