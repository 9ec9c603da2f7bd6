"""Cumulant generating functions of loss distributions, and the saddle point at which to tilt."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p, pi
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Floats

    Parts = Sequence[tuple[Measure, int]]


@dataclass(frozen=True)
class Cumulants:
    """All atoms of all parts in one array, with the bounds of the parts: K(t) = sum of count * ln sum mass e^{t loss}."""

    loss: Floats
    log_mass: Floats
    starts: NDArray[np.intp]
    counts: Floats

    @staticmethod
    def of(parts: Parts) -> Cumulants:
        """Gather the atoms of positive mass; every part must have some."""
        losses: list[Floats] = []
        masses: list[Floats] = []
        sizes: list[int] = []
        counts: list[float] = []
        for part, count in parts:
            kept = part.mass > 0
            losses.append(part.losses()[kept])
            masses.append(part.mass[kept])
            sizes.append(len(masses[-1]))
            counts.append(float(count))
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        return Cumulants(np.concatenate(losses), np.log(np.concatenate(masses)), starts, np.array(counts))

    @property
    def steepest(self) -> float:
        """The largest tilt worth trying: beyond it the exponent of a single atom would lose digits."""
        return 1e4 / max(1e-12, float(np.max(np.abs(self.loss))))

    def _weights(self, tilt: float) -> tuple[Floats, Floats]:
        exponent = self.log_mass + tilt * self.loss
        peak = np.maximum.reduceat(exponent, self.starts)
        sizes = np.diff(np.append(self.starts, len(exponent)))
        weight = np.exp(exponent - np.repeat(peak, sizes))
        total = np.add.reduceat(weight, self.starts)
        weight /= np.repeat(total, sizes)
        return weight, peak + np.log(total)

    def each(self, tilt: float) -> Floats:
        """ln sum mass e^{tilt loss} of each part."""
        return self._weights(tilt)[1]

    def total(self, tilt: float) -> float:
        """K(tilt)."""
        return float(self.counts @ self.each(tilt))

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """K, K' and K'' at `tilt`: the last two are the mean and the variance of the tilted sum."""
        weight, each = self._weights(tilt)
        mean = np.add.reduceat(weight * self.loss, self.starts)
        sizes = np.diff(np.append(self.starts, len(weight)))
        spread = np.add.reduceat(weight * (self.loss - np.repeat(mean, sizes)) ** 2, self.starts)
        return float(self.counts @ each), float(self.counts @ mean), float(self.counts @ spread)


def tilt_for_delta(cumulants: Cumulants, log_delta: float) -> float:
    """Return t such that the saddle-point estimate of delta at epsilon = K'(t) is about e**log_delta.

    ln delta ~ K - t K' - ln(2 pi K'')/2 - ln t - ln(1 + t) (Alghamdi et al. 2022, equation 23).
    """

    def estimate(tilt: float) -> float:
        k, mean, variance = cumulants.moments(tilt)
        return k - tilt * mean - 0.5 * log(2 * pi * variance + 1e-300) - log(tilt) - log1p(tilt)

    return _decreasing_root(estimate, log_delta, cumulants.steepest)


def tilt_for_epsilon(cumulants: Cumulants, epsilon: float) -> float:
    """Return t with K'(t) - 1/t - 1/(1 + t) = epsilon, the saddle point of the integrand of delta(epsilon)."""

    def estimate(tilt: float) -> float:
        return -(cumulants.moments(tilt)[1] - 1 / tilt - 1 / (1 + tilt))

    return _decreasing_root(estimate, -epsilon, cumulants.steepest)


def _decreasing_root(value: Callable[[float], float], target: float, steepest: float) -> float:
    """Bisect ln t; only a good guess is needed."""
    low, high = log(1e-4), log(steepest)
    for _ in range(24):
        middle = (low + high) / 2
        if value(exp(middle)) > target:
            low = middle
        else:
            high = middle
    return exp((low + high) / 2)
