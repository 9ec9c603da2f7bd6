"""Packed rows in order, a part at a time, so that memory is bounded by a part and by the rows of any one person."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np

from discreet.engines.duckdb._caps import Words

__all__ = ["parts", "slices"]

_PART = 2**24
"""Rows sorted at once: 128 MiB."""
_SAMPLES = 64
"""How many rows of a part's length help to choose where to cut."""


def parts(connection: duckdb.DuckDBPyConnection, sql: str, count: int, person: int) -> Iterator[Words]:
    """All rows of a query of the words `r0`, `r1`, …, in order within a part and from part to part.

    No person is in two parts. `count` is about the number of rows, `person` the number of bits of a first word beneath
    the person. More than a part is held by DuckDB, in memory or on disk.
    """
    if count <= _PART:
        yield _fetched(connection, sql)
        return
    connection.execute(f'CREATE OR REPLACE TEMP TABLE "packed rows" AS {sql}')
    try:
        (sample,) = _fetched(connection, f'SELECT r0 FROM "packed rows" WHERE rowid % {_PART // _SAMPLES} = 0')
        cuts = [int(who) << person for who in np.unique(sample[_SAMPLES::_SAMPLES] >> person)]
        for low, end in zip([0, *cuts], [*cuts, 2**63], strict=True):
            yield _fetched(connection, f'SELECT * FROM "packed rows" WHERE r0 BETWEEN {low} AND {end - 1}')
    finally:
        connection.execute('DROP TABLE "packed rows"')


def slices(rows: Words, person: int, size: int = 2**19) -> Iterator[Words]:
    """Rows in order, cut between people into slices of about `size` rows."""
    begin, first = 0, rows[0]
    while begin < first.size:
        end = begin + size
        if end < first.size:
            last_of_person = (((int(first[end]) >> person) + 1) << person) - 1
            end = int(np.searchsorted(first, last_of_person, side="right"))
        yield tuple(word[begin:end] for word in rows)
        begin = end


def _fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> Words:
    """Columns of whole numbers without nulls or signs, in order of their rows."""
    return _ordered(tuple(connection.sql(sql).fetchnumpy().values()))


def _ordered(words: Words) -> Words:
    """Rows in order: one digit after another from the lowest, each as long as fits beside the place of a row."""
    if len(words) == 1:
        words[0].sort()
        return words
    count = words[0].size
    places, rank = np.arange(count), max(count - 1, 0).bit_length()
    digit = 63 - rank
    order = places
    for word in reversed(words):
        for shift in range(0, int(word.max(initial=0)).bit_length(), digit):
            beside = (word[order] >> shift & (1 << digit) - 1) << rank | places
            beside.sort()
            beside &= (1 << rank) - 1
            order = order[beside]
    return tuple(word[order] for word in words)
