"""The curve of k copies of randomized response: optimal composition of one (ε, δ)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.privacy.curves._base import Bounds, Curve, FunctionCurve

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["LARGEST_COUNT", "log_sum", "optimal_curve", "within"]

LARGEST_COUNT = 2_000_000
"""Above this many copies the exact sum is left to numeric composition."""


def optimal_curve(eps: Bounds, count: int) -> Curve:
    """`count` copies of ε-DP, ε known within a bracket: Kairouz, Oh and Viswanath 2015, Theorem 3.3.

    With J ~ Binomial(k, e^ε₀/(1+e^ε₀)) the loss is (2J − k)ε₀, and δ(ε) = Σ_j P(J = j)(1 − e^{ε − (2j−k)ε₀})⁺. It grows
    with ε₀. Every term is positive, so relative errors do not grow in the sum.

    >>> curve = optimal_curve((0.1, 0.1), 100)
    >>> low, high = curve.epsilon((math.log(1e-6), math.log(1e-6)))
    >>> round(low, 6), round(high, 6)
    (4.774568, 4.774568)
    """
    return FunctionCurve(lambda target: (_log_delta(target, eps[0], count)[0], _log_delta(target, eps[1], count)[1]))


def _log_delta(target: float, eps: float, count: int) -> Bounds:
    """Rounding: the logarithm of a mass is right to `margin` (lgamma, and products with k, each within 2⁻⁵⁰ of
    their size), the factor 1 − e^{ε−loss} is exact at an ε that differs by 2⁻⁴⁹ of the loss, which is paid by
    computing at ε(1 ± 2⁻⁴⁸). Masses and the factor are both log-concave in the number of unlikely answers, so the terms
    fall on both sides of the largest: they are summed while they are above 2⁻⁷² of it, and the up to 2·10⁶ others are
    below 2⁻⁵¹ of it together.
    """
    import numpy as np

    gammaln = _log_gamma(count)
    if target >= count * eps * (1 + 1e-14):
        return -math.inf, -math.inf
    if eps > 700:
        return (NEAR_ONE, 0.0) if count * eps - target > 40 else (-math.inf, 0.0)
    # Losses count down from kε₀; those at or below the target add nothing.
    last = min(count, int((count - target / eps) / 2 + 1))
    log_likely, log_unlikely = -math.log1p(math.exp(-eps)), -eps - math.log1p(math.exp(-eps))
    log_ways = float(gammaln(count + 1))

    def terms(minus: Floats, near: float) -> Floats:
        log_mass = (
            log_ways
            - gammaln(minus + 1)
            - gammaln(count - minus + 1)
            + (count - minus) * log_likely
            + minus * log_unlikely
        )
        with np.errstate(divide="ignore"):
            return log_mass + np.log(-np.expm1(np.minimum(near - (count - 2 * minus) * eps, 0.0)))

    margin = 2.0**-50 * (3 * log_ways + count * (1 - log_likely) + last * (1 - log_unlikely)) + 1e-13
    ends = target * (1 + 2.0**-48), target * (1 - 2.0**-48)
    minus = within(lambda at: terms(at, ends[1]), last, 72 * math.log(2) + 4 * margin)
    low, high = (log_sum(terms(minus, near)) for near in ends)
    return low - margin, high + margin


def _log_gamma(count: int) -> Callable[[Any], Any]:
    """The logarithm of Γ on 1 … `count` + 1; up to 2 it is 0, and scipy need not be loaded for one (ε, δ)."""
    if count == 1:
        import numpy as np

        return np.zeros_like
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    return gammaln


def within(log_terms: Callable[[Floats], Floats], last: int, depth: float) -> Floats:
    """All of 0, …, last where a concave function is within `depth` of its largest value, found on ever finer grids."""
    import numpy as np

    low, high = 0, last
    while high - low > 4096:
        step = (high - low) // 256
        grid = np.append(np.arange(low, high, step, dtype=np.float64), high)
        values = log_terms(grid)
        near_top = np.flatnonzero(values > np.max(values) - depth)
        if near_top.size == 0:
            break
        narrow = int(grid[max(near_top[0] - 1, 0)]), int(grid[min(near_top[-1] + 1, grid.size - 1)])
        if narrow == (low, high):
            break
        low, high = narrow
    return np.arange(low, high + 1, dtype=np.float64)


def log_sum(terms: Floats) -> float:
    """The logarithm of Σ e^term."""
    import numpy as np

    top = float(np.max(terms))
    return top + math.log(float(np.sum(np.exp(terms - top)))) if top > -math.inf else -math.inf


NEAR_ONE = -1e-15
