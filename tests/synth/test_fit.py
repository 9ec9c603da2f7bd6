"""A fit, whole: charged once and repeated for nothing, rows of the policy's types, a certificate that follows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet as dp
from discreet import synth
from discreet.errors import BudgetExceeded, LedgerError, ParameterError, QueryError
from discreet.ledger import verify_release
from discreet.privacy import Loss
from discreet.release import load, parse_release_file
from discreet.synth._verify import recompute_table_loss

ROWS = 3000
MIDNIGHT = dt.datetime(2024, 1, 1)  # noqa: DTZ001
COLUMNS = {
    "age": {"type": "int", "bounds": [0, 99], "nullable": False},
    "income": {"type": "float", "bounds": [0, 1000]},
    "paid": {"type": "decimal", "bounds": [0, "99.99"]},
    "sex": {"type": "string", "keys": ["f", "m"], "nullable": False},
    "member": {"type": "bool"},
    "seen": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
    "at": {"type": "timestamp", "bounds": ["2024-01-01", "2024-12-31"]},
}
TYPES = {
    "age": pa.int64(), "income": pa.float64(), "paid": pa.decimal128(38, 3), "sex": pa.string(), "member": pa.bool_(),
    "seen": pa.date32(), "at": pa.timestamp("us"),
}  # fmt: skip


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(1)
    age = np.clip(rng.normal(45, 15, rows), 0, 120).astype(int)
    sex = np.where(rng.random(rows) < 0.5, "f", "m")
    income = np.where(rng.random(rows) < 0.3, 0.0, age * 10.0 + rng.normal(0, 40, rows))
    return pa.table({
        "person": rng.integers(0, rows // 2, rows),
        "age": age,
        "income": pa.array(income, mask=rng.random(rows) < 0.1),
        "paid": [Decimal(int(each)) / 100 for each in rng.integers(0, 9999, rows)],
        "sex": sex,
        "member": pa.array(rng.random(rows) < 0.75 * (sex == "f"), mask=rng.random(rows) < 0.2),
        "seen": [dt.date(2024, 1, 1) + dt.timedelta(int(each)) for each in rng.integers(0, 366, rows)],
        "at": [MIDNIGHT + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, rows)],
    })  # fmt: skip


def policy(unit: str = "rows", relation: str = "add_remove", **budget: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"unit": unit, "columns": COLUMNS}
    if unit != "rows":
        table["max_rows"] = 2
    return {
        "version": "1",
        "relation": relation,
        "budget": budget or {"epsilon": 10, "delta": "1e-5"},
        "tables": {"t": table},
    }


def fitted(spend: Loss, tier: Any = "best", unit: str = "rows", relation: str = "add_remove", **budget: Any) -> Any:
    with dp.connect({"t": people()}, policy(unit, relation, **budget)) as session:
        table = synth.fit(session, "t", spend, tier=tier, target="member")
        assert session.spent == spend
    return table


CASES = [
    (dp.pure(4), {"epsilon": 5}, "DiscreteLaplace"),
    (dp.approx(2, "1e-6"), {"epsilon": 5, "delta": "1e-5"}, "Gaussian"),
    (dp.rho("0.2"), {"rho": 1}, "DiscreteGaussian"),
    (dp.mu(1), {"mu": 3}, "Gaussian"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("spend", "budget", "noise"), CASES, ids=["pure", "approx", "rho", "mu"])
@pytest.mark.parametrize(("unit", "relation"), [("rows", "add_remove"), ("person", "substitute")])
@pytest.mark.parametrize("tier", ["instant", "best"])
def test_every_currency_unit_and_relation(
    spend: Loss, budget: dict[str, Any], noise: str, unit: str, relation: str, tier: str
) -> None:
    table = fitted(spend, tier, unit, relation, **budget)
    assert {step["mechanism"] for step in table.certificate["steps"] if "measured" in step} == {noise}
    checks = {check.name: check.result for check in verify_release(parse_release_file(table.to_bytes()))}
    assert checks["loss"] == checks["answer"] == checks["signature"] == "good"
    assert recompute_table_loss(table.certificate).fits(spend)
    rows = table.sample(500)
    assert dict(zip(rows.column_names, rows.schema.types, strict=True)) == TYPES


def test_rows_are_within_what_the_policy_says_and_near_the_table() -> None:
    table, true = fitted(dp.approx(8, "1e-6")), people()
    rows = table.sample(ROWS)
    assert rows["age"].null_count == rows["sex"].null_count == 0
    assert set(rows["sex"].to_pylist()) == {"f", "m"}
    assert all(0 <= each <= 99 for each in rows["age"].to_pylist())
    assert all(dt.date(2024, 1, 1) <= each <= dt.date(2024, 12, 31) for each in rows["seen"].to_pylist() if each)
    income = [each for each in rows["income"].to_pylist() if each is not None]
    assert abs(np.mean([each == 0 for each in income]) - 0.3) < 0.05
    assert abs(rows["income"].null_count / ROWS - true["income"].null_count / ROWS) < 0.03
    shares = [
        np.mean(
            [m is True for s, m in zip(each["sex"].to_pylist(), each["member"].to_pylist(), strict=True) if s == "f"]
        )
        for each in (rows, true)
    ]
    assert abs(shares[0] - shares[1]) < 0.05
    assert abs(table.total - ROWS) < 100


def test_a_fit_is_charged_once_and_repeated_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    spend = dp.rho("0.1")
    with dp.connect({"t": people()}, policy(rho=1), path) as session:
        first = synth.fit(session, "t", spend)
    with dp.connect({"t": people(20)}, policy(rho=1), path) as session:
        again = synth.fit(session, "t", spend)
        assert session.spent == spend
        assert again.digest() == first.digest()
        assert again.sample(50).equals(first.sample(50))
        other = synth.fit(session, "t", spend, tier="instant")
        assert session.spent == dp.rho("0.2")
        with pytest.raises(BudgetExceeded):
            synth.fit(session, "t", dp.rho("0.9"))
    assert other.digest() != first.digest()


def test_samples_are_a_public_function_of_table_and_label(tmp_path: Path) -> None:
    table = fitted(dp.approx(4, "1e-6"))
    assert table.sample(100, label="a").equals(table.sample(100, label="a"))
    assert not table.sample(100, label="a").equals(table.sample(100, label="b"))
    assert table.sample(0).num_rows == 0
    assert table.sample().num_rows == round(table.total)
    table.save(tmp_path / "t.synth")
    restored = synth.load(tmp_path / "t.synth")
    assert isinstance(load(tmp_path / "t.synth"), synth.SyntheticTable)
    assert restored.sample(100, label="a").equals(table.sample(100, label="a"))
    assert "synthetic t of about" in repr(restored)


def test_conditional_rows() -> None:
    table = fitted(dp.approx(8, "1e-6"))
    rows = table.sample(2000, given={"SEX": "f", "age": 40})
    assert set(rows["sex"].to_pylist()) == {"f"}
    assert set(rows["age"].to_pylist()) == {40}
    members = [each for each in rows["member"].to_pylist() if each is not None]
    assert 0.6 < np.mean(members) < 0.9
    assert table.sample(20, given={"member": None})["member"].null_count == 20
    assert set(table.sample(20, given={"income": 0})["income"].to_pylist()) == {0.0}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"sexx": "f"}, QueryError, "did you mean sex"),
        ({"sex": "x"}, ParameterError, "sex cannot be 'x'; it is one of f, m"),
        ({"sex": None}, ParameterError, "sex cannot be None"),
        ({"age": 100}, ParameterError, "age cannot be 100"),
        ({"age": 3.5}, ParameterError, "age cannot be 3.5"),
        ({"seen": "soon"}, ParameterError, "seen cannot be 'soon'"),
    ],
)
def test_impossible_conditions_are_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    table = _table()
    with pytest.raises(error, match=words):
        table.sample(5, given=given)


@pytest.mark.parametrize("rows", [-1, 2.5, True, "10"])
def test_a_number_of_rows_is_a_whole_number(rows: Any) -> None:
    with pytest.raises(ParameterError, match="rows is a whole number"):
        _table().sample(rows)


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"table": "tt"}, QueryError, "did you mean t"),
    ({"table": 3}, QueryError, "name a table as a text"),
    ({"columns": ["agee"]}, QueryError, "did you mean age"),
    ({"columns": []}, QueryError, "has no column to fit"),
    ({"target": "agee"}, QueryError, "did you mean age"),
    ({"workload": ["age"]}, ParameterError, "a workload is a list of marginals"),
    ({"workload": [["age", "nothing"]]}, QueryError, "no column nothing"),
    ({"cells": {"sex": 4}}, ParameterError, "sex has public keys"),
    ({"cells": {"age": 4}, "columns": ["sex"]}, ParameterError, "cells are chosen for age"),
    ({"tier": "fast"}, ParameterError, "tier is 'instant' or 'best'"),
    ({"spend": 1}, ParameterError, "spend must be a loss"),
    ({"spend": dp.pure("1e-18")}, ParameterError, "too small to measure one marginal of each of 7 columns"),
]


@pytest.mark.parametrize(("change", "error", "words"), REFUSED)
def test_what_cannot_be_fitted_is_refused_before_any_charge(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    with dp.connect({"t": people(50)}, policy()) as session:
        with pytest.raises(error, match=words):
            synth.fit(session, **{"table": "t", "spend": dp.pure(1), **change})
        assert session.remaining == dp.approx(10, "1e-5")


def test_columns_without_cells_are_refused_by_name() -> None:
    for declared, words in (
        ({"type": "int"}, "t.x has no bounds"),
        ({"type": "string"}, "a fit needs a column with public keys or bounds"),
    ):
        without = {
            "version": "1",
            "budget": {"epsilon": 1},
            "tables": {"t": {"unit": "rows", "columns": {"x": declared}}},
        }
        with dp.connect({"t": pa.table({"x": pa.array([], pa.string())})}, without) as session:
            with pytest.raises(QueryError, match=words):
                synth.fit(session, "t", dp.pure(1))
            assert session.remaining == dp.pure(1)


def test_public_tables_and_columns_of_the_person_are_refused() -> None:
    both = policy("person")
    both["tables"]["p"] = {"public": True, "columns": {"x": {"type": "bool"}}}
    both["tables"]["t"]["columns"] = {**COLUMNS, "person": {"type": "int", "bounds": [0, 9]}}
    with dp.connect({"t": people(50), "p": pa.table({"x": [True]})}, both) as session:
        with pytest.raises(QueryError, match="p is public: use it as it is"):
            synth.fit(session, "p", dp.pure(1))
        with pytest.raises(QueryError, match="person says whose a row is"):
            synth.fit(session, "t", dp.pure(1), columns=["person"])
        assert session.remaining == dp.approx(10, "1e-5")


def test_damaged_files_are_no_tables() -> None:
    payload = _table().to_bytes()
    for damaged in (b"{}", payload[:-5], payload.replace(b'"format": 1', b'"format": 2')):
        with pytest.raises(LedgerError, match="cannot be read; it is damaged"):
            synth.SyntheticTable.from_bytes(damaged)


def test_an_empty_table_and_one_column() -> None:
    with dp.connect({"t": people().slice(0, 0)}, policy()) as session:
        table = synth.fit(session, "t", dp.pure(4), columns=["sex"])
        assert table.total < 100
        assert table.sample(10).num_rows == 10
        assert synth.fit(session, "t", dp.pure(4)).sample(10).num_rows == 10


def _members(rows: pa.Table) -> float:
    """The share of women who are members."""
    women = rows.filter(pc.equal(rows["sex"], "f"))
    return float(np.mean([each is True for each in women["member"].to_pylist()]))


_CACHED: list[synth.SyntheticTable] = []


def _table() -> synth.SyntheticTable:
    if not _CACHED:
        _CACHED.append(fitted(dp.approx(8, "1e-6")))
    return _CACHED[0]
