"""True losses, worked out on paper's formulas and apart from the library: laws as arrays of probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = [
    "below",
    "epsilon_between",
    "gaussian_epsilon",
    "geometric",
    "picked_in_turn",
    "root",
    "softmax",
    "two_sided",
]

Floats = NDArray[np.float64]


def epsilon_between(one: Mapping[Hashable, float] | Floats, other: Mapping[Hashable, float] | Floats, delta=0.0):
    """The least ε with P(S) ≤ e^ε Q(S) + δ for all sets S of outcomes, both ways: by falling P/Q."""
    p, q = _aligned(one, other)
    return max(_one_way(p, q, delta), _one_way(q, p, delta))


def _aligned(one, other) -> tuple[Floats, Floats]:
    if isinstance(one, Mapping):
        keys = list({**one, **other})
        return tuple(np.array([float(law.get(key, 0.0)) for key in keys]) for law in (one, other))
    return np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)


def _one_way(p: Floats, q: Floats, delta: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(p > 0, p / q, -1.0), kind="stable")
        above, below = np.cumsum(p[order]) - delta, np.cumsum(q[order])
        shown = np.where(above > 0, np.log(np.maximum(above, 0)) - np.log(below), -np.inf)
    return max(0.0, float(shown.max()))


def two_sided(scale: float, reach: int) -> Floats:
    """P(X = x) ∝ exp(−|x|/scale) for x from −reach to reach, of the whole line."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)


def geometric(scale: float) -> Callable[[int], float]:
    """Its tail: P(X ≥ m)."""
    q = math.exp(-1 / scale)
    return lambda m: q**m / (1 + q) if m > 0 else 1 - q ** (1 - m) / (1 + q)


def below(m: NDArray[np.int64], scale: float) -> Floats:
    """P(X < m), at each m."""
    q = math.exp(-1 / scale)
    return np.where(m > 0, 1 - q ** np.maximum(m, 0) / (1 + q), q ** np.maximum(1 - m, 0) / (1 + q))


def softmax(utilities: list[float], rate: float) -> Floats:
    """Probabilities ∝ exp(rate · utility)."""
    weights = np.exp(rate * (np.array(utilities) - max(utilities)))
    return weights / weights.sum()


def picked_in_turn(utilities: list[float], k: int, rate: float) -> dict[Hashable, float]:
    """The law of k picks without replacement, each ∝ exp(rate · utility) among those left."""
    law: dict[Hashable, float] = {}
    weights = [math.exp(rate * u) for u in utilities]
    for picks in permutations(range(len(utilities)), k):
        left, chance = sum(weights), 1.0
        for each in picks:
            chance *= weights[each] / left
            left -= weights[each]
        law[picks] = chance
    return law


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε of the Gaussian mechanism at δ: Balle and Wang 2018, Theorem 8, solved for ε."""
    from scipy.special import log_ndtr

    def excess(epsilon: float) -> float:
        return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)))) - delta

    return root(excess, 0.0, 100 * mu + 100) if excess(0.0) > 0 else 0.0


def root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses 0, from above to below."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
