"""The laws of the samplers of `discreet.noise`, section by section as ``proofs/noise.md`` states them.

Of a probability that is no fraction both ends are given: 2**−236 to either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from itertools import permutations
from typing import Any

import mpmath

Weights = Mapping[Any, Fraction | tuple[Fraction, Fraction]]

_PRECISION = 256
_ERROR = Fraction(1, 2**236)


class NotEnumerable(Exception):
    """A sampler was called whose law is too wide."""


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _fraction(value: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    whole = int(mantissa) * (-1 if sign else 1)
    return Fraction(whole << exponent) if exponent >= 0 else Fraction(whole, 1 << -exponent)


def _scaled(weights: Mapping[int, mpmath.mpf], total: mpmath.mpf, error: Fraction = _ERROR) -> Weights:
    """Each probability between two fractions."""
    return {x: _between(w / total, error) for x, w in weights.items()}


def _between(value: mpmath.mpf, error: Fraction = _ERROR) -> tuple[Fraction, Fraction]:
    near = _fraction(value)
    return max(Fraction(0), near - error), near + error


@lru_cache(maxsize=4096)
def coin(p: Fraction) -> Weights:
    """Section 7."""
    return {True: p, False: 1 - p}


@lru_cache(maxsize=4096)
def coin_exp(x: Fraction) -> Weights:
    """Section 7: exp(−x)."""
    with mpmath.workprec(_PRECISION):
        low, high = _between(mpmath.exp(-_mp(x)))
        return {True: (low, min(high, Fraction(1))), False: (max(1 - high, Fraction(0)), 1 - low)}


@lru_cache(maxsize=4096)
def uniform(n: int) -> Weights:
    """Section 7."""
    if n > 10**5:
        raise NotEnumerable(f"uniform_below({n}) has {n} outcomes")
    return {each: Fraction(1, n) for each in range(n)}


@lru_cache(maxsize=4096)
def orders(n: int) -> Weights:
    """Section 7."""
    if n > 8:
        raise NotEnumerable(f"permutation({n}) has {n}! outcomes")
    return {each: Fraction(1, math.factorial(n)) for each in permutations(range(n))}


@lru_cache(maxsize=4096)
def laplace(scale: Fraction, tail: Fraction) -> Weights:
    """The statement: P(x) ∝ exp(−|x|/scale)."""
    reach = _reach(scale, tail)
    with mpmath.workprec(_PRECISION):
        q = mpmath.exp(-1 / _mp(scale))
        return _scaled({x: q ** abs(x) for x in range(-reach, reach + 1)}, (1 + q) / (1 - q))


def _reach(scale: Fraction, tail: Fraction) -> int:
    reach = math.ceil(float(scale) * math.log(4 / float(tail)))
    if reach > 10**6:
        raise NotEnumerable(f"noise of scale {float(scale):.3g} has {2 * reach} outcomes")
    return reach


@lru_cache(maxsize=4096)
def gaussian(sigma: Fraction, tail: Fraction) -> Weights:
    """The statement: P(x) ∝ exp(−x²/2σ²); the sum is cut where it is below 2**−500 of itself."""
    reach = _normal_reach(sigma, tail)
    with mpmath.workprec(_PRECISION):
        rate = 1 / (2 * _mp(sigma) ** 2)
        weights = {x: mpmath.exp(-rate * x * x) for x in range(math.ceil(30 * sigma) + 2)}
        total = 2 * mpmath.fsum(weights.values()) - 1
        return _scaled({x: weights[abs(x)] for x in range(-reach, reach + 1)}, total)


def _normal_reach(sigma: Fraction, tail: Fraction) -> int:
    reach = math.ceil(float(sigma) * math.sqrt(2 * math.log(2 / float(tail)))) + 1
    if reach > 10**5:
        raise NotEnumerable(f"noise of sigma {float(sigma):.3g} has {2 * reach} outcomes")
    return reach


@lru_cache(maxsize=4096)
def normal(sigma: Fraction, tail: Fraction) -> Weights:
    """Section 6: the integer nearest to σZ."""
    reach = _normal_reach(sigma, tail)
    with mpmath.workprec(_PRECISION):
        spread = _mp(sigma) * mpmath.sqrt(2)
        above = [mpmath.erfc((x - mpmath.mpf(0.5)) / spread) / 2 for x in range(1, reach + 2)]
        half = {0: 1 - 2 * above[0], **{x: above[x - 1] - above[x] for x in range(1, reach + 1)}}
        return _scaled({x: half[abs(x)] for x in range(-reach, reach + 1)}, mpmath.mpf(1))


def _around(
    center: Fraction, scale: Fraction, reach: int, above: Callable[[mpmath.mpf], mpmath.mpf], error: Fraction = _ERROR
) -> Weights:
    """⌊center + scale · Z + 1/2⌋ for a symmetric Z with P(Z > z) = above(z), z ≥ 0."""
    middle = (center + Fraction(1, 2)).__floor__()
    if scale == 0:
        return {middle: Fraction(1)}

    def tail(end: Fraction) -> mpmath.mpf:
        return above(_mp(end))

    half, weights = Fraction(1, 2), {}
    for k in range(middle - reach, middle + reach + 1):
        low, high = (k - half - center) / scale, (k + half - center) / scale
        if low >= 0:
            weights[k] = tail(low) - tail(high)
        elif high <= 0:
            weights[k] = tail(-high) - tail(-low)
        else:
            weights[k] = 1 - tail(high) - tail(-low)
    return _scaled(weights, mpmath.mpf(1), error)


@lru_cache(maxsize=4096)
def laplace_around(center: Fraction, scale: Fraction, tail: Fraction) -> Weights:
    """Sections 8 and 10: the integer nearest to center + scale · Z, Z of density e**(−|z|)/2."""
    with mpmath.workprec(_PRECISION):
        return _around(center, scale, _reach(scale, tail) + 1, lambda z: mpmath.exp(-z) / 2)


@lru_cache(maxsize=4096)
def student_around(center: Fraction, scale: Fraction, degrees: int, tail: Fraction) -> Weights:
    """Section 8: Y of density ∝ (1 + y²)**−m, m = (degrees + 1)/2, for 1 or 3 degrees."""
    # P(|Y| > y) is below (2/π) y**−1 and (4/3π) y**−3.
    reach = math.ceil(float(scale) * {1: 0.64, 3: 0.43}[degrees] ** (1 / degrees) * float(tail) ** (-1 / degrees)) + 1
    if reach > 10**5:
        raise NotEnumerable(f"this noise of scale {float(scale):.3g} has {2 * reach} outcomes; give a larger tail")
    with mpmath.workprec(_PRECISION):

        def above(y: mpmath.mpf) -> mpmath.mpf:
            angle = mpmath.atan2(1, y)
            return (angle if degrees == 1 else angle - y / (1 + y * y)) / mpmath.pi

        return _around(center, scale, reach, above)


@lru_cache(maxsize=4096)
def pareto_around(center: Fraction, scale: Fraction, shape: int, tail: Fraction) -> Weights:
    """Section 14: Z of either sign with P(|Z| > z) = (1 + z)**−shape."""
    reach = math.ceil(float(scale) * (float(tail) ** (-1 / shape) - 1)) + 1
    if reach > 10**5:
        raise NotEnumerable(f"this noise of scale {float(scale):.3g} has {2 * reach} outcomes; give a larger tail")
    with mpmath.workprec(_PRECISION):
        return _around(center, scale, reach, lambda z: (1 + z) ** -shape / 2)


@lru_cache(maxsize=4096)
def uniform_log_normal_around(center: Fraction, scale: Fraction, sigma: Fraction, tail: Fraction) -> Weights:
    """Section 9: X · e**(σY), X uniform on [−1, 1]. P(X e**(σY) > t) = E max(0, 1 − t e**(−σY)) / 2."""
    with mpmath.workprec(_PRECISION):
        s = _mp(sigma)

        def above(t: mpmath.mpf) -> mpmath.mpf:
            if t == 0:
                return mpmath.mpf(0.5)
            a = mpmath.log(t) / s
            return (_beyond(a) - t * mpmath.exp(s * s / 2) * _beyond(a + s)) / 2

        return _around(center, scale, _log_normal_reach(scale, sigma, tail, above), above)


@lru_cache(maxsize=4096)
def laplace_log_normal_around(center: Fraction, scale: Fraction, sigma: Fraction, tail: Fraction) -> Weights:
    """Section 9: X · e**(σY), X of density e**(−|x|)/2: E exp(−t e**(−σY))/2, by the trapezoidal rule, to 1e-30."""
    with mpmath.workprec(120):
        s, h = _mp(sigma), mpmath.mpf(1) / 16
        nodes = [(h * mpmath.npdf(h * j), mpmath.exp(-s * h * j)) for j in range(-16 * 12, 16 * 12 + 1)]
        total = mpmath.fsum(weight for weight, _ in nodes)

        @cache
        def above(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fsum(weight * mpmath.exp(-t * rate) for weight, rate in nodes) / total / 2

        return _around(center, scale, _log_normal_reach(scale, sigma, tail, above), above, Fraction(1, 10**28))


def _beyond(z: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(z / mpmath.sqrt(2)) / 2


def _log_normal_reach(
    scale: Fraction, sigma: Fraction, tail: Fraction, above: Callable[[mpmath.mpf], mpmath.mpf]
) -> int:
    t = mpmath.mpf(1)
    while above(t) > _mp(tail) / 2:
        t *= mpmath.mpf(9) / 8
    reach = math.ceil(float(scale) * float(t)) + 1
    if reach > 10**5:
        raise NotEnumerable(f"this noise of scale {float(scale):.3g} has {2 * reach} outcomes; give a larger tail")
    return reach


@lru_cache(maxsize=4096)
def window(scale: Fraction, low: int, width: int) -> Weights:
    """Section 12: P(x) ∝ exp(−|x|/scale) on low … low + width."""
    if width > 10**5:
        raise NotEnumerable(f"a window of {width + 1} places")
    with mpmath.workprec(_PRECISION):
        q = mpmath.exp(-1 / _mp(scale))
        weights = {x: q ** abs(x) for x in range(low, low + width + 1)}
        return _scaled(weights, mpmath.fsum(weights.values()))


@lru_cache(maxsize=4096)
def stairs(epsilon: Fraction, width: int, first: int, tail: Fraction) -> Weights:
    """Section 11: P(x) ∝ exp(−ε ⌊(|x| + width − first)/width⌋)."""
    reach = _reach(width / epsilon, tail) + width
    with mpmath.workprec(_PRECISION):
        b = mpmath.exp(-_mp(epsilon))
        total = 2 * (first + width * b / (1 - b)) - 1
        return _scaled({x: b ** ((abs(x) + width - first) // width) for x in range(-reach, reach + 1)}, total)
