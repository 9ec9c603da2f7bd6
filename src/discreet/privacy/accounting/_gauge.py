"""By how much a loss exceeds a budget, as one number whose zero a search can look for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import budget_of, in_currency, parts
from discreet.privacy.accounting._certify import certified_epsilon
from discreet.privacy.losses._base import Loss

__all__ = ["Gauge", "gauge_of", "verdict_of"]

Gauge = Callable[[Loss, bool], float]
"""Takes a loss, and whether the search is so near that it needs the exact value."""

_COARSE = 0.03


def gauge_of(budget: Loss) -> Gauge:
    """A smooth gauge: ε at the budget's δ where it has one, else the worst part in the budget's own currency.

    >>> from discreet.privacy import approx, pure
    >>> gauge_of(pure(2))(pure(1), True) == -math.log(2), gauge_of(approx(1, 1e-6))(100 * pure(1), False) > 0
    (True, True)
    """
    name, allowed = budget_of(budget)
    if name == "approx" and allowed[1] > 0 and allowed[0] > 0:
        return lambda loss, near: _by_epsilon(loss, *allowed, near=near)

    def by_parts(loss: Loss, _near: bool) -> float:  # noqa: FBT001 — as every gauge is called
        try:
            spent = parts(in_currency(loss, name))
        except ParameterError:
            return math.inf
        return max(map(_ratio, spent, allowed))

    return by_parts


def verdict_of(budget: Loss) -> Gauge:
    """A gauge of two values, −1 where the loss fits and 1 where it does not."""
    return lambda loss, _: -1.0 if loss.fits(budget) else 1.0


def _by_epsilon(loss: Loss, epsilon: Fraction, delta: Fraction, *, near: bool) -> float:
    """Far from the budget a rough bracket of ε decides, at a fraction of the work."""
    allowed = float(epsilon)
    if not near:
        low, high = loss.bounds(delta=delta, gap=_COARSE)
        if low > allowed and math.isinf(high):
            return math.log(low / allowed)
        if low > allowed or high < allowed:
            return math.log(max(math.sqrt(low) * math.sqrt(high) or high, 1e-300) / allowed)
    return math.log(max(certified_epsilon(loss, delta), 1e-300) / allowed)


def _ratio(spent: Fraction, allowed: Fraction) -> float:
    if spent <= 0 or allowed <= 0:
        return -math.inf if spent <= 0 else math.inf
    log = math.log(spent / allowed)
    return log if log or spent == allowed else math.copysign(5e-324, spent - allowed)
