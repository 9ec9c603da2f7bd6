"""Cumulant generating functions of loss distributions, and the saddle point at which to tilt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, fsum, log, log1p, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.privacy.pld._pairs import Floats, Measure, Pair

    Parts = Sequence[tuple[Measure, int]]


@dataclass(frozen=True)
class Cumulants:
    """All atoms of all parts in one array: K(t) = sum of count * ln sum mass e^{t loss}."""

    loss: Floats
    log_mass: Floats
    starts: NDArray[np.intp]
    counts: Floats

    @staticmethod
    def from_measures(parts: Parts) -> Cumulants:
        """Gather the atoms of positive mass; every part must have some."""
        atoms: list[tuple[Floats, Floats]] = []
        for part, _ in parts:
            positive = part.mass > 0
            atoms.append((part.losses()[positive], part.mass[positive]))
        return Cumulants._gathered(atoms, [count for _, count in parts])

    @staticmethod
    def rough(parts: Sequence[tuple[Pair, int]], log_tail: float, cells: int) -> Cumulants:
        """Estimate from cells of each pair, with the log ratio of their masses for a loss. Not a bound."""
        atoms: list[tuple[Floats, Floats]] = []
        for pair, _ in parts:
            masses = pair.cells(pair.quantiles(log_tail, cells))
            positive = (masses.p > 1e-300) & (masses.q > 1e-300)
            if not positive.any():
                positive, masses = np.ones(1, dtype=bool), Cells(np.ones(1), np.ones(1), np.zeros(1), np.zeros(1))
            p, q = masses.p[positive], masses.q[positive]
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


LOG_OUTSIDE = -30.0  # ln of the tilted mass that the window may leave out on either side
REACHES = (0.3, 1.0, 2.5, 4.5, 6.5, 7.75, 9.5, 13.0, 20.0, 40.0)  # Chernoff parameters, in standard deviations
SMALL = 26.0  # what comes from below an aimed window is about e^-SMALL of what is wanted
LITTLE = 0.1  # of a window: what makes it end where the losses end
BELOW = 4.0  # tilts by which an aimed window begins below its epsilon


@dataclass(frozen=True)
class Aim:
    """The one place where a composition is wanted: about that epsilon, where delta is about e^log_delta."""

    epsilon: float
    log_delta: float


@dataclass(frozen=True)
class Window:
    """Losses from `low` to `high`, and bounds on the tilted mass below and above them."""

    low: float
    high: float
    below: float
    beyond: float


def full_window(cumulants: Cumulants, tilt: float, parts: Parts, log_outside: float = LOG_OUTSIDE) -> Window:
    """Leave out at most e^log_outside of the tilted mass on either side.

    Chernoff's bound at a few parameters:

    P(S >= x) <= e^{K(t + u) - K(t) - u x} and P(S <= x) <= e^{K(t - u) - K(t) + u x} for every u > 0.
    """
    k, unit = _scale(cumulants, tilt, parts)
    least, most = _ends(parts)
    low = max(least, *((log_outside - (cumulants.total(tilt - u * unit) - k)) / (u * unit) for u in REACHES))
    high = min(most, *((cumulants.total(tilt + u * unit) - k - log_outside) / (u * unit) for u in REACHES))
    step, outside = parts[0][0].step, 1.01 * exp(log_outside)
    if most - high < LITTLE * (high - low) + 16 * step:
        high = most  # nothing at all lies beyond
    return Window(low, max(high, low + step), outside * (low > least), outside * (high < most))


def aimed_window(cumulants: Cumulants, tilt: float, parts: Parts, aim: Aim) -> Window:
    """Begin just below `aim`, and be so long that what lies below tilts away: ln(1/delta) + SMALL over the tilt."""
    full = full_window(cumulants, tilt, parts)
    _, unit = _scale(cumulants, tilt, parts)
    length = max((SMALL - aim.log_delta) / tilt, 16 * parts[0][0].step)
    low = min(aim.epsilon - BELOW / tilt - 0.5 / unit, full.high - length)
    return full if low <= full.low else replace(full, low=low, below=1.01)


def _scale(cumulants: Cumulants, tilt: float, parts: Parts) -> tuple[float, float]:
    k, _, variance = cumulants.moments(tilt)
    return k, 1 / max(sqrt(max(variance, 0.0)), 0.05 * parts[0][0].step)


def _ends(parts: Parts) -> tuple[float, float]:
    step = parts[0][0].step
    low = fsum(n * float(part.losses()[0]) for part, n in parts) - step
    return low, fsum(n * float(part.losses()[-1]) for part, n in parts) + step
