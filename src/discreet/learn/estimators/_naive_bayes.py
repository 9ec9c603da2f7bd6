"""Private naive Bayes as scikit-learn has it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.learn.algorithms import Algorithm, NaiveBayesAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier
from discreet.policy import Key
from discreet.privacy import Loss

__all__ = ["NaiveBayes"]


class NaiveBayes(PrivateClassifier):
    """A classifier from noisy counts of each input with the class; on any currency, pure ε too.

    Parameters
    ----------
    spend
        What fitting costs: ε, (ε, δ), ρ or μ.
    bins
        Into how many equal bins numbers are cut between their bounds.
    bounds, classes
        Public facts of a matrix; records have theirs from the policy. Classes that are not said are bought with a tenth
        of an (ε, δ).

    Source: ``proofs/naive_bayes.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1], [0.9]] * 500, [0, 1] * 500
    >>> model = learn.NaiveBayes(spend=dp.pure(1), bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.1], [0.9]]), model.loss
    (array([0, 1]), pure(1))
    """

    def __init__(
        self,
        spend: Loss | None = None,
        *,
        bins: int = 8,
        bounds: Bounds | None = None,
        classes: Sequence[Key] | None = None,
    ) -> None:
        self.spend = spend
        self.bins = bins
        self.bounds = bounds
        self.classes = classes

    def _algorithm(self) -> Algorithm:
        return NaiveBayesAlgorithm(self.bins)
