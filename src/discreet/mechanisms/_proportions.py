"""Proportions in a population, estimated from randomized reports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Proportions", "proportions_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Proportions:
    """Estimated proportions, one entry per category; all follow from public reports.

    Attributes
    ----------
    proportions
        Unbiased estimates; they sum to 1 and each can fall outside of 0 … 1.
    variance
        Of each estimate, estimated: that of sampling the population and that of the randomized answers together.
    interval
        Lower and upper ends, within 0 … 1: each category's own, at the stated level.
    level
        The probability with which each interval holds its proportion, at least.
    reports
        How many reports there were.

    Source: ``proofs/randomized_response.md``.
    """

    proportions: NDArray[np.float64]
    variance: NDArray[np.float64]
    interval: tuple[NDArray[np.float64], NDArray[np.float64]]
    level: float
    reports: int


def proportions_of(counts: NDArray[Any], truth: Fraction, lie: Fraction, level: Fraction) -> Proportions:
    """From how often each category was reported, where a report is `truth` likely to be one's own, else `lie` each.

    The intervals are those of Clopper and Pearson 1934 for the share of reports, mapped by λ ↦ (λ − lie)/(truth − lie).
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

    n = int(counts.sum())
    share, span = counts / n, float(truth - lie)
    rest, miss = n - counts, float(1 - level) / 2
    low = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 1), rest + 1, miss))
    high = np.where(rest == 0, 1.0, betaincinv(counts + 1, np.maximum(rest, 1), 1 - miss))
    ends = [np.clip((end - float(lie)) / span, 0.0, 1.0) for end in ((low, high) if span > 0 else (high, low))]
    return Proportions(
        proportions=(share - float(lie)) / span,
        variance=share * (1 - share) / (n * span**2),
        interval=(ends[0], ends[1]),
        level=float(level),
        reports=n,
    )
