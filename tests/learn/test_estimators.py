"""Estimators are scikit-learn's: its own checks of them, and what a matrix needs that records have."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError

ESTIMATORS: dict[str, Any] = {
    "AdditiveModel": learn.AdditiveModel(dp.approx(1_000, 0.1), bins=8, bounds=(-10, 10)),
    "DecisionTree": learn.DecisionTree(dp.approx(1_000, 0.1), bounds=(-10, 10)),
    "KMeans": learn.KMeans(dp.rho(10**6), bounds=(-10, 10)),
    "LogisticRegression": learn.LogisticRegression(dp.approx(10**6, 0.1), bounds=(-10, 10)),
    "NaiveBayes": learn.NaiveBayes(dp.approx(1_000, 0.1), bounds=(-10, 10)),
    "PCA": learn.PCA(dp.rho(10**6), n_components=1, bounds=(-10, 10)),
    "RandomForest": learn.RandomForest(dp.approx(1_000, 0.1), trees=16, bounds=(-10, 10)),
    "Ridge": learn.Ridge(dp.rho(10**6), bounds=(-10, 10), target_bounds=(-300, 300)),
    "Search": learn.Search(learn.NaiveBayes(), {"bins": [7, 8]}, spend=dp.approx(1_000, 0.1), bounds=(-10, 10)),
    "Search of regressions": learn.Search(
        learn.Ridge(), {"penalty": [0.1, 0.2]}, spend=dp.rho(10**6), bounds=(-10, 10), target_bounds=(-300, 300)
    ),
}

FAR = {"bounds": (-10, 10)}
PARTS = [("scaled", learn.StandardScaler(), [0])]
FILLED = [("fill", learn.Imputer()), ("scale", learn.StandardScaler())]
TRANSFORMERS: dict[str, Any] = {
    "Binner": learn.Binner(**FAR),
    "Binner, quantiles": learn.Binner(strategy="quantile", spend=dp.rho(10**6), **FAR),
    "ColumnTransformer": learn.ColumnTransformer(PARTS, remainder="passthrough", spend=dp.rho(10**6), **FAR),
    "Imputer": learn.Imputer(add_indicator=True, **FAR),
    "Imputer, medians": learn.Imputer("median", spend=dp.rho(10**6), **FAR),
    "MinMaxScaler": learn.MinMaxScaler(**FAR),
    "OneHotEncoder": learn.OneHotEncoder(**FAR),
    "OrdinalEncoder": learn.OrdinalEncoder(**FAR),
    "Pipeline": learn.Pipeline(FILLED, spend=dp.rho(10**6), **FAR),
    "StandardScaler": learn.StandardScaler(dp.rho(10**6), **FAR),
}
PIPELINES: dict[str, Any] = {
    "Pipeline of a classifier": learn.Pipeline(
        [*FILLED, ("model", learn.LogisticRegression())], spend=dp.approx(10**6, 0.1), **FAR
    ),
    "Pipeline of a regression": learn.Pipeline(
        [("scale", learn.MinMaxScaler()), ("model", learn.Ridge(target_bounds=(-300, 300)))], spend=dp.rho(10**6), **FAR
    ),
    "Pipeline of clusters": learn.Pipeline([*FILLED, ("model", learn.KMeans())], spend=dp.rho(10**6), **FAR),
    "Pipeline of components": learn.Pipeline(
        [*FILLED, ("model", learn.PCA(n_components=1))], spend=dp.rho(10**6), **FAR
    ),
}
ALL = {**ESTIMATORS, **TRANSFORMERS, **PIPELINES}

TWO_FITS = "two fits on the same rows differ, as their noise does"
BOUGHT_TWICE = {"check_fit_idempotent", "check_pipeline_consistency", "check_transformer_general"}
EXPECTED: dict[str, set[str]] = {
    **{name: BOUGHT_TWICE for name, each in TRANSFORMERS.items() if each.spend is not None},
    "Pipeline of a classifier": {
        *("check_classifier_data_not_an_array", "check_fit_idempotent", "check_supervised_y_2d"),
    },
    "Pipeline of a regression": {
        *("check_fit_idempotent", "check_pipeline_consistency", "check_regressor_data_not_an_array"),
        *("check_regressors_int", "check_supervised_y_2d"),
    },
    "Pipeline of clusters": {"check_fit_idempotent"},
    "Pipeline of components": {"check_fit_idempotent", "check_pipeline_consistency", "check_transformer_general"},
    "KMeans": {"check_fit_idempotent"},
    "AdditiveModel": {"check_classifier_data_not_an_array", "check_fit_idempotent", "check_supervised_y_2d"},
    "DecisionTree": {"check_fit_idempotent", "check_supervised_y_2d"},
    "LogisticRegression": {"check_classifier_data_not_an_array", "check_fit_idempotent", "check_supervised_y_2d"},
    "RandomForest": {"check_fit_idempotent", "check_supervised_y_2d"},
    "PCA": {"check_fit_idempotent", "check_pipeline_consistency"},
    "Ridge": {
        "check_fit_idempotent",
        "check_pipeline_consistency",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_supervised_y_2d",
    },
    "Search": {"check_classifier_data_not_an_array", "check_fit_idempotent", "check_supervised_y_2d"},
    "Search of regressions": {
        "check_fit_idempotent",
        "check_pipeline_consistency",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_supervised_y_2d",
    },
}
"""Checks of scikit-learn that fit twice and want the same; nothing else may fail."""


@pytest.mark.parametrize("name", ALL)
def test_scikit_learn_finds_nothing_wrong(name: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = dict.fromkeys(EXPECTED.get(name, ()), TWO_FITS)
        results = check_estimator(ALL[name], on_fail=None, on_skip=None, expected_failed_checks=expected)
    failed = {each["check_name"]: str(each["exception"]) for each in results if each["status"] == "failed"}
    assert not failed
    assert len(results) >= 40


def test_a_matrix_needs_public_bounds_and_classes() -> None:
    X, y = np.array([[0.0], [1.0]] * 50), [0, 1] * 50  # noqa: N806
    spend = dp.pure(1)
    with pytest.raises(ParameterError, match="bounds"):
        learn.NaiveBayes(spend, classes=[0, 1]).fit(X, y)
    with pytest.raises(ParameterError, match="which classes"):
        learn.NaiveBayes(spend, bounds=(0, 1)).fit(X, y)
    for bounds in ((1, 0), [(0, 1)] * 2, {"z": (0, 1)}, [(0, 1, 2)], ("a", "b")):
        with pytest.raises(ParameterError):
            learn.NaiveBayes(spend, bounds=bounds, classes=[0, 1]).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="classes"):
        learn.NaiveBayes(spend, bounds=(0, 1), classes=[0, "1"]).fit(X, y)


def test_classes_that_are_not_public_are_bought_and_rare_ones_stay_unknown() -> None:
    """A class of one row is shown with probability at most δ/2; those of 500 are, but with probability below 1e-9."""
    X, y = np.zeros((1_001, 1)), ["a"] * 500 + ["b"] * 500 + ["rare"]  # noqa: N806
    fitted = learn.NaiveBayes(dp.approx(1, "1e-9"), bounds=(0, 1)).fit(X, y)
    assert fitted.classes_.tolist() == ["a", "b"] and fitted.loss == dp.approx(1, "1e-9")
    assert fitted.model_.loss == dp.approx("9/10", "1/2000000000")


def test_rows_outside_the_bounds_and_labels_outside_the_classes_are_public_matters() -> None:
    X, y = np.array([[-1e300], [1e300], [0.5]] * 200), [0, 1, 7] * 200  # noqa: N806
    fitted = learn.NaiveBayes(dp.pure(5), bounds=(0, 1), classes=[0, 1]).fit(X, y)
    assert fitted.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_labels_and_classes_are_the_same_whatever_numbers_they_are() -> None:
    X, spend = np.array([[0.0], [1.0]] * 200), dp.pure(5)  # noqa: N806
    for y, classes in (([False, True], [0, 1]), ([0, 1], [False, True]), ([0.0, 1.0], [0, 1])):
        fitted = learn.NaiveBayes(spend, bounds=(0, 1), classes=classes).fit(X, np.array(y * 200))
        assert fitted.predict([[0.0], [1.0]]).tolist() == classes
