"""The sensitivity that a caller states, and probabilities, checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms.numeric._roots import root_down
from discreet.privacy import BoundedRangeLoss, Loss, PureLoss, as_mu, budget_of
from discreet.rational import Number, decimal_text, rational
from discreet.sensitivity import Norms

__all__ = [
    "cost_of",
    "epsilon_of_mu",
    "epsilon_within",
    "l1_of",
    "l2_squared_of",
    "level_of",
    "linf_of",
    "log_error",
    "log_of",
    "one_move",
    "positive_of",
    "range_within",
    "rate_of",
    "whole_steps",
]


_WIDEST = Fraction(2) ** 500
_NONE = Fraction(0)
_HALVINGS = 40


def positive_of(value: Number, name: str) -> Fraction:
    """The exact number, above 0 and of reasonable size."""
    exact = rational(value, name)
    if not 1 / _WIDEST <= exact <= _WIDEST:
        raise ParameterError(
            f"{name} must be greater than 0 and finite, from 1e-150 to 1e150, got {decimal_text(exact)}"
        )
    return exact


def rate_of(epsilon: Fraction, sensitivity: Fraction, *, monotone: bool) -> Fraction:
    """By how much the exponent falls per unit of utility: ε/2Δ, or ε/Δ where all utilities move one way."""
    rate = epsilon / (sensitivity if monotone else 2 * sensitivity)
    if not 1 / _WIDEST <= rate <= _WIDEST:
        raise ParameterError("epsilon / sensitivity must be from 1e-150 to 1e150")
    return rate


def epsilon_within(spend: Loss, per_rho: int | Fraction) -> Fraction:
    """The largest ε that a spend pays for, in its own currency; `per_rho` is ε²/ρ: 8 for bounded range, 2 for pure ε.

    In ρ it is the largest on a grid of relative step 2**−40; in μ it is below the largest by less than 1e-4 of it.
    """
    kind, (allowed, *_) = budget_of(spend)
    if allowed <= 0:
        raise ParameterError("the spend must be greater than 0")
    match kind:
        case "rho":
            return root_down(per_rho * allowed)
        case "mu":
            return epsilon_of_mu(allowed)
        case _:
            return allowed


def range_within(spend: Loss, picks: int = 1, counted: Fraction = _NONE) -> Fraction:
    """The largest ε for which so many picks of ε-bounded range, each from what the earlier ones left, fit a spend.

    A share `counted` of each ε, below 1, may be pure; the pick then has the rest. Precise as `epsilon_within` is.
    Source: ``proofs/exponential.md``.
    """
    kind, (allowed, *_) = budget_of(spend)
    if kind == "mu" and allowed > 0:
        return _counted_within(allowed / picks, counted)
    return epsilon_within(spend, per_rho=8 * picks / (4 * counted**2 + (1 - counted) ** 2)) / picks


def _counted_within(squared: Fraction, counted: Fraction) -> Fraction:
    """The largest ε, nearly, for which a pure `counted` part of it and then a range of the rest are within μ²."""
    low, high = _NONE, 2 * epsilon_of_mu(squared) / (1 - counted)
    if not counted:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        pair = as_mu(PureLoss(counted * middle) + BoundedRangeLoss((1 - counted) * middle))
        low, high = (middle, high) if pair is not None and pair[0] <= squared else (low, middle)
    return low


def epsilon_of_mu(squared: Fraction) -> Fraction:
    """An ε, the largest nearly, with which ε-DP is μ-GDP: ln(Φ(μ/2) / Φ(−μ/2)); checked, and lowered until it is."""
    from scipy.special import log_ndtr

    half = math.sqrt(squared) / 2
    epsilon = Fraction(float(log_ndtr(half) - log_ndtr(-half)))
    step = Fraction(1, 2**40)
    while epsilon > 0 and (as_mu(PureLoss(epsilon)) or (squared + 1, 0))[0] > squared:
        epsilon *= 1 - step
        step *= 2
    return epsilon


def log_of(value: Fraction) -> float:
    """ln(value), for numbers beyond the floats as well."""
    return math.log(value.numerator) - math.log(value.denominator)


def log_error(rate: Fraction, candidates: int, level: Fraction) -> float:
    """ln(candidates / (1 − level)) / rate, rounded up, in units of utility: ``proofs/exponential.md``."""
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"candidates must be a whole number, 1 or more, got {candidates!r}")
    return (math.log(candidates) - math.log(1 - level)) / float(rate) * (1 + 1e-12)


def l1_of(sensitivity: Number | Norms) -> Fraction:
    """The L1 sensitivity."""
    return Fraction(sensitivity.l1) if isinstance(sensitivity, Norms) else _not_negative(sensitivity)


def l2_squared_of(sensitivity: Number | Norms) -> Fraction:
    """The square of the L2 sensitivity."""
    return Fraction(sensitivity.l2_squared) if isinstance(sensitivity, Norms) else _not_negative(sensitivity) ** 2


def linf_of(sensitivity: Number | Norms) -> Fraction:
    """The L∞ sensitivity, by how much one entry moves at most: above 0, as a selection divides by it."""
    return positive_of(sensitivity.linf if isinstance(sensitivity, Norms) else sensitivity, "sensitivity")


def whole_steps(sensitivity: Number) -> int:
    """By how many whole steps one integer moves at most: rounded up, which covers a real number put on the grid too."""
    return math.ceil(_not_negative(sensitivity))


def level_of(level: Number) -> Fraction:
    """A probability between 0 and 1, both excluded."""
    exact = rational(level, "level")
    if not 0 < exact < 1:
        raise ParameterError(f"level must be between 0 and 1, both excluded, got {decimal_text(exact)}")
    return exact


def _not_negative(value: Number) -> Fraction:
    exact = rational(value, "sensitivity")
    if exact < 0:
        raise ParameterError(f"sensitivity must be 0 or more, got {decimal_text(exact)}")
    return exact


def cost_of(sensitivity: Number | Norms, cost: Callable[[int], Fraction]) -> Fraction:
    """What a release costs, if moving one entry by k costs ``cost(k)``, which is at most k · cost(1).

    A number says how far one entry moves, the others not at all. `Norms` leave open how many entries share the move,
    and the worst is that each of them moves by 1.
    """
    entries, move = one_move(sensitivity)
    return entries * cost(move) if move else Fraction(0)


def one_move(sensitivity: Number | Norms) -> tuple[int, int]:
    """How many entries move in the worst case, and how far each: integers move by whole numbers."""
    total = math.floor(l1_of(sensitivity))
    return (total, min(total, 1)) if isinstance(sensitivity, Norms) else (1, total)
