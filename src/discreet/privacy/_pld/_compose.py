"""The distribution of a sum of losses, exponentially tilted, with a proved bound on every error."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, expm1, floor, fsum, log1p
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._cumulants import Cumulants
from discreet.privacy._pld._fft import power, smooth_size, transform_error, unit
from discreet.privacy._pld._pair import ROUNDING
from discreet.privacy._pld._tree import convolve_all
from discreet.privacy._pld._window import full_window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy._pld._cumulants import Parts
    from discreet.privacy._pld._fft import Complexes
    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Floats
    from discreet.privacy._pld._window import Window

    Shape = Callable[[Cumulants, float, Parts], Window]

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
    cumulants = Cumulants.of(parts)
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
    found = -expm1(fsum(n * log1p(-part.infinity) for part, n in parts))
    return min(1.0, found * (1 + 1e-14)) if upper else found * (1 - 1e-14)


def _tilted(part: Measure, tilt: float, constant: float, *, upper: bool) -> Floats:
    """Mass e^{tilt loss - constant}, each entry rounded outward by a bound on the error of its exponent."""
    loss = part.losses()
    with np.errstate(divide="ignore"):
        logs = np.log(part.mass)
    kept = part.mass > 0
    exponent = np.where(kept, logs + (tilt * loss - constant), -np.inf)
    size = np.where(kept, np.abs(logs), 0.0) + 2 * tilt * (abs(part.origin) + np.abs(loss)) + abs(constant)
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
    found = np.maximum(np.fft.irfft(product, size), 0.0).astype(np.float64)
    return found, error + (2 * ROUNDING * float(np.max(found)) if extended else 0.0)
