"""PostgreSQL: a ledger in a schema of its own, for many nodes.

A writer takes a lock of the ledger's name (an advisory one: it costs less than locking a row, and is there before any
table is). Its COMMIT does not wait for the disk (``synchronous_commit = off``), so that the lock goes at once to the
next; then a second, tiny transaction does wait. The server's log is one sequence: what puts the second on disk has put
there everything before it, and many processes share one flush. The second waits as the server is configured to, for
its standbys too, and never less than for its own disk.

What a writer executes without looking at a result is sent together with its COMMIT and the flush (a pipeline), so that
the lock is held over few rounds between client and server. An error of such a statement comes when the block is left.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import sqlalchemy as sa
from psycopg import Connection, Error, Pipeline
from psycopg.errors import Diagnostic
from psycopg.pq import TransactionStatus
from sqlalchemy.event import listen
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from discreet.errors import LedgerError
from discreet.ledger.log import _database
from discreet.ledger.log._database import Fill
from discreet.ledger.postgres import _payload_parts
from discreet.ledger.postgres._errors import in_server_words, reach
from discreet.ledger.postgres._url import address_of

__all__ = ["Database", "append_only", "clock", "complete", "mark", "marked"]

Driver = Connection[tuple[Any, ...]]

_CONNECTIONS = 8
_PIPELINE = "discreet pipeline"
_abandoned: list[sa.Engine] = []
"""A parent's, kept so that a child never ends them."""

_SETTINGS = (
    'SET LOCAL search_path = "{ledger}", pg_temp; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = {wait}'
)
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {settings}; SET LOCAL synchronous_commit = off; "
    "SET LOCAL idle_in_transaction_session_timeout = {wait}; "
    "SELECT pg_catalog.pg_advisory_xact_lock(1685081191, pg_catalog.hashtext('{ledger}'))"
)
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {settings}; SELECT 1"
_FLUSH = """
SELECT pg_catalog.set_config('synchronous_commit', CASE
    WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
    ELSE pg_catalog.current_setting('synchronous_commit') END, true),
pg_catalog.pg_logical_emit_message(true, 'discreet', '')
"""
_TABLES = """
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = '{ledger}' AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
"""
_APPEND_ONLY = (
    """
    CREATE OR REPLACE FUNCTION only_grows() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a ledger only grows' USING ERRCODE = 'integrity_constraint_violation'; END $$
    """,
    """
    CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION only_grows()
    """,
)


def append_only(connection: sa.Connection, table: str = "entries") -> None:
    """Let nobody change or remove rows of this table by accident."""
    for statement in _APPEND_ONLY:
        connection.exec_driver_sql(statement.format(table=table))


def complete(connection: sa.Connection) -> None:
    """Make the table of large payloads: with the ledger, so that who may write its tables may write this one too."""
    _payload_parts.TABLE.create(connection)
    append_only(connection, _payload_parts.TABLE.name)


def mark(connection: sa.Connection, number: int) -> None:
    """The table `meta` says all that a server needs to know of the format."""


def marked(connection: sa.Connection) -> int | None:
    """No second mark."""


def clock(connection: sa.Connection) -> datetime:
    """The server's clock."""
    now = connection.exec_driver_sql("SELECT pg_catalog.clock_timestamp() AT TIME ZONE 'UTC'").scalar()
    assert isinstance(now, datetime)
    return now.replace(tzinfo=UTC)


class Database:
    """The schema that a URL names, ``postgresql://user:password@host/database?ledger=name``. See `_database.Database`.

    Raises `LedgerError` if the server cannot be reached, is a read-only standby, or does not sync what it writes; and
    `MissingExtra` without psycopg.
    """

    def __init__(self, url: str) -> None:
        self._address = address_of(url)
        self.path = None
        self.where = self._address.where
        self._begin_anew()
        with in_server_words(self.where), ExitStack() as held:
            self._take(held)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._end.alive

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[sa.Connection]:
        """One transaction; see the protocol."""
        if write:
            with self._writing() as connection:
                yield connection
            return
        with in_server_words(self.where), ExitStack() as held:
            yield self._start(held, _READ)[0]

    def sync(self) -> None:
        """Return when everything is durable that anybody had committed before."""
        with in_server_words(self.where), ExitStack() as held:
            _, driver = self._take(held)
            with self._warned_of_nothing(driver):
                driver.execute(_FLUSH)

    def store_large(self, digest: str, payload: bytes) -> bool:
        """Rows of a table of its own, some at a time, so that other writers need not wait for all of them.

        Rows that are there already are left as they are, and read again: raises `LedgerError` if they are damaged.
        """
        with self._writing() as connection:
            if not self._has_parts(connection):  # it was made before each ledger had the table
                complete(connection)
            has_rows = _payload_parts.any_of(connection, digest)
        for parts in _payload_parts.batches(payload):
            with self._writing() as connection:
                _payload_parts.write(connection, digest, parts)
        if has_rows:
            with self.transaction(write=False) as connection:
                is_whole = _payload_parts.digest_of(connection, digest) == digest
            if not is_whole:
                raise LedgerError(
                    f"{self.where}: {self.place_of_large(digest)} was there before, and was changed; restore these "
                    "rows from a copy and try the same bytes again: what the release cost stays spent"
                )
        return True

    def load_large(self, digest: str, connection: sa.Connection) -> bytes | None:
        """The parts, put together."""
        return _payload_parts.joined(connection, digest) if self._has_parts(connection) else None

    def digest_large(self, digest: str, connection: sa.Connection) -> str | None:
        """The SHA-256 of the parts, one after the other."""
        return _payload_parts.digest_of(connection, digest) if self._has_parts(connection) else None

    def place_of_large(self, digest: str) -> str:
        """The rows of the parts."""
        return f"what {self._address.ledger}.{_payload_parts.TABLE.name} holds under sha256 {digest!r}"

    def _has_parts(self, connection: sa.Connection) -> bool:
        return sa.inspect(connection).has_table(_payload_parts.TABLE.name, self._address.ledger)

    def create(self, fill: Fill) -> bool:
        """Make the ledger, whole or not at all, whoever else does so now; False if it is there already."""
        if self.exists():
            return False
        with self._writing() as connection:
            if self._is_there(connection):
                return False
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self._address.ledger}"')
            fill(connection)
        return True

    def exists(self) -> bool:
        """Whether the schema holds a ledger. Raises `LedgerError` if it holds something else."""
        with self.transaction(write=False) as connection:
            return self._is_there(connection)

    def close(self) -> None:
        """Refuse further transactions."""
        self._end()

    def _begin_anew(self) -> None:
        self._process = os.getpid()
        self._engine = sa.create_engine(
            "postgresql+psycopg://",
            creator=partial(reach, self.where, self._address.parts),
            poolclass=QueuePool,
            pool_size=_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_database.PATIENCE,
            isolation_level="AUTOCOMMIT",  # BEGIN and COMMIT are ours
            use_native_hstore=False,
            hide_parameters=True,
        )
        listen(self._engine, "after_cursor_execute", _await_rows)
        self._end = weakref.finalize(self, _dispose, self._engine, self._process)

    @contextmanager
    def _writing(self) -> Generator[sa.Connection]:
        with in_server_words(self.where), ExitStack() as held:
            connection, driver = self._start(held, _WRITE)
            with self._warned_of_nothing(driver), _pipelined(driver) as pipeline:
                connection.info[_PIPELINE] = pipeline
                held.callback(connection.info.pop, _PIPELINE)
                yield connection
                committed = driver.execute("COMMIT")
                driver.execute(_FLUSH)
            if committed.statusmessage != "COMMIT":  # after an error that nobody minded, COMMIT means ROLLBACK
                raise LedgerError(f"{self.where}: the transaction failed on its way; nothing was written")

    def _start(self, held: ExitStack, text: str) -> tuple[sa.Connection, Driver]:
        """A connection in a transaction. One that was lost while nobody used it is replaced."""
        wait, ledger = f"'{max(int(_database.PATIENCE * 1000), 1)}ms'", self._address.ledger
        settings = _SETTINGS.format(ledger=ledger, wait=wait)
        text = text.format(settings=settings, wait=wait, ledger=ledger)
        for _ in range(_CONNECTIONS):
            with ExitStack() as tried:
                connection, driver = self._take(tried)
                try:
                    driver.execute(text.encode())
                except Error:
                    if not driver.closed:
                        raise
                    continue
                held.push(tried.pop_all())
                return connection, driver
        raise LedgerError(f"{self.where}: the connection is lost again and again; check the server and the network")

    def _take(self, held: ExitStack) -> tuple[sa.Connection, Driver]:
        if not self._end.alive:
            raise LedgerError(f"{self.where} is closed; open it again with open_ledger")
        if self._process != os.getpid():
            _abandoned.append(self._engine)
            self._end.detach()
            self._begin_anew()
        try:
            connection = self._engine.connect()
        except PoolTimeout:
            raise LedgerError(
                f"{self.where}: {_CONNECTIONS} other threads of this process have kept it busy for a minute"
            ) from None
        driver = connection.connection.driver_connection
        assert isinstance(driver, Connection)
        held.callback(_give_back, connection, driver)
        return connection, driver

    @contextmanager
    def _warned_of_nothing(self, driver: Driver) -> Generator[None]:
        """A wait for a standby that somebody cancels is a warning to the server, and no error."""
        warned: list[str] = []

        def note(diagnostic: Diagnostic) -> None:
            if diagnostic.severity_nonlocalized == "WARNING":
                warned.append(diagnostic.sqlstate or "")

        driver.add_notice_handler(note)
        try:
            yield
        finally:
            driver.remove_notice_handler(note)
        if warned:
            raise LedgerError(
                f"{self.where}: the server did not wait until what was written was durable on its standbys; it counts "
                "where it was written; try again"
            )

    def _is_there(self, connection: sa.Connection) -> bool:
        tables = {str(name) for (name,) in connection.exec_driver_sql(_TABLES.format(ledger=self._address.ledger))}
        if tables and not {"meta", "entries"} <= tables:
            raise LedgerError(
                f"{self.where} is not a ledger: a schema of that name holds other tables; give another name, "
                "?ledger=… in the URL, and a new ledger is made there"
            )
        return bool(tables)


@contextmanager
def _pipelined(driver: Driver) -> Generator[Pipeline]:
    """A pipeline whose first error is raised; psycopg would log what its end runs into after that."""
    ending = driver.pipeline()
    pipeline = ending.__enter__()
    try:
        yield pipeline
    except BaseException:
        with suppress(Error):
            ending.__exit__(None, None, None)
        raise
    ending.__exit__(None, None, None)


def _await_rows(connection: sa.Connection, *event: Any) -> None:
    """SQLAlchemy asks at once whether a statement returns rows; only of plain changes it is known that they do not."""
    context: sa.ExecutionContext = event[3]
    pipeline = connection.info.get(_PIPELINE)
    if pipeline is None:
        return
    compiled = getattr(context, "compiled", None)
    changes = context.isinsert or context.isupdate or getattr(context, "isdelete", False)
    if not changes or compiled is None or compiled.effective_returning:
        pipeline.sync()


def _dispose(engine: sa.Engine, process: int) -> None:
    if process == os.getpid():
        engine.dispose()


def _give_back(connection: sa.Connection, driver: Driver) -> None:
    with suppress(Error):
        driver.rollback()
    if driver.info.transaction_status != TransactionStatus.IDLE and not connection.invalidated:
        connection.invalidate()
    connection.close()
