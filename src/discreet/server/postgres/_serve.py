"""The listener: connections, each with its deadlines, and how one stops what another asked."""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from discreet.server.connections import Bus
from discreet.server.desk import Buckets, Desk, RecentlyUsed
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
"""The catalogue of a database, by its name, for an account."""
_LOG = logging.getLogger("asyncio")
_AT_ONCE, _MOST_TURNS = 8, 10_000
"""Questions of one account that are at the desk at once; and of how many accounts that is remembered."""
_SIGN_IN_THREADS = 4
_CHARACTERS = 256
"""A text with more of them counts as several questions: what reading it takes grows with it."""
_TOPIC = "cancel"
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how long each may take.

    `seconds` is for the start and sign-in together, for one message from its first byte to its last, and for each part
    of an answer that a client does not take. `idle` is how long a session may ask nothing. `threads` is how many
    questions are at the desk at once. An account asks `account_burst` times at once, and `account_rate` times a second
    after that, a long text counting for several; so do addresses connect. An account has a quarter of the connections
    at most.
    """

    connections: int = 500
    seconds: float = 20.0
    idle: float = 24 * 3600.0
    threads: int = 32
    account_rate: float = 500.0
    account_burst: float = 2_000.0
    address_rate: float = 50.0
    address_burst: float = 500.0

    @property
    def of_one_account(self) -> int:
        """Sessions that one account may have."""
        return max(1, self.connections // 4)


@dataclass(slots=True, eq=False)
class _Connection:
    channel: Channel
    process: int
    key: bytes = field(repr=False)
    account: str = ""
    session: Session | None = None
    task: asyncio.Task[None] | None = None


class PostgresFront:
    """Desks behind the PostgreSQL protocol.

    Parameters
    ----------
    desks
        What answers, by the name of the database that a client connects to. One alone answers by any name.
    terms
        How sessions start: TLS, and how accounts prove who they are.
    catalogue
        Gives the catalogue that a session sees.
    on_status
        Called with a line for each kind of error within the server, once. No line is about a client or a question.
    bus
        By which a request to cancel reaches the worker that its session is at.
    """

    def __init__(  # noqa: PLR0913
        self,
        desks: Mapping[str, Desk],
        terms: Terms,
        *,
        catalogue: CatalogueOf | None = None,
        limits: Limits | None = None,
        on_status: Callable[[str], object] = lambda _line: None,
        bus: Bus | None = None,
    ) -> None:
        self._bus = bus or Bus()
        self._bus.listen(_TOPIC, self._hear)
        self._hearing: set[asyncio.Task[bool]] = set()
        self._desks, self._terms, self._catalogue = desks, terms, catalogue
        self._limits, self._on_status = limits or Limits(), on_status
        self._threads = ThreadPoolExecutor(self._limits.threads, "postgres")
        self._sign_in_threads = ThreadPoolExecutor(_SIGN_IN_THREADS, "postgres, sign-in")
        self._accounts = Buckets(self._limits.account_rate, self._limits.account_burst)
        self._addresses = Buckets(self._limits.address_rate, self._limits.address_burst)
        self._turns = RecentlyUsed[asyncio.Semaphore](_MOST_TURNS)
        self._connections: dict[int, _Connection] = {}
        self._starting: dict[int, None] = {}
        self._processes = 0
        self._kinds: set[str] = set()
        self._server: asyncio.Server | None = None

    async def start(self, listening: socket.socket) -> None:
        """Take connections of a socket that listens, which is closed by `stop`."""
        _LOG.setLevel(logging.CRITICAL + 1)  # it would log addresses
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Channel(self._open), sock=listening)

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
        for each in (self._threads, self._sign_in_threads):
            each.shutdown(wait=False, cancel_futures=True)

    def _open(self, channel: Channel) -> None:
        """A new connection: it gets a place, that of the one that has taken longest to sign in if need be."""
        if self._addresses.take(channel.address):
            channel.write(Notice("FATAL", "53300", "too many connections in a short time; wait a moment").encode())
            channel.close()
            return
        if len(self._connections) >= self._limits.connections:
            if not self._starting:
                channel.write(Notice("FATAL", "53300", "too many connections; try again in a moment").encode())
                channel.close()
                return
            oldest = self._connections[next(iter(self._starting))]
            self._forget(oldest)
            oldest.channel.abort()
        self._processes = self._processes % 0x7FFFFFFF + 1
        connection = _Connection(channel, self._processes, self._terms.draw(32))
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
            signed_in = await SignIn(channel, reader, self._desks, self._in_sign_in_thread, self._terms).run()
        if isinstance(signed_in, CancelRequest):
            await self._cancel(signed_in)
        if not isinstance(signed_in, SignedIn):
            return
        self._starting.pop(connection.process, None)
        connection.key = connection.key[: signed_in.key_bytes]
        desk, caller, database = signed_in.desk, signed_in.caller, signed_in.database
        catalogue = None
        if self._catalogue is not None:
            make = self._catalogue
            catalogue = await self._in_thread(lambda: make(database, caller.name))
        source = next(name for name, each in self._desks.items() if each is desk)
        account = f"{source}/{caller.role}/{caller.name}"
        if sum(each.account == account for each in self._connections.values()) >= self._limits.of_one_account:
            raise SqlError("53300", "this account has too many sessions", "Close some, or share them by a pool.")
        connection.account = account
        turn = self._turns.get((account, "turn"), lambda: asyncio.Semaphore(_AT_ONCE))
        planning = self._turns.get((account, "planning"), lambda: asyncio.Semaphore(_AT_ONCE))
        questions = Questions(desk, caller, catalogue, database, connection.process, turn, planning)
        connection.session = Session(
            channel, reader, questions, signed_in.settings, self._in_thread, self._limits.seconds, self._limits.idle,
            lambda length: self._check_rate(account, length), self._report,
        )  # fmt: skip
        await connection.session.run(connection.process, connection.key)

    async def _cancel(self, request: CancelRequest) -> None:
        """Stop what the connection of this number and key asked. Nobody is told whether there is one."""
        if not await self._cancel_here(request.process, request.key):
            self._bus.tell(_TOPIC, {"process": request.process, "key": request.key.hex()})

    async def _cancel_here(self, process: int, key: bytes) -> bool:
        connection = self._connections.get(process)
        held = b"" if connection is None else connection.key
        if not hmac.compare_digest(held, key) or connection is None or connection.session is None:
            return False
        await connection.session.cancel()
        return True

    def _hear(self, message: Mapping[str, Any]) -> None:
        """A request to cancel that came to another worker."""
        cancelling = self._cancel_here(message["process"], bytes.fromhex(message["key"]))
        task = asyncio.get_running_loop().create_task(cancelling)
        self._hearing.add(task)
        task.add_done_callback(self._hearing.discard)

    def _check_rate(self, account: str, characters: int) -> None:
        wait = self._accounts.take(account, 1 + characters // _CHARACTERS)
        if wait:
            raise SqlError("53300", f"this account asks too often; ask again in {wait:.0f} s")

    def _in_sign_in_thread(self, call: Callable[[], _T]) -> asyncio.Future[_T]:
        """Sign-ins have threads of their own, for which they wait behind no question."""
        return asyncio.get_running_loop().run_in_executor(self._sign_in_threads, call)

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
