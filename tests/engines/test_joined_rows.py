"""Of each side of a join at most so many rows of a person are taken, and which ones is nobody else's business."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb._dialect import DIALECT
from discreet.engines.sql import rows_sql
from discreet.policy import load_policy
from discreet.query import make_plan
from discreet.query.measures import _footprint

pytestmark = pytest.mark.usefixtures("one_database")

ABOUT = {"unit": "u", "max_rows": 2, "columns": {"x": {"type": "int", "bounds": [0, 9]}, "s": {"type": "string"}}}
POLICY = load_policy({"version": "1", "budget": {"epsilon": 10**9}, "tables": {"a": ABOUT, "b": ABOUT}})
JOIN = "SELECT SUM(a.x * b.x) AS s FROM a {} JOIN b ON a.u = b.u WHERE a.s IS NULL OR a.s >= ''"


def _table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.table({"u": pa.array(columns[0], pa.int64()), "x": pa.array(columns[1], pa.int64()), "s": columns[2]})


def _pairs(tables: dict[str, pa.Table], query: str) -> Counter[tuple[Any, ...]]:
    """The rows that a query reads, before any cap on them."""
    engine = DuckDB(tables, POLICY)
    bounded = make_plan(query, POLICY).levels[0].bounded
    rows = engine._connection.execute(
        f"SELECT * FROM ({rows_sql(DIALECT, bounded, POLICY, engine._relation)})"
    ).fetchall()
    engine.close()
    return Counter(rows)


def _of(pairs: Counter[tuple[Any, ...]], person: int) -> Counter[tuple[Any, ...]]:
    return Counter({row: n for row, n in pairs.items() if row[-1] == person})


def _rows(dice: random.Random, people: int) -> list[tuple[Any, ...]]:
    return [
        (dice.randrange(people), dice.choice([0, 0, 1, 9, None]), dice.choice(["", "a", "A", "a ", None]))
        for _ in range(60)
    ]


@pytest.mark.parametrize("seeds", [2, pytest.param(8, marks=pytest.mark.soak)])
@pytest.mark.parametrize("outer", ["", "LEFT"])
def test_a_persons_rows_are_chosen_from_that_persons_alone(
    outer: str, seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_footprint, "_MOST_ROWS", 3)
    for seed in range(seeds):
        dice = random.Random(f"{outer} {seed}")
        a, b = _rows(dice, 9), _rows(dice, 9)
        whole = _pairs({"a": _table(a), "b": _table(b)}, JOIN.format(outer))
        counts = {person: (_count(a, person), _count(b, person)) for person in range(9)}
        for person, (left, right) in counts.items():
            most = min(left, 3) * max(min(right, 3), bool(outer))
            assert _of(whole, person).total() == most
            dice.shuffle(a)
            others = {n: _table([row for row in rows if row[0] != person]) for n, rows in (("a", a), ("b", b))}
            without = _pairs(others, JOIN.format(outer))
            assert without == whole - _of(whole, person)
        assert max(left for left, _ in counts.values()) > 3


def _count(rows: list[tuple[Any, ...]], person: int) -> int:
    return sum(row[0] == person for row in rows)


def test_all_pairs_are_made_where_nobody_has_many() -> None:
    dice = random.Random(1)
    a, b = _rows(dice, 2), _rows(dice, 2)
    found = _pairs({"a": _table(a), "b": _table(b)}, JOIN.format(""))
    assert found.total() == sum(_count(a, person) * _count(b, person) for person in range(2)) > 1000


@pytest.mark.parametrize("rows", [5, 500, pytest.param(3000, marks=pytest.mark.soak)])
def test_a_chain_of_joins_ends_whatever_one_person_has(rows: int) -> None:
    chain = "SELECT COUNT(*) AS n FROM a AS a0"
    for i in range(1, 6):
        chain += f" JOIN (SELECT u FROM a WHERE s = 'x') AS a{i} ON a0.u = a{i}.u"
    table = _table([(1, 0, "x")] * rows + [(2, 1, "x")])
    with dp.connect({"a": table, "b": table}, POLICY) as session:
        assert session.sql(chain, dp.pure(10**6)).to_arrow().to_pylist() == [{"n": 3}]


def test_rows_that_differ_in_the_sign_of_zero_alone_are_chosen_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two zeros compare and hash alike, but have different texts."""
    monkeypatch.setattr(_footprint, "_MOST_ROWS", 2)
    about = {"unit": "u", "max_rows": 2, "columns": {"z": {"type": "float", "bounds": [0, 9]}}}
    policy = load_policy({"version": "1", "budget": {"epsilon": 10**9}, "tables": {"a": about, "b": ABOUT}})
    query = "SELECT SUM(b.x) AS s FROM a JOIN b ON a.u = b.u WHERE CAST(a.z AS VARCHAR) LIKE '-%'"
    bounded = make_plan(query, policy).levels[0].bounded
    found: list[object] = []
    for zeros in ([0.0, 0.0, -0.0, -0.0], [-0.0, -0.0, 0.0, 0.0]):
        engine = DuckDB({"a": pa.table({"u": [1] * 4, "z": zeros}), "b": _table([(1, 5, "")])}, policy)
        found.append([(group.key, group.sums) for group in engine.run(bounded, bytes(16))])
    assert found[0] == found[1]
