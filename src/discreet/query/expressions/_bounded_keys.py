"""Keys of GROUP BY whose groups follow from the bounds of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType, Key
from discreet.query.expressions._domains import Work, bounded_domain
from discreet.query.expressions._narrowing import Narrowed, Narrowing
from discreet.query.expressions._types import Field, Row
from discreet.query.functions._moments import DAY, moment_at
from discreet.query.parse._trees import transformed

__all__ = ["bounded_key", "clamped", "literal", "remaining_groups"]

_MOST_GROUPS = 1_000
"""Of whole numbers and texts; beyond this, private keys serve better. Of dates as many as are listed: 27 years."""
_INT64 = 2**63 - 1


def bounded_key(
    node: exp.Expr, kind: ColumnType, columns: Mapping[str, Field], work: Work | None = None
) -> tuple[tuple[Key | None, ...], exp.Expr] | None:
    """The groups of a key, and the key as it is computed from columns that are moved into their bounds.

    None where the bounds of its columns leave it more values than are worth a group each, or none that are known. Every
    row is in a group: null is among them where the key can be null.

    >>> columns = {"age": Field("int", (Fraction(18), Fraction(99)), nullable=False)}
    >>> values, key = bounded_key(exp.maybe_parse("FLOOR(age / 10)"), "int", columns)
    >>> values, key.sql()
    ((1, 2, 3, 4, 5, 6, 7, 8, 9), 'FLOOR(CASE WHEN age < 18 THEN 18 WHEN age > 99 THEN 99 ELSE age END / 10)')
    """
    used = {column.name: columns[column.name] for column in node.find_all(exp.Column)}
    bounded = {name: field for name, field in used.items() if field.bounds is not None and field.keys is None}
    if not bounded:
        return None

    def swap(part: exp.Expr) -> exp.Expr:
        return clamped(part, bounded[part.name]) if isinstance(part, exp.Column) and part.name in bounded else part

    key = transformed(node.copy(), swap)
    try:
        values = bounded_domain(node, columns, work)
    except QueryError:  # of too many values in all
        values = None
    if values is None and kind == "int":
        row = Row(columns)
        limits = row.range(node)
        if not limits.finite or limits.upper - limits.lower >= _MOST_GROUPS or limits.largest > _INT64:
            return None
        ends = Fraction(math.ceil(limits.lower)), Fraction(math.floor(limits.upper))
        values = (*range(int(ends[0]), int(ends[1]) + 1), *((None,) if row.nullable(node) else ()))
        key = clamped(key, Field("int", ends))  # rounding errors of an engine do not leave it
    if values is None or (len(values) - (None in values) > _MOST_GROUPS and kind not in ("date", "timestamp")):
        return None
    return values, key


def remaining_groups(
    node: exp.Expr, values: tuple[Key | None, ...], columns: Mapping[str, Narrowed], narrowing: Narrowing
) -> tuple[Key | None, ...]:
    """The groups of a `bounded_key` that conditions do not rule out.

    They see values as they are. So a group into which values beyond an end of the bounds are moved stays.
    """
    moved = set[Key | None]()
    bounded = {
        name: each for name, each in columns.items() if each.field.bounds is not None and each.field.keys is None
    }
    fields = {name: each.field for name, each in columns.items()}
    for name, each in bounded.items():
        for end in each.open_ends:
            assert each.field.bounds is not None
            point = replace(each.field, bounds=(each.field.bounds[end],) * 2)
            groups = None if len(bounded) > 1 else bounded_domain(node, fields | {name: point})
            if groups is None:
                return values
            moved.update(groups)
    left = set(narrowing.left(node, values))
    return tuple(value for value in values if value in left or value in moved)


def clamped(node: exp.Expr, field: Field) -> exp.Expr:
    """An expression moved into the bounds of a column: the nearer one where it is beyond, null where it is null.

    >>> clamped(exp.column("n"), Field("int", (Fraction(-1), Fraction(9)))).sql()
    'CASE WHEN n < -1 THEN -1 WHEN n > 9 THEN 9 ELSE n END'
    """
    assert field.bounds is not None
    low, high = (literal(bound, field.type) for bound in field.bounds)
    below = exp.If(this=exp.LT(this=node.copy(), expression=low.copy()), true=low)
    above = exp.If(this=exp.GT(this=node.copy(), expression=high.copy()), true=high)
    return exp.Case(ifs=[below, above], default=node.copy())


def literal(bound: Fraction, kind: ColumnType) -> exp.Expr:
    """A bound of a column as SQL writes it; of dates it counts days since 1970-01-01, of timestamps microseconds."""
    if kind in ("date", "timestamp"):
        moment = moment_at(int(bound) * (DAY if kind == "date" else 1))
        written = str(moment.date() if kind == "date" else moment)
        return exp.Cast(this=exp.Literal.string(written), to=exp.DataType.build(kind.upper()))
    if kind == "int":
        bound = max(Fraction(-_INT64), min(bound, Fraction(_INT64)))
    text = str(abs(bound)) if bound.denominator == 1 else repr(float(abs(bound)))
    number = exp.Literal.number(text)
    return number if bound >= 0 else exp.Neg(this=number)
