"""For which neighbours the charges of a ledger are: one relation for its life (``proofs/accounts.md``, 6).

Losses for people who are added or removed and losses for people who are replaced do not add up. A ledger is made for
one of the two. Only one of an older format may be without: then its first charge fixes it, or its owner's `settle`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.state._account import Account
from discreet.ledger.state._arithmetic import History, tidy
from discreet.privacy import Loss, Relation, currency, in_currency

__all__ = ["DEFAULT", "for_groups_of_two", "grouped_history", "relation_after", "relation_settled"]

DEFAULT: Relation = "add_remove"
"""What a new ledger is made for if nothing else is asked, as a policy is."""


def relation_after(fixed: str | None, asked: str | None, *, charged: bool) -> str | None:
    """The ledger's relation after a charge for neighbours by `asked`; None if the ledger, or the caller, names none.

    `charged` is whether anything was charged before. Raises `LedgerError` for a charge that would be added to others.
    """
    if asked is None or asked == fixed:
        return fixed
    if asked not in get_args(Relation):
        raise LedgerError(f"a relation is one of {', '.join(get_args(Relation))}, not {asked!r}")
    if fixed is not None:
        raise LedgerError(
            f"the ledger counts losses for neighbours by {fixed}, and the policy is for {asked}: "
            "their losses do not add up; keep a ledger for each, or change the policy"
        )
    if charged:
        raise LedgerError(
            "this ledger is of an older format, which added up charges for either kind of neighbours, and does not say "
            "which it holds. Its owner can say so once: `discreet ledger settle LEDGER --relation add_remove`, if all "
            "policies so far were for add_remove, which a policy is unless it names another; nothing was spent"
        )
    return asked


def relation_settled(fixed: str | None, relation: object, *, mixed: bool) -> str:
    """The relation that an owner settles on; raises `LedgerError` if the ledger has one, or it does not bound all."""
    if relation not in get_args(Relation):
        raise LedgerError(f"a relation is one of {', '.join(get_args(Relation))}, not {relation!r}")
    if fixed is not None:
        raise LedgerError(f"the ledger is for neighbours by {fixed}, and that never changes; make another ledger")
    if mixed and relation != "substitute":
        raise LedgerError(
            "charges for both kinds of neighbours are settled for substitute, where one for add_remove counts as for "
            "two people: a charge for substitute does not bound the loss where a person is added or removed"
        )
    return str(relation)


def for_groups_of_two(account: Account) -> Account:
    """The account with what it spent counted as for two people: who is replaced is removed, and another added.

    Raises `LedgerError` if the currency has no number for that, as ρ and μ with a δ have none.
    """
    return replace(account, common=_grouped(account.common), before=_grouped(account.before))


def grouped_history(history: History, own: str) -> Mapping[str, Loss]:
    """The totals for two people, in each currency that has a number for it; `own` must be one."""
    known = {name: _grouped_or_none(loss) for name, loss in history.items()}
    if known[own] is None:
        raise _inexpressible(own)
    return {name: loss for name, loss in known.items() if loss is not None}


def _grouped(loss: Loss) -> Loss:
    total = _grouped_or_none(loss)
    if total is None:
        raise _inexpressible(currency(loss))
    return total


def _grouped_or_none(loss: Loss) -> Loss | None:
    try:
        return tidy(in_currency(loss.under("substitute"), currency(loss)))
    except (ParameterError, ArithmeticError):
        return None


def _inexpressible(name: str) -> LedgerError:
    return LedgerError(
        f"what was spent has no value for two people in the ledger's currency, {name}: make a new ledger, with a "
        "budget that leaves room for what was spent from this one"
    )
