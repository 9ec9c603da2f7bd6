"""The Gaussian mechanism with Poisson sampling."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING, Cells, Lattice, Partition
from discreet.privacy.pld._sampling import sampled_cells, sampled_loss, sampled_losses, unsampled_losses

if TYPE_CHECKING:
    from discreet.privacy.pld._pairs import Floats, Measure

BOTTOM = 6.0  # steps above the least loss that one cell of the lower bound takes together


def _normal_masses(cuts: Floats, mean: float, noise: float) -> tuple[Floats, Floats]:
    """Masses of N(mean, noise^2) between cuts (increasing, -inf and inf allowed), and bounds on their errors.

    Each mass is a difference of two tails on its side of the mean, or what both leave of one. A tail at
    z = (x - mean) / noise has relative error at most (24 + 24 z^2) u: 20 z^2 u when z is off by 10 u (8 u in the noise
    and two roundings; the hazard of the normal at z is below |z| + 1), the rest is the measured accuracy of scipy's
    ndtr with room to spare (tests/privacy/test_pld_gaussian.py).
    """
    from scipy.special import ndtr

    z = (cuts - mean) / noise
    tail = ndtr(-np.abs(z))
    side = np.sign(z[1:]) + np.sign(z[:-1])
    mass = np.where(np.abs(side) > 0, np.abs(np.diff(tail)), 1.0 - tail[1:] - tail[:-1])
    error = ROUNDING * (24 + 24 * np.where(np.isfinite(z), z, 0.0) ** 2) * tail
    error = error[1:] + error[:-1] + np.where(side == 0, 4 * ROUNDING, 0.0)
    return np.maximum(mass, 0.0), error + 1e-305


@dataclass(frozen=True)
class GaussianPair:
    """P = (1 - rate) N(0, noise^2) + rate N(1, noise^2) against Q = N(0, noise^2).

    `noise` may be off by 8 round-offs of itself, so that it can be computed. Dominates any Poisson-subsampled Gaussian
    mechanism with noise multiplier `noise`, for removal of a record; `Swapped` for addition (Zhu, Dong and Wang 2022,
    Theorem 11).
    """

    noise: float
    rate: float = 1.0

    infinity = (0.0, 0.0)
    missing = (0.0, 0.0)
    bounded = False

    @property
    def symmetric(self) -> bool:
        """Without sampling the loss is N(1/2s^2, 1/s^2) both ways."""
        return self.rate == 1.0

    @property
    def lattice(self) -> Lattice | None:
        """No atoms."""
        return None

    def _loss(self, x: float) -> float:
        return sampled_loss((2 * x - 1) / (2 * self.noise**2), self.rate)

    def span(self, log_tail: float) -> tuple[float, float]:
        """Losses at outcomes `z` standard deviations out."""
        reach = self.noise * sqrt(-2 * log_tail)
        return self._loss(-reach), self._loss(1 + reach)

    def cells(self, edges: Floats) -> Cells:
        """Cut at x = noise^2 l + 1/2, l the loss before sampling."""
        base, error = unsampled_losses(edges, self.rate)
        x = self.noise**2 * base + 0.5
        cuts = np.concatenate(([-np.inf], np.maximum.accumulate(x), [np.inf]))
        p, p_error = _normal_masses(cuts, 1.0, self.noise)
        q, q_error = _normal_masses(cuts, 0.0, self.noise)
        finite = x[np.isfinite(x)]
        error_x = 16 * ROUNDING * (float(np.max(np.abs(finite), initial=0.0)) + 1) / self.noise**2
        return sampled_cells(Cells(p, q, p_error, q_error, error_x), self.rate, error)

    def measures(self, step: float) -> tuple[Measure, Measure] | None:  # noqa: ARG002
        """No closed form."""
        return None

    def quantiles(self, log_tail: float, cells: int) -> Floats:
        """Equally spaced outcomes."""
        reach = self.noise * sqrt(-2 * log_tail)
        base = (2 * np.linspace(-reach, 1 + reach, cells) - 1) / (2 * self.noise**2)
        return sampled_losses(base, self.rate)

    def partition(self, step: float, low: float, high: float) -> Partition:
        """Uniform cells; near the least loss ln(1 - rate), where the density is steep, one cell on the grid."""
        if self.rate == 1.0:
            first, last = np.floor(low / step), np.ceil(high / step)
            return Partition(0.0, (np.arange(first, last) + 0.5) * step)
        bottom = max(low, log1p(-self.rate)) + BOTTOM * step
        high = max(high, bottom)
        cells = self.cells(np.array([bottom]))
        origin = float(np.log(cells.p[0] / cells.q[0])) if cells.q[0] > 0 and cells.p[0] > 0 else bottom
        first, last = np.floor((bottom - origin) / step + 1), np.ceil((high - origin) / step)
        return Partition(origin, np.concatenate(([bottom], origin + step * (np.arange(first, last) + 0.5))))
