"""A paid choice among private classifiers, or among private regressions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn.algorithms import MOST_CANDIDATES, Algorithm, SearchAlgorithm
from discreet.learn.estimators._base import Bounds, PrivateClassifier, PrivateEstimator, PrivateRegressor
from discreet.learn.selection import SearchPlan, Way, plan_search
from discreet.policy import Key
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["Search"]


def _classifies(search: Search) -> bool:
    return search._role() is PrivateClassifier  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


class Search(PrivateEstimator):
    """Fits a private model with several settings, and gives the best one: all of it is one spend.

    scikit-learn's searches fit as often as they like and look at every score, which no loss covers. Here there are two
    ways, of which a public rule takes one, by the spend and the number of settings. For few, each has its part of the
    spend, and a tenth chooses. For more, a secret random number of times, one is drawn, fitted and scored, and the best
    of these tries alone is shown: that loses hardly more than two of them, however many settings there are. Classifiers
    are scored by how many rows they predict rightly, regressions by how closely.

    After tries, who knows how long they took knows roughly how many there were, and that is not covered.

    Parameters
    ----------
    estimator
        A private classifier or regression, whose spend and bounds are not used; or several of them, to choose among
        kinds.
    grid
        From the name of a parameter to its values; every combination is a setting.
    spend
        What all of it costs.
    way
        ``"auto"``: the rule; ``"all"``: all are paid for; ``"random"``: a random number of tries.
    tries
        How many tries there are on average, from 2 to 256: more take longer, find better settings, and lose a little
        more each. None: 16 in pure ε, 64 in (ε, δ).
    bounds, classes, target_bounds
        As of the estimators.

    Source: ``proofs/learning_search.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[0.1], [0.4], [0.6], [0.9]] * 500, [0, 1, 0, 1] * 500
    >>> search = learn.Search(learn.NaiveBayes(), {"bins": [2, 8]}, spend=dp.pure(2), bounds=(0, 1), classes=[0, 1])
    >>> search.plan().way, search.fit(X, y).best_params_
    ('all', {'bins': 8})
    """

    def __init__(  # noqa: PLR0913 - all but two by keyword
        self,
        estimator: Any = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        *,
        spend: Loss | None = None,
        way: Way = "auto",
        tries: int | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Key] | None = None,
        target_bounds: tuple[Number, Number] | None = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.spend = spend
        self.way: Way = way
        self.tries = tries
        self.bounds = bounds
        self.classes = classes
        self.target_bounds = target_bounds

    _classes = PrivateClassifier._classes  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def plan(self) -> SearchPlan:
        """How the search will go, and what each fit may lose; ``plan().explain()`` says it. Costs nothing.

        Raises `ParameterError` as `fit` does.
        """
        if self.spend is None:
            raise ParameterError("say what to spend, as in Search(spend=dp.approx(1, 1e-6)); there is no default")
        return plan_search(self._spend(), len(self._settings()), self.way, self.tries)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """What the best model predicts of each row of a frame or matrix. Costs nothing."""
        return self._role().predict(cast("Any", self), X)

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, in the order of `classes_`. Costs nothing."""
        return PrivateClassifier.predict_proba(cast("Any", self), X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Accuracy on rows, or R². **Nothing pays for it**: of private rows, ask `learn.evaluate`."""
        return float(self._role().score(cast("Any", self), X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        role = get_tags(self._role()())
        tags.estimator_type, tags.target_tags = role.estimator_type, role.target_tags
        tags.classifier_tags, tags.regressor_tags = role.classifier_tags, role.regressor_tags
        return tags

    def _role(self) -> type[PrivateClassifier] | type[PrivateRegressor]:
        first = self._estimators()[0] if self._estimators() else None
        return PrivateRegressor if isinstance(first, PrivateEstimator) and is_regressor(first) else PrivateClassifier

    def _estimators(self) -> list[Any]:
        several = isinstance(self.estimator, list | tuple)
        return list(self.estimator) if several else [self.estimator]  # pyright: ignore[reportUnknownArgumentType]

    def _examples(self, X: Any, y: Any) -> tuple[Examples, Loss]:  # noqa: N803
        return self._role()._examples(cast("Any", self), X, y)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def _settings(self) -> list[tuple[Any, dict[str, Any]]]:
        """Each candidate, with what of the grid it has."""
        estimators, role = self._estimators(), self._role()
        predicts = is_classifier if role is PrivateClassifier else is_regressor
        if not all(isinstance(each, PrivateEstimator) and predicts(each) for each in estimators):
            raise ParameterError(
                "a search takes private classifiers, or private regressions, as in "
                "Search(learn.NaiveBayes(), {'bins': [4, 8]})"
            )
        grid = _listed(self.grid)
        if not 1 <= len(estimators) * math.prod(map(len, grid.values())) <= MOST_CANDIDATES:
            raise ParameterError(f"a search is among 2 to {MOST_CANDIDATES:,} different candidates")
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
        candidates = [each._algorithm() for each, _ in self._settings()]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return SearchAlgorithm.among(candidates, None if self._is_part() else self.plan().tries)

    def _is_part(self) -> bool:
        """Whether it is a step of a pipeline, which spends for all of it: there every candidate is paid for."""
        if self.spend is None and (self.way == "random" or self.tries is not None):
            raise ParameterError("tries at random are of all that is spent: put the pipeline into the search")
        return self.spend is None

    def _after_fit(self) -> None:
        if self._role() is PrivateClassifier:
            PrivateClassifier._after_fit(cast("Any", self))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        parameters = self.model_.parameters
        self.best_estimator_, self.best_params_ = self._settings()[int(parameters["chosen"][0])]
        self.best_score_ = float(parameters["score"][0]) if "score" in parameters else None


def _listed(grid: object) -> dict[str, list[Any]]:
    """Each parameter's values, numbers of numpy as Python has them. Raises `ParameterError` for what is no grid."""
    if grid is None:
        return {}
    if not isinstance(grid, Mapping):
        raise ParameterError("grid maps names of parameters to lists of values, as in {'bins': [4, 8]}")
    listed: dict[str, list[Any]] = {}
    for name, values in cast("Mapping[str, Any]", grid).items():
        if isinstance(values, str) or not (isinstance(values, Iterable) and isinstance(values, Sized)):
            raise ParameterError(f"grid has a list of values for each parameter, as in {{{name!r}: [4, 8]}}")
        if len(values) > MOST_CANDIDATES:
            raise ParameterError(f"a search is among 2 to {MOST_CANDIDATES:,} different candidates")
        listed[name] = [each.item() if isinstance(each, np.generic) else each for each in cast("Iterable[Any]", values)]
    return listed
