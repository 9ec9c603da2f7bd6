"""Connections on which each request is answered by a handler, in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from discreet.server.connections import Answer, ConnectionLimits, Exchange, HttpConnections, Request

__all__ = ["Body", "Connections", "Handler"]

Body = Callable[[], Awaitable[bytes]]
Handler = Callable[[Request, Body], Awaitable[Answer]]


class Connections(HttpConnections):
    """The open connections of a handler."""

    def __init__(self, handler: Handler, limits: ConnectionLimits) -> None:
        super().__init__(limits)
        self._handler = handler

    async def respond(self, exchange: Exchange) -> None:
        """Send what the handler answers."""
        await exchange.answer(await self._handler(exchange.request, exchange.read))

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        line = self.admit(writer.transport)
        if line is None:
            self.turn_away(writer)
        else:
            await self.serve(line, reader, writer)
