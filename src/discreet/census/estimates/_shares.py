"""How a spend is divided among levels and tables: as it was given, for the least error, or for the least spend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.census.estimates._estimate import Errors
from discreet.census.estimates._layout import Layout, Measure
from discreet.errors import ParameterError
from discreet.prices import Prices

__all__ = ["Accuracy", "cheapest_shares", "planned_shares", "weighted_error"]

Accuracy = Mapping[str, Any]
"""For each level the greatest half-width wanted of a cell, of every table or by table."""

_STEPS = 2**20
_LEAST = 1e-5
_GOAL = 1e-9
_MOST_STEPS = 300
_HALVINGS = 20


def planned_shares(layout: Layout, prices: Prices) -> dict[Measure, Fraction]:
    """The share of the spend of each level and table, together 1. It follows from public facts alone.

    The variances of least squares are convex in the precisions of what is measured (each is a quadratic form of an
    inverse), and so is their mean: the shares of least mean variance are where its gradient vanishes. They are sought
    in logarithms, where steps keep them above 0.
    """
    if layout.spec.shares != "auto":
        return layout.shares()
    every, power = _measures(layout), 1.0 if prices.is_quadratic else 2.0

    def error(logs: NDArray[np.float64]) -> float:
        return math.log(weighted_error(_errors(layout, every, _normal(logs), power)))

    best = minimize(error, np.zeros(len(every)), method="L-BFGS-B", options={"ftol": _GOAL, "maxiter": _MOST_STEPS})
    return _exact(every, _normal(best.x))


def weighted_error(errors: Errors) -> float:
    """The mean variance of a cell over areas, all levels and tables alike."""
    layout, total = errors.layout, 0.0
    for table in layout.tables.values():
        for level in range(layout.tree.levels):
            total += float(errors.cell_variance(level, table).mean())
    return total / (len(layout.tables) * layout.tree.levels)


def cheapest_shares(
    layout: Layout, prices: Prices, accuracy: Accuracy, confidence: float
) -> tuple[dict[Measure, Fraction], Fraction]:
    """The shares with which the least price meets an accuracy, and that price.

    With the shares fixed all half-widths shrink as the price grows, so that the worst wish sets the price; shares are
    sought for which it is least. Raises `ParameterError` if the total of `prices` is not enough, and for no such level,
    table or number.
    """
    wanted = _wanted(layout, accuracy)
    every, power = _measures(layout), 1.0 if prices.is_quadratic else 2.0

    def worst(logs: NDArray[np.float64]) -> float:
        errors = _errors(layout, every, _normal(logs), power)
        ratios = [
            float(errors.cell_variance(level, layout.tables[name]).max()) / half**2 for level, name, half in wanted
        ]
        return float(np.logaddexp.reduce(_SHARP * np.log(ratios)) / _SHARP)

    best = minimize(worst, np.zeros(len(every)), method="L-BFGS-B", options={"ftol": _GOAL, "maxiter": _MOST_STEPS})
    shares = _exact(every, _normal(best.x))

    def meets(part: Fraction) -> bool:
        price = prices.total * part
        try:
            noise = {each: prices.measurement(price * share) for each, share in shares.items()}
        except ParameterError:
            return False
        errors = Errors.of_mechanisms(layout, noise)
        levels = layout.spec.geography.levels
        return all(errors.half_width(name, levels[level], None, confidence) <= half for level, name, half in wanted)

    low, high = Fraction(0), Fraction(1)
    if not meets(high):
        raise ParameterError("that spend is not enough for the accuracy; allow more, or ask for wider half-widths")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return shares, prices.total * high


_SHARP = 64.0
"""How near a smooth maximum is to the maximum: within a factor of the number of wishes to the power of its inverse."""


def _measures(layout: Layout) -> list[Measure]:
    return [(level, name) for level in layout.spec.geography.levels for name in layout.tables]


def _wanted(layout: Layout, accuracy: Accuracy) -> list[tuple[int, str, float]]:
    wanted: list[tuple[int, str, float]] = []
    for level, given in accuracy.items():
        place = layout.spec.geography.level(level)
        by_table = (
            cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else dict.fromkeys(layout.tables, given)
        )
        for name, half in by_table.items():
            if name not in layout.tables:
                raise ParameterError(f"accuracy.{level}.{name}: there is no table of that name")
            if isinstance(half, bool) or not isinstance(half, int | float) or not half > 0:
                raise ParameterError(f"accuracy.{level}: a half-width is a number above 0, not {half!r}")
            wanted.append((place, name, float(half)))
    if not wanted:
        raise ParameterError('accuracy: name a level and a half-width, as in {"county": 50}')
    return wanted


def _errors(layout: Layout, every: Sequence[Measure], shares: NDArray[np.float64], power: float) -> Errors:
    return Errors(layout, {each: float(share**-power) for each, share in zip(every, shares, strict=True)})


def _normal(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def _exact(every: Sequence[Measure], shares: NDArray[np.float64]) -> dict[Measure, Fraction]:
    """Shares as fractions of few digits, together 1; what is next to nothing is not measured."""
    steps = {
        each: max(round(float(share) * _STEPS), 1) for each, share in zip(every, shares, strict=True) if share > _LEAST
    }
    total = sum(steps.values())
    return {each: Fraction(share, total) for each, share in steps.items()}
