"""SQL to plan: the passes in order, then the bounded aggregate, then what each part may spend."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from discreet.errors import DiscreetError, QueryError
from discreet.policy import Policy
from discreet.privacy import Loss, budget_of
from discreet.query._plan import Plan, with_spend
from discreet.query._public_keys import PublicGroups, ReadPublic
from discreet.query.budget._noise import Level, keys_of
from discreet.query.caps._choice import cap_choice
from discreet.query.expressions._bounded_keys import bounded_key, remaining_groups
from discreet.query.expressions._domains import domain, key_type
from discreet.query.expressions._narrowing import Narrowing
from discreet.query.expressions._types import check_predicate
from discreet.query.measures._bounded import (
    BoundedAggregate,
    GroupKey,
    check_measures,
    check_rows,
    public_groups,
)
from discreet.query.measures._footprint import TooManyRows, with_bounded_footprint
from discreet.query.measures._keys import check_number_of_keys, grouped_by_all, keys_by_name, without_constant_keys
from discreet.query.measures._sensitivity import measure_norms
from discreet.query.parse._ibis import Query, text_of
from discreet.query.parse._parse import SUPPORTED, TOO_DEEP, check_block, check_depth, check_understood, parse, refuse
from discreet.query.parse._parser import unlogged
from discreet.query.passes._canonicalize import canonicalize, name_outputs
from discreet.query.passes._conjuncts import conjuncts
from discreet.query.passes._extract_aggregates import extract_aggregates
from discreet.query.passes._grouping_sets import extract_groupings, grouping_sets, spell_grouping_sets
from discreet.query.passes._names import Scope, expand_references, resolve_names
from discreet.query.passes._outer_select import flattened, peeled
from discreet.query.passes._pivots import without_pivots
from discreet.query.passes._quantiles import spell_quantiles
from discreet.query.passes._windows import check_windows, is_window_function
from discreet.query.relations._binder import Binder
from discreet.query.relations._columns import Columns, field_of
from discreet.query.relations._conditions import conditions
from discreet.query.relations._nodes import Owned, Relation, expressions, named, scans
from discreet.query.relations._to_sql import with_source
from discreet.recursion import with_room

__all__ = ["PASSES", "canonical_select", "check_depths", "group_key", "make_plan", "plan_select", "refusals"]

_MOST_GROUPS = 10_000
"""Of several keys whose groups follow from bounds: beyond this, private keys serve better."""

_PUBLIC = "the query reads public tables alone, which need no privacy: read them directly"

Pass = Callable[[exp.Select, Scope], exp.Select]

_LONGEST_MESSAGE, _LONGEST_BEGINNING = 2_000, 1_000
"""What is refused is shown as it was written, which may be most of 64 KiB: of a longer message, the two ends."""

_NAMES: tuple[Pass, ...] = (
    resolve_names,
    lambda select, _: expand_references(select),
)
_SPELLINGS: tuple[Pass, ...] = (
    lambda select, _: without_constant_keys(select),
    lambda select, _: spell_quantiles(select),
    lambda select, _: canonicalize(select),
    lambda select, _: spell_grouping_sets(select),
    lambda select, _: name_outputs(select),
)
PASSES = (*_NAMES, *_SPELLINGS)
"""Tree → tree. After them, two queries that ask the same thing in other words are the same tree."""


@with_room
def make_plan(query: Query, policy: Policy, spend: Loss | None = None, read: ReadPublic | None = None) -> Plan:
    """Check a query against a policy and, given a spend, calibrate its noise. Costs nothing, touches no private data.

    A query is SQL text, or an Ibis expression over tables of the policy. `read` reads groups from public tables; a plan
    without it has none of those, and cannot be answered.

    Raises `QueryError` for what is not supported or not allowed by the policy, `ParameterError` for a spend that cannot
    buy the query.
    """
    with refusals():
        plan = _planned(without_pivots(parse(text_of(query)), policy), policy, read)
        return plan if spend is None else with_spend(plan, spend)


@with_room
def plan_select(select: exp.Select, policy: Policy, read: ReadPublic | None = None) -> Plan:
    """The plan of a parsed query, without a spend. Raises `QueryError` as `make_plan`."""
    with refusals():
        return _planned(select.copy(), policy, read)


def _planned(select: exp.Select, policy: Policy, read: ReadPublic | None) -> Plan:
    return _with_bought_cap(select, policy, read) if _buys_cap(policy) else _make_plan(select, policy, read)


_MOST_ROWS = tuple(2**power for power in range(14, 5, -2))
"""The largest caps that a query may choose: the first of them under which one person's rows fit what they may take."""


def _buys_cap(policy: Policy) -> bool:
    return any(table.buys_cap for table in policy.tables.values())


def _with_bought_cap(select: exp.Select, policy: Policy, read: ReadPublic | None) -> Plan:
    """The plan of a query that chooses the cap on rows, where the policy leaves it to it; without a spend."""
    for most in _MOST_ROWS:
        tables = {
            name: table.model_copy(update={"max_rows": most}) if table.buys_cap else table
            for name, table in policy.tables.items()
        }
        capped = policy.model_copy(update={"tables": tables})
        try:
            plan = _make_plan(select.copy(), capped, read)
            bounded = plan.levels[0].bounded
            buys = bounded.max_rows >= most and any(policy.tables[table].buys_cap for table in bounded.tables)
            if not buys or all(level.bounded.is_public for level in plan.levels):
                return plan
            cap = cap_choice(plan.levels, plan.unit, capped, ratios=plan.has_ratios_alone)
        except TooManyRows:
            if most == _MOST_ROWS[-1]:
                raise
            continue
        return replace(plan, cap=cap, levels=cap.at(1, plan.unit))
    raise AssertionError("the last of the caps is tried")


@contextmanager
def refusals() -> Generator[None]:
    """Whatever fails while a query is checked is refused in words, of a length that can be shown."""
    try:
        with unlogged():
            yield
    except QueryError as error:
        if len(message := str(error)) <= _LONGEST_MESSAGE:
            raise
        raise QueryError(
            f"{message[:_LONGEST_BEGINNING]} … {message[_LONGEST_BEGINNING - _LONGEST_MESSAGE :]}"
        ) from None
    except DiscreetError:
        raise
    except RecursionError:
        raise QueryError(TOO_DEEP) from None
    except Exception as error:  # noqa: BLE001 (arguments that a function cannot have, and nobody thought of)
        raise refuse(f"something in the query that no pass reads ({type(error).__name__})") from None


def _bound(select: exp.Select, policy: Policy) -> tuple[Owned, exp.Select, Columns]:
    """What a query reads, and the SELECT over it after all passes, whose names are those of the columns."""
    select, layers = peeled(select)
    _check_private(select, policy)
    check_block(select, nested=False)
    if any(isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star) for item in select.expressions):
        raise QueryError(f"* is no aggregate: rows about people are never released. {SUPPORTED}")
    binder = Binder(policy)
    bound, scope, select = binder.read(select)
    if bound.owner == "nobody":
        raise QueryError(_PUBLIC)
    for step in _NAMES:
        select = step(select, scope)
    select = flattened(select, layers)
    for step in _SPELLINGS:
        select = step(select, scope)
    select = grouped_by_all(select)
    check_windows(select)
    _check_people(select, binder.columns)
    return bound, select, binder.columns


def _make_plan(select: exp.Select, policy: Policy, read_public: ReadPublic | None) -> Plan:
    bound, select, columns = _bound(select, policy)
    where = select.args.get("where")
    if where is not None:
        check_predicate(where.this, columns.fields)
    certain = [*conditions(bound.relation), *([] if where is None else conjuncts(where.this))]
    releases_keys = not any(select.find_all(exp.AggFunc))
    narrowing = Narrowing(certain, columns.fields, nulls_only=releases_keys)
    groups = grouping_sets(select)
    _check_shared(groups, columns, narrowing)
    sets = _keys(groups, columns, narrowing)
    if releases_keys:
        sets = _narrowed(sets, columns, Narrowing(certain, columns.fields))
    check_rows(sets)
    check_depths(select, bound.relation)
    read = frozenset(named(bound.relation))
    used = read | {column.name for column in select.find_all(exp.Column)}
    canonical = with_source(select, bound.relation, used).sql()
    table = columns.table_of(select)
    spelled, groupings = extract_groupings(select, sets, columns.fields)
    shared = read | (used - _of_keys_alone(spelled, sets))
    if not releases_keys:
        public = PublicGroups(bound.relation, certain, narrowing, columns.fields, shared, read_public)
        sets = [public.listed(keys) for keys in sets]
        check_rows(sets)
    outputs, measures, histograms, aggregates = extract_aggregates(
        spelled, columns.fields, table, columns.people, lambda node: group_key(node, columns, narrowing)
    )
    check_measures(len(aggregates), len(measures), len(sets))
    check_rows(sets, quantiles=sum(each.draws for each in histograms))
    private = [any(key.values is None for key in keys) for keys in sets]
    if not aggregates and not any(sets):
        if windows := list(select.find_all(exp.Window)):
            raise refuse(windows[0].sql(dialect="duckdb"), "WINDOW")
        raise QueryError(f"the query has no aggregate: rows about people are never released. {SUPPORTED}")
    unit = policy.unit(next(s.table for s in scans(bound.relation) if not s.public))
    levels: list[Level] = []
    for keys, discovered, values in zip(sets, private, groupings, strict=True):
        bounded = BoundedAggregate(
            relation=bound.relation,
            unit=unit.name,
            max_rows=bound.rows,
            max_groups=bound.groups if keys and bound.groups < bound.rows else None,
            where=None if where is None else where.this,
            keys=keys,
            measures=measures,
            columns=columns.fields,
            used=shared | {column.name for key in keys for column in key.expression.find_all(exp.Column)},
            count_units=discovered,
            histograms=histograms,
        )
        bounded = with_bounded_footprint(bounded, policy)
        norms = tuple(measure_norms(measure, bounded, unit.relation) for measure in measures)
        levels.append(Level(bounded, norms, None, values))
    named_keys = keys_by_name(outputs, keys_of(levels))
    currency = None if policy.budget is None else budget_of(policy.budget.loss())[0]
    plan = Plan(canonical, named_keys, tuple(levels), aggregates, unit, None, currency=currency)
    plan.check_result()
    check_understood(select)
    return plan


def canonical_select(select: exp.Select, scope: Scope) -> exp.Select:
    """A SELECT after all passes, whose names are those of the columns of its relations."""
    for step in PASSES:
        select = step(select, scope)
    return select


def check_depths(select: exp.Select, relation: Relation) -> None:
    """Raise `QueryError` for too deep a query, now that what sub-queries compute has taken the place of its names."""
    for written in (select, *expressions(relation)):
        check_depth(written)


def _check_people(select: exp.Select, columns: Columns) -> None:
    for name in ("where", "group", "having", "qualify", "order"):
        if (clause := select.args.get(name)) is not None:
            columns.check(clause)
    for item in select.expressions:
        columns.check(item)


def _check_private(select: exp.Select, policy: Policy) -> None:
    """Raise `QueryError` if each table that the query names, wherever it does, is a public one."""
    names = {table.name.casefold() for table in select.find_all(exp.Table)}
    names -= {named.alias.casefold() for named in select.find_all(exp.CTE)}
    public = {name.casefold() for name, table in policy.tables.items() if table.public}
    if names and names <= public:
        raise QueryError(_PUBLIC)


def _check_shared(sets: Sequence[Sequence[exp.Expr]], columns: Columns, narrowing: Narrowing) -> None:
    """Raise `QueryError` for groups each of which is one person's, as the policy says, unless they are public."""
    for node in (node for nodes in sets for node in nodes if columns.determines_owner(node)):
        name = node.unnest().name
        if name in columns.fields and group_key(node, columns, narrowing).values is None:
            raise QueryError(
                f"GROUP BY {name} would release rows about people: each of its values belongs to one person, as the "
                f"policy says; group by what many people share, or write COUNT(DISTINCT {name})"
            )


def _of_keys_alone(select: exp.Select, sets: Sequence[Sequence[GroupKey]]) -> frozenset[str]:
    """The columns of keys that nothing but keys reads: a level without the key does not read them."""
    keys = {column.name for each in sets for key in each for column in key.expression.find_all(exp.Column)}
    reads = [node for node in select.find_all(exp.AggFunc, exp.Filter, exp.Where) if not _of_window(node)]
    return frozenset(keys - {column.name for node in reads for column in node.find_all(exp.Column)})


def _of_window(node: exp.Expr) -> bool:
    """Whether a node is the function of a window, or the FILTER or the condition of one."""
    filtered = node.parent if isinstance(node, exp.Where) and isinstance(node.parent, exp.Filter) else node
    return is_window_function(filtered)


def _keys(sets: Sequence[Sequence[exp.Expr]], columns: Columns, narrowing: Narrowing) -> list[tuple[GroupKey, ...]]:
    """The keys of each grouping set, of rows that satisfy some conditions.

    What several sets have in common is looked at once.
    """
    known: dict[str, GroupKey] = {}
    keys: list[tuple[GroupKey, ...]] = []
    for nodes in sets:
        check_number_of_keys(len(nodes))
        here: dict[str, GroupKey] = {}
        for node in nodes:
            text = node.sql()
            key = known[text] if text in known else known.setdefault(text, group_key(node, columns, narrowing))
            here.setdefault(key.name, key)
        keys.append(tuple(here.values()))
    if any((public_groups(each) or 0) > _MOST_GROUPS for each in keys):
        return [tuple(_listed_alone(key) for key in each) for each in keys]
    return keys


def _narrowed(sets: Sequence[Sequence[GroupKey]], columns: Columns, narrowing: Narrowing) -> list[tuple[GroupKey, ...]]:
    """The keys of each grouping set, where those that are public anyway have the values that conditions leave."""
    return [
        tuple(key if key.values is None else group_key(key.expression, columns, narrowing) for key in keys)
        for keys in sets
    ]


def _listed_alone(key: GroupKey) -> GroupKey:
    """A key without groups that follow from bounds: too many of several keys together to have noise each."""
    return key if key.bounded is None else replace(key, values=None, bounded=None)


def group_key(node: exp.Expr, columns: Columns, narrowing: Narrowing) -> GroupKey:
    """An expression as a key, of rows that satisfy some conditions. Raises `QueryError` if it has none."""
    inner = node.unnest()
    if any(inner.find_all(exp.AggFunc)) or not any(inner.find_all(exp.Column)):
        raise QueryError(f"GROUP BY {node.sql()}, which is not a column or computed from columns, has no groups")
    field = field_of(inner, columns)
    kind = key_type(inner, columns.fields)
    name = inner.name if isinstance(inner, exp.Column) else inner.sql()
    left = {column.name: narrowing.column(column.name) for column in inner.find_all(exp.Column)}
    fields = columns.fields | {name: each.field for name, each in left.items()}
    is_less = any(each.is_less for each in left.values())
    keys = field.keys
    if isinstance(inner, exp.Column):
        keys = fields[inner.name].keys
    changed = any(each.field != columns.fields[name] for name, each in left.items())
    if field.type == "bool" or (changed and not isinstance(inner, exp.Column)):
        keys = domain(inner, fields, columns.work)
    if keys is None and not isinstance(inner, exp.Column):
        keys = narrowing.listed(inner, field.type)
        is_less = is_less or keys is not None
    elif keys is not None:
        keys, every = narrowing.left(inner, keys), keys
        is_less = is_less or len(keys) < len(every)
    bounded = None
    if keys is None or not isinstance(inner, exp.Column):
        groups = bounded_key(inner, kind, fields, columns.bounded_work)
        if groups is not None and (keys is None or len(groups[0]) < len(keys)):
            every, bounded = groups
            keys = remaining_groups(inner, every, left, narrowing)
            is_less = is_less or len(keys) < len(every)
    if keys == ():
        raise QueryError(
            f"conditions rule out every public value of {name}, so that the answer would have no rows; write a WHERE "
            "that leaves some of them"
        )
    return GroupKey(name, keys, inner, field.type, bounded, is_less)
