"""A mechanism on a secret Poisson sample of the data: the sampler is run that the loss is amplified for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._stated_loss import stated_loss
from discreet.mechanisms.numeric._chunks import frame, numbered
from discreet.noise import bernoulli
from discreet.privacy import ApproxLoss, Loss, PureLoss, budget_of
from discreet.rational import Number, rational
from discreet.reprs import call_repr

__all__ = ["Sampled"]

_LOWERED = 1 - 2.0**-40
_MOST_EPSILON = 500


class _Releases(Protocol):
    @property
    def loss(self) -> Callable[..., Loss]: ...
    @property
    def release(self) -> Callable[..., Any]: ...


class _Kind(Protocol):
    def calibrate(self, spend: Loss, sensitivity: Any) -> _Releases: ...


@dataclass(frozen=True, slots=True, init=False)
class Sampled:
    """Draws each unit of the data with probability `rate`, alone and afresh, and releases a statistic of those drawn.

    Parameters
    ----------
    mechanism
        What releases the statistic, for example `DiscreteLaplace`, `OnGrid` or `Exponential`.
    rate
        q, public: from 1e-100 to 1.
    function
        The statistic: takes the sample, which can be empty, in the form the data came in, and gives what the mechanism
        releases. It runs in this process and is trusted: it must not look at anything else.

    The sample must stay secret, and so must its size. Neighbours are by **add/remove** of a unit: the sensitivity given
    to `loss` is that of the function when a unit is added or removed. Raises `ParameterError` for another rate.
    Source: Balle, Barthe and Gaboardi 2018, Theorem 8; ``proofs/sampled.md``.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> tenth = Sampled(DiscreteLaplace(1), rate=0.1, function=len)
    >>> round(tenth.loss(sensitivity=1).epsilon(), 4)  # ln(1 + 0.1 (e − 1))
    0.1586
    >>> 800 < tenth.release(range(10_000)) < 1200
    True
    """

    mechanism: _Releases
    rate: Fraction
    function: Callable[[Any], Any]

    __repr__ = call_repr

    def __init__(self, mechanism: _Releases, rate: Number, function: Callable[[Any], Any]) -> None:
        exact = _rate(rate)
        if not callable(function):
            raise ParameterError("function must be callable: it takes the sample and returns what the mechanism takes")
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "rate", exact)
        object.__setattr__(self, "function", function)

    @classmethod
    def calibrate(
        cls, spend: Loss, sensitivity: Any, *, kind: _Kind, rate: Number, function: Callable[[Any], Any]
    ) -> Sampled:
        """The mechanism of that kind that is calibrated to what the spend allows once sampling is counted.

        A spend (ε, δ) allows (ln(1 + (e^ε − 1)/q), δ/q) on the sample; a ρ or μ is not amplified. Costs no privacy.
        Raises `ParameterError` as the constructor and `kind.calibrate` do, and for a spend of nothing.

        >>> from discreet.mechanisms import DiscreteLaplace
        >>> from discreet.privacy import pure
        >>> noisy = Sampled.calibrate(pure(0.1), 1, kind=DiscreteLaplace, rate=0.01, function=len)
        >>> round(float(noisy.mechanism.scale), 3), noisy.loss(1).fits(pure(0.1))
        (0.409, True)
        """
        exact = _rate(rate)
        return cls(kind.calibrate(_before_sampling(spend, exact), sensitivity), exact, function)

    def loss(self, sensitivity: Any = None) -> Loss:
        """The loss of the mechanism, sampled: pure ε becomes ln(1 + q(e^ε − 1)). Valid for add/remove.

        `sensitivity` is what `mechanism.loss` takes; leave it out where that takes none. Raises `ParameterError` as
        `mechanism.loss` does, and for a mechanism whose loss or `relation` is for substitution, which this sampling
        does not amplify.
        """
        relation = getattr(self.mechanism, "relation", None)
        if relation not in (None, "add_remove"):
            raise ParameterError(
                f"a Poisson sample has neighbours by add_remove, and the loss of this {type(self.mechanism).__name__} "
                f"is for {relation}; make it with relation='add_remove'"
            )
        return stated_loss(self.mechanism, sensitivity).sampled(self.rate)

    def release(self, data: Any, units: Any = None) -> Any:
        """What the mechanism releases of the function of a fresh sample.

        Costs `loss(sensitivity)`, **and charges nobody**: this is the raw toolbox.

        Parameters
        ----------
        data
            Rows: a list or another sequence, which the function gets as a list; a NumPy array of 1 dimension or more;
            an Arrow table, batch or array; or a pandas data frame or series, whose index is left out.
        units
            For each row whose it is: all rows of a unit are drawn together, or none. Rows without a unit (None, NaN)
            are one unit. Left out, each row is a unit.

        Raises `ParameterError` if the data are of another kind, or `units` is not as long or has values that cannot be
        keys, such as lists: taken for one unit, they would all be drawn together. What the function or the
        mechanism raises comes through, and can tell of the sample: a function must be right for every sample.
        """
        rows = list(data) if isinstance(data, list | tuple | range) else frame(data)
        unit = None if units is None else numbered(units, strict=True)
        if unit is not None and len(unit) != len(rows):
            raise ParameterError(f"units must be one for each row, {len(rows)}, got {len(unit)}")
        drawn = bernoulli(self.rate, len(rows) if unit is None else int(unit.max(initial=-1)) + 1)
        return self.mechanism.release(self.function(_drawn_rows(rows, drawn if unit is None else drawn[unit])))


def _rate(rate: Number) -> Fraction:
    exact = rational(rate, "rate")
    PureLoss(Fraction(1)).sampled(exact)  # refuses what is no rate
    if exact == 0:
        raise ParameterError("rate must be greater than 0: nothing would be sampled")
    return exact


def _drawn_rows(rows: Any, drawn: NDArray[np.bool_]) -> Any:
    """The rows that are drawn, in their order, without their places."""
    places = np.flatnonzero(drawn)
    if isinstance(rows, list):
        return [rows[place] for place in places.tolist()]
    if isinstance(rows, np.ndarray):
        return rows[places]
    taken = rows.take(places)
    return taken.reset_index(drop=True) if hasattr(taken, "reset_index") else taken


def _before_sampling(spend: Loss, rate: Fraction) -> Loss:
    """What fits the spend once it is sampled: ε is lowered by 2**−40 of itself for the floats in it."""
    match budget_of(spend):
        case (("pure" | "approx"), (epsilon, *deltas)):
            if epsilon <= 0:
                raise ParameterError("epsilon must be greater than 0")
            if epsilon > _MOST_EPSILON or rate == 1:
                return spend
            raised = Fraction(math.log1p(math.expm1(float(epsilon)) / float(rate)) * _LOWERED)
            return ApproxLoss(raised, min(deltas[0] / rate, 1 - Fraction(1, 2**20))) if deltas else PureLoss(raised)
        case _:
            return spend
