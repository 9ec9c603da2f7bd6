"""Exact limits for a probability, from how often an event was seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["at_least", "at_most"]

_SLACK = 1e-9


def at_least(hits: ArrayLike, trials: ArrayLike, alarm: float) -> NDArray[np.float64]:
    """A number that exceeds the probability of the event with probability at most `alarm`. Takes arrays.

    Lowered by 1e-9 of itself for float rounding. Source: Clopper and Pearson 1934.

    >>> float(at_least(0, 100, 0.05)), round(float(at_least(50, 100, 0.05)), 4)
    (0.0, 0.4136)
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

    seen, of = _counts(hits), _counts(trials)
    low: Any = betaincinv(np.maximum(seen, 1), of - np.minimum(seen, of) + 1, alarm)
    return np.where(seen > 0, low * (1 - _SLACK), 0.0)


def at_most(hits: ArrayLike, trials: ArrayLike, alarm: float) -> NDArray[np.float64]:
    """A number that is below the probability of the event with probability at most `alarm`. Takes arrays.

    Raised by 1e-9 of itself for float rounding. Source: Clopper and Pearson 1934.

    >>> round(float(at_most(0, 100, 0.05)), 4), float(at_most(100, 100, 0.05))
    (0.0295, 1.0)
    """
    from scipy.special import betainccinv  # pyright: ignore[reportMissingTypeStubs]

    seen, of = _counts(hits), _counts(trials)
    high: Any = betainccinv(np.minimum(seen, of - 1) + 1, np.maximum(of - seen, 1), alarm)
    return np.where(seen < of, np.minimum(high * (1 + _SLACK), 1.0), 1.0)


def _counts(number: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(number, dtype=np.float64)
