"""What a plan says, against a golden file; and what it says about errors, against the noise itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.policy import Policy, load_policy
from discreet.privacy import Loss
from discreet.query import assumed, draw, make_plan
from discreet.query.measures._bounded import Group

PLANS = Path(__file__).parent / "golden" / "plans.txt"
PEOPLE = {"unit": "zper", "max_rows": 6, "max_groups": 2}


def blocks() -> Iterator[tuple[str, str]]:
    """The head of a block is a call, as people would write it; the rest is the explanation."""
    for block in PLANS.read_text(encoding="utf-8").split("\n\n=====\n\n"):
        head, _, text = block.strip().partition("\n---\n")
        yield head, text


def explain(head: str, clinic_policy: Any) -> str:
    """Evaluate `[people] [substitute] [rows=n] [spend] | query`."""
    options, _, query = (part.strip() for part in head.partition("|"))
    words = options.split()
    table = PEOPLE if "people" in words else {}
    policy: Policy = clinic_policy(**table)
    if "substitute" in words:
        policy = policy.model_copy(update={"relation": "substitute"})
    rows = next((int(word.removeprefix("rows=")) for word in words if word.startswith("rows=")), None)
    spend = next((SPENDS[word] for word in words if word in SPENDS), None)
    plan = replace(make_plan(query, policy, spend), rows=assumed({"rows": rows} if rows else None)[0])
    return plan.explain()


SPENDS: dict[str, Loss] = {
    "pure(1)": dp.pure(1),
    "pure(0.1)": dp.pure(0.1),
    "approx(1,1e-6)": dp.approx(1, 1e-6),
    "rho(0.5)": dp.rho(0.5),
    "rho(0.01,1e-9)": dp.rho(0.01, 1e-9),
}


@pytest.mark.parametrize(("head", "text"), list(blocks()))
def test_explanations(head: str, text: str, clinic_policy: Any) -> None:
    assert explain(head, clinic_policy) == text


def test_there_are_a_dozen() -> None:
    assert len(list(blocks())) >= 12


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) AS x FROM clinic HAVING x > 10000000",
        "SELECT COUNT(*) AS x FROM clinic LIMIT 0",
        "SELECT plan, COUNT(*) AS x FROM clinic GROUP BY plan HAVING plan = 'gold' ORDER BY x LIMIT 1",
    ],
)
def test_the_planned_error_is_that_of_the_noise_whatever_is_shown(query: str, policy: Policy) -> None:
    plan = make_plan(query, policy, dp.pure(0.1))
    assert plan.error("x", 0.95) == dp.mechanisms.DiscreteLaplace(scale=10).error(0.95)


def test_an_average_needs_an_assumption(policy: Policy) -> None:
    plan = make_plan("SELECT AVG(cost) AS a FROM clinic", policy, dp.pure(1))
    assert plan.error("a") is None
    few, many = (replace(plan, rows=n).error("a") for n in (100, 10_000))
    assert few is not None and many is not None
    assert 50 < few / many < 200


def test_errors_and_assumptions_that_make_no_sense(policy: Policy) -> None:
    plan = make_plan("SELECT plan, COUNT(*) AS n FROM clinic GROUP BY plan", policy, dp.pure(1))
    for level in (0, 1, -1, 2, math.nan, "x", None, True):
        with pytest.raises(dp.ParameterError, match="level"):
            plan.error("n", level)  # type: ignore[arg-type]
        with pytest.raises(dp.ParameterError, match="level"):
            plan.explain(level)  # type: ignore[arg-type]
    with pytest.raises(dp.ParameterError, match="is a key"):
        plan.error("plan")
    with pytest.raises(dp.ParameterError, match="no column m"):
        plan.error("m")
    with pytest.raises(dp.ParameterError, match="spend"):
        make_plan("SELECT COUNT(*) FROM clinic", policy).error("count")
    wrong: list[Any] = [5, 0, "x", "", [("rows", 1)], object(), {"rows": 10**400}, {1: 2}, {"rows": None}]
    for assume in ({"rows": 0}, {"rows": True}, {"rows": 1.5}, {"row": 1}, {"rows": 1, "x": 2}, *wrong):
        with pytest.raises(dp.ParameterError, match="rows"):
            assumed(assume)


def test_a_plan_without_a_spend_has_no_noise(policy: Policy) -> None:
    plan = make_plan("SELECT COUNT(*) FROM clinic", policy)
    assert plan.loss is None
    assert "Give a spend" in plan.explain()


@pytest.mark.parametrize(
    ("spend", "charged"),
    [
        (dp.pure(1), dp.pure(1)),
        (dp.approx(1, 1e-6), dp.pure(1)),
        (dp.rho(1, 1e-6), dp.rho(1)),
        (3 * dp.pure("1/3"), dp.pure(1)),
        (dp.rho("1/2") + dp.rho("1/2"), dp.rho(1)),
    ],
)
def test_a_delta_that_nothing_needs_is_not_charged(spend: Loss, charged: Loss, policy: Policy) -> None:
    assert make_plan("SELECT plan, COUNT(*) FROM clinic GROUP BY plan", policy, spend).loss == charged


def test_a_spend_is_stated_in_one_currency(policy: Policy) -> None:
    for spend in (dp.pure(1) + dp.rho("1/2"), dp.gaussian(1).sampled("0.01"), dp.pure(1).shuffled(1_000)):
        with pytest.raises(dp.ParameterError, match="state a budget or a spend in one currency"):
            make_plan("SELECT plan, COUNT(*) FROM clinic GROUP BY plan", policy, spend)


def test_private_keys_need_a_delta_and_public_ones_do_not(policy: Policy) -> None:
    for spend in (dp.pure(1), dp.rho(1)):
        with pytest.raises(dp.ParameterError, match="city has private keys"):
            make_plan("SELECT city, COUNT(*) FROM clinic GROUP BY city", policy, spend)
        make_plan("SELECT plan, COUNT(*) FROM clinic GROUP BY plan", policy, spend)
    spend = dp.approx(1, 1e-6)
    assert make_plan("SELECT city, COUNT(*) FROM clinic GROUP BY city", policy, spend).loss == spend


SILENT = load_policy(
    {
        "version": "1",
        "tables": {
            "t": {
                "unit": "rows",
                "columns": {"x": {"type": "int", "bounds": [0, 10]}, "k": {"type": "int", "keys": [1]}},
            }
        },
    }
)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "count", "total"),
    [
        ("SELECT COUNT(*) AS v FROM t", 500, 0),
        ("SELECT SUM(x) AS v FROM t", 500, 2_500),
        ("SELECT 2 * COUNT(*) - SUM(x) + 1 AS v FROM t", 500, 2_500),
        ("SELECT AVG(x) AS v FROM t", 500, 2_500),
        ("SELECT SUM(x) / COUNT(*) AS v FROM t", 500, 2_500),
    ],
)
@pytest.mark.parametrize("spend", [dp.pure(1), dp.rho(0.05)])
def test_half_widths_cover(text: str, count: int, total: int, spend: Loss) -> None:
    """2,000 draws, groups of one release. A level of 0.9 is met within 8.5 standard deviations on the low side, plus
    0.02 for the ratios, whose widths are approximate: by Hoeffding the chance of a false alarm is below
    exp(-2 · 2000 · 0.075²) < 2e-10, and the widths may not be more than 10 % too wide either, up to the grid's ties.
    """
    plan = make_plan(text, SILENT, spend)
    assert plan.levels[0].noise is not None
    exact = [_sums(plan, count, total)] * 2_000
    bounded = plan.levels[0].bounded
    released = replace(bounded, keys=())
    noisy = [group for sums in exact for group in draw([Group((), 0, sums)], released, plan.levels[0].noise)]
    answer = plan.finish([noisy])
    truth = plan.finish([[Group((), 0, exact[0])]]).table.column("v").to_pylist()[0]
    values = np.array(answer.table.column("v").to_pylist(), dtype=float)
    half = answer.error("v", 0.9)
    covered = float(np.mean(np.abs(values - truth) <= half))
    assert covered >= 0.9 - 0.075 - (0 if answer.shape("v").linear else 0.02)
    assert covered <= 0.9 + 0.075 + 0.02


def _sums(plan: Any, count: int, total: int) -> tuple[int, ...]:
    sums: list[int] = []
    for measure in plan.levels[0].bounded.measures:
        center = getattr(measure, "center", None)
        sums.append(count if center is None else total - center * count)
    return tuple(sums)


@pytest.mark.parametrize("call", ["J_S_O_N_OBJECT(x)", "J_S_O_N_OBJECT_AGG(x)", "VAR_MAP(x)"])
def test_a_function_that_the_parser_trips_over_is_refused(call: str, policy: Policy) -> None:
    with pytest.raises(dp.QueryError, match="cannot be read"):
        make_plan(f"SELECT COUNT(*) AS n, {call} FROM visits", policy, dp.pure(1))


def test_a_plan_is_shown_in_a_line(policy: Policy) -> None:
    plan = make_plan("SELECT COUNT(*) AS n FROM clinic", policy)
    assert repr(plan) == "<Plan of table Clinic; 1 statistic; no spend>"
    plan = make_plan("SELECT plan, city, COUNT(*), AVG(cost) FROM clinic GROUP BY 1, 2", policy, dp.approx(1.5, 1e-6))
    assert repr(plan) == "<Plan of table Clinic; 2 statistics by plan, city; loss approx(1.5, 1e-06)>"


def test_a_plan_of_any_size_is_shown_in_a_line() -> None:
    names = [f"a_table_{i}" for i in range(15)]
    columns = {f"column_{i}": {"type": "int", "bounds": [0, 9]} for i in range(50)}
    table = {"unit": "who", "max_rows": 1, "columns": columns}
    policy = load_policy({"version": "1", "budget": {"epsilon": 1}, "tables": dict.fromkeys(names, table)})
    items = ", ".join(f"SUM({name}) AS s_{name}" for name in columns)
    rows = " UNION ALL ".join(f"SELECT * FROM {name}" for name in names)
    plan = make_plan(f"SELECT {items} FROM ({rows}) AS u", policy, dp.pure("1/3").group(1))
    assert repr(plan).startswith("<Plan of tables a_table_0, a_table_1, ")
    assert repr(plan).endswith("...; 50 statistics; loss pure(1/3)>")
    assert len(repr(plan)) <= 300
    assert repr(plan).isprintable()


def test_neither_rows_nor_an_earlier_release_are_shown_with_a_plan(policy: Policy) -> None:
    plan = make_plan("SELECT COUNT(*) AS n FROM clinic", policy, dp.pure(1))
    released = plan.finish([[Group((), 0, (987_654,))]])
    assert repr(replace(plan, before=released)) == repr(plan)


def test_a_plan_is_printed_as_a_table(policy: Policy) -> None:
    query = "SELECT plan, city, COUNT(*) AS n, AVG(cost) AS c, MEDIAN(age) AS m FROM clinic GROUP BY plan, city"
    plan = make_plan(query, policy, dp.approx(2, "1e-6"))
    (level,) = plan.levels
    assert level.noise is not None
    pairs = zip(level.noise.mechanisms, level.bounded.measures, strict=True)
    scales = [float(noise.scale * getattr(measure, "step", 1)) for noise, measure in pairs]
    table = plan.table()
    assert table.header == ("column", "is", "noise", "error, 95 %")
    assert table.rows == [
        ("plan", "key, public: 3 values", "none", "none"),
        ("city", "key, private", "threshold", "fewer than 22 people: may be missing"),
        ("n", "number of rows", f"discrete Laplace, scale {scales[0]:,.4g}", f"± {plan.error('n'):,.4g}"),
        (
            "c",
            "average of cost",
            f"discrete Laplace, scale {scales[1]:,.4g} and {scales[2]:,.4g}",
            "depends on the data",
        ),
        ("m", "median of age", "exponential mechanism", f"± {plan.rank_error('m'):,.4g} rows in rank"),
    ]
    assert table.notes == [
        "errors are half-widths of the noise; cost epsilon 2, delta 1e-06",
        'errors that depend on the data: plan with assume={"rows": n}; more in explain()',
    ]
    assert plan.table(0.5).header[-1] == "error, 50 %"
    assert plan.table(0.5).rows[2][-1] == f"± {plan.error('n', 0.5):,.4g}"
    lines = str(plan).splitlines()
    assert [line.split("  ")[1] for line in lines[2:7]] == ["plan", "city", "n", "c", "m"]
    assert lines[-2:] == list(table.notes) and repr(plan) != str(plan)
    assert all(line == line.rstrip() for line in lines)


def test_the_table_of_a_plan_says_what_it_does_not_know(policy: Policy) -> None:
    query = "SELECT plan, COUNT(*) AS n, AVG(cost) AS c FROM clinic GROUP BY plan"
    free = make_plan(query, policy).table()
    assert [row[2:] for row in free.rows] == [("none", "none"), ("", ""), ("", "")]
    assert free.notes == ["no spend yet: plan(query, spend=dp.pure(0.5)) shows noise and errors"]
    known = replace(make_plan(query, policy, dp.rho(1)), rows=1_000)
    assert known.table().rows[2][-1] == f"± ~{known.error('c'):,.4g}"
    assert known.table().rows[1][2].startswith("discrete Gaussian, sigma ")
    assert known.table().notes == ["errors are half-widths of the noise; ~ approximate; cost rho 1"]
    sets = make_plan(
        "SELECT plan, GROUPING(plan) AS g, COUNT(*) AS n FROM clinic GROUP BY ROLLUP (plan)", policy, dp.pure(1)
    )
    assert [row[1:3] for row in sets.table().rows] == [
        ("key, public: 3 values", "none"),
        ("computed from keys", "none"),
        ("number of rows", "its own in each of 2 grouping sets"),
    ]
    assert "in the widest of several sets" in sets.table().notes[0]


def test_a_notebook_shows_a_plan_as_a_table(policy: Policy) -> None:
    name = '"</td><script>x\x1b"'
    html = make_plan(f"SELECT plan, COUNT(*) AS {name} FROM clinic GROUP BY plan", policy, dp.pure(1))._repr_html_()
    assert html.count("<tr>") == 3 and html.endswith("<p>errors are half-widths of the noise; cost epsilon 1</p>")
    assert "<script>" not in html and "&lt;/td&gt;&lt;script&gt;x\\x1b" in html
