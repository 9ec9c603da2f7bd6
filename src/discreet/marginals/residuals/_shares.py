"""Shares of a budget among residuals with Gaussian noise: the best there are, in closed form or by a concave program.

Noise of variance n on a residual costs c / n, where c is the square of its sensitivity. Of all linear strategies with
Gaussian noise none has a smaller sum of variances, nor a smaller largest one: see ``proofs/residual_marginals.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.marginals.residuals._lattice import Lattice, Numbers

__all__ = ["OptimalShares", "least_largest", "least_sum"]

_ROUNDS = 2_000
_CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class OptimalShares:
    """Shares of a budget of 1, and how near they are to the best.

    Attributes
    ----------
    shares
        The part of the budget that each residual has; they add up to 1.
    noise
        The variance of each residual's noise: what it costs is c / variance.
    objective
        What is minimised. At a budget b it is this divided by b.
    bound
        What no shares go below, at most `objective`.
    """

    shares: Numbers
    noise: Numbers
    objective: float
    bound: float


def least_sum(lattice: Lattice, costs: Numbers, weights: Numbers) -> OptimalShares:
    """The shares with the least weighted sum of the variances of a cell of each marginal, in closed form.

    With v what a unit of noise on a residual adds to that sum, its share is √(c v) over the sum of these roots, and the
    square of that sum is the least there is (Cauchy and Schwarz). Raises `ParameterError` for weights that are not
    positive numbers.

    >>> import numpy as np
    >>> lattice = Lattice((2,), ((0,), ()))
    >>> best = least_sum(lattice, costs=np.array([1.0, 0.5]), weights=np.array([2.0, 1.0]))
    >>> best.shares.round(4), round(best.objective, 4)
    (array([0.634, 0.366]), 3.7321)
    """
    _check(weights)
    return _least(costs, lattice.pull_back(weights))


def least_largest(lattice: Lattice, costs: Numbers, weights: Numbers) -> OptimalShares:
    """The shares with the least of the largest weighted variance of a cell, by a concave program for its dual.

    For any mix of the marginals, the least sum by it is a lower bound of the least largest variance, and the best mix
    attains that. Each round multiplies the mix by how the variances compare with the bound, until they meet to 1e-10;
    what is left between them is stated by `bound`. Raises `ParameterError` for weights that are not positive numbers.
    """
    _check(weights)
    mix = np.full(len(weights), 1 / len(weights))
    bound, best = 0.0, _least(costs, lattice.pull_back(mix * weights))
    least = float("inf")
    for _ in range(_ROUNDS):
        shares = _least(costs, lattice.pull_back(mix * weights))
        variances = lattice.variances(shares.noise) * weights
        bound = max(bound, shares.objective)
        largest = float(variances.max())
        if largest < least:
            least, best = largest, shares
        if least <= bound * (1 + _CLOSE):
            break
        mix = np.maximum(mix * variances, np.finfo(float).tiny)
        mix /= mix.sum()
    return OptimalShares(best.shares, best.noise, least, bound)


def _least(costs: Numbers, added: Numbers) -> OptimalShares:
    """The best shares where a unit of noise on each residual adds so much."""
    roots = np.sqrt(costs * added)
    total = float(roots.sum())
    return OptimalShares(roots / total, np.sqrt(costs / added) * total, total**2, total**2)


def _check(weights: Numbers) -> None:
    if not np.isfinite(weights).all() or weights.min() <= 0:
        raise ParameterError("the weight of a marginal is a number greater than 0")
