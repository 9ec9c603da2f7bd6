"""Evaluations: what a row adds is its own affair, within the norms; charged once, verified, refused in words."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from learners import inputs_for, measurer, some_examples, taken

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.learn.algorithms import ALGORITHMS
from discreet.learn.evaluation import predictor_of
from discreet.learn.evaluation._question import evaluation_norms, exact_counts
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 100, "delta": "1e-5"},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "x": {"type": "float", "bounds": [-1, 1], "nullable": False},
                "y": {"type": "bool", "nullable": False},
                "z": {"type": "float", "bounds": [0, 10], "nullable": False},
            },
        }
    },
}


def table(rows: int = 3_000) -> pa.Table:
    dice = random.Random(1)
    y = [dice.random() < 0.5 for _ in range(rows)]
    x = [dice.uniform(-0.2, 1) if each else dice.uniform(-1, 0.2) for each in y]
    return pa.table({"x": x, "y": y, "z": [5 + 4 * each for each in x]})


@pytest.mark.parametrize(
    "name", [name for name, kind in ALGORITHMS.items() if kind.task in ("classification", "regression")]
)
def test_a_row_adds_its_own_integers_within_the_norms(name: str) -> None:
    algorithm, dice = ALGORITHMS[name](), random.Random(2)
    inputs = inputs_for(algorithm)
    rows = some_examples(inputs, dice, 40)
    spend = dp.pure(5) if "pure" in algorithm.currencies else dp.rho(2)
    parameters = algorithm.fit(rows, measurer(algorithm, inputs, spend))
    hostile = {name: np.full_like(array, 1e308) for name, array in parameters.items()}
    norms = evaluation_norms(inputs)
    for arrays in (parameters, hostile):
        model = learn.Model(algorithm, inputs, arrays, spend, {})
        try:
            algorithm.check_parameters(inputs, arrays)
        except ValueError:
            continue
        counts = exact_counts(predictor_of(model), rows)
        alone = [exact_counts(predictor_of(model), taken(rows, [i])) for i in range(rows.rows)]
        assert (sum(alone) == counts).all()
        for added in alone:
            assert (added >= 0).all() and added.sum() <= norms.l1 and (added**2).sum() <= norms.l2_squared


def test_an_evaluation_is_charged_once_and_near_the_truth() -> None:
    data = table()
    with dp.connect({"t": data}, POLICY) as session:
        records = session.records("SELECT x, y FROM t", label="y")
        model = learn.NaiveBayes(dp.pure(1)).fit(records)
        answer = learn.evaluate(model, records, dp.pure(1))
        assert learn.evaluate(model.model_, records, dp.pure(1)).to_bytes() == answer.to_bytes()
        assert session.spent == dp.approx(2, 0)
        truth = (model.predict(data) == np.array(data["y"].to_pylist())).mean()
        # Of 4 counts, each with noise of scale 1: all within 24 but with probability 1e-10
        assert abs(answer.estimate("accuracy") - truth) < 4 * 24 / 2_900
        assert 0 < answer.error("accuracy") < 0.01 and answer.confusion.shape == (2, 2)
        assert verify_loss(json.loads(json.dumps(answer.certificate))) is None
        number = session.records("SELECT x, z FROM t", label="z")
        ridge = learn.Ridge(dp.approx(50, "1e-6")).fit(number)
        errors = learn.evaluate(ridge, number, dp.pure(5))
        off = np.abs(ridge.predict(data) - np.array(data["z"].to_pylist()))
        assert abs(errors.estimate("mean_absolute_error") - off.mean()) < 0.1
        assert abs(errors.estimate("root_mean_squared_error") - np.sqrt((off**2).mean())) < 0.3
        with pytest.raises(QueryError):
            errors.estimate("accuracy")
        with pytest.raises(QueryError):
            _ = errors.confusion


def test_other_records_and_other_models_are_refused() -> None:
    with dp.connect({"t": table()}, POLICY) as session:
        records = session.records("SELECT x, y FROM t", label="y")
        model = learn.NaiveBayes(dp.pure(1)).fit(records)
        before = session.remaining
        for query, label in (
            ("SELECT x, z, y FROM t", "y"),
            ("SELECT x / 2 AS x, y FROM t", "y"),
            ("SELECT x, z FROM t", "z"),
        ):
            with pytest.raises(ParameterError, match="trained on"):
                learn.evaluate(model, session.records(query, label=label), dp.pure(1))
        for wrong in (None, "model", learn.NaiveBayes()):
            with pytest.raises(ParameterError, match="takes a model"):
                learn.evaluate(wrong, records, dp.pure(1))
        with pytest.raises(ParameterError, match="spend"):
            learn.evaluate(model, records, 1.0)  # type: ignore[arg-type]
        assert session.remaining == before


def test_a_changed_certificate_is_refused() -> None:
    with dp.connect({"t": table(200)}, POLICY) as session:
        records = session.records("SELECT x, y FROM t", label="y")
        answer = learn.evaluate(learn.NaiveBayes(dp.pure(1)).fit(records), records, dp.pure(1))
    certificate = json.loads(json.dumps(answer.certificate))
    for change in (
        {"noise": {**certificate["noise"], "scale": "1/2"}},
        {"rows_per_unit": 2},
        {"relation": "substitute"},
        {"target": {"name": "z", "bounds": ["0", "1"]}},
        {"currency": "rho"},
        {"noise": None},
    ):
        with pytest.raises(LedgerError):
            verify_loss({**certificate, **change})
