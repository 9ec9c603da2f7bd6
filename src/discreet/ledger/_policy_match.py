"""Check that a ledger counts the losses of a policy's people."""

from __future__ import annotations

import os

from discreet.errors import LedgerError
from discreet.ledger._open import open_ledger
from discreet.ledger._protocol import Ledger
from discreet.ledger.state._relations import relation_after
from discreet.policy import Policy

__all__ = ["check_policy_match", "open_for"]


def open_for(
    policy: Policy,
    ledger: str | os.PathLike[str] | Ledger | None,
    account: str | None = None,
    token: str | None = None,
    key: bytes | None = None,
) -> Ledger:
    """The ledger that a policy spends from, in the hands of an account or, for None, of the owner.

    A ledger that does not exist is made with the policy's budget, by its owner. Raises as `open_ledger` does, and
    `LedgerError` for an account that there is not, for a wrong token, and for an account where the ledger is already
    open as another.
    """
    budget = policy.budget if account is None else None
    if ledger is None or isinstance(ledger, str | os.PathLike):
        owned = open_ledger(
            ledger,
            None if budget is None else budget.loss(),
            key=key,
            every=None if budget is None else budget.every,
            until=None if budget is None else budget.until,
            people=policy.people,
            relation=policy.relation,
            parts=() if policy.part is None else (policy.part,),
            counts=policy.counts,
        )
        if account is None:
            return owned
        try:
            return owned.open_account(account, token)
        except BaseException:
            owned.close()
            raise
    if account is not None or key is not None:
        raise LedgerError("this ledger is open already: give what its open_account returns, and no account and no key")
    return ledger


def check_policy_match(ledger: Ledger, policy: Policy) -> None:
    """Raise `LedgerError` if the ledger is about other people or neighbours than the policy, or lacks its part."""
    facts = ledger.facts
    relation_after(facts.relation, policy.relation, charged=False)  # the charge itself is checked by the ledger
    if None not in (facts.people, policy.people) and facts.people != policy.people:
        raise LedgerError(
            f"the ledger counts the losses of {facts.people!r}, and the policy is about {policy.people!r}; use the "
            "ledger of those people"
        )
    if facts.counts != policy.counts:
        graph = f"the policy has a graph that protects {policy.counts}"
        subject = "a policy is about people" if policy.counts == "people" else graph
        raise LedgerError(f"the ledger counts the losses of {facts.counts}, and {subject}; use another")
    if policy.part is not None and policy.part not in facts.parts:
        raise LedgerError(
            f"the ledger has no part {policy.part!r} of its people, and parts are fixed when it is made; leave it "
            "out of the policy, and its charges count for all"
        )
