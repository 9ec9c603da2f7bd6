"""What every transformer has in common: free from public facts, or bought with a share of a spend."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted  # pyright: ignore[reportPrivateUsage]

from discreet.errors import ParameterError
from discreet.learn._examples import inputs_of_plan
from discreet.learn._inputs import Inputs
from discreet.learn._model import Model
from discreet.learn.algorithms import Algorithm
from discreet.learn.estimators._base import PrivateEstimator, RowTransformer
from discreet.learn.features._map import FeatureMap
from discreet.learn.preparing import Preparation
from discreet.privacy import PureLoss
from discreet.rational import Number, rational
from discreet.records import Records

__all__ = [
    "USUAL_SHARE",
    "PreparingEstimator",
    "PrivateTransformer",
    "adopted",
    "check_part",
    "is_transformer",
    "share_of_each",
    "usual_share",
    "weight",
]

USUAL_SHARE = Fraction(1, 10)
"""Of a spend, what a transformer takes that says nothing; less where there are many."""


class PreparingEstimator(PrivateEstimator):
    """An estimator whose algorithm may be a preparation: one that buys nothing is fitted for nothing."""

    _finite = "allow-nan"

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - as scikit-learn has it
        """Fit it on records, which charges their session what is bought, or on a matrix; see `LogisticRegression.fit`.

        What follows from public facts alone is free: no row is read, and no spend is taken.
        Raises as `LogisticRegression.fit`; `ParameterError` for a spend where nothing is bought.
        """
        algorithm = self._algorithm()
        if not isinstance(algorithm, Preparation):
            return super().fit(X, y)
        on_records = isinstance(X, Records)
        if on_records and y is None:
            inputs = inputs_of_plan(X.plan, X.label)
        elif on_records:
            raise ParameterError("records have their label, and what prepares them needs none: leave y out")
        else:
            self._matrix(X, reset=True)
            inputs = Inputs(self._inputs())
        algorithm.check(inputs)
        if algorithm.buys(inputs):
            return super().fit(X)
        if self.spend is not None:
            raise ParameterError(f"{type(self).__name__} buys nothing here, for all of it is public: leave spend out")
        free = PureLoss(Fraction(0))
        self._adopt(Model(algorithm, inputs, {}, free, {}), free, on_records=on_records)
        return self

    def __sklearn_tags__(self) -> Any:
        """What is missing may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class PrivateTransformer(RowTransformer, PreparingEstimator):
    """Base of the transformers. A subclass has the fields `spend`, `share` and `bounds`, and says its preparation."""

    share: Number | None

    def _preparation(self, usual: Fraction) -> Preparation:
        """How rows are prepared, where a transformer that says no share has the usual one."""
        raise NotImplementedError

    def _algorithm(self) -> Algorithm:
        return self._preparation(USUAL_SHARE)

    def buyers(self) -> list[PrivateTransformer]:
        """The transformers that may take a share of the spend: this one, or parts of it."""
        return [self] if self._preparation(USUAL_SHARE).may_buy else []

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The prepared columns of each row, a category as the place of its value. Costs nothing."""
        rows = self._rows(X)
        return self.model_.transform(rows)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the prepared columns."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        preparation = self.model_.algorithm
        assert isinstance(preparation, Preparation)
        inputs = self.model_.inputs
        if input_features is not None:
            names = [str(each) for each in input_features]
            renamed = (type(each)(name, each.values, each.lower, each.upper, each.type)
                       for each, name in zip(inputs.features, names, strict=True))  # fmt: skip
            inputs = Inputs(tuple(renamed), inputs.target)
        return np.array([each.name for each in preparation.prepared(inputs).features], object)


def weight(transformer: Any, usual: Fraction) -> Fraction:
    """Of a whole spend, what a transformer and all its parts take."""
    return sum((_share(each, usual) for each in transformer.buyers()), Fraction(0))


def _share(transformer: PrivateTransformer, usual: Fraction) -> Fraction:
    if transformer.share is None:
        return usual
    share = rational(transformer.share, "share")
    if not 0 < share < 1:
        raise ParameterError(f"a share of the spend is above 0 and below 1, not {transformer.share!r}")
    return share


def usual_share(buyers: list[PrivateTransformer]) -> Fraction:
    """What those take that say nothing: a tenth each, or together half of what others leave, if that is less."""
    unstated = sum(each.share is None for each in buyers)
    stated = sum((_share(each, Fraction(0)) for each in buyers if each.share is not None), Fraction(0))
    return min(USUAL_SHARE, max(1 - stated, Fraction(0)) / 2 / unstated) if unstated else USUAL_SHARE


def share_of_each(transformers: list[Any], usual: Fraction) -> list[Fraction]:
    """The part of each in what all of these take together."""
    weights = [Fraction(0) if each is None else weight(each, usual) for each in transformers]
    total = sum(weights, Fraction(0))
    return [each / total if total else Fraction(0) for each in weights]


def is_transformer(part: object) -> bool:
    """Whether it is one of `discreet.learn` that is no pipeline."""
    return isinstance(part, PrivateTransformer | FeatureMap)


def check_part(name: str, part: PrivateEstimator | FeatureMap, composite: str) -> None:
    """Raise `ParameterError` for a part with a spend or bounds of its own; features have bounds of what they make."""
    if isinstance(part, FeatureMap):
        return
    for field in ("spend", "bounds"):
        if getattr(part, field) is not None:
            raise ParameterError(f"{name} has a {field} of its own; say it once, of the {composite}")


def adopted(estimator: Any, algorithm: Algorithm | None, inputs: Inputs, parameters: Any, composite: Model) -> Any:
    """A fitted copy of a part of a composite, that reads what comes of the parts before it."""
    assert algorithm is not None
    fitted = cast("Any", clone(estimator))
    model = Model(algorithm, inputs, parameters, composite.loss, composite.certificate)
    fitted._adopt(model, composite.loss, on_records=True)  # noqa: SLF001
    return fitted
