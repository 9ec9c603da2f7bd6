"""How a spend is divided among levels and tables: as it was given, or for the least planned error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.census._estimate import Errors
from discreet.census._layout import Layout, Measure
from discreet.prices import Prices

__all__ = ["planned_shares", "weighted_error"]

_STEPS = 2**20
_LEAST = 1e-5
_GOAL = 1e-7


def planned_shares(layout: Layout, prices: Prices) -> dict[Measure, Fraction]:
    """The share of the spend of each level and table, together 1. It follows from public facts alone.

    Least squares has a variance that is convex in the precisions of what is measured (it is the trace of an inverse),
    so that shares of least weighted error are where the gradient vanishes, found here in logarithms.
    """
    if layout.spec.shares != "auto":
        return layout.shares()
    every: list[Measure] = [(level, name) for level in layout.spec.geography.levels for name in layout.tables]
    power = 2.0 if not prices.is_quadratic else 1.0

    def error(logs: NDArray[np.float64]) -> float:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        noise = {each: float(share**-power) for each, share in zip(every, shares, strict=True)}
        return math.log(weighted_error(Errors(layout, noise)))

    best = minimize(error, np.zeros(len(every)), method="L-BFGS-B", options={"ftol": _GOAL, "maxiter": 200})
    shares = np.exp(best.x - best.x.max())
    shares /= shares.sum()
    return _exact({each: float(share) for each, share in zip(every, shares, strict=True) if share > _LEAST})


def weighted_error(errors: Errors) -> float:
    """The mean variance of a cell over areas, all levels and tables alike."""
    layout, total = errors.layout, 0.0
    for table in layout.tables.values():
        for level in range(layout.tree.levels):
            total += float(errors.cell_variance(level, table).mean())
    return total / (len(layout.tables) * layout.tree.levels)


def _exact(shares: Mapping[Measure, float]) -> dict[Measure, Fraction]:
    """Shares as fractions of few digits, together 1."""
    whole = {each: max(round(share * _STEPS), 1) for each, share in shares.items()}
    total = sum(whole.values())
    return {each: Fraction(share, total) for each, share in whole.items()}
