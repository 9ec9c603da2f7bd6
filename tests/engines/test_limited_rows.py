"""Of a person with many rows DuckDB finds those that a plan keeps without holding the others: they are the same."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb._dialect import DIALECT
from discreet.engines.sql import Dialect
from discreet.policy import load_policy
from discreet.query import BoundedAggregate, Joined, Limited, make_plan, walked

COLUMNS = {"x": {"type": "int", "bounds": [0, 9]}, "s": {"type": "string"}}
POLICY = load_policy(
    {"version": "1", "tables": {n: {"unit": "person", "max_rows": 2, "columns": COLUMNS} for n in ("a", "b")}}
)
QUERY = (
    "SELECT SUM(a.x + b.x) AS s, COUNT(*) AS n, COUNT(DISTINCT a.s || b.s) AS d "
    "FROM a JOIN b ON a.person = b.person AND a.x <= b.x AND a.s <= b.s"
)


def _rows(people: int, rows: int, seed: int) -> pa.Table:
    dice = random.Random(seed)
    owner = [dice.randrange(people) for _ in range(rows)]
    x = [dice.choice([None, *range(10)]) for _ in range(rows)]
    return pa.table(
        {
            "person": owner,
            "x": pa.array(x, pa.int64()),
            "s": [dice.choice("abc") * dice.choice([1, 9]) for _ in range(rows)],
        }
    )


@settings(max_examples=25)
@given(
    people=st.integers(1, 4),
    rows=st.integers(1, 60),
    most=st.integers(2, 12),
    size=st.integers(1, 60),
    seed=st.integers(0, 10**6),
)
def test_the_same_rows_are_kept_whether_others_are_held_or_not(
    people: int, rows: int, most: int, size: int, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.query.measures._footprint._MOST_ROWS", most)
        request = _within(make_plan(QUERY, POLICY).levels[0].bounded, size)
        engine = DuckDB({"a": _rows(people, rows, seed), "b": _rows(people, rows, seed + 1)}, POLICY)
        held_alone = _answer(engine, request)
        patch.setattr(type(DIALECT), "fewest", Dialect.fewest)
        assert held_alone == _answer(engine, request)
        engine.close()
    assert {node.rows for node in walked(request.relation) if isinstance(node, Limited)} == {most}


def _within(request: BoundedAggregate, size: int) -> BoundedAggregate:
    """The request with texts of so many bytes from each side."""
    join = request.relation
    assert isinstance(join, Joined)
    assert isinstance(join.left, Limited)
    assert isinstance(join.right, Limited)
    sides = {"left": replace(join.left, size=size), "right": replace(join.right, size=size)}
    return replace(request, relation=replace(join, **sides))


def _answer(engine: DuckDB, request: BoundedAggregate) -> list[tuple[int, Any]]:
    return [(group.units, group.sums) for group in engine.run(request, bytes(16))]


@pytest.mark.parametrize("stored", ["BLOB", "ENUM"])
def test_texts_are_cut_however_they_are_stored(stored: str, tmp_path: Path) -> None:
    long = "x" * 1_000
    kind = f"ENUM ('{long}')" if stored == "ENUM" else stored
    with duckdb.connect(tmp_path / "long.duckdb") as source:
        for name in ("a", "b"):
            source.execute(f"CREATE TABLE {name} (person BIGINT, x BIGINT, s {kind})")
            source.execute(f"INSERT INTO {name} VALUES (1, 2, '{long}')")
    both = "SELECT person, s, x FROM a UNION ALL SELECT person, s, x FROM b"
    for rows in (f"({both})", "a"):
        query = (
            f"SELECT SUM(LEAST(LENGTH(q.s), 5000)) AS s FROM {rows} AS q JOIN b ON b.person = q.person AND b.x = q.x"
        )
        engine = DuckDB(tmp_path / "long.duckdb", POLICY)
        ((_, (total,)),) = _answer(engine, make_plan(query, POLICY).levels[0].bounded)
        engine.close()
        assert total == 250 * (1 + rows.startswith("("))
