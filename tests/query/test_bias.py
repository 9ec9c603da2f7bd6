"""What bounds and caps did: estimates against plain Python, what they cost, and where there are none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.privacy import budget_of
from discreet.query import Group, Release, draw, make_plan, plan_with_bias

COLUMNS: dict[str, Any] = {
    "who": {"type": "int"},
    "g": {"type": "string", "keys": ["a", "b"]},
    "x": {"type": "float", "bounds": [-1, 15]},
    "y": {"type": "int", "bounds": [0, 5], "nullable": False},
}
NEARLY_EXACT = dp.pure(10**12)


def policy(**about: Any) -> Policy:
    table = {"unit": "who", "max_rows": 3, "max_groups": 1, "columns": COLUMNS} | about
    other = {"unit": "who", "max_rows": 3, "columns": {"who": {"type": "int"}, "z": {"type": "int", "bounds": [0, 9]}}}
    return load_policy({"version": "1", "budget": {"epsilon": 10**20}, "tables": {"t": table, "u": other}})


def table() -> pa.Table:
    """Rows of people of whom none has more than three but two, with values far out, infinite and missing."""
    rows: list[tuple[Any, ...]] = [(i // 3, "ab"[i % 2], float(i % 40) - 12, i % 8) for i in range(600)]
    rows += [(1000, "a", 3.0, 1)] * 8 + [(1001, "b", 3.0, 2)] * 50
    rows += [
        (2000, "a", float("inf"), 1),
        (2001, "a", None, -(2**40)),
        (2002, "b", float("nan"), 2),
        (2003, "c", -1e300, 0),
    ]
    return pa.table({name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)})


OTHER = pa.table({"who": range(300), "z": [i % 12 for i in range(300)]})


def cut(values: list[float], width: float) -> float:
    """The sum of the largest steps that are below each amount."""
    steps = [width * 2**i / 64 for i in range(10)]
    return sum(max((step for step in steps if step < value), default=0.0) for value in values)


def test_what_bounds_cut_is_counted_and_summed() -> None:
    """Against plain Python, on rows that are all another person's."""
    data, rows = table(), policy(unit="rows", max_rows=None, max_groups=None)
    with dp.connect({"t": data, "u": OTHER}, rows) as session:
        release = session.sql(
            "SELECT g, SUM(x) AS s, COUNT(*) AS n, AVG(y) AS a FROM t WHERE y < 7 GROUP BY g", NEARLY_EXACT, bias=True
        )
    pairs = [(x, y) for x, y in zip(data["x"].to_pylist(), data["y"].to_pylist(), strict=True) if y < 7]
    above = [x - 15 for x, _ in pairs if x is not None and x > 15]
    below = [-1 - x for x, _ in pairs if x is not None and x < -1]
    found = {bias.what: bias for bias in release.bias("s")}
    assert found["rows with x above 15"].estimate == len(above)
    assert found["rows with x below -1"].estimate == len(below)
    assert found["what of x is cut off above 15, summed"].estimate == pytest.approx(cut(above, 16), rel=1e-6)
    assert found["what of x is cut off below -1, summed"].estimate == pytest.approx(cut(below, 16), rel=1e-6)
    assert found["what of x is cut off below -1, summed"].estimate <= sum(below)
    others = {bias.what: bias.estimate for bias in release.bias("a")}
    assert others["rows with y above 5"] == sum(y > 5 for _, y in pairs)
    assert others["rows with y below 0"] == 1
    assert release.bias("n") == ()
    assert all(bias.at_least == bias.what.endswith("summed") and 0 <= bias.error < 1e-3 for bias in found.values())


@pytest.mark.parametrize(
    ("bounds", "above", "below"),
    [
        ([19_000_101, 20_261_231], [20_261_232, 20_270_101], [19_000_100, -(2**63)]),
        ([0, 2**62 + 1], [2**62 + 2, 2**63 - 1], [-1]),
        ([0, 2**63 - 1], [], [-1, -(2**63)]),
    ],
    ids=str,
)
def test_rows_beyond_bounds_of_many_digits_are_counted_exactly(
    bounds: list[int], above: list[int], below: list[int]
) -> None:
    """Not from the bound rounded to a few digits: what lies at a bound is not beyond it, what lies next to it is."""
    facts = policy(unit="rows", max_rows=None, max_groups=None, columns={"x": {"type": "int", "bounds": bounds}})
    with dp.connect({"t": pa.table({"x": [*bounds, *above, *below]}), "u": OTHER}, facts) as session:
        found = session.sql("SELECT SUM(x) AS s FROM t", dp.pure(10_000), bias=True).bias("s")
    assert [bias.what for bias in found][:3:2] == [
        f"rows with x above {bounds[1]:.15g}",
        f"rows with x below {bounds[0]}",
    ]
    assert [bias.estimate for bias in found][::2] == [len(above), len(below)]


@pytest.mark.parametrize("bounds", [(19_000_101, 20_261_231), ("1/3", "5/7"), ("-2/3", "1e99")], ids=str)
def test_what_is_cut_off_is_never_taken_for_more(bounds: tuple[Any, Any]) -> None:
    """The steps of the question that is asked lie no nearer to a bound than what they stand for."""
    lower, upper = map(Fraction, bounds)
    columns = {"x": {"type": "float", "bounds": bounds}}
    facts = policy(unit="rows", max_rows=None, max_groups=None, columns=columns)
    (asked,) = plan_with_bias("SELECT SUM(x) AS s FROM t", facts, dp.pure(1)).bias
    above, below = parse_one(asked.plan.sql, dialect="duckdb").find_all(exp.Case)
    for steps, bound, sign in ((above, upper, 1), (below, lower, -1)):
        assert len(steps.args["ifs"]) == 10
        for step in steps.args["ifs"]:
            beyond, stands_for = (
                Fraction(node.sql().strip("()")) for node in (step.this.expression, step.args["true"])
            )
            assert sign * (beyond - bound) >= stands_for > 0


def test_rows_beyond_the_cap_are_counted() -> None:
    with dp.connect({"t": table(), "u": OTHER}, policy()) as session:
        release = session.sql("SELECT COUNT(*) AS n FROM t", NEARLY_EXACT, bias=True)
        again = Release.from_bytes(release.to_bytes())
    people = Counter(table()["who"].to_pylist())
    (bias,) = release.bias("n")
    assert bias.estimate == sum(min(n, 30) - 3 for n in people.values() if n > 3) == 32
    assert bias.at_least and "beyond the first 3 of each" in bias.what
    assert again.bias("n") == release.bias("n")


@pytest.mark.parametrize(
    "spend",
    [dp.pure(1), dp.approx(1, "1e-6"), dp.rho("0.1"), dp.rho("0.1", "1e-6"), dp.mu(1)],
    ids=["pure", "approx", "rho", "rho-delta", "mu"],
)
def test_estimates_are_a_tenth_of_the_spend(spend: dp.Loss) -> None:
    plan = plan_with_bias("SELECT g, SUM(x) AS s FROM t GROUP BY g", policy(), spend)
    bare = make_plan("SELECT g, SUM(x) AS s FROM t GROUP BY g", policy(), spend)
    assert plan.loss == bare.loss and len(plan.bias) == 2
    whole = budget_of(spend)[1][0]
    losses = [each.plan.loss for each in plan.bias]
    assert [budget_of(loss)[1][0] for loss in losses if loss is not None] == [whole / 20, whole / 20]
    noise = plan.levels[0].noise
    assert noise is not None and budget_of(noise.loss)[1][0] == whole * Fraction(9, 10)


def test_the_ledger_is_charged_once_for_all() -> None:
    with dp.connect({"t": table(), "u": OTHER}, policy()) as session:
        first = session.sql("SELECT SUM(x) AS s FROM t", dp.pure(1), bias=True)
        again = session.sql("SELECT SUM(x) AS s FROM t", dp.pure(1), bias=True)
        assert session.spent == dp.pure(1)
        assert first.to_bytes() == again.to_bytes()
        without = session.sql("SELECT SUM(x) AS s FROM t", dp.pure(1))
        assert session.spent == dp.pure(2) and without.error("s")[0] < first.error("s")[0]
        with pytest.raises(dp.ParameterError, match="bias=True"):
            without.bias("s")
        with pytest.raises(dp.ParameterError, match="no column"):
            first.bias("x")


def test_a_plan_without_bias_is_what_it_was() -> None:
    text = "SELECT SUM(x) AS s FROM t"
    bare, asked = make_plan(text, policy(), dp.pure(1)), plan_with_bias(text, policy(), dp.pure(1))
    assert bare.hash(policy()) != asked.hash(policy())
    assert "Bias, estimated" not in bare.explain()
    told = asked.explain()
    assert "rows with x above 15 ± " in told and "a lower limit; for s" in told
    assert plan_with_bias(text, policy()).loss is None
    with pytest.raises(dp.ParameterError, match="without bias=True"):
        asked.spend_for({"s": 10})


def test_a_column_called_as_a_person_elsewhere_is_no_person() -> None:
    """The rows of a table with a path have no person of their own, whatever their columns are called."""
    tables = {
        "orders": {"unit": "who", "max_rows": 2, "columns": {}},
        "items": {"unit": "order_id -> orders.id", "max_rows": 4, "columns": {k: COLUMNS[k] for k in ("who", "y")}},
    }
    facts = load_policy({"version": "1", "tables": tables})
    (asked,) = plan_with_bias("SELECT SUM(y) AS s FROM items", facts, dp.pure(1)).bias
    assert [part.what for part in asked.parts][::2] == ["rows with y above 5", "rows with y below 0"]


def test_joins_have_bounds_and_private_keys_keep_their_delta() -> None:
    joined = "SELECT SUM(z * y) AS s FROM t JOIN u ON t.who = u.who WHERE z > 1"
    with dp.connect({"t": table(), "u": OTHER}, policy()) as session:
        release = session.sql(joined, NEARLY_EXACT, bias=True)
        whats = [bias.what for bias in release.bias("s")]
        assert "rows with z above 9" in whats and "rows with y above 5" in whats
    plan = plan_with_bias(
        "SELECT CAST(y AS VARCHAR) AS k, SUM(x) AS s FROM t GROUP BY 1", policy(), dp.approx(1, "1e-6")
    )
    assert plan.loss == dp.approx(1, "1e-6")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(total) AS s FROM (SELECT who, SUM(x) AS total FROM t GROUP BY who) AS p",
        "SELECT AVG(v) AS s FROM (SELECT who, x AS v FROM t UNION ALL SELECT who, z FROM u) AS p",
    ],
)
def test_where_nothing_can_be_estimated_it_is_refused(text: str) -> None:
    make_plan(text, policy(), dp.pure(1))
    with pytest.raises(dp.QueryError, match="bias"):
        plan_with_bias(text, policy(), dp.pure(1))


def test_there_is_nothing_to_estimate_for_a_count_of_rows() -> None:
    with pytest.raises(dp.QueryError, match="nothing of the kind"):
        plan_with_bias("SELECT COUNT(*) AS n FROM t", policy(unit="rows", max_rows=None, max_groups=None), dp.pure(1))


@pytest.mark.soak
def test_estimates_are_off_by_their_noise() -> None:
    """400 answers: any of five 95 % bars holds less than 86 % by chance once in 1e11."""
    text, right = "SELECT SUM(x) AS s FROM t", list[float]()
    plan = plan_with_bias(text, policy(), dp.pure(20))
    engine = DuckDB({"t": table(), "u": OTHER}, policy())
    for each in plan.bias:
        (level,) = each.plan.levels
        assert level.noise is not None
        (group,) = engine.run(level.bounded, bytes(16))
        truth = each.plan.finish([[replace(group, units=0)]]).table
        noisy = [draw([Group((), 0, group.sums)], level.bounded, level.noise) for _ in range(400)]
        for name in each.plan.noisy:
            half = each.plan.finish([noisy[0]]).error(name)[0]
            values = np.array([each.plan.finish([one]).table[name][0].as_py() for one in noisy])
            right.append(float(np.mean(np.abs(values - truth[name][0].as_py()) <= half)))
    engine.close()
    assert len(right) == 5 and min(right) >= 0.86
