"""A private additive model as scikit-learn has estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from discreet.learn.algorithms import AdditiveAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier
from discreet.policy import Key
from discreet.privacy import Loss

__all__ = ["AdditiveModel"]


class AdditiveModel(PrivateClassifier):
    """A classifier that anyone can read: of each input a number for each bin, whose sum says the class. Not on pure ε.

    Parameters
    ----------
    spend
        What fitting costs: (ε, δ), ρ or μ.
    bins
        Into how many equal bins numbers are cut between their bounds; None: 32, or fewer where there are many inputs.
    bounds, classes
        Public facts of a matrix; records have theirs from the policy. Classes that are not said are bought with a tenth
        of an (ε, δ).

    `terms` says what each bin adds. Source: ``proofs/learning_additive.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1], [0.9]] * 500, [0, 1] * 500
    >>> model = learn.AdditiveModel(spend=dp.approx(3, "1e-6"), bins=2, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.1], [0.9]]), model.loss
    (array([0, 1]), approx(3, 1e-06))
    >>> model.terms().column_names
    ['input', 'bin', 'class', 'term']
    """

    def __init__(
        self,
        spend: Loss | None = None,
        *,
        bins: int | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Key] | None = None,
    ) -> None:
        self.spend = spend
        self.bins = bins
        self.bounds = bounds
        self.classes = classes

    def _algorithm(self) -> AdditiveAlgorithm:
        return AdditiveAlgorithm(self.bins)

    def terms(self) -> pa.Table:
        """What each bin of each input adds to the logarithm of each class's odds, as a table; 0 in the mean over rows.

        A bin of a number is the text of its bounds, and the last one of each input is ``"missing"`` or ``"other"``.
        Costs nothing. Raises scikit-learn's `NotFittedError` before `fit`.
        """
        check_is_fitted(self)
        inputs, terms = self.model_.inputs, self.model_.parameters["terms"]
        bins = self._algorithm().binned(inputs)
        names = [(name, text) for i, name in enumerate(bins.names) for text in bins.texts_of(i)]
        classes: list[Any] = [str(each) for each in inputs.classes]
        rows = [
            (*name, classes[i], float(terms[place, i])) for place, name in enumerate(names) for i in range(len(classes))
        ]
        columns: list[Any] = list(zip(*rows, strict=True))
        return pa.table(dict(zip(("input", "bin", "class", "term"), columns, strict=True)))
