"""Discrete Laplace and discrete Gaussian noise on the integers, as finite pairs."""

from __future__ import annotations

from math import ceil, exp, expm1

import numpy as np

from discreet.privacy._pld._finite import FinitePair
from discreet.privacy._pld._pair import ROUNDING


def _sampled(p: list[float], q: list[float], rate: float, error: float, defect: float = 0.0) -> FinitePair:
    mixed = tuple((1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)) if rate < 1 else tuple(p)
    return FinitePair(mixed, tuple(q), error=error + 8 * ROUNDING, defect=defect)


def discrete_laplace_pair(scale: float, sensitivity: int = 1, rate: float = 1.0) -> FinitePair:
    """Return noise P(X = x) ~ e^{-|x|/scale} on the integers, shifted by `sensitivity` against unshifted.

    Exact: all outcomes x <= 0 have loss -sensitivity/scale and all x >= sensitivity have loss +sensitivity/scale, so
    sensitivity + 1 atoms are left. With r = e^{-1/scale}, P(X <= -k) = r^k / (1 + r) for k >= 0.
    """
    a, s = 1 / scale, sensitivity
    whole = 1 + exp(-a)
    near = [-expm1(-a) * exp(-a * abs(x)) / whole for x in range(1, s)]
    end, other = 1 / whole, exp(-a * s) / whole
    return _sampled([other, *near[::-1], end], [end, *near, other], rate, ROUNDING * (24 + 8 * a * s))


LOG_TAIL = 300.0


def discrete_gaussian_pair(sigma: float, sensitivity: int = 1, rate: float = 1.0) -> FinitePair:
    """Return noise P(X = x) ~ e^{-x^2/(2 sigma^2)} on the integers, shifted by `sensitivity` against unshifted.

    Outcomes further than K = sigma sqrt(600) + 1 from either centre are dropped. The lighter of the two masses there is
    below e^-300 of one; the heavier is near it too unless the shift is large against sigma, in which case the drop is
    widened by the shift. What is dropped is charged as `defect`.
    """
    reach = ceil(sigma * (2 * LOG_TAIL) ** 0.5) + 1
    x = np.arange(-reach, reach + sensitivity + 1, dtype=float)
    norm = float(np.sum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)))
    exponent_q, exponent_p = -0.5 * (x / sigma) ** 2, -0.5 * ((x - sensitivity) / sigma) ** 2
    q, p = np.exp(np.maximum(exponent_q, -800)) / norm, np.exp(np.maximum(exponent_p, -800)) / norm
    q, p = np.where(exponent_q < -690, 0.0, q), np.where(exponent_p < -690, 0.0, p)
    defect = 4 * exp(-LOG_TAIL)
    return _sampled(p.tolist(), q.tolist(), rate, ROUNDING * (64 + 8 * LOG_TAIL), defect)
