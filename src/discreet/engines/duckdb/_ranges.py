"""Packed rows in order, a part at a time, so that memory is bounded by a part and by the rows of any one person."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np

from discreet.engines.duckdb._caps import Integers

__all__ = ["parts", "slices"]

_PART = 2**24
"""Rows sorted at once: 128 MiB."""
_SAMPLES = 64
"""How many rows of a part's length help to choose where to cut."""


def parts(connection: duckdb.DuckDBPyConnection, sql: str, count: int, person: int) -> Iterator[Integers]:
    """All rows of a query of one column `r`, in order within a part and from part to part; no person is in two parts.

    `count` is about the number of rows, `person` the number of bits beneath the person in a row. More than a part is
    held by DuckDB, in memory or on disk.
    """
    if count <= _PART:
        yield _fetched(connection, sql)
        return
    connection.execute(f'CREATE OR REPLACE TEMP TABLE "packed rows" AS {sql}')
    try:
        sample = f'SELECT r FROM "packed rows" WHERE rowid % {_PART // _SAMPLES} = 0'
        people = np.unique(_fetched(connection, sample)[_SAMPLES::_SAMPLES] >> person)
        cuts = [int(who) << person for who in people]
        for low, high in zip([0, *cuts], [*cuts, 2**63 - 1], strict=True):
            yield _fetched(connection, f'SELECT r FROM "packed rows" WHERE r >= {low} AND r < {high}')
    finally:
        connection.execute('DROP TABLE "packed rows"')


def slices(rows: Integers, person: int, size: int = 2**19) -> Iterator[Integers]:
    """Rows in order, cut between people into slices of about `size` rows."""
    begin = 0
    while begin < rows.size:
        end = begin + size
        if end < rows.size:
            after = ((int(rows[end]) >> person) + 1) << person
            end = int(np.searchsorted(rows, after))
        yield rows[begin:end]
        begin = end


def _fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> Integers:
    """The column `r` of whole numbers without nulls, in order."""
    rows: Integers = connection.sql(sql).fetchnumpy()["r"]
    rows.sort()
    return rows
