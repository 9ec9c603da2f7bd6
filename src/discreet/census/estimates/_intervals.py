"""Intervals around estimates that are sums of independent noise: of a lattice where one noise is all there is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.errors import ParameterError

__all__ = ["half_widths", "quantile", "ratio_interval"]

Numbers = NDArray[np.float64]
_WIDE = 10.0
"""From this standard deviation on a step more or less changes a probability of 0.95 by a hundredth or less."""


def half_widths(variances: NDArray[np.float64], confidence: float, *, heavy: bool) -> NDArray[np.float64]:
    """How far estimates lie from the truth at most, with a probability of about `confidence` or more each.

    Sums of Gaussian noise by the normal quantile. `heavy` noise, discrete Laplace, by Laplace's, which is the wider up
    to the confidence at which sums of it are used. An estimate that is a whole number with whole noise can only be off
    by whole numbers, so that the half-width is at least the whole number that reaches the confidence; of noise wider
    than 10 that which misses it by at most a tenth of what it leaves, as 0.945 for 0.95: one more would be too wide.

    >>> half_widths(np.array([4.0]), 0.95, heavy=False).round(2)
    array([4.])
    """
    deviations = np.sqrt(np.maximum(variances, 0.0))
    exact = quantile(confidence, heavy=heavy)
    near = quantile(confidence - min(confidence, 1 - confidence) / 10, heavy=heavy)
    width = exact * deviations
    steps = np.floor(width)
    wanted = np.where(deviations > _WIDE, near, exact) * deviations
    return np.where(steps + 0.5 >= wanted, width, steps + 1)


def ratio_interval(  # noqa: PLR0913
    numerators: Numbers,
    denominators: Numbers,
    variances: tuple[Numbers, Numbers],
    covariances: Numbers,
    confidence: float,
    *,
    heavy: bool,
    least: float = 0.0,
) -> tuple[Numbers, Numbers]:
    """Where the ratios of what two estimates are of lie, with a probability of about `confidence` or more each.

    All ratios r at which the estimate of numerator − r · denominator is within its half-width of 0. Where the
    denominator is not surely above 0 that is no bounded interval, and all numbers from `least` are given: below that
    no ratio can be, as numbers of people are never negative. Source: Fieller, JRSS B 16 (1954).

    >>> one = np.ones(1)
    >>> low, high = ratio_interval(10 * one, 100 * one, (4 * one, 4 * one), 0 * one, 0.95, heavy=False)
    >>> low.round(3), high.round(3)
    (array([0.06]), array([0.14]))
    """
    times = quantile(confidence, heavy=heavy)
    wider = np.ones_like(numerators)
    for each in variances:  # as wide as each is alone, on the lattice
        width = half_widths(each, confidence, heavy=heavy)
        wider = np.maximum(wider, np.divide(width, times * np.sqrt(each), out=np.ones_like(width), where=each > 0))
    squared = (times * wider) ** 2
    own, below = variances
    square = denominators**2 - squared * below
    cross = numerators * denominators - squared * covariances
    free = numerators**2 - squared * own
    root = np.sqrt(np.maximum(cross**2 - square * free, 0.0))
    is_bounded = (denominators > 0) & (square > 0)
    low = np.divide(cross - root, square, out=np.full_like(cross, least), where=is_bounded)
    high = np.divide(cross + root, square, out=np.full_like(cross, np.inf), where=is_bounded)
    return np.maximum(low, least), np.maximum(high, least)


def quantile(confidence: float, *, heavy: bool) -> float:
    """How many standard deviations wide a half-width is. Raises `ParameterError` for no confidence."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"confidence must lie strictly between 0 and 1, for example 0.95; got {confidence!r}")
    normal = float(ndtri((1 + confidence) / 2))
    return max(normal, math.log(1 / (1 - confidence)) / math.sqrt(2)) if heavy else normal
