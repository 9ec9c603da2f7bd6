"""The hash chain: what makes a sequence of rows a ledger, and how each row is read. `_commitments` has the hash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast, get_args, get_type_hints

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger._protocol import Entry
from discreet.ledger.log._charges import Charges
from discreet.ledger.log._commitments import ROOT, Row, canonical, hash_of, is_hashed, parsed, salt_after, sha256
from discreet.ledger.state._account import OWNER_ACCOUNT, Account, account_from_json, account_to_json
from discreet.ledger.state._arithmetic import from_numbers
from discreet.ledger.state._events import (
    Event,
    Facts,
    Kind,
    LedgerState,
    apply,
    facts_from_json,
    initial_state,
    state_from_json,
    state_to_json,
    totals_to_json,
)

__all__ = [
    "StoredElsewhere",
    "Untrusted",
    "Walker",
    "account_in",
    "check",
    "entry",
    "facts_in",
    "parsed",
    "row_after",
    "state_in",
    "subject_time",
    "walk",
]

_BAD = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, DiscreetError)
"""What reading a row raises that discreet did not write."""


class Untrusted(LedgerError):
    """An entry is not what discreet wrote. The message has its number, which is not for an account's eyes."""


_TYPES = tuple(get_type_hints(Row).values())


def row_after(  # noqa: PLR0913
    facts: Facts,
    last: Row | None,
    event: Event,
    state: LedgerState,
    *,
    salt_key: bytes,
    idempotency_key: str | None = None,
    reservation: str | None = None,
    plan_hash: str | None = None,
    payload: bytes | None = None,
) -> Row:
    """The row that continues the chain after `last`, with a salt of its own; None starts a chain.

    The salt is a pseudorandom function of the ledger's secret `salt_key` and the place in the chain.
    """
    previous = ROOT if last is None else last.hash
    body: dict[str, Any] = {"event": event.data}
    if state.account is not None:
        at = event.subject_at.isoformat(timespec="microseconds")
        body |= {"account": account_to_json(state.account, facts.currency), "at": at}
    row = Row(
        seq=0 if last is None else last.seq + 1,
        kind=event.kind,
        account=event.account,
        idempotency_key=idempotency_key,
        reservation=reservation,
        plan_hash=plan_hash,
        body=canonical(body),
        totals=canonical(totals_to_json(facts, state)),
        payload_sha256=None if payload is None else sha256(payload),
        at=event.at.isoformat(timespec="microseconds"),
        salt=salt_after(previous, salt_key),
        previous=previous,
        hash="",
    )
    return row._replace(hash=hash_of(row))


def check(values: Sequence[object], where: str) -> Row:
    """The row that the database returned; raises `LedgerError` if it does not match its own hash."""
    if not _has_row_types(values):
        raise _broken(where, values[0], "it has a column of a type that discreet does not write")
    row = Row(*cast("tuple[int, str, str, str, str, str, str, str, str, str, str, str, str]", tuple(values)))
    if not is_hashed(row):
        raise _broken(where, row.seq, "it does not match its own hash")
    return row


def facts_in(row: Row, where: str) -> Facts:
    """What the first row fixes."""
    try:
        return facts_from_json(parsed(row.body)["event"])
    except _BAD:
        raise _strange(where, row.seq) from None


def state_in(facts: Facts, row: Row, where: str) -> LedgerState:
    """The states after a checked row."""
    try:
        return state_from_json(facts, row.account, _states(row))
    except _BAD:
        raise _strange(where, row.seq) from None


def account_in(facts: Facts, row: Row, where: str) -> Account:
    """The state of the account that a checked row is about, which is not the whole."""
    try:
        return account_from_json(row.account, facts.currency, parsed(row.body)["account"])
    except _BAD:
        raise _strange(where, row.seq) from None


def subject_time(row: Row, where: str) -> datetime:
    """The time of a checked row as whom it is about has it."""
    if row.account == OWNER_ACCOUNT or row.salt is None:
        return datetime.fromisoformat(row.at)
    try:
        return datetime.fromisoformat(parsed(row.body)["at"])
    except _BAD:
        raise _strange(where, row.seq) from None


def entry(facts: Facts, row: Row, where: str, *, own: bool = False) -> Entry:
    """A checked row as people see it; `own` as its account may, which is told nothing of others."""
    hidden = own and row.salt is None  # without a salt, the hash tells of others
    state = state_in(facts, row, where)
    try:
        event: Mapping[str, Any] = parsed(row.body)["event"]
        match row.kind:
            case "create":
                loss = state.total.cap
            case "reserve" | "run":
                loss = from_numbers(state.currency, event["history"][state.currency])
            case _:
                amounts = event.get("cap", event.get("loss"))
                loss = None if amounts is None else from_numbers(state.currency, amounts)
        return Entry(
            seq=None if own else row.seq,
            kind=_kind(row.kind),
            account=row.account,
            idempotency_key=row.idempotency_key,
            reservation=None if hidden else _reservation(row),
            plan_hash=None if row.kind in ("begin", "step") else row.plan_hash,
            part=event.get("part"),
            loss=loss,
            spent=(state.account or state.total).spent if own else state.total.spent,
            at=subject_time(row, where) if own else datetime.fromisoformat(row.at),
            payload_sha256=row.payload_sha256,
            previous=None if own else row.previous,
            hash=None if hidden else row.hash,
            steps=_steps(row.kind, event),
        )
    except _BAD:
        raise _strange(where, row.seq) from None


def _reservation(row: Row) -> str | None:
    """The hash of the entry that was charged for what a row is about."""
    if row.kind in ("reserve", "run"):
        return row.hash
    return row.plan_hash if row.kind in ("begin", "step") else row.reservation


def _steps(kind: str, event: Mapping[str, Any]) -> tuple[int, int] | None:
    match kind:
        case "run":
            return 1, int(event["steps"])
        case "begin":
            return int(event["first"]), int(event["last"])
        case "step":
            return int(event["step"]), int(event["step"])
        case _:
            return None


def walk(rows: Iterable[tuple[Sequence[object], object]], where: str) -> Iterator[Row]:
    """Yield each row of a whole ledger with its payload checked, and raise `LedgerError` at the first bad one.

    Checked are the chain, the payloads, the events (each is applied to the state before it, and must lead
    to the states that its row holds), and that each release belongs to one reservation of the same plan.
    """
    walker = Walker(where)
    for values, payload in rows:
        yield walker.step(values, payload)


@dataclass(frozen=True, slots=True)
class StoredElsewhere:
    """A payload that does not lie in its row: its SHA-256 as it is now, None if it is missing.

    `damage` says what is wrong with it, and where, if that is not the digest in its row.
    """

    sha256: str | None
    damage: str


class Walker:
    """The states of all accounts up to a row, and the charges whose releases and steps may still come."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._last: Row | None = None
        self._facts = Facts("pure")
        self._state: LedgerState | None = None
        self._accounts: dict[str, Account] = {}
        self._times: dict[str, datetime] = {}
        self._charges = Charges()

    def step(self, values: Sequence[object], payload: object) -> Row:
        """The next row, checked; raises `LedgerError` if it is not what comes next."""
        row = check(values, self._where)
        after = 0 if self._last is None else self._last.seq + 1
        if row.seq != after:
            raise _broken(self._where, after, "it is missing")
        if row.previous != (ROOT if self._last is None else self._last.hash):
            raise self._bad(row, "it does not continue the entry before it")
        if row.salt is None and self._last is not None and self._last.salt is not None:
            raise self._bad(row, "it has no salt, and the entry before it has one")
        if _digest(payload) != row.payload_sha256:
            where = f", and is {payload.damage}" if isinstance(payload, StoredElsewhere) else ""
            raise self._bad(row, f"its payload is not the one that was stored{where}")
        if self._last is None or self._state is None:
            self._state = self._begins(row)
        else:
            self._state = self._continues(row, self._state, self._last)
        self._last = row
        return row

    def _begins(self, row: Row) -> LedgerState:
        self._facts = facts_in(row, self._where)
        state = state_in(self._facts, row, self._where)
        terms = {"every": state.total.every, "until": state.total.until}
        expected = state_to_json(self._facts, initial_state(self._facts, state.total.cap, _moment(row), **terms))
        if row.kind != "create" or row.account != OWNER_ACCOUNT or expected != state_to_json(self._facts, state):
            raise self._bad(row, f"a {row.kind!r} entry does not belong there")
        return state

    def _continues(self, row: Row, state: LedgerState, last: Row) -> LedgerState:
        body, totals = _read(row, self._where)
        data: Mapping[str, Any] = body["event"]
        before = LedgerState(state.total, self._accounts.get(row.account), state.history)
        try:
            own_at = subject_time(row, self._where)
            event = Event(_kind(row.kind), row.account, data, _moment(row), own_at.astimezone(UTC))
            if event.at < _moment(last) or own_at < self._times.get(row.account, own_at):
                raise LedgerError("it is older than the entry before it")
            if own_at > event.at:
                raise LedgerError("its time was in the future")
            self._charges.check(row, data, last, state.currency)
            after = apply(self._facts, before, event)
        except DiscreetError as error:
            raise self._bad(row, str(error)) from None
        except _BAD:
            raise _strange(self._where, row.seq) from None
        if _body_after(self._facts, row, data, after) != (body, totals):
            raise self._bad(row, "its total is wrong")
        if after.account is not None:
            self._accounts[row.account] = after.account
            self._times[row.account] = own_at
        return after

    def _bad(self, row: Row, what: str) -> Untrusted:
        return _broken(self._where, row.seq, what)


def _digest(payload: object) -> str | None:
    match payload:
        case None:
            return None
        case bytes():
            return sha256(payload)
        case StoredElsewhere(sha256=digest):
            return digest
        case _:
            return ""


def _read(row: Row, where: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        body, totals = parsed(row.body), {} if row.totals is None else parsed(row.totals)
        if not isinstance(body["event"], dict) or not isinstance(totals, dict):
            raise TypeError
    except _BAD:
        raise _strange(where, row.seq) from None
    return body, totals


def _body_after(
    facts: Facts, row: Row, data: Mapping[str, Any], after: LedgerState
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a row with this event and these states holds."""
    if row.salt is None:
        return {"event": data, **state_to_json(facts, after)}, {}
    totals, own = totals_to_json(facts, after), dict[str, Any]({"event": data})
    if after.account is not None:
        own |= {"account": account_to_json(after.account, facts.currency), "at": parsed(row.body)["at"]}
    return own, totals


def _states(row: Row) -> dict[str, Any]:
    """The states after a row, as `state_from_json` takes them."""
    body = parsed(row.body)
    if row.salt is None:
        return dict(body)
    own = {"account": body["account"]} if "account" in body else {}
    return {**parsed(row.totals or ""), **own}


def _moment(row: Row) -> datetime:
    at = datetime.fromisoformat(row.at)
    return at if at.tzinfo == UTC else at.astimezone(UTC)


def _kind(text: str) -> Kind:
    if text not in get_args(Kind):
        raise ValueError(text)
    return cast("Kind", text)


def _has_row_types(values: Sequence[object]) -> bool:
    return len(values) == len(_TYPES) and all(map(isinstance, values, _TYPES))


def _broken(where: str, seq: object, what: str) -> Untrusted:
    return Untrusted(
        f"{where} cannot be trusted: entry {seq} is bad: {what}. Stop releasing from these data, keep the ledger as it "
        "is, and compare it with a copy or with heads noted elsewhere before you go on"
    )


def _strange(where: str, seq: object) -> Untrusted:
    return _broken(where, seq, "it holds something that discreet does not write")
