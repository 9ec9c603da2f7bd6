"""Data to try mechanisms on: made up in three shapes, or given by the caller. Nothing private comes here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.sensitivity import Mode, Slope, Statistic, interval

__all__ = ["SHAPES", "samples_of"]

Floats = NDArray[np.float64]

_MOST = 10**6
_MOST_PAIRS = 10**5
"""Records that are tried at most, and points for a slope; more only make the errors smaller."""

_SKEW = 5


def _bell(shares: Floats) -> Floats:
    from scipy.special import betaincinv

    return np.asarray(betaincinv(4, 4, shares))


SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "even": lambda shares: shares,
    "bell": _bell,
    "skewed": lambda shares: -np.log1p(shares * np.expm1(-_SKEW)) / _SKEW,
}
"""Quantile functions on [0, 1]: uniform; Beta(4, 4); an exponential that falls by e**−5 over the range."""


def samples_of(statistic: Statistic, n: int, bounds: Any, given: Any = None) -> tuple[Any, ...]:
    """Data sets of n records, at most a million, one per shape; or one, as the given sample is distributed.

    A given sample of numbers is stretched or thinned to n by its quantiles; categories and pairs are repeated in turn.
    """
    size = min(n, _MOST_PAIRS if isinstance(statistic, Slope) else _MOST)
    if isinstance(statistic, Mode):
        return (_repeated(given, size),) if given is not None else (_zipf(statistic, size),)
    if isinstance(statistic, Slope):
        if given is not None and (not isinstance(given, tuple | list) or len(given) != 2):
            raise ParameterError("a sample for a slope must be a pair (x, y) of arrays")
        return (tuple(_repeated(each, size) for each in given),) if given is not None else _lines(size, bounds)
    if given is not None:
        numbers = np.asarray(given)
        if numbers.ndim != 1 or numbers.dtype.kind not in "biuf" or not len(numbers) or not np.isfinite(numbers).all():
            raise ParameterError("sample must be a one-dimensional array of finite numbers, at least one")
        return (np.quantile(numbers, _shares(size), method="inverted_cdf"),)
    lower, upper = interval((0, 1) if bounds is None else bounds)
    return tuple(lower + (upper - lower) * shape(_shares(size)) for shape in SHAPES.values())


def _shares(size: int) -> Floats:
    return (np.arange(size) + 0.5) / size


def _repeated(given: Any, size: int) -> Any:
    values = np.asarray(given)
    if values.ndim != 1 or not len(values):
        raise ParameterError("sample must be one-dimensional, with at least one value")
    return values[np.arange(size) % len(values)]


def _zipf(statistic: Mode, size: int) -> Any:
    """The i-th category is 1/i as frequent as the first."""
    weights = np.cumsum(1 / np.arange(1, len(statistic.domain) + 1))
    places = np.searchsorted(weights / weights[-1], _shares(size))
    return [statistic.domain[place] for place in places]


def _lines(size: int, bounds: Any) -> tuple[Any, ...]:
    """X evenly over its range; y on the diagonal of the box, and spread around it by its golden-ratio sequence."""
    (left, right), (low, high) = (interval(each) for each in bounds)
    shares, spread = _shares(size), (np.arange(size) * 0.6180339887498949) % 1
    mixed = 0.5 * shares + 0.5 * spread
    return ((left + (right - left) * shares, low + (high - low) * mixed),)
