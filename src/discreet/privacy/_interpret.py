"""What a loss means: pure ε, (ε, δ), δ-approximate ρ-zCDP, and whether it fits a budget.

Each reading is a pure function over nodes. `None` says that the node has no such meaning, which is never an error
here: the caller decides whether to refuse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy._loss import Approx, Loss, Pure, Rho, Sum, Times
from discreet.rational import Number, decimal_text, rational

__all__ = ["CURRENCIES", "as_approx", "as_pure", "as_rho", "currency", "epsilon", "fits", "in_currency", "left"]

Pair = tuple[Fraction, Fraction]

CURRENCIES: dict[str, type[Pure] | type[Approx] | type[Rho]] = {"pure": Pure, "approx": Approx, "rho": Rho}
"""The currencies a budget can be kept in. Sums of ε, of (ε, δ) and of (ρ, δ) are valid filters for adaptive spending:
Rogers, Roth, Ullman and Vadhan 2016, Theorem 3.1 (basic composition as a filter); Whitehouse, Ramdas, Rogers and
Wu 2023, Theorem 1 (approximate zCDP)."""


def as_pure(loss: Loss) -> Fraction | None:
    """The ε of pure differential privacy, if the loss has one."""
    match loss:
        case Pure(eps):
            return eps
        case Approx(eps, delta):
            return eps if delta == 0 else None
        case Rho():
            return None
        case Sum(terms):
            return _total(as_pure(term) for term in terms)
        case Times(count, term):
            each = as_pure(term)
            return None if each is None else count * each
        case _:
            raise _unknown(loss)


def as_approx(loss: Loss) -> tuple[Fraction, Fraction] | None:
    """(ε, δ) by basic composition, if every part is a pure or an (ε, δ) loss."""
    match loss:
        case Pure(eps):
            return eps, Fraction(0)
        case Approx(eps, delta):
            return eps, delta
        case Rho():
            return None
        case Sum(terms):
            return _total_pair(as_approx(term) for term in terms)
        case Times(count, term):
            pair = as_approx(term)
            return None if pair is None else (count * pair[0], count * pair[1])
        case _:
            raise _unknown(loss)


def as_rho(loss: Loss) -> tuple[Fraction, Fraction]:
    """(ρ, δ) of δ-approximate zCDP; every loss has one.

    ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4), and (ε, δ)-DP is δ-approximately so: it is ε-DP off an
    event of probability δ (Kairouz, Oh and Viswanath 2015, Theorem 3.4). ρ and δ add (Bun and Steinke, Lemma 8.2).
    """
    match loss:
        case Pure(eps):
            return eps * eps / 2, Fraction(0)
        case Approx(eps, delta):
            return eps * eps / 2, delta
        case Rho(rho, delta):
            return rho, delta
        case Sum(terms):
            pairs = [as_rho(term) for term in terms]
            return sum((r for r, _ in pairs), Fraction(0)), sum((d for _, d in pairs), Fraction(0))
        case Times(count, term):
            rho, delta = as_rho(term)
            return count * rho, count * delta
        case _:
            raise _unknown(loss)


def currency(budget: Loss) -> str:
    """The currency that a budget fixes: ``"pure"``, ``"approx"`` or ``"rho"``.

    A sum is read in the narrowest currency that holds it.
    """
    if as_pure(budget) is not None and not isinstance(budget, Approx):
        return "pure"
    return "rho" if as_approx(budget) is None else "approx"


def in_currency(loss: Loss, name: str) -> Loss:
    """The loss as one node of a currency; raises `ParameterError` if it cannot be expressed there.

    A ρ has no single (ε, δ): converting it would fix a δ that nobody chose, so a (ε, δ) ledger refuses it.
    """
    if name == "pure":
        eps = as_pure(loss)
        if eps is None:
            raise ParameterError(
                "this budget is kept in pure epsilon, which a spend with a delta or a rho does not fit; "
                "spend dp.pure(epsilon), or keep a budget with a delta"
            )
        return Pure(eps)
    if name == "approx":
        pair = as_approx(loss)
        if pair is None:
            raise ParameterError(
                "this budget is kept in (epsilon, delta), which a spend in rho does not fit; "
                "spend dp.pure(epsilon) or dp.approx(epsilon, delta), or keep the budget in rho"
            )
        return Approx(*pair)
    if name == "rho":
        return Rho(*as_rho(loss))
    raise ParameterError(f"unknown currency {name!r}; known are {', '.join(CURRENCIES)}")


def fits(loss: Loss, budget: Loss) -> bool:
    """Whether the loss is within the budget, in the budget's currency, in exact arithmetic."""
    name = currency(budget)
    try:
        one, whole = in_currency(loss, name), in_currency(budget, name)
    except ParameterError:
        return False
    return all(a <= b for a, b in zip(_parts(one), _parts(whole), strict=True))


def left(budget: Loss, spent: Loss) -> Loss:
    """What a budget still allows after `spent`, never below zero, as one node of the budget's currency."""
    name = currency(budget)
    whole, gone = in_currency(budget, name), in_currency(spent, name)
    rest = [max(a - b, Fraction(0)) for a, b in zip(_parts(whole), _parts(gone), strict=True)]
    return CURRENCIES[name](*rest)


def epsilon(loss: Loss, delta: Number = 0) -> float:
    """The least ε that can be certified at δ, rounded up. See `Loss.epsilon`."""
    exact_delta = rational(delta, "delta")
    if not 0 <= exact_delta < 1:
        raise ParameterError(f"delta must be at least 0 and less than 1, got {decimal_text(exact_delta)}")
    pair = as_approx(loss)
    if pair is not None and pair[1] <= exact_delta:
        return _up(pair[0])
    rho, spent_delta = as_rho(loss)
    if rho == 0 and spent_delta <= exact_delta:
        return 0.0
    if spent_delta >= exact_delta:
        return math.inf
    return _concentrated_epsilon(_up(rho), exact_delta - spent_delta)


def _concentrated_epsilon(rho: float, delta: Fraction) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 7 and Corollary 13: any α > 1 gives the bound

        ε = αρ + ln((α − 1)/α) + (ln(1/δ) − ln α) / (α − 1),

    so only the arithmetic of one evaluation has to be rounded up; the search for the best α need not be exact.
    """
    log_inverse = _log_inverse(delta)

    def terms(log_excess: float) -> tuple[float, float, float, float]:
        excess = math.exp(log_excess)
        log_alpha = math.log1p(excess)
        return (1 + excess) * rho, log_excess - log_alpha, log_inverse / excess, -log_alpha / excess

    low, high = -20.0, 60.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(160):
        left_, right = high - golden * (high - low), low + golden * (high - low)
        if sum(terms(left_)) < sum(terms(right)):
            high = right
        else:
            low = left_
    best = terms((low + high) / 2)
    rounding = 1e-13 * (1 + sum(abs(term) for term in best))  # each term is right to 1e-14 of itself, the sum too
    return max(0.0, sum(best) + rounding)


def _log_inverse(delta: Fraction) -> float:
    """ln(1/δ) to a relative 1e-14, also where δ is below or next to all floats."""
    if delta > Fraction(1, 2):
        return -math.log1p(-float(1 - delta))
    if delta > Fraction(1, 10**300):
        return -math.log(float(delta))
    return math.log(delta.denominator) - math.log(delta.numerator)


def _parts(loss: Loss) -> tuple[Fraction, ...]:
    match loss:
        case Pure(eps):
            return (eps,)
        case Approx(first, delta) | Rho(first, delta):
            return first, delta
        case _:
            raise _unknown(loss)


def _total(values: Iterable[Fraction | None]) -> Fraction | None:
    total = Fraction(0)
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _total_pair(pairs: Iterable[Pair | None]) -> Pair | None:
    epsilon, delta = Fraction(0), Fraction(0)
    for pair in pairs:
        if pair is None:
            return None
        epsilon, delta = epsilon + pair[0], delta + pair[1]
    return epsilon, delta


def _up(value: Fraction) -> float:
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _unknown(loss: Loss) -> ParameterError:
    return ParameterError(
        f"{type(loss).__name__} is not a loss that discreet knows; build losses with dp.pure, dp.approx and dp.rho"
    )
