"""Errors of PostgreSQL as `LedgerError`, and the servers that cannot store a ledger."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

from discreet.errors import LedgerError

if TYPE_CHECKING:
    import psycopg

__all__ = ["in_server_words", "reach"]

_LEAST = 140_000
_ASK = """
SELECT pg_catalog.pg_is_in_recovery(),
pg_catalog.current_setting('fsync'), pg_catalog.current_setting('server_encoding')
"""
_LOST = (
    "the connection was lost; if something was being written, it is not known whether it was: it counts if it was; the "
    "next use connects anew"
)
_LOCKED = "another process has kept it locked for a minute; end that process, or try again later"
_POOLER = (
    "a pooler stands between that loses prepared statements; let it keep them (max_prepared_statements in "
    "PgBouncer), or connect to the server itself"
)
_MISSING = (
    "there is no ledger of that name that this role may use; ask its owner for USAGE on its schema, or, if it is gone, "
    "restore the schema with everything that was spent"
)
_WORDS = {
    "08": _LOST,
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": "the server is starting or stopping; try again later",
    "57P05": _LOST,
    "25P03": "this process has kept it locked for a minute without a word, so the server gave up what it was writing",
    "55P03": _LOCKED,
    "40": "the server gave up because others were writing; try again",
    "57014": "somebody cancelled it; try again",
    "25006": "the server or the database is read-only; connect to the primary server, as a role that may write",
    "26000": _POOLER,
    "42P05": _POOLER,
    "42501": "this role lacks the right; ask the owner of the ledger for USAGE on its schema and for SELECT, INSERT "
    "and UPDATE on its tables, or for CREATE on the database to make a ledger",
    "42P01": _MISSING,
    "3F000": _MISSING,
    "42703": "it is not a ledger: a schema of that name holds other tables; give another name, ?ledger=… in the URL",
    "53100": "the server's disk is full; free some space and try again",
    "53300": "the server takes no more connections; close some, or try again later",
    "53": "the server lacks memory or disk; free some and try again",
    "58": "the server's disk refused to read or write; check for space and disk errors, then try again",
    "XX": "it is damaged; restore a copy, and remember what was spent since",
    "23": "it is damaged, or was changed by something other than discreet; restore a copy",
    "28": "the server does not let this user in; check the user, the password and sslmode",
    "3D000": "there is no database of that name; make it first, or give another in the URL",
}
"""SQLSTATE, or its class."""
_UNREACHED = (
    "the server cannot be reached with this URL; check that it runs, and the host, port, database, user and sslmode"
)


@contextmanager
def in_server_words(where: str) -> Generator[None]:
    """Turn errors from below into `LedgerError`; what the server itself says is not repeated."""
    from psycopg import Error

    try:
        yield
    except (DBAPIError, Error) as error:
        raise _describe(where, error) from None


def reach(where: str, parts: dict[str, Any]) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection of its own transactions' making, to a server that can keep a ledger; `LedgerError` if not."""
    import psycopg

    connection: psycopg.Connection[tuple[Any, ...]] | None = None
    what = _UNREACHED
    try:
        connection = psycopg.connect(**parts, autocommit=True, application_name="discreet", client_encoding="UTF8")
    except psycopg.Error as error:
        what = _WORDS.get(error.sqlstate or "", what)
    except (UnicodeError, ValueError, TypeError):
        connection = None
    if connection is None:
        raise LedgerError(f"{where}: {what}")
    refused = _refusal(connection)
    if refused is not None:
        connection.close()
        raise LedgerError(f"{where}: {refused}")
    return connection


def _refusal(connection: psycopg.Connection[tuple[Any, ...]]) -> str | None:
    """Why this server keeps no ledger, if so."""
    if connection.info.server_version < _LEAST:
        return "the server is older than PostgreSQL 14, which is the least that is supported"
    settings = connection.execute(_ASK).fetchone()
    assert settings is not None
    standby, synced, encoding = settings
    if standby:
        return (
            "the server is a read-only standby; connect to the primary, for example with target_session_attrs=primary"
        )
    if synced != "on":
        return (
            "the server does not sync what it writes (fsync = off), so that a power cut may undo what was spent; set "
            "fsync = on in its configuration"
        )
    if encoding != "UTF8":
        return f"the database keeps texts as {encoding}; put the ledger into one in UTF8"
    return None


def _describe(where: str, error: Exception) -> LedgerError:
    cause: BaseException = error.orig or error if isinstance(error, DBAPIError) else error
    state: str | None = getattr(cause, "sqlstate", None)
    if state is None:
        return LedgerError(f"{where}: {_LOST}; nothing was answered")
    other = "the server refused; see its log"
    what = _WORDS.get(state) or _WORDS.get(state[:2], other)
    return LedgerError(f"{where}: {what} (PostgreSQL error {state}); nothing was answered")
