"""A fit is charged once, before anything is counted: refusals, repeats, accounts, two sources, and sudden death."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from replay import Engine

import discreet as dp
from discreet import synth
from discreet.errors import BudgetExceeded, DiscreetError, ParameterError, QueryError
from discreet.ledger import open_ledger
from discreet.privacy import to_json

pytestmark = pytest.mark.usefixtures("one_database")

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 9},
    "tables": {
        "t": {
            "unit": "person",
            "max_rows": 2,
            "columns": {
                "person": {"type": "int"},
                "age": {"type": "int", "bounds": [0, 99]},
                "site": {"type": "string", "keys": ["a", "b"]},
                "member": {"type": "bool", "nullable": False},
                "cost": {"type": "float"},
                "note": {"type": "string"},
            },
        },
        "places": {"public": True, "columns": {"site": {"type": "string"}}},
    },
}
FITTED = ["age", "site", "member"]
ONE = {
    "person": [1, 1, 2, 3], "age": [20, 21, None, 400], "site": ["a", "b", "c", None],
    "member": [True, False, True, None], "cost": [1.0, 2.0, None, float("nan")], "note": ["x", "y", None, "z"],
}  # fmt: skip
PLACES = pa.table({"site": ["a", "b"]})


def _types(name: str) -> pa.DataType:
    return {"person": pa.int64(), "age": pa.int64(), "cost": pa.float64(), "member": pa.bool_()}.get(name, pa.string())


def _table(rows: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values, _types(name)) for name, values in rows.items()})


SOURCES = [
    _table(ONE),
    _table({name: [] for name in ONE}),
    _table({name: values * 300 for name, values in ONE.items()}),
]

BAD: list[tuple[dict[str, Any], type[DiscreetError], str]] = [
    ({"table": "u"}, QueryError, "u"),
    ({"table": 7}, QueryError, "name a table"),
    ({"table": "places"}, QueryError, "places is public: use it as it is"),
    ({"columns": [*FITTED, "agee"]}, QueryError, "agee.*age"),
    ({"columns": []}, QueryError, "no column to fit"),
    ({"columns": [*FITTED, "person"]}, QueryError, "person.*leave it out"),
    ({"columns": None}, QueryError, "t.cost has no bounds: write its bounds .*leave it out"),
    ({"columns": ["cost"]}, QueryError, "t.cost has no bounds: write its bounds .*leave it out"),
    ({"columns": ["note"]}, QueryError, "t: a fit needs a column with public keys or bounds"),
    ({"target": "cost"}, QueryError, "cost"),
    ({"target": "agee"}, QueryError, "agee"),
    ({"workload": ["age"]}, ParameterError, "a list of marginals, each a list of columns"),
    ({"workload": [[]]}, ParameterError, "a list of marginals, each a list of columns"),
    ({"workload": [("age", "cost")]}, QueryError, "cost"),
    ({"cells": {"cost": 8}}, ParameterError, "cost.*not among the fitted columns"),
    ({"cells": {"agee": 8}}, QueryError, "agee"),
    ({"cells": {"site": 8}}, ParameterError, "site has public keys"),
    ({"cells": {"age": 0}}, ParameterError, "t.age.*from 1 to 10,000"),
    ({"cells": {"age": True}}, ParameterError, "t.age.*from 1 to 10,000"),
    ({"cells": {"age": [50, 20]}}, ParameterError, "t.age.*must rise"),
    ({"cells": {"age": [500]}}, ParameterError, "t.age.*between the bounds"),
    ({"cells": {"age": ["young"]}}, ParameterError, "t.age.*numbers or dates"),
    ({"cells": {"age": [20.2, 20.7]}}, ParameterError, "t.age.*hold no value; choose fewer or wider"),
    ({"tier": "good"}, ParameterError, "'instant' or 'best'"),
    ({"spend": 1}, ParameterError, "spend must be a loss"),
    ({"spend": dp.rho("1e-60")}, ParameterError, "too small to measure one marginal of each of 3 columns"),
    ({"spend": dp.gaussian(1)}, ParameterError, "budget"),
    ({"spend": dp.rho(10)}, BudgetExceeded, "10"),
]


def _ask(session: dp.Session, **how: Any) -> synth.SyntheticTable:
    asked = {"table": "t", "spend": dp.rho("0.1"), "columns": FITTED, **how}
    return synth.fit(session, asked.pop("table"), asked.pop("spend"), **asked)


@pytest.mark.parametrize("place", range(len(BAD)))
def test_bad_input_is_refused_before_any_charge_in_the_same_words_whatever_the_rows(place: int) -> None:
    """It names the column and the remedy; nothing was asked of the engine, and the ledger has no entry."""
    how, kind, words = BAD[place]
    seen: list[str] = []
    for source in SOURCES:
        requests: list[Any] = []
        with dp.connect({"t": source, "places": PLACES}, POLICY) as session:
            session._engine = Engine(session._engine, requests)
            with pytest.raises(kind, match=words) as refused:
                _ask(session, **how)
            seen.append(str(refused.value))
            assert [entry.kind for entry in session._ledger.entries()] == ["create"]
            assert requests == []
            assert session.remaining == dp.rho(9)
    assert len(set(seen)) == 1


def test_an_impossible_condition_of_a_sample_names_the_column() -> None:
    with dp.connect({"t": SOURCES[2], "places": PLACES}, POLICY) as session:
        fitted = _ask(session)
        for condition, words in (({"age": 100}, "age cannot be 100"), ({"member": None}, "member cannot be None")):
            with pytest.raises(ParameterError, match=words):
                fitted.sample(5, given=condition)
        with pytest.raises(QueryError, match="agee"):
            fitted.sample(5, given={"agee": 1})
        assert session.spent == dp.rho("0.1")


@pytest.mark.parametrize("tier", ["instant", "best"])
def test_every_source_gets_the_same_first_requests_and_the_same_charge(tier) -> None:
    """What comes after depends on noise alone: `test_privacy.py` replays it."""
    firsts: list[Any] = []
    for source in SOURCES:
        requests: list[Any] = []
        with dp.connect({"t": source, "places": PLACES}, POLICY) as session:
            session._engine = Engine(session._engine, requests)
            fitted = _ask(session, tier=tier)
            firsts.append((requests[0][0], len(requests), session.spent, set(fitted.certificate), fitted.columns))
    assert all(each == firsts[0] for each in firsts)


def test_the_engine_fails_in_the_same_words_and_the_charge_stays(monkeypatch) -> None:
    class Broken(Engine):
        def count_marginals(self, request: Any, salt: bytes) -> Any:
            raise dp.DataError("the engine failed")

    with dp.connect({"t": SOURCES[0], "places": PLACES}, POLICY) as session:
        session._engine = Broken(session._engine, [])
        with pytest.raises(dp.DataError, match="the engine failed"):
            _ask(session)
        assert session.spent == dp.rho("0.1")


def test_a_repeat_is_free_and_what_differs_is_charged(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l", dp.rho(9)) as ledger:
        token = ledger.grant("ada", dp.rho(3))
    connected = {"source": {"t": SOURCES[2], "places": PLACES}, "policy": POLICY, "ledger": tmp_path / "l"}
    with dp.connect(**connected) as session:
        first = _ask(session)
        for again in (_ask(session), _ask(session, columns=["AGE", "site", "member", "age"])):
            assert again.to_bytes() == first.to_bytes()
        assert session.spent == dp.rho("0.1")
    with dp.connect(**connected) as session:
        assert _ask(session).to_bytes() == first.to_bytes()
        others: list[dict[str, Any]] = [
            {"spend": dp.rho("0.2")}, {"tier": "instant"}, {"target": "member"}, {"workload": [("age", "site")]},
            {"cells": {"age": 4}}, {"columns": ["age", "site"]},
        ]  # fmt: skip
        spent = session.spent
        for how in others:
            assert _ask(session, **how).to_bytes() != first.to_bytes()
            assert spent != session.spent
            spent = session.spent
    changed = {**POLICY, "version": "2"}
    with dp.connect(**{**connected, "policy": changed}) as session:
        _ask(session)
        assert session.spent != spent
    with dp.connect(**connected, account="ada", token=token) as session:
        hers = _ask(session)
        assert hers.to_bytes() != first.to_bytes()
        assert session.spent == dp.rho("0.1")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("points", [4, pytest.param(200, marks=pytest.mark.soak)])
def test_killed_at_any_point_the_charge_stays_and_nothing_is_drawn_again(tmp_path: Path, points: int) -> None:
    """From the last thing before the charge to the last thing behind it; each is asked for again, twice."""
    environment = {**os.environ, "PYTHONPATH": str(Path(dp.__file__).parents[1])}
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), str(tmp_path), str(points)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == points
    spend, dead = to_json(dp.rho(1)), 0
    for each in outcomes:
        assert each["status"] == -9
        (one_status, one), (other_status, other) = each["answers"]
        assert one_status == other_status == 0
        assert one == other, "one request had two answers"
        if each["before"] == ["create", "reserve"]:
            dead += 1
            assert each["spent"] == each["spent_after"] == spend
            assert "was charged and has no release" in one
            assert each["after"] == ["create", "reserve"]
        else:
            assert each["before"] in (["create"], ["create", "reserve", "release"])
            assert each["after"].count("reserve") == each["after"].count("release") == 1
            assert each["spent_after"] == spend
    assert dead >= points / 4, "the kills were too gentle to mean anything"
