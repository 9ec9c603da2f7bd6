"""The names and declared types of a database's tables, from its catalogue alone."""

from __future__ import annotations

from discreet.engines._protocol import Declared
from discreet.engines.postgres._tables import stored_types
from discreet.engines.postgres._types import FRACTIONS, INTEGERS, TEXTS
from discreet.engines.postgres._url import Server, settle
from discreet.errors import DataError

__all__ = ["declared_tables"]

_IN_POLICY = {
    **dict.fromkeys(INTEGERS, "int"),
    **dict.fromkeys(FRACTIONS, "float"),
    **dict.fromkeys((*TEXTS, "uuid"), "string"),
    "boolean": "bool",
    "numeric": "decimal",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
}


def declared_tables(url: str) -> dict[str, Declared]:
    """From each table that the role finds where it looks for tables to its columns. No row is read.

    Raises `DataError` for a URL that is none, a server that cannot be reached and a database without such tables,
    `MissingExtra` without psycopg.
    """
    server = Server(url)
    import psycopg

    connection, schemas = server.connect()
    tables: dict[str, dict[str, str | None]] | None = None
    try:
        with connection.transaction():
            settle(connection)
            tables = stored_types(connection, schemas)
    except psycopg.Error:
        tables = None
    finally:
        connection.close()
    if tables is None:
        raise DataError(f"PostgreSQL at {server.place} could not list its tables; check the connection and ask again")
    if not tables:
        raise DataError(
            f"PostgreSQL at {server.place} has no tables in the schemas {', '.join(schemas) or '(none)'} that this "
            "role may read; ?options=-csearch_path%3DNAME in the URL names another schema"
        )
    return {
        table: {name: None if kind is None else _IN_POLICY[kind] for name, kind in columns.items()}
        for table, columns in tables.items()
    }
