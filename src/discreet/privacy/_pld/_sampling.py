"""Poisson sampling of a pair: with probability `rate` the record takes part, P' = (1 - rate) Q + rate P."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._pair import ROUNDING, Cells

if TYPE_CHECKING:
    from discreet.privacy._pld._pair import Floats


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
