"""The type of an expression as a key of GROUP BY, and its values where they are public."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType, Key
from discreet.query.expressions._types import Field, Row, is_moment
from discreet.query.functions._calls import Call
from discreet.query.functions._formats import CLOCK_CODES, format_parts
from discreet.query.functions._moments import DAY, last_day, moment_at, moments_between
from discreet.query.functions._registry import find
from discreet.query.functions._spec import Function
from discreet.rational import rational

__all__ = ["Values", "Work", "bounded_domain", "domain", "key_type", "values_of"]

_MOST_VALUES = 10_000
_MOST_UNASKED = 1_000
"""For values that nobody listed: beyond this, as with YEAR, private keys serve better. WIDTH_BUCKET says its own."""
_INT64 = 2**63

_MOST_WORK = 200_000

Values = tuple[Any, ...]


@dataclass(slots=True)
class Work:
    """How many values have been listed for a query so far, those of parts of an expression among them."""

    values: int = 0

    def add(self, values: int) -> None:
        """Raise `QueryError` once there are more than 200,000, before they are listed."""
        self.values += values
        if self.values > _MOST_WORK:
            raise QueryError(
                f"the query is too large: the public values of what it groups by, and of the parts that they are "
                f"computed from, are more than {_MOST_WORK:,}; group by fewer or by shorter expressions, or list their "
                "values in the policy under a column"
            )


def key_type(node: exp.Expr, columns: Mapping[str, Field]) -> ColumnType:
    """The type of an expression as a key. Raises `QueryError` for numbers that are not whole, which have no groups.

    >>> key_type(exp.maybe_parse("FLOOR(cost / 10)"), {"cost": Field(type="float")})
    'int'
    """
    node = node.unnest()
    row = Row(columns, clamped=False)
    kind = row.kind(node)
    if isinstance(node, exp.Column):
        kind = columns[node.name].type
        if kind in ("float", "decimal"):
            raise QueryError(
                f"{node.name} is a {kind} column, which has no groups; declare it int or string, "
                f"or group by FLOOR({node.name})"
            )
        return kind
    if kind == "null":
        raise QueryError(f"{node.sql()} is always null, which makes no groups")
    if kind != "number":
        return kind
    if not row.range(node).integer:
        raise QueryError(f"{node.sql()} is not a whole number, so it has no groups; write FLOOR({node.sql()})")
    return "int"


def domain(node: exp.Expr, columns: Mapping[str, Field], work: Work | None = None) -> tuple[Key | None, ...] | None:
    """All values that an expression can take, from the policy and the query alone; None if they are not public.

    There may be more values here than any row has, never fewer, but for one thing: keys of a column count as all that
    it holds. So null is listed where the expression can be null on a row on which those columns are not. None also for
    more than 10,000 values. Raises `QueryError` for more `work` than a query may make.

    >>> plan = {"plan": Field(type="string", keys=("free", "gold")), "d": Field(type="date", nullable=False)}
    >>> domain(exp.maybe_parse("UPPER(plan)"), plan)
    ('FREE', 'GOLD')
    >>> domain(exp.maybe_parse("CASE WHEN MONTH(d) > 6 THEN 2 END"), plan)
    (2, None)
    """
    return _domain(node, Row(_listed(node, columns), clamped=False), work or Work())


def bounded_domain(
    node: exp.Expr, columns: Mapping[str, Field], work: Work | None = None
) -> tuple[Key | None, ...] | None:
    """As `domain`, of an expression over columns that are moved into their bounds wherever they stand in it.

    >>> age = {"age": Field("int", (Fraction(18), Fraction(20)), nullable=False)}
    >>> bounded_domain(exp.maybe_parse("CASE WHEN age > 90 THEN 0 ELSE age + 1 END"), age)
    (0, 19, 20, 21)
    """
    return _domain(node, Row(_listed(node, columns), clamped=True), work or Work())


def _listed(node: exp.Expr, columns: Mapping[str, Field]) -> dict[str, Field]:
    """The columns of an expression; those with keys have these, and nothing else."""
    used = {column.name: columns[column.name] for column in node.find_all(exp.Column)}
    return {
        name: field if field.keys is None else Field(field.type, field.bounds, field.keys, None in field.keys)
        for name, field in used.items()
    }


def _domain(node: exp.Expr, row: Row, work: Work) -> tuple[Key | None, ...] | None:
    if row.kind(node) == "number" and not (isinstance(node.unnest(), exp.Column) or row.range(node).integer):
        return None
    values = values_of(node, row, work)
    if values is None:
        return None
    work.add(len(values))
    try:
        keys = tuple(dict.fromkeys(_key(value) for value in values))
    except (ValueError, OverflowError):
        return None
    return keys if len(keys) - (None in keys) <= _MOST_VALUES else None


def _key(value: Any) -> Key | None:
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError
        value = int(value)
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise ValueError
    return value


def values_of(node: exp.Expr, row: Row, work: Work) -> Values | None:
    node = node.unnest()
    match node:
        case exp.Column():
            return _held(row.columns[node.name], clamped=row.clamped)
        case exp.Null():
            return (None,)
        case exp.Boolean():
            return (bool(node.this),)
        case exp.Literal() if node.is_string:
            return (node.name,)
        case exp.Literal():
            return (int(node.name),) if row.exact(node) else (float(rational(node.name, "a number in the query")),)
        case exp.Cast() if is_moment(node):
            kind = dt.date if row.kind(node) == "date" else dt.datetime
            return (kind.fromisoformat(node.this.name),)
        case _:
            entry = find(node)
            if entry is None:
                return None
            computed = _computed(node, *entry, row, work)
            if computed is None and row.clamped:
                computed = _calendar(node, entry[1], row)
            return _fixed(node, entry[1], row, work) if computed is None else computed


def _held(field: Field, *, clamped: bool) -> Values | None:
    """The values of a column: its keys, or those of its type, or those within its bounds."""
    if field.keys is not None:
        return field.keys
    empty = (None,) if field.nullable else ()
    if field.type == "bool":
        return (False, True, *empty)
    if not clamped or field.bounds is None or field.type not in ("int", "date"):
        return None
    low, high = (int(bound) for bound in field.bounds)
    if high - low >= _MOST_VALUES:
        return None
    days = field.type == "date"
    return (*(moment_at(DAY * i).date() if days else i for i in range(low, high + 1)), *empty)


def _computed(node: exp.Expr, entry: Function, call: Call, row: Row, work: Work) -> Values | None:
    """From the values of the arguments: all of them for a choice, else by computing the function for each."""
    parts = entry.branches(call) if entry.branches is not None else call.args
    if entry.branches is None and entry.evaluate is None:
        return None
    if call.name == "NULLIF":
        parts = parts[:1]
    sets = [_argument(part, call, row, work) for part in parts]
    known = [values for values in sets if values is not None]
    if len(known) < len(sets):
        return None
    if entry.branches is not None:
        work.add(sum(map(len, known)))
        chosen = (value for values in known for value in values if value is not None)
        return _alike(itertools.chain(chosen, (None,) if row.nullable(node) else ()), node, row)
    if math.prod(map(len, known)) > _MOST_VALUES:
        return None
    work.add(math.prod(map(len, known)))
    try:
        return _alike((_evaluate(entry, call, values) for values in itertools.product(*known)), node, row)
    except (ValueError, ArithmeticError):
        return None


def _argument(node: exp.Expr, call: Call, row: Row, work: Work) -> Values | None:
    """The values of an argument; for a format of days alone, the days of a timestamp instead."""
    if call.name == "STRFTIME" and not any(code in CLOCK_CODES for code, _ in format_parts(call.option)):
        days = moments_between(row.range(node), "DAY", _MOST_VALUES)
        if days is not None:
            return (*days, *((None,) if row.nullable(node) else ()))
    return values_of(node, row, work)


def _calendar(node: exp.Expr, call: Call, row: Row) -> Values | None:
    """The moments of DATE_TRUNC, or the days of a CAST to DATE or of LAST_DAY, within the bounds of their argument."""
    day = "DAY" if call.option == "DATE" else ""
    unit = {"DATE_TRUNC": call.option, "CAST": day, "LAST_DAY": "MONTH"}.get(call.name)
    if not unit or row.kind(call.args[0]) not in ("date", "timestamp"):
        return None
    moments = moments_between(row.range(call.args[0]), unit, _MOST_VALUES)
    if moments is None:
        return None
    if call.name == "LAST_DAY":
        return _alike((*map(last_day, moments), *((None,) if row.nullable(node) else ())), node, row)
    return _alike((*moments, *((None,) if row.nullable(node) else ())), node, row)


def _evaluate(entry: Function, call: Call, values: Values) -> Any:
    if any(value is None for value in values):
        return None
    assert entry.evaluate is not None
    return entry.evaluate(*values, *([call.option] if call.option else []))


def _alike(values: Iterable[Any], node: exp.Expr, row: Row) -> Values | None:
    """Distinct values, as the engine has them: doubles unless they are exact, timestamps if one is."""
    kind, exact = row.kind(node), row.exact(node)

    def convert(value: Any) -> Any:
        if kind == "number" and value is not None and not exact:
            return float(value)
        if kind == "timestamp" and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            return dt.datetime.combine(value, dt.time())
        return value.date() if kind == "date" and isinstance(value, dt.datetime) else value

    try:
        distinct = tuple(dict.fromkeys(map(convert, values)))
    except OverflowError:
        return None
    return distinct if len(distinct) - (None in distinct) <= _MOST_VALUES else None


def _fixed(node: exp.Expr, call: Call, row: Row, work: Work) -> Values | None:
    """From the kind, or from the bounds that a function gives to any row."""
    empty = (None,) if row.nullable(node) else ()
    kind = row.kind(node)
    if kind == "bool":
        return (False, True, *empty)
    if kind != "number":
        return None
    bounds = row.range(node)
    most = _MOST_VALUES if call.name == "WIDTH_BUCKET" else _MOST_UNASKED
    if not bounds.finite or not bounds.integer or bounds.upper - bounds.lower >= most or not _is_sharp(node, row):
        return None
    numbers = range(math.ceil(bounds.lower), math.floor(bounds.upper) + 1)
    work.add(len(numbers))
    return _alike((*numbers, *empty), node, row)


def _is_sharp(node: exp.Expr, row: Row) -> bool:
    """Whether rounding errors cannot cross a bound: doubles round in order, so not one that is a double itself."""
    node = node.unnest()
    if row.kind(node) != "number":
        return True
    bounds = row.range(node)
    ends = (end for end in (bounds.lower, bounds.upper) if not math.isinf(end))
    if any(Fraction(float(end)) != end for end in ends):
        return False
    read = find(node)
    return read is None or all(_is_sharp(argument, row) for argument in read[1].args)
