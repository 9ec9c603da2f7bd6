"""Texts whose keys nobody listed: discovered with a part of the spend, refused without a δ, and verified."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.errors import LedgerError, QueryError
from discreet.ledger import verify_release
from discreet.privacy import Loss, to_json
from discreet.release import parse_release_file
from discreet.synth._verify import recompute_table_loss, verify_table_loss

COLUMNS = {
    "town": {"type": "string"},
    "job": {"type": "string", "nullable": False},
    "sex": {"type": "string", "keys": ["f", "m"], "nullable": False},
}


def people(rows: int = 20_000) -> pa.Table:
    rng = np.random.default_rng(2)
    towns = rng.choice(["Graz", "Linz", "Wien", "Ulm"], rows, p=[0.4, 0.3, 0.2, 0.1])
    jobs = np.where(np.arange(rows) == 7, "astronaut", np.where(towns == "Graz", "smith", "cook"))
    sex = np.where(rng.random(rows) < 0.5, "f", "m")
    return pa.table({
        "person": rng.integers(0, rows // 2, rows),
        "town": pa.array(towns, mask=rng.random(rows) < 0.25),
        "job": jobs,
        "sex": sex,
    })  # fmt: skip


def policy(unit: str = "rows", relation: str = "add_remove", **budget: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"unit": unit, "columns": COLUMNS, **({} if unit == "rows" else {"max_rows": 3})}
    budget = budget or {"epsilon": 9, "delta": "1e-5"}
    return {"version": "1", "relation": relation, "budget": budget, "tables": {"t": table}}


CASES = [
    (dp.approx(4, "1e-9"), {"epsilon": 5, "delta": "1e-5"}),
    (dp.rho("0.5", "1e-9"), {"rho": 1, "delta": "1e-5"}),
    (dp.mu(2, "1e-9"), {"mu": 3, "delta": "1e-5"}),
]


@pytest.mark.parametrize(("spend", "budget"), CASES, ids=["approx", "rho", "mu"])
@pytest.mark.parametrize(("unit", "relation"), [("rows", "add_remove"), ("person", "substitute")])
def test_keys_are_discovered_and_rare_ones_are_not(
    spend: Loss, budget: dict[str, Any], unit: str, relation: str
) -> None:
    """The key of one person is shown with a probability of 1e-9, those of 2,000 are missed with far less."""
    with dp.connect({"t": people()}, policy(unit, relation, **budget)) as session:
        table = synth.fit(session, "t", spend)
        assert session.spent == spend
    keys = {column.name: column.keys for column in table.columns}
    assert keys == {"town": ("Graz", "Linz", "Ulm", "Wien"), "job": ("cook", "smith"), "sex": ("f", "m")}
    rows = table.sample(4000)
    assert rows["job"].null_count == 0
    assert abs(rows["town"].null_count / 4000 - 0.25) < 0.05
    checks = {check.name: check.result for check in verify_release(parse_release_file(table.to_bytes()))}
    assert checks["loss"] == "good"
    assert recompute_table_loss(table.certificate).fits(spend)


@pytest.mark.parametrize("spend", [dp.pure(4), dp.rho("0.5"), dp.mu(1)])
def test_without_a_delta_they_are_refused_before_any_charge(spend: Loss) -> None:
    budget = {"pure": {"epsilon": 9}, "rho": {"rho": 9}, "mu": {"mu": 9}}[repr(spend).partition("(")[0]]
    with dp.connect({"t": people(10)}, policy(**budget)) as session:
        with pytest.raises(QueryError, match=r"t.town is text without public keys, whose discovery needs a delta"):
            synth.fit(session, "t", spend)
        before = session.remaining
        synth.fit(session, "t", spend, columns=["sex"])
        assert session.remaining != before


def test_a_column_of_which_nothing_is_discovered_is_left_out() -> None:
    with dp.connect({"t": people(12)}, policy()) as session:
        table = synth.fit(session, "t", dp.approx("0.5", "1e-8"), target="job", workload=[["town", "sex"]])
    assert [column.name for column in table.columns] == ["sex"]
    assert table.sample(3).column_names == ["sex"]


def test_understated_discoveries_are_detected() -> None:
    with dp.connect({"t": people()}, policy()) as session:
        certificate = synth.fit(session, "t", dp.approx(4, "1e-6")).certificate
    verify_table_loss(certificate)

    def changed(change: Any) -> dict[str, Any]:
        copy = deepcopy(dict(certificate))
        change(copy)
        return copy

    def keys_doubled(copy: dict[str, Any]) -> None:
        copy["keys"] = copy["keys"] * 8

    def fit_understated(copy: dict[str, Any]) -> None:
        copy["fit_loss"] = to_json(dp.approx(Fraction(1, 2), Fraction(1, 10**7)))

    def discovery_understated(copy: dict[str, Any]) -> None:
        copy["keys"][0]["loss"] = to_json(dp.approx(Fraction(1, 1000), Fraction(1, 10**12)))

    for change in (keys_doubled, fit_understated, discovery_understated, lambda copy: copy.pop("keys")):
        with pytest.raises(LedgerError):
            verify_table_loss(changed(change))


def test_what_has_discovered_keys_is_checked_on_the_rows_that_have_one() -> None:
    """The 9 % of rows with keys too rare to be discovered count neither in the fit nor in the check."""
    rows = people()
    rare = pa.array([f"only {i}" if i % 11 == 0 else town for i, town in enumerate(rows["town"].to_pylist())])
    table = rows.set_column(rows.column_names.index("town"), "town", rare)
    with dp.connect({"t": table}, policy(epsilon=40, delta="1e-5")) as session:
        fitted = synth.fit(session, "t", dp.approx(9, "1e-9"))
        assert {column.name: column.keys for column in fitted.columns}["town"] == ("Graz", "Linz", "Ulm", "Wien")
        checked = synth.check(session, fitted, dp.pure(9), accept={"tv1": 0.02})
    assert checked.accepted and checked.confidence("tv1") > 0.99
    checks = {check.name: check.result for check in verify_release(parse_release_file(checked.to_bytes()))}
    assert checks["loss"] == checks["answer"] == "good"
