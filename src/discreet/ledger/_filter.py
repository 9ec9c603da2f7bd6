"""The arithmetic of a budget: what a spend charges, and what charges add up to.

Each currency adds componentwise, and stopping when the sum would pass the budget is a valid privacy filter for
adaptively chosen spends (the theorems are named in `discreet.privacy`). Fractions are exact. Only a number whose
denominator exceeds 10**300 is rounded, up, to a multiple of 10**-300: otherwise sums of fractions without a common
denominator would grow with every entry, and a ledger would slow down and at last stop.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy import Approx, Loss, Pure, Rho, Sum, Times, currency, in_currency, in_words, to_json

__all__ = ["add", "charge", "limit", "nothing", "refusal"]

_GRID = 10**300
_LARGEST = 10**100


def charge(loss: Loss, name: str) -> Loss:
    """The loss as one node of the currency `name`, never less than the loss.

    Raises `ParameterError` if the currency cannot express it, or if a number in it is negative, inexact or above 1e100.

    >>> charge(Pure(Fraction(1, 10)) + Pure(Fraction(1, 5)), "approx")
    Approx(eps=Fraction(3, 10), at_delta=Fraction(0, 1))
    """
    try:
        _check(loss)
        return _tidy(in_currency(loss, name))
    except RecursionError:
        raise ParameterError("this loss is a sum of too many terms; write n * loss for n equal terms") from None


def limit(budget: Loss) -> Loss:
    """A budget as one node of its own currency; raises `ParameterError` if it is empty or has δ ≥ 1."""
    try:
        _check(budget)
        whole = in_currency(budget, currency(budget))
    except RecursionError:
        raise ParameterError("this budget is a sum of too many terms; write it as one loss") from None
    first, *delta = _parts(whole)
    if first <= 0 or any(part >= 1 for part in delta):
        raise ParameterError(
            f"a budget must be greater than 0 and its delta less than 1, got {in_words(whole)}; "
            "write for example dp.pure(3), dp.approx(3, 1e-6) or dp.rho(0.5)"
        )
    if any(part.denominator > _GRID for part in _parts(whole)):
        raise ParameterError("a number of this budget has more than 300 digits; write a rounder one")
    return whole


def nothing(name: str) -> Loss:
    """No loss, in the currency `name`."""
    return in_currency(Times(0, Pure(Fraction(0))), name)


def add(spent: Loss, charged: Loss) -> Loss:
    """The total after one more charge; both are nodes of one currency.

    >>> add(Pure(Fraction(1, 10)), Pure(Fraction(1, 5)))
    Pure(eps=Fraction(3, 10))
    """
    return _tidy(in_currency(Sum((spent, charged)), currency(spent)))


def refusal(asked: Loss, rest: Loss, budget: Loss) -> str:
    """Why a charge is refused, in words that differ even where the short decimals agree."""
    want, have = in_words(asked), in_words(rest)
    if want == have:
        want, have = (" ".join(f"{key} {value}" for key, value in to_json(loss).items() if key != "kind")
                      for loss in (asked, rest))  # fmt: skip
    return (
        f"this spend asks for {want}, and {have} is left of the budget of {in_words(budget)}; "
        "nothing was spent: spend less, or ask the owner of the data for a new budget"
    )


def _parts(loss: Loss) -> tuple[Fraction, ...]:
    match loss:
        case Pure(eps):
            return (eps,)
        case Approx(first, delta) | Rho(first, delta):
            return first, delta
        case _:
            return ()


def _check(loss: Loss) -> None:
    match loss:
        case Pure() | Approx() | Rho():
            for part in _parts(loss):
                if not (isinstance(part, Fraction) and 0 <= part <= _LARGEST):  # pyright: ignore[reportUnnecessaryIsInstance]
                    raise ParameterError(
                        "a loss is made of exact numbers from 0 to 1e100; build it with dp.pure, dp.approx or dp.rho"
                    )
        case Sum(terms):
            for term in terms:
                _check(term)
        case Times(count, term):
            if not 0 <= count <= _LARGEST:
                raise ParameterError("a loss can be taken a whole number of times, from 0 to 1e100")
            _check(term)
        case _:
            raise ParameterError(
                f"a spend or a budget must be a loss, got {type(loss).__name__}; "
                "build it with dp.pure, dp.approx or dp.rho"
            )


def _tidy(loss: Loss) -> Loss:
    match loss:
        case Pure(eps):
            return Pure(_up(eps))
        case Approx(eps, delta):
            return Approx(_up(eps), _up(delta))
        case Rho(rho, delta):
            return Rho(_up(rho), _up(delta))
        case _:
            return loss


def _up(value: Fraction) -> Fraction:
    if value.denominator <= _GRID:
        return value
    return Fraction(-(-value.numerator * _GRID // value.denominator), _GRID)
