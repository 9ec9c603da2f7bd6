"""A server for a team: the desk behind its HTTP API and the PostgreSQL wire, in one process or several."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra, ParameterError
from discreet.server.connections import Bus, Certificates, ConnectionLimits, WorkerBus, allow_files
from discreet.server.desk import Desk, open_desk
from discreet.server.team._listening import bound
from discreet.server.team._settings import HttpSettings, PostgresSettings, Settings, SourceSettings, listener

if TYPE_CHECKING:
    from discreet.server.http.identity import OidcOptions
    from discreet.server.postgres import PostgresFront
    from discreet.server.postgres.catalogue import Catalogue

__all__ = ["serve"]

_KEY_DIGITS = 64
_ARENA_MAX = -8
_STOPS = (signal.SIGTERM, signal.SIGINT)
_START_SECONDS = 60.0
"""A worker that fails sooner cannot start."""

Status = Callable[[str], object]


def serve(settings: Settings, *, on_status: Status = lambda _line: None) -> None:
    """Serve until the process gets SIGTERM or SIGINT, after the questions that have begun.

    Runs in the main thread. `on_status` is called with each line for the owner: where it listens, and a code that signs
    the owner in once. Raises `ParameterError` for settings that are not safe or addresses that are taken, what
    `open_desk` raises, and `MissingExtra` without ``discreet[server]``.
    """
    settings.check()
    _check_installed()
    _oidc(settings)
    _share_arenas()
    with ExitStack() as stack:
        http = stack.enter_context(bound(listener(settings.http.listen)))
        wire = None if settings.postgres is None else stack.enter_context(bound(listener(settings.postgres.listen)))
        if settings.workers == 1:
            _work(settings, http, wire, on_status, Bus(), first=True)
        else:
            _fork(settings, http, wire, on_status)


def _share_arenas() -> None:
    """Let the threads of a server share two of the allocator's arenas, where it has them: each keeps what it once had.

    Source: glibc manual, "Malloc Tunable Parameters", ``M_ARENA_MAX``.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def _check_installed() -> None:
    try:
        import fastapi
        import uvicorn
    except ImportError:
        raise MissingExtra("`discreet serve` needs FastAPI and uvicorn: pip install 'discreet[server]'") from None
    del fastapi, uvicorn


@contextmanager
def _held_signals() -> Generator[None]:
    """Hold signals to stop back meanwhile, so that none is lost between a fork and what a child makes of them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)


def _fork(settings: Settings, http: socket.socket, wire: socket.socket | None, on_status: Status) -> None:
    """Workers that share the sockets. One that dies is begun again; a signal to stop goes to all of them."""
    running: dict[int, tuple[int, float]] = {}
    stopping = False
    sockets = WorkerBus.sockets(settings.workers)

    def begin(place: int, *, first: bool) -> None:
        with _held_signals():
            if stopping:
                return
            child = os.fork()
            if child:
                running[child] = place, time.monotonic()
                return
            for number in _STOPS:
                signal.signal(number, signal.SIG_DFL)
        status = 1
        try:
            bus = WorkerBus(sockets, place)
            _work(settings, http, wire, on_status if first else lambda _line: None, bus, first=first)
            status = 0
        except BaseException as error:  # noqa: BLE001 - a child may not go on as its parent
            if first:
                print(f"a worker failed: {error}", file=sys.stderr)  # noqa: T201
        finally:
            os._exit(status)

    def stop(number: int, _frame: object) -> None:
        nonlocal stopping
        stopping = True
        for child in running:
            with suppress(ProcessLookupError):
                os.kill(child, number)

    for number in _STOPS:
        signal.signal(number, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # workers read certificates again when their files change
    for place in range(settings.workers):
        begin(place, first=place == 0)
    failed = 0
    while running:
        child, status = os.wait()
        place, began = running.pop(child)
        if stopping:
            continue
        failed += os.waitstatus_to_exitcode(status) == 1 and time.monotonic() - began < _START_SECONDS
        if failed >= settings.workers:
            stop(signal.SIGTERM, None)
            raise ParameterError("the workers cannot start; see what they say above")
        begin(place, first=False)


def _work(  # noqa: PLR0913
    settings: Settings,
    http: socket.socket,
    wire: socket.socket | None,
    on_status: Status,
    bus: Bus,
    *,
    first: bool,
) -> None:
    with ExitStack() as stack:
        desks = {
            name: stack.enter_context(_opened(each, _state(settings, name), settings.beat))
            for name, each in settings.sources.items()
        }
        asyncio.run(_run(settings, desks, http, wire, on_status, bus, first=first))


def _opened(source: SourceSettings, state: Path | None, beat: float | None) -> Desk:
    key = None if source.key_file is None else _key(source.key_file)
    return open_desk(source.data, source.policy, source.ledger, key=key, state=state, shelf=source.shelf, beat=beat)


def _state(settings: Settings, name: str) -> Path:
    """A file for each desk: the one that is named where there is one, and by default one beside its ledger."""
    if settings.state is None:
        return Path(f"{settings.sources[name].ledger}.desk")
    return settings.state if len(settings.sources) == 1 else settings.state.with_name(f"{settings.state.name}.{name}")


def _key(path: Path) -> bytes:
    try:
        text = path.read_text(encoding="ascii").strip()
        if len(text) != _KEY_DIGITS:
            raise ValueError
        return bytes.fromhex(text)
    except OSError as error:
        raise ParameterError(f"key_file {path}: {error.strerror}; name a file that this user may read") from None
    except ValueError:
        raise ParameterError(f"key_file {path} holds no key: a key is 64 hexadecimal digits") from None


async def _run(  # noqa: PLR0913, PLR0917
    settings: Settings,
    desks: Mapping[str, Desk],
    http: socket.socket,
    wire: socket.socket | None,
    on_status: Status,
    bus: Bus,
    *,
    first: bool,
) -> None:
    from discreet.server.http._app import create_app
    from discreet.server.http._options import ApiOptions
    from discreet.server.http._protocol import StrictHttp
    from discreet.server.http._server import HttpServer, configure

    options = settings.http
    app = create_app(
        desks,
        ApiOptions(
            account_rate=options.account_rate,
            account_burst=options.account_burst,
            address_rate=options.address_rate,
            address_burst=options.address_burst,
        ),
        oidc=_oidc(settings),
        on_failure=_reporter(on_status),
        bus=bus,
    )
    encrypted = _certificates(options, on_status)
    limits = ConnectionLimits(connections=options.connections)
    server = HttpServer(configure(app, StrictHttp(limits, encrypted), lifespan="on"))
    front, wire_encrypted = None, None
    if settings.postgres is not None:
        from discreet.server.postgres import ALPN

        wire_encrypted = _certificates(settings.postgres, on_status, ALPN)
        front = _wire_front(settings, desks, wire_encrypted, on_status, bus)
    allow_files(options.connections + (0 if settings.postgres is None else settings.postgres.connections))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, setattr, server, "should_exit", True)  # noqa: FBT003
    loop.add_signal_handler(signal.SIGHUP, _reload, (encrypted, wire_encrypted))
    if first:
        _announce(settings, desks, http, wire, on_status)
    if front is not None and wire is not None:
        await front.start(wire)
    if isinstance(bus, WorkerBus):
        bus.open()
    try:
        await server.serve([http])
    finally:
        if front is not None:
            await front.stop()


def _certificates(options: HttpSettings | PostgresSettings, on_status: Status, *protocols: str) -> Certificates | None:
    if options.certificate is None or options.private_key is None:
        return None
    more: dict[str, Any] = {"protocols": protocols} if protocols else {}
    return Certificates(options.certificate, options.private_key, on_status=on_status, **more)


def _reload(certificates: Iterable[Certificates | None]) -> None:
    for each in certificates:
        if each is not None:
            each.reload()


def _wire_front(
    settings: Settings,
    desks: Mapping[str, Desk],
    certificates: Certificates | None,
    on_status: Status,
    bus: Bus,
) -> PostgresFront:
    from discreet import noise
    from discreet.server.postgres import Limits, PostgresFront, Terms, encrypting

    options = settings.postgres
    assert options is not None
    encryption = None
    if certificates is not None and options.certificate is not None:
        encryption = encrypting(certificates, options.certificate)
    defaults = {
        name: {f"discreet.{key}": str(value) for key, value in each.model_dump(exclude_none=True).items()}
        for name, each in settings.accounts.items()
    }
    terms = Terms(
        noise.secret, encryption, insecure=encryption is None, clear_text=options.clear_text, defaults=defaults
    )
    return PostgresFront(
        desks, terms, catalogue=_Catalogues(desks), limits=Limits(options.connections), on_status=on_status, bus=bus
    )


class _Catalogues:
    """The catalogue of each source, made for the first client of PostgreSQL that it has: a server starts without."""

    def __init__(self, desks: Mapping[str, Desk]) -> None:
        self._policies = {name: desk.policy for name, desk in desks.items()}
        self._by_name: dict[str, Catalogue] = {}
        self._making = threading.Lock()

    def __call__(self, database: str, account: str) -> Catalogue:
        from discreet.server.postgres.catalogue import Catalogue

        name = database if database in self._policies else next(iter(self._policies))
        with self._making:
            if name not in self._by_name:
                self._by_name[name] = Catalogue(name, self._policies[name], "")
            return self._by_name[name].for_role(account)


def _oidc(settings: Settings) -> OidcOptions | None:
    if settings.oidc is None:
        return None
    from discreet.server.http.identity import OidcOptions

    return OidcOptions(**settings.oidc.given())


def _announce(
    settings: Settings, desks: Mapping[str, Desk], http: socket.socket, wire: socket.socket | None, on_status: Status
) -> None:
    scheme = "http" if settings.http.certificate is None else "https"
    on_status(f"the HTTP API is at {scheme}://{_address(http)}/v1")
    if wire is not None:
        on_status(f"PostgreSQL clients connect to {_address(wire)}")
    code: str | None = None
    for desk in desks.values():
        code = desk.owner_sign_ins.new_code(code)
    on_status(f"the owner signs in once, within 15 minutes, by the code {code}")


def _reporter(on_status: Status) -> Callable[[BaseException], object]:
    """Report each kind of failure once, without its text, which may quote a question."""
    reported: set[str] = set()

    def report(error: BaseException) -> None:
        kind = type(error).__name__
        if kind not in reported:
            reported.add(kind)
            on_status(f"internal error: {kind}; the server goes on, and reports this kind once")

    return report


def _address(opened: socket.socket) -> str:
    host, port = opened.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
