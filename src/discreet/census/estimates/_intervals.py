"""Intervals around estimates that are sums of independent noise: of a lattice where one noise is all there is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.errors import ParameterError

__all__ = ["half_widths"]


def half_widths(variances: NDArray[np.float64], confidence: float, *, heavy: bool) -> NDArray[np.float64]:
    """How far estimates lie from the truth at most, with a probability of about `confidence` or more each.

    Sums of Gaussian noise by the normal quantile. `heavy` noise, discrete Laplace, by Laplace's, which is the wider up
    to the confidence at which sums of it are used. An estimate that is a whole number with whole noise can only be off
    by whole numbers, so that the half-width is at least the whole number that reaches the confidence.

    >>> half_widths(np.array([4.0]), 0.95, heavy=False).round(2)
    array([4.])
    """
    deviations = np.sqrt(np.maximum(variances, 0.0))
    width = _quantile(confidence, heavy=heavy) * deviations
    steps = np.where(deviations > 0, np.maximum(np.ceil(width - 0.5), 0.0), 0.0)
    return np.maximum(width, steps)


def _quantile(confidence: float, *, heavy: bool) -> float:
    """How many standard deviations wide a half-width is. Raises `ParameterError` for no confidence."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"confidence must lie strictly between 0 and 1, for example 0.95; got {confidence!r}")
    normal = float(ndtri((1 + confidence) / 2))
    return max(normal, math.log(1 / (1 - confidence)) / math.sqrt(2)) if heavy else normal
