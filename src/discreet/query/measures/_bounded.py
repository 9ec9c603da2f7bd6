"""What an engine is asked to run: one bounded aggregate over one table, in exact integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType, Key
from discreet.query.expressions._types import Field
from discreet.query.measures._histograms import Histogram
from discreet.query.measures._measures import Count, Measure, People
from discreet.query.relations._nodes import Relation, scans

__all__ = [
    "BoundedAggregate",
    "Cells",
    "Group",
    "GroupKey",
    "PublicKeys",
    "check_aggregates",
    "check_measures",
    "check_rows",
    "check_slopes",
    "combinations",
    "complete",
    "order_of",
    "public_groups",
]


Cells = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The cells of a histogram that hold rows, in rising order, and how many each of them holds."""


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """Keys whose values are read together from rows of public tables, before the query is asked.

    Attributes
    ----------
    names
        The keys.
    query
        What is read, as SQL.
    rows
        The combinations of their values that there are; None where they were not read.
    """

    names: tuple[str, ...]
    query: str
    rows: tuple[tuple[Key | None, ...], ...] | None


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What to group by, under the name that the result knows it by; `values` are its public keys, None if private.

    Where its values follow from the bounds of columns, `bounded` is the expression over columns moved into them.
    `narrowed` says that conditions of the query list the values, bound them, or rule some of them out. Where they are
    read from `public` rows, those combinations alone are groups that there are; before they are read, null stands for
    them, and where they are too many for a group each, the key is private.
    """

    name: str
    values: tuple[Key | None, ...] | None
    expression: exp.Expr
    type: ColumnType
    bounded: exp.Expr | None = None
    narrowed: bool = False
    public: PublicKeys | None = None

    @property
    def is_unread(self) -> bool:
        """Whether it has public groups that are yet to be read: it cannot be answered so."""
        return self.public is not None and self.public.rows is None and self.values is not None

    @property
    def computed(self) -> exp.Expr:
        """What an engine computes for each row."""
        return self.expression if self.bounded is None else self.bounded


@dataclass(frozen=True, slots=True)
class BoundedAggregate:
    """Sums of `measures` and `histograms` by `keys`, over rows of `relation` with `where`, with a unit's part bounded.

    `unit` names the column of the person, None if every row is another person. Of one unit at most `max_rows` rows
    count, and after that at most `max_groups` groups (None: no cap beside the first). Which ones is a function of a
    secret salt and that unit's own rows, as a multiset. Rows whose unit is null, or whose key is not among public
    values, do not count; nor does a row of a table with a null in a column of `used`, the columns that the query names,
    that the policy says has none. `count_units` asks how many units each group holds. Of public tables alone, which
    have no unit, `most_groups` is how many groups are enough, whichever they are; None for all.
    """

    relation: Relation
    unit: str | None
    max_rows: int
    max_groups: int | None
    where: exp.Expr | None
    keys: tuple[GroupKey, ...]
    measures: tuple[Measure, ...]
    columns: Mapping[str, Field]
    used: frozenset[str]
    count_units: bool
    histograms: tuple[Histogram, ...] = ()
    most_groups: int | None = None

    @property
    def groups_per_unit(self) -> int:
        """The most groups that one unit contributes to."""
        return self.max_rows if self.max_groups is None else self.max_groups

    @property
    def people(self) -> int | None:
        """The position of a measure that counts the people of each group, None if there is none."""
        one = self.max_rows == 1
        counts = (i for i, each in enumerate(self.measures) if each == People() or (one and each == Count(None)))
        return next(counts, None)

    @property
    def is_public(self) -> bool:
        """Whether there is nothing to ask of rows: keys alone are asked for, all of which are public."""
        return not (self.measures or self.histograms or self.count_units)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are read."""
        return tuple(dict.fromkeys(scan.table for scan in scans(self.relation)))


@dataclass(frozen=True, slots=True)
class Group:
    """One group. Before noise it is private, with `cells`, which are empty where no row has an argument.

    After noise it has `quantiles` instead, those of each histogram. `units` is 0 where they were not counted.
    """

    key: tuple[Key | None, ...]
    units: int
    sums: tuple[int, ...]
    cells: tuple[Cells, ...] = field(default=(), compare=False)
    quantiles: tuple[tuple[float, ...], ...] = ()


def complete(groups: Iterable[Group], request: BoundedAggregate) -> list[Group]:
    """Every public key in the policy's order, absent ones as zeros; private keys in the order of their values.

    Raises `QueryError` where public groups were not read.
    """
    if unread := [key.name for key in request.keys if key.is_unread]:
        raise QueryError(f"the groups of {', '.join(unread)} were not read; a session needs to plan the query")
    by_key = {group.key: group for group in groups}
    if not all(key.values is not None for key in request.keys):
        return sorted(by_key.values(), key=lambda group: [order_of(value) for value in group.key])
    nothing = (0,) * len(request.measures)
    return [by_key.get(key) or Group(key, 0, nothing) for key in combinations(request.keys)]


def combinations(keys: Sequence[GroupKey]) -> Iterator[tuple[Key | None, ...]]:
    """The groups of keys that are all public, in the order of their values."""
    blocks = _blocks(keys)
    for parts in itertools.product(*(rows for _, rows in blocks)):
        placed = {
            i: value
            for (places, _), part in zip(blocks, parts, strict=True)
            for i, value in zip(places, part, strict=True)
        }
        yield tuple(placed[i] for i in range(len(keys)))


def public_groups(keys: Sequence[GroupKey]) -> int | None:
    """How many groups there are by public facts alone; None if a key is private, or yet to be read."""
    if any(key.values is None or key.is_unread for key in keys):
        return None
    return math.prod(len(rows) for _, rows in _blocks(keys))


_Block = tuple[tuple[int, ...], Sequence[tuple[Key | None, ...]]]


def _blocks(keys: Sequence[GroupKey]) -> list[_Block]:
    """The places of keys whose values come together, and their values."""
    blocks: list[_Block] = []
    placed = set[int]()
    for i, key in enumerate(keys):
        if i in placed:
            continue
        public = key.public
        if public is None or public.rows is None:
            blocks.append(((i,), [(value,) for value in key.values or ()]))
            continue
        places = tuple(j for j, other in enumerate(keys) if other.public == public)
        columns = [public.names.index(keys[j].name) for j in places]
        rows = dict.fromkeys(tuple(row[column] for column in columns) for row in public.rows)
        blocks.append((places, list(rows)))
        placed.update(places)
    return blocks


def order_of(value: Key | None) -> tuple[bool, object]:
    """What values of one type are sorted by: null comes last."""
    return value is None, value


_MOST_ROWS = 100_000
_MOST_QUANTILES = 20_000
_MOST_SLOPES = 10_000_000
_MOST_AGGREGATES = 200
_MOST_PARTS = 50_000
_SEVERAL = "ask several queries, each with a part of the spend"


def check_rows(levels: Sequence[Sequence[GroupKey]], quantiles: int = 0) -> int:
    """How many rows the answer has: a row for each combination of public keys, over all grouping sets together.

    What private keys make is not public, and not among them. Each row has so many `quantiles` and modes, which take a
    draw each. Raises `QueryError` for more than 100,000 rows, or 20,000 quantiles. Nothing is listed for it.
    """
    rows = sum(public_groups(keys) or 0 for keys in levels)
    if rows > _MOST_ROWS:
        sizes = {key.name: len(key.values) for keys in levels for key in keys if key.values is not None}
        listed = ", ".join(f"{name[:40]} {size:,}" for name, size in list(sizes.items())[:10])
        raise QueryError(
            f"the answer has {rows:,} rows, one for each combination of public keys, and an answer has at most "
            f"{_MOST_ROWS:,}; group by fewer keys or coarser ones. The keys have so many values: {listed}"
        )
    if rows * quantiles > _MOST_QUANTILES:
        raise QueryError(
            f"the answer has {rows * quantiles:,} quantiles and modes in {rows:,} rows, and an answer has at most "
            f"{_MOST_QUANTILES:,}; group by fewer keys or coarser ones, or ask for fewer of them"
        )
    return rows


def check_aggregates(aggregates: int) -> None:
    """Raise `QueryError` for more than 200 different aggregates, before anything is worked out for each of them."""
    if aggregates > _MOST_AGGREGATES:
        raise QueryError(
            f"the query is too large: it has {aggregates:,} aggregates, and a query has at most {_MOST_AGGREGATES}; "
            f"{_SEVERAL}"
        )


def check_measures(aggregates: int, measures: int, levels: int) -> None:
    """Raise `QueryError` for more aggregates and measures of them than the spend can be shared among in a moment."""
    if aggregates * measures * levels > _MOST_PARTS:
        sets = f" in {levels} grouping sets" if levels > 1 else ""
        raise QueryError(
            f"the query is too large: it has {aggregates:,} aggregates, read off {measures:,} sums and counts{sets}, "
            f"and the product of these numbers is at most {_MOST_PARTS:,}; {_SEVERAL}"
        )


def check_slopes(rows: int, slopes: int) -> None:
    """Raise `QueryError` where error bars would rest on more than 10,000,000 numbers: `slopes` for each of the rows."""
    if rows * slopes > _MOST_SLOPES:
        raise QueryError(
            f"the answer is too large: the error bars of its {rows:,} rows rest on {rows * slopes:,} numbers, "
            f"{slopes:,} a row, and at most {_MOST_SLOPES:,} are stored; group by fewer keys, or ask for fewer columns"
        )
