"""What the owner of a ledger may do: spend, grant and freeze accounts, and read everything."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

import sqlalchemy as sa

from discreet.errors import EventRefused, LedgerError, ParameterError, SignInRefused
from discreet.ledger._accounts import AccountLedger, checked_name
from discreet.ledger._auditor import LedgerAudit
from discreet.ledger._protocol import Entry, Stored
from discreet.ledger.crypto._scram import scram_verifier
from discreet.ledger.log import _rows
from discreet.ledger.log._chain import account_in, entry, subject_time
from discreet.ledger.log._commitments import Row
from discreet.ledger.log._store import LedgerStore, LedgerTransaction
from discreet.ledger.state._account import OWNER_ACCOUNT, PERIODS, Account, Period
from discreet.ledger.state._arithmetic import charge, from_numbers, limit, more, numbers
from discreet.ledger.state._conversion import check_target, converted_cap
from discreet.ledger.state._events import Kind
from discreet.privacy import Loss, Relation, currency
from discreet.rational import Number, rational

__all__ = ["OwnedLedger", "checked_period", "checked_until"]

_NOBODY = " "
"""No account has this name."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}")


class OwnedLedger(LedgerAudit, AccountLedger):
    """A whole ledger in the hands of its owner: whoever may open its file, or its tables on a server.

    It spends from the whole budget itself. Others get accounts, by `grant`, and use them through `open_account`.
    """

    def __init__(self, store: LedgerStore) -> None:
        AccountLedger.__init__(self, store)

    @cached_property
    def _stand_ins(self) -> bytes:
        """A secret that is drawn when it is needed: to open a ledger draws nothing."""
        from discreet import noise

        return noise.secret(32)

    def open_account(self, name: str, token: str | None = None) -> AccountLedger:
        """The ledger as an analyst sees it: their account alone. Closing it closes this one too.

        Raises `LedgerError` if there is no such account, or the token is not its own.

        >>> from discreet.ledger import open_ledger
        >>> from discreet.privacy import pure
        >>> with open_ledger(None, pure(3)) as ledger:
        ...     token = ledger.grant("ada", pure(1))
        ...     ada = ledger.open_account("ada", token)
        ...     reserved = ada.reserve("plan-1", pure(0.25))
        ...     ada.remaining, ledger.remaining
        (pure(0.75), pure(2.75))
        """
        account = self._known(name, token)
        if account.role != "analyst":
            raise EventRefused(f"the account {name!r} is an auditor's, who may read and not spend: see open_audit")
        return AccountLedger(self._store, name, account.token_sha256)

    def open_audit(self, name: str, token: str | None = None) -> LedgerAudit:
        """The ledger as an auditor sees it. Raises `LedgerError` if there is no such auditor, or by a wrong token."""
        if self._known(name, token).role != "auditor":
            raise EventRefused(f"the account {name!r} is not an auditor's")
        return LedgerAudit(self._store)

    def open_as(self, name: str, token: str | None = None) -> AccountLedger | LedgerAudit:
        """The ledger as the account of this token sees it: an analyst's own account, or an auditor's whole.

        Raises `SignInRefused` if there is no such account, or the token is not its own.
        """
        account = self._known(name, token)
        if account.role == "auditor":
            return LedgerAudit(self._store)
        return AccountLedger(self._store, name, account.token_sha256)

    def audit(self) -> LedgerAudit:
        """The ledger as an auditor sees it, for a server of the owner's that has checked by itself who asks."""
        return LedgerAudit(self._store)

    def account_named(self, name: str) -> Account | None:
        """An account as it is now; None if there is none of this name, which takes as long: it is for signing in.

        As many rows are read for either. Where there is no such account, one that there is is read in its place: for
        each name another, by a secret, so that what their entries take to read tells nothing either.
        """
        wanted = name if _is_name(name) else ""
        secret, store = self._stand_ins, self._store
        with store.reading() as page:
            held = _rows.newest_of_account(page.connection, wanted or _NOBODY, self._where)
            digest = hmac.digest(secret, str(name).encode("utf-8", "surrogatepass"), "sha256")
            other = _rows.account_after(page.connection, base64.urlsafe_b64encode(digest).decode())
            name_instead = other if other is not None and held is None else _NOBODY
            instead = _rows.newest_of_account(page.connection, name_instead, self._where)
            row = held or instead
            account = None if row is None else account_in(store.facts, row, self._where)
            if row is not None and account is not None:
                account = account.at(max(page.clock, subject_time(row, self._where)))
        return None if held is None else account

    def account_now(self, name: str) -> Account | None:
        """An account as it is now, sooner than `account_named`: for whoever has shown already that there is one."""
        return self._store.state(name).account if _is_name(name) else None

    def admit(self, name: str) -> AccountLedger:
        """The ledger as an analyst sees it, for a server of the owner's that has checked by itself who asks.

        Raises `SignInRefused` if there is no such account of an analyst.
        """
        account = self.account_named(name)
        if account is None or account.role != "analyst":
            raise SignInRefused(f"{self._where} has no account {name!r} of an analyst; its owner can grant one")
        return AccountLedger(self._store, name, account.token_sha256)

    def find_of_any(self, plan_hash: str) -> Stored | None:
        """The newest release of a plan that any account paid for, or None."""
        checked_name("a plan hash", plan_hash)
        with self._store.database.transaction(write=False) as connection:
            row = _rows.newest_of_plan(connection, plan_hash, self._where)
            stored = (
                None
                if row is None
                else Stored(row.hash, self._store.release(connection, row), subject_time(row, self._where))
            )
        if stored is not None:
            self._store.database.sync()
        return stored

    def stored_after(self, seq: int, count: int) -> list[tuple[Entry, bytes]]:
        """The entries of releases with a number above `seq`, the first `count` of them, each with what was stored.

        For an index of answers: of one that is damaged, nothing. Costs nothing, and opens what is encrypted.
        """

        def stored(connection: sa.Connection, row: Row) -> bytes:
            try:
                return self._store.release(connection, row)
            except LedgerError:
                return b""

        with self._store.database.transaction(write=False) as connection:
            rows = _rows.releases_after(connection, seq, count, self._where)
            return [(entry(self._store.facts, row, self._where), stored(connection, row)) for row in rows]

    def grant(  # noqa: PLR0913
        self,
        name: str,
        cap: Loss | None = None,
        *,
        role: Literal["analyst", "auditor"] = "analyst",
        every: Period | None = None,
        until: datetime | None = None,
        part: str | None = None,
        token: bool = True,
    ) -> str | None:
        """Make an account, or change the cap and terms of one; what it has spent stays spent.

        Parameters
        ----------
        name
            Letters, digits and ``_ . @ + -``, at most 64.
        cap
            What the account may spend of the whole. An auditor has none.
        every
            A window of the calendar, after which the account starts again: see `Account`.
        until
            When the account ends.
        part
            The part of the people that it may ask about; it stays as it was granted.
        token
            Whether a secret opens the account. Without one, whoever may open the ledger may use the account.

        Returns the secret, which is kept nowhere: only its hash is. Whoever has the account open with an older one
        must open it again to spend or to read. Raises `ParameterError` for terms that make no
        sense, `LedgerError` for a part that the ledger lacks and for another role or part than the account has.
        """
        from discreet import noise

        if not _is_name(name):
            raise ParameterError(f"an account's name is 1 to 64 letters, digits and _ . @ + -, not {name!r}")
        if role not in ("analyst", "auditor") or (role == "auditor") != (cap is None):
            raise ParameterError("an analyst has a cap, for example dp.pure(1), and an auditor has none")
        event: dict[str, Any] = {"role": role}
        if cap is not None:
            event["cap"] = self._own(limit(cap))
        event |= _terms(every, until) | ({} if part is None else {"part": part})
        secret = noise.secret(24).hex() if token else None
        if secret is not None:
            event |= _credentials(secret)
        self._act("grant", name, event)
        return secret

    def amend(
        self,
        name: str,
        *,
        cap: Loss | None = None,
        every: Period | Literal["none"] | None = None,
        until: datetime | Literal["never"] | None = None,
        token: Literal[False] | None = None,
    ) -> None:
        """Change what is named of an account, and leave the rest: its other terms, its token and what it has spent.

        `every` may be ``"none"`` and `until` ``"never"``; ``token=False`` takes the token away, so that whoever may
        open the ledger may use the account. Raises `LedgerError` if there is no such account, and `ParameterError` for
        terms that make no sense, as a cap of an auditor.
        """
        changes: dict[str, Any] = {} if cap is None else {"cap": self._own(limit(cap))}
        if every is not None:
            changes["every"] = None if every == "none" else checked_period(every)
        if until is not None:
            end = None if until == "never" else checked_until(until)
            changes["until"] = None if end is None else end.isoformat()
        if token is False:
            changes |= {"token_sha256": None, "scram": None}
        elif token is not None:  # pyright: ignore[reportUnnecessaryComparison]
            raise ParameterError("token=False takes the token away, and rotate(name) makes a new one")
        self._amend(name, changes)

    def extend(self, name: str, loss: Loss) -> None:
        """Add to the cap of an account, for this window and all later ones. Nobody else's cap becomes less.

        Raises `LedgerError` if there is no such account, `ParameterError` for one of an auditor.
        """
        added = self._own(loss)
        self._check_name(name)
        with self._store.database.transaction(write=True) as connection:
            page = self._store.page(connection, name)
            account = page.state.account
            if account is None or account.role == "auditor":
                raise EventRefused(f"the ledger has no account {name!r} with a budget; its owner can grant one")
            larger = numbers(limit(more(account.cap, from_numbers(currency(account.cap), added))))
            page.write("grant", _granted_again(account) | {"cap": larger})
        self._store.committed(page)

    def rotate(self, name: str) -> str:
        """A new secret for an account, in place of its old one, which opens nothing from then on; the rest stays.

        Raises `LedgerError` if there is no such account.
        """
        from discreet import noise

        secret = noise.secret(24).hex()
        self._amend(name, _credentials(secret))
        return secret

    def revoke(self, name: str) -> None:
        """Freeze an account and let no token open it: neither spends it, nor reads by it, from then on.

        What it spent stays spent. `rotate` and `thaw` give it back. Raises `LedgerError` if there is no such account.
        """
        from discreet import noise

        self._amend(name, {"token_sha256": _hashed(noise.secret(24).hex()), "scram": None}, freeze=True)

    def freeze(self, name: str = OWNER_ACCOUNT) -> None:
        """Stop an account, or the whole: nothing more is spent until `thaw`. What was released can be had again."""
        self._act("freeze", name, {})

    def thaw(self, name: str = OWNER_ACCOUNT) -> None:
        """Let an account, or the whole, spend again."""
        self._act("thaw", name, {})

    def renew(self, name: str = OWNER_ACCOUNT, cap: Loss | None = None) -> None:
        """Begin a new window of an account, or of the whole, now; with another cap if one is given.

        What was spent before is not forgotten: a person may lose the sum of all windows, which `Account.lifetime` data.
        """
        self._act("renew", name, {} if cap is None else {"cap": self._own(limit(cap))})

    def transfer(self, giver: str, taker: str, loss: Loss) -> None:
        """Move a part of one account's cap to another, for this window and all later ones.

        Raises `BudgetExceeded` if the giver has less left, and `ParameterError` if the taker's cap would be none.
        """
        moved = self._own(loss)
        if giver == taker:
            raise ParameterError("an account cannot give to itself")
        for name in (giver, taker):
            self._check_name(name)
        with self._store.database.transaction(write=True) as connection:
            pages = [self._store.page(connection, giver)]
            pages[0].write("transfer", {"to": taker, "loss": moved})
            pages.append(self._store.page(connection, taker))
            pages[1].write("transfer", {"from": giver, "loss": moved})
        self._store.committed(*pages)

    def settle(self, relation: Relation, *, mixed: bool = False) -> None:
        """Say, once, for which neighbours the charges of a ledger are that was made without a relation.

        Only ledgers of older formats are: they added up charges of policies for either. Without `mixed` the owner
        vouches that every policy so far was for this relation. With it they may have been for both, and `relation` must
        be ``"substitute"``: each charge so far then counts as for two people, one who is removed and one who is added,
        in the whole budget and in every account. Source: ``proofs/accounts.md``, 6.

        Raises `LedgerError` if the ledger has a relation, or no number for two people.
        """
        event = {"relation": relation} | ({"mixed": True} if mixed else {})
        with self._store.database.transaction(write=True) as connection:
            accounts = [row.account for row in _rows.newest_of_each(connection, self._where)] if mixed else []
            pages: list[LedgerTransaction] = []
            for name in (OWNER_ACCOUNT, *accounts):
                pages.append(self._store.page(connection, name))
                pages[-1].write("settle", event)
        self._store.committed(*pages)

    def convert(self, delta: Number, to: str = "approx") -> None:
        """Keep the ledger in (ε, δ), or in ρ, from now on, where it was made for a pure ε; this cannot be undone.

        Every charge stays, at no more than it costs in the new currency, and so does the promise of the cap ε, but for
        a probability of `delta`: the cap becomes (ε, δ), or the largest ρ with (ε, δ / 2)-DP beside δ / 2 for queries
        that need one. The caps of the accounts change alike, each with all of δ, which the whole bounds. Queries may
        then spend a δ, as the discovery of private keys does. Source: ``proofs/accounts.md``, 8.

        Raises `LedgerError` if the ledger is not kept in pure ε, or if what was spent is more than the new cap, which
        can be with ρ alone; and `ParameterError` for a `delta` that is not between 0 and 1, and another currency.
        """
        exact = rational(delta, "delta")
        with self._store.database.transaction(write=True) as connection:
            pages: list[LedgerTransaction] = []
            for name in (OWNER_ACCOUNT, *(row.account for row in _rows.newest_of_each(connection, self._where))):
                pages.append(self._store.page(connection, name))
                account = pages[-1].state.account or pages[-1].state.total
                check_target(currency(account.cap), to)
                cap = numbers(converted_cap(account.cap, exact, to))
                pages[-1].write("convert", {"currency": to, "cap": cap, "delta": str(exact)})
        self._store.committed(*pages)

    def _own(self, cap: Loss) -> list[str]:
        """A cap, or a part of one, in the ledger's currency: what another converts to is no limit in that other."""
        unit = self.currency
        if unit == "pure" and currency(cap) != "pure":
            raise ParameterError(
                "the ledger is kept in pure epsilon, and this cap is not: convert the ledger once, by "
                "`discreet ledger convert LEDGER --delta 1e-6`, or give a cap of epsilon alone"
            )
        charged = charge(cap, unit)
        if currency(cap) != unit and not (currency(cap) == "pure" and unit == "approx"):
            raise ParameterError(
                f"the ledger is kept in {unit}, and the cap is in {currency(cap)}: give a cap in its own"
            )
        return numbers(charged)

    def _check_name(self, name: str) -> None:
        if name != OWNER_ACCOUNT and not _is_name(name):  # no database is asked about what it may not even take
            raise EventRefused(f"the ledger has no account {name!r}; its owner can grant one")

    def _act(self, kind: Kind, name: str, event: Mapping[str, Any]) -> None:
        self._check_name(name)
        with self._store.database.transaction(write=True) as connection:
            page = self._store.page(connection, name)
            page.write(kind, event)
        self._store.committed(page)

    def _amend(self, name: str, changes: Mapping[str, Any], *, freeze: bool = False) -> None:
        """Grant an account again, with what it has and these changes, in one transaction."""
        self._check_name(name)
        with self._store.database.transaction(write=True) as connection:
            page = self._store.page(connection, name)
            account = page.state.account
            if account is None:
                raise EventRefused(f"the ledger has no account {name!r}; its owner can grant one")
            if "cap" in changes and account.role == "auditor":
                raise ParameterError(f"the account {name!r} is an auditor's, who has no cap")
            terms = _granted_again(account) | dict(changes)
            page.write("grant", {key: value for key, value in terms.items() if value is not None})
            if freeze:
                page.write("freeze", {})
        self._store.committed(page)

    def _known(self, name: str, token: str | None) -> Account:
        account = self.account_named(name)
        wanted = None if account is None else account.token_sha256
        given = _hashed(token if isinstance(token, str) else "")
        if account is None or (wanted is not None and not hmac.compare_digest(given, wanted)):
            if token is None:
                raise SignInRefused(
                    f"{self._where} has no account {name!r} that opens without a token: give the one that its owner "
                    "gave you (token=…, on the command line --token-file FILE or DISCREET_TOKEN)"
                )
            raise SignInRefused(f"{self._where} has no account {name!r} that opens with this token; ask its owner")
        return account


def checked_period(every: str | None) -> Period | None:
    """A window's name, or `ParameterError`."""
    if every is None or every in PERIODS:
        return every
    raise ParameterError(f"a window is one of {', '.join(PERIODS)}, not {every!r}")


def checked_until(until: datetime | None) -> datetime | None:
    """A moment in UTC, or `ParameterError`."""
    if until is None:
        return None
    if not isinstance(until, datetime) or until.utcoffset() is None:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("say when and in which time zone a budget ends, as datetime(2027, 1, 1, tzinfo=UTC)")
    try:
        return until.astimezone(UTC)
    except OverflowError:
        raise ParameterError(f"a budget cannot end on {until}, which in UTC is after the year 9999") from None


def _terms(every: str | None, until: datetime | None) -> dict[str, str]:
    period, end = checked_period(every), checked_until(until)
    return ({} if period is None else {"every": period}) | ({} if end is None else {"until": end.isoformat()})


def _granted_again(account: Account) -> dict[str, Any]:
    """What a grant says that leaves an account as it is."""
    terms = {
        "role": account.role,
        "cap": None if account.role == "auditor" else numbers(account.cap),
        "every": account.every,
        "until": None if account.until is None else account.until.isoformat(),
        "part": account.part,
        "token_sha256": account.token_sha256,
        "scram": account.scram,
    }
    return {key: value for key, value in terms.items() if value is not None}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _credentials(secret: str) -> dict[str, Any]:
    """What a ledger stores of a token: its hash, and what a PostgreSQL client proves that it has the token by."""
    from discreet import noise

    return {"token_sha256": _hashed(secret), "scram": scram_verifier(secret, noise.secret(16))}


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
