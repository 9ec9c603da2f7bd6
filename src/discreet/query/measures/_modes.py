"""Modes: how many rows have each of the public values that the most frequent one is drawn from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Key
from discreet.query.expressions._bounded_keys import literal
from discreet.query.measures._bounded import GroupKey
from discreet.query.measures._histograms import Histogram
from discreet.query.parse._parse import refuse
from discreet.query.parse._trees import size_of

__all__ = ["KeyOf", "extract_modes"]

_MOST_VALUES = 1_000
_MOST_PARTS = 20_000
"""Of the comparisons of expressions with their values, in all modes of a query together."""
_EXACT = 2**53
_EPOCH = dt.date(1970, 1, 1).toordinal()

KeyOf = Callable[[exp.Expr], GroupKey]
"""What GROUP BY of an expression would group by."""


def extract_modes(
    aggregates: Mapping[str, tuple[exp.Expr, exp.Expr | None]], key_of: KeyOf, histograms: int
) -> tuple[tuple[Histogram, ...], dict[str, tuple[int, int]]]:
    """A histogram over public values for each MODE, and for each MODE its place after so many other `histograms`.

    The values are the public groups that GROUP BY would have, without null. Raises `QueryError` where there are none
    of them, or more than 1,000, and where all modes together compare too much.
    """
    modes: dict[str, Histogram] = {}
    parts = 0
    for sql, (node, when) in aggregates.items():
        if not isinstance(node, exp.Mode):
            continue
        modes[sql] = histogram = _mode(sql, node, when, key_of)
        parts += size_of(histogram.argument, _MOST_PARTS)
        if parts > _MOST_PARTS:
            raise _too_long(sql, node.this, histogram.values)
    return tuple(modes.values()), {sql: (histograms + i, 0) for i, sql in enumerate(modes)}


def _mode(sql: str, node: exp.Mode, when: exp.Expr | None, key_of: KeyOf) -> Histogram:
    argument = node.this
    if any(value for name, value in node.args.items() if name != "this"):
        raise refuse(sql, node)
    if not isinstance(argument, exp.Expr) or argument.find(exp.Star, exp.Distinct, exp.Order) is not None:
        raise refuse(sql, node)
    try:
        key = key_of(argument)
    except QueryError as error:
        raise QueryError(f"{sql} needs an x that GROUP BY takes, whose groups it is one of: {error}") from None
    values = tuple(value for value in key.values or () if value is not None)
    if not values:
        raise QueryError(_without_values(sql, argument))
    if len(values) > _MOST_VALUES:
        raise QueryError(
            f"{sql} would be drawn from {len(values):,} public values, and a mode has at most {_MOST_VALUES:,}; "
            f"{_counts(argument)}, or take the mode of fewer, such as FLOOR(x / 10) or a CASE"
        )
    counting = _counted(key, values)
    if counting is not None:
        number, first = counting
        return Histogram(number, Fraction(1), first, len(values) - 1, (), when, key.type, values)
    if len(values) * size_of(key.computed, _MOST_PARTS) > _MOST_PARTS:
        raise _too_long(sql, argument, values)
    return Histogram(_place(key, values), Fraction(1), 0, len(values) - 1, (), when, key.type, values)


def _counts(argument: exp.Expr) -> str:
    return f"write SELECT {argument.sql()}, COUNT(*) … GROUP BY 1 ORDER BY 2 DESC LIMIT 1"


def _too_long(sql: str, argument: exp.Expr, values: tuple[Key, ...]) -> QueryError:
    return QueryError(
        f"{sql} compares an expression with {len(values):,} public values, which with the other modes is more than "
        f"fits a query; {_counts(argument)}, a shorter expression, or several queries"
    )


def _without_values(sql: str, argument: exp.Expr) -> str:
    column = argument.unnest()
    declared = f"declare keys of {column.name} in the policy" if isinstance(column, exp.Column) else "declare keys"
    return (
        f"{sql} picks one of the public values of {argument.sql()}, and there are none that the policy or the query "
        f"lists, or too many: {declared}, or {_counts(argument)}, which discovers them for a delta"
    )


def _counted(key: GroupKey, values: tuple[Key, ...]) -> tuple[exp.Expr, int] | None:
    """The number that an expression is, or the days since 1970, and the first of the values, if they are consecutive.

    None also where a row may have another value: such a row has no cell.
    """
    if key.bounded is None or key.type not in ("int", "date"):
        return None
    numbers = [each.toordinal() - _EPOCH if isinstance(each, dt.date) else int(each) for each in values]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))) or max(map(abs, numbers)) > _EXACT:
        return None
    if key.type == "int":
        return key.computed, numbers[0]
    days = exp.DateDiff(this=key.computed, expression=literal(Fraction(0), "date"), unit=exp.Var(this="DAY"))
    return days, numbers[0]


def _place(key: GroupKey, values: tuple[Key, ...]) -> exp.Expr:
    """Which of the values an expression is, from 0; null where it is none of them."""
    branches = [
        exp.If(this=exp.EQ(this=key.computed.copy(), expression=_constant(value, key)), true=exp.Literal.number(i))
        for i, value in enumerate(values)
    ]
    return exp.Case(ifs=branches)


def _constant(value: Key, key: GroupKey) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int):
        return literal(Fraction(value), "int")
    text = exp.Literal.string(str(value))
    return exp.Cast(this=text, to=exp.DataType.build(key.type.upper())) if isinstance(value, dt.date) else text
