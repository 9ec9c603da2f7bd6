"""What feature maps have in common: rows of numbers in, rows of a bounded length out, each from its own row alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from discreet.errors import ParameterError

__all__ = ["FeatureMap", "Reals", "cut_at", "is_whole", "read_pixels", "shortened"]

Reals = NDArray[np.float64]

_CUT = 4.0
"""Of the root mean square that features of a row of length 1 have: larger ones count as if they were so large."""
_NUMBERS = 2**19
"""How many numbers of rows are mapped at once."""


def cut_at(count: int) -> float:
    """Above what size one of so many features of a row is cut.

    Rows have length 1, so that few features are far above 1/√count; bounds closer than 1 leave them less noise.

    >>> cut_at(64), cut_at(4)
    (0.5, 1.0)
    """
    return min(_CUT / math.sqrt(count), 1.0)


def shortened(rows: Reals, floor: float) -> Reals:
    """Rows over their L2 norms, those shorter than `floor` over that, with entries cut at `cut_at`.

    Basic operations of IEEE 754 on numbers of one row, in the order of its columns. What is no finite number counts
    as 0.

    >>> shortened(np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 2.0]]), 1e-6).tolist()
    [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]]
    """
    finite = np.where(np.isfinite(rows), rows, 0.0)
    largest = np.zeros(len(finite))
    for column in finite.T:
        largest = np.maximum(largest, np.abs(column))
    scale = np.maximum(largest, floor / math.sqrt(finite.shape[1]))[:, None]
    finite = finite / scale
    squared = np.zeros(len(finite))
    for column in finite.T:
        squared += column * column
    length = np.maximum(np.sqrt(squared), floor / scale[:, 0])
    cut = cut_at(finite.shape[1])
    return np.clip(finite / length[:, None], -cut, cut)


def read_pixels(rows: Reals, bounds: Sequence[float]) -> Reals:
    """Numbers as 0 to 1 between their public bounds, those beyond moved to them; what is missing is at the lower one.

    Raises `ParameterError` for bounds that are no pair of finite numbers in order.
    """
    try:
        lower, upper = (float(each) for each in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"pixels is a pair of numbers, as in pixels=(0, 255), not {bounds!r}") from None
    if not (math.isfinite(lower) and math.isfinite(upper) and 0 < upper - lower < math.inf):
        raise ParameterError(f"pixels is a pair of finite numbers, the lower one first, not {bounds!r}")
    known = np.where(np.isnan(rows), lower, rows)
    return (np.minimum(np.maximum(known, lower), upper) - lower) / (upper - lower)


def is_whole(value: object, least: int, most: int) -> bool:
    """Whether it is a whole number, no truth value, between two."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and least <= int(value) <= most


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the feature maps. A subclass says how long its rows are and maps a block of them."""

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
        rows = self._read(X, reset=False)
        block = max(_NUMBERS // max(rows.shape[1], 1), 1)
        blocks = [self._map(rows[start : start + block]) for start in range(0, len(rows), block)]
        return np.concatenate(blocks)

    def _read(self, X: Any, *, reset: bool) -> Reals:  # noqa: N803
        shape: tuple[int, ...] | None = getattr(self, "shape", None)
        images = shape is not None and getattr(X, "ndim", 2) > 2 and X.shape[1:] == tuple(shape)
        matrix: Any = np.asarray(X).reshape(len(X), -1) if images else X
        rows: Reals = np.asarray(
            validate_data(self, matrix, reset=reset, dtype=np.float64, ensure_all_finite=False), np.float64
        )
        columns = rows.shape[1]
        if self._width(columns) != columns:
            raise ParameterError(f"an image of the shape {shape} has {self._width(columns)} numbers, not {columns}")
        return rows

    @property
    def statement(self) -> Mapping[str, Any]:
        """What the map is, in plain JSON, for whoever is to make the same features again. It holds nothing private."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        return tags
