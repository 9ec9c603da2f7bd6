"""Neighbouring databases, given and made up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.audit.neighbours._databases import neighbouring_databases, without_person, without_row
from discreet.audit.neighbours._hostile import hostile_databases
from discreet.audit.sql._query import query
from discreet.engines.duckdb import DuckDB
from discreet.errors import ParameterError
from discreet.policy import Policy, load_policy
from discreet.query import Group, Plan, make_plan
from discreet.query.measures._bounded import complete

pytestmark = pytest.mark.usefixtures("one_database")

VISITS = {"unit": "u", "max_rows": 2, "columns": {"x": {"type": "int", "bounds": [0, 10]}}}
SHOPS = {"unit": "rows", "columns": {"y": {"type": "float", "bounds": [-1, 1]}}}
BOTH = {"visits": pa.table({"u": [1, 2, None, 1], "x": [5, 9, 7, 6]}), "shops": pa.table({"y": [0.5, -1.0]})}


def policy_of(relation: str = "add_remove", **tables: Any) -> Policy:
    return load_policy({"version": "1", "relation": relation, "tables": tables})


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(str, row.values())) for row in table.to_pylist())


def test_a_person_leaves_every_table_and_nobody_else_does() -> None:
    policy = policy_of(visits=VISITS, stays=VISITS, shops=SHOPS)
    tables = {**BOTH, "stays": pa.table({"u": [2, 1], "x": [1, 2]}), "not in the policy": pa.table({"u": [1]})}
    left = without_person(tables, policy, 1)
    assert left["visits"].to_pylist() == [{"u": 2, "x": 9}, {"u": None, "x": 7}]
    assert left["stays"].to_pylist() == [{"u": 2, "x": 1}]
    assert left["shops"] is tables["shops"]
    assert left["not in the policy"].num_rows == 1


def test_each_unit_is_removed_once_the_extreme_ones_first() -> None:
    policy = policy_of(visits=VISITS, shops=SHOPS)
    pairs = list(neighbouring_databases(BOTH, policy))
    assert all(whole == BOTH for whole, _ in pairs)
    removed = [{name: rows(whole[name]) - rows(apart[name]) for name in BOTH} for whole, apart in pairs]
    assert [sum(map(Counter.total, each.values())) for each in removed] == [2, 1, 1, 1]
    assert removed[0]["visits"] == {("1", "5"): 1, ("1", "6"): 1}
    assert removed[1]["shops"] == {("-1.0",): 1}
    assert len(list(neighbouring_databases(BOTH, policy, most=2))) == 2


def test_a_substituted_unit_has_other_rows() -> None:
    policy = policy_of("substitute", visits=VISITS, shops=SHOPS)
    pairs = list(neighbouring_databases(BOTH, policy))
    assert len(pairs) == 8
    for (whole, other), end in zip(pairs[:2], (0, 10), strict=True):
        assert rows(other["visits"]) == rows(whole["visits"]) - rows(whole["visits"].take([0, 3])) + Counter(
            {("1", str(end)): 2}
        )
        assert other["shops"] == whole["shops"]
    assert [rows(other["shops"]) for _, other in pairs[2:4]] == [
        {("0.5",): 1, ("-1.0",): 1},
        {("0.5",): 1, ("1.0",): 1},
    ]


def test_nan_and_null_are_nobody() -> None:
    policy = policy_of(visits=VISITS)
    tables = {"visits": pa.table({"u": [math.nan, None, 3.0], "x": [1, 2, 3]})}
    ((_, apart),) = neighbouring_databases(tables, policy)
    assert apart["visits"].num_rows == 2
    with pytest.raises(ParameterError, match="nobody"):
        without_person(tables, policy, None)


def test_wrong_arguments() -> None:
    policy = policy_of(visits=VISITS)
    with pytest.raises(ParameterError, match="lacks u"):
        without_person({"visits": pa.table({"x": [1]})}, policy, 1)
    with pytest.raises(ParameterError, match="Arrow"):
        without_person({"visits": [1]}, policy, 1)  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="row 4"):
        without_row(BOTH, "visits", 4)
    with pytest.raises(ParameterError, match="most"):
        list(neighbouring_databases(BOTH, policy, most=0))
    with pytest.raises(ParameterError, match="crowd"):
        hostile_databases(policy, crowd=-1)


KINDS: dict[str, dict[str, Any]] = {
    "x": {"type": "int", "bounds": [-3, 8]},
    "y": {"type": "float", "bounds": [0, 1000]},
    "d": {"type": "decimal", "bounds": ["0.5", 9], "nullable": False},
    "k": {"type": "string", "keys": ["a", "b", "c", "d"]},
    "b": {"type": "bool", "keys": [True, False]},
    "q": {"type": "string"},
    "i": {"type": "int"},
    "day": {"type": "date"},
    "stamp": {"type": "timestamp"},
}
AGGREGATES = "COUNT(*) AS n, COUNT(x) AS c, SUM(x) AS s, SUM(y * d) AS p, AVG(y) AS a"
QUERIES = [
    f"SELECT {AGGREGATES} FROM t",
    f"SELECT k, {AGGREGATES} FROM t WHERE x > -2 OR y IS NULL GROUP BY k",
    f"SELECT q, {AGGREGATES} FROM t GROUP BY q",
    f"SELECT b, i, day, {AGGREGATES} FROM t GROUP BY b, i, day",
]


def _reached(policy: Policy, plans: list[Plan], pairs: Iterable[Any]) -> list[list[int]]:
    """How far the databases of a pair are apart at most, for each measure of each plan: within what is planned."""
    reached = [[0] * len(plan.levels[0].norms) for plan in plans]
    for pair in pairs:
        sums = [exact(policy, plans, database) for database in pair]
        for i, plan in enumerate(plans):
            one, other = sums[0][i], sums[1][i]
            for j, norms in enumerate(plan.levels[0].norms):
                nothing = Group((), 0, (0,) * len(plan.levels[0].norms))
                moves = [abs(one.get(k, nothing).sums[j] - other.get(k, nothing).sums[j]) for k in {**one, **other}]
                assert sum(moves) <= norms.l1
                assert sum(move**2 for move in moves) <= norms.l2_squared
                reached[i][j] = max(reached[i][j], sum(moves))
    return reached


@pytest.mark.sampled
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("unit", [{"unit": "rows"}, {"unit": "u", "max_rows": 3, "max_groups": 2}])
def test_hostile_units_move_sums_within_the_sensitivity_and_as_far_as_it(relation: str, unit: dict[str, Any]) -> None:
    policy = policy_of(relation, t={**unit, "columns": KINDS})
    pairs = hostile_databases(policy)
    assert len(pairs) == 10
    plans = [make_plan(text, policy) for text in QUERIES]
    reached = _reached(policy, plans, pairs.values())
    if relation == "add_remove":
        assert reached[0] == [norms.l1 for norms in plans[0].levels[0].norms]
        assert reached[2] == [norms.l1 for norms in plans[2].levels[0].norms]


def exact(policy: Policy, plans: list[Any], database: Any) -> list[dict[Any, Group]]:
    engine = DuckDB(database, policy)
    groups = [complete(engine.run(plan.levels[0].bounded, bytes(16)), plan.levels[0].bounded) for plan in plans]
    engine.close()
    return [{group.key: group for group in each} for each in groups]


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_hostile_databases_differ_by_one_unit(relation: str) -> None:
    policy = policy_of(relation, visits={**VISITS, "max_rows": 4}, shops=SHOPS, stays=VISITS)
    pairs = hostile_databases(policy, crowd=2)
    assert len(pairs) == 20
    for name, (one, other) in pairs.items():
        changed = {table for table in one if rows(one[table]) != rows(other[table])}
        if name.startswith("shops: "):
            more, fewer = rows(one["shops"]), rows(other["shops"])
            assert ((more - fewer).total(), (fewer - more).total()) in {(1, int(relation == "substitute")), (0, 0)}
            assert changed <= {"shops"}
        else:
            assert changed <= {"visits", "stays"}
            rest = [without_person(database, policy, 1) for database in (one, other)]
            assert rest[0] == rest[1]


def test_hostile_databases_are_answered() -> None:
    policy = policy_of(t={"unit": "u", "max_rows": 3, "max_groups": 2, "columns": KINDS})
    asked = query(QUERIES[1], policy, dp.pure(1))
    pairs = hostile_databases(policy, crowd=0)
    for name in ("null", "not a number", "beyond both bounds", "in many groups"):
        assert ["refused" in asked(database) for database in pairs[name]] == [False, False]


LINKED: dict[str, dict[str, Any]] = {
    "people": {"unit": "u", "max_rows": 1, "columns": {"x": KINDS["x"], "k": KINDS["k"]}},
    "orders": {"unit": "u", "max_rows": 3, "max_groups": 2, "columns": {"o": {"type": "int"}, "y": KINDS["y"]}},
    "items": {"unit": "o -> orders.o", "max_rows": 4, "columns": {"d": KINDS["d"], "k": KINDS["k"]}},
    "tags": {"public": True, "columns": {"k": {"type": "string"}, "w": {"type": "int", "bounds": [0, 2]}}},
}
OVER_TABLES = [
    "SELECT COUNT(*) AS n, SUM(o.y) AS s, AVG(p.x) AS a FROM orders AS o JOIN people AS p ON o.u = p.u",
    "SELECT COUNT(*) AS n, COUNT(o.y) AS c FROM people AS p LEFT JOIN orders AS o ON o.u = p.u",
    "SELECT k, COUNT(*) AS n, SUM(d) AS s FROM items GROUP BY k",
    "SELECT COUNT(*) AS n, SUM(i.d * o.y) AS s FROM items AS i JOIN orders AS o ON i.o = o.o",
    "SELECT COUNT(*) AS n, SUM(g.w) AS s FROM items AS i JOIN tags AS g ON g.k = i.k",
    "SELECT COUNT(*) AS n FROM (SELECT y FROM orders UNION ALL SELECT d FROM items) AS b",
    "SELECT SUM(v) AS s, COUNT(*) AS n FROM (SELECT u, SUM(y) AS v FROM orders GROUP BY u) AS b",
]


@pytest.mark.parametrize(
    ("relation", "asked"),
    [
        ("add_remove", OVER_TABLES),
        ("substitute", OVER_TABLES[::3]),
        pytest.param("substitute", OVER_TABLES, marks=pytest.mark.soak),
    ],
)
def test_hostile_people_in_linked_tables_move_sums_within_the_sensitivity(relation: str, asked: list[str]) -> None:
    """A person's rows of every table come and go together; of a public table none does."""
    policy = policy_of(relation, **LINKED)
    plans = [make_plan(text, policy) for text in asked]
    pairs = hostile_databases(policy).values()
    assert all(one["tags"] == other["tags"] for one, other in pairs)
    reached = _reached(policy, plans, pairs)
    if relation == "add_remove":  # the claim is as far as a person can go, in every count at least
        assert [each[0] for each in reached[:4]] == [plan.levels[0].norms[0].l1 for plan in plans[:4]]
        assert reached[6][0] == plans[6].levels[0].norms[0].l1
