"""Curves of single mechanisms: two finite distributions, and the Laplace mechanism."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.curves._base import WIDE, Bounds, Curve, FunctionCurve
from discreet.privacy.curves._gaussian import wide_gaussian_curve
from discreet.privacy.curves._rounding import down, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["discrete_gaussian_curve", "discrete_laplace_curve", "laplace_curve", "pair_curve", "response_curve"]

_QUICK_SUPPORT, _LARGEST_SUPPORT = 200_000, 1_000_000


def pair_curve(p: Floats, log_ratio: Floats, error: float = WIDE) -> Curve:
    """δ(ε) = Σ p(1 − e^{ε−L})⁺ with L = ln(p/q): Balle and Wang 2018, Theorem 5.

    `p` is right to `error` of itself, and L to `error` of itself or of ε; infinite L is a full leak. Terms are
    positive, so the sum is right to `error` plus 2⁻⁴⁶; the error in L is paid by moving ε.
    """
    import numpy as np

    moved = 2 * error + WIDE

    def log_delta(eps: float) -> Bounds:
        shifted = (eps * (1 + moved), eps * (1 - moved))
        sums = [float(np.sum(p * -np.expm1(np.minimum(near - log_ratio, 0.0)))) for near in shifted]
        low, high = (math.log(each) if each > 0 else -math.inf for each in sums)
        return low - moved, high + moved

    return FunctionCurve(log_delta)


def laplace_curve(scale: Fraction) -> Curve:
    """δ(ε) = 1 − e^{(ε − 1/b)/2} below ε = 1/b: Balle, Barthe and Gaboardi 2018, Theorem 3."""
    below, above = down(1 / scale), up(1 / scale)

    def log_delta(eps: float) -> Bounds:
        low = math.log(-math.expm1((eps - below) / 2)) if eps < below else -math.inf
        high = math.log(-math.expm1((eps - above) / 2)) if eps < above else -math.inf
        return low - WIDE, high + WIDE

    return FunctionCurve(log_delta)


def discrete_laplace_curve(scale: Fraction, sensitivity: int) -> Curve | None:
    """The losses are (s − 2x)/b for x = 0, …, s, and what is beyond an end counts with it; None if s is huge."""
    import numpy as np

    if sensitivity > _LARGEST_SUPPORT:
        return None
    rate = float(1 / scale)
    x = np.arange(sensitivity + 1, dtype=np.float64)
    p = -math.expm1(-rate) / (1 + math.exp(-rate)) * np.exp(-rate * x)
    p[0] = 1 / (1 + math.exp(-rate))
    p[-1] = math.exp(-rate * sensitivity) / (1 + math.exp(-rate))
    return pair_curve(p, (sensitivity - 2 * x) * rate, WIDE * (1 + rate * sensitivity))


def discrete_gaussian_curve(sigma: Fraction, sensitivity: int) -> Curve | None:
    """L(x) = (s² − 2xs)/2σ², summed over |x| ≤ 40σ + s; if these are many, `wide_gaussian_curve`, or None.

    What is left out has mass below e^{−700}·2, which is added above. The least x that counts decides: δ below about
    1e-300 is not resolved, and the bracket is wide there.
    """
    import numpy as np

    near = float(sigma)
    reach = math.ceil(40 * near) + sensitivity + 1
    wide = wide_gaussian_curve(sigma, sensitivity) if reach > _QUICK_SUPPORT else None
    if wide is not None or reach > _LARGEST_SUPPORT:
        return wide
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    weight = np.exp(-(x * x) / (2 * near * near))
    p = weight / weight.sum()
    s = float(sensitivity)
    inner = pair_curve(p, (s * s - 2 * x * s) / (2 * near * near), 2.0**-41)

    def log_delta(eps: float) -> Bounds:
        low, high = inner.log_delta(eps)
        tail = -700.0 + math.log(2)
        return low, max(high, tail) + math.log1p(math.exp(-abs(high - tail)))

    return FunctionCurve(log_delta)


def response_curve(p: Fraction, k: int) -> Curve:
    """Return the curve of k-ary randomized response: the k − 2 values that neither neighbour holds have loss 0."""
    import numpy as np

    other = (1 - p) / (k - 1)
    ratio = math.log(float(p / other)) if not Fraction(1, 2) < p / other < 2 else math.log1p(float(p / other - 1))
    return pair_curve(np.array([float(p), float(other)]), np.array([ratio, -ratio]), 2.0**-50)
