"""Private logistic regression as scikit-learn has it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.learn.algorithms import Algorithm, LogisticAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier
from discreet.policy import Key
from discreet.privacy import Loss

__all__ = ["LogisticRegression"]


class LogisticRegression(PrivateClassifier):
    """Multinomial logistic regression by noisy gradient steps; on (ε, δ), ρ and μ.

    Nothing is to be tuned: how many steps there are, and how long, follows from the spend, a noisy number of rows, and
    how many inputs and classes there are. Rows are read as directions from a noisy centre, so that units do not matter.

    Parameters
    ----------
    spend
        What fitting costs: (ε, δ), ρ or μ.
    bounds, classes
        Public facts of a matrix; records have theirs from the policy. Classes that are not said are bought with a tenth
        of an (ε, δ).

    Source: ``proofs/learning_linear.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1, 0.7], [0.9, 0.3]] * 500, [0, 1] * 500
    >>> model = learn.LogisticRegression(spend=dp.approx(3, 1e-6), bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.2, 0.6], [0.8, 0.4]])
    array([0, 1])
    """

    def __init__(
        self, spend: Loss | None = None, *, bounds: Bounds | None = None, classes: Sequence[Key] | None = None
    ) -> None:
        self.spend = spend
        self.bounds = bounds
        self.classes = classes

    def _algorithm(self) -> Algorithm:
        return LogisticAlgorithm()
