"""A plan of a fit: free, from public terms alone, and kept by the fit."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.errors import ParameterError, QueryError
from discreet.policy import load_policy

BUDGETS = {"pure": {"epsilon": 9}, "approx": {"epsilon": 9, "delta": "1e-3"}, "rho": {"rho": 9}, "mu": {"mu": 9}}
SPENDS = {"pure": dp.pure(2), "approx": dp.approx(2, "1e-6"), "rho": dp.rho("0.5"), "mu": dp.mu(1)}


def policy(budget: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "version": "1",
        "budget": budget,
        "tables": {
            "t": {
                "unit": "person",
                "max_rows": 3,
                "columns": {
                    "site": {"type": "string", "keys": ["a", "b", "c"], "nullable": False},
                    "age": {"type": "int", "bounds": [0, 99]},
                    "cost": {"type": "float", "bounds": [0, 10], "nullable": False},
                    "member": {"type": "bool", "nullable": False},
                    "note": {"type": "string"},
                },
            }
        },
        **more,
    }


NAMES = ["site", "age", "cost", "member"]


def people(rows: int = 3_000) -> pa.Table:
    return pa.table(
        {
            "person": [i // 2 for i in range(rows)],
            "site": ["abc"[i % 3] for i in range(rows)],
            "age": [None if i % 50 == 0 else i % 90 for i in range(rows)],
            "cost": [float(i % 11) for i in range(rows)],
            "member": [i % 90 > 40 for i in range(rows)],
            "note": [None] * rows,
        }
    )


@pytest.mark.parametrize("tier", ["instant", "best"])
@pytest.mark.parametrize("kind", BUDGETS)
def test_the_fit_does_what_the_plan_says(kind: str, tier: Any) -> None:
    options: dict[str, Any] = {"columns": NAMES, "cells": {"cost": 8}, "target": "member", "tier": tier}
    with dp.connect({"t": people()}, policy(BUDGETS[kind])) as session:
        plan = synth.plan(session, "t", SPENDS[kind], **options)
        assert session.remaining == load_policy(policy(BUDGETS[kind])).budget.loss()  # pyright: ignore[reportOptionalMemberAccess]
        table = synth.fit(session, "t", SPENDS[kind], **options)
    assert [each.mechanism for each in table.measured[:4]] == [plan.noise] * 4
    assert plan.columns == table.columns
    shares = table.report().stages()
    for name, stage in {"columns": plan.stages[0], "network": plan.stages[1]}.items():
        least, most = float(stage.least_share), float(stage.most_share)
        assert least * (1 - 1e-6) <= shares[name] <= most * (1 + 1e-6), name
    assert plan.stages[0].least_share == plan.stages[0].most_share
    alone, network, *rounds_too = plan.stages
    assert alone.least_share + network.least_share + sum(each.most_share for each in rounds_too) == 1
    assert alone.least_share + network.most_share + sum(each.least_share for each in rounds_too) == 1
    pairs = {each.clique for each in table.measured if len(each.clique) == 2}
    rounds = [name for name in shares if name.startswith("round")]
    assert len(pairs) <= plan.stages[1].most + len(rounds)
    assert len(rounds) <= (plan.stages[2].most if tier == "best" else 0)
    assert plan.half_width() == plan.noise.error(0.95)
    assert (plan.unit, plan.relation, plan.rows_per_unit) == ("person", "add_remove", 3)


@pytest.mark.parametrize("spend", [dp.rho(2), dp.rho("0.01"), dp.rho("1/30000")])
@pytest.mark.parametrize("target", [None, "site"])
def test_no_fit_has_more_rounds_than_planned(spend: Any, target: str | None) -> None:
    with dp.connect({"t": people()}, policy({"rho": 9})) as session:
        plan = synth.plan(session, "t", spend, columns=NAMES, target=target)
        stages = synth.fit(session, "t", spend, columns=NAMES, target=target).report().stages()
    rounds = [name for name in stages if name.startswith("round")]
    assert 1 <= len(rounds) <= plan.stages[-1].most


def test_a_plan_is_the_same_for_every_source() -> None:
    rows = people()
    ages = pa.array([0] * 3_000, pa.int64())
    other = rows.set_column(rows.schema.get_field_index("age"), "age", ages).slice(0, 7)
    plans: list[Any] = []
    for source in (rows, other):
        with dp.connect({"t": source}, policy({"rho": 9})) as session:
            plans.append(synth.plan(session, "t", dp.rho(1), columns=NAMES))
    assert plans[0] == plans[1]
    alone = synth.plan_question(synth.Synthesize("t", dp.rho(1), columns=NAMES), load_policy(policy({"rho": 9})))
    assert alone == plans[0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"table": "nowhere"}, QueryError, "nowhere"),
        ({"columns": ["price"]}, QueryError, "price"),
        ({"columns": ["person"]}, QueryError, "no column person"),
        ({"columns": ["note"]}, QueryError, "keys"),
        ({"columns": ["site"], "cells": {"site": 3}}, ParameterError, "public keys"),
        ({"columns": ["site"], "target": "age"}, QueryError, "age"),
        ({"columns": NAMES, "workload": ["site"]}, ParameterError, "list of marginals"),
        ({"columns": NAMES, "tier": "slow"}, ParameterError, "tier"),
        ({"columns": NAMES, "spend": dp.pure("1/1" + "0" * 30)}, ParameterError, "too small to measure"),
        ({"columns": NAMES, "spend": 1}, ParameterError, "spend must be a loss"),
    ],
)
def test_plan_and_fit_refuse_alike_and_charge_nothing(options: dict[str, Any], error: Any, words: str) -> None:
    arguments = {"table": "t", "spend": dp.pure(1), **options}
    messages = set[str]()
    with dp.connect({"t": people(10)}, policy({"epsilon": 9})) as session:
        for ask in (synth.plan, synth.fit):
            with pytest.raises(error, match=words) as caught:
                ask(session, **arguments)
            messages.add(str(caught.value))
        assert session.remaining == dp.pure(9)
    assert len(messages) == 1


def test_it_explains_itself() -> None:
    terms = load_policy(policy({"epsilon": 9}, relation="substitute"))
    question = synth.Synthesize("t", dp.pure(1), "best", NAMES, {"cost": 8}, "member", [("site", "age")])
    plan = synth.plan_question(question, terms)
    words = plan.explain(0.9)
    for each in (
        "a person is a value of person; neighbours differ by replacing the rows of one person",
        "at most 3 rows of one person count",
        "site    string, 3 values: a, b, c",
        "and null: 0 to 99",
        "Target: what member has to do with each other column is measured first.",
        "Workload: site, age, counted 4 times.",
        f"± {plan.half_width(0.9):,} rows at 90 %",
        "Cost: epsilon 1, once; rows are free.",
    ):
        assert each in words
    assert plan.half_width(0.9) < plan.half_width(0.99)
    content = json.loads(json.dumps(plan.to_dict(0.9)))
    assert content["half_width"] == plan.half_width(0.9)
    columns_alone, network, rounds = (list(map(Fraction, each["shares"])) for each in content["stages"])
    assert columns_alone[0] + network[0] + rounds[1] == columns_alone[1] + network[1] + rounds[0] == 1
    assert [each["cells"] for each in content["columns"]] == [3, 34, 9, 2]
    assert "± " in str(plan) and "<table>" in plan._repr_html_()
    for level in (0, 1, "x", None):
        with pytest.raises(ParameterError, match="level"):
            plan.half_width(level)  # pyright: ignore[reportArgumentType]


def test_a_plan_counts_the_choices_over_public_cells() -> None:
    terms = load_policy(policy({"epsilon": 9}))
    plain = synth.plan_question(synth.Synthesize("t", dp.pure(1), "best", NAMES), terms)
    targeted = synth.plan_question(synth.Synthesize("t", dp.pure(1), "best", NAMES, target="site"), terms)
    one = synth.plan_question(synth.Synthesize("t", dp.pure(1), "best", ["site"]), terms)
    assert plain.candidates == {2: 6}
    assert targeted.candidates == {2: 6, 3: 3, 4: 1}
    assert one.candidates == {} and [(each.most, each.least_share) for each in one.stages] == [(1, 1)]


def test_keys_that_nobody_listed_come_first() -> None:
    spend = dp.approx(2, "1e-5")
    rows = people().set_column(5, "note", pa.array([["yes", "no"][i // 2 % 2] for i in range(3_000)]))
    with dp.connect({"t": rows}, policy(BUDGETS["approx"])) as session:
        plan = synth.plan(session, "t", spend)
        table = synth.fit(session, "t", spend)
    assert plan.discovered == ("note",) and plan.candidates == {2: 6}
    assert (plan.stages[0].name, plan.stages[0].most) == ("keys that nobody listed", 1)
    report = table.report()
    assert report.stages()["keys"] == pytest.approx(float(plan.stages[0].most_share))
    assert report.stages()["columns"] == pytest.approx(float(plan.stages[1].most_share))
    assert sum(each.share for each in report.steps) == pytest.approx(1, abs=1e-5)
    assert (report.steps[0].columns, report.steps[0].verb) == (("note",), "discovered")
    assert "note    string: values that enough people have, to be discovered" in plan.explain()
    assert table.policy()["tables"]["t"]["columns"]["note"]["keys"] == ["no", "yes"]
