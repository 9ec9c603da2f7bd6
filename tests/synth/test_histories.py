"""Histories: people with all their rows, each on the condition of the one before, on one spend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet import synth
from discreet.datasets import rand
from discreet.errors import BudgetExceeded, LedgerError, ParameterError, QueryError
from discreet.ledger import verify_release
from discreet.policy import load_policy
from discreet.privacy import Loss
from discreet.release import parse_release_file
from discreet.synth.related._verify import recompute_tables_loss, verify_tables_loss

pytestmark = pytest.mark.usefixtures("one_database")
HISTORY = synth.History(order="year", constant=["coinsurance", "female"], along=["age"], repeats=False)
SPEND = dp.approx(1, "1e-9")
PEOPLE = 300
COLUMNS: dict[str, Any] = {
    "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
    "site": {"type": "string", "keys": ["a", "b"], "nullable": False},
    "cost": {"type": "float", "bounds": [0, 100]},
    "well": {"type": "bool"},
}


def visits(rows: int = 4) -> pa.Table:
    """People who mostly stay well or unwell, at a site of their own."""
    dice = np.random.default_rng(1)
    person = np.repeat(np.arange(PEOPLE), dice.integers(1, rows + 1, PEOPLE))
    day = dice.integers(0, 366, person.size)
    well = (person % 2 == 0) ^ (dice.random(person.size) < 0.1)
    return pa.table({
        "person": person,
        "day": pa.array((day + 19_723).astype(np.int32), pa.date32(), mask=dice.random(person.size) < 0.02),
        "site": np.where(person % 3 == 0, "a", "b"),
        "cost": pa.array(np.where(well, 0.0, 40 + 10 * dice.random(person.size)), mask=dice.random(person.size) < 0.1),
        "well": well,
    })  # fmt: skip


def policy(relation: str = "add_remove", **budget: Any) -> dict[str, Any]:
    return {
        "version": "1",
        "relation": relation,
        "budget": budget or {"epsilon": 50, "delta": "1e-5"},
        "tables": {"visits": {"unit": "person", "max_rows": 4, "columns": COLUMNS}},
    }


def fitted(spend: Loss, history: synth.History, tier: Any = "best", relation: str = "add_remove", **budget: Any) -> Any:
    with dp.connect({"visits": visits()}, policy(relation, **budget)) as session:
        model = synth.fit_tables(session, ["visits"], spend, tier=tier, histories={"visits": history})
        assert session.spent == spend
    return model


def lag(person: Any, order: Any, values: Any) -> float:
    """The rank correlation of a value with that of the row before of the same person."""
    sort = np.lexsort((order, person))
    same = person[sort][1:] == person[sort][:-1]
    ranks = [np.unique(each, return_inverse=True, return_counts=True) for each in
             (values[sort][:-1][same], values[sort][1:][same])]  # fmt: skip
    middle = [(np.cumsum(counts) - counts / 2)[places] for _, places, counts in ranks]
    return float(np.corrcoef(*middle)[0, 1])


def test_years_of_people_are_like_the_real_ones() -> None:
    """Bounds of the issue. Of 40 fits the distance was .029 at most, and the correlation within .065."""
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        model = synth.fit_tables(session, ["visits"], SPEND, histories={"visits": HISTORY})
    real, rows = pq.read_table(rand.table), model.sample()["visits"]
    sides = [{name: table[name].to_numpy() for name in rows.column_names} for table in (real, rows)]
    shares = [np.bincount(np.unique(side["person"], return_counts=True)[1], minlength=6) for side in sides]
    distance = np.abs(shares[0] / shares[0].sum() - shares[1] / shares[1].sum()).sum() / 2
    correlations = [lag(side["person"], side["year"], side["doctor_visits"]) for side in sides]
    assert distance < 0.1
    assert abs(correlations[0] - 0.543) < 0.001
    assert abs(correlations[1] - correlations[0]) < 0.25


def test_rows_of_a_person_keep_what_the_history_says() -> None:
    with dp.connect({"visits": rand.table}, load_policy(rand.policy)) as session:
        model = synth.fit_tables(session, ["visits"], dp.approx("0.1", "1e-9"), histories={"visits": HISTORY})
    rows = model.sample(people=3000)["visits"]
    names = ["person", "coinsurance", "year", "age", "female", "doctor_visits", "dollars"]
    assert rows.column_names == names
    table = {name: rows[name].to_numpy() for name in rows.column_names}
    assert np.array_equal(np.unique(table["person"]), np.arange(1, 3001))
    follows = table["person"][1:] == table["person"][:-1]
    step = np.diff(table["year"])[follows]
    assert (step >= 1).all()
    assert all((np.diff(table[name].astype(int))[follows] == 0).all() for name in ("coinsurance", "female"))
    age, before = table["age"][1:][follows], table["age"][:-1][follows]
    assert np.array_equal(age, np.minimum(before + step, 65))
    assert set(table["year"]) <= {1, 2, 3, 4, 5}
    assert np.unique(table["person"], return_counts=True)[1].max() <= 5


@pytest.mark.parametrize("repeats", [True, False])
def test_dates_follow_one_another(repeats: bool) -> None:
    model = fitted(dp.approx(20, "1e-6"), synth.History(order="day", constant=["site"], repeats=repeats))
    rows = model.sample(people=500)["visits"]
    assert dict(zip(rows.column_names, rows.schema.types, strict=True)) == {
        "person": pa.int64(), "day": pa.date32(), "site": pa.string(), "cost": pa.float64(), "well": pa.bool_(),
    }  # fmt: skip
    assert rows["day"].null_count == rows["site"].null_count == 0
    person, day = rows["person"].to_numpy(), rows["day"].cast(pa.int32()).to_numpy()
    follows = person[1:] == person[:-1]
    assert (np.diff(day)[follows] >= (0 if repeats else 1)).all()
    assert (day >= 19_723).all()
    assert (day <= 19_723 + 365).all()
    assert lag(person, day, np.array(rows["well"].to_pylist(), dtype=float)) > 0.4
    assert 0.02 < rows["cost"].null_count / rows.num_rows < 0.25


def test_without_an_order_rows_share_what_is_constant() -> None:
    model = fitted(dp.approx(20, "1e-6"), synth.History(constant=["site"]))
    rows = model.sample(people=600)["visits"]
    person, site = rows["person"].to_numpy(), np.array(rows["site"].to_pylist())
    assert (site[1:] == site[:-1])[person[1:] == person[:-1]].all()
    assert abs(np.mean(site == "a") - 1 / 3) < 0.1
    assert [part.name for part in model.parts] == ["visits: first rows", "visits: every row"]


CASES = [
    (dp.pure(20), {"epsilon": 50}, "instant", "substitute"),
    (dp.approx(2, "1e-6"), {"epsilon": 5, "delta": "1e-5"}, "best", "substitute"),
    (dp.rho(1), {"rho": 9}, "instant", "add_remove"),
    (dp.mu(1), {"mu": 3}, "best", "add_remove"),
]


@pytest.mark.parametrize(("spend", "budget", "tier", "relation"), CASES, ids=["pure", "approx", "rho", "mu"])
def test_the_certificate_follows_in_every_currency(
    spend: Loss, budget: dict[str, Any], tier: str, relation: str
) -> None:
    model = fitted(spend, synth.History(order="day", constant=["site"]), tier, relation, **budget)
    checks = {check.name: check.result for check in verify_release(parse_release_file(model.to_bytes()))}
    assert checks["loss"] == checks["answer"] == checks["signature"] == "good"
    lost = recompute_tables_loss(model.certificate)
    assert lost.fits(spend)
    assert [part["rows_per_unit"] for part in model.certificate["parts"]] == [1, 2]
    assert synth.SyntheticTables.from_bytes(model.to_bytes()).sample(50)["visits"].equals(model.sample(50)["visits"])


def test_a_certificate_that_states_too_little_is_refused() -> None:
    certificate = dict(fitted(dp.rho(1), synth.History(order="day"), rho=9).certificate)
    verify_tables_loss(certificate)
    parts = certificate["parts"]
    for change in (
        {"parts": [{**parts[0], "rows_per_unit": 4}, *parts[1:]]},
        {"parts": [*parts, parts[0]]},
        {"relation": "substitute"},
        {"currency": "pure"},
        {"parts": []},
        {"parts": [3]},
        {"parts": [{"part": "visits: first rows"}]},
    ):
        with pytest.raises(LedgerError):
            verify_tables_loss({**certificate, **change})


def test_a_fit_is_charged_once_and_repeated_for_nothing(tmp_path: Path) -> None:
    path, spend, history = tmp_path / "ledger", dp.rho(1), synth.History(order="day")
    with dp.connect({"visits": visits()}, policy(rho=2), path) as session:
        first = synth.fit_tables(session, ["visits"], spend, histories={"visits": history})
    with dp.connect({"visits": visits(1)}, policy(rho=2), path) as session:
        again = synth.fit_tables(session, ["visits"], spend, histories={"visits": history})
        assert session.spent == spend
        assert again.digest() == first.digest()
        other = synth.History(order="day", constant=["site"])
        assert synth.fit_tables(session, ["visits"], spend, histories={"visits": other}).digest() != first.digest()
        with pytest.raises(BudgetExceeded):
            synth.fit_tables(session, ["visits"], spend, tier="instant", histories={"visits": history})


def test_samples_are_a_public_function_of_number_and_label(tmp_path: Path) -> None:
    model = fitted(dp.approx(5, "1e-6"), synth.History(order="day"))
    assert model.sample(40, label="a")["visits"].equals(model.sample(40, label="a")["visits"])
    assert not model.sample(40, label="a")["visits"].equals(model.sample(40, label="b")["visits"])
    assert model.sample(0)["visits"].num_rows == 0
    model.save(tmp_path / "visits.synth")
    loaded = synth.SyntheticTables.load(tmp_path / "visits.synth")
    assert loaded.sample(40)["visits"].equals(model.sample(40)["visits"])
    assert "300 people" not in repr(loaded) or abs(loaded.people - PEOPLE) < 100
    for wrong in (-1, 2.5, True, 10**9):
        with pytest.raises(ParameterError, match="people is a whole number"):
            model.sample(wrong)
    with pytest.raises(ParameterError, match="label is a text"):
        model.sample(1, label=3)  # pyright: ignore[reportArgumentType]


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ({"histories": {"visits": synth.History(order="cost")}}, QueryError, "whole numbers or dates"),
    ({"histories": {"visits": synth.History(order="site")}}, QueryError, "whole numbers or dates"),
    ({"histories": {"visits": synth.History(order="daay")}}, QueryError, "day"),
    ({"histories": {"visits": synth.History(order="day", constant=["nobody"])}}, QueryError, "nobody"),
    ({"histories": {"visits": synth.History(order="day", constant=["day"])}}, ParameterError, "not two"),
    ({"histories": {"visits": synth.History(order="day", along=["cost"])}}, QueryError, "cannot grow along"),
    ({"histories": {"visits": "day"}}, ParameterError, "synth.History"),
    ({"histories": {"persons": synth.History()}}, QueryError, "persons"),
    ({"tables": "visits"}, QueryError, "in a list"),
    ({"tables": []}, QueryError, "in a list"),
    ({"tables": ["visits", "VISITS"]}, QueryError, "named twice"),
    ({"tables": ["places"]}, QueryError, "public"),
    ({"tables": ["rows"]}, QueryError, 'unit = "rows"'),
    ({"tables": ["visits", "bills"]}, QueryError, "max_rows = 1"),
    ({"tables": ["items"]}, QueryError, "belong to rows of bills"),
    ({"tables": ["visits", "places"]}, QueryError, "links="),
    ({"tier": "fast"}, ParameterError, "instant"),
    ({"spend": 3}, ParameterError, "spend must be a loss"),
    ({"spend": dp.pure("1e-18")}, ParameterError, "visits: first rows: the spend is too small"),
    ({"columns": {"visits": ["note", "day"]}}, QueryError, "without public keys"),
    ({"columns": {"visits": ["person"]}}, QueryError, "no column person"),
    ({"cells": {"visits": {"cost": 0}}}, ParameterError, "number of cells"),
]


@pytest.mark.parametrize(("asked", "error", "words"), REFUSED, ids=[each[2] for each in REFUSED])
def test_what_cannot_be_fitted_is_refused_before_any_charge(asked: Any, error: type[Exception], words: str) -> None:
    several: dict[str, Any] = {
        **policy(),
        "tables": {
            "visits": {"unit": "person", "max_rows": 4, "columns": {**COLUMNS, "note": {"type": "string"}}},
            "bills": {"unit": "person", "max_rows": 2, "columns": {"paid": {"type": "bool"}}},
            "items": {"unit": "bill -> bills.id", "max_rows": 2, "columns": {"taxed": {"type": "bool"}}},
            "rows": {"unit": "rows", "columns": {"x": {"type": "bool"}}},
            "places": {"public": True, "key": "id", "columns": {"id": {"type": "int"}}},
        },
    }
    columns = {"columns": {"visits": ["day", "site", "cost"]}}
    arguments: dict[str, Any] = {"tables": ["visits"], "spend": dp.pure(1), **columns, **asked}
    if "tables" in asked:
        arguments.pop("columns")
    sources = {
        "visits": visits().append_column("note", pa.array(["x"] * visits().num_rows)),
        "bills": pa.table({"person": [1], "id": [1], "paid": [True]}),
        "items": pa.table({"bill": [1], "taxed": [True]}),
        "rows": pa.table({"x": [True]}),
        "places": pa.table({"id": [1]}),
    }
    with dp.connect(sources, several) as session:
        with pytest.raises(error, match=words):
            synth.fit_tables(session, arguments.pop("tables"), arguments.pop("spend"), **arguments)
        assert session.remaining == dp.approx(50, "1e-5")
