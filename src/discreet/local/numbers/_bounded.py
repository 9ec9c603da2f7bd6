"""Schemes for numbers between public bounds, and the estimate of their mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._estimate import Floats, level_of
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Fields, Integers, Layout
from discreet.local._scheme import E, Scheme
from discreet.local.frequencies._supports import add_cells, no_candidates
from discreet.local.numbers._window import Window
from discreet.noise import Draws
from discreet.privacy import Loss, pure
from discreet.rational import Number, rational
from discreet.sensitivity import unmasked

__all__ = [
    "MeanEstimate",
    "MeanScheme",
    "NumberScheme",
    "bounds_of",
    "shares_between",
    "stepped",
    "window_levels",
    "window_spread",
]

_WIDEST = Fraction(10) ** 300


@dataclass(frozen=True, slots=True, init=False)
class NumberScheme(Scheme[E]):
    """A scheme whose values are numbers; what lies beyond its bounds counts as the bound."""

    low: Fraction
    high: Fraction
    epsilon: Fraction
    longitudinal: Longitudinal

    def __init__(self, bounds: Sequence[Number], epsilon: Number, *, longitudinal: Longitudinal = "once") -> None:
        low, high = bounds_of(bounds)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes their number to any other."""
        return pure(self.epsilon)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        return {"bounds": [str(self.low), str(self.high)], "epsilon": str(self.epsilon)}

    def prepare(self, values: Any) -> NDArray[Any]:
        """The numbers as shares of the way from the low bound to the high one, from 0 to 1."""
        return shares_between(self.low, self.high, values)

    @property
    def layout(self) -> Layout:
        """The cell."""
        return Layout((self.cells,))

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the cells."""
        add_cells(fields.numbers[0], counts)


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate:
    """The mean of what people hold. It follows from reports alone.

    Attributes
    ----------
    mean
        Unbiased; it can fall outside of the bounds.
    stderr
        Its standard error for the mean of the population that people were drawn from: that of the clients' randomness
        and that of the choice of people together.
    reports
        How many reports there were.
    """

    mean: float
    stderr: float
    reports: int

    def interval(self, level: Number = 0.95) -> tuple[float, float]:
        """Lower and upper end for the population's mean, by the normal approximation: for some hundreds of reports.

        Raises `ParameterError` unless 0 < level < 1.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        half = float(ndtri((1 + level_of(level)) / 2)) * self.stderr
        return self.mean - half, self.mean + half


class MeanScheme(NumberScheme[MeanEstimate]):
    """A scheme in which each cell stands for a number, such that a report's number is right on average."""

    __slots__ = ()

    @abstractmethod
    def levels(self) -> Floats:
        """The number of each cell, as a share of the way from the low bound to the high one; most are outside 0 … 1."""

    @abstractmethod
    def spread(self, shares: Floats) -> Floats:
        """The variance of a report's number for each share, in squares of high − low."""

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> MeanEstimate:
        """The mean of the cells' numbers."""
        no_candidates(candidates)
        width, levels, weights = float(self.high - self.low), self.levels(), counts / reports
        mean = float(weights @ levels)
        spread = float(weights @ (levels - mean) ** 2)
        return MeanEstimate(float(self.low) + width * mean, width * (spread / reports) ** 0.5, reports)

    def variance(self, values: ArrayLike) -> float:
        """The variance of the mean, times n, over the randomness of the clients, were these what people hold.

        Does not depend on data and costs no privacy. Raises `ParameterError` as `client().encode`.
        """
        return float(self.spread(self.prepare(values)).mean()) * float(self.high - self.low) ** 2


def stepped(shares: Floats, window: Window, draws: Draws) -> Integers:
    """A position for each share of the way, one of the two nearest, so that it is right on average.

    Wrong by at most 2**−32 of a step on average. It happens before privacy is made, and does not touch it.
    """
    exact = shares * (window.positions - 1)
    below = np.minimum(np.floor(exact), window.positions - 2)
    up = draws.steps(np.rint((exact - below) * 2.0**32).astype(np.uint64))
    return below.astype(np.int64) + up


def window_levels(window: Window) -> Floats:
    """The number of each cell: the position whose mean cell it is, over the last position."""
    start, slope = float(window.mean(Fraction(0))), float(window.slope)
    cells = np.arange(window.cells, dtype=np.float64)
    return (cells - start) / (slope * (window.positions - 1))


def window_spread(window: Window, shares: Floats) -> Floats:
    """The variance of a report's number for each share; that of stepping between two positions is in it.

    E[Y² | s] = E[Y² | 0] + slope·(s² + (width − 1)s): ``proofs/local_numbers.md``, section 1.
    """
    exact = shares * (window.positions - 1)
    below = np.minimum(np.floor(exact), window.positions - 2)
    squares = below**2 + (exact - below) * (2 * below + 1)
    start, slope = float(window.mean(Fraction(0))), float(window.slope)
    spread = float(window.square(0) - window.mean(Fraction(0)) ** 2)
    spread_at = (
        spread + slope * (squares + (window.width - 1) * exact) - (slope * exact) ** 2 - 2 * start * slope * exact
    )
    return spread_at / (slope * (window.positions - 1)) ** 2


def shares_between(low: Fraction, high: Fraction, values: Any) -> Floats:
    """The numbers as shares of the way from `low` to `high`; raises `ParameterError` for what is no number."""
    try:
        given = unmasked(values)
        numbers = np.atleast_1d(given.astype(np.float64) if given.dtype.kind in "biufOUS" else np.nan)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([np.nan])
    if numbers.ndim != 1 or bool(np.isnan(numbers).any()):
        raise ParameterError("values must be numbers, one or a list of them; what is missing cannot be reported")
    least, most = float(low), float(high)
    return (np.clip(numbers, least, most) - least) / (most - least) + 0.0  # −0 is 0, and not another value


def bounds_of(bounds: Sequence[Number]) -> tuple[Fraction, Fraction]:
    """The exact bounds; raises `ParameterError` unless they are two numbers below 1e300, the first the lower."""
    if isinstance(bounds, str | bytes) or not isinstance(bounds, Sequence) or len(bounds) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"bounds must be two numbers, the lowest and the highest value, got {bounds!r}")
    low, high = (rational(bound, "a bound") for bound in bounds)
    if not -_WIDEST < low < high < _WIDEST or float(low) == float(high):
        raise ParameterError(f"bounds must be (low, high) with low < high, apart and below 1e300, got {bounds!r}")
    return low, high
