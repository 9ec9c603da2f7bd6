"""The ε of a loss at one δ by other theorems, to compare with the certified one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import as_approx
from discreet.privacy.accounting._canonical import CanonicalForm, canonical_form
from discreet.privacy.accounting._renyi import renyi_curve
from discreet.privacy.curves._rounding import log_bounds, up
from discreet.privacy.losses._base import Loss, SampledLoss
from discreet.privacy.losses._constructors import mu
from discreet.privacy.losses._leaves import MuLoss, PureLoss
from discreet.privacy.losses._validation import delta as checked_delta
from discreet.rational import Number

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One theorem's ε; `bound` is False for an approximation, which may lie below the truth."""

    name: str
    epsilon: float
    bound: bool
    source: str


def compare(loss: Loss, delta: Number) -> tuple[Comparison, ...]:
    """ε at δ by basic composition, advanced composition, Rényi divergences and the Gaussian limit; those that apply.

    >>> from discreet.privacy import pure
    >>> [(each.name, round(each.epsilon, 2)) for each in compare(100 * pure(0.1), 1e-6)]
    [('basic composition', 10.0), ('advanced composition', 6.31), ('Renyi divergences', 5.07), ('Gaussian limit', 4.89)]
    """
    at, form = checked_delta(delta), canonical_form(loss)
    rest = at - form.leaked
    theorems: tuple[tuple[str, Callable[[], float | None], bool, str], ...] = (
        ("basic composition", lambda: _basic(loss, at), True, "Dwork and Roth 2014, Theorem 3.16"),
        ("advanced composition", lambda: _advanced(form, rest), True, "Dwork and Roth 2014, Theorem 3.20"),
        ("Renyi divergences", lambda: _renyi(form, rest), True, "Canonne, Kamath and Steinke 2020, Proposition 12"),
        ("Gaussian limit", lambda: _limit(form, rest), False, "Bu, Dong, Long and Su 2020, Corollary 4"),
    )
    comparisons: list[Comparison] = []
    for name, value, bound, source in theorems:
        try:
            epsilon = value()
        except (ParameterError, OverflowError):
            epsilon = None
        if epsilon is not None and math.isfinite(epsilon):
            comparisons.append(Comparison(name, epsilon, bound, source))
    return tuple(comparisons)


def _basic(loss: Loss, at: Fraction) -> float | None:
    pair = as_approx(loss)
    return up(pair[0]) if pair is not None and pair[1] <= at else None


def _advanced(form: CanonicalForm, rest: Fraction) -> float | None:
    """Σ ε(e^ε − 1) + √(2 ln(1/δ') Σ ε²), the proof's own form for different ε, and never more than their sum."""
    spent = [(as_approx(leaf), count) for leaf, count in form.items]
    if rest <= 0 or not spent:
        return None
    drift = squares = total = 0.0
    for pair, count in spent:
        if pair is None or pair[1] != 0:
            return None
        eps = up(pair[0])
        drift, squares, total = drift + count * eps * math.expm1(eps), squares + count * eps * eps, total + count * eps
    return min(total, drift + math.sqrt(-2 * log_bounds(rest)[0] * squares)) * (1 + 1e-12)


def _renyi(form: CanonicalForm, rest: Fraction) -> float | None:
    return renyi_curve(form.items).epsilon(log_bounds(rest))[1] if rest > 0 and form.items else None


def _limit(form: CanonicalForm, rest: Fraction) -> float | None:
    """μ² adds: n·q²(e^{1/σ²} − 1) for n Poisson samples, 4n·sinh²(ε/2) for n pure losses. Convergence is not proved."""
    squared = 0.0
    for leaf, count in form.items:
        match leaf:
            case MuLoss(each):
                squared += count * float(each)
            case SampledLoss(rate, "poisson", MuLoss(each)):
                squared += count * float(rate) ** 2 * math.expm1(float(each))
            case PureLoss(eps):
                squared += 4 * count * math.sinh(float(eps) / 2) ** 2
            case _:
                return None
    return mu(math.sqrt(squared)).epsilon(rest) if rest > 0 and squared > 0 else None
