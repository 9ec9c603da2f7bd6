"""The noise of totals that noise itself put into a class of sizes: what choosing areas by a noisy number does.

An area whose unbiased total is small has, on average, noise below 0. So the mean of published less unbiased totals,
over areas of one size, is not the mean of published less true ones: the mean of their noise is missing. That mean
follows from how many totals lie near the ends of the class, which is seen. Proof: ``proofs/census.md``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from numpy.typing import NDArray

__all__ = ["noise_beyond", "noise_within"]

Numbers = NDArray[np.float64]
_ORDER = 6
"""Of the kernel that stands for a point: its mean over Gaussian noise of variance 1 is off by less than 0.001."""
_FAR = 30.0
_COEFFICIENTS = [
    (-1) ** (place // 2) / (2 ** (place // 2) * math.factorial(place // 2)) if place % 2 == 0 else 0.0
    for place in range(2 * _ORDER + 1)
]


def noise_within(
    totals: Numbers, deviations: Numbers, least: float, below: float, *, heavy: bool
) -> tuple[Numbers, Numbers]:
    """Numbers whose sum has the mean of the noise of those totals that lie from `least` on and below `below`.

    Parameters
    ----------
    totals
        The truth and noise.
    deviations
        The standard deviation of the noise of each.
    least, below
        The ends, which may be infinite.
    heavy
        Whether the noise is a sum of discrete Laplace noise, and not of Gaussian.

    Returns
    -------
    For each total, in the class or not, its part of the sum; and how far that may be off because a sum of Laplace noise
    is something between Laplace's and Gauss's.

    >>> noise = np.random.default_rng(0).normal(0, 2, 100_000)
    >>> parts, _ = noise_within(5 + noise, np.full(100_000, 2.0), 4, math.inf, heavy=False)
    >>> bool(abs(parts.sum() - noise[5 + noise >= 4].sum()) < 6 * 2 * 100_000**0.5)
    True
    """
    one, other = (noise_beyond(totals, deviations, end, heavy=heavy) for end in (least, below))
    return one[0] - other[0], one[1] - other[1]


def noise_beyond(totals: Numbers, deviations: Numbers, end: float, *, heavy: bool) -> tuple[Numbers, Numbers]:
    """As `noise_within`, of the totals from one end on."""
    if math.isinf(end):
        return np.zeros_like(totals), np.zeros_like(totals)
    places = np.divide(totals - end, deviations, out=np.full_like(totals, np.inf), where=deviations > 0)
    gauss = deviations * _at_zero(places)
    if not heavy:
        return gauss, np.zeros_like(totals)
    laplace = deviations * np.exp(-math.sqrt(2) * np.abs(places)) / math.sqrt(2)
    return (gauss + laplace) / 2, (gauss - laplace) / 2


def _at_zero(places: Numbers) -> Numbers:
    """A kernel whose mean over places with noise of variance 1 is the noise's density at 0."""
    near = np.clip(places, -_FAR, _FAR)
    heights = hermeval(near, _COEFFICIENTS) * np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi)
    return heights.astype(np.float64)
