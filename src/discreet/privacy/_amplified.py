"""Curves of sampled, grouped and shuffled losses, from the curve of what is sampled or grouped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy._curves import WIDE, Bounds, Curve, Of, outward
from discreet.privacy._rounding import down, log_bounds, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        whole = outward(log_delta[0] - log_rate[1], -1), outward(log_delta[1] - log_rate[0], 1)
        if whole[0] >= 0:
            return 0.0, 0.0
        low, high = self.curve.epsilon((whole[0], min(whole[1], 0.0)))
        lower = _resampled(low, down(self.rate)) * (1 - WIDE) if self.attained and whole[1] < 0 else 0.0
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
    upper: Of

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

    return _Grouped(curve, Of(log_delta, tolerance))


def shuffled_curve(eps0: Bounds, n: int, *, binary: bool) -> Curve:
    """Return the curve of n local ε₀-DP reports in random order.

    Upper: Feldman, McMillan and Talwar 2021, Theorem 3.2: with C ~ Bin(n−1, p), A ~ Bin(C, ½) and
    B ~ Bernoulli(e^ε₀/(e^ε₀+1)) the worst pair is (A + B, C − A + 1 − B) against (A + 1 − B, C − A + B), p = e^{−ε₀}.
    For binary randomized response p = 2/(e^ε₀+1): another's report is one of the two answers, uniformly, with that
    probability, and his own answer otherwise. Lower: binary randomized response is ε₀-DP, and the n−1 others may all
    hold one value.
    """

    def log_delta(eps: float) -> Bounds:
        return _lower(eps, eps0[0], n), _upper(eps, eps0[1], n, binary=binary)

    return Of(log_delta)


def _upper(eps: float, eps0: float, n: int, *, binary: bool) -> float:
    """Given C = c, the number of zeros k has P(k) = ½^c·(βC(c,k−1) + (1−β)C(c,k)), and P/Q grows with k. So δ is a sum
    over c of P(k ≥ k*) − e^ε Q(k ≥ k*), k* depending on c. The c outside the middle weigh 1e-20 times what was found,
    or are added. Binomial tails of scipy are taken to be right to 2⁻³⁶ of themselves, C(c, ·) and Bin(n−1, ·) too.
    """
    import numpy as np
    from scipy.special import betainc  # pyright: ignore[reportMissingTypeStubs]

    if eps >= eps0:
        return -math.inf
    clone = 2 / (math.exp(eps0) + 1) if binary else math.exp(-eps0)
    beta = 1 / (1 + math.exp(-eps0))
    low, high, left_out = _window(n - 1, clone)
    c = np.arange(low, high + 1, dtype=np.float64)
    # βC(c,k−1) + (1−β)C(c,k) > e^ε((1−β)C(c,k−1) + βC(c,k)), with C(c,k−1)/C(c,k) = k/(c−k+1) = r/(1−r)-like odds
    first, second = beta - math.exp(eps) * (1 - beta), math.exp(eps) * beta - (1 - beta)
    threshold = np.floor((c + 1) * second / (first + second)) + 1  # the least k with k·first > (c−k+1)·second

    def tail(at: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(Bin(c, ½) ≥ at), as an incomplete beta function."""
        inside = (at >= 1) & (at <= c)
        value = betainc(np.where(inside, at, 1.0), np.where(inside, c - at + 1, 1.0), 0.5)
        return np.where(at <= 0, 1.0, np.where(at > c, 0.0, value))

    before, at = tail(threshold - 1), tail(threshold)
    gain = before * first - at * second
    lost = 2.0**-36 * (before * (beta + math.exp(eps) * (1 - beta)) + at * (math.exp(eps) * beta + 1 - beta))
    mass = _binomial(n - 1, clone, low, high)
    delta = float(np.sum(mass * (np.maximum(gain, 0.0) + lost))) * (1 + 2.0**-20) + left_out
    return min(0.0, math.log(delta)) if delta > 0 else -math.inf


def _lower(eps: float, eps0: float, n: int) -> float:
    """The others all hold 0: Bin(n−1, u) + Bernoulli ones are seen, u = 1/(1+e^ε₀); any event is a lower end."""
    import numpy as np

    if eps >= eps0:
        return -math.inf
    u = 1 / (1 + math.exp(eps0))
    low, high, _ = _window(n - 1, u)
    mass = np.concatenate(([0.0], _binomial(n - 1, u, low, high), [0.0]))
    p, q = u * mass[1:] + (1 - u) * mass[:-1], (1 - u) * mass[1:] + u * mass[:-1]
    best = 0.0
    for one, other in ((p, q), (q, p)):
        gain = one * (1 - 2.0**-20) - math.exp(eps) * other * (1 + 2.0**-20)
        best = max(best, float(np.sum(gain[gain > 0])))
    return math.log(best) if best > 0 else -math.inf


def _window(n: int, p: float) -> tuple[int, int, float]:
    """(low, high, bound on the mass of Bin(n, p) outside): Bernstein's inequality at 1e-40 on each side."""
    t = 40 * math.log(10)
    reach = math.sqrt(2 * t * n * p * (1 - p)) + 2 * t / 3
    low, high = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    outside = (1e-40 if low > 0 else 0.0) + (1e-40 if high < n else 0.0)
    return low, high, outside


def _binomial(n: int, p: float, low: int, high: int) -> NDArray[np.float64]:
    """Masses of Bin(n, p), right to 2⁻²⁰ for n up to 1e9 (lgamma loses n ln n units)."""
    import numpy as np
    from scipy.special import gammaln, xlog1py, xlogy  # pyright: ignore[reportMissingTypeStubs]

    j = np.arange(low, high + 1, dtype=np.float64)
    return np.exp(gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1) + xlogy(j, p) + xlog1py(n - j, -p))
