"""How likely a noisy total reaches a threshold, and what choosing by it does to it: from the distribution of the noise.

All of it is public. Discrete Laplace noise has closed forms; discrete Gaussian noise is summed, or where sigma is large
integrated by the midpoint rule with its first correction, which leaves 1/sigma⁴; Gaussian noise is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.prices import Additive

__all__ = ["choice_bias", "least_threshold", "mean_beyond", "probability_at_least", "reaches", "spread"]

_SUMMED = 1_000
"""Up to this sigma sums have as many terms as there is noise."""
_REACH = 40


def probability_at_least(mechanism: Additive, least: int) -> float:
    """The probability that noise is a whole number or more.

    >>> round(probability_at_least(DiscreteLaplace(10), 0), 4), round(probability_at_least(DiscreteLaplace(10), 1), 4)
    (0.525, 0.475)
    """
    if least <= 0:
        return 1.0 - _tail(mechanism, 1 - least)
    return _tail(mechanism, least)


def mean_beyond(mechanism: Additive, least: int) -> float:
    """E[Z; Z ≥ least]: the mean of noise Z, taken as 0 where it is below a whole number; at most E|Z| / 2.

    >>> round(mean_beyond(DiscreteLaplace(10), -200), 6), round(mean_beyond(DiscreteLaplace(10), 1), 3)
    (0.0, 4.992)
    """
    return _mean_tail(mechanism, 1 - least if least <= 0 else least)


def spread(mechanism: Additive) -> float:
    """E|Z|, the mean size of noise."""
    return 2 * mean_beyond(mechanism, 1)


def reaches(mechanism: Additive, count: int, threshold: int) -> float:
    """The probability that the noisy total of so many people reaches a threshold."""
    return probability_at_least(mechanism, threshold - count)


def least_threshold(mechanism: Additive, margin: Fraction, chance: Fraction) -> int:
    """The lowest threshold that is reached, with at least this chance, by groups larger by this share of it."""
    low, high = 0, 1
    while not _suffices(mechanism, high, margin, chance):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _suffices(mechanism, middle, margin, chance) else (middle, high)
    return high


def _suffices(mechanism: Additive, threshold: int, margin: Fraction, chance: Fraction) -> bool:
    return reaches(mechanism, math.ceil(threshold * (1 + margin)), threshold) >= chance


def choice_bias(mechanism: Additive, count: int, thresholds: Sequence[int], weights: Sequence[float]) -> float:
    """The mean of w · Z, where count + Z chooses the weight w: that of the last threshold that it reaches."""
    beyond = [0.0, *(mean_beyond(mechanism, each - count) for each in thresholds), 0.0]
    return sum(weight * (beyond[i] - beyond[i + 1]) for i, weight in enumerate(weights))


def _tail(mechanism: Additive, least: int) -> float:
    """P(Z ≥ least), from 1 on."""
    if isinstance(mechanism, DiscreteLaplace):
        rate = float(1 / mechanism.scale)
        return math.exp(-rate * least) / (1 + math.exp(-rate))
    sigma = float(mechanism.sigma)
    if isinstance(mechanism, DiscreteGaussian):
        if sigma <= _SUMMED:
            every, weights = _weights(sigma)
            return float(weights[least:].sum() / every)
        start = (least - 0.5) / sigma
        return float(ndtr(-start)) - start * _density(start) / (24 * sigma**2)
    return float(ndtr(-(least - 0.5) / sigma))


def _mean_tail(mechanism: Additive, least: int) -> float:
    """E[Z; Z ≥ least], from 1 on."""
    if isinstance(mechanism, DiscreteLaplace):
        rate = float(1 / mechanism.scale)
        ratio, gap = math.exp(-rate), -math.expm1(-rate)
        return math.exp(-rate * least) * (least + ratio / gap) / (1 + ratio)
    sigma = float(mechanism.sigma)
    if sigma > _SUMMED:
        return sigma * _density((least - 0.5) / sigma)
    if isinstance(mechanism, DiscreteGaussian):
        every, weights = _weights(sigma)
        return float((weights * np.arange(len(weights)))[least:].sum() / every)
    places = np.arange(least + 1, max(least + 1, math.ceil(_REACH * sigma) + 1))
    return least * _tail(mechanism, least) + float(ndtr(-(places - 0.5) / sigma).sum())


def _weights(sigma: float) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The sum of exp(−k² / (2 sigma²)) over all whole numbers, and the terms from 0 on."""
    places = np.arange(math.ceil(_REACH * sigma) + 1, dtype=np.float64)
    weights = np.exp(-(places**2) / (2 * sigma**2))
    return float(2 * weights.sum() - 1), weights


def _density(place: float) -> float:
    return math.exp(-(place**2) / 2) / math.sqrt(2 * math.pi)
