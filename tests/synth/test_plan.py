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
    assert shares["columns"] == pytest.approx(float(plan.stages[0].share), rel=1e-6)
    network = float(plan.stages[1].share)
    assert network * (1 - 1e-6) <= shares["network"] <= (network + 0.3 * (tier == "best")) * (1 + 1e-6)
    assert sum(each.share for each in plan.stages) == 1
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
        "Workload: site, age.",
        f"± {plan.half_width(0.9):,} rows at 90 %",
        "Cost: epsilon 1, once; rows are free.",
    ):
        assert each in words
    assert plan.half_width(0.9) < plan.half_width(0.99)
    content = json.loads(json.dumps(plan.to_dict(0.9)))
    assert content["half_width"] == plan.half_width(0.9)
    assert sum(Fraction(each["share"]) for each in content["stages"]) == 1
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
    assert one.candidates == {} and [(each.most, each.share) for each in one.stages] == [(1, 1)]
