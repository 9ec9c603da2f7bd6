"""What a loss means as (ε, δ), and whether it fits a budget.

A theorem is tried first (`_closed_form`), then numeric composition (`_numeric`). Every upper end is rounded up, every
lower end down.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import as_approx, budget_of, in_currency, parts
from discreet.privacy.accounting._canonical import canonical_form
from discreet.privacy.accounting._closed_form import closed_curve
from discreet.privacy.curves._amplification import grouped_curve
from discreet.privacy.curves._base import Bounds, Curve, best
from discreet.privacy.curves._rounding import down, log_bounds, up
from discreet.privacy.losses._base import GroupLoss, Loss, ShuffledLoss, SubstitutedLoss, SumLoss, TimesLoss
from discreet.privacy.losses._validation import at_least_zero
from discreet.privacy.losses._validation import delta as checked_delta
from discreet.rational import Number

__all__ = ["bounds", "certified_epsilon", "curve_of", "delta", "epsilon", "fits"]


def curve_of(loss: Loss, gap: float = 1e-3, *, upper: bool = False) -> Curve:
    """The certified privacy curve of a loss; with `upper` it is fast, and its lower ends may be trivial."""
    from discreet.privacy.accounting._numeric import combined_curve, numeric_curve

    form = canonical_form(loss)
    closed = closed_curve(form) or combined_curve(form, gap, upper=upper)
    if closed is not None:
        return closed
    curve = numeric_curve(form, gap, upper=upper)
    match loss:
        case GroupLoss(k, term):
            # Either the group of each release, composed, or the composition, for the group: both are valid.
            return best(
                grouped_curve(curve_of(term, gap, upper=upper), k, curve_of(term, upper=True), tolerance=1e-6), curve
            )
        case SubstitutedLoss(term):
            return curve_of(GroupLoss(2, term), gap, upper=upper)
        case _:
            return curve


def epsilon(loss: Loss, delta: Number = 0) -> float:
    """The least ε that can be certified at δ, rounded up. See `Loss.epsilon`."""
    return _epsilon(loss, checked_delta(delta), 1e-3, upper=True)[1]


def delta(loss: Loss, epsilon: Number) -> float:
    """The least δ that can be certified at ε, rounded up. See `Loss.delta`."""
    return _delta(loss, at_least_zero(epsilon, "epsilon"), 1e-3, upper=True)[1]


def bounds(
    loss: Loss, *, delta: Number | None = None, epsilon: Number | None = None, gap: float = 1e-3
) -> tuple[float, float]:
    """Certified (lower, upper). See `Loss.bounds`."""
    if not (isinstance(gap, int | float) and 0 < gap <= 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"gap must be greater than 0 and at most 1, got {gap!r}")
    if delta is not None and epsilon is None:
        return _epsilon(loss, checked_delta(delta), gap)
    if epsilon is not None and delta is None:
        return _delta(loss, at_least_zero(epsilon, "epsilon"), gap)
    raise ParameterError("bounds takes either delta=..., for epsilon, or epsilon=..., for delta")


def _epsilon(loss: Loss, at: Fraction, gap: float, *, upper: bool = False) -> Bounds:
    pair = as_approx(loss)
    basic = up(pair[0]) if pair is not None and pair[1] <= at else math.inf
    if at == 0:
        # Only what is pure has an ε here; at δ = 0 basic composition is exact for every leaf that is tight by itself.
        form = canonical_form(loss)
        if basic == 0.0 or not form.items:
            return (0.0, 0.0) if not form.leaks else (math.inf, math.inf)
        return 0.0 if upper else _pure_lower(loss, basic), basic
    low, high = curve_of(loss, gap, upper=upper).epsilon(log_bounds(at))
    high = min(high, basic)
    return min(low, high), high


def _pure_lower(loss: Loss, basic: float) -> float:
    """A lower end of ε at δ = 0: a δ of e^{-300} needs no more."""
    try:
        low = curve_of(loss).epsilon((-300.0, -300.0))[0]
    except ParameterError:
        return 0.0
    return min(low, basic)


def _delta(loss: Loss, at: Fraction, gap: float, *, upper: bool = False) -> Bounds:
    pair = as_approx(loss)
    basic = up(pair[1]) if pair is not None and pair[0] <= at else 1.0
    if basic == 0.0:
        return 0.0, 0.0
    curve = curve_of(loss, gap, upper=upper)
    low, high = curve.log_delta(max(0.0, down(at)))
    near = up(at)
    if near != down(at) and not upper:
        low = -math.inf if math.isinf(near) else curve.log_delta(near)[0]
    low, high = _exp_down(low), _exp_up(high)
    high = min(high, basic, 1.0)
    return min(low, high), high


def _exp_up(log_value: float) -> float:
    """e^x from above: exp is right to 2⁻⁵¹, x to 2⁻⁵³ of itself; never 0 unless it is."""
    if log_value == -math.inf:
        return 0.0
    return max(5e-324, math.exp(log_value) * (1 + 2.0**-50 * (1 + abs(log_value))))


def _exp_down(log_value: float) -> float:
    return max(0.0, math.exp(log_value) * (1 - 2.0**-50 * (1 + abs(log_value)))) if log_value > -745 else 0.0


@lru_cache(maxsize=16)
def certified_epsilon(loss: Loss, delta: Fraction) -> float:
    """`epsilon` with a cache: a search asks again whether the loss that it tried last fits."""
    return epsilon(loss, delta)


def fits(loss: Loss, budget: Loss) -> bool:
    """Whether the loss is within the budget. See `Loss.fits`."""
    name, allowed = budget_of(budget)
    _ = loss.relation  # refuses a sample of a loss that is valid for other neighbours
    try:
        spent = parts(in_currency(loss, name))
    except ParameterError:
        spent = None
    if spent is not None and all(a <= b for a, b in zip(spent, allowed, strict=True)):
        return True
    if (
        name != "approx"
        or allowed[1] == 0
        or (spent is not None and not isinstance(loss, SumLoss | TimesLoss | ShuffledLoss))
    ):
        return False
    certified = certified_epsilon(loss, allowed[1])
    return math.isfinite(certified) and Fraction(certified) <= allowed[0]
