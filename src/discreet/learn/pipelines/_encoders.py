"""Encoders of categories as scikit-learn has them: of public values, or with rare ones merged, which is bought."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from discreet.learn.estimators._base import Bounds
from discreet.learn.pipelines._transformer import PrivateTransformer
from discreet.learn.preparing import EncoderAlgorithm, Preparation
from discreet.policy import Key
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["OneHotEncoder", "OrdinalEncoder"]


class _Encoder(PrivateTransformer):
    max_categories: int | None

    def _after_fit(self) -> None:
        inputs = self.model_.inputs
        algorithm = cast("EncoderAlgorithm", self.model_.algorithm)
        tables = algorithm.tables(inputs, self.model_.parameters)
        self.categories_: list[list[list[Key | None]]] = [
            [
                [value for value, place in zip(each.values or (), table, strict=True) if place == i]
                for i in range(int(table.max()) + 1)
            ]
            for each, table in zip(inputs.categories, tables, strict=True)
        ]


class OneHotEncoder(_Encoder):
    """A number for each public value of a category, 1 where a row has it, else 0; numbers stay.

    Algorithms of `discreet.learn` that add up rows do the same of themselves; components and clusters, which are of
    numbers alone, need it.

    Parameters
    ----------
    max_categories
        How many columns a category has at most: the values that are most frequent by noisy counts, and one for all
        others, which is bought. None: all values, for free.
    spend, share, bounds
        As of `StandardScaler`; no spend where it is free.

    Attributes
    ----------
    categories_
        Of each category, and each of its columns, the values that are 1 there.

    Source: ``proofs/learning_preparing.md``.

    >>> from discreet import learn
    >>> steps = [("bin", learn.Binner(2)), ("encode", learn.OneHotEncoder())]
    >>> learn.Pipeline(steps, bounds=(0, 1)).fit_transform([[0.7]])
    array([[0., 1.]])
    """

    def __init__(
        self,
        max_categories: int | None = None,
        *,
        spend: Loss | None = None,
        share: Number | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.max_categories = max_categories
        self.spend = spend
        self.share = share
        self.bounds = bounds

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002
        return EncoderAlgorithm(self.max_categories, one_hot=True)


class OrdinalEncoder(_Encoder):
    """Each category as a category with fewer values, whose rare ones are one; numbers stay.

    Parameters
    ----------
    max_categories
        How many values a category has at most: those that are most frequent by noisy counts, and one for all others,
        which is bought. None: all values, for free.
    spend, share, bounds
        As of `StandardScaler`; no spend where it is free.

    Attributes
    ----------
    categories_
        Of each category, and each of its new values, the old ones.

    Source: ``proofs/learning_preparing.md``.
    """

    def __init__(
        self,
        max_categories: int | None = None,
        *,
        spend: Loss | None = None,
        share: Number | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.max_categories = max_categories
        self.spend = spend
        self.share = share
        self.bounds = bounds

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002
        return EncoderAlgorithm(self.max_categories, one_hot=False)
