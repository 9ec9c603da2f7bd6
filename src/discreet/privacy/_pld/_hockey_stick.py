"""delta(epsilon) of a composition, rounded outward, and its inverse."""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._pair import ROUNDING

if TYPE_CHECKING:
    from discreet.privacy._pld._compose import Composition


def delta_of(sum_of_losses: Composition, epsilon: float, *, upper: bool) -> float:
    """Return a bound on the composition's hockey-stick divergence.

    That is the sum of mass (1 - e^{epsilon - loss}) over losses above epsilon. All terms are positive, so nothing
    cancels. proofs/accounting.md, sections 5 and 6.
    """
    c = sum_of_losses
    sign = 1.0 if upper else -1.0
    moved = epsilon - sign * c.loss_error
    start = int(np.searchsorted(c.loss, moved, side="right"))
    above, mass = c.loss[start:] - moved, c.mass[start:]
    with np.errstate(divide="ignore"):
        weight = -c.tilt * above + np.log(-np.expm1(-above))
    peak = float(np.max(weight, initial=-inf))
    if peak == -inf:
        peak = 0.0
    weight = np.exp(weight - peak)
    if upper:
        total = float(weight @ mass) + c.error * float(np.sum(weight))
        total += c.beyond * exp(min(700.0, min(0.0, -c.tilt * (c.top - moved)) - peak))
        if moved < c.loss[0]:  # what was folded into the window from below it may lie above epsilon
            total += c.outside * exp(min(700.0, -peak))
    else:
        total = float(weight @ np.maximum(mass - c.error, 0.0)) - c.outside
    if total <= 0:
        return c.infinity
    slack = (2 * len(above) + 64) * ROUNDING + c.log_error + c.tilt * c.loss_error
    slack += 8 * ROUNDING * (abs(c.log_scale) + c.tilt * abs(moved) + abs(peak) + 750)
    exponent = c.log_scale - c.tilt * moved + peak + log(total) + sign * slack
    finite = exp(min(exponent, 0.0))
    if upper:
        return min(1.0, (finite + c.infinity) * (1 + 4 * ROUNDING) + 5e-324)
    return min(1.0, (finite + c.infinity) * (1 - 4 * ROUNDING))


def epsilon_of(sum_of_losses: Composition, delta: float, *, upper: bool) -> float:
    """Return an epsilon >= 0 with bound(epsilon) <= delta (upper), or with bound(epsilon) > delta or 0 (lower).

    A first guess from cumulative sums, then certified by `delta_of` and moved outward until it holds.
    """
    c = sum_of_losses
    if upper and delta <= c.infinity:
        return inf
    if upper and delta_of(c, 0.0, upper=True) <= delta:
        return 0.0
    low, high = 0.0, max(c.top, 0.0) + 2 * c.loss_error + 1e-300
    if delta_of(c, high, upper=upper) > delta:
        return inf if upper else high
    guess = _guess(c, delta)
    width = 1e-9 * max(abs(guess), 1e-9)
    for _ in range(60):  # an interval around the guess, then halves
        left, right = guess - width, guess + width
        if low < left < high and delta_of(c, left, upper=upper) > delta:
            low = max(low, left)
        if low < right < high and delta_of(c, right, upper=upper) <= delta:
            high = min(high, right)
        if (left <= low) and (right >= high):
            break
        width *= 8
    for _ in range(60):
        if high - low <= 1e-8 * high:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(c, middle, upper=upper) > delta else (low, middle)
    return high if upper else low


def _guess(c: Composition, delta: float) -> float:
    """Where the hockey-stick curve crosses delta, errors left aside."""
    anchor = float(c.loss[int(np.argmax(c.mass))])
    rest = max(delta - c.infinity, 1e-320)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        a = np.cumsum((c.mass * np.exp(np.clip(-c.tilt * (c.loss - anchor), -700, 700)))[::-1])[::-1]
        b = np.cumsum((c.mass * np.exp(np.clip(-(c.tilt + 1) * (c.loss - anchor), -700, 700)))[::-1])[::-1]
        curve = a - np.exp(np.minimum(c.loss - anchor, 700)) * b
        wanted = np.exp(min(700.0, max(-700.0, log(rest) - c.log_scale + c.tilt * anchor)))
        above = np.flatnonzero(curve > wanted)
        last = int(above[-1]) if len(above) else 0
        nxt = min(last + 1, len(c.loss) - 1)
        y = (a[nxt] - wanted) / b[nxt]
    if not np.isfinite(y) or y <= 0:
        return float(c.loss[last])
    return float(min(max(anchor + log(y), c.loss[last]), c.loss[nxt]))
