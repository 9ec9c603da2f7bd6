"""Runs the statements of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import pyarrow as pa

from discreet.server.connections import until_beat
from discreet.server.desk import Refusal, Ticket
from discreet.server.postgres._changes import change
from discreet.server.postgres._portals import Portal, Portals
from discreet.server.postgres._questions import Described, Questions, Result
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres._settings import REPORTED, Settings
from discreet.server.postgres._sign_in import InThread
from discreet.server.postgres._transaction import Transaction
from discreet.server.postgres.codec import backend
from discreet.server.postgres.codec.backend import Notice
from discreet.server.postgres.statements import kinds
from discreet.server.postgres.statements.parameters import Parameter, Parametrized
from discreet.server.postgres.values.copying import BINARY_END, BINARY_START, copied_header, copied_row
from discreet.server.postgres.values.types import columns_of, rows_of

__all__ = ["Runner"]

_OTHER_COLUMNS: Final = "the answer has other columns than were described; describe it again"
_T = TypeVar("_T")
_ALL: Final = ("name", "setting", "description")
_IN_LINE: Final = 200
"""Rows that are encoded on the event loop; more are in a thread, so that others need not wait."""


class Runner:
    """One session's statements: what they answer, and what they change. `send` takes messages for the client.

    What was paid for, and what failed where it would cost, goes on at the next beat of the desk.
    """

    def __init__(
        self, questions: Questions, transaction: Transaction, portals: Portals, in_thread: InThread,
        send: Callable[[bytes], None],
    ) -> None:  # fmt: skip
        self._questions, self._transaction, self._portals = questions, transaction, portals
        self._in_thread, self._send = in_thread, send
        self._ticket: Ticket | None = None
        self._cancelling: Awaitable[None] | None = None

    async def cancel(self) -> None:
        """Stop what is being answered; nothing if nothing is."""
        ticket = self._ticket
        if ticket is not None:
            await self._in_thread(ticket.cancel)

    def notify(self, *notices: Notice) -> None:
        """Send what the client wants to hear of."""
        for each in notices:
            if self._transaction.settings.shows(each.severity):
                self._send(each.encode())

    async def price_is_charged(self, statement: kinds.Statement, settings: Settings) -> bool:
        """Whether a statement would cost anything. What is refused costs nothing."""
        if not isinstance(statement, kinds.Question | kinds.Copy):
            return False
        try:
            described = await self._plan(lambda: self._questions.describe(statement.text, settings))
        except (Refusal, SqlError):
            return False
        return described.price is not None

    async def parameters(
        self, query: Parametrized, declared: Sequence[int]
    ) -> tuple[tuple[Parameter, ...], Described | None]:
        """The types of a query's parameters, and its columns where they hang on no value of them."""
        parameters = query.parameters(declared, self._questions.columns)
        count = len(parameters)
        catalogue = await self._plan(lambda: self._questions.describe_catalogue(query.text, count))
        if catalogue is None:
            return parameters, None
        types = (*declared, *[0] * (count - len(declared)))
        return tuple(Parameter(each or other) for each, other in zip(types, catalogue[0], strict=True)), catalogue[1]

    async def describe(self, statement: kinds.Statement | None) -> Described | None:
        """The columns that a statement answers with; None where it answers with none. Costs nothing."""
        settings = self._transaction.settings
        match statement:
            case kinds.Question(text) | kinds.Declare(_, text):
                described = await self._plan(lambda: self._questions.describe(text, settings))
                return described if isinstance(statement, kinds.Question) else None
            case kinds.Explain():
                return Described(pa.schema([("QUERY PLAN", pa.string())]))
            case kinds.Show(name):
                return Described(_shown(name, settings).schema)
            case kinds.Fetch(name, moves=False):
                return await self.describe_portal(self._portals.portal(name))
            case _:
                return None

    async def describe_portal(self, portal: Portal) -> Described | None:
        """The columns of a portal's rows, which it then holds to."""
        if portal.described is None:
            portal.settings = self._transaction.settings
            portal.described = await self.describe(portal.statement)
        return portal.described

    async def run(self, portal: Portal, rows: int | None) -> str | None:
        """Run a portal, for at most so many rows: the tag of the command, or None if there is more.

        Raises `SqlError` and `Refusal`.
        """
        statement = portal.statement
        if portal.ended:
            raise SqlError("55000", "this portal has been run already")
        if portal.rows is None:
            match statement:
                case kinds.Question():
                    await self.fill(portal)
                case kinds.Explain(text):
                    settings = self._transaction.settings
                    portal.table = await self._plan(lambda: self._questions.explain(text, settings))
                case kinds.Show(name):
                    portal.table = _shown(name, self._transaction.settings)
                case kinds.Fetch():
                    return await self._fetch(statement, portal)
                case kinds.Copy():
                    return await self._copy(statement)
                case _:
                    portal.ended = True
                    before = self._transaction.settings
                    tag = change(statement, self._transaction, self._portals, self.notify)
                    self.report(before)
                    return tag
            portal.rows = await self._encoded(portal)
            portal.table = None
        verb = "EXPLAIN" if isinstance(statement, kinds.Explain) else "SELECT"
        verb = "SHOW" if isinstance(statement, kinds.Show) else verb
        return self._send_rows(portal, rows, verb)

    def report(self, before: Settings) -> None:
        """Send the settings that clients are told of, where they have changed."""
        after = self._transaction.settings
        if after is before:
            return
        for name in REPORTED:
            if after.get(name) != before.get(name):
                self._send(backend.parameter_status(name, after.get(name)))

    def _send_rows(self, portal: Portal, rows: int | None, verb: str) -> str | None:
        assert portal.rows is not None
        end = len(portal.rows) if not rows else min(portal.sent + rows, len(portal.rows))
        for row in portal.rows[portal.sent : end]:
            self._send(row)
        count, portal.sent = end - portal.sent, end
        if rows and end < len(portal.rows):
            return None
        return f"{verb} {count}" if verb == "SELECT" else verb

    async def fill(self, portal: Portal) -> None:
        """Answer a portal's query, once."""
        if portal.table is not None or not isinstance(portal.statement, kinds.Question):
            return
        self._portals.check_size()
        await self._check_columns(portal)
        described = portal.described
        if described is not None and described.table is not None:
            portal.table = described.table
            return
        result = await self._answer(portal.statement.text)
        if described is not None and not _same_columns(described.schema, result.table.schema):
            raise SqlError("0A000", _OTHER_COLUMNS)
        portal.table = result.table

    async def _check_columns(self, portal: Portal) -> None:
        """Raise what is wrong with a portal's columns, before anything is charged: `SqlError` 08P01 and 0A000."""
        described, formats = portal.described, portal.formats
        if described is not None and portal.settings is not self._transaction.settings:
            now = await self.describe(portal.statement)
            if now is not None and not _same_columns(described.schema, now.schema):
                raise SqlError("0A000", _OTHER_COLUMNS)
        if len(formats) > 1:
            described = described or await self.describe(portal.statement)
            if described is not None and len(formats) != len(described.schema):
                raise SqlError("08P01", f"Bind has {len(formats)} formats for {len(described.schema)} columns")

    async def _answer(self, text: str) -> Result:
        """The answer to a query, which may be cancelled meanwhile, or by the session's own timeout."""
        settings, ticket, timed_out = self._transaction.settings, Ticket(), False
        loop = asyncio.get_running_loop()

        def time_out() -> None:
            nonlocal timed_out
            timed_out = True
            self._cancelling = self._in_thread(ticket.cancel)

        timer = None if settings.timeout is None else loop.call_later(settings.timeout, time_out)
        self._ticket = ticket
        try:
            result = await self._asked(text, settings, ticket)
        except Refusal as refusal:
            if refusal.kind == "cancelled" and timed_out:
                raise SqlError("57014", f"canceling statement due to statement timeout: {refusal}") from None
            raise
        finally:
            self._ticket = None
            if timer is not None:
                timer.cancel()
        if result.paid:
            self._transaction.has_paid = True
        self.notify(*result.notices)
        return result

    async def _plan(self, call: Callable[[], _T]) -> _T:
        """Run what plans and looks up in a thread, of which no account takes all from the others."""
        async with self._questions.planning:
            return await self._in_thread(call)

    async def _asked(self, text: str, settings: Settings, ticket: Ticket) -> Result:
        """The answer, when the account has a turn: no account takes all threads from the others."""
        beat = self._questions.beat
        if beat is not None:
            free = await self._plan(lambda: self._questions.answer_free(text, settings))
            if free is not None:
                await until_beat(beat if free.is_held else None)
                return free
        async with self._questions.turn:
            try:
                result = await self._in_thread(lambda: self._questions.answer(text, settings, ticket))
            except Exception as error:
                if not isinstance(error, Refusal) or error.kind != "price":
                    await until_beat(beat)
                raise
            await until_beat(beat)
            return result

    async def _encoded(self, portal: Portal) -> list[bytes]:
        table, formats = portal.table, portal.formats
        assert table is not None
        try:
            if table.num_rows <= _IN_LINE:
                return list(map(backend.data_row, rows_of(table, formats)))
            return await self._in_thread(lambda: list(map(backend.data_row, rows_of(table, formats))))
        except ValueError as error:
            raise SqlError("08P01", f"Bind has {error}") from None

    async def _fetch(self, fetch: kinds.Fetch, into: Portal) -> str:
        """FETCH and MOVE: rows of the cursor, in the formats of the portal that fetches."""
        cursor = self._portals.portal(fetch.name)
        await self.fill(cursor)
        table = cursor.table
        if table is None:
            raise SqlError("55000", "this portal is no cursor")
        end = table.num_rows if fetch.count is None else min(cursor.sent + fetch.count, table.num_rows)
        part, cursor.sent = table.slice(cursor.sent, end - cursor.sent), end
        into.ended = True
        if not fetch.moves:
            for row in await self._encoded(Portal(None, into.formats, table=part)):
                self._send(row)
        return f"{'MOVE' if fetch.moves else 'FETCH'} {part.num_rows}"

    async def _copy(self, copy: kinds.Copy) -> str:
        if copy.how.forced:
            described = await self.describe(kinds.Question(copy.text))
            if described is not None and not copy.how.forced <= set(described.schema.names):
                raise SqlError("42703", "FORCE_QUOTE names a column that the answer has not")
        result = await self._answer(copy.text)
        names, how, table = result.table.column_names, copy.how, result.table

        def encode() -> list[bytes]:
            rows = [copied_row(row, names, how) for row in rows_of(table, [int(how.binary)])]
            if how.binary:  # as in PostgreSQL, the start comes with the first row
                rows = [*rows, BINARY_END]
                rows[0] = BINARY_START + rows[0]
            elif how.header:
                rows = [copied_header(names, how), *rows]
            return list(map(backend.copy_data, rows))

        rows = encode() if table.num_rows <= _IN_LINE else await self._in_thread(encode)
        self._send(backend.copy_out(len(names), binary=how.binary))
        for row in rows:
            self._send(row)
        self._send(backend.COPY_DONE)
        return f"COPY {table.num_rows}"


def _same_columns(one: pa.Schema, other: pa.Schema) -> bool:
    """Whether two answers look alike to a client."""
    return columns_of(one, ()) == columns_of(other, ())


def _shown(name: str | None, settings: Settings) -> pa.Table:
    if name is not None:
        return pa.table({name: pa.array([settings.get(name)], pa.string())})
    rows = settings.all()
    columns = [[each for each, _ in rows], [value for _, value in rows], [""] * len(rows)]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=list(_ALL))
