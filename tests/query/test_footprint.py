"""What one unit can make an engine hold fits a public budget, by the plan alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import QueryError
from discreet.policy import Policy, load_policy
from discreet.query import Joined, Limited, make_plan, walked
from discreet.query.measures._footprint import _BUDGET, _OWNER, _WIDE, _WIDEST

X = {"type": "int", "bounds": [0, 9]}
S = {"type": "string"}


def _policy(left: int = 3, right: int = 5, **more: Any) -> Policy:
    columns = {"x": X, "y": X, "s": S, "t": S}
    tables = {
        "a": {"unit": "person", "max_rows": left, "columns": columns},
        "b": {"unit": "person", "max_rows": right, "columns": columns},
        "products": {"public": True, "columns": {"id": X, "kind": S}},
        "catalog": {"public": True, "key": "id", "columns": {"id": X, "kind": S}},
        "r": {"unit": "rows", "columns": columns},
        **more,
    }
    return load_policy({"version": "1", "tables": tables})


def _limits(query: str, policy: Policy | None = None) -> list[Limited]:
    relation = make_plan(query, policy or _policy()).levels[0].bounded.relation
    return [node for node in walked(relation) if isinstance(node, Limited)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM a",
        "SELECT s, SUM(x) FROM a GROUP BY s",
        "SELECT s, t, COUNT(DISTINCT s || t) FROM a GROUP BY s, t",
        "SELECT COUNT(*) FROM a JOIN catalog AS c ON c.id = a.x JOIN catalog AS d ON d.id = a.y",
        "SELECT kind, COUNT(*) FROM a LEFT JOIN catalog AS c ON c.id = a.x GROUP BY kind",
        "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM a GROUP BY person)",
        "SELECT COUNT(*) FROM r JOIN catalog AS c ON c.id = r.x",
        "SELECT COUNT(*) FROM (SELECT person, x FROM a UNION ALL SELECT person, x FROM b)",
    ],
)
def test_nothing_is_limited_where_a_row_stays_one_narrow_row(query: str) -> None:
    assert _limits(query) == []


@pytest.mark.parametrize(
    ("query", "sides"),
    [
        ("SELECT COUNT(*) FROM a JOIN b ON a.person = b.person", [None, None]),
        ("SELECT COUNT(*) FROM a JOIN products AS p ON p.id = a.x", [None, 1]),
        ("SELECT COUNT(*) FROM a JOIN products AS p ON p.id * 0 = a.x * 0 AND p.kind = a.s", [None, 2]),
        ("SELECT COUNT(*) FROM products AS p JOIN a ON p.id = a.x", [1, None]),
        ("SELECT COUNT(*) FROM a JOIN catalog AS c ON c.id + 1 = a.x", [None, 1]),
        ("SELECT COUNT(*) FROM a JOIN catalog AS c ON c.id = a.x / 2", [None, 1]),
        ("SELECT COUNT(*) FROM a JOIN catalog AS c ON c.kind = a.s", [None, 1]),
    ],
)
def test_both_sides_are_limited_where_rows_may_meet_many(query: str, sides: list[int | None]) -> None:
    assert [None if limit.by is None else len(limit.by) for limit in _limits(query)] == sides


@given(left=st.integers(1, 3000), right=st.integers(1, 3000), joins=st.integers(1, 4), texts=st.booleans())
def test_pairs_fit_the_budget_and_never_fewer_rows_are_read_than_count(
    left: int, right: int, joins: int, texts: bool
) -> None:
    query = f"SELECT {'a.s, ' if texts else ''}SUM(a.x) FROM a"
    for i in range(joins):
        query += f" JOIN b AS b{i} ON a.person = b{i}.person AND a.x < b{i}.y"
    query += " GROUP BY a.s" if texts else ""
    policy, most = _policy(left, right), _BUDGET // joins // 2
    pairs = (left if joins == 1 else max(left, right)) * right
    if pairs > most // (2 * _OWNER):  # no pair is narrower
        with pytest.raises(QueryError, match="lower max_rows"):
            make_plan(query, policy)
    if pairs > most // 250:
        return
    relation = make_plan(query, policy).levels[0].bounded.relation
    held = 0
    for node in walked(relation):
        if isinstance(node, Joined):
            assert isinstance(node.left, Limited)
            assert isinstance(node.right, Limited)
            assert node.left.rows >= left
            assert node.right.rows >= right
            held += node.left.rows * node.right.rows * 2 * _OWNER
            held += node.right.rows * node.left.size + node.left.rows * node.right.size
    assert held <= _BUDGET


def test_a_side_with_one_row_of_each_person_leaves_room_for_the_other() -> None:
    totals = "(SELECT person, COUNT(*) AS n FROM b GROUP BY person)"
    (limit,) = _limits(f"SELECT COUNT(*) FROM a JOIN {totals} AS b ON a.person = b.person")
    assert limit.rows == 1000


def test_rows_that_grow_wide_are_limited() -> None:
    computed = [f"s || '{i}'" for i in range(8)]
    query = f"SELECT COUNT(*) FROM a GROUP BY {', '.join(computed)}"
    narrow = f"SELECT COUNT(*) FROM a GROUP BY {', '.join(computed[:2])}"
    (limit,) = _limits(query)
    assert limit.rows * _WIDE <= _BUDGET
    assert _limits(narrow) == []
    with pytest.raises(QueryError, match="max_rows"):
        _limits(query, _policy(left=10**6))


def test_rows_that_are_read_often_are_limited() -> None:
    often = " UNION ALL ".join(["SELECT person, s || 'a' AS s, x FROM a"] * 20)
    (limit,) = _limits(f"SELECT s, COUNT(*) FROM ({often}) GROUP BY s")
    assert limit.rows >= 20 * 3
    assert _limits(f"SELECT SUM(x) FROM ({often})") == []
    (limit,) = _limits(f"SELECT AVG(n) FROM (SELECT person, s, COUNT(*) AS n FROM ({often}) GROUP BY person, s)")
    assert limit.rows >= 20 * 3


def test_totals_that_nobody_reads_count() -> None:
    totals = ", ".join(f"MIN(s || '{i}') AS m{i}" for i in range(20))
    grouped = f"(SELECT person, x, {totals} FROM b GROUP BY person, x)"
    limits = _limits(f"SELECT COUNT(*) FROM a JOIN {grouped} AS q ON a.person = q.person")
    assert any(limit.rows * 20_000 <= _BUDGET for limit in limits)


def test_rows_that_are_too_wide_are_refused() -> None:
    keys = ", ".join(f"s || '{i}'" for i in range(70))
    with pytest.raises(QueryError, match=f"{_WIDEST:,} are allowed"):
        _limits(f"SELECT COUNT(*) FROM a GROUP BY {keys}")
    with pytest.raises(QueryError, match=f"{_WIDEST:,} are allowed"):
        _limits(f"SELECT COUNT(*) FROM r GROUP BY {keys}")


def test_a_plan_says_what_is_left_out() -> None:
    text = make_plan("SELECT COUNT(*) FROM a JOIN products AS p ON p.id = a.x", _policy()).explain()
    assert "Of a: at most 1,000 rows of one person are read." in text
    assert "Of products: at most 1,000 rows of each value that is compared are read; declare its key" in text
