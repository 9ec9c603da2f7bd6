"""A session with a server, which waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from discreet.client._address import Address, authorization
from discreet.client._answers import Budget, Charge, RemotePlan
from discreet.client._calls import Calls, Number
from discreet.client._http import PART, check_size, client_options, lasted, load_httpx2, lost, reply_of, request_options
from discreet.client._signer import Signer
from discreet.client._steps import Call, HttpReply, HttpRequest, Lost, Wait
from discreet.errors import ParameterError
from discreet.ledger import fingerprint
from discreet.privacy import Loss
from discreet.query import Release, Suggestion

if TYPE_CHECKING:
    import ssl

__all__ = ["RemoteSession"]

_T = TypeVar("_T")


class RemoteSession:
    """Questions to a server for teams, as those to a `discreet.Session`. Safe to share between threads.

    Each release is checked when it comes: its signature, that the ledger's key made it, its values and its loss; its
    certificate names the query that was answered. What costs is sent with a key of its own, so that it is paid once
    though it is sent again after a lost connection. Errors are those of a local session; `DataError` also says that the
    server cannot be reached.

    Parameters
    ----------
    url
        The address, as ``https://desk.example``. Plain ``http://`` is taken for this machine alone.
    account, token
        The account and its token; or without an account the token of an identity provider.
    source
        The name of the source, where the server has several.
    key
        The public key that signs for the ledger, or its fingerprint: ask the owner. Without one the first key that is
        seen is trusted, and every other is refused from then on.
    timeout
        Seconds to wait for an answer, before it is asked for again; where the server says that it answers later, in
        all.
    tls
        What certificates are checked by, instead of those that are trusted everywhere.

    Raises `ParameterError` for an address, account or key that is none, and `MissingExtra` without httpx2.
    """

    def __init__(  # noqa: PLR0913
        self,
        url: str,
        *,
        account: str | None = None,
        token: str | None = None,
        source: str | None = None,
        key: str | None = None,
        timeout: float = 600.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        signs_in = authorization(account, token)
        self._address, self._account = Address(url), account
        self._signer = Signer(key)
        self._timeout = timeout
        self._calls = Calls(source, self._signer, timeout)
        self._client = load_httpx2().Client(**client_options(self._address, signs_in, timeout, tls))

    def __repr__(self) -> str:
        who = "" if self._account is None else f" as {self._account}"
        closed = "; closed" if self._client.is_closed else ""
        return f"<RemoteSession at {self._address.url}{who}{closed}>"

    @property
    def public_key(self) -> str:
        """The key that signs for the ledger: the one that was given or was seen first, else asked for now."""
        return self._signer.public_key or self._run(self._calls.public_key())

    @property
    def fingerprint(self) -> str:
        """The same key in a form that two people can read to one another."""
        return fingerprint(self.public_key)

    @property
    def budget(self) -> Budget:
        """What the account may spend in its window, has spent, and has left."""
        return self._run(self._calls.budget())

    @property
    def spent(self) -> Loss:
        """What the account has spent."""
        return self.budget.spent

    @property
    def remaining(self) -> Loss:
        """What the account has left."""
        return self.budget.remaining

    def plan(  # noqa: PLR0913
        self,
        query: str,
        spend: Loss | None = None,
        assume: Mapping[str, int] | None = None,
        *,
        error: Mapping[str, Number] | None = None,
        level: float = 0.95,
        bias: bool = False,
        dialect: str = "duckdb",
    ) -> RemotePlan:
        """What a question would cost and answer, and which answers to it exist. Costs nothing.

        Instead of a `spend`, `error` says how wide the intervals of columns may be at `level`: the plan's `loss` is the
        least spend for that. Raises `QueryError` for what is not supported.
        """
        return self._run(self._calls.plan(query, spend, error, level, assume, bias=bias, dialect=dialect))

    def sql(  # noqa: PLR0913
        self,
        query: str,
        spend: Loss | None = None,
        *,
        max_price: Loss | None = None,
        bias: bool = False,
        dialect: str = "duckdb",
        idempotency_key: str | None = None,
    ) -> Release:
        """Answer a query, charging at most `max_price`, or else `spend`, to the account.

        What was answered before is free, and without a spend only that is asked for. Raises as `Session.sql`, and
        `LedgerError` for an answer that the ledger's key did not sign.
        """
        call = self._calls.sql(
            query, spend, max_price=max_price, bias=bias, dialect=dialect, idempotency_key=idempotency_key
        )
        return self._run(call)

    def rehearse(
        self, query: str, spend: Loss | None = None, *, bias: bool = False, dialect: str = "duckdb"
    ) -> Release:
        """The answer to a query on rows that the server makes up from the policy: free, not signed, about nobody."""
        return self._run(self._calls.rehearse(query, spend, bias=bias, dialect=dialect))

    def suggest(
        self, table: str, column: str, spend: Loss, *, keys: bool = False, idempotency_key: str | None = None
    ) -> Suggestion:
        """Buy what a policy lacks about a column, as `Session.suggest` does."""
        return self._run(self._calls.suggest(table, column, spend, keys=keys, idempotency_key=idempotency_key))

    def history(self, count: int = 100) -> tuple[Charge, ...]:
        """The newest charges of the account with their questions, newest first."""
        return self._run(self._calls.history(count))

    def shelf(self, count: int = 100) -> tuple[Charge, ...]:
        """The newest questions whose answers are free for all, where the owner shares them."""
        return self._run(self._calls.shelf(count))

    def close(self) -> None:
        """Close the connections. What is being answered is answered and charged all the same."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, call: Call[_T]) -> _T:
        came: HttpReply | Lost | None = None
        while True:
            try:
                step = call.send(came)
            except StopIteration as end:
                return end.value
            came = self._act(step)

    def _act(self, step: HttpRequest | Wait) -> HttpReply | Lost | None:
        if isinstance(step, Wait):
            time.sleep(step.seconds)
            return None
        if self._client.is_closed:
            raise ParameterError("this session is closed; connect again")
        options: Any = request_options(step)
        parts: list[bytes] = []
        size, began = 0, time.monotonic()
        try:
            with self._client.stream(**options) as response:
                for part in response.iter_raw(PART):
                    size += len(part)
                    check_size(size, step)
                    parts.append(part)
                    if (late := lasted(began, self._timeout)) is not None:
                        return late
        except load_httpx2().TransportError as error:
            return lost(error)
        return reply_of(response, b"".join(parts))
