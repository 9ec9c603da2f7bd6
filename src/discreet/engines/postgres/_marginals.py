"""Marginals as one query: the server counts the cells of the rows that count, and sends the counts alone.

Each row is a small number for each key and, of these, one for each of a few sets of keys: the cell of all cells that
the row is in. These are grouped together, so that the rows are read once.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines._marginals import Counts, as_number, cover, marginals_of
from discreet.engines.postgres._dialect import PostgresDialect, holds
from discreet.engines.sql import counted_rows_sql
from discreet.query import BoundedAggregate, GroupKey, Marginals

__all__ = ["HASHED", "marginals_sql", "read_marginals"]

HASHED = "SELECT " + ", ".join(
    f"pg_catalog.set_config('enable_{way}', 'off', true)" for way in ("nestloop", "mergejoin")
)
"""For this transaction: with a condition on each of many keys the planner expects one row, and would join all rows of a
table to all people above a cap in a loop. What only a loop can join is joined by one nevertheless.
"""
_MOST_CELLS = 2**15
"""Of a set that is counted: beyond that there would be more counts to group and send than there are rows to save."""
_NUMBERS = {
    "bool": "CAST({} AS integer)",
    "int": "{}",
    "date": "({} - CAST('1970-01-01' AS date))",
    "timestamp": "CAST(extract(epoch FROM {}) * 1000000 AS bigint)",
}
_HEADER = 19
"""Bytes before the first row of a binary COPY, which has a 4-byte and an 8-byte number in each of 26 bytes."""
_ROW = np.dtype([("fields", ">i2"), ("four", ">i4"), ("cell", ">i4"), ("eight", ">i4"), ("n", ">i8")])
_END = 2
_PIECE = 2**20


def marginals_sql(
    dialect: PostgresDialect, request: Marginals, asked: BoundedAggregate, source: str, salt: bytes
) -> str:
    """A COPY of the cells that are not empty, and their counts. `asked` has the keys that PostgreSQL can hold."""
    chain, rows = counted_rows_sql(dialect, asked, source, salt)
    codes = [
        f"{_cell(f'k{i}', key, merged)} AS c{i}"
        for i, (key, merged) in enumerate(zip(request.bounded.keys, request.merged, strict=True))
    ]
    coded = dialect.step("coded", dialect.fenced(f"SELECT {', '.join(codes) or '0 AS one'} FROM {rows}"), keep=False)
    public = " AND ".join(f"c{i} IS NOT NULL" for i in range(len(codes))) or "TRUE"
    cells = ", ".join(_combined(block, request.sizes, begin) for block, begin in _blocks(request))
    each = f"SELECT unnest(ARRAY[{cells}]) AS cell FROM coded WHERE {public}"
    counted = f"SELECT cell, count(*) AS n FROM ({each}) AS every GROUP BY cell"
    return f"COPY ({chain.rstrip()},\n{coded}\n{counted}) TO STDOUT (FORMAT binary)"


def read_marginals(request: Marginals, pieces: Iterable[Any]) -> Counts:
    """The marginals, from what `marginals_sql` sends."""
    blocks = _blocks(request)
    counts = np.zeros(sum(_cells(block, request.sizes) for block, _ in blocks), np.int64)
    left, begin = bytearray(), _HEADER
    for piece in itertools.chain(pieces, [None]):
        left += piece or b""
        if piece is None or len(left) >= _PIECE:
            rows = max(len(left) - _END - begin, 0) // _ROW.itemsize
            some = np.frombuffer(bytes(left), _ROW, rows, begin)
            counts[some["cell"]] = some["n"]
            left, begin = left[begin + rows * _ROW.itemsize :], 0
    parts: list[NDArray[np.int64]] = [counts[at : at + _cells(block, request.sizes)] for block, at in blocks]
    return marginals_of(request.sets, request.sizes, [block for block, _ in blocks], parts)


def _blocks(request: Marginals) -> list[tuple[tuple[int, ...], int]]:
    """The sets of keys that are counted, first the empty one for the number of rows, and where their cells begin."""
    blocks = [(), *cover(request.sets, request.sizes, _MOST_CELLS)]
    sizes = [_cells(block, request.sizes) for block in blocks]
    return list(zip(blocks, itertools.accumulate(sizes, initial=0), strict=False))


def _cells(block: Sequence[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[i] for i in block)


def _combined(block: Sequence[int], sizes: Sequence[int], begin: int) -> str:
    """The number of a row's cell in a block, after those of the blocks before."""
    cell = str(begin)
    for at, column in enumerate(block):
        below = _cells(block[at + 1 :], sizes)
        cell += f" + c{column}" if below == 1 else f" + c{column} * {below}"
    return cell


def _cell(name: str, key: GroupKey, merged: Sequence[int] | None) -> str:
    """The cell of a key, null if it is of no public value: looked up by its text in a sorted object."""
    values = key.values or ()
    cells = range(len(values)) if merged is None else merged
    present = {_text(value): cell for value, cell in zip(values, cells, strict=True) if value is not None}
    known = json.dumps({text: cell for text, cell in present.items() if holds(text)}, ensure_ascii=False)
    literal = known.replace("'", "''")
    value = name if key.type == "string" else f"CAST({_NUMBERS[key.type].format(name)} AS text)"
    cell = f"CAST(CAST('{literal}' AS jsonb) ->> {value} AS integer)"
    return f"CASE WHEN {name} IS NULL THEN {cells[values.index(None)]} ELSE {cell} END" if None in values else cell


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(as_number(value))
