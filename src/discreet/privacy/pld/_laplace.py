"""The Laplace mechanism with Poisson sampling."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, floor
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING, Cells, Lattice, Measure, Partition
from discreet.privacy.pld._sampling import sampled_cells, sampled_loss, sampled_losses, unsampled_losses

if TYPE_CHECKING:
    from discreet.privacy.pld._pairs import Floats


SLACK = 64 * ROUNDING  # relative error of each mass below: about a dozen operations, exponents of at most 8


def fits(pair: LaplacePair, step: float) -> bool:
    """Whether the closed forms apply: no sampling, moderate scale, several steps between the atoms."""
    return pair.rate == 1.0 and 4 * step < 2 / pair.scale < 8


def laplace_upper(pair: LaplacePair, step: float) -> Measure:
    """Connect the dots from the lower atom -e on, e = 1/scale.

    A full cell from g has p = e^{(g - e)/2} (e^{h/2} - 1)/2 and q = e^{-(g + e)/2} (1 - e^{-h/2})/2, so that
    q e^g / p = e^{-h/2} and b = p (1 - e^{-h/2}) / (1 - e^{-h}) = p / (1 + e^{-h/2}): the same share of every cell.
    The last cell, of width w <= h, also has the upper atom.
    """
    epsilon = 1 / pair.scale
    full = floor(2 * epsilon / step * (1 - 1e-12))
    width = max(0.0, 2 * epsilon - full * step)
    p = (0.5 * expm1(step / 2) * exp(-epsilon)) * np.exp(np.arange(full) * (step / 2))
    share = 1 / (1 + exp(-step / 2)) + SLACK / step
    mass = np.zeros(full + 2)
    mass[:-2] += p * (1 - share + SLACK)
    mass[1:-1] += p * share
    mass[0] += 0.5 * exp(-epsilon)
    # last cell: p - q e^g, written without cancellation, over 1 - e^-h
    p_atom, p_rest = 0.5, -0.5 * expm1(-width / 2)
    excess = -0.5 * expm1(-width) + p_rest * -expm1(-width / 2)
    up = min(p_atom + p_rest, (excess + SLACK * (p_atom + step)) / -expm1(-step))
    mass[-2] += max(0.0, p_atom + p_rest - up) + SLACK
    mass[-1] += up
    # the ends of the grid are off by a round-off of 1/scale and of the losses
    return Measure(-epsilon + SLACK * (1 + epsilon), step, 0, mass * (1 + SLACK), 0.0)


def laplace_lower(pair: LaplacePair, step: float) -> Measure:
    """Merge the outcomes between the atoms into cells of two steps, after adding noise until steps divide.

    Merging a cell of losses gives exactly its midpoint, because p and q are exponentials of the loss with opposite
    rates. So with e = m step the cells, like the atoms, are on the grid. Lap(c) with c > b is Lap(b) plus noise of its
    own (zero with probability b^2/c^2, else Lap(c)): a post-processing.
    """
    cells = floor((1 / pair.scale) / step * (1 - 1e-14))
    epsilon = cells * step
    mass = np.zeros(2 * cells + 1)
    mass[0], mass[-1] = 0.5 * exp(-epsilon), 0.5
    mass[1::2] = (0.5 * expm1(step) * exp(-epsilon)) * np.exp(np.arange(cells) * step)
    return Measure(-epsilon, step, 0, mass * (1 - SLACK), 0.0)


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
