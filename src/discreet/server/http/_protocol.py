"""A protocol class for uvicorn: strict HTTP/1.1 with deadlines and limits, plain or inside TLS."""

from __future__ import annotations

import asyncio
import logging
import socket
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from discreet.server.connections import (
    HEAD,
    Answer,
    Certificates,
    ConnectionLimits,
    Exchange,
    HttpConnections,
    Line,
    Refused,
    Request,
)
from discreet.server.http._asgi import AsgiExchange, problem_for

if TYPE_CHECKING:
    from uvicorn import Config
    from uvicorn.server import ServerState

__all__ = ["BugLog", "StrictHttp"]

_LOG = logging.getLogger("discreet.server")


class BugLog:
    """Logs each kind of bug once, by its name and place: its text may hold an address or a part of a query."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def __call__(self, error: BaseException) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = "".join(f" at {frame.filename}:{frame.lineno}" for frame in last)
        line = f"{type(error).__name__}{place}"
        if line not in self._reported:
            self._reported.add(line)
            _LOG.error("internal error: %s; the server goes on, and reports this kind once", line)


@dataclass(frozen=True)
class StrictHttp:
    """What makes the protocol of each connection: ``uvicorn.Config(app, http=StrictHttp(limits))``.

    Compared with uvicorn's own protocols: heads are parsed strictly (no bare line feeds, no chunked bodies, one Host,
    64 headers, 16 KiB), each wait for a client has a deadline, and connections and the bytes of bodies are limited.
    Answers name no server, and nothing about a client is logged. WebSockets are not spoken.

    Attributes
    ----------
    certificates
        For TLS with certificates that can be renewed, and with handshakes that count among the connections and have
        the deadline of a head. uvicorn's own ``ssl_*`` options work too, without either.
    """

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    certificates: Certificates | None = None
    _servers: WeakKeyDictionary[Any, _AsgiConnections] = field(
        default_factory=WeakKeyDictionary[Any, "_AsgiConnections"], init=False, repr=False, compare=False
    )

    def __reduce__(self) -> tuple[Any, ...]:
        return StrictHttp, (self.limits, self.certificates)

    def __call__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> asyncio.Protocol:
        """The protocol of one connection, as uvicorn asks for it."""
        connections = self._servers.get(server_state)
        if connections is None:
            connections = _AsgiConnections(self.limits, config, server_state, app_state)
            self._servers[server_state] = connections
        if self.certificates is not None:
            return _TlsArrival(connections, self.certificates)
        return _StrictProtocol(connections)


class _AsgiConnections(HttpConnections):
    """The connections of one server, whose requests an ASGI application answers."""

    def __init__(
        self, limits: ConnectionLimits, config: Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(limits)
        if not config.loaded:
            config.load()
        self._application: Any = config.loaded_app
        self._root, self._app_state = config.root_path, app_state
        self.state, self.loop = server_state, asyncio.get_running_loop()
        self._report = BugLog()
        self._serving: set[asyncio.Task[None]] = set()

    def begin(self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection that was admitted, in a task of its own."""
        task = self.loop.create_task(self.serve(line, reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def refuse(self, refused: Refused) -> Answer:
        return problem_for(refused)

    async def respond(self, exchange: Exchange) -> None:
        request, protocol = exchange.request, exchange.line.transport.get_protocol()
        if not isinstance(protocol, _StrictProtocol):
            raise ConnectionResetError
        if request.path[0] != "/":
            raise Refused(400, "the path of a request begins with /", close=True)
        if request.length > self.limits.body:
            raise Refused(413, f"a body has at most {self.limits.body} bytes", close=True)
        answering = AsgiExchange(exchange, self._report, self.loop.create_future(), ended=protocol.ended)
        protocol.answering = answering
        task = self.loop.create_task(answering.run(self._application, self._scope(request, protocol)))
        self.state.tasks.add(task)
        task.add_done_callback(self.state.tasks.discard)
        try:
            await answering.complete
        finally:
            protocol.answering = None
            self.state.total_requests += 1

    def _scope(self, request: Request, protocol: _StrictProtocol) -> dict[str, Any]:
        raw, _, query = request.path.partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1" if request.new else "1.0",
            "method": request.method,
            "scheme": protocol.scheme,
            "path": self._root + (unquote(raw) if "%" in raw else raw),
            "raw_path": (self._root + raw).encode(),
            "query_string": query.encode(),
            "root_path": self._root,
            "headers": request.fields,
            "client": protocol.client,
            "server": protocol.server,
            "state": self._app_state.copy(),
        }


class _StrictProtocol(asyncio.StreamReaderProtocol):
    """One connection that can be read from."""

    def __init__(self, connections: _AsgiConnections) -> None:
        self._connections = connections
        self._reader = asyncio.StreamReader(limit=HEAD, loop=connections.loop)
        super().__init__(self._reader, loop=connections.loop)
        self._line: Line | None = None
        self.ended = False
        self.answering: AsgiExchange | None = None
        self.client = self.server = None
        self.scheme = "http"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            self.begin(transport, self._connections.admit(transport))

    def begin(self, transport: asyncio.WriteTransport, line: Line | None) -> None:
        """Serve this connection, if it was admitted."""
        super().connection_made(transport)
        writer = asyncio.StreamWriter(transport, self, self._reader, self._connections.loop)
        if line is None:
            self._connections.turn_away(writer)
            return
        self._line = line
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.family != socket.AF_UNIX:  # asyncio does it where it opened the socket
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"
        self.client, self.server = (_address(transport, name) for name in ("peername", "sockname"))
        self._connections.state.connections.add(self)  # type: ignore[arg-type]  # uvicorn names its own classes alone
        self._connections.begin(line, self._reader, writer)

    def eof_received(self) -> bool | None:
        self.ended = True
        if self.answering is not None:
            self.answering.disconnect()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._connections.state.connections.discard(self)  # type: ignore[arg-type]
        super().connection_lost(exc)
        if self.answering is not None:
            self.answering.lose()

    def shutdown(self) -> None:
        """End this connection after the answer that is on its way, as uvicorn asks when it stops."""
        self._connections.stopping = True
        if self._line is not None:
            self._connections.finish(self._line)


class _TlsArrival(asyncio.Protocol):
    """One connection before its TLS handshake is done."""

    def __init__(self, connections: _AsgiConnections, certificates: Certificates) -> None:
        self._connections, self._certificates = connections, certificates
        self._task: asyncio.Task[None] | None = None
        self._line: Line | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            return
        self._line = self._connections.admit(transport)
        if self._line is None:
            transport.abort()
            return
        self._connections.state.connections.add(self)  # type: ignore[arg-type]
        self._task = self._connections.loop.create_task(self._shake_hands(transport, self._line))

    async def _shake_hands(self, transport: asyncio.Transport, line: Line) -> None:
        connections, protocol = self._connections, _StrictProtocol(self._connections)
        secure = None
        try:
            secure = await connections.loop.start_tls(
                transport,
                protocol,
                self._certificates.context,
                server_side=True,
                ssl_handshake_timeout=connections.limits.seconds,
            )
        except OSError:  # an SSLError is one, and so is a client that is gone
            pass
        finally:
            connections.state.connections.discard(self)  # type: ignore[arg-type]
            if secure is None:
                connections.drop(line)
                transport.abort()
        if secure is not None:
            protocol.begin(secure, line)

    def shutdown(self) -> None:
        """End this connection, as uvicorn asks when it stops."""
        self._connections.stopping = True
        if self._line is not None:
            self._connections.finish(self._line)


def _address(transport: asyncio.BaseTransport, name: str) -> Any:
    address = transport.get_extra_info(name)
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
