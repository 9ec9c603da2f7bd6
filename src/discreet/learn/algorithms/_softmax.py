"""Probabilities from scores, of which each bit is the same on every machine and in any company."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["softmax"]

_LEAST = -60.0
_PER_LOG = 1.4426950408889634
_POWERS_OF_TWO = (  # the series of 2^f = exp(f·ln 2), highest power first
    1.5252733804059841e-05,
    1.5403530393381608e-04,
    1.3333558146428443e-03,
    9.6181291076284772e-03,
    5.5504108664821580e-02,
    2.4022650695910072e-01,
    6.9314718055994531e-01,
    1.0,
)


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(score) over its sum, for each row of scores; about 1e-7 of itself away.

    The exponential function of a library may round otherwise at the end of an array than inside it. This one is sums,
    products, a floor and a power of two, each of IEEE 754, in one order for each row.

    >>> softmax(np.array([[0.0, 0.0], [3.0, 0.0]])).round(4).tolist()
    [[0.5, 0.5], [0.9526, 0.0474]]
    """
    powers = np.maximum(scores - scores.max(axis=1, keepdims=True), _LEAST) * _PER_LOG
    below = np.floor(powers)
    part, value = powers - below, np.zeros_like(powers)
    for coefficient in _POWERS_OF_TWO:
        value = value * part + coefficient
    value = np.ldexp(value, below.astype(np.int32))
    total = np.zeros(len(scores))
    for column in value.T:
        total += column
    return value / total[:, None]
