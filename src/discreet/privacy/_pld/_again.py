"""A composition put on a coarser mesh, as an upper or a lower measure that can be composed again."""

from __future__ import annotations

from dataclasses import replace
from math import exp, floor
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._compose import Composition
from discreet.privacy._pld._cumulants import Cumulants
from discreet.privacy._pld._lower import lowered
from discreet.privacy._pld._measure import Measure
from discreet.privacy._pld._pair import ROUNDING, Cells
from discreet.privacy._pld._window import REACHES

if TYPE_CHECKING:
    from discreet.privacy._pld._pair import Floats

PURE = 1e-12  # margin for totals of one and their logarithms: sums of at most 2^17 terms, pairwise


def connected_again(c: Composition, part: tuple[Measure, int], step: float) -> Measure:
    """Spread every atom of an upper composition of `part` over its neighbours on a coarser mesh: section 2."""
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(c.mass + c.error) + (c.log_scale - c.tilt * c.loss)
    size = abs(c.log_scale) + c.tilt * np.abs(c.loss) + 100
    fine = np.exp(np.minimum(logs + c.log_error + c.tilt * c.loss_error + 8 * ROUNDING * size, 700.0))
    fine[0] += _below(part, float(c.loss[0])) if c.below else 0.0
    first = floor(float(c.loss[0]) / step) - 1
    where = np.floor(c.loss / step).astype(np.int64)
    beyond = np.maximum(c.loss - step * where, 0.0) + 2 * c.loss_error + 8 * ROUNDING * np.abs(c.loss)
    share = np.clip(np.expm1(-beyond) / np.expm1(-step) * (1 + 8 * ROUNDING), 0.0, 1.0)
    mass = np.zeros(int(where[-1]) - first + 2)
    np.add.at(mass, where - first, fine * (1 - share))
    np.add.at(mass, where - first + 1, fine * share)
    infinity = c.infinity + c.beyond * exp(min(700.0, c.log_scale - c.tilt * c.top)) * (1 + 1e-9)
    return Measure(4 * ROUNDING * (1 + abs(first) * step), step, first, mass * (1 + PURE), min(1.0, infinity)).trimmed()


def _below(part: tuple[Measure, int], loss: float) -> float:
    """A bound on the mass (not tilted) of the sum below `loss`: e^{K(-u) + u loss} for any u >= 0."""
    cumulants = Cumulants.of([part])
    _, _, variance = cumulants.moments(0.0)
    unit = 1 / max(variance**0.5, part[0].step)
    found = [cumulants.total(-reach * unit) + reach * unit * loss for reach in (0.0, *REACHES)]
    return 1.01 * exp(min(0.0, *found))


def merged_again(c: Composition, step: float, tilt: float, lost: float = 0.0) -> Measure:
    """Merge a lower composition on a coarser mesh: section 3.

    Tilted mass that was folded into the window, or is `lost` besides, is charged in units of the new tilted total:
    merging never increases it.
    """
    loss = c.loss - c.loss_error
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(c.mass - c.error, 0.0)) + (c.log_scale - c.tilt * c.loss)
    size = abs(c.log_scale) + c.tilt * np.abs(c.loss) + 100
    p = np.exp(np.minimum(logs - c.log_error - c.tilt * c.loss_error - 8 * ROUNDING * size, 0.0))
    where = np.round(loss / step).astype(np.int64)
    where -= where[0]
    p_coarse: Floats = np.bincount(where, p).astype(np.float64)
    q = p * np.exp(-loss) * (1 + 8 * ROUNDING * (1 + np.abs(loss)))
    q_coarse: Floats = np.bincount(where, q).astype(np.float64)
    error = len(p) * ROUNDING
    found = lowered(Cells(p_coarse, q_coarse, error * p_coarse, error * q_coarse), 0.0, step, tilt, c.infinity)
    kept = float(np.sum(found.mass * np.exp(np.minimum(tilt * found.losses() - c.log_scale, 700.0))))
    return replace(found, folded=min(1.0, 1.01 * (c.below + c.beyond + c.folded + lost) / max(kept, 1e-300)))
