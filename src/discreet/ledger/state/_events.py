"""The events of a ledger, and the state of its budgets after each.

Writers and checkers share one function, `apply`: a row is valid if applying its event to the state before it yields the
state that the row holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, cast, get_args

from discreet.errors import AccountStopped, BudgetExceeded, EventRefused
from discreet.ledger.state._account import OWNER_ACCOUNT, Account, account_from_json, account_to_json
from discreet.ledger.state._arithmetic import (
    CURRENCIES,
    History,
    added,
    from_numbers,
    less,
    limit,
    more,
    nothing,
    numbers,
    of_loss,
    together,
    within,
)
from discreet.ledger.state._conversion import check_kept, check_target, converted, converted_total
from discreet.ledger.state._relations import for_groups_of_two, grouped_history, relation_after, relation_settled
from discreet.privacy import Loss, currency, in_words, parts, to_json
from discreet.rational import from_exact_text

__all__ = [
    "Continued",
    "Counted",
    "Event",
    "Facts",
    "Kind",
    "LedgerState",
    "apply",
    "facts_from_json",
    "facts_to_json",
    "initial_state",
    "state_from_json",
    "state_to_json",
    "totals_to_json",
]

Kind = Literal[
    "create", "reserve", "release", "repeat", "run", "begin", "step", "grant", "freeze", "thaw", "renew", "transfer",
    "settle", "convert",
]  # fmt: skip
"""A ``"run"`` charges a whole run; ``"begin"`` moves the counter of its steps, and ``"step"`` stores one."""

Counted = Literal["people", "edges", "arcs", "events"]
"""Whose privacy a ledger counts: a person's, an edge's of a graph, an arc's of a directed one, or an event's."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an account, or to the whole, at a moment; `data` is the rest in plain JSON.

    `at` is the ledger's time, never before that of the newest entry. `account_at` is the account's own, never before
    that of its own newest entry: where a clock was set back, it does not tell when others were active. None: the same.
    """

    kind: Kind
    account: str
    data: Mapping[str, Any]
    at: datetime
    account_at: datetime | None = None

    @property
    def subject_at(self) -> datetime:
        """The time of whom the event is about."""
        return self.at if self.account == OWNER_ACCOUNT or self.account_at is None else self.account_at


@dataclass(frozen=True, slots=True)
class Continued:
    """An older ledger that one goes on from: its format, its number of entries, the hash of the last, and its total."""

    format: int
    entries: int
    head: str
    spent: Loss


@dataclass(frozen=True, slots=True)
class Facts:
    """What is fixed when a ledger is made: its currency, whose losses it counts, and the key that signs for it.

    Only one thing may change, once: pure ε to another currency (`OwnedLedger.convert`).
    `people` is the public name of those people; `counts` says whether people, edges, arcs or events are protected.
    `parts` are public names of disjoint parts of the people; a charge for one part is none for the others, which is
    right only where neighbours add or remove one person: a person replaced by another may change part.
    """

    currency: str
    people: str | None = None
    relation: str | None = None
    parts: tuple[str, ...] = ()
    public_key: str | None = None
    key_check: str | None = None
    continued: Continued | None = None
    counts: Counted = "people"


@dataclass(frozen=True, slots=True)
class LedgerState:
    """The owner's budget, the account that an event is about (None if it is the owner's), and the history.

    `history` holds what was charged in every currency since the ledger was made: for all people under ``""``, and under
    the name of each part.
    """

    total: Account
    account: Account | None
    history: Mapping[str, History]

    @property
    def currency(self) -> str:
        """The currency that the ledger is kept in: that of its facts, until it is converted."""
        return currency(self.total.cap)

    @property
    def is_charged(self) -> bool:
        """Whether anything was charged since the ledger was made."""
        return any(any(parts(history[self.currency])) for history in self.history.values())

    @property
    def lifetime(self) -> History:
        """What one person may have lost since the ledger was made, in every currency that can express all of it."""
        return together(self.history[_ALL_PEOPLE], [each for name, each in self.history.items() if name])


def initial_state(facts: Facts, budget: Loss, at: datetime, **terms: Any) -> LedgerState:
    """The first state of a ledger with this budget, as `limit` returns it."""
    none = nothing(facts.currency)
    spent = none if facts.continued is None else facts.continued.spent
    total = Account(OWNER_ACCOUNT, "owner", budget, spent, none, at, **terms)
    return LedgerState(total, None, {_ALL_PEOPLE: _NONE if facts.continued is None else of_loss(spent)})


def facts_to_json(facts: Facts) -> dict[str, Any]:
    """The facts as plain JSON, what the first event says, for `facts_from_json`."""
    data: dict[str, Any] = {name: getattr(facts, name) for name in ("currency", *_TEXTS)}
    data["parts"] = list(facts.parts)
    data["counts"] = None if facts.counts == "people" else facts.counts
    if facts.continued is not None:
        each = facts.continued
        data["continued"] = [each.format, each.entries, each.head, numbers(each.spent)]
    return {name: value for name, value in data.items() if value}


def facts_from_json(data: Mapping[str, Any]) -> Facts:
    """The inverse of `facts_to_json`; raises `ValueError` and its kin on anything else."""
    unit, named = data["currency"], data.get("parts", [])
    texts = {name: data.get(name) for name in _TEXTS}
    if not all(isinstance(text, str) for text in [unit, *named, *(text for text in texts.values() if text)]):
        raise ValueError("facts")
    counts = data.get("counts", "people")
    if counts not in get_args(Counted):
        raise ValueError("counts")
    continued = None
    if "continued" in data:
        number, count, head, spent = data["continued"]
        continued = Continued(number, count, head, from_numbers(unit, spent))
    return Facts(currency=unit, parts=tuple(named), continued=continued, counts=cast("Counted", counts), **texts)


_ALL_PEOPLE = ""
"""The name under which the history has what all people lost, beside the names of parts."""
_NONE = of_loss(nothing("pure"))
_TEXTS = ("people", "relation", "public_key", "key_check")


def apply(facts: Facts, state: LedgerState, event: Event) -> LedgerState:
    """The state after an event.

    `state.account` is that account before, None if there is none yet. Raises `BudgetExceeded` if a charge does not fit,
    and `EventRefused` for what may not happen. Neither says more of other accounts than that the whole is used up.
    """
    at, data, name = event.subject_at, event.data, event.account
    now = LedgerState(state.total.at(event.at), None if state.account is None else state.account.at(at), state.history)
    subject = now.total if name == OWNER_ACCOUNT else now.account
    if event.kind == "grant":
        return replace(now, account=_granted(facts, now, event))
    if subject is None:
        raise EventRefused(f"the ledger has no account {name!r}; its owner can grant one")
    match event.kind:
        case "reserve" | "run":
            return _reserved(facts, now, subject, event)
        case "begin":
            _check_going(now, subject, event)
            return now
        case "release" | "repeat" | "step":
            return now
        case "freeze" | "thaw":
            after = replace(subject, frozen=event.kind == "freeze")
        case "renew":
            cap = from_numbers(now.currency, data["cap"]) if "cap" in data else None
            if cap is not None and subject.role == "auditor":
                raise EventRefused(f"the account {subject.name!r} is an auditor's, who has no budget to renew")
            after = subject.renewed(at, None if cap is None else limit(cap))
        case "transfer":
            after = _moved(subject, data)
        case "settle":
            return _settled(facts, now, data)
        case "convert":
            return _converted(now, data)
        case "create":
            raise EventRefused("a ledger is made once")
    return replace(now, total=after) if name == OWNER_ACCOUNT else replace(now, account=after)


def _reserved(facts: Facts, now: LedgerState, subject: Account, event: Event) -> LedgerState:
    _check_going(now, subject, event)
    if subject.role == "auditor":
        raise EventRefused(f"the account {subject.name!r} is an auditor's, who may read and not spend")
    part = event.data.get("part")
    if part is not None and part not in facts.parts:
        raise EventRefused(f"the ledger has no part {part!r} of its people")
    if subject.part != part and subject.part is not None:
        raise EventRefused(f"the account {subject.name!r} may ask about the part {subject.part!r} of the people alone")
    grown = {each: from_numbers(each, texts) for each, texts in event.data["history"].items() if each in CURRENCIES}
    loss = grown[now.currency]
    if subject.name != OWNER_ACCOUNT:
        subject = _within(subject, subject.charged(loss, part), loss)
    total = now.total
    if "relation" in event.data:
        fixed = facts.relation or total.relation
        relation = relation_after(fixed, event.data["relation"], charged=now.is_charged)
        total = total if facts.relation else replace(total, relation=relation)
    total = _within(now.total, total.charged(loss, part), loss, shared=subject.name != OWNER_ACCOUNT)
    key = part or _ALL_PEOPLE
    history = {**now.history, key: added(now.history.get(key, _NONE), grown)}
    return LedgerState(total, None if subject.name == OWNER_ACCOUNT else subject, history)


def _check_going(now: LedgerState, subject: Account, event: Event) -> None:
    """Raise `AccountStopped` if the whole, or the account, is frozen or has ended."""
    moments = {subject.name: (subject, event.subject_at)}
    for each, at in ({OWNER_ACCOUNT: (now.total, event.at)} | moments).values():
        why = each.stopped(at)
        if why is not None:
            raise AccountStopped(f"{_called(each)} {why}; nothing was spent")


def _within(before: Account, after: Account, loss: Loss, *, shared: bool = False) -> Account:
    if after.holds:
        return after
    if shared:
        raise BudgetExceeded(
            f"this spend asks for {in_words(loss)}, which is more than is left of the budget that all accounts share; "
            f"nothing was spent: spend less, or {_later(before)}"
        )
    ask = _later(before) if within(loss, before.cap) else _ASK
    want, have = in_words(loss), in_words(before.remaining)
    if want == have:  # the short decimals agree, and the numbers do not
        want, have = (_exactly(each) for each in (loss, before.remaining))
    raise BudgetExceeded(
        f"this spend asks for {want}, and {have} is left of the budget of {in_words(before.cap)}; "
        f"nothing was spent: spend less, or {ask}"
    )


_ASK = "ask the owner of the data for a new budget"


def _later(account: Account) -> str:
    next_one, last = account.ends, account.until
    if next_one is None or (last is not None and next_one >= last):
        return _ASK
    return f"wait for {next_one:%Y-%m-%d} (UTC), when the next window begins"


def _settled(facts: Facts, now: LedgerState, data: Mapping[str, Any]) -> LedgerState:
    mixed, relation = bool(data.get("mixed")), data["relation"]
    if now.account is None:
        known = relation_settled(facts.relation or now.total.relation, relation, mixed=mixed)
        total = for_groups_of_two(now.total) if mixed else now.total
        history = {part: grouped_history(each, now.currency) if mixed else each for part, each in now.history.items()}
        return LedgerState(replace(total, relation=known), None, history)
    if facts.relation is not None or not mixed or relation != now.total.relation:
        raise EventRefused(f"the account {now.account.name!r} can be settled only together with the ledger")
    relation_settled(now.account.relation, relation, mixed=mixed)
    return replace(now, account=replace(for_groups_of_two(now.account), relation=str(relation)))


def _granted(facts: Facts, now: LedgerState, event: Event) -> Account:
    data, name, unit = event.data, event.account, now.currency
    role, part, every = data["role"], data.get("part"), data.get("every")
    if name == OWNER_ACCOUNT or role not in ("analyst", "auditor") or (part is not None and part not in facts.parts):
        raise EventRefused(f"the ledger cannot grant {name!r}: it needs a name, a role and a part that the ledger has")
    none = nothing(unit)
    terms: dict[str, Any] = {
        "cap": none if role == "auditor" else limit(from_numbers(unit, data["cap"])),
        "until": datetime.fromisoformat(data["until"]) if "until" in data else None,
        "token_sha256": data.get("token_sha256"),
        "scram": data.get("scram"),
    }
    if now.account is None:
        return Account(name, role, common=none, before=none, since=event.subject_at, part=part, every=every, **terms)
    if (now.account.role, now.account.part) != (role, part):
        raise EventRefused(f"the role and the part of the account {name!r} are fixed; grant another account")
    return replace(now.account.with_windows(every, event.subject_at), **terms)


def _converted(now: LedgerState, data: Mapping[str, Any]) -> LedgerState:
    """The whole is converted first, and each account after it."""
    subject = now.account or now.total
    target = check_target(currency(subject.cap), data["currency"])
    cap = from_numbers(target, data["cap"])
    check_kept(subject.cap, cap, from_exact_text(data["delta"]))
    if now.account is None:
        return LedgerState(converted_total(now.total, limit(cap), now.history, _ALL_PEOPLE), None, now.history)
    if now.currency != target:
        raise EventRefused(f"the account {now.account.name!r} can be converted only together with the ledger")
    return replace(now, account=converted(now.account, cap))


def _moved(subject: Account, data: Mapping[str, Any]) -> Account:
    moved = from_numbers(currency(subject.cap), data["loss"])
    if subject.role != "analyst" or not any(parts(moved)):
        raise EventRefused("a transfer moves more than nothing from one analyst's account to another")
    if "from" in data:
        return replace(subject, cap=limit(more(subject.cap, moved)))
    if not within(moved, subject.remaining):
        raise BudgetExceeded(
            f"the account {subject.name!r} has {in_words(subject.remaining)} left to give, not {in_words(moved)}"
        )
    return replace(subject, cap=less(subject.cap, moved))


def totals_to_json(facts: Facts, state: LedgerState) -> dict[str, Any]:
    """What all accounts share as plain JSON: the whole, and the history."""
    return {
        "whole": account_to_json(state.total, facts.currency),
        "history": {
            part: {name: numbers(loss) for name, loss in history.items()} for part, history in state.history.items()
        },
    }


def state_to_json(facts: Facts, state: LedgerState) -> dict[str, Any]:
    """The state as plain JSON, for `state_from_json`."""
    account = {} if state.account is None else {"account": account_to_json(state.account, facts.currency)}
    return totals_to_json(facts, state) | account


def state_from_json(facts: Facts, name: str, body: Mapping[str, Any]) -> LedgerState:
    """The inverse of `state_to_json` for a row about `name`; raises `ValueError` and its kin on anything else."""
    account = body.get("account")
    if (account is None) != (name == OWNER_ACCOUNT):
        raise ValueError(name)
    return LedgerState(
        account_from_json(OWNER_ACCOUNT, facts.currency, body["whole"]),
        None if account is None else account_from_json(name, facts.currency, account),
        {
            part: {unit: from_numbers(unit, texts) for unit, texts in history.items()}
            for part, history in body["history"].items()
        },
    )


def _called(account: Account) -> str:
    return "the ledger" if account.name == OWNER_ACCOUNT else f"the account {account.name!r}"


def _exactly(loss: Loss) -> str:
    return " ".join(f"{key} {value}" for key, value in to_json(loss).items() if key != "kind")
