"""Public keys without an aggregate are answered as they are listed, and cost nothing; DISTINCT beside GROUP BY."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.query import make_plan
from discreet.release import recompute_loss, verify_loss

pytestmark = pytest.mark.usefixtures("one_database")

TABLE = pa.table(
    {
        "u": [*range(60), *range(60)],
        "k": ["b"] * 100 + ["elsewhere"] * 20,
        "yes": [True] * 120,
        "n": [3] * 120,
        "q": ["p"] * 120,
    }
)
BUDGETS: dict[str, tuple[dict[str, object], dp.Loss]] = {
    "pure": ({"epsilon": 2}, dp.pure(1)),
    "approx": ({"epsilon": 2, "delta": "0.01"}, dp.approx(1, "0.005")),
    "rho": ({"rho": 2, "delta": "0.01"}, dp.rho(1, "0.005")),
    "mu": ({"mu": 2, "delta": "0.01"}, dp.mu(1, "0.005")),
}


def policy_of(budget: dict[str, object]) -> dict[str, Any]:
    columns = {
        "k": {"type": "string", "keys": ["b", "a", "c"]},
        "yes": {"type": "bool", "nullable": False},
        "n": {"type": "int", "bounds": [1, 4], "nullable": False},
        "q": {"type": "string"},
    }
    return {"version": "1", "budget": budget, "tables": {"t": {"unit": "u", "max_rows": 2, "columns": columns}}}


POLICY = load_policy(policy_of({"epsilon": 2, "delta": "0.01"}))
ANSWERED: dict[str, list[tuple[object, ...]]] = {
    "SELECT DISTINCT k FROM t": [("b",), ("a",), ("c",)],
    "SELECT k FROM t GROUP BY k": [("b",), ("a",), ("c",)],
    "SELECT k AS key FROM t WHERE yes AND q = 'no' GROUP BY ALL ORDER BY key": [("a",), ("b",), ("c",)],
    "SELECT DISTINCT k FROM t WHERE k <> 'b'": [("a",), ("c",)],
    "SELECT DISTINCT k FROM t WHERE k IN ('c', 'no')": [("c",)],
    "SELECT k FROM t GROUP BY k HAVING k > 'a' ORDER BY k DESC LIMIT 1": [("c",)],
    "SELECT DISTINCT yes, UPPER(k) AS u FROM t WHERE k > 'b'": [(False, "C"), (True, "C")],
    "SELECT n FROM t WHERE n > 2 GROUP BY n": [(3,), (4,)],
    "SELECT n // 2 AS half FROM t GROUP BY half": [(0,), (1,), (2,)],
    "SELECT yes FROM t GROUP BY ROLLUP (yes)": [(False,), (True,), (None,)],
    "SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS place FROM t GROUP BY k": [("b", 2), ("a", 1), ("c", 3)],
}


@pytest.mark.parametrize("query", ANSWERED)
def test_public_keys_are_answered_as_they_are_listed(query: str) -> None:
    with dp.connect({"t": TABLE}, policy_of({"epsilon": 2})) as session:
        release = session.sql(query, dp.pure(1))
        assert list(zip(*release.to_arrow().to_pydict().values(), strict=True)) == ANSWERED[query]
        assert session.spent == release.loss == session.plan(query, dp.pure(1)).loss
        assert release.loss.epsilon() == 0
        assert session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(2)).loss == dp.pure(2)
        assert session.sql(f"{query} -- once more", dp.pure(2)).to_arrow() == release.to_arrow()


@pytest.mark.parametrize("currency", BUDGETS)
def test_nothing_is_charged_in_any_currency_and_certificates_say_so(currency: str) -> None:
    budget, spend = BUDGETS[currency]
    with dp.connect({"t": TABLE}, policy_of(budget)) as session:
        before = session.spent
        release = session.sql("SELECT DISTINCT k FROM t", spend)
        assert session.spent == before
        told = json.loads(json.dumps(dict(release.certificate)))
        assert verify_loss(told) is None
        assert recompute_loss(told).fits(release.loss)
        assert release.noisy == () and release.note()
        plan = session.plan("SELECT DISTINCT k FROM t", spend)
    assert "Nothing is asked of rows" in plan.explain()
    assert "Half-widths" not in plan.explain()
    assert "key, public: 3 values" in str(plan)


def test_no_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.connect({"t": TABLE}, policy_of({"epsilon": 2})) as session:
        monkeypatch.setattr(DuckDB, "run", lambda *_: pytest.fail("rows were read"))
        assert session.sql("SELECT DISTINCT k FROM t", dp.pure(1)).to_arrow().num_rows == 3


def test_private_sets_have_the_whole_spend() -> None:
    plan = make_plan("SELECT k, q FROM t GROUP BY ROLLUP (k, q)", POLICY, dp.approx(1, "0.005"))
    losses = [level.noise.loss for level in plan.levels if level.noise is not None]
    assert losses[0] == plan.loss == dp.approx(1, "0.005")
    assert [loss.epsilon() for loss in losses[1:]] == [0, 0]
    with dp.connect({"t": TABLE}, policy_of({"epsilon": 2, "delta": "0.01"})) as session:
        release = session.sql(plan.sql, dp.approx(1, "0.005"))
        assert session.spent == dp.approx(1, "0.005")
    assert release.to_arrow().to_pylist() == [
        {"k": "b", "q": "p"},
        {"k": "b", "q": None},
        {"k": "a", "q": None},
        {"k": "c", "q": None},
        {"k": None, "q": None},
    ]


def test_private_keys_stay_private_whatever_where_lists() -> None:
    plan = make_plan("SELECT DISTINCT q FROM t WHERE q IN ('p', 'r')", POLICY, dp.approx(1, "0.005"))
    assert plan.levels[0].bounded.count_units
    assert plan.loss == dp.approx(1, "0.005")


SAME = {
    "SELECT DISTINCT k, COUNT(*) AS n FROM t GROUP BY k": "SELECT k, COUNT(*) AS n FROM t GROUP BY k",
    "SELECT DISTINCT COUNT(*) AS n, k, yes FROM t GROUP BY 2, 3": "SELECT COUNT(*) AS n, k, yes FROM t GROUP BY k, yes",
    "SELECT DISTINCT UPPER(k) AS c, SUM(n) FROM t GROUP BY c": "SELECT UPPER(k) AS c, SUM(n) FROM t GROUP BY c",
    "SELECT DISTINCT AVG(n) AS n FROM t": "SELECT AVG(n) AS n FROM t",
    "SELECT DISTINCT k, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY k": (
        "SELECT k, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY k"
    ),
    "SELECT AVG(s) AS a FROM (SELECT DISTINCT u, SUM(n) AS s FROM t GROUP BY u)": (
        "SELECT AVG(s) AS a FROM (SELECT u, SUM(n) AS s FROM t GROUP BY u)"
    ),
}


@pytest.mark.parametrize("query", SAME)
def test_distinct_beside_all_keys_says_nothing(query: str) -> None:
    assert make_plan(query, POLICY).sql == make_plan(SAME[query], POLICY).sql


REFUSED = {
    "SELECT DISTINCT COUNT(*) AS n FROM t GROUP BY k": "write all keys, or leave DISTINCT out",
    "SELECT DISTINCT k, COUNT(*) AS n FROM t GROUP BY k, yes": "write all keys, or leave DISTINCT out",
    "SELECT DISTINCT k, COUNT(*) AS n FROM t GROUP BY ROLLUP (k, yes)": "write all keys, or leave DISTINCT out",
    "SELECT DISTINCT UPPER(k) AS c, COUNT(*) AS n FROM t GROUP BY k": "write all keys, or leave DISTINCT out",
    "SELECT DISTINCT k, COUNT(*) AS n FROM t": "neither in GROUP BY",
    "SELECT DISTINCT RANK() OVER (ORDER BY k) AS r FROM t": "beside a window",
    "SELECT AVG(s) AS a FROM (SELECT DISTINCT SUM(n) AS s FROM t GROUP BY u)": "beside a GROUP BY of other keys",
    "SELECT AVG(s) AS a FROM (SELECT DISTINCT SUM(n) AS s FROM t)": "DISTINCT beside",
    "SELECT k FROM t": "no aggregate",
    "SELECT 'x' AS x FROM t": "no aggregate",
    "SELECT 'x' AS x FROM t GROUP BY 1": "no aggregate",
    "SELECT k FROM t GROUP BY k HAVING n > 1": "neither in GROUP BY",
    "SELECT DISTINCT u FROM t": "says whose a row is",
    "SELECT DISTINCT k FROM t WHERE k = 'no'": "rule out every public value",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused(query: str) -> None:
    with pytest.raises(QueryError, match=REFUSED[query]):
        make_plan(query, POLICY)


def test_keys_alone_have_no_bias_to_buy() -> None:
    with (
        dp.connect({"t": TABLE}, policy_of({"epsilon": 2})) as session,
        pytest.raises(QueryError, match="nothing of the kind"),
    ):
        session.sql("SELECT DISTINCT k FROM t", dp.pure(1), bias=True)
