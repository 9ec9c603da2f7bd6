"""Poisson sampling of a pair: with probability `rate` the record takes part, P' = (1 - rate) Q + rate P."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING, Cells, Lattice, Pair, Partition

if TYPE_CHECKING:
    from discreet.privacy.pld._pairs import Floats, Measure


def sampled_loss(loss: float, rate: float) -> float:
    """Return ln(1 - rate + rate e**loss), the loss after sampling of an outcome whose loss was `loss`.

    >>> round(sampled_loss(1.0, 0.01), 6)
    0.017037
    """
    if rate == 1.0:
        return loss
    return float(np.logaddexp(np.log1p(-rate), np.log(rate) + loss))


def sampled_losses(losses: Floats, rate: float) -> Floats:
    """Return `sampled_loss` of each."""
    if rate == 1.0:
        return losses
    return np.logaddexp(np.log1p(-rate), np.log(rate) + losses)


def unsampled_losses(losses: Floats, rate: float) -> tuple[Floats, float]:
    """Return the losses before sampling, and a bound on the error this makes, measured as a loss after sampling.

    With d = e**l - 1 + rate the answer is ln(d / rate). The float d is off by at most 2u|e**l - 1| + u d, which moves
    l = ln(1 - rate + d) by at most that over e**l, and e**l >= 1 - rate. The two logarithms and their difference are
    off by 2u(|ln d| + |ln rate|), and dl / d ln d = d / e**l <= 1. Losses below ln(1 - rate), which no outcome has,
    give -inf.
    """
    if rate == 1.0:
        return losses, 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d = np.expm1(np.minimum(losses, 700.0)) + rate
        logs = np.log(np.where(d > 0, d, 0.0))
        slope = np.where(d > 0, d / (1 - rate + d), 0.0)
        wobble = np.where(d > 0, np.abs(logs) + abs(np.log(rate)), 0.0) * slope
        base = np.where(losses > 700.0, losses, logs) - np.log(rate)
    error = ROUNDING * (4.0 / (1 - rate) + 4.0 * float(np.max(wobble, initial=0.0)) + 4.0)
    return base, error


def sampled_cells(cells: Cells, rate: float, error: float) -> Cells:
    """Mix Q into P. Nonnegative terms only, so the relative errors of the parts carry over plus 4 round-offs."""
    if rate == 1.0:
        return cells
    p = (1 - rate) * cells.q + rate * cells.p
    p_error = ((1 - rate) * cells.q_error + rate * cells.p_error) * (1 + 8 * ROUNDING) + 4 * ROUNDING * p
    return Cells(p, cells.q, p_error, cells.q_error, cells.edge_error + error)


@dataclass(frozen=True)
class Swapped:
    """(Q, P): the loss changes sign, and the cells are read from the other end.

    Cells then include their lower edge and not their upper one, which neither bound minds.
    """

    pair: Pair

    @property
    def infinity(self) -> tuple[float, float]:
        """Q where P is 0."""
        return self.pair.missing

    @property
    def missing(self) -> tuple[float, float]:
        """P where Q is 0."""
        return self.pair.infinity

    @property
    def symmetric(self) -> bool:
        """As the pair."""
        return self.pair.symmetric

    @property
    def lattice(self) -> Lattice | None:
        """The reflected lattice."""
        lattice = self.pair.lattice
        return lattice and Lattice(-lattice.origin, lattice.spacing, lattice.only_atoms)

    def span(self, log_tail: float) -> tuple[float, float]:
        """The reflected span."""
        low, high = self.pair.span(log_tail)
        return -high, -low

    def cells(self, edges: Floats) -> Cells:
        """The same events, P and Q exchanged."""
        cells = self.pair.cells(-edges[::-1])
        return Cells(cells.q[::-1], cells.p[::-1], cells.q_error[::-1], cells.p_error[::-1], cells.edge_error)

    def measures(self, step: float) -> tuple[Measure, Measure] | None:
        """Those of the pair, if both directions are alike."""
        return self.pair.measures(step) if self.pair.symmetric else None

    @property
    def bounded(self) -> bool:
        """As the pair; pairs that are bounded on one side only are not composed."""
        return self.pair.bounded

    def quantiles(self, log_tail: float, cells: int) -> Floats:
        """The same cuts."""
        return -self.pair.quantiles(log_tail, cells)[::-1]

    def partition(self, step: float, low: float, high: float) -> Partition:
        """The same cells."""
        partition = self.pair.partition(step, -high, -low)
        return Partition(-partition.origin, -partition.edges[::-1])
