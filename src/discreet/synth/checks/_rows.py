"""The rows that a check compares with private ones: a public sample of the synthetic table, by public cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.marginals import Clique, ColumnCells, Numbers, PublicStream, cells
from discreet.synth._table import SyntheticTable

__all__ = ["CHECKED_ROWS", "WIDTHS", "cells_of", "checked_rows", "chosen_sets", "shares_of"]

CHECKED_ROWS = 2**17
"""How many rows stand for the synthetic table, of the label ``"check"``."""
WIDTHS = (1, 2, 3)
_MOST_SETS = 400
_MOST_CELLS = {1: 2**22, 2: 2**22, 3: 2**24}
Codes = Sequence[NDArray[np.int64]]


def checked_rows(table: SyntheticTable) -> Codes:
    """The public cell of each row of a sample in every column."""
    rows = table.sample(CHECKED_ROWS, label="check")
    return [cells_of(column, rows[column.name]) for column in table.columns]


def cells_of(column: ColumnCells, values: pa.Array[Any] | pa.ChunkedArray[Any]) -> NDArray[np.int64]:
    """The cell of each value of a synthetic column; all of them are on its grid."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    missing = cast("NDArray[np.bool_]", values.is_null().to_numpy(zero_copy_only=False))
    if column.keys is not None:
        places = {value: place for place, value in enumerate(pa.array(column.keys, values.type).to_pylist())}
        encoded = cast("Any", values.dictionary_encode())
        of_value = np.array([places[value] for value in encoded.dictionary.to_pylist()] or [0], np.int64)
        inside = of_value[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    else:
        inside = np.searchsorted(column.points[:, 0], _steps(column, values), side="right") - 1
    return np.where(missing, column.valued, np.clip(inside, 0, column.valued - 1))


def _steps(column: ColumnCells, values: Any) -> NDArray[np.int64]:
    """Numbers in steps of the column's grid."""
    match column.type:
        case "decimal":
            exact = [Fraction(0 if each is None else each) / column.step for each in values.to_pylist()]
            return np.array([int(each) for each in exact], np.int64)
        case "float":
            return np.rint(values.fill_null(0).to_numpy(zero_copy_only=False) / float(column.step)).astype(np.int64)
        case "date":
            return values.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        case _:
            in_units = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
            return in_units // int(column.step)


def chosen_sets(sizes: Sequence[int], digest: str) -> Mapping[int, tuple[tuple[Clique, ...], int]]:
    """For one column, two and three: the sets that are compared, and how many there are in all.

    All of them if they are few and have few cells together, else a public random choice.

    >>> {width: (len(sets), count) for width, (sets, count) in chosen_sets([2, 3], "").items()}
    {1: (2, 2), 2: (1, 1)}
    """
    chosen: dict[int, tuple[tuple[Clique, ...], int]] = {}
    for width in WIDTHS:
        count, most = math.comb(len(sizes), width), _MOST_CELLS[width]
        stream = PublicStream(f"sets of {width} {digest}".encode())
        taken: list[Clique] = []
        for each in _ordered(len(sizes), width, count, stream):
            if len(taken) < _MOST_SETS and cells(sizes, each) <= most:
                taken.append(each)
                most -= cells(sizes, each)
        if taken:
            chosen[width] = (tuple(sorted(taken)), count)
    return chosen


def _ordered(columns: int, width: int, count: int, stream: PublicStream) -> Sequence[Clique]:
    """All sets of so many columns in a random order, or many random ones where there are too many to list."""
    if count <= 2**16:
        listed = list(itertools.combinations(range(columns), width))
        return [listed[place] for place in stream.order(count).tolist()]
    drawn = (stream.uniform(width * 4 * _MOST_SETS) * columns).astype(int).reshape(-1, width).tolist()
    return list(dict.fromkeys(tuple(sorted(each)) for each in drawn if len(set(each)) == width))


def shares_of(rows: Codes, sizes: Sequence[int], clique: Clique) -> Numbers:
    """The share of the rows in each cell of a marginal."""
    place = rows[clique[0]]
    for column in clique[1:]:
        place = place * sizes[column] + rows[column]
    return np.bincount(place, minlength=cells(sizes, clique)) / len(place)
