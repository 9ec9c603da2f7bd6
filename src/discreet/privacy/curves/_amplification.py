"""Curves of sampled, grouped and shuffled losses, from the curve of what is sampled or grouped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.curves._base import WIDE, Bounds, Curve, FunctionCurve, SplitBounds, outward
from discreet.privacy.curves._rounding import down, log_bounds, up
from discreet.privacy.curves._shuffled import log_lower, log_upper

__all__ = ["grouped_curve", "sampled_curve", "shuffled_curve"]


@dataclass(frozen=True, slots=True)
class _Sampled:
    curve: Curve
    rate: Fraction
    attained: bool

    def log_delta(self, eps: float) -> Bounds:
        low, log_rate = -math.inf, log_bounds(self.rate)
        if self.attained and self.rate > 0:
            low = self.curve.log_delta(_unsampled(eps, down(self.rate)) * (1 + WIDE))[0]
        high = self.curve.log_delta(_unsampled(eps, up(self.rate)) * (1 - WIDE))[1]
        return low + log_rate[0], min(high + log_rate[1], 0.0)

    def epsilon(self, log_delta: Bounds) -> Bounds:
        log_rate = log_bounds(self.rate)
        unsampled = outward(log_delta[0] - log_rate[1], -1), outward(log_delta[1] - log_rate[0], 1)
        if unsampled[0] >= 0:
            return 0.0, 0.0
        low, high = self.curve.epsilon((unsampled[0], min(unsampled[1], 0.0)))
        lower = _resampled(low, down(self.rate)) * (1 - WIDE) if self.attained and unsampled[1] < 0 else 0.0
        return lower, _resampled(high, up(self.rate)) * (1 + WIDE)


def sampled_curve(curve: Curve, rate: Fraction, *, attained: bool) -> Curve:
    """δ′(ln(1 + q(e^ε − 1))) = q·δ(ε): Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.

    Tight where the pair of the curve is `attained` in the direction of removal; the lower end is dropped otherwise.
    Arguments and results are moved outward by 2⁻⁴⁶ of themselves on the way to the unsampled curve and back.
    """
    return _Sampled(curve, rate, attained)


def _resampled(eps: float, rate: float) -> float:
    """ln(1 + q(e^ε − 1))."""
    if math.isinf(eps):
        return eps if rate > 0 else 0.0
    return math.log1p(rate * math.expm1(eps)) if eps < 700 else eps + math.log(rate) if rate > 1e-300 else eps


def _unsampled(eps: float, rate: float) -> float:
    """ln(1 + (e^ε − 1)/q)."""
    if eps > 700 or (eps > 0 and rate < 1e-300):
        return eps - math.log(rate)
    return math.log1p(math.expm1(eps) / rate)


@dataclass(frozen=True, slots=True)
class _Grouped:
    lower: Curve
    upper: FunctionCurve

    def log_delta(self, eps: float) -> Bounds:
        high = self.upper.log_delta(eps)[1]
        return min(self.lower.log_delta(eps)[0], high), high

    def epsilon(self, log_delta: Bounds) -> Bounds:
        high = self.upper.epsilon(log_delta)[1]
        return min(self.lower.epsilon(log_delta)[0], high), high


def grouped_curve(curve: Curve, k: int, upper: Curve | None = None, *, tolerance: float = 4e-16) -> Curve:
    """δ_k(kε) ≤ δ(ε)(e^{kε} − 1)/(e^ε − 1): k steps of the triangle inequality of (ε, δ) (Vadhan 2017, Lemma 2.2).

    One of the k may be the only one who changes, so the single curve is a lower end. `upper` is one whose upper ends
    are faster to find.
    """
    each_of = curve if upper is None else upper

    def log_delta(eps: float) -> Bounds:
        each = eps / k
        if each < 1e-300:
            growth = math.log(k)
        elif each > 1:
            growth = (eps - each) + math.log1p(-math.exp(-eps)) - math.log1p(-math.exp(-each))
        else:
            growth = math.log(math.expm1(min(eps, 700.0)) / math.expm1(each)) + max(0.0, eps - 700.0)
        return -math.inf, each_of.log_delta(each * (1 - WIDE))[1] + growth + WIDE * (1 + eps)

    return _Grouped(curve, FunctionCurve(log_delta, tolerance))


def shuffled_curve(eps0: Bounds, n: int, *, binary: bool, attained: bool = True) -> Curve:
    """Return the curve of n local ε₀-DP reports in random order.

    Upper: Feldman, McMillan and Talwar 2021, Theorem 3.2: with C ~ Bin(n−1, p), A ~ Bin(C, ½) and
    B ~ Bernoulli(e^ε₀/(e^ε₀+1)) the worst pair is (A + B, C − A + 1 − B) against (A + 1 − B, C − A + B), p = e^{−ε₀}.
    For binary randomized response p = 2/(e^ε₀+1): another's report is one of the two answers, uniformly, with that
    probability, and his own answer otherwise. Lower: binary randomized response is ε₀-DP, and the n−1 others may all
    hold one value. Where the reports may be others, and reveal less, that end is not `attained` and is dropped.
    """
    return SplitBounds(log_lower(eps0[0], n) if attained else _nothing, log_upper(eps0[1], n, binary=binary), _STEP)


def _nothing(eps: float) -> float:  # noqa: ARG001 (a trivial lower end)
    return -math.inf


_STEP = 1e-10
"""How far a bisection goes for a shuffled loss, relative to ε: past what its blocks resolve."""
