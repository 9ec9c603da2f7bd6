"""Rows of several words are in the order of their tuples, and every bit of a word is a place for a field."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb._layout import Field, Layout
from discreet.engines.duckdb._ranges import parts, slices

_WORD = st.integers(0, 2**63 - 1) | st.integers(0, 3) | st.sampled_from([2**31, 2**62, 2**63 - 1, 2**63 - 2])


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[_WORD] * width), min_size=1, max_size=40)))
def test_rows_are_in_the_order_of_their_tuples(rows: list[tuple[int, ...]]) -> None:
    with duckdb.connect() as connection:
        names = [f"r{i}" for i in range(len(rows[0]))]
        values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        columns = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in names)
        sql = f"SELECT {columns} FROM (VALUES {values}) AS t({', '.join(names)})"
        (found,) = parts(connection, sql, len(rows), 0)
        assert list(zip(*(word.tolist() for word in found), strict=True)) == sorted(rows)
        assert [tuple(map(len, each)) for each in parts(connection, sql + " WHERE false", 0, 0)] == [(0,) * len(names)]


@given(st.lists(st.integers(0, 2**63 - 1), max_size=30), st.sampled_from([0, 3, 61, 63]), st.integers(1, 9))
def test_slices_are_whole_people(numbers: list[int], person: int, size: int) -> None:
    rows = np.array(sorted(numbers), np.int64)
    found = [word for (word,) in slices((rows,), person, size)]
    assert np.concatenate([rows[:0], *found]).tolist() == rows.tolist()
    people = [set((word >> person).tolist()) for word in found]
    assert sum(map(len, people)) == len(set().union(*people))


@pytest.mark.parametrize("bits", [(1, 1, 61), (5, 8, 50), (1, 1, 1, 60), (20, 20, 23), (1, 1, 61, 63, 1, 62)])
def test_all_63_bits_of_a_word_are_used(bits: tuple[int, ...]) -> None:
    person, key, *values = (Field(f"x{i}", -3, -3 + 2**width - 2) for i, width in enumerate(bits))
    layout = Layout(person, (key,), tuple(values))
    assert layout.fits
    highest = ", ".join(f"CAST({field.high} AS HUGEINT) AS {field.sql}" for field in (person, key, *values))
    nothing = ", ".join(f"CAST(NULL AS BIGINT) AS {field.sql}" for field in (person, key, *values))
    for columns, contents in ((highest, [field.high for field in values]), (nothing, [None] * len(values))):
        packed = f"SELECT {layout.pack()} FROM (SELECT {columns})"
        keys, unpacked = layout.unpack([f"r{i}" for i in range(len(layout.words))])
        found = duckdb.execute(f"SELECT {', '.join([*keys, *unpacked])} FROM ({packed})").fetchall()
        assert found == [(2 ** bits[1] - 1 if columns is highest else 0, *contents)]


def test_what_does_not_fit_is_said_so() -> None:
    one = Field("x", 0, 0)
    assert not Layout(Field("u", 0, 2**62), (Field("k", 0, 1),), ()).fits
    assert not Layout(one, (), (Field("v", 0, 2**63 - 1),)).fits
    assert not Layout(one, (), (Field("v", -(2**63), -(2**63)),)).fits
    assert not Layout(one, (), (Field("v", 0, 2**62),) * 8).fits
    assert Layout(one, (), (Field("v", 0, 2**62 - 1),) * 7).fits
