"""Tables put into a PostgreSQL server, each set of them in a schema of its own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

sys.path.insert(0, str(Path(__file__).parents[2] / "query"))

TYPES = {
    "int16": "smallint", "int32": "integer", "int64": "bigint", "double": "double precision", "float": "real",
    "string": "text", "bool": "boolean", "date32[day]": "date", "timestamp[us]": "timestamp",
}  # fmt: skip
_numbers = itertools.count()

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
"""Puts tables into a new schema; returns their full names."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs them all, so that one server is started."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def admin(postgres: str) -> Iterator[psycopg.Connection]:
    """A connection that may do anything."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def load(admin: psycopg.Connection) -> Load:
    """See `Load`."""

    def load(tables: Mapping[str, pa.Table]) -> dict[str, str]:
        schema = f"s{next(_numbers)}"
        admin.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        for name, table in tables.items():
            put(admin, schema, name, table)
        return {name: f"{schema}.{name}" for name in tables}

    return load


def put(admin: psycopg.Connection, schema: str, name: str, table: pa.Table) -> None:
    """An Arrow table as one of the server's."""
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_type(field.type))) for field in table.schema
    ]
    whole = sql.Identifier(schema, name)
    admin.execute(sql.SQL("CREATE TABLE {} ({})").format(whole, sql.SQL(", ").join(columns)))
    with admin.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(whole)) as copy:
        for row in table.to_pylist():
            copy.write_row(list(row.values()))


def _type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    return TYPES[str(kind)]
