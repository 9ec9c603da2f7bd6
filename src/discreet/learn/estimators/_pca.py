"""Private principal components as scikit-learn has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from discreet.learn.algorithms import Algorithm, PcaAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateEstimator, RowTransformer, middles_and_width
from discreet.privacy import Loss

__all__ = ["PCA"]


class PCA(ClassNamePrefixFeaturesOutMixin, RowTransformer, PrivateEstimator):
    """Principal components of noisy second moments around a noisy mean; on (ε, δ), ρ and μ.

    As in scikit-learn, inputs with wider bounds count more: scale them first, if their units mean nothing.

    Parameters
    ----------
    spend
        What fitting costs: (ε, δ), ρ or μ.
    n_components
        How many components there are.
    bounds
        Public facts of a matrix; records have theirs from the policy.

    Attributes
    ----------
    components_, explained_variance_, mean_
        As scikit-learn's, all noisy; signs are as they come. The variances are those of rows that are shortened to half
        of the way from the middle of all bounds to their corner, and so too small where many are longer.

    Source: ``proofs/learning_linear.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X = [[0.0, 0.1], [1.0, 0.9], [0.9, 1.0], [0.1, 0.0]] * 500
    >>> model = learn.PCA(spend=dp.approx(3, 1e-6), n_components=1, bounds=(0, 1)).fit(X)
    >>> abs(model.components_).round(1)
    array([[0.7, 0.7]])
    """

    def __init__(self, spend: Loss | None = None, *, n_components: int = 2, bounds: Bounds | None = None) -> None:
        self.spend = spend
        self.n_components = n_components
        self.bounds = bounds

    def _algorithm(self) -> Algorithm:
        return PcaAlgorithm(self.n_components)

    def _after_fit(self) -> None:
        parameters = self.model_.parameters
        middles, width = middles_and_width(self.model_.inputs)
        self.components_ = parameters["components"]
        self.explained_variance_ = parameters["variances"] * width**2
        self.mean_ = middles + parameters["centre"] * width

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """How far each row of a frame or matrix is along each component. Costs nothing."""
        rows = self._rows(X)
        return self.model_.transform(rows)

    @property
    def _n_features_out(self) -> int:
        return self.n_components
