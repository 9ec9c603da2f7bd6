"""From a ledger of pure ε to one of (ε, δ) or of ρ, with every charge carried over (``proofs/accounts.md``, 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_FLOOR, Context
from fractions import Fraction

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.state._account import Account
from discreet.ledger.state._arithmetic import History, limit, nothing, tidy, within
from discreet.privacy import ApproxLoss, Loss, RhoLoss, currency, in_currency, in_words, parts, rho, solve

__all__ = ["TARGETS", "check_kept", "check_target", "converted", "converted_cap", "converted_total"]

TARGETS = ("approx", "rho")
"""The currencies that a ledger of pure ε may change to, once."""

_FOUR_DIGITS = Context(prec=4, rounding=ROUND_FLOOR)


def converted_cap(cap: Loss, delta: Fraction, target: str) -> Loss:
    """The cap in another currency under which the promise of `cap`, an ε, holds but for a probability of δ.

    For ``"approx"`` that is (ε, δ). For ``"rho"`` half of δ is for queries that need one, as the discovery of private
    keys does, and ρ is the largest with (ε, δ / 2)-DP, rounded down to four digits.

    Raises `ParameterError` for another currency and for a δ that is not between 0 and 1.

    >>> from discreet.privacy import pure
    >>> converted_cap(pure(3), Fraction("1e-6"), "approx"), converted_cap(pure(3), Fraction("1e-6"), "rho")
    (approx(3, 1e-06), rho(0.1757, 5e-07))
    """
    if target not in TARGETS:
        raise ParameterError(f"a ledger of pure epsilon is converted to {' or to '.join(TARGETS)}, not to {target!r}")
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be greater than 0 and less than 1, got {float(delta):g}")
    epsilon = parts(cap)[0]
    if epsilon == 0:
        return nothing(target)
    if target == "approx":
        return limit(ApproxLoss(epsilon, delta))
    spare = delta / 2
    try:
        most = solve(rho, ApproxLoss(epsilon, spare))
    except ParameterError:
        raise ParameterError(
            f"no rho is small enough for {in_words(cap)} with half of delta {float(delta):g}: convert to approx, or "
            "with a larger delta"
        ) from None
    return limit(RhoLoss(Fraction(_FOUR_DIGITS.create_decimal_from_float(most)), spare))


def check_kept(cap: Loss, after: Loss, delta: Fraction) -> None:
    """Raise `LedgerError` unless `after` is `converted_cap` of `cap`, but for a ρ that may be less."""
    epsilon, numbers = parts(cap)[0], parts(after)
    if epsilon == 0:
        good = not any(numbers)
    elif isinstance(after, ApproxLoss):
        good = numbers == (epsilon, delta)
    else:
        good = numbers[1] == delta / 2 and rho(numbers[0]).fits(ApproxLoss(epsilon, delta / 2))
    if not good:
        raise LedgerError("the cap after the conversion does not keep the promise of the cap before it")


def check_target(unit: str, target: object) -> str:
    """The currency to convert to; raises `LedgerError` unless the ledger is kept in pure ε."""
    if target not in TARGETS:
        raise LedgerError(f"a ledger of pure epsilon is converted to {' or to '.join(TARGETS)}, not to {target!r}")
    if unit != "pure":
        raise LedgerError(f"the ledger is kept in {unit} already, and only one of pure epsilon can be converted")
    return str(target)


def converted_total(total: Account, cap: Loss, history: Mapping[str, History], everybody: str) -> Account:
    """The whole under `cap`, a node of the new currency, with what was spent carried over.

    `history` has what was charged since the ledger was made, for each part and under the name `everybody`: where it is
    less than what the window's total costs in the new currency, it bounds the window as well. Raises `LedgerError` if
    more was spent than `cap`.
    """
    name = currency(cap)
    shares = {part: _least(_carried(loss, name), history[part]) for part, loss in total.shares.items()}
    common = _least(_carried(total.common, name), history[everybody])
    after = replace(converted(total, cap), common=common, shares=shares)
    if not after.holds:
        raise LedgerError(
            f"what was spent is at most {in_words(after.spent)} there, and the cap would be {in_words(cap)}: convert "
            "the ledger to (epsilon, delta), where nothing grows, or with a larger delta"
        )
    return after


def converted(account: Account, cap: Loss) -> Account:
    """An account under `cap`, a node of the new currency, with what it spent carried over."""
    name = currency(cap)
    return replace(
        account,
        cap=cap,
        common=_carried(account.common, name),
        before=_carried(account.before, name),
        shares={part: _carried(loss, name) for part, loss in account.shares.items()},
    )


def _carried(loss: Loss, name: str) -> Loss:
    return tidy(in_currency(loss, name))


def _least(loss: Loss, history: History) -> Loss:
    known = history[currency(loss)]
    return known if within(known, loss) else loss
