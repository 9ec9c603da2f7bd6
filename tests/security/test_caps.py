"""A person with ten thousand rows moves an answer by what the caps allow: in each group, over all, and in the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.query import Group, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

ROWS = 10_000
MOST_ROWS, MOST_GROUPS = 5, 2
LOWER, UPPER = -3, 8
KEYS = ["a", "b", "c", "d"]

Columns = dict[str, list[Any]]


def columns(**made: Callable[[int], Any]) -> Columns:
    parts: dict[str, Callable[[int], Any]] = {
        "u": lambda _: 7, "x": lambda _: 10**9, "k": lambda i: KEYS[i % 4], "q": lambda i: f"q{i % 9}",
    }  # fmt: skip
    return {name: [make(i) for i in range(ROWS)] for name, make in (parts | made).items()}


CROWD: Columns = {
    "u": [100 + i // 3 for i in range(240)],
    "x": [i % 12 - 4 for i in range(240)],
    "k": [KEYS[i // 3 % 3] for i in range(240)],
    "q": [f"q{i // 3 % 5}" for i in range(240)],
}
"""80 people, none of them beyond a cap: what they add depends on no salt."""

HOARDERS = {
    "all alike": columns(k=lambda _: "a", q=lambda _: "q1"),
    "everywhere": columns(),
    "a key for each row": columns(q=lambda i: f"mine {i}"),
    "both ends": columns(x=lambda i: (-1) ** i * 10**9),
    "low end": columns(x=lambda _: -(2**62)),
    "odd values": columns(x=lambda i: [None, 2**63 - 1, -(2**63)][i % 3], q=lambda i: [None, "", "q1"][i % 3]),
    "nobody": columns(u=lambda _: None),
}
AGGREGATES = "COUNT(*) AS n, SUM(x) AS s, SUM(x * x) AS xx"
QUERIES = {
    "whole": f"SELECT {AGGREGATES} FROM t",
    "filtered": f"SELECT {AGGREGATES} FROM t WHERE x > 0 OR k = 'a'",
    "public keys": f"SELECT k, {AGGREGATES} FROM t GROUP BY k",
    "private keys": f"SELECT q, {AGGREGATES} FROM t GROUP BY q",
    "both": f"SELECT k, q, {AGGREGATES} FROM t GROUP BY k, q",
}


def policy_of(**more: Any) -> dict[str, Any]:
    kinds = {
        "x": {"type": "int", "bounds": [LOWER, UPPER]},
        "k": {"type": "string", "keys": KEYS},
        "q": {"type": "string"},
    }
    table = {"unit": "u", "max_rows": MOST_ROWS, "max_groups": MOST_GROUPS, "columns": kinds}
    return {"version": "1", "tables": {"t": table}, **more}


def table(*parts: Columns) -> pa.Table:
    schema = pa.schema([("u", pa.int64()), ("x", pa.int64()), ("k", pa.string()), ("q", pa.string())])
    joined = {name: [value for part in parts for value in part[name]] for name in schema.names}
    return pa.table(joined, schema=schema)


def before_noise(policy: Policy, query: str, *parts: Columns) -> dict[tuple[Any, ...], Group]:
    engine = DuckDB({"t": table(*parts)}, policy)
    groups = engine.run(make_plan(query, policy).levels[0].bounded, b"a salt of 16 byt")
    engine.close()
    return {group.key: group for group in groups}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("hoarder", HOARDERS)
def test_integers_before_noise_move_within_the_caps(hoarder: str, query: str) -> None:
    policy = load_policy(policy_of())
    plan = make_plan(QUERIES[query], policy)
    whole = before_noise(policy, QUERIES[query], CROWD, HOARDERS[hoarder])
    rest = before_noise(policy, QUERIES[query], CROWD)
    nothing = Group((), 0, (0,) * len(plan.levels[0].norms))
    pairs = [(whole.get(key, nothing), rest.get(key, nothing)) for key in whole.keys() | rest.keys()]
    changed = [(one, other) for one, other in pairs if (one.units, one.sums) != (other.units, other.sums)]
    assert len(changed) <= (MOST_GROUPS if "keys" in query or query == "both" else 1)
    assert sum(one.units - other.units for one, other in pairs) <= MOST_GROUPS
    assert max(one.units - other.units for one, other in pairs) <= 1
    for i, (most, norms) in enumerate(zip((1, UPPER, UPPER**2), plan.levels[0].norms, strict=True)):
        moves = [abs(one.sums[i] - other.sums[i]) for one, other in pairs]
        assert sum(moves) <= MOST_ROWS * most == norms.l1
        assert sum(move * move for move in moves) <= norms.l2_squared
    if hoarder == "nobody":
        assert changed == []


@pytest.mark.parametrize("hoarder", ["all alike", "everywhere", "a key for each row"])
def test_answers_of_a_session_move_within_the_caps(hoarder: str) -> None:
    """From connect to release, at a spend with which noise is zero but for one time in e^1000."""
    spend = dp.approx(10**6, "0.4")

    def answers(*parts: Columns) -> dict[str, list[dict[str, Any]]]:
        with dp.connect({"t": table(*parts)}, policy_of(budget={"epsilon": 10**9, "delta": "0.9"})) as session:
            queries = {name: session.sql(query, spend) for name, query in QUERIES.items() if name != "both"}
        return {name: release.to_arrow().to_pylist() for name, release in queries.items()}

    with_them, without = answers(CROWD, HOARDERS[hoarder]), answers(CROWD)
    for name in ("whole", "filtered", "public keys"):
        for column, most in (("n", 1), ("s", UPPER), ("xx", UPPER**2)):
            moved = sum(
                abs(one[column] - other[column]) for one, other in zip(with_them[name], without[name], strict=True)
            )
            assert moved <= MOST_ROWS * most
    keys = [{row["q"] for row in found["private keys"]} for found in (with_them, without)]
    assert len(keys[0] - keys[1]) <= MOST_GROUPS
    assert sum(row["n"] for row in with_them["private keys"]) <= sum(row["n"] for row in without["private keys"]) + 5


def test_keys_that_one_person_has_are_rarely_shown() -> None:
    """With δ = 1e-12, none of ten thousand: shown by chance with probability 1e-12."""
    with dp.connect(
        {"t": table(CROWD, HOARDERS["a key for each row"])}, policy_of(budget={"epsilon": 9, "delta": "0.1"})
    ) as s:
        rows = s.sql(QUERIES["private keys"], dp.approx(8, 1e-12)).to_arrow().to_pylist()
    assert [row for row in rows if row["q"].startswith("mine")] == []
