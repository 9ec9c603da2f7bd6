"""Counts of cells beside the sums: how they are asked for after the caps, and read as arrays, not as Python numbers.

Every row of the result is one of two kinds. A group's sums have `h` = −1, its units as `n`, and the sums as text, since
they need up to 72 bits. A cell that is not empty has the position of its histogram as `h`, and its rows as `n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.sql._dialect import Dialect
from discreet.policy import Key
from discreet.query import BoundedAggregate, Cells, Group

__all__ = ["cells_sql", "read_groups", "sums_sql"]

_CELL_BITS = 17


def cells_sql(dialect: Dialect, keys: Sequence[str], cells: Sequence[str], source: str, sums: int) -> list[str]:
    """For each column of cells a query that counts its values by group, with null in place of so many sums."""
    nothing = [f"{dialect.cast('NULL', 'VARCHAR')} AS t{i}" for i in range(sums)]
    queries: list[str] = []
    for i, cell in enumerate(cells):
        items = [*keys, f"{i} AS h", f"{dialect.cast(cell, 'INTEGER')} AS cell", "count(*) AS n", *nothing]
        by = ", ".join([*keys, cell])
        queries.append(f"SELECT {', '.join(items)} FROM {source} WHERE {cell} IS NOT NULL GROUP BY {by}")
    return queries


def sums_sql(dialect: Dialect, keys: Sequence[str], units: str, sums: Sequence[str], source: str) -> str:
    """The groups of a query that returns keys, units and sums, in the form of `cells_sql`."""
    texts = [f"{dialect.cast(s, 'VARCHAR')} AS t{i}" for i, s in enumerate(sums)]
    cell, n = dialect.cast("0", "INTEGER"), dialect.cast(units, "BIGINT")
    items = [*keys, "-1 AS h", f"{cell} AS cell", f"{n} AS n", *texts]
    return f"SELECT {', '.join(items)} FROM ({source})"


def read_groups(table: pa.Table, request: BoundedAggregate) -> list[Group]:
    """Groups with their sums and cells, from the rows of both kinds in any order."""
    width, histograms = len(request.keys), len(request.histograms)
    which, keys = _numbered(table.select(range(width)), table.num_rows)
    h, cell, n = (_numbers(table.column(name)) for name in ("h", "cell", "n"))
    totals: dict[int, tuple[int, tuple[int, ...]]] = {}
    for at in np.flatnonzero(h < 0).tolist():
        texts = [table.column(width + 3 + i)[at].as_py() for i in range(len(request.measures))]
        totals[int(which[at])] = int(n[at]), tuple(map(int, texts))
    at = np.flatnonzero(h >= 0)
    packed = (which[at] * histograms + h[at] << _CELL_BITS) + cell[at]
    order = np.argsort(packed)
    packed, counts = packed[order], n[at][order]
    starts = np.searchsorted(packed >> _CELL_BITS, np.arange(len(keys) * histograms + 1))
    cells = packed & (1 << _CELL_BITS) - 1
    nothing = 0, (0,) * len(request.measures)
    groups: list[Group] = []
    for g, key in enumerate(keys):
        ends = starts[g * histograms : (g + 1) * histograms + 1]
        counted: list[Cells] = [(cells[a:b], counts[a:b]) for a, b in pairwise(ends)]
        units, sums = totals.get(g, nothing)
        groups.append(Group(key, units, sums, tuple(counted)))
    return groups


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False)).astype(np.int64)


def _numbered(columns: pa.Table, rows: int) -> tuple[NDArray[np.int64], list[tuple[Key | None, ...]]]:
    """A number for each row's key, and the keys by number."""
    which, keys = np.zeros(rows, dtype=np.int64), [()] if rows else list[Any]()
    for column in columns.columns:
        encoded: Any = column.combine_chunks()
        if not isinstance(encoded, pa.DictionaryArray):
            encoded = encoded.dictionary_encode(null_encoding="encode")
        values = encoded.dictionary.to_pylist()
        codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
        pairs, which = np.unique(which * (len(values) + 1) + codes, return_inverse=True)
        values.append(None)
        parts = (divmod(pair, len(values)) for pair in pairs.tolist())
        keys = [(*keys[first], values[code]) for first, code in parts]
    return which, keys
