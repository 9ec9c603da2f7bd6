"""A paid choice among private classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from sklearn.base import clone

from discreet.errors import ParameterError
from discreet.learn.algorithms import Algorithm, SearchAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier
from discreet.policy import Key
from discreet.privacy import Loss

__all__ = ["Search"]


class Search(PrivateClassifier):
    """Fits a private classifier with each of several settings, and gives the best one: all of it is one spend.

    scikit-learn's searches fit as often as they like and look at every score, which no loss covers. Here each setting
    has its part of the spend, and a tenth chooses by how many rows are predicted rightly. Few settings are best.

    Parameters
    ----------
    estimator
        A private classifier, whose spend and bounds are not used; or several of them, to choose among kinds.
    grid
        From the name of a parameter to its values; every combination is tried.
    spend
        What all of it costs.
    bounds, classes
        As of the classifiers.

    Source: ``proofs/learning_search.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1], [0.4], [0.6], [0.9]] * 500, [0, 1, 0, 1] * 500
    >>> search = learn.Search(learn.NaiveBayes(), {"bins": [2, 8]}, spend=dp.pure(2), bounds=(0, 1), classes=[0, 1])
    >>> search.fit(X, y).best_params_
    {'bins': 8}
    """

    def __init__(
        self,
        estimator: Any = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        *,
        spend: Loss | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Key] | None = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.spend = spend
        self.bounds = bounds
        self.classes = classes

    def _settings(self) -> list[tuple[Any, dict[str, Any]]]:
        """Each candidate, with what of the grid it has."""
        several = isinstance(self.estimator, list | tuple)
        estimators: list[Any] = list(self.estimator) if several else [self.estimator]  # pyright: ignore[reportUnknownArgumentType]
        if not all(isinstance(each, PrivateClassifier) for each in estimators):
            raise ParameterError("a search takes a private classifier, as in Search(learn.NaiveBayes(), {'bins': [8]})")
        grid = {name: list(values) for name, values in (self.grid or {}).items()}
        settings: list[tuple[Any, dict[str, Any]]] = []
        for estimator in estimators:
            left = set(grid) - set(estimator.get_params())
            if left:
                raise ParameterError(f"{type(estimator).__name__} has no parameter {sorted(left)[0]}")
            for values in product(*grid.values()):
                chosen = dict(zip(grid, values, strict=True))
                candidate: Any = clone(estimator)
                settings.append((candidate.set_params(**chosen), chosen))
        return settings

    def _algorithm(self) -> Algorithm:
        return SearchAlgorithm.among([each._algorithm() for each, _ in self._settings()])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def _after_fit(self) -> None:
        super()._after_fit()
        place = int(self.model_.parameters["chosen"][0])
        self.best_estimator_, self.best_params_ = self._settings()[place]
