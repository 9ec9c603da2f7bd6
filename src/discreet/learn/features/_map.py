"""What feature maps have in common: rows of numbers in, rows of a bounded length out, each from its own row alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from discreet.errors import ParameterError
from discreet.learn._model import Model
from discreet.learn.estimators._base import refuse_records
from discreet.learn.preparing import FeaturesAlgorithm, Preparation
from discreet.learn.preparing._features import Reals
from discreet.privacy import Loss

__all__ = ["FeatureMap"]

_NUMBERS = 2**19
"""How many numbers of rows are mapped at once."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the feature maps. A subclass says how long its rows are and maps a block of them.

    A step of a pipeline is fitted with it: there it reads what comes of the steps before, in levels.
    """

    def _preparation(self, usual: Fraction) -> Preparation:
        """The same map of levels, as a free step of a pipeline. Raises `ParameterError`."""
        raise NotImplementedError

    def buyers(self) -> list[Any]:
        """Nobody: it is free."""
        return []

    def _adopt(self, model: Model, loss: Loss, *, on_records: bool) -> None:  # noqa: ARG002 - as estimators have it
        """Be the fitted step of a pipeline: `model` is this map of what comes of the steps before."""
        algorithm, features = model.algorithm, model.inputs.features
        assert isinstance(algorithm, FeaturesAlgorithm)
        self.model_, self._on_records = model, on_records
        self.n_features_in_ = len(features)
        self.feature_names_in_ = np.array([each.name for each in features], object)
        self._n_features_out = algorithm.count(len(features))

    def _width(self, columns: int) -> int:
        """How many numbers a row must have, of which it was given so many. Raises `ParameterError`."""
        raise NotImplementedError

    def _map(self, rows: Reals) -> Reals:
        raise NotImplementedError

    def _count(self, columns: int) -> int:
        """How many features a row of so many numbers has."""
        raise NotImplementedError

    def _freeze(self, columns: int) -> None:
        """Fix what is to be the same for all rows from now on. Raises `ParameterError`."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, ARG002 - as scikit-learn has it
        """Nothing is learned: it checks how many columns there are, and fixes a network's weights. Costs nothing."""
        vars(self).pop("model_", None)
        columns = self._read(X, reset=True).shape[1]
        self._freeze(columns)
        self._n_features_out = self._count(columns)
        return self

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """The features of each row, a function of that row alone to the last bit; as private as the rows are.

        Parameters
        ----------
        X
            A matrix with a row for each image, its pixels in rows and columns, channels last; or an array of images.

        Raises
        ------
        ParameterError
            For parameters that are wrong, or rows of another shape.
        ValueError
            As scikit-learn's transformers, for a matrix that is none.
        """
        if hasattr(self, "model_"):
            return self.model_.transform(X if self._on_records else self._matrix(X, reset=False))
        rows = self._read(X, reset=False)
        block = max(_NUMBERS // max(rows.shape[1], 1), 1)
        blocks = [self._map(rows[start : start + block]) for start in range(0, len(rows), block)]
        return np.concatenate(blocks)

    def _read(self, X: Any, *, reset: bool) -> Reals:  # noqa: N803
        refuse_records(X)
        shape: tuple[int, ...] | None = getattr(self, "shape", None)
        images = shape is not None and getattr(X, "ndim", 2) > 2 and X.shape[1:] == tuple(shape)
        matrix: Any = np.asarray(X).reshape(len(X), -1) if images else X
        rows = self._matrix(matrix, reset=reset)
        columns = rows.shape[1]
        if self._width(columns) != columns:
            raise ParameterError(f"an image of the shape {shape} has {self._width(columns)} numbers, not {columns}")
        return rows

    def _matrix(self, X: Any, *, reset: bool) -> Reals:  # noqa: N803
        return np.asarray(validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False), np.float64)

    @property
    def statement(self) -> Mapping[str, Any]:
        """What the map is, in plain JSON, for whoever is to make the same features again. It holds nothing private."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        return tags
