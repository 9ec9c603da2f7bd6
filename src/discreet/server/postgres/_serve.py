"""The listener: connections, each with its deadlines, and how one stops what another asked."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

from discreet import noise
from discreet.errors import ParameterError
from discreet.server.desk import Desk
from discreet.server.postgres._channel import Channel
from discreet.server.postgres._questions import Catalogue, Questions
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres._session import Session
from discreet.server.postgres._sign_in import SignedIn, SignIn, Terms
from discreet.server.postgres.codec.backend import Notice
from discreet.server.postgres.codec.frontend import CancelRequest, ProtocolError
from discreet.server.postgres.codec.reader import MessageReader

__all__ = ["Limits", "PostgresFront"]

_T = TypeVar("_T")
CatalogueOf = Callable[[str, str], Catalogue]
"""The catalogue for a database's name and an account's."""
_LOG = logging.getLogger("asyncio")
_QUEUE: Final = 1_024
_AT_ONCE: Final = 32
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how long each may take.

    `seconds` is for the start and sign-in together, for one message from its first byte to its last, and for each part
    of an answer that a client does not take. `idle` is how long a session may ask nothing. `threads` is how many
    questions are at the desk at once.
    """

    connections: int = 500
    seconds: float = 20.0
    idle: float = 24 * 3600.0
    threads: int = 32


@dataclass(slots=True, eq=False)
class _Connection:
    channel: Channel
    process: int
    key: bytes = field(repr=False)
    session: Session | None = None
    task: asyncio.Task[None] | None = None


class PostgresFront:
    """A desk behind the PostgreSQL protocol.

    Parameters
    ----------
    desk
        What answers.
    terms
        How sessions start: TLS, and how accounts prove who they are.
    catalogue
        What makes the catalogue that a session sees, of its database's name and its account's.
    on_status
        Called with a line for each kind of error within the server, once. No line is about a client or a question.
    """

    def __init__(
        self,
        desk: Desk,
        terms: Terms,
        *,
        catalogue: CatalogueOf | None = None,
        limits: Limits | None = None,
        on_status: Callable[[str], object] = lambda _line: None,
    ) -> None:
        self._desk, self._terms, self._catalogue = desk, terms, catalogue
        self._limits, self._on_status = limits or Limits(), on_status
        self._threads = ThreadPoolExecutor(self._limits.threads, "postgres")
        self._connections: dict[int, _Connection] = {}
        self._starting: dict[int, None] = {}
        self._processes = 0
        self._level = logging.NOTSET
        self._kinds: set[str] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return the address. Raises `ParameterError` for one that cannot be listened at."""
        loop = asyncio.get_running_loop()
        self._level = _LOG.level
        _LOG.setLevel(logging.CRITICAL + 1)  # it would log addresses
        try:
            server = await loop.create_server(lambda: Channel(self._open), host, port, backlog=_AT_ONCE)
        except (OSError, OverflowError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no address"
            raise ParameterError(f"cannot listen at {host}:{port}: {reason}; take another address") from None
        for each in server.sockets:  # asyncio accepts as many at once as the queue is long, and each takes a file
            with socket.socket(fileno=os.dup(each.fileno())) as same:
                same.listen(_QUEUE)
        self._server = server
        address = server.sockets[0].getsockname()
        return address[0], address[1]

    async def stop(self) -> None:
        """Close every connection. What is being answered is stored, and its answer can be had again."""
        if self._server is not None:
            self._server.close()
        stops = Notice("FATAL", "57P01", "the server stops; what was answered can be asked again for free")
        for each in list(self._connections.values()):
            each.channel.write(stops.encode())
            each.channel.close()
        tasks = [each.task for each in self._connections.values() if each.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._limits.seconds)
        self._threads.shutdown(wait=False, cancel_futures=True)
        _LOG.setLevel(self._level)

    def _open(self, channel: Channel) -> None:
        """A new connection: it gets a place, that of the one that has taken longest to sign in if need be."""
        if len(self._connections) >= self._limits.connections:
            if not self._starting:
                channel.write(Notice("FATAL", "53300", "too many connections; try again in a moment").encode())
                channel.close()
                return
            oldest = self._connections[next(iter(self._starting))]
            self._forget(oldest)
            oldest.channel.abort()
        self._processes = self._processes % 0x7FFFFFFF + 1
        connection = _Connection(channel, self._processes, noise.secret(32))
        self._connections[connection.process] = connection
        self._starting[connection.process] = None
        connection.task = asyncio.get_running_loop().create_task(self._talk(connection))

    async def _talk(self, connection: _Connection) -> None:
        channel = connection.channel
        try:
            await self._serve(connection)
        except ProtocolError as error:
            await self._refuse(channel, Notice("FATAL", error.sqlstate, str(error)))
        except SqlError as error:
            await self._refuse(channel, Notice("FATAL", error.sqlstate, str(error), hint=error.hint))
        except (OSError, TimeoutError, ssl.SSLError):
            channel.abort()
        except Exception as error:  # noqa: BLE001 (one connection may not harm the others)
            self._report(error)
            channel.abort()
        finally:
            self._forget(connection)
            channel.close()

    async def _serve(self, connection: _Connection) -> None:
        channel, reader = connection.channel, MessageReader()
        async with asyncio.timeout(self._limits.seconds):
            signed_in = await SignIn(channel, reader, self._desk, self._in_thread, self._terms).run()
        if isinstance(signed_in, CancelRequest):
            await self._cancel(signed_in)
        if not isinstance(signed_in, SignedIn):
            return
        self._starting.pop(connection.process, None)
        connection.key = connection.key[: signed_in.key_bytes]
        caller, database = signed_in.caller, signed_in.database
        catalogue = None
        if self._catalogue is not None:
            make = self._catalogue
            catalogue = await self._in_thread(lambda: make(database, caller.name))
        questions = Questions(self._desk, caller, catalogue, database, connection.process)
        connection.session = Session(
            channel, reader, questions, signed_in.settings, self._in_thread, self._limits.seconds, self._limits.idle,
            self._report,
        )  # fmt: skip
        await connection.session.run(connection.process, connection.key)

    async def _cancel(self, request: CancelRequest) -> None:
        """Stop what the connection of this number and key asked. Nobody is told whether there is one."""
        connection = self._connections.get(request.process)
        key = b"" if connection is None else connection.key
        if hmac.compare_digest(key, request.key) and connection is not None and connection.session is not None:
            await connection.session.cancel()

    def _in_thread(self, call: Callable[[], _T]) -> asyncio.Future[_T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _refuse(self, channel: Channel, notice: Notice) -> None:
        """Send an error that ends a connection, and go on reading for a moment, so that its client does not lose it."""
        channel.write(notice.encode())
        try:
            async with asyncio.timeout(min(_LINGER_SECONDS, self._limits.seconds)):
                await channel.discard(_LINGER_BYTES)
        except (OSError, TimeoutError):
            channel.abort()

    def _forget(self, connection: _Connection) -> None:
        self._connections.pop(connection.process, None)
        self._starting.pop(connection.process, None)

    def _report(self, error: BaseException) -> None:
        """Report each kind of error once, without its text."""
        kind = type(error).__name__
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._on_status(f"internal error: {kind}; the server goes on, and reports this kind once")
