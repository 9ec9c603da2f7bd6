"""The two ends of n local reports in random order, for any n, from a few thousand terms.

Both sums run over up to n values of which about √n matter. They are cut into blocks, and each block is bounded from
what is proved of the terms within it: they fall (upper end), or their logarithms are concave (lower end).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.privacy.curves._base import log1mexp
from discreet.privacy.curves._binary import log_sum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["log_below", "log_lower", "log_mass", "log_upper"]


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_TABLED = 16


def log_mass(n: float | Floats, p: float, q: float, x: Floats) -> tuple[Floats, Floats]:
    """(ln P(X = x), its error) for X ~ Bin(n, p), 0 < p, q = 1 − p, and whole 0 ≤ x ≤ n ≤ 2⁵³; p, q right to 2⁻⁵⁰.

    Loader 2000, "Fast and accurate computation of binomial probabilities": with D(x, m) = x ln(x/m) + m − x and s the
    error of Stirling's formula, ln P = s(n) − s(x) − s(n−x) − D(x, np) − D(n−x, nq) + ½ ln(n/2πx(n−x)). The terms do
    not grow with n where x is near np. D is right to 2⁻⁴⁴ of itself; a mean that is off by 2⁻⁴⁹ of itself moves it
    by 2⁻⁴⁹|x − np|; the rest is right to 2⁻⁴⁴. At x = 0 and x = n the mass is a power, right to 2⁻⁴⁹ of its logarithm.
    """
    import numpy as np

    y, size = n - x, np.asarray(n, dtype=np.float64)
    inside = (x > 0) & (y > 0)
    some, rest = np.where(inside, x, 1.0), np.where(inside, y, 1.0)
    trials = np.where(inside, size, 2.0)
    deviance = _deviance(some, trials * p) + _deviance(rest, trials * q)
    scale = 0.5 * (np.log(trials / some) - np.log(2 * np.pi * rest))
    log_p = np.log(p) if p < 0.5 else np.log1p(-q)
    log_q = np.log(q) if q < 0.5 else np.log1p(-p)
    power = np.where(x > 0, x * log_p, 0.0) + np.where(y > 0, y * log_q, 0.0)
    value = np.where(inside, _stirling(trials) - _stirling(some) - _stirling(rest) - deviance + scale, power)
    off = np.where(inside, 2.0**-44 * deviance + 2.0**-48 * np.abs(some - trials * p), 2.0**-48 * np.abs(power))
    return value, off + 2.0**-44


def log_below(n: float, p: float, c: Floats) -> Floats:
    """Upper bounds of ln P(C < c) for C ~ Bin(n, p), whole c ≥ 0 and n ≤ 2⁵³; p right to 2⁻⁵⁰.

    Zubkov and Serov 2013, Theorem 1: P(C ≤ c − 1) ≤ Φ(sgn(c/n − p)·√(2n·KL(c/n ‖ p))) for 0 < c < n. It is sharp to one
    step of c. Moving p down by 2⁻⁴⁶ of itself covers what np loses, and the root is moved up by 2⁻⁴² of itself.
    """
    import numpy as np
    from scipy.special import log_ndtr  # pyright: ignore[reportMissingTypeStubs]

    inside = (c > 0) & (c < n)
    less = p * (1 - 2.0**-46)
    at, rest, mean = np.where(inside, c, 1.0), np.where(inside, n - c, 1.0), max(n, 1.0) * less
    root = np.sqrt(2 * (_deviance(at, mean) + _deviance(rest, max(n, 1.0) * (1 - less)))) * np.sign(at - mean)
    value = log_ndtr(root + 2.0**-42 * np.abs(root))
    bound = np.where(inside, value + 2.0**-44 * (1 + np.abs(value)), 0.0)
    return np.minimum(np.where(c <= 0, -np.inf, bound), 0.0)


def _deviance(x: Floats, mean: Floats | float) -> Floats:
    """D(x, m) = x ln(x/m) + m − x for x, m > 0. It is (x−m)v + 2x(v³/3 + v⁵/5 + …), v = (x−m)/(x+m)."""
    import numpy as np

    gap = x - mean
    v = gap / (x + mean)
    square = v * v
    series = np.zeros_like(v)
    for odd in range(17, 1, -2):
        series = (series + 1 / odd) * square
    near = gap * v + 2 * x * v * series
    far = x * np.log(x / mean) - gap
    return np.maximum(np.where(np.abs(v) < 0.1, near, far), 0.0)


def _stirling(x: Floats) -> Floats:
    """The error ln x! − (x ln x − x + ½ ln 2πx): a table below 16, where six terms of the series are too few."""
    import numpy as np
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    small = np.arange(1.0, _TABLED)
    table = np.concatenate(
        ([0.0], gammaln(small + 1) - (small * np.log(small) - small + 0.5 * np.log(2 * np.pi * small)))
    )
    inverse = 1 / np.maximum(x, 1.0)
    square = inverse * inverse
    series = np.zeros_like(inverse)
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    return np.where(x < _TABLED, table[np.minimum(x, _TABLED - 1).astype(np.int64)], series * inverse)


_LARGEST = 2**49
"""Clones beyond this many are not counted, which only raises an upper end: thresholds are exact to one below it."""
_STRONG = 350.0
"""Above this ε₀ no clone is met: e^{−350} of 2⁵³ people."""
_EXACT = 2**13
_FINE = 4_000
_COARSE = 200


def log_upper(eps0: float, n: int, *, binary: bool) -> Callable[[float], float]:
    """From above, ln δ(ε) for δ = E h(C), C ~ Bin(n−1, p) clones, h(c) the δ of the worst pair given c.

    One more clone is a fair coin added to the output, which anyone can add: h falls with c, so E h(C) falls with n and
    p. For 0 = c₀ < … < c_M, E h(C) ≤ Σ_j (h(c_j) − h(c_{j+1}))·P(C < c_{j+1}) + h(c_M): what is lost is a step of the
    blocks. All terms are positive. Where every c near the mean is its own block the P(C < c) are sums of masses.
    """
    import numpy as np

    if eps0 > _STRONG:
        return lambda eps: log1mexp(eps - eps0) if eps < eps0 else -math.inf
    others = min(n - 1, 2**53)
    p = (2 / (math.exp(eps0) + 1) if binary else math.exp(-eps0)) * (1 - 2.0**-50)
    clones, below = _clones(float(others), p)

    def log_delta(eps: float) -> float:
        if eps >= eps0:
            return -math.inf
        worst = np.minimum.accumulate(log_given(clones, eps, eps0))
        with np.errstate(divide="ignore"):
            fall = worst[:-1] + np.log(-np.expm1(worst[1:] - worst[:-1]))
        return min(0.0, log_sum(np.append(fall + below[1:], worst[-1])) + 2.0**-40)

    return log_delta


def _clones(n: float, p: float) -> tuple[Floats, Floats]:
    """Starts of blocks of numbers of clones, from 0, and upper bounds of ln P(C < c) at each."""
    import numpy as np

    mean, spread, top = n * p, math.sqrt(n * p * (1 - p)), min(n, float(_LARGEST))
    high = min(top, math.ceil(mean + 10 * spread + 100))
    low = min(high, max(0.0, math.floor(mean - 13 * spread - 100)))
    step = np.linspace(-1, 1, 2 * _COARSE)
    around = mean + (40 * spread + 800) * step**3
    dense = high - low <= _EXACT
    middle = np.arange(low, high + 1) if dense else mean + spread * np.linspace(-13, 10, _FINE)
    points = np.unique(np.clip(np.floor(np.concatenate(([0.0], around, middle))), 0.0, top))
    below = log_below(n, p, points)
    if dense:
        # P(C < low + i) = P(C < low) + the masses in between.
        value, off = log_mass(n, p, 1 - p, middle[:-1])
        first = log_below(n, p, middle[:1])
        summed = np.logaddexp.accumulate(np.concatenate((first, value + off)))
        at = np.searchsorted(points, middle)
        below[at] = np.minimum(below[at], summed + 2.0**-40)
    return points, np.maximum.accumulate(below)


def log_given(c: Floats, eps: float, eps0: float) -> Floats:
    """Upper bounds of ln h(c), the δ of (A + B, c − A + 1 − B) against its mirror, for 0 ≤ ε < ε₀ and whole c.

    The number of ones j has P_j − e^ε Q_j = ½^c(fC(c,j−1) − sC(c,j)) with f = β − e^ε(1−β), s = e^ε β − (1−β): positive
    from k on, the least j above (c+1)s/(f+s). As s − f = e^ε − 1 the sum is P(X=k−1)·(f − (e^ε−1)R), X ~ Bin(c, ½),
    R = P(X≥k)/P(X=k−1), which loses no digits but the few in f − (e^ε−1)R. A k that is one off, for the threshold is
    right to 2⁻⁴⁹ of itself, leaves out at most (f+s)(c+1)2⁻⁴⁹/(c−k+2) of P(X=k−1), which is added.
    """
    import numpy as np

    beta = 1 / (1 + math.exp(-eps0))
    first = -beta * math.expm1(eps - eps0)
    second = beta * math.exp(-eps0) * math.expm1(eps + eps0)
    k = np.minimum(np.floor((c + 1) * (second / (first + second))) + 1, c + 1)
    value, off = log_mass(c, 0.5, 0.5, k - 1)
    left_out = (first + second) * (c + 1) / (c - k + 2) * 2.0**-48
    gain = first * (1 + 2.0**-48) - math.expm1(eps) * _tail_ratio(c, k, value + off) + left_out
    return np.minimum(value + off + np.log(np.maximum(gain, 1e-300)), 0.0)


def _tail_ratio(c: Floats, k: Floats, log_before: Floats) -> Floats:
    """Lower bounds of P(X ≥ k)/P(X = k−1) for X ~ Bin(c, ½), k > c/2, given an upper bound of ln P(X = k−1).

    The incomplete beta integral with t = (1 − tanh v)/2 is (c−k+1)∫₀^∞ e^{−(2k−1−c)v} cosh(v)^{−(c+1)} dv, and
    ln cosh v ≤ v²/2 leaves a Gaussian integral. It is short by less than 1/4c of itself. Up to c = 8192 the function of
    scipy, right to 2⁻⁴⁰ there, is better.
    """
    import numpy as np
    from scipy.special import betainc, erfcx  # pyright: ignore[reportMissingTypeStubs]

    width = np.sqrt(2 * (c + 1))
    ratio = (c - k + 1) * (math.sqrt(math.pi) / width) * erfcx((2 * k - 1 - c) / width) * (1 - 2.0**-44)
    few = (c <= _EXACT) & (k <= c) & (log_before > -600)
    if np.any(few):
        exact = betainc(k[few], c[few] - k[few] + 1, 0.5) * np.exp(-log_before[few]) * (1 - 2.0**-39)
        ratio[few] = np.maximum(ratio[few], exact)
    return ratio


def log_lower(eps0: float, n: int) -> Callable[[float], float]:
    """From below, ln δ(ε): binary randomized response, and the others all hold 0. Nothing is claimed above 2⁵³ people.

    With u = 1/(1+e^ε₀), j ones among the n have Q_j = b_j = P(Bin(n, u) = j) and P_j = b_j·(e^ε₀ j + e^{−ε₀}(n−j))/n,
    for his report is any one of the n. So P_j − e^ε Q_j and Q_j − e^ε P_j are b_j times a line in j: the logarithm is
    concave where it is positive, and between two points it is above its chord. ε₀ above 350 is lowered to that.
    """
    strength = min(eps0, _STRONG)

    def log_delta(eps: float) -> float:
        if eps >= strength or n > 2**53:
            return -math.inf
        # e^{ε₀}·(a·j − b·(n−j)) and a·(n−j) − d·j, where positive.
        a, d = -math.expm1(eps - strength), math.expm1(eps + strength)
        b = math.exp(-2 * strength) * d
        size = float(n)
        more = _blocks(strength, size, b / (a + b), 1)
        less = _blocks(strength, size, a / (a + d), -1)
        gained = a * more * (1 - 2.0**-48) - b * (size - more) * (1 + 2.0**-48)
        lost = a * (size - less) * (1 - 2.0**-48) - d * less * (1 + 2.0**-48)
        return max(strength + _log_event(strength, size, more, gained), _log_event(strength, size, less, lost))

    return log_delta


def _blocks(eps0: float, n: float, share: float, side: int) -> Floats:
    """Whole points from the threshold `share`·n to one side, closer together near it, as far as anything weighs."""
    import numpy as np

    u = 1 / (1 + math.exp(eps0))
    reach = side * (40 * math.sqrt(n * u * (1 - u)) + 200)
    first = math.floor(n * share) if side > 0 else math.ceil(n * share)
    return np.unique(np.clip(np.floor(first + reach * np.linspace(0, 1, _FINE // 2) ** 2), 0.0, n))


def _log_event(eps0: float, n: float, j: Floats, line: Floats) -> float:
    """From below, ln Σ b_j·line_j/n over the points and what lies between them, by geometric sums."""
    import numpy as np

    positive = line > 0
    if not np.any(positive):
        return -math.inf
    j, line = j[positive], line[positive]
    value, off = log_mass(n, 1 / (1 + math.exp(eps0)), 1 / (1 + math.exp(-eps0)), j)
    terms = value - off + np.log(line) - math.log(n)
    width = np.diff(j)
    ratio = np.minimum(np.diff(terms), 700.0)
    flat = np.abs(ratio) < 1e-9
    safe = np.where(flat, -1.0, ratio)
    count = np.where(flat, width * (1 - 1e-9), np.expm1(safe) / np.expm1(safe / width))
    return log_sum(np.append(terms[:-1] + np.log(count), terms[-1])) - 2.0**-36
