"""The curve of bounded-range mechanisms that are all fixed in advance."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy._curves import Bounds, Curve, Of
from discreet.privacy._rounding import down, up

__all__ = ["bounded_range_curve"]

_LARGEST_COUNT = 3_000


def bounded_range_curve(eps: Fraction, count: int) -> Curve | None:
    """K mechanisms of ε-bounded range: Dong, Durfee and Rogers 2020, Theorem 2. None above 3,000.

    The worst pair of one mechanism has losses t and t − ε, with P(t) = (1 − e^{t−ε})/(1 − e^{−ε}). For k of them the
    worst is k copies with one t, and the best t for a target is one of (target + (l+1)ε)/(k+1), l = 0, …, k, cut to
    [0, ε]. The theorem gives a maximum over t, where an error in t counts squared.
    """
    if count > _LARGEST_COUNT:
        return None
    below, above = down(eps), up(eps)
    return Of(lambda target: (_log_delta(target, below, count)[0], _log_delta(target, above, count)[1]))


def _log_delta(target: float, eps: float, count: int) -> Bounds:
    """Rounding as in `_binary`: positive terms, each logarithm right to `margin`. Near t = 0 and t = ε the masses are
    written with expm1, so they are right to 2⁻⁴⁸ of themselves: k times that enters the margin.
    """
    import numpy as np
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    if target >= count * eps * (1 + 1e-14):
        return -math.inf, -math.inf
    minus = np.arange(count + 1, dtype=np.float64)
    tops = np.unique(np.clip((target + (minus + 1) * eps) / (count + 1), 0.0, eps))
    tops = tops[(tops > 0) & (tops < eps)]
    if tops.size == 0:
        tops = np.array([eps / 2])
    log_choose = float(gammaln(count + 1)) - gammaln(minus + 1) - gammaln(count - minus + 1)
    best_low, best_high = -math.inf, -math.inf
    for top in tops:
        log_above = math.log(math.expm1(top - eps) / math.expm1(-eps))
        log_below = top - eps + math.log(math.expm1(-top) / math.expm1(-eps))
        log_mass = log_choose + (count - minus) * log_above + minus * log_below
        loss = count * top - minus * eps
        shift = 2.0**-48 * (target + count * eps)
        found: list[float] = []
        for near in (target + shift, target - shift):
            with np.errstate(divide="ignore"):
                terms = log_mass + np.log(-np.expm1(np.minimum(near - loss, 0.0)))
            high = float(np.max(terms))
            found.append(high + math.log(float(np.sum(np.exp(terms - high)))) if high > -math.inf else -math.inf)
        best_low, best_high = max(best_low, found[0]), max(best_high, found[1])
    # The last term is generous on purpose: an error of the theorem's t that is 1e-7 of eps moves ln δ by less.
    margin = 2.0**-46 * (1 + count + float(gammaln(count + 1)) + count * eps) + 1e-6
    return best_low - margin, best_high + margin
