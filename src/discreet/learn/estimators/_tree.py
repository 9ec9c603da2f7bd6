"""A private decision tree as scikit-learn has it."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.utils.validation import check_is_fitted

from discreet.learn.algorithms import Algorithm, DecisionTreeAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier
from discreet.policy import Key
from discreet.privacy import Loss

__all__ = ["DecisionTree"]


class DecisionTree(PrivateClassifier):
    """A classifier of few public questions about a row, each chosen by how far it tells classes apart; on any currency.

    Parameters
    ----------
    spend
        What fitting costs: ε, (ε, δ), ρ or μ.
    depth
        How many questions are asked of a row; None: found from a noisy count of the rows.
    bins
        Into how many equal bins numbers are cut between their bounds; a threshold is an edge of one.
    bounds, classes
        Public facts of a matrix; records have theirs from the policy. Classes that are not said are bought with a tenth
        of an (ε, δ).

    Questions are chosen by permute-and-flip on pure ε, else by the exponential mechanism.
    Source: ``proofs/learning_trees.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1], [0.9]] * 500, [0, 1] * 500
    >>> model = learn.DecisionTree(spend=dp.pure(3), bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.1], [0.9]]), model.loss
    (array([0, 1]), pure(3))

    `outline` is the tree as text.
    """

    def __init__(
        self,
        spend: Loss | None = None,
        *,
        depth: int | None = None,
        bins: int = 32,
        bounds: Bounds | None = None,
        classes: Sequence[Key] | None = None,
    ) -> None:
        self.spend = spend
        self.depth = depth
        self.bins = bins
        self.bounds = bounds
        self.classes = classes

    def _algorithm(self) -> Algorithm:
        return DecisionTreeAlgorithm(self.depth, self.bins)

    def outline(self) -> str:
        """The fitted tree as indented text; see `Model.outline`. Costs nothing."""
        check_is_fitted(self)
        return self.model_.outline()
