"""Pass: aggregates become placeholders, read off measures that they share."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._intervals import Interval, interval
from discreet.query.expressions._types import Field, check_predicate, check_scalar, nullable
from discreet.query.functions._registry import find, near_name, refusal
from discreet.query.measures._aggregates import KINDS, PAIRS, SPELLINGS, Aggregate, Axis, Second
from discreet.query.measures._bounded import check_aggregates
from discreet.query.measures._histograms import Histogram, extract_quantiles
from discreet.query.measures._measures import Count, Distinct, Measure, People, Sum, on_grid, product_on_grid
from discreet.query.measures._modes import KeyOf, extract_modes
from discreet.query.parse._parse import refuse
from discreet.query.parse._refusals import because
from discreet.query.parse._trees import put
from discreet.query.passes._quantiles import QUANTILE_NAMES
from discreet.query.passes._windows import is_window_function

__all__ = ["extract_aggregates"]


def extract_aggregates(
    select: exp.Select,
    columns: Mapping[str, Field],
    table: str,
    people: AbstractSet[str],
    key_of: KeyOf,
) -> tuple[exp.Select, tuple[Measure, ...], tuple[Histogram, ...], tuple[Aggregate, ...]]:
    """Replace each distinct aggregate by a placeholder ``:a0``, ``:a1``, …; say what to sum and to count for them.

    A measure serves every aggregate that can use it: SUM(x) beside AVG(x) or VAR_SAMP(x) is read off their measures,
    and COUNT(x) of a column that is never null is COUNT(*). `people` are the columns that name the person, whose
    COUNT(DISTINCT …) is the number of people. `key_of` has the public values that a MODE is one of.

    Raises `QueryError` for an unsupported aggregate or a sum without bounds.
    """
    select = select.copy()
    occurrences: dict[str, list[exp.Expr]] = {}
    for node in list(select.find_all(exp.AggFunc, exp.Filter, exp.Anonymous)):
        if isinstance(node, exp.Anonymous):
            if find(node) is None:
                raise _unknown(node)
            continue
        if not (isinstance(node.parent, exp.Filter) or is_window_function(node)):
            occurrences.setdefault(node.sql(), []).append(node)
    check_aggregates(len(occurrences))
    written = {sql: _filtered(sql, nodes[0], columns) for sql, nodes in occurrences.items()}
    histograms, quantiles = extract_quantiles(written, columns, table)
    modes, places = extract_modes(written, key_of, len(histograms))
    quantiles |= places
    calls = {sql: _call(sql, *each, columns, people) for sql, each in written.items() if sql not in quantiles}
    extraction = _Extraction(list(calls.values()), columns, table)
    aggregates = tuple(
        Aggregate("QUANTILE", sql, None, quantile=quantiles[sql])
        if sql in quantiles
        else extraction.aggregate(calls[sql])
        for sql in written
    )
    for i, nodes in enumerate(occurrences.values()):
        for node in nodes:
            put(node, exp.Placeholder(this=f"a{i}"))
    return select, tuple(extraction.measures), (*histograms, *modes), aggregates


@dataclass(frozen=True, slots=True)
class _Call:
    """An aggregate as it is written: of `x`, or of (`y`, `x`), over the rows that satisfy `when`."""

    kind: str
    sql: str
    x: exp.Expr
    y: exp.Expr | None = None
    when: exp.Expr | None = None
    people: bool = False
    distinct: bool = False


@dataclass(frozen=True)
class _Extraction:
    calls: list[_Call]
    columns: Mapping[str, Field]
    table: str
    measures: dict[Measure, int] = field(default_factory=dict[Measure, int])
    bounds: dict[str, Interval] = field(default_factory=dict[str, Interval])
    nullable: dict[str, bool] = field(default_factory=dict[str, bool])

    def aggregate(self, call: _Call) -> Aggregate:
        """The aggregate, with its measures among those of the query."""
        if call.people or call.distinct:
            measure = People(call.when) if call.people else Distinct(call.x, call.when)
            return Aggregate("COUNT", call.sql, self._position(measure))
        if call.kind == "COUNT":
            return Aggregate("COUNT", call.sql, self._count(call.x, None, call.when))
        if call.kind == "SUM":
            count = self._count(call.x, None, call.when) if _place(call) in self._centered else None
            return Aggregate("SUM", call.sql, count, self._axis(call.x, None, call.when))
        if call.y is None:
            x, count = self._axis(call.x, None, call.when), self._count(call.x, None, call.when)
            xx = None if call.kind == "AVG" else self._second(call.x, call.x, call.when)
            return Aggregate(call.kind, call.sql, count, x, xx=xx)
        return self._pair(call, call.x, call.y)

    def _pair(self, call: _Call, x: exp.Expr, y: exp.Expr) -> Aggregate:
        needs, when = PAIRS[call.kind], call.when
        kind = "COUNT" if call.kind == "REGR_COUNT" else call.kind
        return Aggregate(
            kind,
            call.sql,
            self._count(x, y, when),
            self._axis(x, y, when) if "x" in needs else None,
            self._axis(y, x, when) if "y" in needs else None,
            self._second(x, x, when, beside=y) if "xx" in needs else None,
            self._second(x, y, when) if "xy" in needs else None,
            self._second(y, y, when, beside=x) if "yy" in needs else None,
        )

    @cached_property
    def _centered(self) -> set[tuple[str, str]]:
        """The arguments, with their filters, that another aggregate than SUM needs centred."""
        alone = {_place(call) for call in self.calls if call.y is None and call.kind not in ("COUNT", "SUM")}
        pairs = [(call, x, y) for call in self.calls if call.y for x, y in ((call.x, call.y), (call.y, call.x))]
        return alone | {_place(replace(call, x=x)) for call, x, y in pairs if self._maybe_null(y) is None}

    def _position(self, measure: Measure) -> int:
        return self.measures.setdefault(measure, len(self.measures))

    def _count(self, x: exp.Expr, y: exp.Expr | None, when: exp.Expr | None) -> int:
        first, second = (self._maybe_null(x), self._maybe_null(y))
        arguments = sorted({a.sql(): a for a in (first, second) if a is not None}.items())
        argument, beside, *_ = *(a for _, a in arguments), None, None
        return self._position(Count(argument, beside, when))

    def _axis(self, x: exp.Expr, y: exp.Expr | None, when: exp.Expr | None) -> Axis:
        """The sum of x over rows where y is not null either, if it is given."""
        beside = self._maybe_null(y) if y != x else None
        centered = y is not None or _place(_Call("SUM", "", x, when=when)) in self._centered
        total = replace(self._grid(x, centered=centered), beside=beside, when=when)
        return Axis(self._position(total), total.step, total.center, self._bounds(x))

    def _second(self, x: exp.Expr, y: exp.Expr, when: exp.Expr | None, *, beside: exp.Expr | None = None) -> Second:
        left, right = sorted((self._grid(x, centered=True), self._grid(y, centered=True)), key=_spelling)
        beside = self._maybe_null(beside) if beside != x else None
        product = replace(product_on_grid(left, right), beside=beside, when=when)
        return Second(self._position(product), product.shift, product.center)

    def _grid(self, argument: exp.Expr, *, centered: bool) -> Sum:
        return on_grid(argument, self._bounds(argument), centered=centered)

    def _bounds(self, argument: exp.Expr) -> Interval:
        text = argument.sql()
        if text not in self.bounds:
            self.bounds[text] = interval(argument, self.columns, self.table)
        return self.bounds[text]

    def _maybe_null(self, argument: exp.Expr | None) -> exp.Expr | None:
        """The argument, or None if it is null on no row that counts."""
        if argument is None or isinstance(argument, exp.Star):
            return None
        text = argument.sql()
        if text not in self.nullable:
            self.nullable[text] = nullable(argument, self.columns)
        return argument if self.nullable[text] else None


def _spelling(grid: Sum) -> str:
    return grid.argument.sql()


_ELSEWHERE = {"AVERAGE": "AVG"}


def _unknown(node: exp.Anonymous) -> QueryError:
    if node.find_ancestor(exp.AggFunc, exp.Filter) is not None and because(node) is None:
        return refusal(node)
    near = _ELSEWHERE.get(node.name.upper()) or near_name(node.name, (*SPELLINGS, *QUANTILE_NAMES))
    hint = "" if near is None or because(node) is not None else f" (did you mean {near}?)"
    return refuse(node.sql(dialect="duckdb") + hint, node)


def _place(call: _Call) -> tuple[str, str]:
    return call.x.sql(), "" if call.when is None else call.when.sql()


def _filtered(sql: str, node: exp.Expr, columns: Mapping[str, Field]) -> tuple[exp.Expr, exp.Expr | None]:
    """The aggregate, and the condition of its FILTER."""
    if not isinstance(node, exp.Filter):
        return node, None
    node, where = node.this, node.expression
    if not isinstance(node, exp.AggFunc) or not isinstance(where, exp.Where):
        raise refuse(sql)
    check_predicate(where.this, columns)
    return node, where.this


def _call(
    sql: str, node: exp.Expr, when: exp.Expr | None, columns: Mapping[str, Field], people: AbstractSet[str]
) -> _Call:
    kind = KINDS.get(type(node))
    if kind is None or node.args.get("expressions"):
        raise refuse(f"the aggregate {sql}", node)
    x, y = node.this, node.args.get("expression")
    if kind in PAIRS:
        if not isinstance(y, exp.Expr):
            raise QueryError(f"{sql} needs two arguments, y and x: {kind}(y, x)")
        for side in (y, x):
            _check_argument(sql, kind, side, columns)
        return _Call(kind, sql, y.unnest(), x.unnest(), when)
    if isinstance(x, exp.Distinct):
        return _distinct(sql, kind, x, when, columns, people)
    condition = kind == "SUM" and isinstance(x, exp.Expr) and check_scalar(x, columns) == "bool"
    if kind == "COUNT_IF" or condition:
        if check_scalar(x, columns) != "bool":
            raise QueryError(f"{sql} needs a condition, such as COUNT_IF(age >= 18)")
        both = x if when is None else exp.And(this=exp.paren(when.copy()), expression=exp.paren(x.copy()))
        return _Call("COUNT", sql, exp.Star(), when=both)
    if not (isinstance(x, exp.Star) and kind == "COUNT"):
        _check_argument(sql, kind, x, columns)
    return _Call(kind, sql, x, None, when)


def _distinct(  # noqa: PLR0913, PLR0917
    sql: str,
    kind: str,
    distinct: exp.Distinct,
    when: exp.Expr | None,
    columns: Mapping[str, Field],
    people: AbstractSet[str],
) -> _Call:
    if kind != "COUNT" or len(distinct.expressions) != 1 or distinct.args.get("on"):
        raise refuse(f"DISTINCT in {sql}", distinct)
    argument = distinct.expressions[0].unnest()
    if isinstance(argument, exp.Column) and argument.name in people:
        return _Call(kind, sql, argument, when=when, people=True)
    check_scalar(argument, columns)
    return _Call(kind, sql, argument, when=when, distinct=True)


def _check_argument(sql: str, kind: str, argument: exp.Expr, columns: Mapping[str, Field]) -> None:
    argument_kind = check_scalar(argument, columns)
    if argument_kind != "number" and kind != "COUNT":
        raise QueryError(f"{sql} needs a number, but {argument.sql()} is a {argument_kind}")
