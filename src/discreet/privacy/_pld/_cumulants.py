"""Cumulant generating functions of loss distributions, and the saddle point at which to tilt."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p, pi
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._pair import Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Floats, Pair

    Parts = Sequence[tuple[Measure, int]]


@dataclass(frozen=True)
class Cumulants:
    """All atoms of all parts in one array: K(t) = sum of count * ln sum mass e^{t loss}."""

    loss: Floats
    log_mass: Floats
    starts: NDArray[np.intp]
    counts: Floats

    @staticmethod
    def of(parts: Parts) -> Cumulants:
        """Gather the atoms of positive mass; every part must have some."""
        atoms: list[tuple[Floats, Floats]] = []
        for part, _ in parts:
            kept = part.mass > 0
            atoms.append((part.losses()[kept], part.mass[kept]))
        return Cumulants._gathered(atoms, [count for _, count in parts])

    @staticmethod
    def rough(parts: Sequence[tuple[Pair, int]], log_tail: float, cells: int) -> Cumulants:
        """Estimate from cells of each pair, with the log ratio of their masses for a loss. Not a bound."""
        atoms: list[tuple[Floats, Floats]] = []
        for pair, _ in parts:
            found = pair.cells(pair.quantiles(log_tail, cells))
            kept = (found.p > 1e-300) & (found.q > 1e-300)
            if not kept.any():
                kept, found = np.ones(1, dtype=bool), Cells(np.ones(1), np.ones(1), np.zeros(1), np.zeros(1))
            p, q = found.p[kept], found.q[kept]
            atoms.append((np.log(p) - np.log(q), p))
        return Cumulants._gathered(atoms, [count for _, count in parts])

    @staticmethod
    def _gathered(atoms: Sequence[tuple[Floats, Floats]], counts: Sequence[int]) -> Cumulants:
        sizes = [len(mass) for _, mass in atoms]
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        loss, mass = (np.concatenate(each) for each in zip(*atoms, strict=True))
        return Cumulants(loss, np.log(mass), starts, np.array(counts, dtype=float))

    @property
    def steepest(self) -> float:
        """The largest tilt worth trying: beyond it the exponent of a single atom would lose digits."""
        return 1e4 / max(1e-12, float(np.max(np.abs(self.loss))))

    @property
    def _sizes(self) -> NDArray[np.intp]:
        return np.diff(np.append(self.starts, len(self.loss)))

    def _weights(self, tilt: float) -> tuple[Floats, Floats]:
        exponent = self.log_mass + tilt * self.loss
        peak = np.maximum.reduceat(exponent, self.starts)
        sizes = self._sizes
        weight = np.exp(exponent - np.repeat(peak, sizes))
        total = np.add.reduceat(weight, self.starts)
        weight /= np.repeat(total, sizes)
        return weight, peak + np.log(total)

    def each(self, tilt: float) -> Floats:
        """Ln sum mass e^{tilt loss} of each part."""
        exponent = self.log_mass + tilt * self.loss
        peak = np.maximum.reduceat(exponent, self.starts)
        exponent -= np.repeat(peak, self._sizes)
        return peak + np.log(np.add.reduceat(np.exp(exponent, out=exponent), self.starts))

    def total(self, tilt: float) -> float:
        """K(tilt)."""
        return float(self.counts @ self.each(tilt))

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """K, K' and K'' at `tilt`: the last two are the mean and the variance of the tilted sum."""
        weight, each = self._weights(tilt)
        mean = np.add.reduceat(weight * self.loss, self.starts)
        spread = np.add.reduceat(weight * (self.loss - np.repeat(mean, self._sizes)) ** 2, self.starts)
        return float(self.counts @ each), float(self.counts @ mean), float(self.counts @ spread)


def tilt_for_delta(cumulants: Cumulants, log_delta: float) -> float:
    """Return t such that the saddle-point estimate of delta at epsilon = K'(t) is about e**log_delta.

    ln delta ~ K - t K' - ln(2 pi K'')/2 - ln t - ln(1 + t) (Alghamdi et al. 2022, equation 23), but never above the
    bound K - t K' - ln(e (1 + t)) that needs no density.
    """

    def estimate(tilt: float) -> float:
        k, mean, variance = cumulants.moments(tilt)
        return k - tilt * mean - 0.5 * log(2 * pi * variance * tilt**2 + 7.39) - log1p(tilt)

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
