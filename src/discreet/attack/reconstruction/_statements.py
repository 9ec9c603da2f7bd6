"""Published tables as statements about how many people of each kind there are.

A kind is a value of every column. A statement says how many people some kinds have together, or how much they weigh; a
clause is several statements of which one holds. They are all that a search needs to know of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.anonymize import Hierarchy, read_frame
from discreet.attack.linkage import compatible
from discreet.errors import ParameterError

__all__ = [
    "Clause",
    "Kinds",
    "Part",
    "Statement",
    "fitting",
    "parts_of",
    "possible",
    "read_kinds",
    "statements_of",
    "tied",
]

_MOST_KINDS = 1_000_000
_MOST_PEOPLE = 1 << 31


@dataclass(frozen=True)
class Statement:
    """Of some kinds, in ascending order, there are so many people at least and at most.

    With `weights`, one for each kind, it is the sum of their people's weights that lies there.
    """

    kinds: tuple[int, ...]
    low: int
    high: int
    weights: tuple[int, ...] | None = None


Clause: TypeAlias = tuple[Statement, ...]


def tied(clause: Clause) -> tuple[int, ...]:
    """The kinds of all statements of a clause, in ascending order.

    >>> tied((Statement((4, 7), 2, 2), Statement((1, 7), 0, 1)))
    (1, 4, 7)
    """
    return tuple(sorted({kind for each in clause for kind in each.kinds}))


@dataclass(frozen=True)
class Part:
    """Kinds that statements and clauses tie together, and those, about places in the list of kinds."""

    kinds: tuple[int, ...]
    statements: tuple[Statement, ...]
    clauses: tuple[Clause, ...] = ()


@dataclass(frozen=True, repr=False)
class Kinds:
    """Every kind of person that there could be: each value of a column with each of the others."""

    columns: Mapping[str, tuple[Any, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(len(each) for each in self.columns.values())

    @property
    def count(self) -> int:
        """How many kinds there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    def listed(self) -> list[tuple[Any, ...]]:
        """The kinds in order: the last column changes fastest."""
        return list(product(*self.columns.values()))

    def counts(self, table: object, called: str) -> NDArray[np.int64]:
        """How many rows of a table are of each kind. Raises `ParameterError` for columns and values it cannot place."""
        rows = read_frame(table).table
        places: list[NDArray[np.int64]] = []
        for name, values in self.columns.items():
            if name not in rows.column_names:
                raise ParameterError(f"the {called} has no column {name}")
            place = {each: i for i, each in enumerate(values)}
            listed: list[Any] = rows.column(name).to_pylist()
            unknown = [each for each in listed if each not in place]
            if unknown:
                raise ParameterError(f"the {called} has {unknown[0]!r} in {name}, which is none of columns[{name!r}]")
            places.append(np.array([place[each] for each in listed], np.int64))
        return np.bincount(np.ravel_multi_index(tuple(places), self.shape), minlength=self.count)


def read_kinds(columns: Mapping[str, Sequence[Any]]) -> Kinds:
    """The kinds of all values. Raises `ParameterError` for no columns, repeated values, and too many kinds."""
    if not columns:
        raise ParameterError("name the columns that people have and each's values: columns={'sex': ['F', 'M']}")
    kinds = Kinds({name: tuple(values) for name, values in columns.items()})
    for name, values in kinds.columns.items():
        if not values or len(set(values)) < len(values):
            raise ParameterError(f"columns[{name!r}] lists each value that the column can have, once")
    if np.prod([float(each) for each in kinds.shape]) > _MOST_KINDS:
        raise ParameterError(f"there are more than {_MOST_KINDS:,} kinds of people: take fewer or coarser columns")
    return kinds


def statements_of(
    rows: pa.Table, kinds: Kinds, fits: Sequence[NDArray[np.bool_]], count: str, off: tuple[int, int | None]
) -> list[Statement]:
    """What a table's counts say: a statement for each row, and that nobody is of a kind that fits none of them.

    Raises `ParameterError` for counts that are no numbers, or null though none may be.

    Parameters
    ----------
    rows, kinds
        The table, and all kinds that there are.
    fits
        For each row which kinds are in it.
    count
        The column of counts.
    off
        By how much a count may be off, and the largest that a null stands for.
    """
    is_covered = np.logical_or.reduce([np.zeros(kinds.count, bool), *fits])
    margin, suppressed = off
    statements: list[Statement] = []
    for fit, number in zip(fits, _counts(rows, count, suppressed), strict=True):
        is_null = number != number  # noqa: PLR0124
        low, high = (0, suppressed or 0) if is_null else (int(np.ceil(number - margin)), int(np.floor(number + margin)))
        statements.append(Statement(tuple(np.flatnonzero(fit).tolist()), low, high))
    return [*statements, Statement(tuple(np.flatnonzero(~is_covered).tolist()), 0, 0)]


def fitting(
    rows: pa.Table, names: Sequence[str], kinds: Kinds, hierarchies: Mapping[str, Hierarchy]
) -> list[NDArray[np.bool_]]:
    """For each row which kinds are in it. Raises `ParameterError` for columns and cells that are unknown."""
    unknown = [name for name in names if name not in kinds.columns]
    if unknown:
        raise ParameterError(f"a table is by {unknown[0]}, which is none of the columns {', '.join(kinds.columns)}")
    fits = [np.ones(kinds.shape, bool) for _ in range(rows.num_rows)]
    for axis, name in enumerate(kinds.columns):
        if name not in names:
            continue
        cells: list[Any] = rows.column(name).to_pylist()
        values = compatible(cells, kinds.columns[name], hierarchies.get(name))
        for i, cell in enumerate(cells):
            if not values[i].any():
                raise ParameterError(f"a table has {cell!r} in {name}, which is none of columns[{name!r}]")
            along = [1] * len(kinds.shape)
            along[axis] = -1
            fits[i] &= values[i].reshape(along)
    return [each.ravel() for each in fits]


def _counts(rows: pa.Table, count: str, suppressed: int | None) -> NDArray[np.float64]:
    """The counts of a table, NaN where one is suppressed."""
    column = rows.column(count)
    try:
        numbers = np.array([np.nan if each is None else each for each in column.to_pylist()], np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"the counts in {count} are numbers") from None
    is_number = np.abs(numbers) < _MOST_PEOPLE
    is_null = column.is_null().to_numpy()
    if not (is_number | is_null).all():
        raise ParameterError(f"the counts in {count} are numbers of people, and none of them is null")
    if is_null.any() and suppressed is None:
        raise ParameterError(
            f"the counts in {count} are numbers of people, and none of them is null: say by suppressed= the largest "
            "count that a null stands for"
        )
    return numbers


def possible(kinds: Kinds, statements: Sequence[Statement]) -> NDArray[np.bool_]:
    """Which kinds could have people: those of no row that has none."""
    can_be = np.ones(kinds.count, bool)
    for each in statements:
        if each.high <= 0 and each.weights is None:
            can_be[list(each.kinds)] = False
    return can_be


def parts_of(kinds: Kinds, statements: Sequence[Statement], clauses: Sequence[Clause] = ()) -> tuple[list[Part], bool]:
    """Kinds that could have people, in parts that share no statement; and whether the others' statements hold.

    Each part can be searched on its own, and their solutions go with each other in every way. Statements with weights
    and clauses are of kinds that could have people, and of one at least.
    """
    can_be = possible(kinds, statements)
    plain = [Statement(tuple(k for k in s.kinds if can_be[k]), s.low, s.high) for s in statements if s.weights is None]
    holds = all(each.low <= 0 <= each.high for each in plain if not each.kinds)
    holds = holds and all(each.low <= each.high and each.high >= 0 for each in plain)
    weighted = [each for each in statements if each.weights is not None]
    left = list(dict.fromkeys(each for each in [*plain, *weighted] if each.kinds))
    ties = [each.kinds for each in left] + [tied(clause) for clause in clauses]
    owners = np.repeat(np.arange(len(ties)), [len(each) for each in ties])
    members = np.array([k for each in ties for k in each], np.int64)
    shape = (len(ties) + kinds.count,) * 2
    edges = sparse.coo_array((np.ones(len(owners)), (owners, len(ties) + members)), shape=shape)
    _, labels = connected_components(edges, directed=False)
    kinds_of: dict[int, list[int]] = {}
    for kind in np.flatnonzero(can_be):
        kinds_of.setdefault(int(labels[len(ties) + kind]), []).append(int(kind))
    statements_in: dict[int, list[Statement]] = {}
    for label, each in zip(labels, left, strict=False):
        statements_in.setdefault(int(label), []).append(each)
    clauses_in: dict[int, list[Clause]] = {}
    for label, clause in zip(labels[len(left) :], clauses, strict=False):
        clauses_in.setdefault(int(label), []).append(clause)
    parts = [
        Part(tuple(some), tuple(statements_in.get(label, ())), tuple(clauses_in.get(label, ())))
        for label, some in kinds_of.items()
    ]
    return parts, holds
