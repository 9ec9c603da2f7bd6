"""What the owner of the data decides at the desk, and what auditors read there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from discreet.errors import LedgerError
from discreet.ledger import LedgerAudit, OwnedLedger, Period, account_json, entry_json, head_json
from discreet.privacy import Loss
from discreet.server.desk._audit_log import AuditEntry, AuditLog
from discreet.server.desk._requests import BudgetRequest, Requests
from discreet.server.desk._single_flight import SingleFlight

__all__ = ["AuditorDesk", "OwnerDesk"]


@dataclass(frozen=True, slots=True)
class AuditorDesk:
    """A whole ledger without its answers, and the desk's own log. It spends and changes nothing."""

    ledger: LedgerAudit
    log: AuditLog

    def check(self, anchors: Mapping[str, str], log_anchors: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Walk both chains, and say whether they are good, and else which is `broken`.

        `anchors` are hashes that were noted elsewhere, by name: of entries of the ledger, and of lines of the log.
        """
        walks = {"entries": lambda: self.ledger.verify(anchors), "log": lambda: self.log.verify(log_anchors)}
        counts: dict[str, int] = {}
        broken: dict[str, str] = {}
        for name, walk in walks.items():
            try:
                counts[name] = walk()
            except LedgerError as error:
                broken["ledger" if name == "entries" else name] = str(error)
        if broken:
            return {"good": False, "broken": list(broken), "meaning": "; ".join(broken.values())}
        return {"good": True, **counts, "head": self.head()}

    def head(self) -> dict[str, Any]:
        """Where the ledger and the log end: note both hashes where who keeps the files cannot reach."""
        log = self.log.head()
        return {**head_json(self.ledger.head), "log": None if log is None else {"seq": log.seq, "hash": log.hash}}

    def entries(self, count: int) -> list[dict[str, Any]]:
        """The newest entries of the ledger, newest first."""
        return [entry_json(entry) for entry in self.ledger.latest(count)]

    def accounts(self) -> list[dict[str, Any]]:
        """The whole budget and every account under it, as they are now."""
        now = datetime.now(UTC)
        return [account_json(each, now) for each in (self.ledger.total, *self.ledger.accounts.values())]

    def log_entries(self, after: int, count: int) -> list[AuditEntry]:
        """Lines of the desk's log."""
        return self.log.entries(after, count)


@dataclass(frozen=True, slots=True)
class OwnerDesk:
    """The accounts under one budget. Each decision is in the ledger, and that it came by the desk in the desk's log.

    The log has it first: what has no line is not done, and no token is lost for want of one. Where the ledger then
    refuses, a line says so.
    """

    ledger: OwnedLedger
    log: AuditLog
    requests: Requests
    flights: SingleFlight

    def names(self) -> frozenset[str]:
        """The names of the accounts that there are."""
        return frozenset(self.ledger.accounts)

    def grant(  # noqa: PLR0913
        self,
        name: str,
        cap: Loss | None = None,
        *,
        role: Literal["analyst", "auditor"] = "analyst",
        every: Period | None = None,
        until: datetime | None = None,
        part: str | None = None,
    ) -> str | None:
        """Make an account; its token, which is kept nowhere. See `OwnedLedger.grant`."""
        self.log.append("grant", name, role=role)
        return self.ledger.grant(name, cap, role=role, every=every, until=until, part=part)

    def amend(
        self,
        name: str,
        *,
        cap: Loss | None = None,
        every: Period | Literal["none"] | None = None,
        until: datetime | Literal["never"] | None = None,
    ) -> None:
        """Change what is named of an account, and leave the rest."""
        self.log.append("grant", name)
        self.ledger.amend(name, cap=cap, every=every, until=until)

    def rotate(self, name: str) -> str:
        """A new token for an account, in place of its old one."""
        self.log.append("rotate", name)
        return self.ledger.rotate(name)

    def revoke(self, name: str) -> None:
        """Freeze an account and let no token open it."""
        self.log.append("revoke", name)
        self.ledger.revoke(name)

    def freeze(self, name: str) -> None:
        """Stop an account, or for ``""`` the whole."""
        self.log.append("freeze", name)
        self.ledger.freeze(name)

    def thaw(self, name: str) -> None:
        """Let an account, or for ``""`` the whole, spend again."""
        self.log.append("thaw", name)
        self.ledger.thaw(name)

    def renew(self, name: str, cap: Loss | None = None) -> None:
        """Begin a new window of an account, or for ``""`` of the whole; what was spent before adds up with it."""
        self.log.append("renew", name)
        self.ledger.renew(name, cap)

    def transfer(self, giver: str, taker: str, loss: Loss) -> None:
        """Move a part of one account's cap to another."""
        self.log.append("transfer", giver, to=taker)
        self.ledger.transfer(giver, taker, loss)

    def budgets(self) -> list[dict[str, Any]]:
        """The whole budget and every account under it, as they are now."""
        return AuditorDesk(self.ledger, self.log).accounts()

    def approve(self, number: int) -> BudgetRequest:
        """Grant a request: the cap of the account grows by what it asks for, once.

        Where a process died while it did that, the ledger says whether it was done.
        """
        with self.flights.only(f"request {number}"):
            request, begun = self.requests.begin(number, self.ledger.head.seq)
            if begun is None or not self._was_granted(request, begun):
                try:
                    self.log.append("grant", request.account, request=number)
                    self.ledger.extend(request.account, request.loss)
                except Exception:
                    self.requests.end(number, "open")
                    raise
            self.requests.end(number, "granted")
        return request

    def _was_granted(self, request: BudgetRequest, begun: int) -> bool:
        """Whether the account was granted anything since the ledger had so many entries."""
        since = self.ledger.latest(self.ledger.head.seq - begun)
        return any(entry.kind == "grant" and entry.account == request.account for entry in since)

    def decline(self, number: int) -> BudgetRequest:
        """Decline a request."""
        decided = self.requests.decline(number)
        self.log.append("decline", decided.account, request=number)
        return decided
