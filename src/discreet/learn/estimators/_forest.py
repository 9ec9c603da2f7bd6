"""A private random forest as scikit-learn has it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.learn.algorithms import Algorithm, RandomForestAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier
from discreet.policy import Key
from discreet.privacy import Loss

__all__ = ["RandomForest"]


class RandomForest(PrivateClassifier):
    """A classifier by the votes of random trees, whose leaves' classes are counted with noise; on any currency.

    Parameters
    ----------
    spend
        What fitting costs: ε, (ε, δ), ρ or μ.
    trees
        How many trees; None: 128, or 16 on pure ε, where the noise of each grows with their number.
    bins
        Into how many equal bins numbers are cut between their bounds; a threshold is an edge of one.
    bounds, classes
        Public facts of a matrix; records have theirs from the policy. Classes that are not said are bought with a tenth
        of an (ε, δ).

    How deep the trees are follows from noisy counts of the classes. Source: ``proofs/learning_trees.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1], [0.9]] * 500, [0, 1] * 500
    >>> model = learn.RandomForest(spend=dp.pure(3), bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.1], [0.9]]), model.loss
    (array([0, 1]), pure(3))
    """

    def __init__(
        self,
        spend: Loss | None = None,
        *,
        trees: int | None = None,
        bins: int = 32,
        bounds: Bounds | None = None,
        classes: Sequence[Key] | None = None,
    ) -> None:
        self.spend = spend
        self.trees = trees
        self.bins = bins
        self.bounds = bounds
        self.classes = classes

    def _algorithm(self) -> Algorithm:
        return RandomForestAlgorithm(self.trees, self.bins)
