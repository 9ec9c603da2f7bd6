"""A binner, which scikit-learn calls KBinsDiscretizer: equal bins for free, or bought quantiles."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.learn._inputs import LEVELS
from discreet.learn.estimators._base import Bounds
from discreet.learn.pipelines._transformer import PrivateTransformer
from discreet.learn.preparing import BinnerAlgorithm, Preparation
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["Binner"]


class Binner(PrivateTransformer):
    """Each number as a category, whose values are the bins from 0; categories stay, and what is missing is in no bin.

    Parameters
    ----------
    n_bins
        How many bins a number has.
    strategy
        ``"uniform"``: bins of one width between the public bounds; free. ``"quantile"``: bins of about as many rows
        each, between noisy quantiles, to one of 1,024 levels of the bounds; bought.
    spend, share, bounds
        As of `StandardScaler`; no spend where it is free.

    Attributes
    ----------
    bin_edges_
        Of each number, where each bin but the first starts.

    Source: ``proofs/learning_preparing.md``.

    >>> from discreet import learn
    >>> learn.Binner(4, bounds=(0, 1)).fit_transform([[0.1], [0.9]])
    array([[0.],
           [3.]])
    """

    def __init__(
        self,
        n_bins: int = 8,
        *,
        strategy: Literal["uniform", "quantile"] = "uniform",
        spend: Loss | None = None,
        share: Number | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.spend = spend
        self.share = share
        self.bounds = bounds

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002
        return BinnerAlgorithm(self.n_bins, self.strategy)

    def _after_fit(self) -> None:
        edges = self.model_.parameters.get("edges")
        even = np.arange(1, self.n_bins) * (LEVELS / self.n_bins)
        numbers = self.model_.inputs.numbers
        self.bin_edges_ = [each.numbers(even if edges is None else edges[i] - 0.5) for i, each in enumerate(numbers)]
