"""Linear models, components and clusters: they learn, and what they state is what their steps lose."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn._verify import recompute_model_loss, verify_model_loss
from discreet.privacy import in_currency, parts


def digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


@pytest.mark.parametrize("spend", [dp.approx(1, "1e-6"), dp.rho("0.02"), dp.mu("0.2")])
@pytest.mark.parametrize(
    "estimator",
    [
        learn.LogisticRegression(bounds=(0, 16), classes=range(10)),
        learn.Ridge(bounds=(0, 16), target_bounds=(0, 9)),
        learn.PCA(bounds=(0, 16)),
        learn.KMeans(bounds=(0, 16)),
    ],
)
def test_the_steps_lose_what_is_stated(estimator: Any, spend: Any) -> None:
    """All of the spend is used, but for rounding, and no more."""
    X, y = digits()  # noqa: N806
    certificate = estimator.set_params(spend=spend).fit(X[:50], y[:50]).certificate
    verify_model_loss(certificate)
    currency = certificate["currency"]
    lost = parts(in_currency(recompute_model_loss(certificate), currency))[0]
    if currency != "mu" or spend == dp.mu("0.2"):
        stated = parts(in_currency(spend, currency))[0]
        assert 0.999 * stated <= lost <= stated
    certificate["steps"][-1]["times"] += 1
    with pytest.raises(dp.LedgerError):
        verify_model_loss(certificate)


def test_logistic_regression_reads_digits() -> None:
    """At ε = 1 it is right on nine of ten; below 0.8 less often than once in 1e9."""
    X, y = digits()  # noqa: N806
    fitted = learn.LogisticRegression(dp.approx(1, "1e-6"), bounds=(0, 16), classes=range(10)).fit(X[:1400], y[:1400])
    assert (fitted.predict(X[1400:]) == y[1400:]).mean() > 0.77  # of 482 fits 0.853, with a deviation of 0.0115
    assert np.allclose(fitted.predict_proba(X[:5]).sum(axis=1), 1)


def test_ridge_follows_a_line() -> None:
    X = np.random.default_rng(1).uniform(-1, 1, (5_000, 3))  # noqa: N806
    y = X @ [1.0, -0.5, 0.0] + 0.3
    fitted = learn.Ridge(dp.approx(3, "1e-6"), bounds=(-1, 1), target_bounds=(-2, 2)).fit(X, y)
    assert fitted.score(X, y) > 0.9
    assert (abs(fitted.predict(X * 100)) <= 2).all()


def test_components_hold_most_of_the_variance_of_digits() -> None:
    X, _ = digits()  # noqa: N806
    fitted = learn.PCA(dp.approx(3, "1e-6"), n_components=8, bounds=(0, 16)).fit(X)
    assert np.allclose(fitted.components_ @ fitted.components_.T, np.eye(8))
    along = fitted.transform(X)
    assert along.shape == (len(X), 8)
    assert along.var(axis=0).sum() / X.var(axis=0).sum() > 0.6
    assert 0.6 < fitted.explained_variance_.sum() / along.var(axis=0).sum() < 1  # of rows that are shortened
    assert abs(fitted.mean_ - X.mean(axis=0)).max() < 2
    assert fitted.get_feature_names_out()[0] == "pca0"


def test_clusters_are_near_those_of_lloyd() -> None:
    from sklearn.cluster import KMeans

    X, _ = digits()  # noqa: N806
    fitted = learn.KMeans(dp.approx(3, "1e-6"), n_clusters=10, bounds=(0, 16)).fit(X)
    inertia = ((X - fitted.cluster_centers_[fitted.predict(X)]) ** 2).sum()
    assert inertia < 1.4 * KMeans(10, n_init=3, random_state=0).fit(X).inertia_
    assert not hasattr(fitted, "labels_")


def test_units_do_not_matter_where_they_should_not() -> None:
    """Bounds far from 1, and a column that has one value alone."""
    X, y = digits()  # noqa: N806
    wide = np.column_stack([X * 1e30, np.full(len(X), 7.0)])
    bounds = [(0, 16 * 10**30)] * 64 + [(7, 7)]
    fitted = learn.LogisticRegression(dp.approx(3, "1e-6"), bounds=bounds, classes=range(10)).fit(wide, y)
    assert fitted.score(wide, y) > 0.85
    components = learn.PCA(dp.approx(3, "1e-6"), n_components=2, bounds=bounds).fit(wide)
    assert components.transform(wide).var() > 1e60


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (learn.LogisticRegression(dp.pure(1), bounds=(0, 1), classes=[0, 1]), "no pure ε"),
        (learn.LogisticRegression(dp.rho(1), bounds=(0, 1), classes=[0]), "two classes"),
        (learn.Ridge(dp.rho(1), bounds=(0, 1)), "public bounds of y"),
        (learn.PCA(dp.rho(1), n_components=3, bounds=(0, 1)), "no 3 components"),
        (learn.PCA(dp.rho(1), n_components=0, bounds=(0, 1)), "whole number from 1"),
        (learn.PCA(dp.rho(1), bounds=(1, 1)), "one value alone"),
        (learn.KMeans(dp.rho(1), n_clusters=0, bounds=(0, 1)), "whole number from 1"),
        (learn.KMeans(dp.pure(1), bounds=(0, 1)), "no pure ε"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(estimator: Any, message: str) -> None:
    X, y = np.zeros((10, 2)), [0, 1] * 5  # noqa: N806
    with warnings.catch_warnings(), pytest.raises(ParameterError, match=message):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "changed"),
    [
        (learn.LogisticRegression(bounds=(0, 16), classes=range(10)), {"radius": np.array(1e-320)}),
        (learn.LogisticRegression(bounds=(0, 16), classes=range(10)), {"radius": np.array(-1.0)}),
        (learn.Ridge(bounds=(0, 16), target_bounds=(0, 9)), {"centre": np.full(64, 1e300)}),
        (learn.PCA(bounds=(0, 16)), {"components": np.full((2, 64), 1e300)}),
        (learn.KMeans(bounds=(0, 16)), {"centres": np.full((8, 64), 1e300)}),
    ],
)
def test_parameters_that_no_fit_ends_with_are_refused(estimator: Any, changed: Any) -> None:
    X, y = digits()  # noqa: N806
    model = estimator.set_params(spend=dp.rho(1)).fit(X[:50], y[:50]).model_
    model.algorithm.check_parameters(model.inputs, model.parameters)
    with pytest.raises(ValueError):  # noqa: PT011
        model.algorithm.check_parameters(model.inputs, {**model.parameters, **changed})
