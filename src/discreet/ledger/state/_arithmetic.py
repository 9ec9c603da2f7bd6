"""The arithmetic of a budget: what a spend charges, and what charges add up to.

Each currency adds componentwise, and stopping when the sum would pass the budget is a valid privacy filter for
adaptively chosen spends (`discreet.privacy.filters` names the theorems). Fractions are exact. Only a number whose
denominator exceeds 10**300 is rounded, a charge up and a cap down, to a multiple of 10**-300: otherwise sums of
fractions without a common denominator would grow with every entry, and a ledger would slow down and at last stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.privacy import (
    ApproxLoss,
    Loss,
    MuLoss,
    PureLoss,
    RhoLoss,
    TimesLoss,
    currency,
    in_currency,
    in_words,
    parts,
)

__all__ = [
    "CURRENCIES",
    "History",
    "add",
    "added",
    "charge",
    "charge_and_history",
    "from_numbers",
    "less",
    "limit",
    "more",
    "nothing",
    "numbers",
    "of_loss",
    "tidy",
    "together",
    "within",
    "worst",
]


_NODES: dict[str, type[PureLoss] | type[ApproxLoss] | type[RhoLoss] | type[MuLoss]] = {
    "pure": PureLoss, "approx": ApproxLoss, "rho": RhoLoss, "mu": MuLoss,
}  # fmt: skip
_GRID = 10**300
_LARGEST = 10**100


def charge(loss: Loss, name: str) -> Loss:
    """The loss as one node of the currency `name`, never less than the loss.

    Raises `ParameterError` if the currency cannot express it, if a number in it is above 1e100, or if it is a loss for
    neighbours of its own: a charge is a number for the unit of the ledger's policy, which a ledger does not know.

    >>> charge(PureLoss(Fraction(1, 10)) + PureLoss(Fraction(1, 5)), "approx")
    approx(0.3, 0)
    """
    relation = _checked(loss).relation
    if relation is not None:
        raise ParameterError(
            f"this loss is for neighbours by {relation}, and a ledger cannot tell whether its policy means the same: "
            f"convert it if they differ, loss.under('substitute'), and charge what it costs then, as dp.pure(epsilon), "
            "dp.approx(epsilon, delta), dp.rho(rho) or dp.mu(mu)"
        )
    return tidy(_sized(lambda: in_currency(loss, name)))


def limit(budget: Loss) -> Loss:
    """A budget as one node of its own currency.

    Raises `ParameterError` if it is not stated in one (`budget_of`), is empty, or has δ ≥ 1 or a number above 1e100.
    """
    node = _sized(lambda: in_currency(_checked(budget), currency(budget)))
    if parts(node)[0] <= 0:
        raise ParameterError(
            f"a budget must be greater than 0, got {in_words(node)}; "
            "write for example dp.pure(3), dp.approx(3, 1e-6) or dp.rho(0.5)"
        )
    if any(part.denominator > _GRID for part in parts(node)):
        raise ParameterError("a number of this budget has more than 300 digits; write a rounder one")
    return node


def nothing(name: str) -> Loss:
    """No loss, in the currency `name`."""
    return in_currency(TimesLoss(0, PureLoss(Fraction(0))), name)


def add(spent: Loss, charged: Loss) -> Loss:
    """The total after one more charge; both are nodes of one currency.

    >>> add(PureLoss(Fraction(1, 10)), PureLoss(Fraction(1, 5)))
    pure(0.3)
    """
    return type(spent)(*(_up(a + b if b else a) for a, b in zip(parts(spent), parts(charged), strict=True)))


def more(cap: Loss, moved: Loss) -> Loss:
    """A cap to which something was moved, never more than the sum; both are nodes of one currency."""
    return type(cap)(*(_down(a + b) for a, b in zip(parts(cap), parts(moved), strict=True)))


def less(cap: Loss, moved: Loss) -> Loss:
    """A cap from which something was moved, never more than the rest; both are nodes of one currency."""
    return type(cap)(*(_down(a - b) for a, b in zip(parts(cap), parts(moved), strict=True)))


def within(spent: Loss, budget: Loss) -> bool:
    """Whether a total, a node of the budget's currency, has not passed the budget."""
    return all(a <= b for a, b in zip(parts(spent), parts(budget), strict=True))


def worst(first: Loss, *others: Loss) -> Loss:
    """The least node of the currency that is no less than any of the losses, number by number."""
    return type(first)(*map(max, *map(parts, (first, *others)))) if others else first


def numbers(loss: Loss) -> list[str]:
    """A node of a currency as exact text, for `from_numbers`."""
    return [str(part) for part in parts(loss)]


def from_numbers(name: str, texts: Iterable[str]) -> Loss:
    """The node of the currency `name` that was written by `numbers`; raises `ValueError` or `ParameterError`."""
    return _node(name, *texts)


@lru_cache(4096)
def _node(name: str, *texts: str) -> Loss:
    return _NODES[name](*map(_fraction, texts))


def _fraction(text: str) -> Fraction:
    """``"3/10"``, and not what else `Fraction` reads: ``"1e999999999"`` would keep it busy for years."""
    return Fraction(*map(int, text.split("/", 1)))


def tidy(loss: Loss) -> Loss:
    """A node of a currency with its long fractions rounded up."""
    return type(loss)(*map(_up, parts(loss)))


def _checked(loss: object) -> Loss:
    if not isinstance(loss, Loss):
        raise ParameterError(
            f"a spend or a budget must be a loss, got {type(loss).__name__}; build it with dp.pure, dp.approx or dp.rho"
        )
    return loss


def _sized(reading: Callable[[], Loss]) -> Loss:
    """A node of a currency, if its numbers are at most 1e100."""
    try:
        node = reading()
    except RecursionError:
        raise ParameterError("this loss is a sum of too many terms; write n * loss for n equal terms") from None
    if max(parts(node)) > _LARGEST:
        raise ParameterError("a number of this loss is above 1e100, more than any ledger adds up")
    return node


def _up(value: Fraction) -> Fraction:
    if value.denominator <= _GRID:
        return value
    return Fraction(-(-value.numerator * _GRID // value.denominator), _GRID)


def _down(value: Fraction) -> Fraction:
    return -_up(-value)


CURRENCIES = ("pure", "approx", "rho", "mu")

History = Mapping[str, Loss]
"""From a currency to the total there. A currency that could not express some charge is absent from then on."""


@lru_cache(256)
def of_loss(loss: Loss) -> History:
    """One charge in every currency that can express it, rounded up where a fraction grows too long."""
    history: dict[str, Loss] = {}
    for name in CURRENCIES:
        try:
            history[name] = tidy(in_currency(loss, name))
        except (ParameterError, ArithmeticError):
            continue
    return history


def charge_and_history(loss: Loss, name: str) -> tuple[Loss, Mapping[str, list[str]]]:
    """The charge for a loss in the currency `name`, and the numbers of its history: not to be changed.

    Raises what `charge` raises.
    """
    try:
        return _charge_and_history(loss, name)
    except (RecursionError, TypeError):  # it has no hash: too deep a sum, or no loss at all
        return charge(loss, name), {each: numbers(total) for each, total in of_loss(loss).items()}


@lru_cache(256)
def _charge_and_history(loss: Loss, name: str) -> tuple[Loss, Mapping[str, list[str]]]:
    charged = charge(loss, name)
    return charged, {each: numbers(total) for each, total in of_loss(loss).items()} | {name: numbers(charged)}


def added(one: History, other: History) -> History:
    """One after the other."""
    return {name: add(one[name], other[name]) for name in CURRENCIES if name in one and name in other}


def together(common: History, parts: Iterable[History]) -> History:
    """What one person may have lost: what concerned all, and the worst of the parts, of which everybody is in one."""
    shares = [*parts]
    if not shares:
        return common
    everywhere = [name for name in CURRENCIES if name in common and all(name in share for share in shares)]
    return {name: add(common[name], worst(*(share[name] for share in shares))) for name in everywhere}
