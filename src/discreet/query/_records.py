"""A SELECT without aggregates as records for a learner: what each column is, in public, and which rows count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType, Key, Policy
from discreet.query._planner import canonical_select, check_depths, group_key, refusals
from discreet.query.expressions._intervals import interval
from discreet.query.expressions._narrowing import Narrowing
from discreet.query.expressions._types import check_predicate, check_scalar, nullable
from discreet.query.measures._bounded import BoundedAggregate, GroupKey
from discreet.query.measures._footprint import with_bounded_footprint
from discreet.query.measures._measures import Sum, on_grid
from discreet.query.measures._records import RecordRows, category_column, number_column
from discreet.query.parse._ibis import Query, text_of
from discreet.query.parse._parse import check_block, check_understood, parse
from discreet.query.passes._conjuncts import conjuncts
from discreet.query.passes._names import match_name
from discreet.query.relations._binder import Binder
from discreet.query.relations._columns import Columns
from discreet.query.relations._nodes import named, scans
from discreet.query.relations._to_sql import with_source
from discreet.recursion import with_room

__all__ = ["Feature", "RecordPlan", "check_clauses", "plan_records"]

_MOST_FEATURES = 2_000
_USUAL = "as in SELECT age, LN(income + 1) AS income, site FROM visits"


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of records, by the policy and the query alone.

    Attributes
    ----------
    name
        What the query calls it.
    column
        The column of a batch that has it.
    nullable
        Whether it may be null on a row.
    values
        Of a category its public values, null among them where it may be; None of a number. A row has a place in them.
        None of a text that is read as it is, too.
    type
        Of a category.
    step, lower, upper
        Of a number: a row has a whole number of steps, from `lower` to `upper`.
    integer
        Whether the number is a whole one.
    """

    name: str
    column: str
    nullable: bool
    values: tuple[Key | None, ...] | None
    type: ColumnType
    step: Fraction = Fraction(1)
    lower: int = 0
    upper: int = 0
    integer: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number, not a category or a text."""
        return self.values is None and self.type != "string"

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """Of a number, the ends between which it lies."""
        return self.lower * self.step, self.upper * self.step


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """Records as they were checked: nothing in it comes from data.

    Attributes
    ----------
    sql
        The query in its canonical form.
    features
        Its columns, in order.
    rows
        What an engine is asked for.
    """

    sql: str
    features: tuple[Feature, ...]
    rows: RecordRows

    def feature(self, name: str) -> Feature:
        """The feature of a name. Raises `QueryError` if there is none."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise QueryError(f"a column of records is named by a text, got {type(name).__name__}")
        names = [each.name for each in self.features]
        return self.features[names.index(match_name(name, names, "the query", "column"))]


@with_room
def plan_records(query: Query, policy: Policy, *, texts: bool = False) -> RecordPlan:
    """Check a SELECT without aggregates against a policy. Costs nothing and touches no data.

    Numbers have the bounds that follow from those of columns, and are moved into them; texts, truth values and dates
    have public values, and rows with others do not count. Of one person as many rows count as caps allow. With `texts`,
    columns of texts without public values are read as they are, up to `HELD_TEXT` characters.

    Raises `QueryError` for what is not supported, and for a column without bounds or public values.

    >>> from discreet.policy import load_policy
    >>> columns = {"age": {"type": "int", "bounds": [0, 99]}, "site": {"type": "string", "keys": ["a", "b"]}}
    >>> policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}}
    >>> plan = plan_records("SELECT age / 10 AS decade, site, age > 64 AS old FROM t", load_policy(policy))
    >>> [(each.name, each.is_number, each.values) for each in plan.features]
    [('decade', True, None), ('site', False, ('a', 'b', None)), ('old', False, (False, True, None))]
    """
    with refusals():
        return _plan(parse(text_of(query)), policy, texts)


def _plan(select: exp.Select, policy: Policy, texts: bool) -> RecordPlan:  # noqa: FBT001
    check_clauses(select, "records", _USUAL, most=_MOST_FEATURES)
    binder = Binder(policy)
    bound, scope, select = binder.read(select)
    if bound.owner == "nobody":
        raise QueryError("the query reads public tables alone: read them directly, they need no privacy")
    select, columns = canonical_select(select, scope), binder.columns
    check_depths(select, bound.relation)
    for item in select.expressions:
        columns.check(item)
    where = select.args.get("where")
    if where is not None:
        columns.check(where)
        check_predicate(where.this, columns.fields)
    read = frozenset(named(bound.relation))
    used = read | {column.name for column in select.find_all(exp.Column)}
    certain = () if where is None else conjuncts(where.this)
    narrowing = Narrowing(certain, columns.fields, nulls_only=True)
    features, keys, sums = _features(select.expressions, columns, narrowing, texts)
    unit = policy.unit(next(s.table for s in scans(bound.relation) if not s.public))
    bounded = BoundedAggregate(
        relation=bound.relation,
        unit=unit.name,
        max_rows=bound.rows,
        max_groups=None,
        where=None if where is None else where.this,
        keys=tuple(keys),
        measures=tuple(sums),
        columns=columns.fields,
        used=used,
        count_units=False,
    )
    check_understood(select)
    return RecordPlan(
        with_source(select, bound.relation, used).sql(),
        tuple(features),
        RecordRows(with_bounded_footprint(bounded, policy)),
    )


def check_clauses(select: exp.Select, what: str, usual: str, *, most: int) -> None:
    """Raise `QueryError` for a SELECT that is no list of at most so many columns of rows; `what` names these."""
    check_block(select, nested=False)
    if any(isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star) for item in select.expressions):
        raise QueryError(f"* names no columns: list those of {what}, {usual}")
    for clause, words in _REFUSED.items():
        if select.args.get(clause) is not None:
            raise QueryError(f"{what} have no {words}: they are rows of people, {usual}")
    if any(item.find(exp.AggFunc, exp.Window) for item in select.expressions):
        raise QueryError(f"{what} have no aggregates: they are rows of people, {usual}; aggregate in a sub-query")
    if not select.expressions:
        raise QueryError(f"the query names no columns: list those of {what}, {usual}")
    if len(select.expressions) > most:
        raise QueryError(f"{what} have at most {most:,} columns")


_REFUSED = {
    "group": "GROUP BY", "having": "HAVING", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET",
    "distinct": "DISTINCT", "qualify": "QUALIFY",
}  # fmt: skip


def _features(
    items: Sequence[exp.Expr],
    columns: Columns,
    narrowing: Narrowing,
    texts: bool,  # noqa: FBT001
) -> tuple[list[Feature], list[GroupKey], list[Sum]]:
    features: list[Feature] = []
    keys: list[GroupKey] = []
    sums: list[Sum] = []
    for item in items:
        name, node = item.alias_or_name, item.unalias().unnest()
        if not any(node.find_all(exp.Column)):
            raise QueryError(f"{name} is the same on every row: leave it out")
        number = _number(node, columns)
        if number is not None:
            total, integer = number
            if total in sums:
                raise QueryError(f"{name} is in the records twice; keep one")
            column = number_column(len(sums))
            missing = nullable(node, columns.fields)
            low, high = total.lower, total.upper
            features.append(Feature(name, column, missing, None, "float", total.step, low, high, integer))
            sums.append(total)
            continue
        key = group_key(node, columns, narrowing)
        if texts and key.values is None and key.type == "string" and isinstance(node, exp.Column):
            missing = nullable(node, columns.fields)
            features.append(Feature(name, category_column(len(keys)), missing, None, "string"))
            keys.append(key)
            continue
        if key.values is None:
            raise QueryError(
                f"{name} has no public values: list its keys in the policy, or its bounds if it is a number or a date"
            )
        may_be_null = None in key.values or nullable(node, columns.fields)
        values = (*(value for value in key.values if value is not None), *([None] if may_be_null else []))
        features.append(Feature(name, category_column(len(keys)), may_be_null, values, key.type))
        keys.append(replace(key, values=values))
    return features, keys, sums


def _number(node: exp.Expr, columns: Columns) -> tuple[Sum, bool] | None:
    """A number with bounds on its grid; None for what is a category: no number, or whole numbers that are listed."""
    if check_scalar(node, columns.fields) != "number":
        return None
    listed = isinstance(node, exp.Column) and columns.fields[node.name].keys is not None
    if listed and columns.fields[node.name].bounds is None:
        return None
    bounds = interval(node, columns.fields, columns.table_of(node))
    return on_grid(node, bounds, centered=False), bounds.integer
