"""A session with a server for asyncio: the methods of `RemoteSession`, as coroutines."""

from __future__ import annotations

import asyncio
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

__all__ = ["AsyncRemoteSession"]

_T = TypeVar("_T")


class AsyncRemoteSession:
    """Questions to a server for teams from asyncio. Parameters, methods and errors are those of `RemoteSession`.

    Properties that ask the server are coroutines here: ``await session.remaining()``.
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
        self._client = load_httpx2().AsyncClient(**client_options(self._address, signs_in, timeout, tls))

    def __repr__(self) -> str:
        who = "" if self._account is None else f" as {self._account}"
        closed = "; closed" if self._client.is_closed else ""
        return f"<AsyncRemoteSession at {self._address.url}{who}{closed}>"

    async def public_key(self) -> str:
        """As `RemoteSession.public_key`."""
        return self._signer.public_key or await self._run(self._calls.public_key())

    async def fingerprint(self) -> str:
        """As `RemoteSession.fingerprint`."""
        return fingerprint(await self.public_key())

    async def budget(self) -> Budget:
        """As `RemoteSession.budget`."""
        return await self._run(self._calls.budget())

    async def spent(self) -> Loss:
        """As `RemoteSession.spent`."""
        return (await self.budget()).spent

    async def remaining(self) -> Loss:
        """As `RemoteSession.remaining`."""
        return (await self.budget()).remaining

    async def plan(  # noqa: PLR0913
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
        """As `RemoteSession.plan`."""
        return await self._run(self._calls.plan(query, spend, error, level, assume, bias=bias, dialect=dialect))

    async def sql(  # noqa: PLR0913
        self,
        query: str,
        spend: Loss | None = None,
        *,
        max_price: Loss | None = None,
        bias: bool = False,
        dialect: str = "duckdb",
        idempotency_key: str | None = None,
    ) -> Release:
        """As `RemoteSession.sql`."""
        call = self._calls.sql(
            query, spend, max_price=max_price, bias=bias, dialect=dialect, idempotency_key=idempotency_key
        )
        return await self._run(call)

    async def rehearse(
        self, query: str, spend: Loss | None = None, *, bias: bool = False, dialect: str = "duckdb"
    ) -> Release:
        """As `RemoteSession.rehearse`."""
        return await self._run(self._calls.rehearse(query, spend, bias=bias, dialect=dialect))

    async def suggest(
        self, table: str, column: str, spend: Loss, *, keys: bool = False, idempotency_key: str | None = None
    ) -> Suggestion:
        """As `RemoteSession.suggest`."""
        return await self._run(self._calls.suggest(table, column, spend, keys=keys, idempotency_key=idempotency_key))

    async def history(self, count: int = 100) -> tuple[Charge, ...]:
        """As `RemoteSession.history`."""
        return await self._run(self._calls.history(count))

    async def shelf(self, count: int = 100) -> tuple[Charge, ...]:
        """As `RemoteSession.shelf`."""
        return await self._run(self._calls.shelf(count))

    async def close(self) -> None:
        """As `RemoteSession.close`."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, call: Call[_T]) -> _T:
        came: HttpReply | Lost | None = None
        while True:
            try:
                step = call.send(came)
            except StopIteration as end:
                return end.value
            came = await self._act(step)

    async def _act(self, step: HttpRequest | Wait) -> HttpReply | Lost | None:
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return None
        if self._client.is_closed:
            raise ParameterError("this session is closed; connect again")
        options: Any = request_options(step)
        parts: list[bytes] = []
        size, began = 0, time.monotonic()
        try:
            async with self._client.stream(**options) as response:
                async for part in response.aiter_raw(PART):
                    size += len(part)
                    check_size(size, step)
                    parts.append(part)
                    if (late := lasted(began, self._timeout)) is not None:
                        return late
        except load_httpx2().TransportError as error:
            return lost(error)
        return reply_of(response, b"".join(parts))
