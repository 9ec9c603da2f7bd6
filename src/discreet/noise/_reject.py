"""Accept with probability exp(−x), exactly: a float filter decides nearly always, certified integers the rest.

Proof, with the error of the filter: ``proofs/noise.md``, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise._exp import exp_bounds
from discreet.noise._source import BitSource

__all__ = ["FILTER_LIMIT", "FILTER_SLACK", "accept", "below_exp", "scaled_exp"]

FILTER_LIMIT = 0.25
"""Above this x the filter has no opinion."""

FILTER_SLACK = 4.0
"""In units of 2**−32; the error of `scaled_exp` is below 2."""

_COEFFICIENTS = [(-1) ** k * 2.0**32 / factorial(k) for k in range(7, -1, -1)]


def accept(
    x: NDArray[np.floating[Any]],
    settle: Callable[[int, int], bool],
    source: BitSource,
    slack: float = FILTER_SLACK,
) -> NDArray[np.bool_]:
    """Element i is true with probability exactly exp(−x), independently, where x is the exact number behind `x[i]`.

    `x` holds it in float64 with relative error at most 2**−50. ``settle(i, prefix)`` decides exactly whether a uniform
    U that begins with the 32 bits of `prefix` is below exp(−x), see `below_exp`. A `slack` of infinity sends every
    decision there.
    """
    uniform = np.frombuffer(source.take(4 * x.size), dtype="<u4")
    margin = scaled_exp(x)
    margin -= uniform
    accepted = margin >= slack + 1
    unsure = ~accepted
    unsure &= margin > -slack
    unsure |= x >= FILTER_LIMIT
    for i in np.flatnonzero(unsure):
        accepted[i] = settle(int(i), int(uniform[i]))
    return accepted


def scaled_exp(x: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """2**32 · exp(−x) for 0 ≤ x < 1/4 with error below 2, by float64 additions and multiplications alone."""
    total = x * _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:-1]:
        total += coefficient
        total *= x
    total += _COEFFICIENTS[-1]
    return total


def below_exp(prefix: int, bits: int, x: Fraction, source: BitSource) -> bool:
    """Whether U < exp(−x), where U is uniform on [0, 1) and its first `bits` bits are `prefix`."""
    while True:
        prefix = (prefix << 64) | int.from_bytes(source.take(8), "little")
        bits += 64
        low, high = exp_bounds(x, bits)
        if prefix < low:
            return True
        if prefix >= high:
            return False
