"""The plan, report, files and policy of people with all their rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.datasets import rand
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.policy import load_policy

pytestmark = pytest.mark.usefixtures("one_database")
HISTORY = synth.History(order="year", constant=["coinsurance"], along=["age"], repeats=False)
SPEND = dp.approx(1, "1e-9")


@pytest.fixture(scope="module")
def model() -> synth.SyntheticTables:
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        return synth.fit_tables(session, ["visits"], SPEND, tier="instant", histories={"visits": HISTORY})


def test_a_plan_is_free_and_says_what_is_charged() -> None:
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        before = session.remaining
        plan = synth.plan_tables(session, ["visits"], SPEND, histories={"visits": HISTORY})
        assert session.remaining == before
    assert [part.name for part in plan.parts] == ["visits: first rows", "visits: next rows"]
    assert sum(part.share for part in plan.parts) == 1
    assert plan.parts[0].given == () and "rows of visits" in plan.parts[0].columns
    assert "coinsurance" in plan.parts[1].given and "step of year" in plan.parts[1].columns
    assert all(plan.half_widths(0.5)[name] < half for name, half in plan.half_widths(0.99).items())
    assert json.loads(json.dumps(plan.to_dict()))["parts"][0]["half_width"] == plan.half_widths()["visits: first rows"]
    assert "epsilon 1, delta 1e-09" in str(plan) and "epsilon 1, delta 1e-09" in plan.explain()
    assert "<table>" in plan._repr_html_()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ParameterError, match="level"):
        plan.half_widths(1)


def test_the_first_noise_is_at_most_what_was_planned(model: synth.SyntheticTables) -> None:
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        plan = synth.plan_tables(session, ["visits"], SPEND, tier="instant", histories={"visits": HISTORY})
    for part, report in zip(plan.parts, model.report().values(), strict=True):
        singles = [each for each in report.marginals if len(each.columns) == 1]
        assert singles and all(each.std <= part.noise.std for each in singles)


@pytest.mark.parametrize("wrong", [{"tier": "fast"}, {"columns": {"visits": ["height"]}}, {"links": {"visits.x": "y"}}])
def test_plans_are_refused_where_fits_are(wrong: dict[str, Any]) -> None:
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        before = session.remaining
        with pytest.raises((QueryError, ParameterError)) as planned:
            synth.plan_tables(session, ["visits"], SPEND, **wrong)
        with pytest.raises(type(planned.value)) as refused:
            synth.fit_tables(session, ["visits"], SPEND, **wrong)
        assert str(planned.value) == str(refused.value) and session.remaining == before


def test_reports_of_all_parts_share_one_spend(model: synth.SyntheticTables) -> None:
    reports = model.report()
    assert list(reports) == ["visits: first rows", "visits: next rows"]
    assert sum(sum(each.stages().values()) for each in reports.values()) == pytest.approx(1, abs=1e-6)
    assert all(each.loss == SPEND for each in reports.values())
    for part, fit in zip(model.parts, model.fits, strict=True):
        measured = {tuple(fit.columns[i].name for i in each.clique) for each in fit.measured}
        assert {each.columns for each in reports[part.name].marginals} == measured


def test_a_report_of_another_certificate_is_refused(model: synth.SyntheticTables) -> None:
    parts = model.certificate["parts"]
    for wrong in ({"parts": parts[:1]}, {"parts": []}, {"parts": [1, 2]}, {"currency": "gold"}, {"parts": None}):
        with pytest.raises(LedgerError):
            replace(model, certificate={**model.certificate, **wrong}).report()


def test_pictures_are_of_one_part(model: synth.SyntheticTables) -> None:
    for what in ("marginals", "errors", "budget"):
        drawn = model.to_vega_lite("visits: next rows", what)
        assert "visits: next rows" in json.dumps(drawn)
    some = json.dumps(model.to_vega_lite("visits: first rows", "marginals", ["dollars"]))
    assert "dollars" in some and "coinsurance" not in some
    with pytest.raises(ParameterError, match="parts are visits: first rows, visits: next rows"):
        model.to_vega_lite("visits")
    with pytest.raises(QueryError, match="height"):
        model.to_vega_lite("visits: first rows", "marginals", ["height"])


def test_files_say_which_door_reads_them(model: synth.SyntheticTables, tmp_path: Path) -> None:
    model.save(tmp_path / "people.synth")
    again = synth.load_tables(tmp_path / "people.synth")
    assert again.digest() == model.digest() and again.sample(50)["visits"].equals(model.sample(50)["visits"])
    with pytest.raises(LedgerError, match="load_tables reads it"):
        synth.load(tmp_path / "people.synth")
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        synth.fit(session, "visits", dp.pure(1), columns=["year"], tier="instant").save(tmp_path / "rows.synth")
        session.sql("SELECT COUNT(*) AS n FROM visits", spend=dp.pure("0.1")).save(tmp_path / "n.release")
    with pytest.raises(LedgerError, match=r"synth\.load reads it"):
        synth.load_tables(tmp_path / "rows.synth")
    for door in (synth.load, synth.load_tables):
        with pytest.raises(LedgerError, match="no synthetic table, but a Release"):
            door(tmp_path / "n.release")


def test_the_policy_of_sampled_tables_is_public_and_connects(model: synth.SyntheticTables) -> None:
    rows, policy = model.sample(200), model.policy()
    assert policy["tables"]["visits"]["public"] is True
    assert list(policy["tables"]["visits"]["columns"]) == rows["visits"].column_names
    declared = load_policy(policy).tables["visits"].columns
    assert declared["person"].type == "int" and not declared["person"].nullable


def test_tables_are_written_or_nothing_is(model: synth.SyntheticTables, tmp_path: Path) -> None:
    tables = {"a": pa.table({"n": [1, 2]}), "b": pa.table({"m": ["x"]})}
    synth.write_tables(tables, tmp_path / "new" / "folder")
    synth.write_tables(tables, tmp_path / "rows.duckdb")
    with duckdb.connect(str(tmp_path / "rows.duckdb"), read_only=True) as database:
        assert database.execute("SELECT n FROM a").fetchall() == [(1,), (2,)]
    for place in ("new/folder", "rows.duckdb", "rows.csv"):
        with pytest.raises(ParameterError):
            synth.write_tables(tables, tmp_path / place)
    for name in ("../c", "", "..", "a/b"):
        with pytest.raises(ParameterError, match="no name of a file"):
            synth.write_tables({name: tables["a"]}, tmp_path / "other")
        assert not (tmp_path / "other").exists() and not (tmp_path / "c.parquet").exists()
