"""The distribution of a sum of losses, exponentially tilted, with a proved bound on every error."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import ceil, expm1, floor, fsum, log1p, log2
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING
from discreet.privacy.pld._tilting import Cumulants, full_window

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Complexes = NDArray[np.complexfloating[Any, Any]]
    from collections.abc import Callable, Sequence

    from discreet.privacy.pld._pairs import Floats, Measure
    from discreet.privacy.pld._tilting import Parts, Window

    Shape = Callable[[Cumulants, float, Parts], Window]


STAGE = 16.0  # u per radix-2 level: proofs/accounting.md, section 6


def smooth_size(least: int) -> int:
    """Return a power of two times 1, 3, 5, 9, 15, 25 or 45 that is at least `least` (and 16), the least with factor 4.

    >>> smooth_size(1000)
    1024
    >>> smooth_size(1025)
    1152
    """
    best = 16
    while best < least:
        best *= 2
    for odd in (3, 5, 9, 15, 25, 45):
        size = odd * 4
        while size < least:
            size *= 2
        best = min(best, size)
    return best


def unit(*, extended: bool) -> float:
    """Unit round-off of double arithmetic, or of the platform's long double (which may be the same)."""
    return float(np.finfo(np.longdouble if extended else np.float64).eps) / 2


def transform_error(size: int, *, extended: bool = False) -> float:
    """Return phi with |computed - exact| <= phi * (sum of |input|) for each entry of an FFT of `size` points."""
    return 1.01 * STAGE * unit(extended=extended) * log2(size)


def power(base: Complexes, exponent: int) -> Complexes:
    """Return base ** exponent by squaring, within a relative error of 3 (exponent - 1) u (1.0001 included)."""
    result: Complexes | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    assert result is not None
    return result


BATCH = 1 << 21  # entries of a level that are transformed at once


def convolve_all(arrays: Sequence[Floats]) -> tuple[Floats, float]:
    """Return the convolution of nonnegative arrays of total about one, and a bound on its error in the L1 norm.

    Each product is charged (entry by entry) the average over frequencies of the errors of its spectrum, times the
    number of its entries; the errors of its factors add, as totals are at most 1 + 1e-9. Negative entries are set to
    zero, which brings them nearer to the truth. proofs/accounting.md, section 6.
    """
    level = sorted(((each, 0.0) for each in arrays), key=_length)
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        pairs = list(zip(level[0 : len(level) - len(odd) : 2], level[1 : len(level) - len(odd) : 2], strict=True))
        level = []
        for size, batch in groupby(pairs, key=lambda pair: smooth_size(len(pair[0][0]) + len(pair[1][0]) - 1)):
            chosen = list(batch)
            rows = max(1, BATCH // size)
            for start in range(0, len(chosen), rows):
                level += _products(chosen[start : start + rows], size)
        level = sorted(level + odd, key=_length)
    return level[0]


def _length(each: tuple[Floats, float]) -> int:
    return len(each[0])


def _products(
    pairs: Sequence[tuple[tuple[Floats, float], tuple[Floats, float]]], size: int
) -> list[tuple[Floats, float]]:
    phi = transform_error(size)
    left, right = np.zeros((len(pairs), size)), np.zeros((len(pairs), size))
    for row, (one, other) in enumerate(pairs):
        left[row, : len(one[0])] = one[0]
        right[row, : len(other[0])] = other[0]
    f, g = np.fft.rfft(left), np.fft.rfft(right)
    product = np.maximum(np.fft.irfft(f * g, size), 0.0)
    a, b = np.abs(f), np.abs(g)
    # |FG| phi for the inverse, phi (|F| + |G|) + phi^2 for the forward transforms, 3u |FG| for the product
    average = np.mean(a * b * (phi + 4 * ROUNDING) + 1.001 * phi * (a + b + phi), axis=1) * 2.001
    products: list[tuple[Floats, float]] = []
    for row, (one, other) in enumerate(pairs):
        length = len(one[0]) + len(other[0]) - 1
        error = (one[1] + other[1]) * (1 + 1e-6) + one[1] * other[1] + length * float(average[row])
        products.append((product[row, :length].copy(), error))
    return products


LARGEST_WINDOW = 1 << 21
FARTHEST = 1 << 52  # steps from zero: grid points are exact
MANY = 12  # parts used once, above which a tree convolves them first


class WindowTooLargeError(Exception):
    """The mesh is too fine for the work limit. Never leaves this package."""


@dataclass(frozen=True)
class Composition:
    """Tilted masses of a sum of losses in a window.

    The bound's mass at loss[i] is mass[i] e^{log_scale - tilt loss[i]}, with mass[i] within `error` of it; the factor
    is right within `log_error` of its logarithm and the losses within `loss_error`. The window begins at loss[0] or
    above all below it, ends at `top`, and is `turn` long. Tilted mass outside of it was folded into it: at most `below`
    and `beyond` of its two ends. At most `folded` of it was misplaced in the parts already.
    """

    loss: Floats
    mass: Floats
    tilt: float
    log_scale: float
    error: float
    below: float
    beyond: float
    folded: float
    top: float
    turn: float
    infinity: float
    log_error: float
    loss_error: float

    def misses(self, epsilon: float) -> bool:
        """Whether an epsilon read off this window may be that of its lower end only."""
        return len(self.loss) == 0 or (self.below > 0 and epsilon <= self.loss[0] + 1e-6 * abs(self.loss[0]))


def compose(
    parts: Parts, tilt: float, *, upper: bool, extended: bool = False, shape: Shape = full_window
) -> Composition:
    """Convolve `count` copies of each measure under the tilt e^{tilt loss}; all on grids of one step.

    `extended` transforms in long double, some five times slower, where round-off would decide the width. Without a
    `shape` of its window it holds all losses but for e^LOG_OUTSIDE on either side.
    """
    step = parts[0][0].step
    if not all(part.mass.any() for part, _ in parts):  # nothing finite is left
        zero = np.zeros(1)
        return Composition(zero, zero, tilt, 0, 0, 0, 0, 0, 0, 0, _infinity(parts, upper=upper), 0, 0)
    cumulants = Cumulants.from_measures(parts)
    constants = cumulants.each(tilt).tolist()
    origin, first = fsum(n * part.origin for part, n in parts), sum(n * part.first for part, n in parts)
    window = shape(cumulants, tilt, parts)
    begin = floor((window.low - origin) / step) - 1
    size = smooth_size(ceil((window.high - origin) / step) + 2 - begin)
    if size > LARGEST_WINDOW or abs(begin) > FARTHEST:
        raise WindowTooLargeError
    weights = [_tilted(part, tilt, k, upper=upper) for (part, _), k in zip(parts, constants, strict=True)]
    mass, error = _convolved(weights, [n for _, n in parts], size, extended=extended)
    log_scale = fsum(n * k for (_, n), k in zip(parts, constants, strict=True))
    biggest = max(abs(window.low), abs(window.high)) + fsum(n * abs(part.origin) for part, n in parts)
    last = first + sum(n * (len(part.mass) - 1) for part, n in parts)
    inside = slice(max(0, first - begin), min(size, last - begin + 1))  # no sum lies elsewhere
    return Composition(
        loss=origin + step * (begin + np.arange(size)[inside]),
        mass=np.roll(mass, (first - begin) % size)[inside],
        tilt=tilt,
        log_scale=log_scale,
        error=error,
        below=window.below,
        beyond=window.beyond,
        folded=fsum(n * part.folded for part, n in parts),
        top=origin + step * (begin + size),
        turn=step * size,
        infinity=_infinity(parts, upper=upper),
        log_error=4 * ROUNDING * fsum(n * abs(k) for (_, n), k in zip(parts, constants, strict=True)),
        loss_error=8 * ROUNDING * (biggest + step * (abs(begin) + size)),
    )


def _infinity(parts: Parts, *, upper: bool) -> float:
    """1 - prod (1 - infinity)^count, rounded outward."""
    if any(part.infinity >= 1 for part, _ in parts):
        return 1.0
    infinity = -expm1(fsum(n * log1p(-part.infinity) for part, n in parts))
    return min(1.0, infinity * (1 + 1e-14)) if upper else infinity * (1 - 1e-14)


def _tilted(part: Measure, tilt: float, constant: float, *, upper: bool) -> Floats:
    """Mass e^{tilt loss - constant}, each entry rounded outward by a bound on the error of its exponent."""
    loss = part.losses()
    with np.errstate(divide="ignore"):
        logs = np.log(part.mass)
    positive = part.mass > 0
    exponent = np.where(positive, logs + (tilt * loss - constant), -np.inf)
    size = np.where(positive, np.abs(logs), 0.0) + 2 * tilt * (abs(part.origin) + np.abs(loss)) + abs(constant)
    slack = ROUNDING * (8 + 4 * size)
    return np.exp(exponent) * (1 + slack if upper else 1 - slack)


def _convolved(weights: Sequence[Floats], counts: Sequence[int], size: int, *, extended: bool) -> tuple[Floats, float]:
    """Circular convolution of all weights, and a bound on the error of each entry.

    With |F_g| the computed spectrum of part g and phi_g the bound on its error, the error of the product of powers is
    at most prod (|F_g| + phi_g)^n_g * min(1, sum n_g phi_g / (|F_g| + phi_g)) at each frequency, plus the round-off of
    the powers; the inverse transform takes the average over frequencies. proofs/accounting.md, section 6.
    """
    factors = [(weight, 0.0, n) for weight, n in zip(weights, counts, strict=True)]
    single = [each for each in factors if each[2] == 1 and len(each[0]) <= size // 4]
    if len(single) >= MANY:
        factors = [each for each in factors if not (each[2] == 1 and len(each[0]) <= size // 4)]
        merged, error = convolve_all([each[0] for each in single])
        factors.append((merged, error, 1))
    phi, u = transform_error(size, extended=extended), unit(extended=extended)
    product: Complexes | None = None
    logs, loss, roundings = np.zeros(size // 2 + 1), np.zeros(size // 2 + 1), 0
    for weight, error, count in factors:
        folds = -(-len(weight) // size)
        folded = weight if folds == 1 else np.bincount(np.arange(len(weight)) % size, weight, size)
        spectrum = np.fft.rfft(folded.astype(np.longdouble) if extended else folded, size)
        own = (phi + 4 * (folds - 1) * ROUNDING) * float(np.sum(folded)) * (1 + 1e-9) + error
        modulus = np.abs(spectrum).astype(np.float64) * (1 + 4 * ROUNDING) + own
        logs += count * np.log(modulus)
        loss += count * own / modulus
        roundings += count
        raised = power(spectrum, count)
        product = raised if product is None else product * raised
    assert product is not None
    relative = np.minimum(loss, 1.0) + expm1(4 * u * roundings) + 1.01 * phi
    with np.errstate(over="ignore"):
        sizes = np.exp(logs) * relative
    # all frequencies: those of rfft count twice but for the first, which is charged twice too
    error = 2.001 * float(np.sum(sizes)) / size + 1e-300
    convolution = np.maximum(np.fft.irfft(product, size), 0.0).astype(np.float64)
    return convolution, error + (2 * ROUNDING * float(np.max(convolution)) if extended else 0.0)
