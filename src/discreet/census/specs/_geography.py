"""Nested areas, from a public list of the smallest: levels, names and the tree that they form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from discreet.errors import DataError, ParameterError
from discreet.marginals.trees import Tree
from discreet.release import json_digest

__all__ = ["Geography", "read_public"]

_MOST_LEAVES = 2**24
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Geography:
    """Public areas: every one of them is published, those without people too.

    Attributes
    ----------
    levels
        The names of the levels, from the area of all people to the smallest areas.
    names
        The names of the areas of each level, in the order of the tree.
    tree
        Which area is in which.

    >>> areas = {"state": ["N", "N", "S"], "county": ["n1", "n2", "s1"]}
    >>> land = Geography.of_areas(areas, levels=["state", "county"])
    >>> land.levels, land.tree.sizes
    (('all', 'state', 'county'), (1, 2, 3))
    >>> land.leaves(["N"], "total")
    array([0, 1])
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    tree: Tree

    @classmethod
    def of_areas(cls, areas: object, levels: Sequence[str], root: str = "all") -> Geography:
        """The areas of a public list with a row for each smallest one: a file of CSV or Parquet, a frame, or columns.

        Raises `DataError` for a file that cannot be read, `ParameterError` for a column that is not there or has gaps,
        a smallest area that is listed twice, or an area that lies in two others.
        """
        if not levels or len({*levels, root}) <= len(levels):
            raise ParameterError(f"levels must be different columns of the areas, from large to small, beside {root!r}")
        table = read_public(areas)
        columns = [_texts(table, level) for level in levels]
        if not 0 < table.num_rows <= _MOST_LEAVES:
            raise ParameterError(f"a list of areas has from 1 to {_MOST_LEAVES:,} rows, not {table.num_rows:,}")
        codes = [_coded(column) for column in columns]
        _check_nested(levels, codes)
        order = np.lexsort([code for code, _ in reversed(codes)])
        parents: list[NDArray[np.int64]] = []
        names: list[tuple[str, ...]] = [(root,)]
        above = np.zeros(table.num_rows, np.int64)
        for code, spelt in codes:
            sorted_codes = code[order]
            first = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
            parents.append(above[first])
            names.append(tuple(spelt[i] for i in sorted_codes[first].tolist()))
            above = np.cumsum(np.diff(sorted_codes, prepend=-1) != 0) - 1
        return cls((root, *levels), tuple(names), Tree(tuple(parents)))

    def level(self, name: object) -> int:
        """The place of a level. Raises `ParameterError` for a name that none has."""
        if name not in self.levels:
            raise ParameterError(f"there is no level {name!r}; the levels are {', '.join(self.levels)}")
        return self.levels.index(str(name))

    def place(self, area: object, level: str | None = None) -> tuple[int, int]:
        """The level and the place of an area. Raises `ParameterError` for no such area, or several."""
        levels = range(len(self.levels)) if level is None else [self.level(level)]
        there = [(each, self._places[each][str(area)]) for each in levels if str(area) in self._places[each]]
        if not there:
            few = ", ".join(self.names[-1 if level is None else self.level(level)][:_SHOWN])
            raise ParameterError(
                f"there is no area {area!r}{'' if level is None else f' of level {level}'}; areas are {few}, …"
            )
        if len(there) > 1:
            among = " and ".join(self.levels[each] for each, _ in there)
            raise ParameterError(f"{area!r} is an area of {among}: write (level, area) for it")
        return there[0]

    def leaves(self, areas: Sequence[Any], called: str) -> NDArray[np.int64]:
        """The smallest areas that some areas hold, rising. Raises `ParameterError` for two that overlap."""
        inside = np.zeros(self.tree.sizes[-1], np.int64)
        for area in areas:
            level, place = self._named(area)
            inside[slice(*self.span(level, place))] += 1
        if not len(areas) or inside.max() > 1:
            raise ParameterError(f"the areas of {called} must be one or more, and none may lie in another")
        return np.flatnonzero(inside)

    def weights(self, areas: Sequence[Any], called: str) -> list[NDArray[np.float64] | None]:
        """For each level 1 at the areas that are given, None where there are none. Raises as `leaves`."""
        self.leaves(areas, called)
        weights: list[NDArray[np.float64] | None] = [None] * len(self.levels)
        for area in areas:
            level, place = self._named(area)
            row = weights[level]
            row = weights[level] = np.zeros(self.tree.sizes[level]) if row is None else row
            row[place] = 1.0
        return weights

    def _named(self, area: Any) -> tuple[int, int]:
        return self.place(area[1], area[0]) if isinstance(area, tuple) else self.place(area)  # pyright: ignore[reportUnknownArgumentType]

    def span(self, level: int, place: int) -> tuple[int, int]:
        """Where the smallest areas of an area begin, and end."""
        begin, end = place, place + 1
        for below in range(level, self.tree.levels - 1):
            starts = self.tree.starts[below]
            begin, end = int(starts[begin]), int(starts[end]) if end < len(starts) else self.tree.sizes[below + 1]
        return begin, end

    @cached_property
    def _places(self) -> tuple[Mapping[str, int], ...]:
        return tuple({name: i for i, name in enumerate(names)} for names in self.names)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the levels, names and parents."""
        return json_digest(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, which `from_json` restores."""
        return {
            "levels": list(self.levels),
            "names": [list(names) for names in self.names],
            "parents": [each.tolist() for each in self.tree.parents],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Geography:
        """The inverse of `to_json`. Raises `ValueError` for what is none."""
        names = tuple(tuple(map(str, each)) for each in data["names"])
        geography = cls(tuple(map(str, data["levels"])), names, Tree.of_parents(data["parents"]))
        if geography.tree.sizes != tuple(map(len, names)) or len(geography.levels) != len(names):
            raise ValueError
        if any(len(set(each)) < len(each) for each in (*names, geography.levels)):
            raise ValueError
        return geography


def read_public(data: object) -> pa.Table:
    """A public list, of which every column is read as text: a file of CSV or Parquet, a frame, or columns by name.

    Raises `DataError` for a file that cannot be read, `ParameterError` for what is no table.
    """
    if isinstance(data, str | os.PathLike):
        return _read_file(Path(data))
    if isinstance(data, pa.Table):
        return data
    try:
        if isinstance(data, Mapping):
            return pa.table(dict(data))  # pyright: ignore[reportArgumentType]
        return nw.from_native(data, eager_only=True).to_arrow()  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    except (TypeError, pa.ArrowException):
        raise ParameterError(
            f"a list of areas is a file, a frame or columns by name, not {type(data).__name__}"
        ) from None


def _read_file(path: Path) -> pa.Table:
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        with path.open("rb") as file:
            names = file.readline().decode("utf-8-sig").strip().split(",")
        types = {name.strip().strip('"'): pa.string() for name in names}
        options = csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
        return csv.read_csv(path, convert_options=options)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _texts(table: pa.Table, name: str) -> pa.Array[Any]:
    if name not in table.column_names:
        raise ParameterError(f"the list of areas has no column {name}; it has {', '.join(table.column_names)}")
    column = table.column(name).combine_chunks()
    if column.null_count:
        raise ParameterError(f"the column {name} of the list of areas has gaps: give every area its name")
    return column.cast(pa.string())


def _coded(texts: pa.Array[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Each text as the place of its value among all values, sorted."""
    coded = texts.dictionary_encode()
    values = [str(each) for each in coded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank[coded.indices.to_numpy()], [values[i] for i in order]


def _check_nested(levels: Sequence[str], codes: Sequence[tuple[NDArray[np.int64], list[str]]]) -> None:
    leaf, spelt = codes[-1]
    repeated = np.flatnonzero(np.bincount(leaf) > 1)
    if len(repeated):
        raise ParameterError(f"the {levels[-1]} {spelt[repeated[0]]} is listed twice; list each smallest area once")
    for place in range(len(levels) - 1):
        (upper, above), (lower, below) = codes[place], codes[place + 1]
        _, first = np.unique(lower, return_index=True)
        odd = np.flatnonzero(upper[first][lower] != upper)
        if len(odd):
            row = int(odd[0])
            one, other = above[upper[first][lower[row]]], above[upper[row]]
            raise ParameterError(
                f"the levels do not nest: the {levels[place + 1]} {below[lower[row]]} lies in the {levels[place]} "
                f"{one} and in {other}; give each {levels[place + 1]} a name of its own, or list it under districts"
            )
