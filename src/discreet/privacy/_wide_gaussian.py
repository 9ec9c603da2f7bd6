"""The curve of discrete Gaussian noise that is too wide to sum: that of continuous noise, with a bound of the gap."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy._curves import WIDE, Bounds, Curve, Of
from discreet.privacy._gaussian import gaussian_curve

__all__ = ["wide_gaussian_curve"]

_LEAST_SIGMA = 100
_ROOT = math.sqrt(2 * math.pi)
_SAFE = math.log(1.01)  # for what the floats below may lose


def wide_gaussian_curve(sigma: Fraction, sensitivity: int) -> Curve | None:
    """δ within E of the Gaussian mechanism with μ = s/σ from above, within D + E from below.

    None unless σ ≥ 100 and s ≤ 2σ². Source: ``proofs/discrete_gaussian.md``, Wide noise.

    >>> low, high = wide_gaussian_curve(Fraction(3_730_650), 10**6).log_delta(1.0)
    >>> f"{math.exp(low):.7e} {math.exp(high):.7e}"
    '9.9991827e-06 9.9991827e-06'
    """
    if sigma < _LEAST_SIGMA or sensitivity > 2 * sigma * sigma:
        return None
    continuous = gaussian_curve((sensitivity / sigma) ** 2)
    width, mu = float(sigma), float(sensitivity / sigma)

    def log_delta(eps: float) -> Bounds:
        low, high = continuous.log_delta(eps)
        log_d, log_e = _gaps(eps, width, mu)
        lost = _log_sum(log_d, log_e) - low if low > -math.inf else math.inf
        kept = low + math.log(-math.expm1(lost)) - WIDE * (1 + abs(low)) if lost < 0 else -math.inf
        return kept, _log_sum(high, log_e) + WIDE

    return Of(log_delta)


def _gaps(eps: float, sigma: float, mu: float) -> Bounds:
    """Upper bounds of ln D and of ln E. The cut y lies in [a, b], in units of σ, and m is its point nearest to 0."""
    cut = eps / mu - mu / 2
    if cut > 1e150:
        return -1e300, -1e300
    spread = 0.5 / sigma + 1e-14 * (eps / mu + mu)
    a, b = cut - spread, cut + spread
    at_most = -(max(0.0, a, -b) ** 2) / 2
    step = mu / (2 * sigma)
    far = math.log(b + mu) + step + at_most if a + mu >= 1 else math.log(4) + step
    near = math.log(b) + at_most if a >= 1 else math.log(2.5)
    log_e = _log_sum(near, far) - math.log(8 * _ROOT * sigma * sigma)
    log_d = at_most + math.log(math.expm1(step) / (2 * _ROOT * sigma))
    return log_d + _SAFE, log_e + _SAFE


def _log_sum(x: float, y: float) -> float:
    top = max(x, y)
    return top + math.log1p(math.exp(min(x, y) - top)) if top > -math.inf else top
