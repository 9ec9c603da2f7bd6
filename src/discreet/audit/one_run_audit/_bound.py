"""How many secret coins can be guessed from a private procedure: exact tails, and the ε and μ that they show.

W of r guesses about m fair coins are correct. Statements and proofs: ``proofs/auditing_one_run.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["epsilon_shown", "mu_shown", "orders_for", "p_value", "p_value_of_mu"]

_TAIL_SLACK = 1e-9
_LEAK_SLACK = 1e-6
_LEAST_TAIL = 1e-280
_ORDERS = 65
_ZOOMS, _PLACES = 8, 17
_MOST_EPSILON, _MOST_MU = 64.0, 64.0


def p_value(correct: int, guesses: int, canaries: int, epsilon: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """The greatest probability of `correct` or more right guesses under (ε, δ); takes arrays of ε and δ.

    f + m·δ·f·(1 − f)/(v·b) for v correct of r, with W binomial(r, e^ε/(1 + e^ε)), f = Pr[W ≥ v] and b = Pr[W = v]; at
    most 1. Some (ε, δ)-private procedure attains it. Raised for float rounding: the tail by 1e-9 of itself, the term of
    δ by 1e-6, for up to 10⁶ guesses. Source: Steinke, Nasr and Jagielski 2023, Theorem 5.1 for δ = 0;
    ``proofs/auditing_one_run.md``, theorem 1, for δ > 0.

    >>> p_value(2, 2, 2, 0.0, [0.0, 0.1]).round(6).tolist()
    [0.25, 0.325]
    """
    from scipy.special import betaincc, expit, gammaln  # pyright: ignore[reportMissingTypeStubs]

    eps, leak = np.asarray(epsilon, np.float64), np.asarray(delta, np.float64) * canaries
    if correct <= 0:
        return np.ones(np.broadcast_shapes(eps.shape, leak.shape))
    v, rest = correct, guesses - correct
    tail: Any = betaincc(rest + 1, v, expit(-eps))
    log_share: Any = gammaln(guesses + 1) - gammaln(v) - gammaln(rest + 1) - v * np.log1p(np.exp(-eps))
    log_share = log_share - rest * np.logaddexp(0, eps)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # Where the tail leaves the floats v is far above the mean, and a geometric series bounds tail over share.
        factor = np.minimum(np.exp(eps) * rest / (v + 1), 1.0)
        ratio = np.where(tail > _LEAST_TAIL, np.exp(np.log(tail) - log_share), 1 / (v * (1 - factor)))
        leaked = np.where(leak > 0, leak * ratio * (1 - tail * (1 - _TAIL_SLACK)) * (1 + _LEAK_SLACK), 0.0)
    return np.minimum(tail * (1 + _TAIL_SLACK) + leaked, 1.0)


def p_value_of_mu(correct: int, guesses: int, canaries: int, mu: ArrayLike) -> NDArray[np.float64]:
    """A bound on the probability of `correct` or more right guesses under μ of Gaussian differential privacy.

    The least over several ε of `p_value` at the (ε, δ(ε)) of the curve. Takes an array of μ. Source: Dong, Roth and Su
    2022, Corollary 2.13 (the curve); ``proofs/auditing_one_run.md``, theorem 2.

    >>> p_value_of_mu(990, 1000, 1000, [0.5, 4.0]) < 0.01
    array([ True, False])
    """
    eps = np.linspace(0.0, orders_for(correct, guesses), _ORDERS)
    of_each = np.asarray(mu, np.float64)[..., None]
    return p_value(correct, guesses, canaries, eps, _gaussian_delta(eps, of_each)).min(axis=-1)


def orders_for(correct: int, guesses: int) -> float:
    """The ε up to which a curve is of use: at a greater one, so many correct guesses are expected anyway."""
    return float(np.log(max(correct, 1) / (guesses - correct + 1)).clip(0.0, _MOST_EPSILON))


def epsilon_shown(correct: int, guesses: int, canaries: int, delta: float, alarm: float) -> float:
    """The greatest ε whose `p_value` is found to be below `alarm`; 0 if there is none.

    >>> round(epsilon_shown(1000, 1000, 1000, 0.0, 0.05), 4)
    5.8091
    """
    return _greatest(lambda eps: p_value(correct, guesses, canaries, eps, delta) < alarm, _MOST_EPSILON)


def mu_shown(correct: int, guesses: int, canaries: int, alarm: float) -> float:
    """The greatest μ whose `p_value_of_mu` is found to be below `alarm`; 0 if there is none.

    >>> 0.5 < mu_shown(100, 100, 10_000, 0.05) < 1
    True
    """
    return _greatest(lambda mu: p_value_of_mu(correct, guesses, canaries, mu) < alarm, _MOST_MU)


def _greatest(refuted: Callable[[NDArray[np.float64]], NDArray[np.bool_]], most: float) -> float:
    """For a property that holds up to some point: a place where it holds, close to that point."""
    low, high = 0.0, most
    for _ in range(_ZOOMS):
        places = np.linspace(low, high, _PLACES)
        holds = refuted(places)
        first = _PLACES - 1 if holds.all() else int(np.argmin(holds))
        if first == 0:
            return 0.0
        low, high = float(places[first - 1]), float(places[first])
    return low


def _gaussian_delta(eps: NDArray[np.float64], mu: NDArray[np.float64]) -> NDArray[np.float64]:
    """δ(ε) of μ-GDP, raised by 1e-9 of its first term: more than the difference loses to rounding."""
    from scipy.special import log_ndtr, ndtr  # pyright: ignore[reportMissingTypeStubs]

    some = np.maximum(mu, 1e-100)
    with np.errstate(over="ignore"):
        first: Any = ndtr(some / 2 - eps / some)
        second: Any = np.exp(eps + log_ndtr(-some / 2 - eps / some))
    delta = np.minimum(np.maximum(first - second, 0.0) + first * _TAIL_SLACK, 1.0)
    return np.where(mu > 0, delta, 0.0)
