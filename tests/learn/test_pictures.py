"""Pictures of models and evaluations: numbers that are the model's, a tree whose text predicts, refusals in words."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from typing import Any

import altair
import numpy as np
import pyarrow as pa
import pytest
from learners import inputs_for, some_examples
from sklearn.datasets import load_iris

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.learn._fit import fit_examples
from discreet.learn.algorithms import ALGORITHMS, Algorithm, Bins, DecisionTreeAlgorithm, SearchAlgorithm
from discreet.learn.preparing import PipelineAlgorithm, Preparation

BUDGET: dict[str, Any] = {"epsilon": 9, "delta": "1e-5"}
COLUMNS: dict[str, Any] = {"age": {"type": "float", "bounds": [0, 100]}, "sick": {"type": "bool"}}
POLICY: dict[str, Any] = {
    "version": "1", "budget": BUDGET, "tables": {"visits": {"unit": "person", "max_rows": 1, "columns": COLUMNS}},
}  # fmt: skip


def fitted(algorithm: Algorithm, rows: int = 400) -> learn.Model:
    return fit_examples(some_examples(inputs_for(algorithm), random.Random(2), rows), algorithm, dp.approx(5, "1e-6"))


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_model_has_a_picture(name: str) -> None:
    model = fitted(ALGORITHMS[name]())
    assert isinstance(model.plot(), altair.TopLevelMixin)
    spend = model.to_vega_lite("spend")
    shares = [row["share"] for row in spend["data"]["values"]]
    assert 0.999 < sum(shares) <= 1.001 and min(shares) >= 0
    assert {row["stage"] for row in spend["data"]["values"]} == {
        step.get("measured", step.get("chosen")) for step in model.certificate["steps"]
    }
    has = [what for what in ("terms", "coefficients") if _has(model, what)]
    prepares = isinstance(model.algorithm, Preparation | PipelineAlgorithm)
    assert len(has) == (not prepares and name not in ("decision_tree", "random_forest", "k_means"))
    with pytest.raises(ParameterError, match="a picture is of"):
        model.to_vega_lite("loss")  # type: ignore[arg-type]


def _has(model: learn.Model, what: Any) -> bool:
    try:
        model.to_vega_lite(what)
    except QueryError:
        return False
    return True


@pytest.mark.parametrize("name", ["additive", "naive_bayes"])
def test_terms_are_differences_of_predictions(name: str) -> None:
    """Two rows that differ in one input differ in their log-odds by the difference of two bars."""
    x, y = load_iris(return_X_y=True)
    kind = {"additive": learn.AdditiveModel, "naive_bayes": learn.NaiveBayes}[name]
    model = kind(spend=dp.approx(5, "1e-6"), bins=4, bounds=(0, 8), classes=[0, 1]).fit(x[:100], y[:100])
    panels = model.model_.to_vega_lite()["concat"]
    panel = next(each for each in panels if each["title"]["text"] == "x2")
    rows = {row["bin"]: row["term"] for row in panel["data"]["values"]}
    odds = np.log(model.predict_proba([[5.0, 3.0, 1.0, 1.0], [5.0, 3.0, 5.0, 1.0]]))
    apart = (odds[1, 1] - odds[1, 0]) - (odds[0, 1] - odds[0, 0])
    assert rows["4 to 6"] - rows["0 to 2"] == pytest.approx(apart)
    assert list(rows)[-1] == "missing"


def test_a_coefficient_is_what_half_the_bounds_of_an_input_move() -> None:
    dice = np.random.default_rng(1)
    x = dice.uniform(-1, 1, size=(3_000, 3))
    y = x @ [2.0, -1.0, 0.0]
    ridge = learn.Ridge(spend=dp.approx(50, "1e-3"), bounds=(-1, 1), target_bounds=(-4, 4)).fit(x, y)
    values = ridge.model_.to_vega_lite("coefficients")["data"]["values"]
    near = ridge.predict([[0.1, 0, 0], [0, 0, 0]])
    own = next(row["coefficient"] for row in values if row["input"] == "x0")
    assert [row["input"] for row in values] == ["x0", "x1", "x2"] and own == pytest.approx(
        (near[0] - near[1]) * 10, 0.05
    )


def test_a_tree_in_words_predicts_as_the_tree() -> None:
    """Each leaf of the text is followed back: the bins that lead to it are predicted as it says."""
    model = fitted(DecisionTreeAlgorithm(depth=3, bins=4), 3_000)
    text = model.outline()
    rows = [[age, weight, site] for age in (10, 30, 60, 90, None) for weight in (1, 3, 5, 6.9, None) for site in "abz"]
    for row, predicted in zip(rows, model.predict(rows), strict=True):
        assert _followed(text, dict(zip(("age", "weight", "site"), row, strict=True))) == predicted
    assert max(map(len, re.findall(r"^ *", text, re.MULTILINE))) <= 6


def _followed(text: str, row: dict[str, Any]) -> str:
    """What the text says of a row."""
    depth = 0
    for line in text.splitlines():
        if len(line) - len(line.lstrip()) != 2 * depth:
            continue
        words = line.strip()
        if not words.startswith("if "):
            return words.split(" (")[0]
        depth += _holds(words.removeprefix("if ").removesuffix(":"), row)
    raise AssertionError(text)


def _holds(question: str, row: dict[str, Any]) -> bool:
    name, _, rest = question.partition(" is ")
    value = row[name]
    if name == "site":
        other = value if value in ("a", "b") else "other"
        return (other != rest.removeprefix("not ")) if rest.startswith("not ") else other == rest
    if rest in ("missing", "there"):
        return (value is None) == (rest == "missing")
    edge = float(re.sub("[^0-9.]", "", rest))
    return (value is None or value >= edge) if "or more" in rest else (value is not None and value < edge)


def test_trees_that_are_none_have_no_outline() -> None:
    with pytest.raises(QueryError, match="plot"):
        fitted(ALGORITHMS["naive_bayes"]()).outline()
    chosen = fitted(SearchAlgorithm.among([DecisionTreeAlgorithm(2), DecisionTreeAlgorithm(3)]))
    assert chosen.outline() and chosen.to_vega_lite("spend")
    with pytest.raises(QueryError, match="too large"):
        fitted(DecisionTreeAlgorithm(9)).outline()


def test_a_spend_that_no_certificate_states_is_not_drawn() -> None:
    model = fitted(ALGORITHMS["naive_bayes"]())
    for certificate in ({}, {**model.certificate, "steps": []}, {**model.certificate, "rows_per_unit": 0}):
        bare = learn.Model(model.algorithm, model.inputs, model.parameters, model.loss, certificate)
        with pytest.raises(LedgerError):
            bare.to_vega_lite("spend")


def test_bins_in_words() -> None:
    bins = Bins(inputs_for(ALGORITHMS["naive_bayes"]()), 2)
    assert [bins.texts_of(i) for i in range(3)] == [
        ["0 to 50", "50 to 100", "missing"], ["0.333333 to 3.66667", "3.66667 to 7", "missing"],
        ["a", "b", "null", "other"],
    ]  # fmt: skip
    assert bins.names == ["age", "weight", "site"]


@pytest.fixture(scope="module")
def session() -> Any:
    dice = random.Random(1)
    rows = [(i, dice.uniform(0, 100)) for i in range(2_000)]
    table = pa.table({"person": [i for i, _ in rows], "age": [a for _, a in rows], "sick": [a > 60 for _, a in rows]})
    with dp.connect({"visits": table}, POLICY) as opened:
        yield opened


def test_accuracy_by_epsilon_takes_what_was_paid_for_and_public_rows(session: dp.Session) -> None:
    data = session.records("SELECT age, sick FROM visits", label="sick")
    models = [learn.NaiveBayes(spend=dp.pure(each)).fit(data) for each in (2, 1)]
    answers = [learn.evaluate(each, data, spend=dp.pure("0.5")) for each in models]
    spent = session.spent
    shown = learn.PublicRows(pa.table({"age": [5.0, 95.0, 20.0]}), [False, True, True])
    curve = learn.accuracy_by_epsilon([*zip(models, answers, strict=True), (models[1].model_, shown)])
    assert session.spent == spent
    rows = curve.to_arrow().to_pylist()
    assert [row["epsilon"] for row in rows] == [1, 1, 2]
    assert {row["rows"] for row in rows} == {"private rows, paid for", "public rows"}
    assert rows[2]["estimate"] == answers[0].estimate("accuracy")
    assert rows[2]["low"] == pytest.approx(rows[2]["estimate"] - answers[0].error("accuracy"))
    assert rows[1]["estimate"] == pytest.approx(2 / 3) and 0.2 < rows[1]["low"] < rows[1]["high"] < 1
    assert isinstance(curve.plot(), altair.TopLevelMixin)
    for pairs, words in (
        ([(models[0], data)], "is bought"), ([(models[0], answers[1])], "another model"), ([], "the same target"),
        ([(models[0], 0.9)], "not float"), ([(7, answers[0])], "not int"),
        ([(models[0], learn.PublicRows(shown.rows, [True]))], "3 public rows and 1 labels"),
        ([(fitted(ALGORITHMS["k_means"]()), answers[0])], "no classes"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=words):
            learn.accuracy_by_epsilon(pairs)  # type: ignore[arg-type]


def test_a_loss_in_rho_has_an_epsilon_at_a_delta() -> None:
    x, y = load_iris(return_X_y=True)
    model = learn.NaiveBayes(spend=dp.rho(1), bounds=(0, 8), classes=[0, 1, 2]).fit(x, y)
    measured: Any = [(model, learn.PublicRows(x, y))]
    with pytest.raises(ParameterError, match="delta=1e-6"):
        learn.accuracy_by_epsilon(measured)
    (point,) = learn.accuracy_by_epsilon(measured, delta=Fraction(1, 10**6)).points
    assert point.epsilon == float(dp.rho(1).epsilon(delta=Fraction(1, 10**6)))


def test_evaluations_are_drawn_with_their_intervals(session: dp.Session) -> None:
    data = session.records("SELECT age, sick FROM visits", label="sick")
    answer = learn.evaluate(learn.NaiveBayes(spend=dp.pure(1)).fit(data), data, spend=dp.pure("0.5"))
    spec = answer.to_vega_lite()
    assert "accuracy" in " ".join(spec["title"]["subtitle"]) and isinstance(answer.plot(), altair.TopLevelMixin)
    number = session.records("SELECT sick, age FROM visits", label="age")
    errors = learn.evaluate(learn.Ridge(spend=dp.approx(1, "1e-6")).fit(number), number, spend=dp.approx("0.5", 0))
    assert isinstance(errors.plot(0.9), altair.TopLevelMixin)
