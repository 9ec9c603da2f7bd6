"""Binomial laws of any size: masses and lower tails in logarithms, with the error that they may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["log_below", "log_mass"]

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
    whole = np.where(inside, size, 2.0)
    deviance = _deviance(some, whole * p) + _deviance(rest, whole * q)
    scale = 0.5 * (np.log(whole / some) - np.log(2 * np.pi * rest))
    log_p = np.log(p) if p < 0.5 else np.log1p(-q)
    log_q = np.log(q) if q < 0.5 else np.log1p(-p)
    power = np.where(x > 0, x * log_p, 0.0) + np.where(y > 0, y * log_q, 0.0)
    value = np.where(inside, _stirling(whole) - _stirling(some) - _stirling(rest) - deviance + scale, power)
    off = np.where(inside, 2.0**-44 * deviance + 2.0**-48 * np.abs(some - whole * p), 2.0**-48 * np.abs(power))
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
    found = np.where(inside, value + 2.0**-44 * (1 + np.abs(value)), 0.0)
    return np.minimum(np.where(c <= 0, -np.inf, found), 0.0)


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
