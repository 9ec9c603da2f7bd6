"""Pipelines on a ledger are one question, charged once; scikit-learn's own ways to look at records are refused."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.learn._verify import verify_model_loss
from discreet.learn.preparing import BinnerAlgorithm
from discreet.ledger import verify_release
from discreet.release import parse_release_file, verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
SPEND = dp.approx(1, "1e-6")
WHOLE = dp.approx(3, "1e-5")
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 3, "delta": "1e-5"},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 2,
            "columns": {
                "age": {"type": "float", "bounds": [0, 100_000]},
                "town": {"type": "string", "keys": ["Bern", "Rome", "Wien", "Graz", "Basel"]},
                "cost": {"type": "int", "bounds": [0, 9]},
                "sick": {"type": "bool"},
            },
        }
    },
}
QUERY = "SELECT age, town, cost, sick FROM visits"


def _visits() -> pa.Table:
    """Ages far below their bounds, which tell who is sick, and towns that tell it too."""
    dice = random.Random(5)
    sick = [dice.random() < 0.5 for _ in range(4_000)]
    return pa.table({
        "person": [i // 2 for i in range(4_000)],
        "age": [None if dice.random() < 0.2 else 3_000 + 4_000 * each + dice.gauss(0, 900) for each in sick],
        "town": [dice.choice(["Bern", "Bern", "Rome", None, "Graz"] if each else ["Rome", "Wien"]) for each in sick],
        "cost": [dice.randrange(10) for _ in sick],
        "sick": sick,
    })  # fmt: skip


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return _visits()


@pytest.fixture
def session(visits: pa.Table) -> Iterator[dp.Session]:
    with dp.connect({"visits": visits}, POLICY) as opened:
        yield opened


def pipeline(model: Any = None, spend: dp.Loss | None = SPEND) -> learn.Pipeline:
    parts = [
        ("numbers", learn.Pipeline([("fill", learn.Imputer("median")), ("scale", learn.StandardScaler())]), ["age"]),
        ("towns", learn.OneHotEncoder(max_categories=4), ["town"]),
        ("cost", "passthrough", ["cost"]),
    ]
    steps = [("columns", learn.ColumnTransformer(parts)), ("model", model or learn.LogisticRegression())]
    return learn.Pipeline(steps, spend=spend)


def test_a_pipeline_is_one_question_charged_once_and_verified(session: dp.Session, visits: pa.Table) -> None:
    fitted = pipeline().fit(session.records(QUERY, label="sick"))
    assert session.spent == SPEND == fitted.loss
    again = pipeline().fit(session.records(QUERY, label="sick"))
    assert again.model_.to_bytes() == fitted.model_.to_bytes() and session.spent == SPEND
    # 2,000 people at ε = 1, four fifths of whom their age tells: a fair coin has this with probability below 1e-30.
    assert (fitted.predict(visits) == np.array(visits["sick"].to_pylist())).mean() > 0.7
    certificate = json.loads(json.dumps(fitted.certificate))
    names = [each["measured"] for each in certificate["steps"]]
    assert names[:3] == [
        "columns:numbers:fill:distribution",
        "columns:numbers:scale:distribution",
        "columns:towns:values",
    ]
    assert all(name.startswith("model:") for name in names[3:]) and len(names) > 5
    verify_loss(certificate)
    changed = copy.deepcopy(certificate)
    changed["algorithm"]["steps"][0]["algorithm"]["parts"][0]["columns"] = ["town"]
    for change in (
        changed,
        {**certificate, "steps": [{**certificate["steps"][0], "times": 2}, *certificate["steps"][1:]]},
        {**certificate, "steps": [{**certificate["steps"][2], "sigma": "1"}, *certificate["steps"]]},
        {**certificate, "steps": [{**certificate["steps"][0], "measured": "columns:numbers:scale:values"}]},
    ):
        with pytest.raises(LedgerError):
            verify_loss(change)
    other = pipeline().set_params(columns__towns__max_categories=2).fit(session.records(QUERY, label="sick"))
    assert other.certificate["plan"] != fitted.certificate["plan"] and session.spent == dp.approx(2, "2e-6")


def test_the_model_in_a_file_prepares_raw_rows(session: dp.Session, visits: pa.Table, tmp_path: Any) -> None:
    fitted = pipeline().fit(session.records(QUERY, label="sick"))
    fitted.model_.save(tmp_path / "sick.model")
    loaded = learn.load(tmp_path / "sick.model")
    frame = visits.slice(0, 50)
    assert (loaded.predict_proba(frame) == fitted.predict_proba(frame)).all()
    assert (loaded.predict(frame.to_pandas()) == fitted.predict(frame.select(["cost", "town", "age"]))).all()
    content = fitted.model_.to_dict()
    assert {each.result for each in verify_release(parse_release_file(json.dumps(content).encode()))} <= {
        "good", "not checked",
    }  # fmt: skip
    name = "columns:numbers:scale:deviations"
    for value in ("AAAAAAAAAAA=", "AAAAAAAA8H8="):  # 0, and infinity
        content["parameters"][name]["data"] = value
        with pytest.raises(LedgerError):
            learn.Model.from_bytes(json.dumps(content).encode())


@pytest.mark.parametrize("changes", [150, pytest.param(3_000, marks=pytest.mark.soak)])
def test_hostile_files_of_pipelines_are_refused_and_run_nothing(
    session: dp.Session, visits: pa.Table, changes: int
) -> None:
    """Values of the JSON are replaced, and parts of it by other parts; what is read answers for rows."""
    fitted = pipeline(learn.NaiveBayes()).fit(session.records(QUERY, label="sick"))
    dice, payload, rows = random.Random(changes), fitted.model_.to_bytes(), visits.slice(0, 9)
    values: list[Any] = [None, -1, 2**70, 1e308, "", "x" * 100, [], {}, [[]], True, "NaN", "1/0", "1e9999999", 0, 1]
    read = 0
    for _ in range(changes):
        content: Any = json.loads(payload)
        places: list[tuple[Any, Any]] = []
        queue = [content]
        while queue:
            parent = queue.pop()
            keys = list(parent) if isinstance(parent, dict) else range(len(parent))
            places += [(parent, key) for key in keys]
            queue += [parent[key] for key in keys if isinstance(parent[key], dict | list)]
        parent, key = dice.choice(places)
        other, at = dice.choice(places)
        parent[key] = copy.deepcopy(other[at]) if dice.random() < 0.5 else dice.choice(values)
        try:
            loaded = learn.Model.from_bytes(json.dumps(content).encode())
        except LedgerError:
            continue
        read += 1
        with suppress(ParameterError):  # rows have other columns than a changed model reads
            loaded.outputs(rows)
        repr(loaded)
    assert 0 < read < changes


def test_fitted_steps_read_what_comes_before_them(session: dp.Session, visits: pa.Table) -> None:
    fitted = pipeline(learn.NaiveBayes(bins=4)).fit(session.records(QUERY, label="sick"))
    columns, model = fitted[0], fitted["model"]
    assert fitted.named_steps.model.model_.to_bytes() == model.model_.to_bytes()
    scale = columns.named_transformers_["numbers"].named_steps["scale"]
    # The age is about 5,000 ± 2,000, and 20 bounds wide; noise moves both by a few hundred.
    assert abs(scale.mean_[0] - 5_000) < 1_000 and abs(scale.scale_[0] - 2_000) < 1_000
    merged = columns.named_transformers_["towns"].categories_[0]
    assert len(merged) == 4 and sorted(len(each) for each in merged) == [1, 1, 1, 3]  # with null, six values
    ready = columns.transform(visits.slice(0, 9))
    assert ready.shape == (9, 6) and columns.get_feature_names_out().tolist()[0] == "numbers__age"
    assert (model.predict(ready) == fitted.predict(visits.slice(0, 9))).all()
    assert fitted.classes_.tolist() == [False, True] and is_classifier(fitted)
    with pytest.raises(AttributeError):
        fitted.transform(ready)


def test_a_search_may_be_the_last_step_and_a_model_of_a_pipeline_is_evaluated(session: dp.Session) -> None:
    search = learn.Search(learn.NaiveBayes(), {"bins": [2, 8]})
    records = session.records(QUERY, label="sick")
    fitted = pipeline(search).fit(records)
    assert fitted["model"].best_params_["bins"] in (2, 8)
    answer = learn.evaluate(fitted, records, spend=dp.pure(1))
    assert session.spent == dp.approx(2, "1e-6") and answer.loss == dp.pure(1)


@pytest.mark.parametrize("model", [learn.Ridge(), learn.KMeans(n_clusters=2), learn.PCA(), learn.AdditiveModel()])
def test_any_model_may_be_the_last_step(session: dp.Session, visits: pa.Table, model: Any) -> None:
    label = {"Ridge": "cost", "AdditiveModel": "sick"}.get(type(model).__name__)
    steps = [("fill", learn.Imputer("mean")), ("encode", learn.OneHotEncoder()), ("model", model)]
    fitted = learn.Pipeline(steps, spend=SPEND).fit(session.records(QUERY, label=label))
    ask = fitted.transform if isinstance(model, learn.PCA) else fitted.predict
    assert len(ask(visits)) == 4_000 and is_regressor(fitted) == isinstance(model, learn.Ridge)
    verify_loss(fitted.certificate)


def test_transformers_stand_alone_on_records(session: dp.Session, visits: pa.Table) -> None:
    records = session.records(QUERY)
    free = learn.MinMaxScaler().fit(records)
    assert session.remaining == WHOLE and free.loss.epsilon(0) == 0
    assert learn.Model.from_bytes(free.model_.to_bytes()).to_bytes() == free.model_.to_bytes()
    assert free.transform(visits.slice(0, 5)).shape == (5, 4)
    with pytest.raises(ParameterError, match="leave spend out"):
        learn.MinMaxScaler(spend=SPEND).fit(records)
    with pytest.raises(ParameterError, match="all of it is public"):
        session.answer(learn.Fit(records.plan, None, BinnerAlgorithm(strategy="uniform"), SPEND))
    with pytest.raises(ParameterError, match="no default"):
        learn.StandardScaler().fit(records)
    assert session.remaining == WHOLE
    scaler = learn.StandardScaler(spend=SPEND).fit(records)
    assert session.spent == SPEND
    verify_loss(scaler.certificate)


def test_what_is_no_pipeline_is_refused_for_nothing(session: dp.Session) -> None:
    from sklearn.preprocessing import StandardScaler

    records, model = session.records(QUERY, label="sick"), learn.LogisticRegression()
    scale = learn.StandardScaler
    wrong: list[tuple[Any, str]] = [
        ([("scale", StandardScaler()), ("model", model)], "no transformer of discreet.learn"),
        ([("model", model), ("scale", scale())], "no transformer"),
        ([("scale", scale(SPEND)), ("model", model)], "a spend of its own"),
        ([("scale", scale()), ("model", learn.LogisticRegression(bounds=(0, 1)))], "bounds of its own"),
        ([("scale", scale(share=1)), ("model", model)], "share"),
        ([("scale", scale(share="0.5")), ("more", scale(share="0.5")), ("model", model)], "nothing for the model"),
        ([("scale", scale()), ("scale", model)], "same name"),
        ([("a__b", scale()), ("model", model)], "two underscores"),
        ([scale(), model], "pairs"),
        ([], "a step or more"),
        ([("columns", learn.ColumnTransformer([("a", scale(), ["weight"])])), ("model", model)], "no column 'weight'"),
        (
            [("columns", learn.ColumnTransformer([("a", StandardScaler(), ["age"])])), ("model", model)],
            "no transformer",
        ),
        ([("columns", learn.ColumnTransformer([("a", scale(), ["town"])])), ("model", model)], "no number"),
        ([("columns", learn.ColumnTransformer([(scale(), ["age"])])), ("model", model)], "triples"),
        ([("columns", learn.ColumnTransformer([("a", scale(), None)])), ("model", model)], "list of names"),
        ([("columns", learn.ColumnTransformer([("a", "drop", ["age"])])), ("model", model)], "none makes a column"),
        ([("columns", learn.ColumnTransformer([])), ("model", model)], "one transformer or more"),
        ([("columns", learn.ColumnTransformer([], remainder="keep")), ("model", model)], "remainder"),
    ]
    for steps, words in wrong:
        with pytest.raises(ParameterError, match=words):
            learn.Pipeline(steps, spend=SPEND).fit(records)
    with pytest.raises(ParameterError, match="no default"):
        pipeline(spend=None).fit(records)
    with pytest.raises(ParameterError, match="no pure"):
        pipeline(spend=dp.pure(1)).fit(records)
    assert session.remaining == WHOLE


def _looks() -> dict[str, Callable[[Any], object]]:
    """What scikit-learn and others would look at rows with."""
    from sklearn import calibration, compose, model_selection, preprocessing
    from sklearn.pipeline import make_pipeline, make_union

    bayes, grid = learn.NaiveBayes(SPEND), {"bins": [2, 4]}
    theirs = preprocessing.StandardScaler()
    return {
        "asarray": np.asarray,
        "len": len,
        "list": list,
        "a row": lambda records: records[0],
        "a row in it": lambda records: 3 in records,
        "arrow": pa.array,
        "grid search": model_selection.GridSearchCV(bayes, grid).fit,
        "randomized search": model_selection.RandomizedSearchCV(bayes, grid, n_iter=1).fit,
        "scores": lambda records: model_selection.cross_val_score(bayes, records),
        "predictions": lambda records: model_selection.cross_val_predict(bayes, records),
        "split": model_selection.train_test_split,
        "folds": lambda records: list(model_selection.KFold().split(records)),
        "threshold": lambda records: model_selection.TunedThresholdClassifierCV(bayes).fit(records, records),
        "calibration": lambda records: calibration.CalibratedClassifierCV(bayes).fit(records, records),
        "their scaler": theirs.fit,
        "their pipeline": make_pipeline(theirs, bayes).fit,
        "their pipeline of ours": make_pipeline(learn.StandardScaler(SPEND), bayes).fit,
        "their pipeline of free ones": make_pipeline(learn.MinMaxScaler(), bayes).fit,
        "their pipeline of components": make_pipeline(learn.PCA(SPEND), bayes).fit,
        "their pipeline of pipelines": make_pipeline(
            learn.Pipeline([("scale", learn.StandardScaler())], spend=SPEND), bayes
        ).fit,
        "their columns": compose.ColumnTransformer([("a", theirs, ["age"])]).fit,
        "their columns of ours": compose.ColumnTransformer([("a", learn.StandardScaler(SPEND), ["age"])]).fit,
        "their union": make_union(learn.StandardScaler(SPEND)).fit_transform,
    }


@pytest.mark.parametrize("name", _looks())
def test_other_ways_to_look_at_records_are_refused_in_words_for_nothing(session: dp.Session, name: str) -> None:
    records = session.records(QUERY, label="sick")
    look = _looks()[name]
    with pytest.raises(ParameterError, match=r"learn\.Pipeline") as refused:
        look(records)
    words = str(refused.value)
    assert "4000" not in words and "4,000" not in words
    assert session.remaining == WHOLE and records


def test_what_records_say_of_other_ways() -> None:
    with dp.connect({"visits": _visits().slice(0, 0)}, POLICY) as session:
        records = session.records(QUERY)
        with pytest.raises(ParameterError, match=r"learn\.Search.*learn\.Trainer.*learn\.evaluate"):
            len(records)
        assert records


def test_parameters_of_steps_have_their_names() -> None:
    given = pipeline()
    assert given.get_params()["columns__numbers__scale__clip"] == 3
    other = clone(given).set_params(columns__numbers__scale__clip=5, model=learn.NaiveBayes())
    assert other.get_params()["columns__numbers__scale__clip"] == 5
    assert given.get_params()["columns__numbers__scale__clip"] == 3
    assert isinstance(other.named_steps["model"], learn.NaiveBayes)
    with pytest.raises(ValueError, match="Invalid parameter"):
        other.set_params(columns__numbers__scale__depth=5)


def test_a_matrix_with_what_is_missing() -> None:
    dice = np.random.default_rng(1)
    y = dice.integers(2, size=3_000)
    X = np.stack([dice.normal(3 + y, 1), dice.normal(0, 1, 3_000)], axis=1)  # noqa: N806
    X[::5, 0] = np.nan
    steps = [("fill", learn.Imputer("mean", add_indicator=True)), ("scale", learn.StandardScaler())]
    for model in (learn.LogisticRegression(classes=[0, 1]), learn.LogisticRegression()):
        fitted = learn.Pipeline([*steps, ("model", model)], spend=dp.approx(3, "1e-6"), bounds=(-1_000, 1_000)).fit(
            X, y
        )
        assert fitted.score(X, y) > 0.55 and fitted.loss == dp.approx(3, "1e-6")
        names = list(fitted["scale"].get_feature_names_out())
        assert names == ["x0", "x1", "x0 is missing", "x1 is missing"]
    ridge = learn.Pipeline([*steps, ("model", learn.Ridge(target_bounds=(0, 1)))], spend=dp.rho(1), bounds=(-9, 9))
    assert ridge.fit(X, y).score(X, y) > 0.05
    with pytest.raises(ParameterError, match="bounds"):
        learn.Pipeline([("scale", learn.MinMaxScaler())]).fit(X)
    with pytest.raises(QueryError):
        ridge.model_.transform(X)


@pytest.mark.parametrize("way", ["all", "random"])
def test_a_search_may_be_among_pipelines(session: dp.Session, way: Any) -> None:
    steps = [("scale", learn.StandardScaler()), ("model", learn.NaiveBayes())]
    grid = {"scale__clip": [2, 3], "model__bins": [4, 8]}
    search = learn.Search(learn.Pipeline(steps), grid, spend=dp.approx(1, "1e-6"), way=way)
    fitted = search.fit(session.records(QUERY, label="sick"))
    assert set(fitted.best_params_) == {"scale__clip", "model__bins"}
    verify_model_loss(fitted.certificate)


def test_tries_inside_a_pipeline_are_refused(session: dp.Session) -> None:
    search = learn.Search(learn.NaiveBayes(), {"bins": [2, 4, 8, 16]}, way="random")
    with pytest.raises(ParameterError, match="put the pipeline into the search"):
        learn.Pipeline([("fill", learn.Imputer()), ("model", search)], spend=dp.approx(1, "1e-6")).fit(
            session.records(QUERY, label="sick")
        )


def _filled_with(value: Any) -> learn.Pipeline:
    ages = learn.ColumnTransformer([("ages", learn.Imputer("constant", fill_value=value), ["age"])])
    return learn.Pipeline([("fill", ages), ("model", learn.NaiveBayes())], spend=dp.pure(1))


@pytest.mark.parametrize("value", [99.5, 99, np.float64(0.25), np.int64(7), "1/3"])
def test_whatever_number_fills_is_in_the_signed_certificate(session: dp.Session, value: Any) -> None:
    """A float in a certificate cannot be signed, which was found out after the charge."""
    model = _filled_with(value).fit(session.records(QUERY, label="sick")).model_
    assert learn.Model.from_bytes(model.to_bytes()).algorithm == model.algorithm
    assert session.remaining == dp.approx(2, "1e-5")
    verify_model_loss(model.certificate)


def test_what_no_number_can_be_fills_none_and_costs_nothing(session: dp.Session) -> None:
    for value in (float("inf"), float("nan"), 10**400, 10**5_000, 1e308, True, "x", b"1"):
        with pytest.raises(ParameterError, match="fill"):
            _filled_with(value).fit(session.records(QUERY, label="sick"))
    assert session.remaining == WHOLE


def test_a_part_of_a_pipeline_tries_no_random_number_of_times(session: dp.Session) -> None:
    """It was ignored in silence: all candidates were paid for."""
    steps = [("model", learn.Search(learn.NaiveBayes(), {"bins": [2, 4]}, tries=8))]
    with pytest.raises(ParameterError, match="put the pipeline into the search"):
        learn.Pipeline(steps, spend=dp.pure(1)).fit(session.records(QUERY, label="sick"))
    assert session.remaining == WHOLE
