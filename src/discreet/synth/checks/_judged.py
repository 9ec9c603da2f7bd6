"""What a noisy histogram of scores by label says of a classifier, and how far off that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from discreet.marginals import Numbers

__all__ = ["accuracy", "auc", "confidence_of", "interval_of", "ranges"]

_FEWEST = 1.0


def auc(counts: Numbers) -> tuple[float, Numbers]:
    """The area under the curve of ranges of scores, and its derivative by each count; ties count half.

    `counts` has a row for the other label and one for the positive, each by ranges of rising scores.

    >>> auc(np.array([[3.0, 1.0], [0.0, 4.0]]))[0]
    0.875
    """
    negative, positive = counts
    below = np.cumsum(negative) - negative / 2
    above = positive[::-1].cumsum()[::-1] - positive / 2
    pairs = max(negative.sum(), _FEWEST) * max(positive.sum(), _FEWEST)
    area = positive @ below / pairs
    slopes = np.stack([
        above / pairs - area / max(negative.sum(), _FEWEST), below / pairs - area / max(positive.sum(), _FEWEST)
    ])  # fmt: skip
    return float(area), slopes


def accuracy(counts: Numbers, threshold: int) -> tuple[float, Numbers]:
    """The share of rows whose label is recognised, and its derivative by each count.

    >>> accuracy(np.array([[3.0, 1.0], [0.0, 4.0]]), 1)[0]
    0.875
    """
    right = np.zeros(counts.shape)
    right[0, :threshold] = right[1, threshold:] = 1
    total = max(counts.sum(), _FEWEST)
    share = (right * counts).sum() / total
    return float(share), (right - share) / total


def interval_of(estimate: float, slopes: Numbers, std: float, level: float) -> tuple[float, float]:
    """An interval to first order, by noise of one standard deviation on each count."""
    half = NormalDist().inv_cdf((1 + level) / 2) * std * float(np.sqrt((slopes * slopes).sum()))
    return max(estimate - half, 0.0), min(estimate + half, 1.0)


def confidence_of(interval: Callable[[float], tuple[float, float]], limit: float) -> float:
    """The highest level at which an interval does not hold a limit; 0 if none.

    >>> round(confidence_of(lambda level: (0.5 - level, 0.5 + level), 0.75), 3)
    0.25
    """
    low, high = 0.0, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        lower, upper = interval(middle)
        low, high = (low, middle) if lower <= limit <= upper else (middle, high)
    return low


def ranges(counts: Sequence[int]) -> Numbers:
    """Counts of both labels, the other one first, as an array of two rows."""
    return np.array(counts, np.float64).reshape(2, -1)
