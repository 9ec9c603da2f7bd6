"""delta(epsilon) of a composition, rounded outward, and its inverse."""

from __future__ import annotations

from math import exp, expm1, inf, isnan, log, log1p
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING

if TYPE_CHECKING:
    from discreet.privacy.pld._compose import Composition
    from discreet.privacy.pld._pairs import Floats

BLOCK = 512
MOST = 709.0  # e^x is a float
FAR = 60.0  # a loss whose weight is below e^-FAR of the largest is charged as if it had that weight
CLOSE = 1e-9  # relative: how far outside of the root the returned epsilon lies
SECANTS = 12


def delta_of(sum_of_losses: Composition, epsilon: float, *, upper: bool) -> float:
    """Return a bound on the composition's hockey-stick divergence.

    That is the sum of mass (1 - e^{epsilon - loss}) over losses above epsilon. All terms are positive, so nothing
    cancels. proofs/accounting.md, sections 5 and 6.
    """
    c = sum_of_losses
    sign = 1.0 if upper else -1.0
    moved = epsilon - sign * c.loss_error
    total, charged, peak = _parts_of(c, moved, sign)
    total += sign * charged
    if total <= 0:
        return c.infinity
    slack = (2 * len(c.loss) + 64) * ROUNDING + c.log_error + c.tilt * c.loss_error
    slack += 8 * ROUNDING * (abs(c.log_scale) + c.tilt * abs(moved) + abs(peak) + 750)
    exponent = c.log_scale - c.tilt * moved + peak + log(total) + sign * slack
    finite = exp(min(exponent, 0.0)) if not isnan(exponent) else float(upper)
    if upper:
        return min(1.0, (finite + c.infinity) * (1 + 4 * ROUNDING) + 5e-324)
    return min(1.0, (finite + c.infinity) * (1 - 4 * ROUNDING))


def doubt_at(sum_of_losses: Composition, epsilon: float) -> float:
    """Which part of the upper bound at `epsilon` is there only to cover round-off and what lies outside."""
    total, charged, _ = _parts_of(sum_of_losses, epsilon - sum_of_losses.loss_error, 1.0)
    return charged / (total + charged) if total + charged > 0 else 0.0


def _parts_of(c: Composition, moved: float, sign: float) -> tuple[float, float, float]:
    """Return the sum over losses above `moved`, a bound on its error on the side of `sign`, and the scale of both."""
    start = int(np.searchsorted(c.loss, moved, side="right"))
    peak = _peak(c, moved, start)
    # The weight falls on both sides of its top, and by more than tilt per unit of loss above it.
    reach = log1p(1 / c.tilt) + (FAR - peak) / c.tilt if c.tilt > 0 else inf
    stop = int(np.searchsorted(c.loss, moved + reach, side="right"))
    total, weights = _weighted(c, moved, (start, stop), peak, sign)
    charged = c.error * weights
    if sign > 0:
        charged += exp(-FAR) * (float(np.sum(c.mass[stop:])) + c.error * (len(c.loss) - stop))
        charged += c.beyond * _grown(min(0.0, -c.tilt * (c.top - moved)) - peak)
        if moved < c.loss[0]:  # what was folded into the window from below it may lie above epsilon
            charged += c.below * _grown(-peak)
    else:
        # From below, mass came one turn up or more: e^{-tilt turn} of what its total of one could bring here.
        wrapped = min(c.below, 1.01 * _grown(c.tilt * (moved - c.turn) - c.log_scale - peak))
        charged += c.beyond + c.folded + wrapped
    return total, charged, peak


def _weighted(c: Composition, moved: float, where: tuple[int, int], peak: float, sign: float) -> tuple[float, float]:
    """Return the sum of mass e^{-tilt a}(1 - e^{-a}) / e^peak over a = loss - moved, and that of the weights alone.

    On a fine mesh by blocks, e^{-tilt a} being geometric, as a difference of two sums, whose round-off is added with
    `sign`: their exponents are at most FAR and some, so each is right within 1e-13 of itself. (einsum and not @, whose
    threads cost more than they give here.)
    """
    start, stop = where
    step = c.turn and (c.loss[-1] - c.loss[0]) / max(len(c.loss) - 1, 1)
    if stop - start < 4 * BLOCK or c.tilt * step > 1e-3:
        above = c.loss[start:stop] - moved
        weight = np.exp(-c.tilt * above - peak) * -np.expm1(-above)
        return float(np.einsum("i,i->", weight, c.mass[start:stop])), float(np.sum(weight))
    rows = (stop - start) // BLOCK
    cut = start + rows * BLOCK
    total, weights = _weighted(c, moved, (cut, stop), peak, sign)
    grid = c.mass[start:cut].reshape(rows, BLOCK)
    first = float(c.loss[start]) - moved
    sums: list[tuple[float, float]] = []
    for rate in (c.tilt, c.tilt + 1):
        inner = np.exp(-rate * step * np.arange(BLOCK))
        outer = np.exp(-rate * (first + step * BLOCK * np.arange(rows)) - peak)
        product = float(np.sum(outer * np.einsum("ij,j->i", grid, inner)))
        sums.append((product, float(np.sum(outer)) * float(np.sum(inner))))
    (one, plain), (other, damped) = sums
    return total + (one - other) + sign * 2e-13 * one, weights + (plain - damped) + 2e-13 * plain


def _grown(exponent: float) -> float:
    """e^x, infinite past the largest float: what is charged must not shrink."""
    return exp(exponent) if exponent < MOST else inf


def _peak(c: Composition, moved: float, start: int) -> float:
    """Return about the largest ln of a weight e^{-tilt a}(1 - e^{-a}) at the losses a = loss - moved > 0.

    As a function of a it is concave, with its top at ln(1 + 1/tilt): one of the two losses beside that is best.
    """
    if start == len(c.loss):
        return 0.0
    top = moved + log1p(1 / c.tilt) if c.tilt > 0 else inf
    after = int(np.searchsorted(c.loss, top, side="right"))
    largest = -inf
    for index in (after - 1, after):
        if start <= index < len(c.loss):
            above = float(c.loss[index]) - moved
            largest = max(largest, log(-expm1(-above)) - c.tilt * above)
    return largest


def epsilon_of(sum_of_losses: Composition, delta: float, *, upper: bool, near: float | None = None) -> float:
    """Return an epsilon >= 0 with bound(epsilon) <= delta (upper), or with bound(epsilon) > delta or 0 (lower).

    The root of ln bound(epsilon) = ln delta by secants, begun `near` if that is known, then moved outward until
    `delta_of` certifies it.
    """
    c = sum_of_losses
    if upper and delta <= c.infinity:
        return inf
    top = max(c.top, 0.0) + 2 * c.loss_error + 1e-300
    root = _root(c, delta, min(max(_guess(c, delta) if near is None else near, 0.0), top), top, upper=upper)
    if root is None:
        return _bisected(c, delta, top, upper=upper)
    width = CLOSE * max(abs(root), 1e-9)
    while width < top:
        if upper:
            if delta_of(c, min(root + width, top), upper=True) <= delta:
                return min(root + width, top)
        elif root <= width or delta_of(c, root - width, upper=False) > delta:
            return max(root - width, 0.0)
        width *= 8
    return _bisected(c, delta, top, upper=upper)


def _root(c: Composition, delta: float, first: float, top: float, *, upper: bool) -> float | None:
    """Return about the epsilon in (0, top) where the bound is delta; None if secants do not lead there."""
    target = log(delta) if delta > 0 else -inf

    def miss(epsilon: float) -> float | None:
        finite = delta_of(c, epsilon, upper=upper) - c.infinity
        return log(finite) - log(delta - c.infinity) if finite > 0 and delta > c.infinity else None

    if target == -inf or c.tilt <= 0 or first <= 0:
        return None
    at_first = miss(first)
    if at_first is None:
        return None
    second = first + at_first / c.tilt
    for _ in range(SECANTS):
        if not 0 < second < top:
            return None
        at_second = miss(second)
        if at_second is None:
            return None
        if abs(at_second) < c.tilt * CLOSE / 4 * second or abs(second - first) < CLOSE / 4 * second:
            return second
        slope = (at_second - at_first) / (second - first) if second != first else -c.tilt
        if not slope < 0:
            return None
        first, at_first, second = second, at_second, second - at_second / slope
    return None


def _bisected(c: Composition, delta: float, top: float, *, upper: bool) -> float:
    if upper and delta_of(c, 0.0, upper=True) <= delta:
        return 0.0
    at_top = delta_of(c, top, upper=upper)
    if at_top > delta:
        return _past(c, delta, top, at_top) if upper else top
    low, high = 0.0, top
    while high - low > 10 * CLOSE * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(c, middle, upper=upper) > delta else (low, middle)
    return high if upper else low


def _past(c: Composition, delta: float, top: float, at_top: float) -> float:
    """Return an epsilon above the window: what is charged for all that may lie there falls like e^{-tilt epsilon}."""
    if c.tilt <= 0 or delta <= c.infinity or at_top >= 1:
        return inf
    epsilon = top + log((at_top - c.infinity) / (delta - c.infinity)) / c.tilt * (1 + 1e-6) + CLOSE * top
    return epsilon if delta_of(c, epsilon, upper=True) <= delta else inf


def _guess(c: Composition, delta: float) -> float:
    """Where the hockey-stick curve crosses delta, errors left aside."""
    if len(c.loss) == 0:
        return 0.0
    anchor = float(c.loss[int(np.argmax(c.mass))])
    rest = max(delta - c.infinity, 1e-320)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        a = _from_above(c.mass * np.exp(np.clip(-c.tilt * (c.loss - anchor), -700, 700)))
        b = _from_above(c.mass * np.exp(np.clip(-(c.tilt + 1) * (c.loss - anchor), -700, 700)))
        curve = a - np.exp(np.minimum(c.loss - anchor, 700)) * b
        wanted = np.exp(min(700.0, max(-700.0, log(rest) - c.log_scale + c.tilt * anchor)))
        above = np.flatnonzero(curve > wanted)
        last = int(above[-1]) if len(above) else 0
        nxt = min(last + 1, len(c.loss) - 1)
        y = (a[nxt] - wanted) / b[nxt]
    if not np.isfinite(y) or y <= 0:
        return float(c.loss[last])
    return float(min(max(anchor + log(y), c.loss[last]), c.loss[nxt]))


def _from_above(mass: Floats) -> Floats:
    return np.cumsum(mass[::-1])[::-1]
