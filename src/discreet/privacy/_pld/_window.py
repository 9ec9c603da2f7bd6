"""Which losses of a tilted sum a circular convolution has to hold, and what may lie outside.

All of it, up to e^LOG_OUTSIDE on either side; or, where delta is wanted near one epsilon only, just the losses that
decide it. What lies below a window of length W turns up e^{-tilt W} times as heavy: proofs/accounting.md, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, fsum, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.privacy._pld._cumulants import Cumulants, Parts

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
