"""Search: all candidates are paid for, the better one is chosen, and the certificate adds everything up."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError, ParameterError
from discreet.learn.algorithms import NaiveBayesAlgorithm, PcaAlgorithm, SearchAlgorithm
from discreet.release import verify_loss


def rows(many: int) -> tuple[Any, Any]:
    """Two classes in alternating eighths: two bins tell nothing, eight tell all."""
    x = np.arange(many) / many
    return x[:, None], (np.floor(x * 8) % 2).astype(int)


def search(spend: dp.Loss, way: Any = "all", **grid: Any) -> learn.Search:
    return learn.Search(learn.NaiveBayes(), grid, spend=spend, way=way, bounds=(0, 1), classes=[0, 1])


def test_the_better_setting_is_chosen() -> None:
    """2,000 right against about 1,000 at ε = .2: the worse one is chosen with probability below e^-90."""
    fitted = search(dp.pure(2), bins=[2, 8]).fit(*rows(2_000))
    assert fitted.best_params_ == {"bins": 8} and fitted.best_estimator_.bins == 8
    assert fitted.score(*rows(500)) > 0.9 and fitted.loss == dp.pure(2)


def test_every_candidate_is_in_the_certificate_and_paid() -> None:
    certificate = json.loads(json.dumps(dict(search(dp.pure(2), bins=[2, 4, 8]).fit(*rows(300)).certificate)))
    names = [each.get("measured", each.get("chosen")) for each in certificate["steps"]]
    assert names == ["0:counts", "1:counts", "2:counts", "right"]
    assert verify_loss(certificate) is None
    for change in (
        {"steps": [*certificate["steps"], certificate["steps"][0]]},
        {"steps": [{**each, "sensitivity": 0} if "chosen" in each else each for each in certificate["steps"]]},
        {"steps": [{**certificate["steps"][0], "measured": "7:counts"}]},
        {"steps": [{**certificate["steps"][0], "measured": "right"}, *certificate["steps"][1:], *certificate["steps"]]},
    ):
        with pytest.raises(LedgerError):
            verify_loss({**certificate, **change})


def test_what_is_no_search_is_refused() -> None:
    good = [NaiveBayesAlgorithm(2), NaiveBayesAlgorithm(4)]
    for bad in ("", "[]", "{}", "[1, 2]", json.dumps([good[0].to_json()] * 2), json.dumps([good[0].to_json()]), 7):
        with pytest.raises(ParameterError):
            _ = SearchAlgorithm(bad).algorithms  # type: ignore[arg-type]
    for each in ([*good, PcaAlgorithm()], [*good, SearchAlgorithm.among(good)]):  # type: ignore[list-item]
        with pytest.raises(ParameterError, match="classifiers"):
            _ = SearchAlgorithm.among(each).algorithms
    with pytest.raises(ParameterError, match="has no parameter depth"):
        search(dp.pure(1), depth=[1, 2]).fit(*rows(50))
    with pytest.raises(ParameterError, match="private classifier"):
        learn.Search(None, {}, spend=dp.pure(1), bounds=(0, 1), classes=[0, 1]).fit(*rows(50))
    mixed = learn.Search([learn.NaiveBayes(), learn.LogisticRegression()], bounds=(0, 1), classes=[0, 1])
    with pytest.raises(ParameterError, match="no pure"):
        mixed.set_params(spend=dp.pure(1)).fit(*rows(50))
    assert mixed.set_params(spend=dp.rho(1)).fit(*rows(200)).loss == dp.rho(1)


def test_a_model_of_a_search_comes_back_from_its_bytes() -> None:
    fitted = search(dp.pure(2), bins=[2, 8]).fit(*rows(300)).model_
    again = learn.Model.from_bytes(fitted.to_bytes())
    assert again.to_bytes() == fitted.to_bytes()
    x, _ = rows(50)
    assert (again.predict_proba(x) == fitted.predict_proba(x)).all()
    content = fitted.to_dict()
    content["parameters"]["chosen"]["data"] = content["parameters"]["priors"]["data"][:11] + "="
    with pytest.raises(LedgerError):
        learn.Model.from_bytes(json.dumps(content).encode())
