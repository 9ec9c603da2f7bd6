"""What an expression of a row is in each public cell, where the cell determines it.

A private value in a cell of one point is that point. In a cell of several, an expression is determined if it is the
same at all of them: at every whole number, day or key, which are tried one by one; and for numbers and moments that lie
between the points of a grid, if it is made of comparisons with constants, none of which cuts the cell.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.marginals._cells import ColumnCells
from discreet.marginals._junction_tree import Clique, cells
from discreet.marginals.conditions._sandbox import Sandbox

__all__ = ["SAME_EACH_TIME", "CellTable", "Following", "Undetermined", "Valued"]

_MOST_POINTS = 2**20
_MOST_CELLS = 2**22
_LONGEST = 40
"""Characters of a constant."""
_GRIDS = ("int", "date", "bool")
"""Types of which every value is a point of the grid; and so is every key."""
SAME_EACH_TIME = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.Is,
    exp.In, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between,
    exp.Like, exp.ILike, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs, exp.Floor,
    exp.Ceil, exp.Round, exp.Sqrt, exp.Ln, exp.Greatest, exp.Least, exp.Case, exp.If, exp.Coalesce, exp.Nullif,
    exp.Cast, exp.TryCast, exp.DataType, exp.Lower, exp.Upper, exp.Length, exp.Substring, exp.Trim, exp.Concat,
    exp.DPipe, exp.StartsWith, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Extract, exp.Var, exp.Date, exp.Tuple,
)  # fmt: skip
"""What gives the same value for the same row each time."""
_FLIPPED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip


class Undetermined(Exception):
    """An expression that cells do not determine, or not by what is known here."""


@dataclass(frozen=True, eq=False)
class Valued:
    """What an expression is in each cell of some columns, in C order, and where the cell determines it."""

    columns: Clique
    values: pa.Array[Any]
    known: NDArray[np.bool_]


class Following(Protocol):
    """A column that follows from others by a public table; see `discreet.synth.rules.Follower`."""

    @property
    def name(self) -> str: ...
    @property
    def given(self) -> tuple[str, ...]: ...
    @property
    def array(self) -> pa.Array[Any]: ...


class CellTable:
    """The public cells of a table, under the names that a query has for it, the last of which is its own."""

    def __init__(
        self,
        columns: Sequence[ColumnCells],
        names: Sequence[str],
        sandbox: Sandbox,
        following: Sequence[Following] = (),
    ) -> None:
        self._columns, self._sandbox, self._own = columns, sandbox, f"cells of {names[-1]}"
        self._names = {name.casefold() for name in names}
        self._places = {column.name.casefold(): i for i, column in enumerate(columns)}
        self._following = {each.name.casefold(): each for each in following if len(each.given) == 1}
        self._places |= {name: self._places[each.given[0].casefold()] for name, each in self._following.items()}
        self.sizes = tuple(column.size for column in columns)

    def columns_in(self, nodes: Sequence[exp.Expr]) -> Clique:
        """The columns that some expressions are of. Raises `Undetermined` for one that is not fitted."""
        return tuple(sorted({self._place(column) for node in nodes for column in node.find_all(exp.Column)}))

    def _place(self, column: exp.Column) -> int:
        if column.name.casefold() not in self._places or (column.table and column.table.casefold() not in self._names):
            raise Undetermined
        return self._places[column.name.casefold()]

    def value(self, node: exp.Expr, columns: Clique) -> Valued:
        """An expression in each cell of some columns, among which its own are. Raises `Undetermined`."""
        if any(not isinstance(each, SAME_EACH_TIME) for each in node.walk()):
            raise Undetermined
        if cells(self.sizes, columns) > _MOST_CELLS:
            raise Undetermined
        lookups: list[Valued] = []
        tree = self._looked_up(node.copy(), lookups)
        shape = [self.sizes[column] for column in columns]
        count = cells(self.sizes, columns)
        known = np.ones(count, bool)
        table: dict[str, Any] = {"cell": np.arange(count)}
        for i, lookup in enumerate(lookups):
            place = self._axis(lookup.columns[0], columns, shape)
            table[f"v{i}"] = lookup.values.take(pa.array(place, pa.int64()))
            known &= lookup.known[place]
        return Valued(columns, self._run(pa.table(table), tree), known)

    def _axis(self, column: int, columns: Clique, shape: Sequence[int]) -> NDArray[np.int64]:
        """Of each cell of some columns the cell of one of them."""
        axis = columns.index(column)
        spread = [size if i == axis else 1 for i, size in enumerate(shape)]
        return np.broadcast_to(np.arange(shape[axis]).reshape(spread), shape).ravel()

    def _run(self, table: pa.Table, node: exp.Expr) -> pa.Array[Any]:
        self._sandbox.add(self._own, table)
        query = exp.select(exp.alias_(exp.Paren(this=node), "v")).from_(exp.to_identifier(self._own, quoted=True))
        return self._sandbox.run(query.order_by("cell").sql("duckdb")).column("v").combine_chunks()

    def _looked_up(self, node: exp.Expr, lookups: list[Valued]) -> exp.Expr:
        """The expression over ``v0``, ``v1``, …, which hold its parts of one column."""
        columns = self.columns_in([node])
        if not columns:
            return node
        if len(columns) == 1:
            lookup = self._of_one(node, columns[0])
            if lookup is not None:
                lookups.append(lookup)
                return exp.column(f"v{len(lookups) - 1}")
        if isinstance(node, exp.Column):
            raise Undetermined
        for child in list(node.iter_expressions()):
            new = self._looked_up(child, lookups)
            if new is not child:
                child.replace(new)
        return node

    def _of_one(self, node: exp.Expr, column: int) -> Valued | None:
        """An expression of one column by its cells; None if its parts must be looked at one by one."""
        cell = self._columns[column]
        if cell.keys is not None or cell.type in _GRIDS or self._has_following(node):
            return self._tried(node, column)
        match node:
            case exp.Column():
                return self._tried(node, column)
            case exp.Is(this=exp.Column(), expression=exp.Null()):
                missing = np.arange(cell.size) == cell.valued
                return Valued((column,), pa.array(missing), np.ones(cell.size, bool))
            case exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.EQ() | exp.NEQ():
                return _compared(node, column, cell)
            case exp.Between():
                low = _compared(exp.GTE(this=node.this, expression=node.args["low"]), column, cell)
                high = _compared(exp.LTE(this=node.this, expression=node.args["high"]), column, cell)
                return _both(low, high)
            case _:
                return None

    def _has_following(self, node: exp.Expr) -> bool:
        return any(each.name.casefold() in self._following for each in node.find_all(exp.Column))

    def _tried(self, node: exp.Expr, column: int) -> Valued:
        """An expression at every point of every cell: determined where it is the same at all points of the cell."""
        cell = self._columns[column]
        starts, points = _points(cell)
        if len(points) > _MOST_POINTS:
            raise Undetermined
        paren = exp.Paren(this=node.copy())
        table: dict[str, Any] = {"cell": pa.array(np.arange(len(points))), "v": points}
        for each in list(paren.find_all(exp.Column)):
            follower = self._following.get(each.name.casefold())
            if follower is not None:  # the column that it follows from has cells of one value
                table[f"follows {follower.name}"] = follower.array
            each.replace(exp.column("v" if follower is None else f"follows {follower.name}", quoted=True))
        values = self._run(pa.table(table), paren.this)
        same = _same_as_before(values)
        changes = np.concatenate([[0], np.cumsum(~same)])
        known = changes[starts[1:] - 1] == changes[starts[:-1]]
        if cell.keys is None and cell.type not in _GRIDS:  # between the points of the grid are others
            known &= np.array([_is_point(cell, i) for i in range(cell.size)])
        return Valued((column,), values.take(pa.array(starts[:-1], pa.int64())), known)


def _points(cell: ColumnCells) -> tuple[NDArray[np.int64], pa.Array[Any]]:
    """Where the points of each cell begin, and all points; of types that are no grid one point for each cell."""
    if cell.keys is not None or cell.type not in _GRIDS:
        every = np.arange(cell.size)
        return np.arange(cell.size + 1), cell.values(every, np.zeros(cell.size))
    numbers = np.concatenate([cell.points[:, 1], np.ones(int(cell.nullable), np.int64)])
    starts = np.concatenate([[0], np.cumsum(numbers)])
    if starts[-1] > _MOST_POINTS:
        raise Undetermined
    each = np.repeat(np.arange(cell.size), numbers)
    places = (np.arange(starts[-1]) - starts[each] + 0.5) / numbers[each]
    return starts, cell.values(each, places)


def _same_as_before(values: pa.Array[Any]) -> NDArray[np.bool_]:
    """Whether each value but the first is the one before it; null is null."""
    before, after = values.slice(0, len(values) - 1), values.slice(1)
    equal = _holds(pc.equal(before, after))
    return equal | np.asarray(pc.and_(pc.is_null(before), pc.is_null(after)))


def _holds(truth: Any, *, null: bool = False) -> NDArray[np.bool_]:
    """Where a truth value holds, with `null` for what is null."""
    return np.asarray(pc.if_else(pc.is_null(truth), pa.scalar(null), truth))


def _ends(cell: ColumnCells, i: int) -> tuple[Fraction, bool, Fraction, bool]:
    """Where a cell of numbers begins and ends, and whether it holds these ends; moments are whole microseconds."""
    first, last = i == 0, i == len(cell.cuts)
    low = (cell.lower, True) if first else (cell.cuts[i - 1].end, not cell.cuts[i - 1].closed)
    high = (cell.upper, True) if last else (cell.cuts[i].end, cell.cuts[i].closed)
    if cell.type == "timestamp":
        low = (Fraction(math.ceil(low[0]) if low[1] else math.floor(low[0]) + 1), True)
        high = (Fraction(math.floor(high[0]) if high[1] else math.ceil(high[0]) - 1), True)
    return low[0], low[1], high[0], high[1]


def _is_point(cell: ColumnCells, i: int) -> bool:
    if i == cell.valued:
        return True
    low, _, high, _ = _ends(cell, i)
    return low == high


def _compared(node: exp.Expr, column: int, cell: ColumnCells) -> Valued:
    """A comparison of a column of numbers or moments with a constant, cell by cell."""
    kind, left, right = type(node), node.this.unnest(), node.expression.unnest()
    if not isinstance(left, exp.Column):
        kind, left, right = _FLIPPED[kind], right, left
    if not isinstance(left, exp.Column):
        raise Undetermined
    if kind in (exp.EQ, exp.NEQ):
        low = _compared(exp.GTE(this=left, expression=right), column, cell)
        high = _compared(exp.LTE(this=left, expression=right), column, cell)
        same = _both(low, high)
        return same if kind is exp.EQ else Valued((column,), pc.invert(same.values), same.known)
    constant = _constant(right, cell.type)
    below, above = np.zeros(cell.size, bool), np.zeros(cell.size, bool)
    for i in range(cell.valued):
        low, has_low, high, has_high = _ends(cell, i)
        if kind in (exp.LT, exp.GTE):  # which values are below the constant
            below[i] = high < constant or (high == constant and not has_high)
            above[i] = low >= constant
        else:
            below[i] = high <= constant
            above[i] = low > constant or (low == constant and not has_low)
    is_null = np.arange(cell.size) == cell.valued
    truth = below if kind in (exp.LT, exp.LTE) else above
    return Valued((column,), pa.array(truth, mask=is_null), below | above | is_null)


def _both(first: Valued, second: Valued) -> Valued:
    """Both of two comparisons; known too where one is known not to hold."""
    no = [each.known & ~_holds(each.values, null=True) for each in (first, second)]
    values = pc.and_kleene(first.values, second.values)
    return Valued(first.columns, values, (first.known & second.known) | no[0] | no[1])


def _constant(node: exp.Expr, kind: str) -> Fraction:
    """A constant as the number that the cells of a column are cut at."""
    negative = isinstance(node, exp.Neg)
    inner = node.this.unnest() if negative else node
    if kind == "timestamp" and isinstance(inner, exp.Cast):
        inner = inner.this if inner.to.is_type("timestamp", "timestampntz") else exp.Null()
    if not isinstance(inner, exp.Literal) or inner.is_string != (kind == "timestamp") or len(inner.name) > _LONGEST:
        raise Undetermined
    try:
        if kind != "timestamp":
            number = Fraction(inner.name) if inner.name.replace(".", "", 1).isdecimal() else None
            if number is None:
                raise Undetermined
            return -number if negative else number
        moment = dt.datetime.fromisoformat(inner.name)
    except ValueError:
        raise Undetermined from None
    if moment.tzinfo is not None:
        raise Undetermined
    return Fraction((moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))  # noqa: DTZ001
