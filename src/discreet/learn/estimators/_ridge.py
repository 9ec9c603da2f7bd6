"""Private ridge regression as scikit-learn has it."""

from __future__ import annotations

from discreet.learn.algorithms import Algorithm, RidgeAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateRegressor
from discreet.privacy import Loss
from discreet.rational import Number, rational

__all__ = ["Ridge"]


class Ridge(PrivateRegressor):
    """Linear regression by noisy second moments and two noisy gradients; on (ε, δ), ρ and μ.

    How much it is regularised follows from the noise, which is public. A prediction is moved into the target's bounds.

    Parameters
    ----------
    spend
        What fitting costs: (ε, δ), ρ or μ.
    penalty
        The penalty on weights, in parts of what noise alone would make of the second moments, from 0.
    bounds, target_bounds
        Public facts of a matrix and of what is predicted; records have theirs from the policy.

    Source: ``proofs/learning_linear.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.0], [0.5], [1.0]] * 500, [0, 1, 2] * 500
    >>> model = learn.Ridge(spend=dp.approx(3, 1e-6), bounds=(0, 1), target_bounds=(0, 2)).fit(X, y)
    >>> model.predict([[0.5]]).round(0)
    array([1.])
    """

    def __init__(
        self,
        spend: Loss | None = None,
        *,
        penalty: Number = 0.2,
        bounds: Bounds | None = None,
        target_bounds: tuple[Number, Number] | None = None,
    ) -> None:
        self.spend = spend
        self.penalty = penalty
        self.bounds = bounds
        self.target_bounds = target_bounds

    def _algorithm(self) -> Algorithm:
        return RidgeAlgorithm(str(rational(self.penalty, "penalty")))
