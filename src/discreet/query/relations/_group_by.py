"""GROUP BY in a sub-query: one row for each person, or for each person and key, with totals over the person's rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType
from discreet.query.expressions._domains import key_type
from discreet.query.expressions._intervals import Interval, interval
from discreet.query.expressions._types import Field, check_predicate, check_scalar
from discreet.query.measures._keys import check_number_of_keys, selects_all_keys
from discreet.query.measures._measures import grid_step, grid_steps
from discreet.query.parse._parse import refuse
from discreet.query.parse._trees import Texts, transformed
from discreet.query.relations._columns import PERSON, Columns, field_of, stored_field
from discreet.query.relations._nodes import Filtered, Grouped, Own, Owned, Total

__all__ = ["group_rows", "is_grouped"]

_KINDS: Mapping[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
}


_MOST_PUBLIC = 2**32
"""Rows of public tables: sums over them are as exact as those over one person's rows, and nothing is cut off."""


def is_grouped(select: exp.Select) -> bool:
    """Whether a SELECT groups its rows: by GROUP BY, DISTINCT, HAVING or an aggregate."""
    clauses = any(select.args.get(name) for name in ("group", "distinct", "having"))
    return clauses or any(select.find_all(exp.AggFunc))


def group_rows(select: exp.Select, owned: Owned, columns: Columns) -> tuple[Owned, exp.Select]:
    """The grouped relation, and the SELECT with its columns in place of keys and aggregates.

    A COUNT or SUM over the rows of one person is clamped to what the person's `max_rows` rows can make. Raises
    `QueryError` unless the person is among the keys, and for an aggregate that is not supported.
    """
    nodes = _keys(select)
    if owned.owner == "row":
        raise QueryError('a sub-query cannot group a table with unit = "rows": every row of it is a person of its own')
    people = [node for node in nodes if PERSON in columns.linked(node)]
    if owned.owner == "person" and not any(map(columns.determines_owner, nodes)):
        raise QueryError(
            "a sub-query that groups rows must group by the person, so that every row of it belongs to one person; "
            "add the person's column to its GROUP BY (or to its SELECT DISTINCT), or the key of something that has one "
            'owner, as the policy says by key = "order_id" or a path'
        )
    swaps: dict[str, exp.Expr] = {}
    keys: dict[str, tuple[exp.Expr, ColumnType]] = {}
    totals: dict[str, Total | Own] = {}
    for node in nodes:
        if PERSON in columns.linked(node):
            field = columns.fields.get(node.unnest().name)
            name = columns.add(node.unnest().name, field, frozenset({PERSON}))
            if field is not None:
                totals[name] = Own(node.unnest().name)
        else:
            field = stored_field(node, columns)
            key_type(node, columns.fields)
            name = columns.add(_name_of(node), field, columns.linked(node))
            keys[name] = (node, field.type)
        swaps[node.unnest().sql()] = exp.column(exp.to_identifier(name, quoted=True))
    for node in list(select.find_all(exp.AggFunc)):
        sql = node.sql()
        if sql not in swaps:
            total, field = _total(node, _MOST_PUBLIC if owned.owner == "nobody" else owned.rows, columns)
            name = columns.add(_name_of(node), field)
            totals[name] = total
            swaps[sql] = exp.column(exp.to_identifier(name, quoted=True))
    person, owner = (people[0].unnest().name, swaps[people[0].unnest().sql()].name) if people else (None, None)
    grouped = Grouped(owned.relation, person, owner, keys, totals)
    alone = not keys
    names = frozenset(node.name for node in swaps.values())
    result = Owned(grouped, owned.owner, names, 1 if alone else owned.rows, 1 if alone else owned.groups)
    body = _swapped(select, swaps)
    for column in (c for item in body.expressions for c in item.find_all(exp.Column)):
        _check_grouped(column, names)
    having = body.args.get("having")
    if having is not None:
        for column in having.find_all(exp.Column):
            _check_grouped(column, names)
        columns.check(having.this)
        check_predicate(having.this, columns.fields)
        result = replace(result, relation=Filtered(result.relation, having.this))
    return result, body


def _keys(select: exp.Select) -> list[exp.Expr]:
    group = select.args.get("group")
    nodes = [] if group is None else list(group.expressions)
    if select.args.get("distinct"):
        if any(select.find_all(exp.AggFunc)) if group is None else not selects_all_keys(select):
            raise refuse("SELECT DISTINCT beside a GROUP BY of other keys, or an aggregate, in a sub-query")
        nodes = nodes or [item.unalias() for item in select.expressions]
    check_number_of_keys(len(nodes))
    return list({node.sql(): node for node in nodes}.values())


def _swapped(select: exp.Select, swaps: Mapping[str, exp.Expr]) -> exp.Select:
    """The SELECT list and HAVING with each key and aggregate as its column."""

    def swap(node: exp.Expr) -> exp.Expr:
        column = (
            swaps.get(texts.text(node))
            if not isinstance(node, exp.Select | exp.Alias | exp.Identifier | exp.Having)
            else None
        )
        return node if column is None else column.copy()

    body: exp.Expr = exp.Select(expressions=[_kept_name(item) for item in select.expressions])
    if (having := select.args.get("having")) is not None:
        body.set("having", having.copy())
    texts = Texts(*body.iter_expressions())
    swapped = transformed(body, swap)
    assert isinstance(swapped, exp.Select)
    return swapped


def _kept_name(item: exp.Expr) -> exp.Expr:
    if isinstance(item, exp.Alias) or not isinstance(item, exp.Column):
        return item.copy()
    return exp.alias_(item.copy(), exp.to_identifier(item.name, quoted=True))


def _check_grouped(column: exp.Column, names: frozenset[str]) -> None:
    if column.name not in names:
        raise QueryError(f"{column.name} is neither in the sub-query's GROUP BY nor inside an aggregate")


def _name_of(node: exp.Expr) -> str:
    inner = node.unnest()
    return inner.name if isinstance(inner, exp.Column) else type(inner).__name__.lower()


def _total(node: exp.AggFunc, rows: int, columns: Columns) -> tuple[Total, Field]:
    kind = _KINDS.get(type(node))
    argument = node.this
    distinct = isinstance(argument, exp.Distinct)
    if kind is None or node.args.get("expressions") or (distinct and kind != "COUNT"):
        raise refuse(f"the aggregate {node.sql()} in a sub-query", node)
    if isinstance(argument, exp.Star) and kind == "COUNT":
        return Total("COUNT", None, "int", upper=rows), _integer_field(1, rows)
    if distinct:
        if len(argument.expressions) != 1 or argument.args.get("on"):
            raise refuse(node.sql())
        argument = argument.expressions[0]
        field_of(argument, columns)
        return Total("COUNT DISTINCT", argument, "int", upper=rows), _integer_field(0, rows)
    field = field_of(argument, columns)
    if kind == "COUNT":
        return Total("COUNT", argument, "int", upper=rows), _integer_field(0, rows)
    computed = field.type in ("int", "float", "decimal") and not isinstance(argument.unnest(), exp.Column)
    if kind in ("MIN", "MAX") and (not computed or (field.bounds is None and rows == _MOST_PUBLIC)):
        return Total(kind, argument, field.type), Field(field.type, field.bounds, nullable=field.nullable)  # pyright: ignore[reportArgumentType]
    if check_scalar(argument, columns.fields) != "number":
        raise QueryError(f"{node.sql()} needs a number, but {argument.sql()} is a {field.type}")
    limits = interval(argument, columns.fields, columns.table_of(argument))
    return _number(kind, argument, limits, rows, nullable=field.nullable)


def _number(kind: str, argument: exp.Expr, limits: Interval, rows: int, *, nullable: bool) -> tuple[Total, Field]:
    step = grid_step(limits)
    row = grid_steps(limits, step)
    lower, upper = row
    if kind == "SUM":
        lower, upper = min(lower, rows * lower), max(upper, rows * upper)
    integer = kind != "AVG" and limits.integer and step == 1
    total = Total(kind, argument, "int" if integer else "float", step, row, lower, upper)  # pyright: ignore[reportArgumentType]
    return total, Field(total.type, (lower * step, upper * step), None, nullable)


def _integer_field(lower: int, upper: int) -> Field:
    return Field("int", (Fraction(lower), Fraction(upper)), None, nullable=False)
