"""Transformers and a model as one estimator, fitted for one spend, as scikit-learn's Pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from fractions import Fraction
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metaestimators import _BaseComposition, available_if  # pyright: ignore[reportPrivateUsage]
from sklearn.utils.validation import check_is_fitted

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn.algorithms import Algorithm
from discreet.learn.estimators._base import Bounds, PrivateEstimator, refuse_records
from discreet.learn.pipelines._transformer import (
    PreparingEstimator,
    PrivateTransformer,
    adopted,
    check_part,
    is_transformer,
    share_of_each,
    usual_share,
    weight,
)
from discreet.learn.preparing import ChainAlgorithm, Element, PipelineAlgorithm, Preparation, fitted_steps
from discreet.privacy import Loss

__all__ = ["Pipeline"]

_READING = ("model_", "n_features_in_", "feature_names_in_", "_on_records")
"""Which attributes of an estimator say how it reads rows to predict."""


def _last_has(name: str) -> Callable[[Any], bool]:
    """Whether the last step has a method. Raises `AttributeError` where it has none, as scikit-learn wants."""

    def check(pipeline: Any) -> bool:
        getattr(pipeline.steps[-1][1], name)
        return True

    return check


class Pipeline(PreparingEstimator, _BaseComposition):
    """Transformers one after the other, and a model of what comes of them: one question, charged once.

    The transformers that buy something take their shares of the one spend; the model has the rest. A pipeline of
    transformers alone transforms, and may be a part of a `ColumnTransformer`.

    Parameters
    ----------
    steps
        (name, estimator) each. All but the last are transformers of `discreet.learn`, or ``"passthrough"``; none has a
        spend or bounds of its own.
    spend
        What all of it costs.
    bounds
        Public facts of a matrix; records have theirs from the policy. `classes` and `target_bounds` are the model's.

    Attributes
    ----------
    named_steps
        The steps by name; the fitted ones, once it is fitted, which read what comes of the steps before them.

    Source: ``proofs/learning_preparing.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X, y = [[20.0], [30.0], [float("nan")], [60.0]] * 500, [0, 0, 1, 1] * 500
    >>> steps = [("impute", learn.Imputer("constant", fill_value=99)), ("model", learn.NaiveBayes(classes=[0, 1]))]
    >>> model = learn.Pipeline(steps, spend=dp.pure(2), bounds=(0, 100)).fit(X, y)
    >>> model.predict([[22.0], [float("nan")]]), model.loss
    (array([0, 1]), pure(2))
    """

    def __init__(
        self,
        steps: Sequence[tuple[str, Any]],
        *,
        spend: Loss | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.steps = steps
        self.spend = spend
        self.bounds = bounds

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - as scikit-learn has it
        """Its parameters, and those of its steps by their names."""
        return self._get_params("steps", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set its parameters, or those of its steps by their names."""
        self._set_params("steps", **params)
        return self

    @property
    def named_steps(self) -> Bunch:
        """The steps by name, fitted if it is."""
        return Bunch(**getattr(self, "_fitted_steps", dict(self.steps)))

    def __getitem__(self, name: str | int) -> Any:
        """A step by its name or place, fitted if it is."""
        return self.named_steps[self.steps[name][0] if isinstance(name, int) else name]

    @property
    def prepares(self) -> bool:
        """Whether all of its steps are transformers, so that it is one."""
        return _is_transformer(self.steps[-1][1])

    def buyers(self) -> list[PrivateTransformer]:
        """The transformers of all steps that may take a share of the spend."""
        return [each for _, step in self._checked() if _is_transformer(step) for each in _buyers(step)]

    def _checked(self) -> list[tuple[str, Any]]:
        """The steps. Raises `ParameterError` for what is none."""
        try:
            listed: list[tuple[str, Any]] = [(name, step) for name, step in self.steps]
        except (TypeError, ValueError):
            raise ParameterError("steps are pairs, as in ('scale', learn.StandardScaler())") from None
        if not listed:
            raise ParameterError("a pipeline has a step or more")
        for name, step in listed[:-1]:
            if not _is_transformer(step):
                raise ParameterError(
                    f"{name} is no transformer of discreet.learn, but {_kind(step)}; others would look at rows that "
                    "nobody paid for"
                )
        name, last = listed[-1]
        if not _is_transformer(last) and (not isinstance(last, PrivateEstimator) or isinstance(last, Pipeline)):
            raise ParameterError(f"{name} is no model and no transformer of discreet.learn, but {_kind(last)}")
        for name, step in listed:
            if isinstance(step, PrivateEstimator):
                check_part(name, step, "Pipeline")
        return listed

    def _algorithm(self) -> Algorithm:
        usual = usual_share(self.buyers())
        if self.prepares:
            return self._preparation(usual)
        steps = self._checked()
        *before, (name, model) = steps
        elements = [
            Element(each, _preparation(step, usual), weight(step, usual) if _is_set(step) else Fraction(0))
            for each, step in before
        ]
        return PipelineAlgorithm((*elements, Element(name, model._algorithm())))  # noqa: SLF001

    def _preparation(self, usual: Fraction) -> Preparation:
        steps = self._checked()
        shares = share_of_each([step if _is_set(step) else None for _, step in steps], usual)
        return ChainAlgorithm(
            tuple(
                Element(name, _preparation(step, usual), share)
                for (name, step), share in zip(steps, shares, strict=True)
            )
        )

    def _examples(self, X: Any, y: Any) -> tuple[Examples, Loss]:  # noqa: N803
        if self.prepares:
            return super()._examples(X, y)
        # The model says what of y it learns from, and which of the classes it has to buy.
        reader = cast("Any", clone(self.steps[-1][1])).set_params(spend=self.spend, bounds=self.bounds)
        vars(reader).update(_finite=self._finite)
        examples, spend = reader._examples(X, y)  # noqa: SLF001
        self._read_as(reader)
        return examples, spend

    def _read_as(self, reader: Any) -> None:
        self.n_features_in_ = reader.n_features_in_
        if hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _after_fit(self) -> None:
        model = self.model_
        algorithm = cast("ChainAlgorithm | PipelineAlgorithm", model.algorithm)
        parts = fitted_steps(algorithm, model.inputs, model.parameters)
        self._fitted_steps: dict[str, Any] = {
            name: adopted(step, element.algorithm, inputs, parameters, model) if _is_set(step) else step
            for (name, step), (element, inputs, parameters) in zip(self._checked(), parts, strict=True)
        }

    def _front(self) -> Any:
        """The last step, of rows as they come: what it predicts is by all steps."""
        check_is_fitted(self)
        front: Any = copy(self._fitted_steps[self.steps[-1][0]])
        mine = vars(self)
        vars(front).pop("feature_names_in_", None)
        vars(front).update({name: mine[name] for name in _READING if name in mine}, _finite=self._finite)
        return front

    @available_if(_last_has("predict"))
    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """What the model predicts of each row of a frame or matrix, prepared. Costs nothing."""
        return self._front().predict(X)

    @available_if(_last_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, in the order of `classes_`. Costs nothing."""
        return self._front().predict_proba(X)

    @available_if(_last_has("score"))
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: N803
        """How well it predicts rows that are **not private**; of private ones ask `learn.evaluate`."""
        return self._front().score(X, y, sample_weight)

    @available_if(_last_has("transform"))
    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """What comes of each row of a frame or matrix. Costs nothing."""
        return self._front().transform(X)

    @available_if(_last_has("transform"))
    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:  # noqa: N803
        """Fit it on a matrix, and transform that. Raises `ParameterError` for records; nothing is spent."""
        refuse_records(X)
        return self.fit(X, y).transform(X)

    @available_if(_last_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of what comes of a row."""
        return self._front().get_feature_names_out(input_features)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, where the model tells them apart."""
        check_is_fitted(self)
        return self._fitted_steps[self.steps[-1][0]].classes_

    def __sklearn_is_fitted__(self) -> bool:
        """Whether it has a model."""
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """The last step's kind."""
        tags = super().__sklearn_tags__()
        last = get_tags(self.steps[-1][1])
        tags.estimator_type = last.estimator_type
        for name in ("classifier_tags", "regressor_tags", "transformer_tags", "target_tags"):
            setattr(tags, name, deepcopy(getattr(last, name)))
        return tags


def _is_set(step: Any) -> bool:
    return step is not None and not isinstance(step, str)


def _is_transformer(step: Any) -> bool:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    return is_transformer(step) or (isinstance(step, Pipeline) and step.prepares)


def _buyers(step: Any) -> list[PrivateTransformer]:
    return step.buyers() if _is_set(step) else []


def _preparation(step: Any, usual: Fraction) -> Preparation | None:
    return step._preparation(usual) if _is_set(step) else None  # noqa: SLF001


def _kind(step: Any) -> str:
    return step.__name__ if isinstance(step, type) else repr(step) if isinstance(step, str) else type(step).__name__
