"""Models on the ledger: charged once, served again for free, verified from their certificates, read back from files."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import learn
from discreet.errors import BudgetExceeded, LedgerError, ParameterError, QueryError
from discreet.learn.algorithms import ALGORITHMS, NaiveBayesAlgorithm
from discreet.ledger import verify_release
from discreet.release import load, parse_release_file, verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 3, "delta": "1e-5"},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 2,
            "columns": {
                "age": {"type": "float", "bounds": [0, 100]},
                "site": {"type": "string", "keys": ["a", "b"]},
                "cost": {"type": "int", "bounds": [0, 9]},
                "sick": {"type": "bool"},
            },
        }
    },
}
QUERY = "SELECT age, site, sick FROM visits"


def _visits() -> pa.Table:
    dice = random.Random(5)
    sick = [dice.random() < 0.5 for _ in range(4_000)]
    return pa.table({
        "person": [i // 2 for i in range(4_000)],
        "age": [dice.choice([None, float("nan"), 200.0, 30 + 40 * each + dice.gauss(0, 9)]) for each in sick],
        "site": [dice.choice(["a", "a", "b", "c", None]) if each else "b" for each in sick],
        "cost": [dice.randrange(10) for _ in sick],
        "sick": [None if dice.random() < 0.05 else each for each in sick],
    })  # fmt: skip


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return _visits()


@pytest.fixture
def session(visits: pa.Table) -> Iterator[dp.Session]:
    with dp.connect({"visits": visits}, POLICY) as opened:
        yield opened


@pytest.fixture(scope="module")
def model(visits: pa.Table) -> learn.Model:
    with dp.connect({"visits": visits}, POLICY) as session:
        records = session.records(QUERY, label="sick")
        return learn.NaiveBayes(spend=dp.approx(1, "1e-6")).fit(records).model_


def test_a_fit_is_charged_once_and_the_same_fit_is_free(session: dp.Session, visits: pa.Table) -> None:
    records = session.records(QUERY, label="sick")
    estimator = learn.NaiveBayes(spend=dp.approx(1, "1e-6")).fit(records)
    assert session.spent == dp.approx(1, "1e-6") == estimator.loss
    again = learn.NaiveBayes(spend=dp.approx(1, "1e-6")).fit(session.records(QUERY, label="sick"))
    assert again.model_.to_bytes() == estimator.model_.to_bytes() and session.spent == dp.approx(1, "1e-6")
    other = learn.NaiveBayes(spend=dp.approx(1, "1e-6"), bins=4).fit(records)
    assert session.spent == dp.approx(2, "2e-6") and other.certificate["plan"] != estimator.certificate["plan"]
    labelled = visits.filter(pa.compute.is_valid(visits["sick"]))
    right = estimator.predict(labelled) == np.array(labelled["sick"].to_pylist())
    assert right.mean() > 0.6  # 2,000 people at ε = 1: a fair coin has this with probability below 1e-30
    with pytest.raises(BudgetExceeded):
        learn.NaiveBayes(spend=dp.approx(2, "1e-6")).fit(records)


def test_what_cannot_be_fitted_is_refused_before_the_charge(session: dp.Session) -> None:
    records, spend = session.records(QUERY, label="sick"), dp.pure(1)
    with pytest.raises(ParameterError, match="no default"):
        learn.NaiveBayes().fit(records)
    with pytest.raises(ParameterError, match="no label"):
        learn.NaiveBayes(spend).fit(session.records(QUERY))
    with pytest.raises(ParameterError, match="leave y out"):
        learn.NaiveBayes(spend).fit(records, [1, 2])
    with pytest.raises(ParameterError, match="public values"):
        learn.NaiveBayes(spend).fit(session.records(QUERY, label="age"))
    for bins in (1, 2.0, True, 10**6):
        with pytest.raises(ParameterError, match="bins"):
            learn.NaiveBayes(spend, bins=bins).fit(records)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        learn.NaiveBayes(1.0).fit(records)  # type: ignore[arg-type]
    for kind in ALGORITHMS.values():
        labelled = session.records(QUERY, label="sick" if kind.task == "classification" else "age")
        if kind.task in ("classification", "regression") and "pure" in kind.currencies:
            with pytest.raises(ParameterError):
                session.answer(learn.Fit(labelled.plan, labelled.label, kind(), dp.pure("1e-17")))
    assert session.remaining == dp.approx(3, "1e-5")


def test_a_certificate_recomputes_the_loss_and_a_changed_one_does_not(model: learn.Model) -> None:
    certificate = json.loads(json.dumps(model.certificate))
    assert verify_loss(certificate) is None
    (step,) = certificate["steps"]
    changes: dict[str, Any] = {
        "less noise": {"steps": [{**step, "sigma": "1/7"}]},
        "twice": {"steps": [{**step, "times": 2}]},
        "no steps": {"steps": []},
        "another step": {"steps": [{**step, "measured": "sums"}]},
        "more rows": {"rows_per_unit": 3},
        "another relation": {"relation": "substitute"},
        "more inputs": {"inputs": {**certificate["inputs"], "features": 2 * certificate["inputs"]["features"]}},
        "no classes": {"inputs": {**certificate["inputs"], "target": None}},
        "another algorithm": {"algorithm": {"name": "logistic"}},
        "a loss that is less": {"loss": {**certificate["loss"], "epsilon": "1/2"}},
        "another currency": {"currency": "pure"},
    }
    for change in changes.values():
        with pytest.raises(LedgerError):
            verify_loss({**certificate, **change})


def test_every_change_of_a_model_is_seen(model: learn.Model) -> None:
    content = model.to_dict()
    results = {each.result for each in _checks(content)}
    assert results == {"good", "not checked"}, results
    for path, value in (
        (("algorithm", "bins"), 9), (("inputs", "target", "name"), "well"), (("parameters", "priors", "data"), "AAAA"),
    ):  # fmt: skip
        changed = copy.deepcopy(content)
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        try:
            assert {each.result for each in _checks(changed) if each.name == "answer"} == {"bad"}
        except LedgerError:
            continue


def _checks(content: dict[str, Any]) -> list[Any]:
    return list(verify_release(parse_release_file(json.dumps(content).encode())))


def test_a_model_in_a_file_is_the_same_model(model: learn.Model, visits: pa.Table, tmp_path: Path) -> None:
    model.save(tmp_path / "sick.model")
    for loaded in (learn.load(tmp_path / "sick.model"), load(tmp_path / "sick.model")):
        assert isinstance(loaded, learn.Model) and loaded.to_bytes() == model.to_bytes()
        assert (loaded.predict_proba(visits) == model.predict_proba(visits)).all()
    assert "naive bayes of sick from 2 inputs; cost epsilon 1, delta 1e-06" in repr(model)
    with pytest.raises(QueryError, match="predict"):
        model.transform(visits)


def test_rows_are_read_by_name_in_any_frame(model: learn.Model, visits: pa.Table) -> None:
    import polars as pl

    expected = model.predict_proba(visits)
    for frame in (visits.to_pandas(), pl.from_arrow(visits), visits.select(["site", "sick", "age"])):
        assert (model.predict_proba(frame) == expected).all()
    for wrong in (visits.drop_columns(["age"]), [[1]], 7, {"age": [1]}, visits.set_column(1, "age", visits["site"])):
        with pytest.raises(ParameterError):
            model.predict(wrong)


@pytest.mark.parametrize("fuzzed", range(4))
def test_hostile_files_are_refused_and_run_nothing(model: learn.Model, fuzzed: int) -> None:
    """A quarter of 2,000 random changes each: bytes cut, changed and repeated, and values of the JSON replaced."""
    dice, payload = random.Random(fuzzed), bytearray(model.to_bytes())
    values: list[Any] = [None, -1, 2**70, 1e308, "", "x" * 100, [], {}, [[]], True, "NaN", "1/0"]
    for _ in range(250):
        changed = bytearray(payload)
        for _ in range(dice.randrange(1, 4)):
            place = dice.randrange(len(changed))
            match dice.randrange(3):
                case 0:
                    changed[place] = dice.randrange(256)
                case 1:
                    del changed[place : place + dice.randrange(1, 40)]
                case _:
                    changed[place:place] = changed[place : place + dice.randrange(1, 40)]
        _read(bytes(changed))
    for _ in range(250):
        content = json.loads(payload)
        place: Any = content
        while isinstance(place, dict | list) and place:
            key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or dice.random() < 0.3:
                place[key] = dice.choice(values)
                break
            place = place[key]
        _read(json.dumps(content).encode())


def _read(payload: bytes) -> None:
    try:
        loaded = learn.Model.from_bytes(payload)
    except LedgerError:
        return
    loaded.predict_proba([[1.0, "a"]])
    repr(loaded)


def test_a_row_more_moves_no_other_row(session: dp.Session) -> None:
    """Exact sums below the noise are those of the rows that count, on every kind of row that there is."""
    from learners import measurer, taken

    from discreet.learn._examples import examples_of_records, inputs_of_plan

    records = session.records(QUERY, label="sick")
    plan, label = records.plan, records.label
    rows = session._engine.read_records(plan.rows, b"0" * 16)
    inputs = inputs_of_plan(plan, label)
    examples = examples_of_records(plan, label, inputs, rows)
    assert inputs.classes == (False, True) and 0 < examples.rows < rows.num_rows
    assert {"numbers": examples.numbers.min(), "cells": examples.cells.max()} == {"numbers": -1, "cells": 2}
    algorithm = NaiveBayesAlgorithm()
    asked = measurer(algorithm, inputs, dp.pure(1))
    algorithm.fit(taken(examples, range(examples.rows)), asked)
    ((_, sums),) = asked.exact
    assert sums.sum() == 2 * examples.rows
