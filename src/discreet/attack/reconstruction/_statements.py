"""Published tables as statements about how many people of each kind there are.

A kind is a value of every column. A statement says how many people some kinds have together; it is all that a search
needs to know of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.anonymize import Hierarchy, read_frame
from discreet.attack.linkage import compatible
from discreet.errors import ParameterError

__all__ = ["Kinds", "Part", "Statement", "parts_of", "read_kinds", "statements_of"]

_MOST_KINDS = 1_000_000
_MOST_PEOPLE = 1 << 31


@dataclass(frozen=True)
class Statement:
    """Of some kinds, in ascending order, there are so many people at least and at most."""

    kinds: tuple[int, ...]
    low: int
    high: int


@dataclass(frozen=True)
class Part:
    """Kinds that statements tie together, and those statements, about places in the list of kinds."""

    kinds: tuple[int, ...]
    statements: tuple[Statement, ...]


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
    table: object, kinds: Kinds, count: str, margin: int, hierarchies: Mapping[str, Hierarchy]
) -> list[Statement]:
    """What one table says: a statement for each of its rows, and that nobody is of a kind that fits none of them.

    Raises `ParameterError` for columns that are unknown or missing, and counts that are no numbers.
    """
    rows = read_frame(table).table
    if count not in rows.column_names:
        raise ParameterError(f"a table has no column {count} with its counts: name it by count=")
    names = [name for name in rows.column_names if name != count]
    unknown = [name for name in names if name not in kinds.columns]
    if unknown:
        raise ParameterError(f"a table is by {unknown[0]}, which is none of the columns {', '.join(kinds.columns)}")
    is_covered = np.zeros(kinds.count, bool)
    statements: list[Statement] = []
    for fits, number in zip(_fitting(rows, names, kinds, hierarchies), _counts(rows, count), strict=True):
        is_covered |= fits
        low, high = int(np.ceil(number - margin)), int(np.floor(number + margin))
        statements.append(Statement(tuple(np.flatnonzero(fits).tolist()), low, high))
    return [*statements, Statement(tuple(np.flatnonzero(~is_covered).tolist()), 0, 0)]


def _fitting(
    rows: pa.Table, names: Sequence[str], kinds: Kinds, hierarchies: Mapping[str, Hierarchy]
) -> list[NDArray[np.bool_]]:
    """For each row which kinds are in it."""
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


def _counts(rows: pa.Table, count: str) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(rows.column(count).to_numpy(), np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"the counts in {count} are numbers") from None
    if not (np.abs(numbers) < _MOST_PEOPLE).all():
        raise ParameterError(f"the counts in {count} are numbers of people, and none of them is null")
    return numbers


def parts_of(kinds: Kinds, statements: Sequence[Statement]) -> tuple[list[Part], bool]:
    """Kinds that could have people, in parts that share no statement; and whether the others' statements hold.

    Each part can be searched on its own, and their solutions go with each other in every way.
    """
    can_be = np.ones(kinds.count, bool)
    for each in statements:
        if each.high <= 0:
            can_be[list(each.kinds)] = False
    left = [Statement(tuple(k for k in each.kinds if can_be[k]), each.low, each.high) for each in statements]
    holds = all(each.low <= 0 <= each.high for each in left if not each.kinds)
    holds = holds and all(each.low <= each.high and each.high >= 0 for each in left)
    left = list(dict.fromkeys(each for each in left if each.kinds))
    owners = np.repeat(np.arange(len(left)), [len(each.kinds) for each in left])
    members = np.array([k for each in left for k in each.kinds], np.int64)
    shape = (len(left) + kinds.count,) * 2
    edges = sparse.coo_array((np.ones(len(owners)), (owners, len(left) + members)), shape=shape)
    _, labels = connected_components(edges, directed=False)
    kinds_of: dict[int, list[int]] = {}
    for kind in np.flatnonzero(can_be):
        kinds_of.setdefault(int(labels[len(left) + kind]), []).append(int(kind))
    statements_in: dict[int, list[Statement]] = {}
    for label, each in zip(labels[: len(left)], left, strict=True):
        statements_in.setdefault(int(label), []).append(each)
    return [Part(tuple(some), tuple(statements_in.get(label, ()))) for label, some in kinds_of.items()], holds
