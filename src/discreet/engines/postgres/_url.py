"""A parsed `postgresql://` URL, of which the password is never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import DataError
from discreet.postgres_url import SCHEMES, connection_parts, place_of

if TYPE_CHECKING:
    import psycopg

__all__ = ["Server", "settle"]

_LEAST = 160_000
_PATIENCE = "15"
"""Seconds to wait for a connection, unless the URL says otherwise."""
SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "row_security": "off",  # a policy that would hide rows is an error then, and never a smaller answer
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
    "work_mem": "256MB",
}
"""What decides what a query means, or what it costs: for this connection alone. The rest is as the server has it."""


def settle(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Make the settings those of this transaction: a pooler may have given it another session of the server."""
    each = ", ".join(["pg_catalog.set_config(%s, %s, true)"] * len(SETTINGS))
    connection.execute(f"SELECT {each}".encode(), [text for pair in SETTINGS.items() for text in pair])


class Server:
    """Where the tables are. Raises `DataError` for a URL that is none, and `MissingExtra` without psycopg."""

    def __init__(self, url: str) -> None:
        if not url.startswith(SCHEMES):
            raise DataError("a PostgreSQL source is a URL such as postgresql://user@host:5432/database")
        parts = connection_parts(url, "PostgreSQL")
        if parts is None:
            raise DataError(
                "the PostgreSQL URL cannot be read; write postgresql://user:password@host:5432/database, with any of "
                "/ ? # @ : % in a name or a password as %2F %3F %23 %40 %3A %25"
            )
        self._parts: dict[str, Any] = {"connect_timeout": _PATIENCE, **parts}

    def __repr__(self) -> str:
        return f"Server({self.place})"

    @property
    def place(self) -> str:
        """The server and the database, for messages."""
        return place_of(self._parts)

    def connect(self) -> tuple[psycopg.Connection[tuple[Any, ...]], tuple[str, ...]]:
        """A connection with settings of its own, and the schemas where the role looks for tables, first to last.

        Raises `DataError` if the server cannot be reached, is too old, or keeps texts in another encoding than UTF-8.
        """
        import psycopg

        connection: psycopg.Connection[tuple[Any, ...]] | None
        try:
            connection = psycopg.connect(**self._parts, autocommit=True, application_name="discreet")
        except (psycopg.Error, UnicodeError, ValueError, TypeError):
            connection = None
        if connection is None:
            raise DataError(
                f"PostgreSQL at {self.place} cannot be reached with this URL; check that the server runs, and the "
                "host, port, database, user, password and sslmode"
            )
        refused = self._refusal(connection)
        if refused is not None:
            connection.close()
            raise DataError(refused)
        schemas = self._prepare(connection)
        if schemas is None:
            connection.close()
            raise DataError(f"PostgreSQL at {self.place} does not let this role choose its own settings")
        return connection, schemas

    def _refusal(self, connection: psycopg.Connection[tuple[Any, ...]]) -> str | None:
        if connection.info.server_version < _LEAST:
            return f"PostgreSQL at {self.place} is older than version 16, which is the least that is supported"
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            return f"the database at {self.place} keeps texts as {encoding}; copy it to one in UTF8"
        return None

    def _prepare(self, connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[str, ...] | None:
        import psycopg

        connection.prepare_threshold = None
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        try:
            schemas = connection.execute("SELECT pg_catalog.current_schemas(false)::pg_catalog.text[]").fetchone()
            for name, value in SETTINGS.items():
                connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
        except psycopg.Error:
            return None
        return tuple(schemas[0]) if schemas else ()
