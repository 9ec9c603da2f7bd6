"""Row-level expressions: which are allowed, and of what kind they are.

Everything allowed is total: no row can make the engine raise. Arithmetic is on doubles, where overflow is an
infinity, not an error; comparisons are between values of one kind. `FUNCTIONS` lists what there is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isinf
from typing import Any

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.policy import Column, ColumnType, Key
from discreet.query.functions._calls import Call, read
from discreet.query.functions._moments import DAY, microseconds, moment_at
from discreet.query.functions._ranges import ANYTHING, NOTHING, Range, span
from discreet.query.functions._registry import exact_branches, find, refusal
from discreet.query.functions._spec import Function, Kind
from discreet.query.parse._parse import refuse
from discreet.query.parse._trees import put
from discreet.rational import rational

__all__ = [
    "Field",
    "Kind",
    "Row",
    "check_predicate",
    "check_scalar",
    "exact_integer",
    "is_moment",
    "literal_value",
    "nullable",
]


@dataclass(frozen=True, slots=True)
class Field:
    """What is publicly known of a column of a relation, as in a policy: values are moved into bounds when summed.

    Bounds of dates count days since 1970-01-01, those of timestamps microseconds. Keys that are `computed`, and not the
    policy's, are all values that the column can have.
    """

    type: ColumnType
    bounds: tuple[Fraction, Fraction] | None = None
    keys: tuple[Key | None, ...] | None = None
    nullable: bool = True
    computed: bool = False

    @classmethod
    def from_column(cls, declared: Column) -> Field:
        """What the policy says of a column."""
        bounds = declared.bounds
        if bounds is not None and declared.number_bounds is None:
            unit = DAY if declared.type == "date" else 1
            bounds = Fraction(microseconds(bounds[0]), unit), Fraction(microseconds(bounds[1]), unit)
        return cls(declared.type, bounds, declared.keys, declared.nullable)


_KINDS: dict[str, Kind] = {
    "bool": "bool",
    "int": "number",
    "float": "number",
    "decimal": "number",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
}
_DATES: Mapping[exp.DType, Kind] = {
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp",
}
_INT64 = 2**63
_CLAMPED: tuple[Kind, ...] = ("number", "date", "timestamp")


def check_predicate(tree: exp.Expr, columns: Mapping[str, Field]) -> None:
    """Raise `QueryError` unless the expression is a condition on one row.

    A string compared with a date or a timestamp is read as one, in place.

    >>> check_predicate(exp.maybe_parse("age >= 18 AND sex IS NOT NULL"),
    ...                 {"age": Field(type="int"), "sex": Field(type="string")})
    """
    kind = check_scalar(tree, columns)
    if kind != "bool":
        raise QueryError(f"WHERE needs a condition, but {tree.sql()} is a {kind}")


def check_scalar(node: exp.Expr, columns: Mapping[str, Field]) -> Kind:
    """The kind of an expression over the columns of one row; raises `QueryError` if it is not supported.

    Call it once before anything else reads the expression: text beside a date becomes a date in place, and
    ``CASE x WHEN 1`` becomes ``CASE WHEN x = 1``.

    >>> check_scalar(exp.maybe_parse("YEAR(seen) % 10"), {"seen": Field(type="date")})
    'number'
    """
    return Row(columns).kind(node)


def nullable(node: exp.Expr, columns: Mapping[str, Field]) -> bool:
    """Whether a row in which every column that is not nullable is present can make an expression null.

    Columns count as clamped to their bounds where a number is computed from them, as in a sum.

    >>> age = {"age": Field(type="int", bounds=(1, 99), nullable=False)}
    >>> nullable(exp.maybe_parse("LN(age)"), age), nullable(exp.maybe_parse("CASE WHEN age > 9 THEN 1 END"), age)
    (False, True)
    """
    return Row(columns).nullable(node)


def exact_integer(node: exp.Expr, columns: Mapping[str, Field]) -> bool:
    """Whether an expression is a 64-bit integer, which an engine computes and compares exactly."""
    return Row(columns).exact(node)


def literal_value(node: exp.Literal) -> float:
    """The number of a numeric literal; raises `QueryError` if it is too large for a double."""
    try:
        value = float(rational(node.name, "a number in the query"))
    except (ParameterError, OverflowError):
        raise QueryError(f"{node.sql()} is not a number that a query can use") from None
    return value


def is_moment(node: exp.Expr) -> bool:
    """Whether a node is a constant date or timestamp."""
    return (
        isinstance(node, exp.Cast)
        and not isinstance(node, exp.TryCast)
        and node.to.this in _DATES
        and not node.to.expressions
        and isinstance(node.this, exp.Literal)
        and node.this.is_string
    )


@dataclass(frozen=True, slots=True)
class Row:
    """The columns of one row, and what is known of expressions over them; answers are remembered by node.

    `clamped` says that columns stand for their values clamped to their bounds, where a number or a date is computed
    from them. Conditions and texts see the raw values always. `present` says that no column is null.
    """

    columns: Mapping[str, Field]
    clamped: bool = True
    present: bool = False
    known: dict[tuple[str, bool, int], tuple[exp.Expr, Any]] = field(
        default_factory=dict[tuple[str, bool, int], tuple[exp.Expr, Any]]
    )

    def kind(self, node: exp.Expr) -> Kind:
        """See `check_scalar`."""
        return self._remember("kind", node)

    def range(self, node: exp.Expr) -> Range:
        """The numbers that an expression can be; infinite where a column has no bounds.

        Dates and timestamps are numbers of microseconds since 1970-01-01, a date at its midnight.
        """
        return self._remember("range", node)

    def nullable(self, node: exp.Expr) -> bool:
        """See `nullable`."""
        return self._remember("nullable", node)

    def scale(self, node: exp.Expr) -> float:
        """The largest magnitude met while a number is computed."""
        return self._remember("scale", node)

    def exact(self, node: exp.Expr) -> bool:
        """See `exact_integer`."""
        return self._remember("exact", node)

    def agree(self, nodes: tuple[exp.Expr, ...]) -> Kind:
        """The one kind of several expressions; text beside a date or a timestamp is read as one, in place."""
        kinds: list[Kind] = [self.kind(node) for node in nodes]
        moments: list[Kind] = [kind for kind in kinds if kind in ("date", "timestamp")]
        for i, node in enumerate(nodes):
            side = node.unnest()
            if moments and kinds[i] == "string" and isinstance(side, exp.Literal):
                cast = exp.Cast(this=side.copy(), to=exp.DataType.build(moments[0].upper()))
                _check_date_literal(cast)
                put(side, cast)
                kinds[i] = moments[0]
                self._forget(cast)
        by_kind: dict[Kind, exp.Expr] = {}
        for kind, node in zip(kinds, nodes, strict=True):
            if kind != "null":
                by_kind.setdefault(kind, node)
        if set(by_kind) == {"date", "timestamp"}:
            return "timestamp"
        if len(by_kind) > 1:
            left, right = (f"{node.sql()} is a {kind}" for kind, node in list(by_kind.items())[:2])
            raise QueryError(f"{left} and {right}; they cannot be compared or mixed")
        return next(iter(by_kind)) if by_kind else "null"

    def clamps(self, node: exp.Expr) -> bool:
        """Whether columns within an expression can stand clamped: within conditions and texts they are as stored."""
        return self.kind(node) in _CLAMPED

    def moments(self, node: exp.Column) -> tuple[dt.date, dt.date] | None:
        """The first and the last date or timestamp that a column is clamped to; None where it stands as stored."""
        column = self.columns[node.name]
        if not self.clamped or column.bounds is None or column.type not in ("date", "timestamp"):
            return None
        lower, upper = (moment_at(int(end * (DAY if column.type == "date" else 1))) for end in column.bounds)
        return (lower.date(), upper.date()) if column.type == "date" else (lower, upper)

    def call(self, node: exp.Expr) -> tuple[Function, Call]:
        """The entry for a node; raises `QueryError` if there is none."""
        entry = find(node)
        if entry is None:
            raise refusal(node)
        return entry

    def _remember(self, what: str, node: exp.Expr) -> Any:
        node = node.unnest()
        if what != "kind" and self.clamped and not self.clamps(node):
            return getattr(replace(self, clamped=False), what)(node)
        key = (what, self.clamped, id(node))
        if key not in self.known:
            answer = getattr(self, f"_{what}")(node)
            self.known[key] = (node, answer)
        return self.known[key][1]

    def _forget(self, node: exp.Expr) -> None:
        """Answers about what holds a node that has changed."""
        above = node.parent
        while above is not None:
            for what in ("kind", "range", "nullable", "scale", "exact"):
                for clamped in (True, False):
                    self.known.pop((what, clamped, id(above)), None)
            above = above.parent

    def _kind(self, node: exp.Expr) -> Kind:
        match node:
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    raise refuse(f"{node.sql()} in a row-level expression")
                return _KINDS[self.columns[node.name].type]
            case exp.Boolean():
                return "bool"
            case exp.Null():
                return "null"
            case exp.Literal():
                if not node.is_string:
                    literal_value(node)
                return "string" if node.is_string else "number"
            case exp.Cast() if is_moment(node):
                return _check_date_literal(node)
            case exp.AggFunc():
                raise QueryError(f"{node.sql()} is an aggregate, which cannot stand here")
            case exp.Case() if node.this is not None:
                _search(node)
                return self._kind(node)
            case _:
                entry, call = self.call(node)
                return entry.kind(call, self)

    def _range(self, node: exp.Expr) -> Range:
        match node:
            case exp.Column():
                return self._column_range(self.columns[node.name])
            case exp.Literal() if not node.is_string:
                value = rational(node.name, "a number in the query")
                return Range(value, value, value.denominator == 1)
            case exp.Null():
                return NOTHING
            case exp.Cast() if is_moment(node):
                kind = dt.date if self.kind(node) == "date" else dt.datetime
                point = microseconds(kind.fromisoformat(node.this.name))
                return span(point, point)
            case _:
                entry = find(node)
                if entry is None or entry[0].span is None:
                    return ANYTHING
                return entry[0].span(entry[1], self)

    def _column_range(self, column: Field) -> Range:
        integer = column.type in ("int", "date", "timestamp")
        if self.clamped and column.bounds is not None:
            unit = DAY if column.type == "date" else 1
            return Range(*(end * unit for end in column.bounds), integer=integer)
        if column.type == "int" and not self.clamped:
            return span(-_INT64, _INT64)
        return Range(-inf, inf, integer=integer)

    def _nullable(self, node: exp.Expr) -> bool:
        match node:
            case exp.Column():
                return self.columns[node.name].nullable and not self.present
            case exp.Null():
                return True
            case exp.Literal() | exp.Boolean():
                return False
            case _ if is_moment(node):
                return False
            case _:
                entry, call = self.call(node)
                if entry.null is not None:
                    return entry.null(call, self)
                return any(self.nullable(argument) for argument in call.args)

    def _scale(self, node: exp.Expr) -> float:
        largest = self.range(node).largest
        sizes = [inf if isinf(largest) else float(largest)]
        known = find(node)
        if known is not None:
            _, call = known
            sizes += [self.scale(argument) for argument in call.args if self.kind(argument) == "number"]
        return max(sizes)

    def _exact(self, node: exp.Expr) -> bool:
        match node:
            case exp.Column():
                return self.columns[node.name].type == "int"
            case exp.Neg():
                literal = node.this.unnest()
                return isinstance(literal, exp.Literal) and self._exact(literal)
            case exp.Literal():
                return not node.is_string and node.name.isdecimal() and node.name.isascii() and int(node.name) < _INT64
            case _:
                entry = find(node)
                branches = None if entry is None else exact_branches(*entry)
                if branches is None or self.kind(node) != "number":
                    return False
                return all(map(self.exact, branches)) and (not entry or entry[0].exact != "branches" or branches != ())


def _search(node: exp.Case) -> None:
    """CASE x WHEN 1 as CASE WHEN x = 1, in place."""
    call = read(node)
    assert call is not None
    for branch, condition in zip(node.args["ifs"], call.args[::2], strict=False):
        branch.set("this", condition)
    node.set("this", None)


def _check_date_literal(node: exp.Cast) -> Kind:
    """Check a date or a timestamp, and write it in place as every engine reads it."""
    kind = _DATES[node.to.this]
    try:
        moment = (dt.date if kind == "date" else dt.datetime).fromisoformat(node.this.name)
    except ValueError:
        example = "2026-01-31" if kind == "date" else "2026-01-31 12:00:00"
        raise QueryError(f"{node.this.sql()} is not a {kind}; write it as {example}") from None
    if isinstance(moment, dt.datetime) and moment.utcoffset() == dt.timedelta(0):
        moment = moment.replace(tzinfo=None)
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        raise QueryError(f"{node.this.sql()} has a time zone, and timestamps here have none; write it without, in UTC")
    node.this.replace(exp.Literal.string(str(moment)))
    node.set("to", exp.DataType.build(kind.upper()))
    return kind
