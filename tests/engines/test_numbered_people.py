"""People who are text, or numbers far apart, are told apart exactly, and keep the rows that they keep in SQL."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB, _packed, _ranges
from discreet.policy import load_policy
from discreet.query import Group, make_plan

Spy = Callable[[pytest.MonkeyPatch], list[bool]]

PEOPLE: dict[str, list[Any]] = {
    "VARCHAR": ["", " ", "  ", "a", "A", "a ", "ä", "a\u0308", "\0", "\0x", "a\0", "😀", "0", "00", "x" * 300, None],
    'VARCHAR COLLATE "nocase"': ["a", "A", "B", "b", "é", "É", "e", "a ", None],
    "UUID": [f"{i:08x}-0000-4000-8000-{i * 7:012x}" for i in (0, 1, 2, 2**31, 2**32 - 1)] + [None],
    "BIGINT": [-(2**63), 2**63 - 1, 0, -1, 1, None],
    "UBIGINT": [0, 1, 2**63, 2**64 - 1, None],
    "HUGEINT": [-(2**127) + 1, 2**127 - 1, 0, 2**64, None],
}
COLUMNS = {
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
    "x": {"type": "int", "bounds": [-2, 4]},
}
QUERIES = {
    "sums": "SELECT k, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY k",
    "private": "SELECT q, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY q",
    "people": "SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k",
    "all people": "SELECT COUNT(DISTINCT u) AS n FROM t",
    "cells": "SELECT k, MEDIAN(x) AS m FROM t GROUP BY k",
}


def _engine(dice: random.Random, folder: Path, kind: str, caps: tuple[int, int]) -> tuple[DuckDB, Any]:
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (u {kind}, k VARCHAR, q VARCHAR, x BIGINT)")
        people = PEOPLE[kind]
        rows = [
            (
                dice.choice(people),
                dice.choice(["a", "b", "c", "d"]),
                dice.choice(["", "é", None]),
                dice.randrange(-4, 9),
            )
            for _ in range(15 * len(people))
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    about = {"unit": "u", "max_rows": caps[0], "max_groups": caps[1], "columns": COLUMNS}
    policy = load_policy({"version": "1", "tables": {"t": about}})
    return DuckDB(str(path), policy), policy


def _found(groups: list[Group]) -> dict[Any, Any]:
    cells = {g.key: [[each.tolist() for each in both] for both in g.cells] for g in groups}
    return {g.key: (g.units, g.sums, cells[g.key]) for g in groups if any(g.sums) or any(c for c, _ in cells[g.key])}


@pytest.mark.sampled
@pytest.mark.parametrize("caps", [(5, 2), (50, 3)], ids=["tight", "loose"])
@pytest.mark.parametrize("kind", PEOPLE, ids=lambda kind: kind.replace('"', ""))
def test_numbered_people_are_those_of_sql(
    kind: str, caps: tuple[int, int], tmp_path: Path, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(f"{kind} {caps}")
    engine, policy = _engine(dice, tmp_path, kind, caps)
    engine.check("t")
    used: list[bool] = []
    for query in QUERIES.values():
        bounded, salt = make_plan(query, policy).levels[0].bounded, dice.randbytes(16)
        plain = _found(engine.run(bounded, salt))
        for part in (2**24, 16):
            with monkeypatch.context() as patch:
                ran = spied(patch)
                patch.setattr(_ranges, "_PART", part)
                patch.setattr(_ranges, "_SAMPLES", 4)
                assert _found(engine.run(bounded, salt)) == plain
                used += ran
    assert used == [True] * 2 * len(QUERIES)
    assert engine._connection.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchall() == [(0,)]
    engine.close()


def test_every_text_is_another_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a collation says."""
    monkeypatch.setattr(_packed, "_FEW", -1)
    for kind, people in PEOPLE.items():
        (folder := tmp_path / str(len(list(tmp_path.iterdir())))).mkdir()
        engine, policy = _engine(random.Random(1), folder, kind, (50, 3))
        (group,) = engine.run(make_plan(QUERIES["all people"], policy).levels[0].bounded, bytes(16))
        assert group.sums == (len(people) - 1,)
        engine.close()
