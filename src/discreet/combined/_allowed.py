"""What the rest of a query may hold, and how it is written so that no row makes it fail.

Functions are those of any query. All else that DuckDB could read or run, as files, settings, chance and the time of
day, is refused by what it is: only what is listed here passes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from sqlglot import exp

from discreet.combined._split import NUMBER
from discreet.errors import QueryError
from discreet.query import (
    FIRST_ROWS,
    RANKS,
    SHIFTS,
    TOTALS,
    check_depth,
    check_windows,
    find_function,
    refusal,
    refuse,
    refuse_clauses,
    row_limit,
)

__all__ = ["check_rest", "total_sql"]

_STATISTICS = (
    *TOTALS,
    *(exp.CountIf, exp.Median, exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop),
    *(exp.Corr, exp.CovarPop, exp.CovarSamp, exp.LogicalAnd, exp.LogicalOr),
    *(
        exp.RegrAvgx,
        exp.RegrAvgy,
        exp.RegrCount,
        exp.RegrIntercept,
        exp.RegrR2,
        exp.RegrSlope,
        exp.RegrSxx,
        exp.RegrSxy,
        exp.RegrSyy,
    ),
)
_OF_WINDOWS = (*RANKS, *SHIFTS, *FIRST_ROWS)
_PARTS = (
    *(exp.From, exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset),
    *(exp.Alias, exp.TableAlias, exp.Identifier, exp.Column, exp.Star, exp.Literal, exp.Boolean, exp.Null),
    exp.IntDiv,
    *(exp.Paren, exp.Tuple, exp.Distinct, exp.Window, exp.WindowSpec, exp.Filter, exp.Exists, exp.Any, exp.All),
    *(exp.In, exp.If, exp.DataType, exp.Var, exp.Interval, exp.Rollup, exp.Cube, exp.GroupingSets),
)
_CLAUSES: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: (
        *("expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset"),
        "distinct",
    ),
    exp.Subquery: ("this", "alias", "joins"),
    exp.Table: ("this",),
    exp.Join: ("this", "on", "using", "side", "kind", "method"),
    exp.Group: ("expressions", "all", "rollup", "cube", "grouping_sets"),
    exp.Distinct: ("expressions",),
    exp.In: ("this", "expressions", "query"),
}
_JOINS = {"", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "NATURAL"}
_TYPES = {
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "TEXT", "VARCHAR", "BOOLEAN", "DATE"),
    *("TIMESTAMP", "TIMESTAMPNTZ"),
}
_SETS = (exp.Union, exp.Intersect, exp.Except)


def check_rest(rest: exp.Query) -> None:
    """Raise `QueryError` for anything in the rest of a query that is not one of the known clauses and functions."""
    check_depth(rest)
    for node in rest.walk():
        kind = type(node)
        if kind in _CLAUSES:
            refuse_clauses(node, _CLAUSES[kind], "a query over released rows")
        if isinstance(node, exp.Select):
            check_windows(_alone(node))
        elif isinstance(node, exp.Join):
            _check_join(node)
        elif isinstance(node, exp.DataType):
            _check_type(node)
        elif isinstance(node, exp.Case):
            _check_kinds(node)
        elif isinstance(node, exp.Limit | exp.Offset):
            row_limit(node)
        elif isinstance(node, _STATISTICS):
            _check_statistic(node)
        elif isinstance(node, _OF_WINDOWS):
            if not isinstance(node.parent, exp.Window):
                raise refuse(f"{node.sql(dialect='duckdb')} without OVER", node)
        elif not isinstance(node, (*_PARTS, *_SETS, *_CLAUSES)) and find_function(node) is None:
            raise refuse(node.sql(dialect="duckdb"), node) if isinstance(node, exp.AggFunc) else refusal(node)


def _alone(select: exp.Select) -> exp.Select:
    """A SELECT without its sub-queries, which are looked at on their own."""
    alone = select.copy()
    below: list[exp.Expr] = [alone]
    while below:
        for child in list(below.pop().iter_expressions()):
            if isinstance(child, exp.Select | exp.SetOperation):
                child.replace(exp.null())
            else:
                below.append(child)
    return alone


def _check_join(join: exp.Join) -> None:
    words = {str(join.args.get(name) or "").upper() for name in ("side", "kind", "method")}
    if not words <= _JOINS:
        word = min(words - _JOINS)
        raise refuse(f"{word} JOIN", word)


def _check_kinds(node: exp.Case) -> None:
    """Refuse texts among numbers, which DuckDB would try to read as numbers, row by row."""
    values = [each.args.get("true") for each in node.args["ifs"]] + [node.args.get("default")]
    kinds = {value.is_string for value in values if isinstance(value, exp.Literal)}
    if len(kinds) > 1:
        raise QueryError(
            f"{node.sql(dialect='duckdb')} is a text in some rows and a number in others; write values of one kind"
        )


def _check_type(node: exp.DataType) -> None:
    if node.this.name not in _TYPES or node.expressions:
        raise QueryError(
            f"CAST to {node.sql(dialect='duckdb')} is not supported beside releases; use one of INTEGER, BIGINT, "
            "DOUBLE, VARCHAR, BOOLEAN, DATE and TIMESTAMP"
        )


def _check_statistic(node: exp.Expr) -> None:
    if isinstance(node, exp.AggFunc) and node.expressions:
        raise refuse(node.sql(dialect="duckdb"), node)


_MAY_FAIL = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.Abs, exp.Exp, exp.Sqrt, exp.Ln),
    *(exp.Log, exp.Cbrt, exp.Round, exp.Floor, exp.Ceil, exp.WidthBucket, exp.Substring, exp.Left, exp.Right),
    *(exp.Extract, exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TimeToStr),
    exp.Anonymous,
)
_NO_TRY = (exp.AggFunc, exp.Window, exp.Query, exp.Grouping)
_GIVEN = " given {}"
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)


def total_sql(rest: exp.Query) -> str:
    """The rest of a query as DuckDB reads it, with null in place of what has no value: a division by zero, an overflow.

    >>> total_sql(exp.maybe_parse("SELECT CAST(a AS INT) / b FROM part_0", into=exp.Select))
    'SELECT TRY(TRY_CAST(a AS INT) / NULLIF(b, 0)) FROM part_0'
    """
    total = rest.copy()
    for node in list(total.walk()):
        if type(node) is exp.Cast:
            node.replace(exp.TryCast(this=node.this, to=node.args["to"]))
    for node in list(total.walk()):
        if isinstance(node, _DIVISIONS) and not _is_nonzero(node.expression):
            node.set("expression", exp.Nullif(this=node.expression, expression=exp.Literal.number(0)))
    _tried(total)
    return total.sql(dialect="duckdb")


def _tried(tree: exp.Expr) -> None:
    """Write TRY around what may fail, as far out as DuckDB takes it; products of aggregates, as doubles, do not.

    Around sub-queries it takes none, so these are worked out first, as the only element of a list.
    """
    below = [tree]
    while below:
        for child in list(below.pop().iter_expressions()):
            if isinstance(child, _MAY_FAIL) and not _is_safe(child):
                if child.find(*_NO_TRY) is None:
                    child.replace(exp.Try(this=child.copy()))
                    continue
                if (values := _sub_queries(child)) is not None:
                    below += values
                    child.replace(_tried_over(child, values))
                    continue
                if isinstance(child, exp.Mul):
                    child.set("this", exp.cast(child.this, "DOUBLE"))
            below.append(child)


def _sub_queries(node: exp.Expr) -> list[exp.Subquery] | None:
    """The sub-queries in the place of values; None where aggregates, windows or other sub-queries are beside them."""
    values, below = list[exp.Subquery](), [node]
    while below:
        for child in below.pop().iter_expressions():
            if isinstance(child, exp.Subquery) and not isinstance(
                child.parent, exp.In | exp.Any | exp.All | exp.Exists
            ):
                values.append(child)
            elif isinstance(child, _NO_TRY):
                return None
            else:
                below.append(child)
    return values


def _tried_over(node: exp.Expr, values: list[exp.Subquery]) -> exp.Expr:
    """TRY around an expression over sub-queries, which stand in it by their places in a structure."""
    fields = [exp.to_identifier(f"v{i}", quoted=True) for i in range(len(values))]
    taken = {name.name.casefold() for name in node.find_all(exp.Identifier)}
    given = exp.to_identifier(
        next(name for name in map(_GIVEN.format, itertools.count()) if name not in taken), quoted=True
    )
    for value, name in zip(values, fields, strict=True):
        value.replace(exp.Dot(this=exp.column(given.copy()), expression=name.copy()))
    pairs = [exp.PropertyEQ(this=name, expression=value) for name, value in zip(fields, values, strict=True)]
    tried = exp.Lambda(this=exp.Try(this=node.copy()), expressions=[given])
    listed = exp.Array(expressions=[exp.Struct(expressions=pairs)])
    answers = exp.Anonymous(this="LIST_TRANSFORM", expressions=[listed, tried])
    return exp.Anonymous(this="LIST_EXTRACT", expressions=[answers, exp.Literal.number(1)])


def _is_safe(node: exp.Expr) -> bool:
    """Whether a node is an interval, a negative constant, or the number of a row and a constant."""
    inner = node.args.get("this")
    constant = isinstance(inner, exp.Interval) or (isinstance(node, exp.Neg) and isinstance(inner, exp.Literal))
    return constant or (isinstance(inner, exp.Column) and inner.name == NUMBER)


def _is_nonzero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and any(digit in "123456789" for digit in node.name)
