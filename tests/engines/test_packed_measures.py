"""Which measures and relations are packed, and that one query counts one choice of rows, whatever it asks of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB, _layout, _ranges
from discreet.policy import load_policy
from discreet.query import Group, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS: dict[str, Any] = {
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
    "id": {"type": "int"},
    "x": {"type": "int", "bounds": [-2, 4]},
    "y": {"type": "float", "bounds": [0, 1]},
    "b": {"type": "bool"},
    "w": {"type": "int", "bounds": [-(2**61), 2**61]},
    "z": {"type": "int", "bounds": [0, 2**40]},
}
Spy = Callable[[pytest.MonkeyPatch], list[bool]]
CAPS = {"loose": (50, 50), "rows": (3, 50), "groups": (50, 1), "both": (4, 2)}
PACKED = {
    "moments": "VAR_POP(x) AS v, AVG(x) AS a, COUNT(*) AS n FROM t",
    "pairs": "REGR_SLOPE(x, y) AS c, COUNT(*) AS n FROM t",
    "filters": "SUM(x) FILTER (WHERE b) AS s, COUNT(*) FILTER (WHERE NOT b) AS n, COUNT(y) FILTER (WHERE b) FROM t",
    "where": "CORR(x, CASE WHEN b THEN x ELSE 1 END) AS c FROM t WHERE y IS NOT NULL",
    "sub-query": "SUM(x) AS s, COUNT(*) AS n FROM (SELECT * FROM t WHERE x > -1) AS t",
    "people": "COUNT(DISTINCT u) AS p FROM t",
    "some people": "COUNT(DISTINCT u) FILTER (WHERE b) AS p, COUNT(DISTINCT u) FILTER (WHERE x > 0) AS q FROM t",
    "people and rows": "COUNT(DISTINCT u) FILTER (WHERE NOT b) AS p, COUNT(DISTINCT u) AS q, SUM(x) AS s FROM t",
    "cells": "MEDIAN(x) AS m FROM t",
    "some cells": "MAX(y) FILTER (WHERE b) AS m, MIN(x) AS n FROM t",
    "wide": "SUM(x) AS s, SUM(w) AS t, SUM(z) AS r, COUNT(DISTINCT u) FILTER (WHERE b) AS p, MEDIAN(y) AS m FROM t",
    "everything": "MEDIAN(x) AS m, QUANTILE_CONT(x, 0.9) FILTER (WHERE b) AS q, COUNT(*) AS n, AVG(x) AS a, "
    "COUNT(DISTINCT u) FILTER (WHERE b) AS p FROM t WHERE y < 2",
}
IN_SQL = {
    "values": "COUNT(DISTINCT id) AS d FROM t",
    "joins": "COUNT(*) AS n FROM t JOIN t AS s ON t.u = s.u",
    "union": "COUNT(*) AS n FROM (SELECT x, k FROM t UNION ALL SELECT x, k FROM t) AS t",
    "totals": "SUM(s) AS s FROM (SELECT u, k, SUM(x) AS s FROM t GROUP BY u, k) AS t",
}


def _engine(dice: random.Random, caps: tuple[int, int], count: int = 60) -> tuple[DuckDB, Any]:
    about = {"unit": "u", "max_rows": caps[0], "max_groups": caps[1], "columns": COLUMNS}
    policy = load_policy({"version": "1", "tables": {"t": about}})
    choices: dict[str, tuple[list[Any], pa.DataType]] = {
        "u": ([0, 1, 1, 2, 3, 3, 3, 100, None], pa.int64()),
        "k": (["a", "b", "c", "elsewhere", None], pa.string()),
        "q": (["", "é", None], pa.string()),
        "x": ([-(2**63), -2, 0, 1, 4, 2**63 - 1, None], pa.int64()),
        "y": ([0.0, -0.0, 0.25, 1.0, 5e-324, float("inf"), float("nan"), None], pa.float64()),
        "b": ([True, False, None], pa.bool_()),
        "w": ([-(2**63), -(2**61), -(2**61) + 1, 0, 1, 2**61 - 1, 2**63 - 1, None], pa.int64()),
        "z": ([-1, 0, 1, 2**39, 2**40 - 1, 2**40, None], pa.int64()),
    }
    columns = {name: pa.array(dice.choices(each, k=count), kind) for name, (each, kind) in choices.items()}
    return DuckDB({"t": pa.table({**columns, "id": list(range(count))})}, policy), policy


def _found(groups: list[Group]) -> dict[Any, Any]:
    """What is not 0."""
    cells = {g.key: [[each.tolist() for each in both] for both in g.cells] for g in groups}
    return {g.key: (g.units, g.sums, cells[g.key]) for g in groups if any(g.sums) or any(c for c, _ in cells[g.key])}


@pytest.mark.sampled
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("query", PACKED)
@pytest.mark.parametrize("key", ["", "t.k", "t.q"])
def test_every_measure_is_the_same_packed_and_in_sql(
    key: str, query: str, caps: str, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(f"{key} {query} {caps}")
    text = f"SELECT {key}, {PACKED[query]} GROUP BY {key}" if key else f"SELECT {PACKED[query]}"
    for count in (60, 9):
        engine, policy = _engine(dice, CAPS[caps], count)
        bounded, salt = make_plan(text, policy).levels[0].bounded, dice.randbytes(16)
        with monkeypatch.context() as patch:
            used = spied(patch)
            packed = _found(engine.run(bounded, salt))
            assert used == [True]
        assert _found(engine.run(bounded, salt)) == packed
        engine.close()


@pytest.mark.parametrize("bits", [17, 40])
@pytest.mark.parametrize("query", ["people and rows", "wide", "everything"])
def test_values_in_words_of_any_length_are_the_same(
    query: str, bits: int, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(f"{query} {bits}")
    engine, policy = _engine(dice, CAPS["both"], 300)
    bounded, salt = make_plan(f"SELECT q, {PACKED[query]} GROUP BY q", policy).levels[0].bounded, dice.randbytes(16)
    whole = _found(engine.run(bounded, salt))
    monkeypatch.setattr(_ranges, "_PART", 20)
    monkeypatch.setattr(_ranges, "_SAMPLES", 4)
    used = spied(monkeypatch)
    assert _found(engine.run(bounded, salt)) == whole
    monkeypatch.setattr(_layout, "_BITS", bits)
    assert _found(engine.run(bounded, salt)) == whole
    assert used == [True, query != "wide" or bits > 17]
    engine.close()


@pytest.mark.parametrize("query", ["cells", "wide", "everything", "people and rows"])
def test_people_and_cells_add_up_over_parts(query: str, spied: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(query)
    engine, policy = _engine(dice, CAPS["both"], 300)
    bounded, salt = make_plan(f"SELECT q, {PACKED[query]} GROUP BY q", policy).levels[0].bounded, dice.randbytes(16)
    whole = _found(engine.run(bounded, salt))
    used = spied(monkeypatch)
    monkeypatch.setattr(_ranges, "_PART", 20)
    monkeypatch.setattr(_ranges, "_SAMPLES", 4)
    assert _found(engine.run(bounded, salt)) == whole
    assert used == [True]
    engine.close()


@pytest.mark.parametrize("query", IN_SQL)
def test_what_is_no_sum_over_rows_of_one_table_is_not_packed(
    query: str, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(query)
    engine, policy = _engine(dice, CAPS["both"])
    used = spied(monkeypatch)
    engine.run(make_plan(f"SELECT {IN_SQL[query]}", policy).levels[0].bounded, dice.randbytes(16))
    assert not any(used)
    engine.close()


@pytest.mark.sampled
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("key", ["", "k", "q"])
def test_sums_and_values_and_cells_are_of_the_same_rows(key: str, caps: str) -> None:
    dice = random.Random(f"{key} {caps}")
    asked = "COUNT(*) AS n, COUNT(DISTINCT id) AS d, COUNT(x) AS c, MEDIAN(x) AS m, MAX(x) FILTER (WHERE b) AS f, "
    asked += "COUNT(x) FILTER (WHERE b) AS g FROM t"
    text = f"SELECT {key}, {asked} GROUP BY {key}" if key else f"SELECT {asked}"
    for _ in range(4):
        engine, policy = _engine(dice, CAPS[caps])
        for group in engine.run(make_plan(text, policy).levels[0].bounded, dice.randbytes(16)):
            rows, distinct, present, held = group.sums
            assert distinct == rows
            assert [int(n.sum()) for _, n in group.cells] == [present, held]
        engine.close()


@pytest.mark.parametrize(("few", "packed"), [(0, False), (1, False), (2, True)])
def test_keys_and_a_cell_are_packed_where_they_fit_63_bits(
    few: int, packed: bool, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells have 17 bits here, keys of 40 values 6, and those of few 5."""
    names, count = [f"k{i}" for i in range(8)], 40
    columns: dict[str, Any] = {name: {"type": "int"} for name in names}
    columns["x"] = {"type": "int", "bounds": [0, 65535]}
    about = {"unit": "u", "max_rows": count, "max_groups": count, "columns": columns}
    policy = load_policy({"version": "1", "tables": {"t": about}})
    values = {name: [i % 31 if n < few else i for i in range(count)] for n, name in enumerate(names)}
    table = pa.table({"u": [1] * count, **values, "x": [1600 * i for i in range(count)]})
    keys = ", ".join(names)
    bounded = make_plan(f"SELECT {keys}, MEDIAN(x) AS m FROM t GROUP BY {keys}", policy).levels[0].bounded
    engine = DuckDB({"t": table}, policy)
    in_sql = _found(engine.run(bounded, bytes(16)))
    used = spied(monkeypatch)
    assert _found(engine.run(bounded, bytes(16))) == in_sql
    assert len(in_sql) == count
    assert used == [packed]
    engine.close()
