"""Marginals through a session: right, charged first, as planned, stored, verified and refused."""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet import census
from discreet.census.marginal_tables._measurement import measured_norms
from discreet.errors import BudgetExceeded, DiscreetError, LedgerError, ParameterError, QueryError
from discreet.policy import load_policy
from discreet.release import ReleaseContext, Terms, parse_release_file, recompute_loss, verify_loss

sys.path.append(str(Path(__file__).parents[1] / "synth"))

from replay import check_given, check_same, run
from synth_neighbours import policy_of, some_pair, some_rows, table_of

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = {
    "age": {"type": "int", "bounds": [0, 3], "nullable": False},
    "sex": {"type": "string", "keys": ["F", "M"], "nullable": False},
    "job": {"type": "string", "keys": ["none", "part", "full"]},
    "one": {"type": "string", "keys": ["same"], "nullable": False},
    "name": {"type": "string"},
}
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 1000},
    "tables": {"people": {"unit": "rows", "columns": COLUMNS}},
}
SPENDS = {"pure": dp.pure(4), "approx": dp.approx(4, "1e-6"), "rho": dp.rho(2), "mu": dp.mu(2)}
BUDGETS = {"pure": {"epsilon": 9}, "approx": {"epsilon": 9, "delta": "1e-5"}, "rho": {"rho": 9}, "mu": {"mu": 9}}
FOUR = ["age", "sex", "job", "one"]


def people(rows: int = 1000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({
        "age": rng.integers(0, 4, rows),
        "sex": rng.choice(["F", "M"], rows),
        "job": pa.array([None if i == 3 else ["none", "part", "full"][i] for i in rng.integers(0, 4, rows).tolist()]),
        "one": ["same"] * rows,
        "name": ["x"] * rows,
    })  # fmt: skip


def prepared(spend: dp.Loss, counts: np.ndarray, **asked: Any) -> Any:
    """A question over columns of as many values as the axes of these counts, and a context that counts them."""
    columns = {f"c{i}": {"type": "int", "bounds": [1, n], "nullable": False} for i, n in enumerate(counts.shape)}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    ready = census.PublishMarginals("t", spend, **asked).prepare(Terms.of_policy(policy))

    def counted(request: Any, salt: bytes) -> Any:
        return [counts.sum(axis=tuple(set(range(counts.ndim)) - set(each))) for each in request.sets]

    def unasked(*_: Any) -> Any:
        raise NotImplementedError

    return ready, ReleaseContext(ready.policy, unasked, counted, dict)


@pytest.mark.parametrize("currency", list(SPENDS))
def test_with_hardly_any_noise_every_table_is_the_count(currency) -> None:
    """Columns in any order, also one of a single cell, and nulls, in every currency."""
    spend = {"pure": dp.pure(10**6), "approx": dp.approx(10**4, "1e-9"), "rho": dp.rho(10**9), "mu": dp.mu(10**5)}
    table = people(300)
    with dp.connect({"people": table}, {**POLICY, "budget": {"rho": 10**10, "delta": "1e-6"}}) as session:
        asked = {"ways": 3, "columns": FOUR}
        if currency == "pure":
            policy = {**POLICY, "budget": {"epsilon": 10**7}}
            with dp.connect({"people": table}, policy) as pure:
                tables = census.marginals(pure, "people", spend[currency], **asked)
        elif currency in ("mu", "approx"):
            budget = {"mu": 10**6} if currency == "mu" else {"epsilon": 10**5, "delta": "1e-6"}
            with dp.connect({"people": table}, {**POLICY, "budget": budget}) as other:
                tables = census.marginals(other, "people", spend[currency], **asked)
        else:
            tables = census.marginals(session, "people", spend[currency], **asked)
    rows = table.to_pylist()
    assert len(tables.marginals) == 1 + 4 + 6 + 4
    for names in ((), ("job",), ("sex", "age"), ("one", "job", "sex"), ("JOB", "age", "sex")):
        made = tables.table(*names)
        proper = [name.lower() for name in names]
        assert made.column_names == [*proper, "value", "unbiased", "standard_error", "lower", "upper"]
        for cell in made.to_pylist():
            exact = sum(all(str(row[name] or "null" if name == "job" else row[name]) == cell[name] for name in proper)
                        for row in rows)  # fmt: skip
            assert cell["unbiased"] == pytest.approx(exact, abs=0.5)
            assert cell["value"] == pytest.approx(exact, abs=0.5)
            assert cell["lower"] <= cell["unbiased"] <= cell["upper"]
        assert made["value"].to_numpy().sum() == pytest.approx(300, abs=1)
    total = tables.total({"sex": "F", "job": ["none", "null"]})
    women = sum(r["sex"] == "F" and r["job"] in ("none", None) for r in rows)
    assert total.value == pytest.approx(women, abs=0.5) == total.unbiased
    assert dict(tables.tables())["age", "sex", "job"].num_rows == 32


@pytest.mark.parametrize("minimize", ["sum", "largest"])
@pytest.mark.parametrize("currency", list(SPENDS))
def test_tables_add_up_and_have_the_planned_errors(currency, minimize) -> None:
    with dp.connect({"people": people()}, {**POLICY, "budget": BUDGETS[currency]}) as session:
        asked: dict[str, Any] = {"ways": 2, "columns": FOUR[:3], "minimize": minimize}
        plan = census.plan_marginals(session, "people", SPENDS[currency], **asked)
        before = session.spent
        tables = census.marginals(session, "people", SPENDS[currency], **asked)
        assert before != session.spent
    for names, table in tables.tables():
        assert table["standard_error"][0].as_py() == plan.standard_error(*names) == tables.standard_error(*names)
        half = (table["upper"].to_numpy() - table["lower"].to_numpy()) / 2
        assert half == pytest.approx(plan.error(*names), rel=1e-9)
        for each in ("value", "unbiased"):
            assert table[each].to_numpy().sum() == pytest.approx(tables.table()[each][0].as_py(), abs=1e-6)
    for each in ("value", "unbiased"):
        wide = tables.table("sex", "job")[each].to_numpy().reshape(2, 4)
        assert wide.sum(axis=1) == pytest.approx(tables.table("sex")[each].to_numpy(), abs=1e-6)
    if currency == "pure":
        assert plan.least is None
    else:
        # Discrete noise of a step or so varies a little less than continuous noise; rounded noise 1/12 more.
        assert 1 - 1e-6 < plan.objective / plan.least < 1 + (1e-9 if currency == "rho" else 0.12)
    assert "times the least" in plan.explain() or currency == "pure"
    assert json.loads(json.dumps(plan.to_dict()))["minimized"] == minimize
    assert "half-width" in str(plan) and "total" in str(tables)


@pytest.mark.parametrize("spend", [dp.pure(2), dp.rho("0.05"), dp.rho(4), dp.mu(1), dp.approx(1, "1e-6")], ids=str)
@pytest.mark.parametrize("runs", [200, pytest.param(20_000, marks=pytest.mark.soak)])
def test_estimates_are_unbiased_and_intervals_cover(spend, runs) -> None:
    """Means, variances and coverage of all cells of a table, and of a sum of cells.

    Means are within 7 standard errors and variances, whose laws are skewed, within 9; coverage is a binomial count.
    """
    counts = np.arange(12).reshape(2, 3, 2) * 7
    ready, context = prepared(spend, counts, ways=2)
    exact, some = counts.sum(axis=2).ravel(), counts[0, :, 1].sum()
    values, covered, totals = [], [], []
    for _ in range(runs):
        tables = ready.answer(context)
        cells = tables.table("c0", "c1", fit=False)
        values.append(cells["unbiased"].to_numpy())
        covered.append((cells["lower"].to_numpy() <= exact) & (exact <= cells["upper"].to_numpy()))
        total = tables.total({"c0": "1", "c2": "2"})
        totals.append(((total.unbiased - some) / total.standard_error, total.lower <= some <= total.upper))
    variance = ready.measurements.of_cells((0, 1))[0]
    assert np.abs(np.mean(values, axis=0) - exact).max() < 7 * math.sqrt(variance / runs)
    heavy = 2.5 if ready.measurements.form == "cells" else 1
    deviations = np.array([each for each, _ in totals])
    for measured, stated in ((np.var(values, axis=0).mean(), variance), (deviations.var(), 1)):
        assert abs(measured / stated - 1) < 9 * math.sqrt(2 * heavy / runs)
    for part in (np.array(covered), np.array([each for _, each in totals])):
        assert part.mean() * runs >= stats.binom.ppf(1e-10, runs, 0.95)


def test_it_is_charged_before_it_is_counted_and_free_again() -> None:
    with dp.connect({"people": people()}, POLICY) as session:
        first = census.marginals(session, "people", dp.rho(1), columns=FOUR)
        spent = session.spent
        again = census.marginals(session, "people", dp.rho(1), columns=FOUR)
        assert spent == session.spent == dp.rho(1)
        assert first.to_bytes() == again.to_bytes()
        census.marginals(session, "people", dp.rho(1), columns=FOUR, minimize="largest")
        assert session.spent == dp.rho(2)

        def broken(*_: Any) -> Any:
            raise RuntimeError("the engine is gone")

        session._engine.count_marginals = broken  # type: ignore[method-assign]
        with pytest.raises((RuntimeError, DiscreetError)):
            census.marginals(session, "people", dp.rho(3), columns=FOUR)
        assert session.spent == dp.rho(5)
        with pytest.raises(BudgetExceeded):
            census.marginals(session, "people", dp.rho(2000), columns=FOUR)


@pytest.mark.parametrize("currency", list(SPENDS))
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_the_certificate_is_verified_and_every_lie_in_it_is_seen(currency, relation, tmp_path) -> None:
    policy = {**POLICY, "relation": relation, "budget": BUDGETS[currency]}
    with dp.connect({"people": people()}, policy) as session:
        tables = census.marginals(session, "people", SPENDS[currency], columns=FOUR)
    path = tmp_path / "tables.json"
    tables.save(path)
    assert census.load_marginals(path).to_bytes() == tables.to_bytes()
    checks = {check.name: check.result for check in dp.ledger.verify_release(parse_release_file(path.read_bytes()))}
    assert checks == {"signature": "good", "signer": "not checked", "answer": "good", "loss": "good"}
    certificate = json.loads(json.dumps(tables.certificate))
    assert verify_loss(certificate) is None
    lost = recompute_loss(certificate)
    assert lost.fits(SPENDS[currency])
    name = "scale" if currency == "pure" else "sigma"
    for change in (
        lambda c: c["measured"][0].update({name: "1/8"}),
        lambda c: c.update(rows_per_unit=2),
        lambda c: c["measured"].append(dict(c["measured"][0])),
        lambda c: c["measured"].append(dict(c["measured"][-1])),
        lambda c: c["sizes"].update({"sex": 2000}) if currency != "pure" else c.update(rows_per_unit=3),
    ):
        lie = json.loads(json.dumps(certificate))
        change(lie)
        with pytest.raises(LedgerError, match="costs more"):
            verify_loss(lie)
    for change in (
        lambda c: c.pop("sizes"),
        lambda c: c.update(form="sums"),
        lambda c: c.update(currency="nats"),
        lambda c: c.update(measured=[]),
        lambda c: c["sizes"].update(sex="many"),
        lambda c: c["measured"][-1].update(columns=["sex", "sex"]),
        lambda c: c["measured"][-1].update(columns=["height"]),
        lambda c: c["measured"][-1].update(mechanism="None"),
        lambda c: c.update(relation="friends"),
    ):
        lie = json.loads(json.dumps(certificate))
        change(lie)
        with pytest.raises(LedgerError):
            recompute_loss(lie)


@pytest.mark.parametrize("change", [
    lambda c: c.pop("wanted"), lambda c: c.update(form="x"), lambda c: c["measured"].pop(), lambda c: c["noise"].pop(),
    lambda c: c["measured"].__setitem__(0, ["i1", "!!"]), lambda c: c["measured"].__setitem__(0, ["i9", ""]),
    lambda c: c["measured"].__setitem__(1, c["measured"][-1]), lambda c: c["wanted"]["marginals"].append([9]),
    lambda c: c["wanted"].update(minimized="least"), lambda c: c["wanted"].update(weights=[]),
    lambda c: c.update(table=3), lambda c: c["noise"].__setitem__(0, {}),
])  # fmt: skip
def test_what_is_no_set_of_marginals_is_not_read(change) -> None:
    with dp.connect({"people": people(50)}, POLICY) as session:
        stored = json.loads(census.marginals(session, "people", dp.rho(1), columns=FOUR[:3]).to_bytes())
    change(stored)
    with pytest.raises(LedgerError, match="cannot be read"):
        census.MarginalTables.from_bytes(json.dumps(stored).encode())


@pytest.mark.parametrize(("asked", "error", "words"), [
    ({"table": "persons"}, QueryError, "persons"),
    ({"table": None}, QueryError, "name a table"),
    ({"spend": 1}, ParameterError, "spend"),
    ({"spend": dp.rho("1e-30")}, ParameterError, "small"),
    ({"columns": ["age", "height"]}, QueryError, "height"),
    ({"columns": "age"}, ParameterError, "list of names"),
    ({"columns": []}, QueryError, "no column"),
    ({"columns": None}, QueryError, "name is text without public keys"),
    ({"ways": 0}, ParameterError, "ways"),
    ({"ways": 5}, ParameterError, "ways"),
    ({"ways": True}, ParameterError, "ways"),
    ({"ways": "age"}, ParameterError, "ways"),
    ({"ways": []}, ParameterError, "at least one"),
    ({"ways": ["age"]}, ParameterError, "list of columns"),
    ({"ways": [("age", "age")]}, ParameterError, "once"),
    ({"ways": [("age", "height")]}, QueryError, "height"),
    ({"ways": {("age",): 0}}, ParameterError, "weight"),
    ({"ways": {("age",): "much"}}, ParameterError, "weight"),
    ({"minimize": "mean"}, ParameterError, "minimize"),
    ({"cells": {"name": 3}}, ParameterError, "name"),
    ({"cells": {"sex": 3}}, ParameterError, "keys"),
])  # fmt: skip
def test_what_cannot_be_published_is_refused_and_nothing_is_spent(asked, error, words) -> None:
    asked = {"table": "people", "spend": dp.rho(1), "columns": FOUR, **asked}
    with dp.connect({"people": people(10)}, POLICY) as session:
        for ask in (census.plan_marginals, census.marginals):
            given = dict(asked)
            with pytest.raises(error, match=words):
                ask(session, given.pop("table"), **given)
        assert session.remaining == dp.rho(1000)


def test_more_cells_than_are_held_are_refused() -> None:
    columns = {f"c{i}": {"type": "int", "bounds": [1, 5000], "nullable": False} for i in range(3)}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    question = census.PublishMarginals("t", dp.rho(1), 3, cells=dict.fromkeys(columns, 5000))
    with pytest.raises(QueryError, match="cells"):
        census.plan_marginals_question(question, policy)


@pytest.mark.parametrize("asked", [{"names": ("age", "sex", "job")}, {"names": ("age", "age")}, {"names": ("height",)}])
def test_tables_that_were_not_asked_for_are_refused(asked) -> None:
    with dp.connect({"people": people(50)}, POLICY) as session:
        tables = census.marginals(session, "people", dp.rho(1), columns=FOUR[:3], ways=[("age", "sex"), ("job",)])
    with pytest.raises(QueryError):
        tables.table(*asked["names"])
    with pytest.raises(QueryError, match="no cell"):
        tables.total({"age": "12"})
    for confidence in (0, 1, "x"):
        with pytest.raises(ParameterError, match="confidence"):
            tables.table("age", confidence=confidence)  # type: ignore[arg-type]


def test_what_weighs_more_is_measured_better() -> None:
    policy = load_policy(POLICY)
    errors = []
    for weight in (1, 100):
        question = census.PublishMarginals("people", dp.rho(1), {("age", "sex"): 1, ("job",): weight})
        plan = census.plan_marginals_question(replace(question, columns=FOUR), policy)
        errors.append((plan.standard_error("age", "sex"), plan.standard_error("job")))
    assert errors[0][0] < errors[1][0]
    assert errors[0][1] > errors[1][1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("currency", list(SPENDS))
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_same_outputs_make_the_same_tables_of_any_rows(relation, currency, max_rows) -> None:
    """Replayed on a neighbour and on strangers; on the neighbour all integers together move by no more than is paid."""
    dice = random.Random(f"{relation} {currency} {max_rows}")
    policy = policy_of(relation, max_rows, BUDGETS[currency])

    def ask(session: dp.Session) -> Any:
        return census.marginals(session, "t", SPENDS[currency], cells={"d": 4})

    for _ in range(3):
        one, other = some_pair(dice, relation, people=12)
        strangers = [row for person in range(5) for row in some_rows(dice, 0, person, most=40)]
        first = run(ask, {"t": table_of(one)}, policy)
        check_given(first)
        for rows in (other, strangers):
            again = run(ask, {"t": table_of(rows)}, policy, first)
            check_same(first, again)
            check_given(again)
            if rows is other:
                assert moved(first, again) <= allowed(SPENDS[currency]) * (1 + Fraction(1, 10**9))
        assert len({salt for _, salt in first.requests}) == 1 == len(first.requests)


def moved(first: Any, again: Any) -> Fraction:
    """What the noise that ran loses between two tables: ε, or μ²."""
    total = Fraction(0)
    for one, two in zip(first.drawn, again.drawn, strict=True):
        apart = [abs(a - b) for a, b in zip(one.given, two.given, strict=True)]
        if hasattr(one.mechanism, "scale"):
            total += sum(apart) / one.mechanism.scale
        else:
            total += sum(each * each for each in apart) / one.mechanism.sigma**2
    return total


def allowed(spend: dp.Loss) -> Fraction:
    if spend == SPENDS["rho"]:
        return Fraction(4)
    if spend == SPENDS["approx"]:
        return 1 / dp.mechanisms.Gaussian.calibrate(spend, 1).sigma ** 2
    return Fraction(4)


def test_the_norms_of_cells_are_those_of_counts() -> None:
    assert measured_norms("cells", (2, 3), 3, "substitute").l2_squared == 18
    assert measured_norms("cells", (), 3, "substitute").l1 == 3
