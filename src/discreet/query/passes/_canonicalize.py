"""Pass: one spelling for each meaning, so that equal questions have equal plans."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import OPERAND_NODES
from discreet.query.parse._parse import refuse
from discreet.query.parse._trees import put, size_of

__all__ = ["canonicalize", "name_outputs", "spelt_out"]


_PARTS = ("year", "month", "day", "hour", "min", "sec")
_MOST, _LEAST = 9_999, -6
"""No part is above the one, or has its first digit below a millionth: the rest of a number may not fit in memory."""


def spelt_out(node: exp.DateFromParts | exp.TimestampFromParts) -> exp.Cast:
    """The constant that a call of constants makes.

    Raises `QueryError` for parts that are not constants, and for a day or a time that there is none of.

    >>> spelt_out(exp.maybe_parse("MAKE_DATE(2024, 1, 31)", dialect="duckdb")).sql()
    "CAST('2024-01-31' AS DATE)"
    """
    wanted = _PARTS[:3] if isinstance(node, exp.DateFromParts) else _PARTS
    parts = [node.args.get(name) for name in wanted]
    if any(value for name, value in node.args.items() if name not in wanted) or not all(map(_is_number, parts)):
        raise refuse(f"{node.sql(dialect='duckdb')}, a date that is not made of constants,")
    try:
        numbers = [Decimal(part.name) for part in parts if part is not None]
        *integers, second = numbers if len(wanted) == 6 else [*numbers, Decimal(0)]
        if any(number and (number > _MOST or number.adjusted() < _LEAST) for number in numbers):
            raise ValueError
        micros = second * 10**6
        if any(number != int(number) for number in (*integers, micros)):
            raise ValueError
        if len(wanted) == 3:
            return _cast(dt.date(*map(int, integers)).isoformat(), "DATE")
        year, month, day, hour, minute = map(int, integers)
        moment = dt.datetime(year, month, day, hour, minute, int(second), int(micros) % 10**6)  # noqa: DTZ001
        return _cast(moment.isoformat(sep=" "), "TIMESTAMP")
    except (ValueError, TypeError, OverflowError, ArithmeticError):
        raise QueryError(f"{node.sql(dialect='duckdb')} is not a date or time that exists") from None


def _is_number(part: exp.Expr | None) -> bool:
    return isinstance(part, exp.Literal) and not part.is_string


def _cast(text: str, kind: str) -> exp.Cast:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind))


_MOST_PARTS = 5_000
_OPERATORS = (exp.Binary, exp.Unary, exp.In)


def canonicalize(select: exp.Select) -> exp.Select:
    """Put parentheses exactly around nested operators; write some operators as others that mean the same.

    These are BETWEEN of a short operand, COUNT of nothing or 1 as COUNT(*), FETCH as LIMIT, a // b as DIVIDE(a, b),
    CASE x WHEN 1 as CASE WHEN x = 1, MAKE_DATE of constants as a date, and STRFTIME with its format last.

    >>> query = "SELECT COUNT(1) FROM t WHERE ((x BETWEEN 1 AND 2)) -- why"
    >>> canonicalize(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT COUNT(*) FROM t WHERE (x >= 1) AND (x <= 2)'
    """
    tree = select.copy()
    size = 0
    for node in reversed(list(tree.walk())):
        node.comments = None
        if isinstance(node, exp.Between) or (isinstance(node, exp.Case) and node.this is not None):
            size += size_of(node.this, _MOST_PARTS) * max(len(node.args.get("ifs", ())), 1)  # what is written again
            if size > _MOST_PARTS:
                raise QueryError(
                    f"the query is too large: with BETWEEN as >= AND <=, and CASE x WHEN y as CASE WHEN x = y, it has "
                    f"more than {_MOST_PARTS:,} parts more"
                )
        if isinstance(node, exp.Ordered) and not node.args.get("desc"):
            node.set("desc", None)  # ASC goes without saying
        plain = _canonical_node(node)
        put(node, plain)
    for node in reversed(list(tree.walk())):
        if isinstance(node, _OPERATORS) and isinstance(node.parent, _OPERATORS):
            paren = exp.Paren()
            put(node, paren)
            paren.set("this", node)
    return tree


def name_outputs(select: exp.Select) -> exp.Select:
    """Give every column of the result a name that is not taken.

    >>> name_outputs(exp.maybe_parse("SELECT city, COUNT(*), COUNT(x) FROM t", into=exp.Select)).sql()
    'SELECT city AS "city", COUNT(*) AS "count", COUNT(x) AS "count_2" FROM t'
    """
    select = select.copy()
    taken = {e.alias for e in select.expressions if isinstance(e, exp.Alias)}
    numbers: dict[str, int] = {}
    named: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            inner, name = item.this, item.alias
        else:
            inner, name = item, _free_name(item, taken, numbers)
            taken.add(name)
        named.append(exp.Alias(this=inner, alias=exp.to_identifier(name, quoted=True)))
    select.set("expressions", named)
    return select


def _canonical_node(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Paren):
        return node.this
    if node.args.get("negate"):
        positive = node.copy()
        positive.set("negate", None)
        return exp.Not(this=positive)
    if (
        isinstance(node, exp.Between)
        and not node.args.get("symmetric")
        and size_of(node.this, OPERAND_NODES) <= OPERAND_NODES
    ):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return exp.And(this=low, expression=high)
    if isinstance(node, exp.Fetch) and not _is_special(node.args.get("limit_options")):
        return exp.Limit(expression=node.args["count"])
    if isinstance(node, exp.Case) and node.this is not None and size_of(node.this, OPERAND_NODES) <= OPERAND_NODES:
        plain = node.copy()
        for branch in plain.args["ifs"]:
            branch.set("this", exp.EQ(this=node.this.copy(), expression=branch.this.copy()))
        plain.set("this", None)
        return plain
    if isinstance(node, exp.IntDiv):  # which other dialects write as a cast, and that rounds
        return exp.Anonymous(this="DIVIDE", expressions=[node.this, node.expression])
    if isinstance(node, exp.DateFromParts | exp.TimestampFromParts):
        return spelt_out(node)
    if isinstance(node, exp.TimeToStr) and isinstance(node.this, exp.Literal):  # DuckDB takes either order
        return exp.TimeToStr(this=node.args["format"], format=node.this)
    alone = isinstance(node, exp.Count) and not node.args.get("expressions")
    if alone and (node.this is None or isinstance(node.this, exp.Literal | exp.Boolean)):
        return exp.Count(this=exp.Star())
    return node


def _is_special(options: exp.Expr | None) -> bool:
    """Whether FETCH asks for a share of the rows, or for ties."""
    return options is not None and bool(options.args.get("percent") or options.args.get("with_ties"))


def _free_name(item: exp.Expr, taken: set[str], numbers: dict[str, int]) -> str:
    """A name that is not taken; `numbers` are the last ones that were tried after each word."""
    base = item.name if isinstance(item, exp.Column) else type(item).__name__.lower()
    base = "quantile" if isinstance(item, exp.PercentileCont) else base
    name, n = base, numbers.get(base, 1)
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    numbers[base] = n
    return name
