"""Scalers as scikit-learn has them: by bought means and deviations, or by public bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.learn._inputs import LEVELS
from discreet.learn.estimators._base import Bounds
from discreet.learn.pipelines._transformer import PrivateTransformer
from discreet.learn.preparing import Preparation, ScalerAlgorithm
from discreet.privacy import Loss
from discreet.rational import Number, rational

__all__ = ["MinMaxScaler", "StandardScaler"]


class StandardScaler(PrivateTransformer):
    """Each number as how many standard deviations it is from the mean, both bought; categories stay.

    Numbers are read as 1,024 levels between their public bounds, and come out as so many between `clip` deviations
    below and above the mean: what is beyond is moved there. So levels, and what a model adds noise to, are where rows
    are, even if bounds are wide; but what is closer than a level of the public bounds stays one. A deviation is a level
    at least. It does best before models that measure distances; where bounds fit the rows well, it buys little.

    Parameters
    ----------
    spend
        What fitting costs, where it stands alone; in a pipeline its spend is the pipeline's.
    share
        Which part of a pipeline's spend it takes; None: a tenth, or less where there are many.
    clip
        How many deviations a number may be from the mean.
    with_mean
        False: numbers are deviations from 0, and not from the mean.
    bounds
        Public facts of a matrix; records have theirs from the policy.

    Attributes
    ----------
    mean_, scale_
        Of each number, noisy; rare values at the ends, of fewer rows than the noise, are left out.

    Source: ``proofs/learning_preparing.md``.

    >>> import discreet as dp
    >>> from discreet import learn
    >>> X = [[20.0], [30.0], [40.0]] * 1000
    >>> scaler = learn.StandardScaler(spend=dp.pure(5), bounds=(0, 120)).fit(X)
    >>> scaler.mean_.round(), scaler.scale_.round(), scaler.transform([[30.0]]).round(1)
    (array([30.]), array([8.]), array([[0.]]))
    """

    def __init__(
        self,
        spend: Loss | None = None,
        *,
        share: Number | None = None,
        clip: Number = 3,
        with_mean: bool = True,
        bounds: Bounds | None = None,
    ) -> None:
        self.spend = spend
        self.share = share
        self.clip = clip
        self.with_mean = with_mean
        self.bounds = bounds

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002
        most = rational(self.clip, "clip")
        return ScalerAlgorithm("deviations", str(-most), str(most), self.with_mean)

    def _after_fit(self) -> None:
        numbers, parameters = self.model_.inputs.numbers, self.model_.parameters
        lower = np.array([float(each.lower) for each in numbers])
        level = np.array([float(each.upper - each.lower) / LEVELS for each in numbers])
        self.mean_ = lower + parameters["means"] * level
        self.scale_ = parameters["deviations"] * level


class MinMaxScaler(PrivateTransformer):
    """Each number from 0 to 1 between its public bounds, or whatever range; free. Categories stay.

    Parameters
    ----------
    feature_range
        What the bounds become.
    bounds
        Public facts of a matrix; records have theirs from the policy.
    spend, share
        None: nothing is bought.

    >>> from discreet import learn
    >>> scaler = learn.MinMaxScaler(bounds=(0, 120)).fit([[20.0], [30.0]])
    >>> scaler.transform([[60.0], [500.0]]), scaler.loss
    (array([[0.5],
           [1. ]]), pure(0))
    """

    def __init__(
        self,
        feature_range: tuple[Number, Number] = (0, 1),
        *,
        bounds: Bounds | None = None,
        spend: Loss | None = None,
        share: Number | None = None,
    ) -> None:
        self.feature_range = feature_range
        self.bounds = bounds
        self.spend = spend
        self.share = share

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002
        lower, upper = (str(rational(each, "an end of feature_range")) for each in self.feature_range)
        return ScalerAlgorithm("bounds", lower, upper)
