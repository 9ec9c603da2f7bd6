"""Private k-means as scikit-learn has it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.algorithms import Algorithm, KMeansAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateEstimator, middles_and_width
from discreet.privacy import Loss

__all__ = ["KMeans"]


class KMeans(PrivateEstimator):
    """Clusters around noisy centres, in the principal directions that stand out from the noise; on (ε, δ), ρ and μ.

    It has no `labels_` of the rows that it was fitted on, for they would be theirs, and no release: `predict` gives
    the clusters of rows that you may see.

    Parameters
    ----------
    spend
        What fitting costs: (ε, δ), ρ or μ.
    n_clusters
        How many clusters there are.
    bounds
        Public facts of a matrix; records have theirs from the policy.

    Attributes
    ----------
    cluster_centers_
        A noisy centre in each row.

    Source: ``proofs/learning_linear.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X = [[0.0, 0.1], [1.0, 0.9], [0.9, 1.0], [0.1, 0.0]] * 500
    >>> model = learn.KMeans(spend=dp.approx(3, 1e-6), n_clusters=2, bounds=(0, 1)).fit(X)
    >>> first, second, third = model.predict([[0.0, 0.0], [1.0, 1.0], [0.1, 0.1]])
    >>> bool(first != second), bool(first == third)
    (True, True)
    """

    def __init__(self, spend: Loss | None = None, *, n_clusters: int = 8, bounds: Bounds | None = None) -> None:
        self.spend = spend
        self.n_clusters = n_clusters
        self.bounds = bounds

    def _algorithm(self) -> Algorithm:
        return KMeansAlgorithm(self.n_clusters)

    def _after_fit(self) -> None:
        middles, width = middles_and_width(self.model_.inputs)
        self.cluster_centers_ = middles + self.model_.parameters["centres"] * width

    def predict(self, X: Any) -> NDArray[np.intp]:  # noqa: N803
        """The cluster of each row of a frame or matrix. Costs nothing."""
        rows = self._rows(X)
        return self.model_.predict(rows)
