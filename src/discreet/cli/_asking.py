"""Where `discreet query` asks: a source and a ledger at hand, or a server that has both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.privacy import Loss
    from discreet.query import Plan, Release

__all__ = ["Place", "Question", "Remote"]


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its spend."""

    text: str
    dialect: str
    spend: Loss
    bias: bool
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """Data, policy and ledger, and as whom the ledger is opened."""

    data: tuple[str, ...]
    policy: Path
    ledger: str
    account: str | None
    token_file: Path | None
    key_file: Path | None

    def ask(self, question: Question, check: Callable[[Plan], object]) -> tuple[Release, Loss]:
        """The answer, and what is left. `check` sees the plan before a ledger is made or charged."""
        from discreet.cli._options import source_of
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access
        from discreet.combined import plan_statement
        from discreet.connection import connect
        from discreet.policy import load_policy
        from discreet.query import in_dialect

        spare_pandas(self.data)
        facts = load_policy(self.policy)
        text = in_dialect(question.text, question.dialect, facts)
        check(plan_statement(text, facts, question.spend, bias=question.bias))
        opened = access(self.ledger, facts, self.account, self.token_file, self.key_file)
        with connect(source_of(self.data), facts, self.ledger, **opened) as session:
            asked: dict[str, Any] = {"bias": question.bias, "idempotency_key": question.idempotency_key}
            return session.sql(text, question.spend, **asked), session.remaining


@dataclass(frozen=True, slots=True)
class Remote:
    """The address of a server, the key that signs its answers, and as whom it is asked."""

    address: str
    key: str | None
    account: str | None
    token_file: Path | None

    def ask(self, question: Question) -> tuple[Release, Loss]:
        """The answer, and what is left of the account. At most the spend is charged."""
        from discreet.cli.ledger._open import token_from
        from discreet.client import RemoteSession

        token = token_from(self.account, self.token_file)
        with RemoteSession(self.address, account=self.account, token=token, key=self.key) as session:
            release = session.sql(
                question.text,
                question.spend,
                bias=question.bias,
                dialect=question.dialect,
                idempotency_key=question.idempotency_key,
            )
            return release, session.remaining
