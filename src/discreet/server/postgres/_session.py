"""One signed-in session: what its messages ask, answered in order.

Source: PostgreSQL manual, section "Message Flow".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from discreet.errors import DiscreetError
from discreet.server.postgres._changes import change
from discreet.server.postgres._channel import Channel
from discreet.server.postgres._portals import Portal, Portals, Prepared
from discreet.server.postgres._questions import Described, Questions
from discreet.server.postgres._refusals import INTERNAL, SqlError, notice_of
from discreet.server.postgres._runner import Runner
from discreet.server.postgres._settings import REPORTED, Settings
from discreet.server.postgres._sign_in import InThread
from discreet.server.postgres._transaction import Transaction
from discreet.server.postgres.codec import backend, frontend
from discreet.server.postgres.codec.backend import Notice
from discreet.server.postgres.codec.frontend import ProtocolError, Signal
from discreet.server.postgres.codec.reader import MessageReader
from discreet.server.postgres.statements import kinds
from discreet.server.postgres.statements.parameters import Parameter, Parametrized
from discreet.server.postgres.statements.reading import read_statement, split
from discreet.server.postgres.values.types import columns_of

__all__ = ["Session"]

_T = TypeVar("_T")
_FLUSHED: Final = 1 << 16
_MOST_STATEMENTS: Final = 100
_LONG: Final = 4_096
"""Characters of a text that is read on the event loop; a longer one is in a thread, so that others need not wait."""
_ASKING: Final = kinds.Question | kinds.Copy | kinds.Fetch | kinds.Explain | kinds.Show


class Session:
    """A session after its sign-in.

    `seconds` is how long a message may take once it has begun, and how long the client may take nothing of an answer;
    `idle` how long it may ask nothing. `check_rate` raises where the account sends too many characters, and `on_error`
    is called with what failed within the server.
    """

    def __init__(  # noqa: PLR0913, PLR0917
        self, channel: Channel, reader: MessageReader, questions: Questions, settings: Settings, in_thread: InThread,
        seconds: float, idle: float, check_rate: Callable[[int], None],
        on_error: Callable[[BaseException], object],
    ) -> None:  # fmt: skip
        self._channel, self._reader, self._questions = channel, reader, questions
        self._seconds, self._idle, self._check_rate, self._on_error = seconds, idle, check_rate, on_error
        self._transaction, self._portals, self._in_thread = Transaction(settings), Portals(), in_thread
        self._unsent = bytearray()
        self._runner = Runner(questions, self._transaction, self._portals, in_thread, self._send)
        self._skips = False

    async def cancel(self) -> None:
        """Stop what is being answered."""
        await self._runner.cancel()

    async def run(self, process: int, key: bytes) -> None:
        """Greet, and answer until the client goes. Raises `ProtocolError`, `OSError` and `TimeoutError`."""
        settings = self._transaction.settings
        for name in REPORTED:
            self._send(backend.parameter_status(name, settings.get(name)))
        self._send(backend.backend_key(process, key))
        self._send_ready()
        await self._flush()
        while (message := await self._next()) is not None and message is not Signal.TERMINATE:
            await self._take(message)
            if len(self._unsent) > _FLUSHED:
                await self._flush()

    async def _next(self) -> frontend.Message | None:
        """The next message; None at the end of bytes."""
        message = self._reader.read()
        if message is not None:
            return message
        await self._flush()
        deadline = None
        while message is None:
            if self._reader.held and deadline is None:
                deadline = asyncio.get_running_loop().time() + self._seconds
            async with asyncio.timeout_at(deadline) if deadline else asyncio.timeout(self._idle):
                data = await self._channel.read()
            if not data:
                return None
            self._reader.feed(data)
            message = self._reader.read()
        return message

    async def _take(self, message: frontend.Message) -> None:
        if message is Signal.SYNC:
            self._skips = False
            if self._transaction.state == "I":
                self._portals.end_transaction(committed=True)
            self._transaction.start()
            self._send_ready()
            return
        if self._skips:
            return
        try:
            if isinstance(message, frontend.Query):
                self._transaction.start()
                await self._simple(message.text)
            else:
                await self._extended(message)
        except (SqlError, DiscreetError) as error:
            self._fail(notice_of(error))
        except (ProtocolError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 (one statement may not end the session, nor tell what failed)
            self._on_error(error)
            self._fail(INTERNAL)
        if isinstance(message, frontend.Query):
            self._skips = False
            if self._transaction.state == "I":
                self._portals.end_transaction(committed=True)
            self._send_ready()

    def _fail(self, notice: Notice) -> None:
        before = self._transaction.settings
        self._transaction.fail()
        self._runner.report(before)
        self._send(notice.encode())
        self._skips = True

    # simple queries

    async def _simple(self, text: str) -> None:
        self._check_rate(len(text))
        texts = await self._read(text, split)
        if len(texts) > _MOST_STATEMENTS:
            raise SqlError(
                "54000", f"a simple query has at most {_MOST_STATEMENTS} statements", "Send some by themselves."
            )
        if await self._read(text, lambda _: any(Parametrized(each).count for each in texts)):
            raise SqlError("42P02", "a simple query has no values for parameters", "Write constants, or prepare it.")
        statements = await self._read(text, lambda _: list(map(read_statement, texts)))
        if not statements:
            self._send(backend.EMPTY_QUERY)
        if sum(isinstance(each, kinds.Question | kinds.Copy | kinds.Fetch) for each in statements) > 1:
            await self._check_prices(statements)
        for statement in statements:
            self._transaction.check(statement)
            portal = Portal(statement)
            if isinstance(statement, kinds.Explain | kinds.Show | kinds.Question | kinds.Fetch):
                await self._describe_and_run(portal)
            else:
                self._complete(await self._runner.run(portal, None))
            await self._flush()

    async def _read(self, text: str, read: Callable[[str], _T]) -> _T:
        """What is read of a text."""
        return read(text) if len(text) <= _LONG else await self._in_thread(lambda: read(text))

    async def _describe_and_run(self, portal: Portal) -> None:
        """Rows of a simple query: their columns come from the answer itself, which is not planned twice."""
        await self._runner.fill(portal)
        if portal.table is None:
            described = await self._runner.describe_portal(portal)
            schema = None if described is None else described.schema
        else:
            schema = portal.table.schema
        if schema is not None:
            self._send(backend.row_description(columns_of(schema, ())))
        self._complete(await self._runner.run(portal, None))

    async def _check_prices(self, statements: list[kinds.Statement]) -> None:
        """Raise `SqlError` (0A000) where more than one of several statements would cost."""
        transaction, portals, costly = self._transaction.copy(), self._portals.copy(), 0
        for statement in statements:
            if isinstance(statement, _ASKING):
                asked = _asked_by(statement, portals)
                costly += asked is not None and await self._runner.price_is_charged(asked, transaction.settings)
                continue
            try:
                change(statement, transaction, portals, lambda *_: None)
            except SqlError:
                break  # those after it are not run
        if costly > 1:
            raise SqlError(
                "0A000",
                "more than one of these statements costs, and none was asked: what fails after the first would be paid",
                "Send each by itself.",
            )

    # the extended protocol

    async def _extended(self, message: frontend.Message) -> None:
        match message:
            case frontend.Parse():
                self._check_rate(len(message.text))
                await self._parse(message)
            case frontend.Bind():
                await self._bind(message)
            case frontend.Describe("S", name):
                await self._describe_statement(self._portals.statement(name))
            case frontend.Describe(_, name):
                portal = self._portals.portal(name)
                described = await self._runner.describe_portal(portal)
                self._send(_columns(described, portal.formats))
            case frontend.Execute(name, rows):
                await self._execute(self._portals.portal(name), rows)
            case frontend.Close(target, name):
                (self._portals.statements if target == "S" else self._portals.portals).pop(name, None)
                self._send(backend.CLOSE_COMPLETE)
            case Signal.FLUSH:
                await self._flush()
            case _:
                raise ProtocolError("this message has no place here")

    async def _parse(self, message: frontend.Parse) -> None:
        texts = await self._read(message.text, split)
        if len(texts) > 1:
            raise SqlError("42601", "cannot insert multiple commands into a prepared statement")
        text = texts[0] if texts else ""
        query = await self._read(text, Parametrized)
        statement = await self._read(text, read_statement) if texts else None
        self._transaction.check(statement)
        parameters: tuple[Parameter, ...] = ()
        described = None
        if query.count or message.types:
            parameters, described = await self._runner.parameters(query, message.types)
        self._portals.prepare(message.name, Prepared(query, parameters, statement, described))
        self._send(backend.PARSE_COMPLETE)

    async def _bind(self, message: frontend.Bind) -> None:
        prepared = self._portals.statement(message.statement)
        self._check_rate(len(prepared.query.text) if prepared.parameters else 0)
        statement = await self._read(prepared.query.text, lambda _: prepared.bound(message.formats, message.values))
        self._transaction.check(statement)
        self._portals.open(message.portal, Portal(statement, message.result_formats))
        self._send(backend.BIND_COMPLETE)

    async def _describe_statement(self, prepared: Prepared) -> None:
        self._transaction.check(prepared.statement)
        described = prepared.described
        if described is None:
            described = await self._runner.describe(prepared.with_samples(self._questions.samples))
        self._send(backend.parameter_description([each.oid for each in prepared.parameters]))
        self._send(_columns(described, ()))

    async def _execute(self, portal: Portal, rows: int) -> None:
        self._transaction.check(portal.statement)
        if portal.statement is None:
            self._send(backend.EMPTY_QUERY)
            return
        tag = await self._runner.run(portal, max(rows, 0))
        if tag is None:
            self._send(backend.PORTAL_SUSPENDED)
        else:
            self._complete(tag)

    # what is sent

    def _complete(self, tag: str | None) -> None:
        if tag is not None:
            self._send(backend.command_complete(tag))

    def _send_ready(self) -> None:
        self._send(backend.ready(self._transaction.state))

    def _send(self, data: bytes) -> None:
        self._unsent += data

    async def _flush(self) -> None:
        """Send what waits, a part at a time, as fast as the client takes it."""
        data = bytes(self._unsent)
        self._unsent.clear()
        for at in range(0, len(data), _FLUSHED):
            self._channel.write(data[at : at + _FLUSHED])
            await self._channel.drain(self._seconds)


def _asked_by(statement: kinds.Statement, portals: Portals) -> kinds.Statement | None:
    """What a statement asks that may cost: itself, or the query of a cursor that it is the first to fetch from."""
    if not isinstance(statement, kinds.Fetch):
        return statement
    portal = portals.portals.get(statement.name)
    if portal is None or portal.table is not None or portal.rows is not None:
        return None
    portals.portals[statement.name] = replace(portal, rows=[])
    return portal.statement


def _columns(described: Described | None, formats: tuple[int, ...]) -> bytes:
    if described is None:
        return backend.NO_DATA
    try:
        return backend.row_description(columns_of(described.schema, formats))
    except ValueError as error:
        raise SqlError("08P01", f"Bind has {error}") from None
