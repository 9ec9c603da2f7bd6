"""The curve of k copies of randomized response: optimal composition of one (ε, δ)."""

from __future__ import annotations

import math

from discreet.privacy._curves import Bounds, Curve, Of

__all__ = ["LARGEST_COUNT", "optimal_curve"]

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
    return Of(lambda target: (_log_delta(target, eps[0], count)[0], _log_delta(target, eps[1], count)[1]))


def _log_delta(target: float, eps: float, count: int) -> Bounds:
    """Rounding: the logarithm of a term is right to `margin` (lgamma, and products with k, each within 2⁻⁵⁰ of
    their size), the factor 1 − e^{ε−loss} is exact at an ε that differs by 2⁻⁴⁹ of the loss, which is paid by
    computing at ε(1 ± 2⁻⁴⁸), and numpy sums 2·10⁶ positive terms within 2⁻³⁰ of 2⁻²⁰ of them (pairwise: far less).
    """
    import numpy as np
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    if target >= count * eps * (1 + 1e-14):
        return -math.inf, -math.inf
    if eps > 700:
        return (NEAR_ONE, 0.0) if count * eps - target > 40 else (-math.inf, 0.0)
    # Losses count down from kε₀; those at or below the target add nothing.
    last = min(count, int((count - target / eps) / 2 + 1))
    minus = np.arange(last + 1, dtype=np.float64)  # how many of the k answers are the unlikely ones
    log_likely, log_unlikely = -math.log1p(math.exp(-eps)), -eps - math.log1p(math.exp(-eps))
    log_mass = (
        float(gammaln(count + 1))
        - gammaln(minus + 1)
        - gammaln(count - minus + 1)
        + (count - minus) * log_likely
        + minus * log_unlikely
    )
    margin = (
        2.0**-50 * (3 * abs(float(gammaln(count + 1))) + count * (1 - log_likely) + last * (1 - log_unlikely)) + 1e-13
    )
    loss = (count - 2 * minus) * eps
    found: list[float] = []
    for near in (target * (1 + 2.0**-48), target * (1 - 2.0**-48)):
        gain = -np.expm1(np.minimum(near - loss, 0.0))
        with np.errstate(divide="ignore"):
            terms = log_mass + np.log(gain)
        top = float(np.max(terms))
        found.append(top + math.log(float(np.sum(np.exp(terms - top)))) if top > -math.inf else -math.inf)
    return found[0] - margin, found[1] + margin


NEAR_ONE = -1e-15
