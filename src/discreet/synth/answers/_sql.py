"""SQL over a synthetic table: what measured marginals determine is estimated from them, the rest from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import QueryError
from discreet.marginals import ColumnCells, Merge, Numbers, cells
from discreet.marginals.conditions import CellTable, Following, Sandbox, Undetermined, Valued
from discreet.query import Dual, Query, evaluate, parse, rounding, text_of
from discreet.recursion import with_room
from discreet.synth.answers._answer import AnswerColumn, AnswerKind, Spread, SyntheticAnswer
from discreet.synth.answers._estimates import (
    Combined,
    GroupedWeights,
    MeasuredMarginal,
    Moments,
    combine_marginals,
    moments,
    places_in,
)
from discreet.synth.answers._reader import Functional, Item, Plain, bind, is_plain, read

__all__ = ["SQL_ROWS", "Source", "answer_sql"]

SQL_ROWS = 200_000
"""How many rows of a synthetic table answer SQL at most; counts and sums of a larger one are scaled."""
_MOST_GROUPS = 2**17
_ROUNDING = 0.5


@dataclass(frozen=True, eq=False)
class Source:
    """What answers are computed from: all of it is public.

    `rows` are sampled from the table, `scale` is how many rows of the table each of them stands for.
    """

    table: str
    columns: Sequence[ColumnCells]
    merges: Sequence[Merge]
    measured: Sequence[MeasuredMarginal]
    rows: pa.Table
    scale: float
    following: Sequence[Following] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many public cells each column has."""
        return tuple(column.size for column in self.columns)


@with_room
def answer_sql(query: Query, source: Source) -> SyntheticAnswer:
    """The answer to SQL text, or to an Ibis expression. Raises `QueryError` for what is no SELECT or has no answer."""
    text = query if isinstance(query, str) else text_of(query)
    select = bind(parse(text), source.table)
    try:
        written = _scaled(select, source.scale).sql("duckdb")
    except SqlglotError:
        raise QueryError("the query cannot be read: a function of it lacks an argument") from None
    with Sandbox({source.table: source.rows}) as sandbox:
        by_rows = sandbox.run(written)
        plain = _read(select)
        if plain is not None:
            try:
                return _Estimate(plain, select, source, sandbox).answer()
            except (Undetermined, QueryError):
                pass
    names = by_rows.column_names
    return SyntheticAnswer(by_rows, by_rows, {name: _by_model(by_rows.num_rows) for name in names})


def _read(select: exp.Select) -> Plain | None:
    try:
        return read(select)
    except QueryError:
        return None


def _by_model(rows: int) -> AnswerColumn:
    return AnswerColumn("model", np.zeros(rows, bool))


def _scaled(select: exp.Select, scale: float) -> exp.Select:
    """The query with counts and sums of rows that each stand for `scale`. Raises `QueryError` where that is unclear."""
    if scale == 1:
        return select
    counted = list(select.find_all(exp.Count, exp.CountIf, exp.Sum))
    tables = sum(1 for _ in select.find_all(exp.Table))
    selects = list(select.find_all(exp.Select))
    windows = [each for each in select.find_all(exp.Window) if not _sums_counts(each)]
    if (tables > len(selects)) or (counted and (windows or not all(map(is_plain, selects)))):
        raise QueryError(
            f"the synthetic table has more than {SQL_ROWS:,} rows, so that SQL is answered from a sample, which "
            "cannot be joined, or counted in windows or sub-queries of FROM; take as many rows as you want with "
            "sample(), and query those"
        )
    if any(isinstance(each.this, exp.Distinct) for each in counted):
        raise QueryError(
            "COUNT(DISTINCT x) cannot be scaled from a sample; take all rows with sample(), and query those"
        )
    select = select.copy()
    for node in list(select.find_all(exp.Count, exp.CountIf, exp.Sum)):
        outer = node.parent if isinstance(node.parent, exp.Filter) else node
        if isinstance(outer.parent, exp.Window) and outer.arg_key == "this":
            continue  # a sum of counts, which are scaled
        name = None
        if isinstance(outer.parent, exp.Select) and outer.arg_key == "expressions":
            name = outer.sql("duckdb").lower()
        product: exp.Expr = exp.Paren(this=exp.Mul(this=exp.Literal.number(repr(scale)), expression=outer.copy()))
        outer.replace(product if name is None else exp.alias_(product, name, quoted=True))
    return select


def _sums_counts(window: exp.Window) -> bool:
    """Whether a window is SUM(COUNT(…)) OVER (…), the sum over groups of what is scaled."""
    return isinstance(window.this, exp.Sum) and isinstance(window.this.this, exp.AggFunc)


class _Estimate:
    """One query by what was measured, in every group of public cells that its conditions leave."""

    def __init__(self, plain: Plain, select: exp.Select, source: Source, sandbox: Sandbox) -> None:
        self._plain, self._select, self._source, self._sandbox = plain, select, source, sandbox
        table = select.args["from_"].this
        self._cells = CellTable(
            source.columns, [*([table.alias] if table.alias else []), source.table], sandbox, source.following
        )
        self._group_columns = self._cells.columns_in(plain.keys)
        self._keys, self._groups, self._count = self._grouped()
        self._functions = [self._combined(each) for each in plain.functionals]

    def answer(self) -> SyntheticAnswer:
        """The answer. Raises `Undetermined` if nothing measured determines any of its columns."""
        listed = np.flatnonzero(self._listed())
        modelled = self._modelled(listed)
        items = self._plain.items
        columns, arrays = list[AnswerColumn](), list[Any]()
        for i, item in enumerate(items):
            column, values = self._column(item, listed)
            if values is None:
                values = (
                    modelled.column(i) if item.key is None else self._keys[item.key].take(pa.array(listed, pa.int64()))
                )
            elif not column.determined.all():
                other = modelled.column(i).cast(pa.float64())
                values = pc.if_else(pa.array(column.determined, pa.bool_()), values, other)
            columns, arrays = [*columns, column], [*arrays, values]
        shown = range(self._plain.shown)
        if not any(columns[i].spread is not None for i in shown):
            raise Undetermined
        order, picked = self._last(pa.Table.from_arrays(arrays, names=[f"c{i}" for i in range(len(items))]), columns)
        names = [items[i].name for i in shown]
        rows = pa.array(order, pa.int64())
        taken = {
            items[i].name: AnswerColumn(
                each.kind, each.determined[order], None if each.spread is None else each.spread.taken(order)
            )
            for i, each in enumerate(columns[: self._plain.shown])
        }
        return SyntheticAnswer(
            pa.Table.from_arrays([arrays[i] for i in shown], names=names).take(rows),
            pa.Table.from_arrays(
                [arrays[i] if items[i].key is not None else modelled.column(i) for i in shown], names=names
            ).take(rows),
            taken,
            picked,
        )

    def _grouped(self) -> tuple[list[pa.Array[Any]], NDArray[np.int64], int]:
        """The keys of each group, the group of each cell of the columns that rows are grouped by, and how many."""
        keys = [self._cells.value(key, self._group_columns) for key in self._plain.keys]
        count = cells(self._source.sizes, self._group_columns)
        if not all(key.known.all() for key in keys):
            raise Undetermined
        codes = np.zeros(count, np.int64)
        for key in keys:
            encoded = key.values.dictionary_encode(null_encoding="encode")
            codes = codes * (len(encoded.dictionary) + 1) + np.asarray(encoded.indices, dtype=np.int64)
        _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        if len(first) > _MOST_GROUPS:
            raise Undetermined
        order = pa.array(np.sort(first), pa.int64())
        return [key.values.take(order) for key in keys], rank[groups].astype(np.int64), len(first)

    def _weights(self, functional: Functional) -> GroupedWeights:
        own = self._cells.columns_in([functional.weight])
        columns = own if functional.is_total else tuple(sorted({*own, *self._group_columns}))
        valued: Valued = self._cells.value(functional.weight, columns)
        weights = np.nan_to_num(np.asarray(valued.values.cast(pa.float64()).to_numpy(zero_copy_only=False)))
        if not np.isfinite(weights).all():
            raise Undetermined
        groups = np.zeros(len(weights), np.int64)
        if not functional.is_total:
            sizes = [self._source.sizes[column] for column in columns]
            groups = self._groups[places_in(self._group_columns, columns, sizes)]
        return GroupedWeights(columns, weights, groups, valued.known, functional.is_total)

    def _combined(self, functional: Functional) -> Combined | None:
        source = self._source
        try:
            weights = self._weights(functional)
        except (Undetermined, QueryError):
            return None
        return combine_marginals(weights, self._count, source.measured, source.sizes, source.merges)

    def _listed(self) -> NDArray[np.bool_]:
        """The groups that rows may be in, by the conditions of the query."""
        every = np.ones(self._count, bool)
        where = self._plain.where
        if where is None or not self._plain.keys:
            return every
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        held = self._weights(Functional(exp.Case(ifs=[exp.If(this=where.copy(), true=one)], default=zero)))
        return np.bincount(held.groups, (held.weights != 0) | ~held.known, self._count) > 0

    def _modelled(self, listed: NDArray[np.int64]) -> pa.Table:
        """What the synthetic rows have in each of some groups, item by item."""
        bare = self._select.copy()
        for clause in ("having", "order", "limit", "offset", "group"):
            bare.set(clause, None)
        keys = [exp.alias_(key.copy(), f"k{i}") for i, key in enumerate(self._plain.keys)]
        items = [exp.alias_(item.text.copy(), f"c{i}") for i, item in enumerate(self._plain.items)]
        bare.set("expressions", [*keys, *items])
        if keys:
            bare.set("group", exp.Group(expressions=[key.this.copy() for key in keys]))
        rows = self._sandbox.run(_scaled(bare, self._source.scale).sql("duckdb"))
        wide = range(len(keys))
        places = {tuple(row): i for i, row in enumerate(zip(*(rows.column(k).to_pylist() for k in wide), strict=True))}
        if not keys:
            places = {(): 0}
        groups = zip(*(key.take(pa.array(listed, pa.int64())).to_pylist() for key in self._keys), strict=True)
        positions = [places.get(tuple(group)) for group in groups] if keys else [0]
        at = pa.array(positions, pa.int64())
        columns = [rows.column(len(keys) + i).combine_chunks().take(at) for i in range(len(items))]
        return pa.Table.from_arrays(
            [_zero_where_empty(column, item) for column, item in zip(columns, self._plain.items, strict=True)],
            names=[f"c{i}" for i in range(len(items))],
        )

    def _column(self, item: Item, listed: NDArray[np.int64]) -> tuple[AnswerColumn, pa.Array[Any] | None]:
        rows = len(listed)
        if item.key is not None:
            return AnswerColumn("key", np.ones(rows, bool)), None
        used = [] if item.expression is None else _used(item.expression)
        functions = [function for function in (self._functions[i] for i in used) if function is not None]
        if item.expression is None or len(functions) < len(used):
            return _by_model(rows), None
        determined = np.all([np.isfinite(function.values) for function in functions], axis=0)[listed]
        if not determined.any():
            return _by_model(rows), None
        leaves = {
            f"a{i}": Dual(np.nan_to_num(function.values), {i: np.ones(self._count)})
            for i, function in zip(used, functions, strict=True)
        }
        try:
            inner, digits = rounding(item.expression)
            dual = evaluate(inner, leaves, self._count, _unknown_condition)
            divisors = self._divisors(inner, leaves)
        except QueryError:
            return _by_model(rows), None
        kind: AnswerKind = "measured" if isinstance(inner.unnest(), exp.Placeholder) else "derived"
        noise = self._moments(dual)
        values = dual.value if digits is None else np.round(dual.value, digits)
        slack = 0.0 if digits is None else _ROUNDING * 10.0**-digits
        spread = Spread(noise, self._source.measured, divisors, slack).taken(listed)
        shown = pa.array(values[listed], mask=~np.isfinite(values[listed]))
        return AnswerColumn(kind, determined, spread), shown

    def _moments(self, dual: Dual) -> Moments:
        slopes: dict[int, Numbers] = {i: np.nan_to_num(slope) for i, slope in dual.slopes.items()}
        functions = {i: function for i, function in enumerate(self._functions) if function is not None}
        return moments(slopes, functions, self._source.measured, self._count)

    def _divisors(self, node: exp.Expr, leaves: Mapping[str, Dual]) -> Numbers:
        """The largest relative standard deviation of anything that the expression divides by."""
        worst = np.zeros(self._count)
        for division in node.find_all(exp.Div):
            divisor = evaluate(division.right, leaves, self._count, _unknown_condition)
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = np.abs(self._moments(divisor).std / divisor.value)
            worst = np.fmax(worst, np.nan_to_num(relative, nan=np.inf if divisor.slopes else 0.0))
        return worst

    def _last(self, items: pa.Table, columns: Sequence[AnswerColumn]) -> tuple[NDArray[np.int64], float | None]:
        """The places of the rows that HAVING, ORDER BY and LIMIT leave, and their share if noisy values picked them."""
        last, count = self._plain.last, items.num_rows
        if not last:
            return np.arange(count), None
        name = f"items of {self._source.table}"
        self._sandbox.add(name, items.append_column("row number", pa.array(np.arange(count))))
        select = exp.select(exp.column("row number", quoted=True)).from_(exp.to_identifier(name, quoted=True))
        if "having" in last:
            select.set("where", exp.Where(this=last["having"].this))
        order = list(last["order"].expressions) if "order" in last else []
        position = exp.Ordered(this=exp.column("row number", quoted=True))
        select.set("order", exp.Order(expressions=[*order, position]))
        for clause in ("limit", "offset"):
            select.set(clause, last.get(clause))
        rows = np.asarray(self._sandbox.run(select.sql("duckdb")).column(0), dtype=np.int64)
        noisy = {f"c{i}" for i, column in enumerate(columns) if column.kind != "key"}
        asked = [node for name, node in last.items() if name == "having" or (name == "order" and "limit" in last)]
        picks = any(column.name in noisy for node in asked for column in node.find_all(exp.Column))
        return rows, len(rows) / count if picks and count else None


def _zero_where_empty(column: pa.Array[Any], item: Item) -> pa.Array[Any]:
    """A count of no rows is 0, where the rows have no such group."""
    counts = isinstance(item.text, exp.Count | exp.CountIf)
    return pc.fill_null(column, pa.scalar(0, column.type)) if counts else column


def _used(expression: exp.Expr) -> list[int]:
    """The functionals that an expression is of."""
    return sorted({int(node.name[1:]) for node in expression.find_all(exp.Placeholder)})


def _unknown_condition(condition: exp.Expr) -> NDArray[np.bool_]:
    raise QueryError(f"{condition.sql()} is not answered from what was measured")
