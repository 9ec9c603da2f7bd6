"""Groups that follow from types and bounds hold every row that counts, whatever relation the key comes from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.policy import load_policy
from discreet.query import make_plan

NEARLY_EXACT = dp.pure(10**6)
PEOPLE = pa.table(
    {"u": list(range(300)), "a": [i % 5 if i % 7 else None for i in range(300)], "x": [0, 0, 5, 20, 300] * 60}
)
MORE = pa.table({"u": list(range(0, 300, 2)), "b": [i % 9 for i in range(150)]})
LOOKUP = pa.table({"z": [0, 1, 2], "g": [0, 1, 2]})
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "p": {"unit": "u", "max_rows": 1, "columns": {
            "a": {"type": "int"}, "x": {"type": "int", "bounds": [1, 20], "nullable": False}}},
        "q": {"unit": "u", "max_rows": 1, "columns": {"b": {"type": "int", "bounds": [0, 8], "nullable": False}}},
        "pub": {"public": True, "key": "z", "columns": {"z": {"type": "int"}, "g": {"type": "int"}}},
    },
}  # fmt: skip


def counts(query: str) -> dict[Any, int]:
    with dp.connect({"p": PEOPLE, "q": MORE, "pub": LOOKUP}, POLICY) as session:
        rows = session.sql(query, NEARLY_EXACT).to_arrow().to_pylist()
    return {row["k"]: row["n"] for row in rows if row["n"]}


@pytest.mark.parametrize(
    "key",
    ["g > 1", "g IS NULL", "CASE WHEN g > 1 THEN 'high' ELSE 'low' END", "WIDTH_BUCKET(g, 0, 5, 3)", "g > 1 OR g < 1"],
)
def test_rows_without_a_partner_are_in_the_group_of_null(key: str) -> None:
    found = counts(f"SELECT k, COUNT(*) AS n FROM p LEFT JOIN (SELECT z, {key} AS k FROM pub) AS y ON a = z GROUP BY k")
    assert sum(found.values()) == 300
    assert found[None] > 100


def test_people_without_rows_elsewhere_are_in_the_group_of_null() -> None:
    later = "SELECT u AS v, MAX(b) > 3 AS k FROM q GROUP BY u"
    found = counts(f"SELECT k, COUNT(*) AS n FROM p LEFT JOIN ({later}) AS y ON p.u = y.v GROUP BY k")
    assert (sum(found.values()), found[None]) == (300, 150)


@pytest.mark.parametrize(
    "inner",
    ["SELECT u, FLOOR(LN(x)) AS k FROM p GROUP BY u, FLOOR(LN(x))", "SELECT DISTINCT u, FLOOR(LN(x)) AS k FROM p"],
)
def test_what_a_sub_query_computes_from_rows_as_they_are_can_be_null(inner: str) -> None:
    found = counts(f"SELECT k, COUNT(*) AS n FROM ({inner}) AS s GROUP BY k")
    assert (sum(found.values()), found[None]) == (300, 120)


def test_counting_it_skips_the_nulls() -> None:
    inner = "SELECT u, FLOOR(LN(x)) AS l FROM p GROUP BY u, FLOOR(LN(x))"
    assert counts(f"SELECT 1 AS k, COUNT(l) AS n FROM ({inner}) AS s") == {1: 180}


def test_fewer_groups_are_left_by_bounds_than_by_a_function() -> None:
    (key,) = make_plan("SELECT x % 7 AS k, COUNT(*) AS n FROM p GROUP BY k", load_policy(POLICY)).levels[0].bounded.keys
    assert key.values == (*range(1, 7), 0)


def test_other_groups_are_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = load_policy(POLICY)
    query = "SELECT x % 7 AS k, COUNT(*) AS n FROM p GROUP BY k"
    hashes = {make_plan(query, policy, NEARLY_EXACT).hash(policy)}
    monkeypatch.setattr("discreet.query._planner.bounded_key", lambda *_: None)
    hashes.add(make_plan(query, policy, NEARLY_EXACT).hash(policy))
    assert len(hashes) == 2
