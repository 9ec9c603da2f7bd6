"""Features over the records of a ledger: free steps of a pipeline, a part of its question, and one row's own affair."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
import torch
from learners import CLASS, measurer, some_examples, taken
from sklearn import datasets
from torch import nn

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Input, Inputs
from discreet.learn.algorithms import NaiveBayesAlgorithm, SearchAlgorithm, algorithm_from_json
from discreet.learn.evaluation import predictor_of
from discreet.learn.features import Frozen, OrientedGradients
from discreet.learn.preparing import Element, FrozenAlgorithm, GradientsAlgorithm, PipelineAlgorithm, networks_at_hand
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
SPEND, WHOLE = dp.approx(3, "1e-6"), {"epsilon": 100, "delta": "1e-4"}
SIDE = 8
PIXELS = [f"p{i}" for i in range(SIDE * SIDE)]
QUERY = f"SELECT {', '.join(PIXELS)}, page, digit FROM scans"
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": WHOLE,
    "tables": {
        "scans": {
            "unit": "rows",
            "columns": {
                **{name: {"type": "int", "bounds": [0, 16]} for name in PIXELS},
                "page": {"type": "string", "keys": ["left", "right"]},
                "digit": {"type": "int", "keys": list(range(10))},
            },
        }
    },
}


def table() -> pa.Table:
    images, digits = datasets.load_digits(return_X_y=True)
    columns = {name: images[:, i].astype(int) for i, name in enumerate(PIXELS)}
    places = np.arange(len(digits))
    return pa.table({**columns, "page": np.where(places % 2, "left", "right"), "digit": digits})


@pytest.fixture(scope="module")
def scans() -> pa.Table:
    return table()


@pytest.fixture
def session(scans: pa.Table) -> Iterator[dp.Session]:
    with dp.connect({"scans": scans}, POLICY) as opened:
        yield opened


def gradients() -> OrientedGradients:
    return OrientedGradients(shape=(SIDE, SIDE))


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), nn.ReLU(), nn.Flatten())


def pipeline(step: Any, model: Any = None, spend: dp.Loss | None = SPEND) -> learn.Pipeline:
    columns = learn.ColumnTransformer([("image", step, PIXELS)])
    return learn.Pipeline([("columns", columns), ("model", model or learn.LogisticRegression())], spend=spend)


def numbers_of(rows: np.ndarray, inputs: Inputs) -> Examples:
    levels = np.stack([each.levels(rows[:, i]) for i, each in enumerate(inputs.features)], axis=1)
    return Examples(inputs, levels, np.zeros((len(rows), 0), np.int32), np.zeros(len(rows), np.int32))


def pixels(count: int, upper: int = 16) -> Inputs:
    return Inputs(tuple(Input(f"p{i}", None, Fraction(0), Fraction(upper)) for i in range(count)))


def test_a_pipeline_of_gradients_is_charged_once_and_verified_and_its_map_is_in_the_question(
    session: dp.Session, scans: pa.Table, tmp_path: Any
) -> None:
    fitted = pipeline(gradients()).fit(session.records(QUERY, label="digit"))
    assert session.spent == SPEND == fitted.loss
    # 1,797 people at ε = 3; a guess is right for 0.1 of them, and 0.9 is usual.
    assert (fitted.predict(scans) == np.array(scans["digit"])).mean() > 0.7
    again = pipeline(OrientedGradients(shape=(SIDE, SIDE))).fit(session.records(QUERY, label="digit"))
    assert again.model_.to_bytes() == fitted.model_.to_bytes() and session.spent == SPEND
    certificate = json.loads(json.dumps(fitted.certificate))
    stated = certificate["algorithm"]["steps"][0]["algorithm"]["parts"][0]["algorithm"]
    assert stated["name"] == "oriented_gradients" and (stated["height"], stated["width"]) == (SIDE, SIDE)
    assert {each["measured"].partition(":")[0] for each in certificate["steps"]} == {"model"}
    verify_loss(certificate)
    # The norms of the model's steps follow from how many features there are: fewer cells, less noise than stated.
    changed = copy.deepcopy(certificate)
    changed["algorithm"]["steps"][0]["algorithm"]["parts"][0]["algorithm"]["height"] = 9
    with pytest.raises((LedgerError, ParameterError)):
        verify_loss(changed)
    other = pipeline(OrientedGradients(shape=(SIDE, SIDE), smooth=0)).fit(session.records(QUERY, label="digit"))
    assert other.certificate["plan"] != fitted.certificate["plan"] and session.spent == dp.approx(6, "2e-6")
    fitted.model_.save(tmp_path / "digits.model")
    loaded = learn.load(tmp_path / "digits.model")
    frame = scans.slice(0, 40)
    assert (loaded.predict_proba(frame) == fitted.predict_proba(frame)).all()
    shown = fitted.named_steps["columns"].transform(frame)
    assert shown.shape == (40, 128) and shown.min() >= 0 and shown.max() <= gradients().bounds[1]
    names = fitted["columns"].get_feature_names_out()
    assert names[0] == "image__orientedgradients0" and len(set(names)) == 128


@pytest.mark.parametrize("bounds", [None, (0, 16)])
def test_features_of_levels_are_those_of_numbers_within_a_level(bounds: Any) -> None:
    rows = datasets.load_digits().data[:200]
    alone = OrientedGradients(shape=(SIDE, SIDE), pixels=(0, 16))
    within = OrientedGradients(shape=(SIDE, SIDE), pixels=bounds)
    chain = learn.Pipeline([("features", within)], bounds=(0, 16)).fit(rows)
    levels = alone.bounds[1] / LEVELS
    assert np.abs(chain.transform(rows) - alone.transform(rows)).max() <= levels
    assert (chain["features"].transform(rows[:5]) == chain.transform(rows[:5])).all()
    assert list(chain.get_feature_names_out()) == list(alone.fit(rows).get_feature_names_out())
    # Alone again, the same object has features of numbers.
    assert (within.fit(rows).transform(rows) == alone.transform(rows)).all() == (bounds is not None)


@pytest.mark.parametrize("kind", ["gradients", "network"])
def test_what_a_row_becomes_depends_on_it_alone(kind: str) -> None:
    step = OrientedGradients(shape=(4, 3, 2)) if kind == "gradients" else Frozen(nn.Linear(24, 5), shape=(24,), rows=32)
    algorithm, inputs = step._preparation(Fraction(0)), pixels(24)
    rows = some_examples(inputs, random.Random(3), 70)
    algorithm.check(inputs)
    assert not algorithm.buys(inputs) and not algorithm.may_buy and not algorithm.fit(rows, None)  # type: ignore[arg-type]
    ready, after = algorithm.prepare(rows, {}), algorithm.prepared(inputs)
    assert ready.inputs == after and ready.numbers.dtype == np.int32 and ready.cells.shape == (70, 0)
    assert ready.numbers.shape == (70, len(after.numbers)) and len({each.name for each in after.features}) > 4
    assert ((ready.numbers >= 0) & (ready.numbers <= LEVELS)).all()
    for row in range(70):
        assert (algorithm.prepare(taken(rows, [row]), {}).numbers == ready.numbers[row]).all()
    turned = algorithm.prepare(taken(rows, range(69, -1, -1)), {})
    assert (turned.numbers[::-1] == ready.numbers).all()
    assert len(algorithm.prepare(taken(rows, []), {}).numbers) == 0
    assert algorithm_from_json(json.loads(json.dumps(algorithm.to_json()))) == algorithm
    with pytest.raises(KeyError):
        algorithm.row_norms(inputs, "distribution")
    with pytest.raises(ValueError):  # noqa: PT011
        algorithm.check_parameters(inputs, {"mean": np.zeros(1)})


def test_a_model_on_a_frozen_network_states_its_weights_and_finds_it_again_by_them(
    session: dp.Session, scans: pa.Table, tmp_path: Any
) -> None:
    net, frame = network(), scans.slice(0, 30)
    fixed = Frozen(net, shape=(1, SIDE, SIDE))
    fitted = pipeline(fixed, learn.NaiveBayes(bins=4)).fit(session.records(QUERY, label="digit"))
    stated = fitted.certificate["algorithm"]["steps"][0]["algorithm"]["parts"][0]["algorithm"]
    assert stated["weights"] == fixed.digest and stated["features"] == 36
    verify_loss(json.loads(json.dumps(fitted.certificate)))
    again = pipeline(Frozen(copy.deepcopy(net), shape=(1, SIDE, SIDE)), learn.NaiveBayes(bins=4))
    again.fit(session.records(QUERY, label="digit"))
    assert again.model_.to_bytes() == fitted.model_.to_bytes() and session.spent == SPEND
    fitted.model_.save(tmp_path / "digits.model")
    networks_at_hand.clear()  # another process
    loaded = learn.load(tmp_path / "digits.model")
    verify_loss(loaded.certificate)
    with pytest.raises(ParameterError, match=fixed.digest):
        loaded.predict(frame)
    Frozen(network(), shape=(1, SIDE, SIDE)).register()  # of other weights
    with pytest.raises(ParameterError, match="register"):
        loaded.predict(frame)
    before = fitted.loss
    Frozen(net, shape=(1, SIDE, SIDE)).register()
    assert (loaded.predict_proba(frame) == again.predict_proba(frame)).all() and fitted.loss == before
    with dp.connect({"scans": scans.slice(0, 60)}, POLICY) as few:
        assert learn.evaluate(loaded, few.records(QUERY, label="digit"), spend=dp.pure(1)).loss == dp.pure(1)
    # Other weights, or layers that compute something else of the same weights, are another question.
    for other in (network(), nn.Sequential(net[0], nn.Tanh(), net[2])):
        spent = session.spent
        pipeline(Frozen(other, shape=(1, SIDE, SIDE)), learn.NaiveBayes(bins=4)).fit(
            session.records(QUERY, label="digit")
        )
        assert session.spent != spent


@pytest.mark.parametrize("searched", [False, True])
def test_an_evaluation_prepares_rows_together_and_predicts_of_each_what_it_does_alone(*, searched: bool) -> None:
    """Also where a search chose the pipeline: a network runs once on all rows, and not once for each."""
    step, inputs = Frozen(nn.Linear(24, 5), shape=(24,), rows=32)._preparation(Fraction(0)), pixels(24)
    assert isinstance(step, FrozenAlgorithm)
    inputs, bayes = Inputs(inputs.features, CLASS), NaiveBayesAlgorithm(bins=4)
    steps = (Element("features", step), Element("model", bayes))
    rows, spend = some_examples(inputs, random.Random(5), 70), dp.rho(2)
    fitted = bayes.fit(step.prepare(rows, {}), measurer(bayes, step.prepared(inputs), spend))
    parameters, algorithm = {f"model:{name}": each for name, each in fitted.items()}, PipelineAlgorithm(steps)
    outputs = algorithm.outputs(inputs, parameters, rows.numbers, rows.cells)
    if searched:
        algorithm = SearchAlgorithm.among(
            [PipelineAlgorithm((steps[0], Element("model", replace(bayes, bins=5)))), algorithm]
        )
        parameters["chosen"] = np.ones(1)
    predictor = predictor_of(learn.Model(algorithm, inputs, parameters, spend, {}))
    sizes, run = list[int](), networks_at_hand[step]
    with patch.dict(networks_at_hand, {step: lambda known: (sizes.append(len(known)), run(known))[1]}):
        together = predictor.predicted(rows)
    assert sizes == [70] and len(set(together)) > 1 and (outputs.argmax(1) == together).all()
    for row in range(70):
        assert (predictor.predicted(taken(rows, [row])) == together[row]).all()


def test_a_network_that_was_trained_on_is_another_question_and_the_old_model_has_the_old_one(
    session: dp.Session, scans: pa.Table
) -> None:
    net = network()
    steps, frame = pipeline(Frozen(net, shape=(1, SIDE, SIDE)), learn.NaiveBayes(bins=2)), scans.slice(0, 30)
    old = steps.fit(session.records(QUERY, label="digit")).model_
    before, spent = old.predict_proba(frame), session.spent
    with torch.no_grad():
        net[0].weight += 1
    assert (old.predict_proba(frame) == before).all()
    steps.fit(session.records(QUERY, label="digit"))
    assert session.spent != spent and (old.predict_proba(frame) == before).all()


class Fails(nn.Module):
    """It fails on rows that begin with three quarters, and says what they are."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        if (batch[:, 0] == 0.75).any():
            raise ValueError(f"secret {batch}")
        return batch


def test_a_network_that_fails_on_a_row_says_nothing_of_it_and_others_are_what_they_were() -> None:
    algorithm, inputs = Frozen(Fails(), shape=(2,))._preparation(Fraction(0)), pixels(2, 1)
    rows = numbers_of(np.array([[0.25, 0.5], [0.75, 0.25], [0.5, 0.125]]), inputs)
    ready = algorithm.prepare(rows, {}).numbers
    middle = LEVELS // 2
    assert (ready[1] == middle).all() and (ready[[0, 2]] != middle).all()
    for row in range(3):
        assert (algorithm.prepare(taken(rows, [row]), {}).numbers == ready[row]).all()


def test_searches_choose_among_features(session: dp.Session, scans: pa.Table) -> None:
    steps = gradients(), Frozen(network(), shape=(1, SIDE, SIDE))
    search = learn.Search([pipeline(each, learn.NaiveBayes(), None) for each in steps], spend=SPEND, way="all")
    search.fit(session.records(QUERY, label="digit"))
    assert len(search.predict(scans.slice(0, 9))) == 9 and session.spent == SPEND
    verify_loss(json.loads(json.dumps(search.certificate)))


def test_records_that_are_no_images_are_refused_for_nothing(session: dp.Session) -> None:
    records, free = session.records(QUERY, label="digit"), session.spent
    for step, words in (
        (OrientedGradients(shape=(7, 7)), "reads 49 columns"),
        (OrientedGradients(shape=(8, 8), cells=0), "cells"),
        (OrientedGradients(shape=(8, 8), pixels=(1, 0)), "pixels"),
        (Frozen(network()), "say the shape"),
        (Frozen(network(), shape=(8, 8, 1)), "does not read"),
        (Frozen(nn.BatchNorm2d(1, track_running_stats=False), shape=(1, 8, 8)), "other rows"),
        (Frozen(nn.Linear(64, 20_000), shape=(64,)), "may have 10000"),
    ):
        with pytest.raises(ParameterError, match=words):
            pipeline(step).fit(records)
    steps = [("features", gradients()), ("model", learn.NaiveBayes())]
    with pytest.raises(ParameterError, match="page is a category"):
        learn.Pipeline(steps, spend=SPEND).fit(records)
    for ask in (gradients().fit, gradients().transform, gradients().fit_transform):
        with pytest.raises(ParameterError, match="show no rows"):
            ask(records)
    assert session.spent == free


def test_missing_pixels_are_at_the_lower_bound() -> None:
    inputs = pixels(16)
    rows = np.random.default_rng(1).integers(0, 17, (5, 16)).astype(float)
    blank = np.where(rows == 0, np.nan, rows)
    for algorithm in (GradientsAlgorithm(4, 4), GradientsAlgorithm(4, 4, lower="0", upper="16")):
        one, other = (algorithm.prepare(numbers_of(each, inputs), {}).numbers for each in (rows, blank))
        assert (numbers_of(blank, inputs).numbers == MISSING).any() and (one == other).all()


def test_hostile_json_is_refused_and_takes_no_time() -> None:
    good, inputs = GradientsAlgorithm(4, 4), pixels(16)
    good.check(inputs)
    for change in (
        {"height": 10**9, "width": 10**9}, {"height": 0}, {"height": True}, {"width": None}, {"channels": 0},
        {"cells": "4"}, {"cells": 10**9}, {"directions": -1}, {"smooth": 10**9}, {"lower": "0"}, {"upper": 1},
        {"lower": "1", "upper": "0"}, {"lower": "0", "upper": "1" * 10**6}, {"lower": "nan", "upper": "1"},
        {"lower": "0", "upper": "1e999"}, {"cells": 64, "directions": 64, "height": 64, "width": 64},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            algorithm_from_json({**good.to_json(), **change}).check(inputs)
    digest = "0" * 64
    frozen = FrozenAlgorithm("net", digest, digest, "1x4x4", 64, 9)
    frozen.check(inputs)
    for change in (
        {"network": 7}, {"network": "x" * 10**6}, {"weights": ""}, {"layers": "g" * 64}, {"shape": "4x-4"},
        {"shape": "x"}, {"shape": "16x" * 99 + "1"}, {"rows": 0}, {"features": 0}, {"features": 2**40}, {"rows": None},
        {"weights": f"{digest}\n"}, {"shape": "99999999x99999999"},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            algorithm_from_json({**frozen.to_json(), **change}).check(inputs)
    for data in ({**good.to_json(), "more": 1}, {**frozen.to_json(), "shape": [1]}, {"name": "frozen_network"}):
        with pytest.raises(ValueError):  # noqa: PT011
            algorithm_from_json(data)
    with pytest.raises(ParameterError, match="no file"):
        frozen.prepare(numbers_of(np.zeros((0, 16)), inputs), {})


def test_maps_are_no_models_by_themselves() -> None:
    from discreet.learn.algorithms import ALGORITHMS

    assert not {GradientsAlgorithm.name, FrozenAlgorithm.name} & set(ALGORITHMS)
