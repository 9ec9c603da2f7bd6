"""The Laplace mechanism with Poisson sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._laplace_grid import fits, laplace_lower, laplace_upper
from discreet.privacy._pld._pair import ROUNDING, Cells, Lattice, Partition
from discreet.privacy._pld._sampling import sampled_cells, sampled_loss, sampled_losses, unsampled_losses

if TYPE_CHECKING:
    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Floats

SLIVER = 1e-6  # of a step: how far beside an atom the lower bound cuts, so that rounding never cuts on the wrong side


@dataclass(frozen=True)
class LaplacePair:
    """P = (1 - rate) Lap(0, scale) + rate Lap(1, scale) against Q = Lap(0, scale); sensitivity one.

    Before sampling the loss has atoms at +-1/scale (P-mass 1/2 above, e^{-1/scale}/2 below) and between them the
    P-density e^{(l - 1/scale)/2} / 4 (Zhu, Dong and Wang 2022, Section 4).
    """

    scale: float
    rate: float = 1.0

    infinity = (0.0, 0.0)
    missing = (0.0, 0.0)
    bounded = True

    @property
    def symmetric(self) -> bool:
        """Reflection about 1/2 exchanges P and Q when nothing is sampled."""
        return self.rate == 1.0

    @property
    def lattice(self) -> Lattice | None:
        """The two atoms."""
        low, high = self.span(0.0)
        return Lattice(low, high - low, only_atoms=False)

    def span(self, log_tail: float) -> tuple[float, float]:  # noqa: ARG002  the loss is bounded
        """The two atoms."""
        return sampled_loss(-1 / self.scale, self.rate), sampled_loss(1 / self.scale, self.rate)

    def cells(self, edges: Floats) -> Cells:
        """Closed forms of nonnegative terms; 1/scale is off by a round-off, which moves masses by 2u/scale of them."""
        epsilon = 1 / self.scale
        base, error = unsampled_losses(edges, self.rate)
        cuts = np.concatenate(([-epsilon], np.maximum.accumulate(np.clip(base, -epsilon, epsilon)), [epsilon]))
        width = np.diff(cuts)
        p = 0.5 * np.exp((cuts[:-1] - epsilon) / 2) * np.expm1(width / 2)
        q = -0.5 * np.exp(-(cuts[:-1] + epsilon) / 2) * np.expm1(-width / 2)
        bottom, top = np.searchsorted(base, (-epsilon, epsilon))
        p[bottom] += 0.5 * np.exp(-epsilon)
        q[bottom] += 0.5
        p[top] += 0.5
        q[top] += 0.5 * np.exp(-epsilon)
        factor = ROUNDING * (24 + 8 * epsilon)
        return sampled_cells(Cells(p, q, factor * p + 1e-305, factor * q + 1e-305), self.rate, error)

    def measures(self, step: float) -> tuple[Measure, Measure] | None:
        """Closed forms of both bounds, where they apply."""
        return (laplace_lower(self, step), laplace_upper(self, step)) if fits(self, step) else None

    def quantiles(self, log_tail: float, cells: int) -> Floats:  # noqa: ARG002  the loss is bounded
        """Equally spaced losses before sampling, the atoms inside."""
        edges = sampled_losses(np.linspace(-1 / self.scale, 1 / self.scale, cells), self.rate)
        width = (edges[-1] - edges[0]) * SLIVER
        return edges[:-1] + np.where(np.arange(cells - 1) == 0, width, 0.0)

    def partition(self, step: float, low: float, high: float) -> Partition:
        """Both atoms alone in their cells, at the middle of which the grid goes through them if `step` divides."""
        low, high = self.span(0.0)
        inner = low + step * (np.arange(1, max(1.0, np.ceil((high - low) / step) - 1)) + 0.5)
        inner = inner[inner < high - 1.25 * step]
        sliver = SLIVER * min(step, high - low)
        return Partition(low, np.concatenate(([low + sliver], inner, [high - sliver])))
