"""Which combinations of cells a condition leaves, tried at points of each: public, and the same each time."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import QueryError, printable
from discreet.marginals import Clique, ColumnCells, Merge, Numbers, cells
from discreet.marginals.conditions import Sandbox, column_names, condition, free_name, truth
from discreet.query import match_name
from discreet.synth.rules._follower import Follower

__all__ = ["Tried", "columns_of", "places_tried", "tried"]

_MOST_POINTS = 2**22
_MOST_CONSTANTS = 100
_LONGEST = 40
_PLACES = (0.0, 0.5, 1 - 2**-53)
_ENOUGH, _MOST_PLACES = 2**18, 1_024
_GOLDEN = (5**0.5 - 1) / 2
_POINT = "point of column {}"
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True, eq=False)
class Tried:
    """A condition at some points of each combination of cells of its columns, in C order: in which share it holds.

    `ever` is whether it is true at any point at all: a condition that is only ever unknown is not.
    """

    condition: str
    columns: Clique
    share: Numbers
    ever: bool

    def merged(self, merges: Sequence[Merge], *, any_point: bool) -> Numbers:
        """The share for merged cells: that of their rows, or whether it holds at `any_point` of them."""
        return _merged(self.share > 0 if any_point else self.share, self.columns, merges, weighted=not any_point)


def _merged(values: NDArray[Any], columns: Clique, merges: Sequence[Merge], *, weighted: bool) -> Numbers:
    array = values.astype(np.float64).reshape([len(merges[i].into) for i in columns])
    for axis, i in enumerate(columns):
        weights = np.zeros((merges[i].size, len(merges[i].into)))
        weights[merges[i].places, np.arange(len(merges[i].into))] = merges[i].shares if weighted else 1.0
        array = np.moveaxis(np.tensordot(weights, array, axes=(1, axis)), 0, axis)
    return array.ravel()


def tried(text: str, columns: Sequence[ColumnCells], followers: Sequence[Follower], *, null: bool) -> Tried:
    """A condition in each combination of cells; `null` is what an unknown one counts as.

    It is tried at each value that a column can have; of cells of many at the ends and in the middle, beside each
    constant of the condition, and at as many others as a quarter of a million points of all columns together leave.
    Raises `QueryError` for a column that is not there or has no public cells, or for too many points.
    """
    tree, names = condition(text), [column.name for column in columns]
    by_name = {each.name: each for each in followers}
    following = [by_name[name] for name in _named(tree, names, by_name) if name in by_name]
    clique = columns_of(text, columns, followers)
    most = _places_of_each([columns[i] for i in clique])
    points = [_points(columns[i], tree, most) for i in clique]
    if np.prod([len(each) for each, _ in points], dtype=np.float64) > _MOST_POINTS:
        raise QueryError(
            f"the rule {printable(text[:_LONGEST])!r} has too many combinations of cells to try: choose fewer cells, "
            "or split it into rules on fewer columns"
        )
    every = [*names, *by_name]
    cell = [free_name(f"cell of column {k}", every) for k in range(len(clique))]
    tables = {
        _POINT.format(k): pa.table({cell[k]: pa.array(places), columns[i].name: values})
        for k, (i, (places, values)) in enumerate(zip(clique, points, strict=True))
    }
    source, listed = _source(dict(zip(clique, cell, strict=True)), columns, following, every)
    shape = [columns[i].size for i in clique]
    with Sandbox({**tables, **listed}) as sandbox:
        try:
            kind = sandbox.run(f"SELECT typeof({tree.sql('duckdb')}) AS kind FROM {source} LIMIT 1")  # noqa: S608
        except QueryError as error:
            reason = str(error).partition(": ")[2]
            raise QueryError(f"the rule {printable(text[:_LONGEST])!r} cannot be computed: {reason}") from None
        if kind.column("kind").to_pylist() != ["BOOLEAN"]:
            raise QueryError(f"the rule {printable(text[:_LONGEST])!r} is no condition: it is not true or false")
        shares = sandbox.run(_query(source, tree, cell, null=null))
    place = np.zeros(shares.num_rows, np.int64)
    for k, size in enumerate(shape):
        place = place * size + shares.column(k).to_numpy()
    share = np.zeros(cells([each.size for each in columns], clique))
    share[place] = shares.column(len(clique)).to_numpy()
    return Tried(text, clique, share, any(shares.column("ever").to_pylist()))


def columns_of(text: str, columns: Sequence[ColumnCells], followers: Sequence[Follower]) -> Clique:
    """The columns that a condition ties together: its own, and those from which others of it follow.

    Raises `QueryError` for a column that is not there or has no public cells.
    """
    names, by_name = [column.name for column in columns], {each.name: each for each in followers}
    named = _named(condition(text), names, by_name)
    own = {names.index(name) for name in named if name not in by_name}
    return tuple(sorted(own.union(*(by_name[name].sources(columns) for name in named if name in by_name))))


def _named(tree: exp.Expr, names: Sequence[str], followers: Collection[str]) -> list[str]:
    every = [*names, *followers]
    return [match_name(name, every, "the fit of columns with public cells", "column") for name in column_names(tree)]


def _source(
    cell: Mapping[int, str], columns: Sequence[ColumnCells], following: Sequence[Follower], names: Sequence[str]
) -> tuple[str, dict[str, pa.Table]]:
    """FROM of all combinations of points, with the columns that follow, and the tables of these.

    `cell` is what the cell of each column is called, `names` are those of all columns.
    """
    source, tables = " CROSS JOIN ".join(_quoted(_POINT.format(k)) for k in range(len(cell))), dict[str, pa.Table]()
    for number, each in enumerate(following):
        sources, table = each.sources(columns), f"values of column {number}"
        given = [free_name(f"given {k}", names) for k in range(len(sources))]
        grid = np.indices([columns[i].size for i in sources]).reshape(len(sources), -1)
        tables[table] = pa.table([*map(pa.array, grid), each.array], names=[*given, each.name])
        keys = (f"{_quoted(table)}.{_quoted(name)}" for name in given)
        on = " AND ".join(f"{_quoted(cell[i])} = {key}" for i, key in zip(sources, keys, strict=True))
        source += f" JOIN {_quoted(table)} ON {on}"
    return source, tables


def _query(source: str, tree: exp.Expr, cell: Sequence[str], *, null: bool) -> str:
    """For each combination of cells in which share of its points a condition holds, and whether it is true at any."""
    grouped = ", ".join(map(_quoted, cell))
    held = f"AVG(CAST({truth(tree, null=null)} AS DOUBLE)) AS share, BOOL_OR({truth(tree, null=False)}) AS ever"
    return f"SELECT {grouped}, {held} FROM {source} GROUP BY {grouped}"  # noqa: S608


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _places_of_each(columns: Sequence[ColumnCells]) -> int:
    """How many places of a cell of numbers are tried, so that all columns together have few enough points."""
    wide = sum(column.is_ordered for column in columns)
    each = (_ENOUGH / math.prod(column.size for column in columns)) ** (1 / max(wide, 1))
    return min(max(int(each), len(_PLACES)), _MOST_PLACES)


def places_tried(column: ColumnCells, conditions: Sequence[str]) -> tuple[NDArray[np.int64], Numbers]:
    """The cells and the places in them at which conditions are tried in a column, by rising cells."""
    tried_at = [_places(column, condition(each), len(_PLACES)) for each in conditions]
    cell, places = (np.concatenate(each) for each in zip(*tried_at, strict=True))
    order = np.argsort(cell, kind="stable")
    return cell[order], places[order]


def _points(column: ColumnCells, tree: exp.Expr, most: int) -> tuple[NDArray[np.int64], pa.Array[Any]]:
    """The cell of each point that is tried, and its value."""
    cell, places = _places(column, tree, most)
    return cell, column.values(cell, places)


def _places(column: ColumnCells, tree: exp.Expr, most: int) -> tuple[NDArray[np.int64], Numbers]:
    """The cell of each point that is tried, and the place in it: at most so many of a cell, and beside constants."""
    every = np.arange(column.size)
    if column.keys is not None or column.type == "bool":
        return every, np.zeros(column.size)
    firsts, counts = column.points.T
    others = np.arange(1, most - len(_PLACES) + 1) * _GOLDEN % 1  # in no step with what is periodic
    several = np.concatenate([_PLACES, others])
    places = [(np.arange(count) + 0.5) / count if count <= most else several for count in counts.tolist()]
    places += [np.zeros(1)] * column.nullable
    cell, tried_at = np.repeat(every, [len(each) for each in places]), np.concatenate(places)
    for constant in _constants(column, tree):
        step = round(constant / column.step)
        inside = np.flatnonzero((firsts - 1 <= step) & (step <= firsts + counts) & (counts > most))
        for i in inside.tolist():
            near = np.clip(step + np.arange(-1, 2) - firsts[i], 0, counts[i] - 1)
            cell = np.concatenate([cell, np.full(3, i)])
            tried_at = np.concatenate([tried_at, (near + 0.5) / counts[i]])
    return cell, tried_at


def _constants(column: ColumnCells, tree: exp.Expr) -> list[Fraction]:
    """The constants of a condition that a column may be compared with."""
    wanted: dict[Fraction, None] = {}
    for literal in tree.find_all(exp.Literal):
        text, dated = literal.name, column.type in ("date", "timestamp")
        if literal.is_string != dated or len(text) > _LONGEST or len(wanted) > _MOST_CONSTANTS:
            continue
        try:
            number = _moment(column.type, text) if dated else Fraction(text)
        except (ValueError, ArithmeticError):
            continue
        for each in [number] if dated else [number, -number]:
            if column.lower <= each <= column.upper:
                wanted[each] = None
    return list(wanted)


def _moment(kind: str, text: str) -> Fraction:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError
    unit = dt.timedelta(days=1) if kind == "date" else dt.timedelta(microseconds=1)
    return Fraction((moment - _EPOCH) // unit)
