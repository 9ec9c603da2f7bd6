"""An imputer as scikit-learn has it: free with public values, or bought."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.learn.estimators._base import Bounds
from discreet.learn.pipelines._transformer import PrivateTransformer
from discreet.learn.preparing import ImputerAlgorithm, Preparation
from discreet.privacy import Loss
from discreet.rational import Number, rational

__all__ = ["Imputer"]


class Imputer(PrivateTransformer):
    """Fills in what is missing: a number that is null or NaN, a category that is null or none of its values.

    Parameters
    ----------
    strategy
        ``"middle"``: numbers, with the middle of their public bounds; free, as ``"constant"``, with `fill_value`.
        ``"mean"``, ``"median"``: numbers, bought; ``"most_frequent"``: numbers and categories, bought. Categories stay
        where a strategy does not name them.
    fill_value
        A number within the bounds, or a value of the categories that are filled.
    add_indicator
        Whether each column that is filled has another one behind all, 1 where it was missing, else 0.
    spend, share, bounds
        As of `StandardScaler`; no spend where it is free.

    Source: ``proofs/learning_preparing.md``.

    >>> from discreet import learn
    >>> learn.Imputer(bounds=(0, 120), add_indicator=True).fit_transform([[20.625], [float("nan")]])
    array([[20.625,  0.   ],
           [60.   ,  1.   ]])
    """

    def __init__(  # noqa: PLR0913 - as scikit-learn has them
        self,
        strategy: Literal["middle", "constant", "mean", "median", "most_frequent"] = "middle",
        *,
        fill_value: float | str | None = None,
        add_indicator: bool = False,
        spend: Loss | None = None,
        share: Number | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator
        self.spend = spend
        self.share = share
        self.bounds = bounds

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002
        return ImputerAlgorithm(self.strategy, _written(self.fill_value), self.add_indicator)


def _written(value: Any) -> Any:
    """A value to fill in as a certificate states it: a number that is not whole as the text of its decimal."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, float):
        return plain
    exact = rational(plain, "fill_value")
    return int(exact) if exact.denominator == 1 else repr(plain)
