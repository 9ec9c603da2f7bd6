"""The strategy of least prefix error for a schema of participation: searched for in floats, and then made exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from discreet.learn.correlated._participation import MinimumSeparation
from discreet.learn.correlated._prefix_error import Floats, Objective, log_error_and_slope, prefix_error
from discreet.learn.correlated._strategies import BandedToeplitz, Blt
from discreet.mechanisms.numeric._integers import whole_in

__all__ = ["optimize", "optimize_blt"]

_Slopes = Callable[[Floats], tuple[float, Floats]]
_WORST = 1e6


def optimize(
    steps: int, participations: int = 1, separation: int = 1, *, bands: int | None = None, objective: Objective = "rms"
) -> BandedToeplitz:
    """A banded Toeplitz matrix of about the least prefix error, among those whose sensitivity is exact.

    Up to `separation` bands their coefficients are free; with more they never increase. `bands` is `separation` if it
    is not given; a parameter of the model then takes that many numbers of memory, less one. `objective` is the mean
    square over all prefixes (``"rms"``) or the worst (``"max"``). Costs no privacy: nothing but public numbers is
    seen. Raises `ParameterError` for numbers outside their range (`MinimumSeparation`).
    Source: Choquette-Choo and others 2023; McKenna 2024, "Scaling up the banded matrix factorization mechanism".

    >>> round(prefix_error(optimize(512, 1, 512), MinimumSeparation(512, 1, 512)), 3)
    2.836
    """
    sampling = MinimumSeparation(steps, participations, separation)
    width = separation if bands is None else whole_in(bands, "bands", 1, steps)
    return _optimize(sampling, width, objective)


def optimize_blt(
    steps: int, participations: int = 1, separation: int = 1, *, buffers: int = 3, objective: Objective = "rms"
) -> Blt:
    """A buffered linear Toeplitz matrix of about the least prefix error, in memory for `buffers` numbers a parameter.

    Two or three are nearly as good as any number. Costs no privacy. Raises `ParameterError` for numbers outside their
    range (`MinimumSeparation`; 1 to 8 buffers). Source: Dvijotham and others 2024; McMahan, Xu and Zhang 2024.

    >>> round(prefix_error(optimize_blt(512, 1, 512), MinimumSeparation(512, 1, 512)), 2)
    2.84
    """
    sampling = MinimumSeparation(steps, participations, separation)
    return _optimize_blt(sampling, whole_in(buffers, "buffers", 1, 8), objective)


@lru_cache(maxsize=64)
def _optimize(sampling: MinimumSeparation, bands: int, objective: Objective) -> BandedToeplitz:
    start, steps = _square_root(bands), sampling.steps
    if bands == 1:
        return BandedToeplitz.rounded(start)

    def padded(column: Floats) -> Floats:
        return np.concatenate([column, np.zeros(steps - bands)])

    def free(entries: Floats) -> tuple[float, Floats]:
        value, slope = log_error_and_slope(padded(np.concatenate([[1.0], entries])), sampling, objective)
        return value, slope[1:bands]

    def falling(falls: Floats) -> tuple[float, Floats]:
        """By the logarithms of cⱼ − cⱼ₊₁, of which all together are 1."""
        steps_down = np.exp(falls)
        column, total = np.cumsum(steps_down[::-1])[::-1], float(steps_down.sum())
        value, slope = log_error_and_slope(padded(column / total), sampling, objective)
        slope = slope[:bands] / total
        return value, (np.cumsum(slope) - slope @ column / total) * steps_down

    if bands <= sampling.separation or sampling.most == 1:
        least = _least(free, start[1:], [(-1.0, 1.0)] * (bands - 1))
        return BandedToeplitz.rounded(np.concatenate([[1.0], least]))
    falls = np.exp(_least(falling, np.log(np.append(-np.diff(start), start[-1])), [(-40.0, 10.0)] * bands))
    column = np.cumsum(falls[::-1])[::-1]
    strategies = [BandedToeplitz.rounded(column / column[0]), BandedToeplitz.rounded([1.0])]
    return min(strategies, key=lambda each: prefix_error(each, sampling, objective))


@lru_cache(maxsize=64)
def _optimize_blt(sampling: MinimumSeparation, buffers: int, objective: Objective) -> Blt:
    after = np.arange(sampling.steps - 1, dtype=np.float64)

    def slopes(numbers: Floats) -> tuple[float, Floats]:
        """By ln(−ln λᵢ) and ln wᵢ, and with a price on weights above 1 in all."""
        rates, weights = np.exp(numbers[:buffers]), np.exp(numbers[buffers:])
        powers = np.exp(-np.outer(rates, after))
        column = np.concatenate([[1.0], weights @ powers])
        value, slope = log_error_and_slope(column, sampling, objective)
        by_rate = -rates * weights * (powers @ (slope[1:] * after))
        excess = max(0.0, float(weights.sum()) - 1)
        by_weight = weights * (powers @ slope[1:] + 200 * excess)
        return value + 100 * excess**2, np.concatenate([by_rate, by_weight])

    strategies: list[Blt] = []
    for slowest in {sampling.steps, sampling.separation}:
        rates = np.log(np.geomspace(0.3 / max(slowest, 2), 0.6, buffers + 1)[:buffers])
        edges = [1.0, *(math.exp(-math.exp((a + b) / 2)) for a, b in pairwise(rates.tolist())), 0.0]
        masses = [_mass_below(a) - _mass_below(b) for a, b in pairwise(edges)]
        least = _least(
            slopes, np.concatenate([rates, np.log(masses)]), [(-16.0, 2.0)] * buffers + [(-20.0, 0.0)] * buffers
        )
        weights = np.maximum(np.exp(least[buffers:]), 2.0**-14)
        strategies.append(Blt.rounded(weights.tolist(), np.exp(-np.exp(least[:buffers])).tolist()))
    return min(strategies, key=lambda each: prefix_error(each, sampling, objective))


def _least(slopes: _Slopes, start: Floats, limits: list[tuple[float, float]]) -> Floats:
    """Where a function is least, by its slopes, from a start."""
    from scipy.optimize import minimize

    def guarded(at: Floats) -> tuple[float, Floats]:
        with np.errstate(all="ignore"):
            try:
                value, slope = slopes(at)
            except (OverflowError, ValueError):
                return _WORST, np.zeros_like(at)
        return (value, slope) if math.isfinite(value) and np.isfinite(slope).all() else (_WORST, np.zeros_like(at))

    return minimize(
        guarded, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 500, "ftol": 1e-9}
    ).x


def _square_root(bands: int) -> Floats:
    """1, 1/2, 3/8, …: the first column of the square root of the matrix of prefix sums."""
    j = np.arange(1, bands)
    return np.concatenate([[1.0], np.cumprod((2 * j - 1) / (2 * j))])


def _mass_below(decay: float) -> float:
    """The square root's entries are moments of a law on decays from 0 to 1: how much of it is below one."""
    angle = math.asin(math.sqrt(decay))
    return (angle - math.sin(angle) * math.cos(angle)) / math.pi
