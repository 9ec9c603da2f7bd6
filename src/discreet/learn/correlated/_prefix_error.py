"""The error of sums of a run's steps, when its noise is correlated by a Toeplitz matrix; in floats, and its slopes.

With noise of standard deviation ‖C‖ in each entry of C·x + z, which costs μ = 1 at a bound of 1, the sum of the first
t estimates has the noise of row t of A·C⁻¹, where A is the matrix of prefix sums.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn.correlated._participation import MinimumSeparation, sensitivity_squared, window_sums
from discreet.learn.correlated._strategies import Strategy

__all__ = ["Floats", "Objective", "inverse_column", "log_error_and_slope", "noise_gain", "prefix_error"]

Floats = NDArray[np.float64]
Objective = Literal["rms", "max"]


def prefix_error(strategy: Strategy, sampling: MinimumSeparation, objective: Objective = "rms") -> float:
    """The standard deviation of a prefix sum at μ = 1 and a bound of 1: its root mean square over steps, or the last.

    The last step is the worst. Costs no privacy. Raises `ParameterError` as `sensitivity_squared` does.

    >>> from discreet.learn.correlated import Independent
    >>> round(prefix_error(Independent(), MinimumSeparation.epochs(steps=2048, epochs=8)), 1)
    90.5
    """
    return noise_gain(strategy, sampling.steps, objective) * math.sqrt(sensitivity_squared(strategy, sampling))


def noise_gain(strategy: Strategy, steps: int, objective: Objective = "rms") -> float:
    """The standard deviation of a prefix sum where that of each entry of z is 1."""
    prefix = np.cumsum(inverse_column(strategy.column(steps)))
    return math.sqrt(float(np.sum(_weights(steps, objective) * prefix**2)))


def inverse_column(column: Floats) -> Floats:
    """The first column of C⁻¹, of the same length: the inverse power series, by Newton's method."""
    inverse = np.array([1.0 / column[0]])
    while inverse.size < column.size:
        size = min(2 * inverse.size, column.size)
        width = _width(3 * size)
        known = np.fft.rfft(inverse, width)
        inverse = np.fft.irfft(known * (2 - known * np.fft.rfft(column[:size], width)), width)[:size]
    return inverse


def log_error_and_slope(column: Floats, sampling: MinimumSeparation, objective: Objective) -> tuple[float, Floats]:
    """Twice the logarithm of the prefix error, and its derivative by each entry of the first column.

    The sensitivity is that of participations 0, b, 2b, …, which is right for columns that `sensitivity_squared` takes.
    """
    steps, width = column.size, _width(2 * column.size)
    inverse = inverse_column(column)
    prefix = np.cumsum(inverse)
    weighted = _weights(steps, objective) * prefix
    error = float(weighted @ prefix)
    # ∂prefix/∂cᵢ is −(inverse ∗ prefix), moved down by i.
    both = np.fft.irfft(np.fft.rfft(inverse, width) * np.fft.rfft(prefix, width), width)[:steps]
    moved = np.conj(np.fft.rfft(both, width))
    slope = -2 / error * np.fft.irfft(np.fft.rfft(weighted, width) * moved, width)[:steps]
    spread = window_sums(column, sampling.most, sampling.separation)
    norm = float(spread @ spread)
    slope += 2 / norm * _window_sums_back(spread, sampling)
    return math.log(error) + math.log(norm), slope


def _width(size: int) -> int:
    """The next power of two, for a quick transform."""
    return 1 << (size - 1).bit_length()


def _window_sums_back(values: Floats, sampling: MinimumSeparation) -> Floats:
    """The transpose of `window_sums`."""
    return window_sums(values[::-1], sampling.most, sampling.separation)[::-1]


def _weights(steps: int, objective: Objective) -> Floats:
    """How often entry j of the first column of A·C⁻¹ counts."""
    match objective:
        case "rms":
            return np.arange(steps, 0, -1) / steps
        case "max":
            return np.ones(steps)
        case _:
            raise ParameterError(f'objective must be "rms" or "max", got {objective!r}')
