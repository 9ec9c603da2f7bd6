"""The tables of a database: which are read, and what is known of their columns. No row is looked at.

What a view, a foreign table or a generated column computes may fail on one row, or mix the rows of several people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.postgres._types import READABLE, TEXTS
from discreet.engines.sql import Relation, StoredColumn, read_groups
from discreet.errors import DataError
from discreet.query import BoundedAggregate, Group

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

__all__ = ["describe", "groups_of", "stored_types"]


_NAME = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.|$)')
_OTHER = {
    "v": "a view: it could fail on one row, or mix the rows of several people; make a table of it, CREATE TABLE … AS "
    "SELECT, or a materialized view, and name that",
    "f": "a foreign table, which another server may fill as it likes; copy it into a table, and name that",
}
_TYPES = {"timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz"}
_FIND = """
SELECT c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity, c.relispopulated,
       pg_catalog.has_schema_privilege(n.oid, 'USAGE')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE lower(c.relname) = lower(%s) AND n.nspname = ANY(%s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_STORED = ("", "s", b"s", b"")
"""Columns that are not generated, or whose generated values are stored."""
_COLUMNS = """
SELECT a.attname, a.attgenerated, t.oid, t.typtype, pg_catalog.format_type(t.oid, NULL),
       pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'), t.typbasetype
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
_ALL = """
SELECT c.relname, a.attname, a.attgenerated, t.oid, t.typtype, pg_catalog.format_type(t.oid, NULL),
       pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'), t.typbasetype
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
WHERE n.nspname = %s AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND NOT c.relrowsecurity
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum
"""
_BELOW = """
WITH RECURSIVE below AS (
    SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = %s
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN below ON i.inhparent = below.inhrelid
)
SELECT c.relname FROM below JOIN pg_catalog.pg_class AS c ON c.oid = below.inhrelid
WHERE c.relkind NOT IN ('r', 'p') LIMIT 1
"""


def describe(connection: Connection, table: str, name: str, wanted: Sequence[str], schemas: Sequence[str]) -> Relation:
    """A table of the policy, stored under a name that may be qualified, with the columns that are wanted of it.

    Raises `DataError` unless it stores them all, in types that have a defined reading.
    """
    oid, schema, own = _find_table(connection, table, name, schemas)
    columns = connection.execute(_COLUMNS, (oid,)).fetchall()
    stored: dict[str, StoredColumn] = {}
    for column in wanted:
        row = _column(columns, table, column)
        if row[1] not in _STORED:
            raise DataError(
                f"{column} of {table} is a virtual generated column, which could fail on one row; store its values, or "
                "leave it out of the policy"
            )
        if not row[5]:
            raise DataError(f"this role may not read {column} of {table}; GRANT SELECT on it")
        stored[column] = _stored(connection, table, column, row)
    quoted = f"{_quoted(schema)}.{_quoted(own)}"
    return Relation(quoted, stored)


def stored_types(connection: Connection, schemas: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """From each table that the role finds without a schema to its columns and how they are stored.

    Left out are tables that would be refused, and partitions, which their table has; a type is None where a column
    would be refused. The catalogue alone is read.
    """
    tables: dict[str, dict[str, str | None]] = {}
    for schema in schemas:
        known = {name.casefold() for name in tables}
        for table, column, generated, oid, form, written, readable, base in connection.execute(_ALL, (schema,)):
            if table.casefold() in known:  # a schema before this one has it
                continue
            own = _under_domain(connection, base) if form in ("d", b"d") else (oid, form, written)
            stored = readable and generated in _STORED
            tables.setdefault(table, {})[column] = _kind(*own) if stored else None
    return tables


def _find_table(connection: Connection, table: str, name: str, schemas: Sequence[str]) -> tuple[int, str, str]:
    schema, own = _parts(name)
    among = [schema] if schema is not None else list(schemas)
    rows = connection.execute(_FIND, (own, among)).fetchall()
    for where in among:
        here = [row for row in rows if row[1] == where]
        exact = [row for row in here if row[2] == own] or here
        if len(exact) > 1:
            raise DataError(f"several tables in {where} are called {own} but for case; rename one")
        if exact:
            return _readable(connection, table, exact[0])
    looked = f"the schema {schema}" if schema is not None else f"the schemas {', '.join(among) or '(none)'}"
    raise DataError(f"there is no table {own} in {looked} that this role sees; name the table of {table} in full")


def _readable(connection: Connection, table: str, row: tuple[Any, ...]) -> tuple[int, str, str]:
    oid, schema, own, kind, secured, populated, usage = row
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind in _OTHER:
        raise DataError(f"{table} is {_OTHER[kind]}")
    if secured:
        raise DataError(
            f"{table} has row-level security, by which its rows depend on who asks; read a copy of it, or disable it"
        )
    if not populated:
        raise DataError(f"{table} is a materialized view without rows yet; REFRESH it")
    if not usage:
        raise DataError(f"this role may not use the schema of {table}; GRANT USAGE on it")
    below = connection.execute(_BELOW, (oid,)).fetchone()
    if below is not None:
        raise DataError(f"a part of {table}, {below[0]}, is a foreign table; copy it into a table")
    return int(oid), str(schema), str(own)


def _parts(name: str) -> tuple[str | None, str]:
    """The schema, if it is given, and the name of a table."""
    parts: list[str] = []
    at = 0
    while at < len(name):
        match = _NAME.match(name, at)
        if match is None:
            break
        parts.append(match.group(1).replace('""', '"') if match.group(1) else match.group(2))
        at = match.end()
    if at < len(name) or not 1 <= len(parts) <= 2 or "\0" in name or name.endswith("."):
        raise DataError(f'{name!r} is not the name of a table; write table, schema.table, or quote them: "a.b"."c"')
    return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])


def _column(rows: Sequence[tuple[Any, ...]], table: str, column: str) -> tuple[Any, ...]:
    """A column by its name, or by one that differs in case alone."""
    exact = [row for row in rows if row[0] == column]
    alike = exact or [row for row in rows if str(row[0]).casefold() == column.casefold()]
    if len(alike) > 1:
        raise DataError(f"several columns of {table} are called {column} but for case; rename one")
    if not alike:
        raise DataError(f"the source of {table} lacks what the policy names: {column}")
    return alike[0]


def _stored(connection: Connection, table: str, column: str, row: tuple[Any, ...]) -> StoredColumn:
    name, _, oid, form, written, _, base = row
    sql = _quoted(name)
    if form in ("d", b"d"):
        oid, form, written = _under_domain(connection, base)
        sql = f"CAST({_quoted(name)} AS {written})"
    kind = _kind(oid, form, written)
    if kind is None:
        raise DataError(
            f"{column} of {table} is stored as {written}, which is not supported; keep a column of a number, a text, "
            "a truth value, a date or a timestamp beside it"
        )
    if kind == "enum":  # `concat` writes a label as it is, whatever casts the database has
        sql = f"(CASE WHEN {sql} IS NOT NULL THEN concat({sql}) END)"
    if kind in TEXTS:
        sql = f'CAST({sql} AS text) COLLATE "C"'
    return StoredColumn(column, kind, sql)


def _under_domain(connection: Connection, base: int) -> tuple[int, Any, str]:
    """The type that a domain is made of, which may be under several: its number, its form and its name."""
    while True:
        domain = connection.execute(
            "SELECT t.oid, t.typtype, pg_catalog.format_type(t.oid, NULL), t.typbasetype "
            "FROM pg_catalog.pg_type AS t WHERE t.oid = %s",
            (base,),
        ).fetchone()
        assert domain is not None
        oid, form, written, base = domain
        if form not in ("d", b"d"):
            return oid, form, written


def _kind(oid: int, form: Any, written: str) -> str | None:
    """The name under which a type has a defined reading; None if it has none."""
    kind = "enum" if form in ("e", b"e") else _TYPES.get(written, written)
    return None if kind not in READABLE or (kind != "enum" and oid >= _FIRST_OF_USERS) else kind


_FIRST_OF_USERS = 16_384


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def groups_of(rows: Sequence[tuple[Any, ...]], request: BoundedAggregate) -> list[Group]:
    """Groups from the rows of a bounded aggregate."""
    width = len(request.keys)
    if not request.histograms:
        return [Group(row[:width], int(row[width]), tuple(map(int, row[width + 1 :]))) for row in rows]
    names = [f"k{i}" for i in range(width)] + ["h", "cell", "n"] + [f"t{i}" for i in range(len(request.measures))]
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(names)
    types = [pa.null()] * width + [pa.int64()] * 3 + [pa.string()] * len(request.measures)
    arrays = [
        pa.array(column) if i < width and any(value is not None for value in column) else pa.array(column, kind)
        for i, (column, kind) in enumerate(zip(columns, types, strict=True))
    ]
    return read_groups(pa.table(dict(zip(names, arrays, strict=True))), request)
