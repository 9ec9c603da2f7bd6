"""The database in memory that holds a catalogue, and nothing else."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._builtin import BuiltIn
from discreet.server.postgres.catalogue._functions import register
from discreet.server.postgres.catalogue._lookups import Lookups
from discreet.server.postgres.catalogue._rows import FIRST, Rows
from discreet.server.postgres.catalogue._types import canonical, held_as

__all__ = ["ARROW", "SCHEMA", "Database"]

SCHEMA: Mapping[str, str] = {"pg_catalog": "pg", "information_schema": "information", "texts": "texts"}
"""The database's own names for PostgreSQL's schemas, which DuckDB has too, with tables of its own in them."""
_SECONDS, _WAIT, _LOOK = 0.5, 5.0, 0.05
_MAX_ROWS, _MAX_BYTES = 20_000, 1 << 23
_BATCH = 2_048
_MACROS = (
    *(
        f"CREATE MACRO {kind}_names(a) AS list_transform(a, lambda i: lookup_{kind}_out_1(i))"
        for kind in ("regclass", "regtype", "regproc", "regnamespace")
    ),
    # A list is made whole before anything counts its elements.
    """CREATE MACRO series(a, b) AS generate_series(
        a, CASE WHEN b - a > 100000 THEN error('LookupError: generate_series gives at most 100,000 rows') ELSE b END
    )""",
    "CREATE MACRO expanded(a) AS list_transform(generate_series(1, len(a)), lambda i: {'x': a[i], 'n': i})",
    """CREATE MACRO json_text(t) AS '"' || replace(replace(t, '\\', '\\\\'), '"', '\\"') || '"'""",
)
_LOCKED = (
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET max_temp_directory_size = '0B'",
    "SET memory_limit = '192MiB'",
    "SET threads = 1",
    "SET lock_configuration = true",
)
_TOO_MUCH = "the query of the catalogue takes too much: ask for less at once"


class Database:
    """Tables of the catalogue without files, network, settings or data; queries end after a time and a number of rows.

    Safe to share between threads. The tables are loaded by the first query, for which others wait: a server that starts
    need not, and one that no client of PostgreSQL asks never does.
    """

    def __init__(self, builtin: Mapping[tuple[str, str], BuiltIn], rows: Rows) -> None:
        self._builtin, self._rows = builtin, rows
        self._connection = duckdb.connect(":memory:")
        self._close = weakref.finalize(self, self._connection.close)
        self._loading, self._is_loaded = threading.Lock(), False
        self.lookups = Lookups(builtin, rows)

    def _loaded(self) -> duckdb.DuckDBPyConnection:
        with self._loading:
            if not self._is_loaded:
                self._load_all()
                self._is_loaded = True
            return self._connection

    def _load_all(self) -> None:
        for schema in SCHEMA.values():
            self._connection.execute(f"CREATE SCHEMA {schema}")
        for (schema, name), relation in self._builtin.items():
            self._load(f'{SCHEMA[schema]}."{name}"', relation, self._rows.get((schema, name), ()))
        register(self._connection, self.lookups)
        for statement in _MACROS:
            self._connection.execute(statement)
        for statement in _LOCKED:
            self._connection.execute(statement)

    def _load(self, table: str, relation: BuiltIn, added: Any) -> None:
        kinds = {name: held_as(canonical(kind) or "text") for name, kind in relation.columns.items()}
        columns = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        self._connection.execute(f"CREATE TABLE {table} ({columns})")
        owned = next((name for name in ("oid", "usesysid") if name in kinds), None)
        rows = [row for row in relation.named() if owned is None or (row[owned] or 0) < FIRST]
        rows += added
        if not rows:
            return
        values = [pa.array([row.get(name) for row in rows], ARROW[kind]) for name, kind in kinds.items()]
        loaded = pa.Table.from_arrays(values, list(kinds))
        self._connection.register("loaded", loaded)
        self._connection.execute(f"INSERT INTO {table} FROM loaded")
        self._connection.unregister("loaded")

    def close(self) -> None:
        """Close the database; what asks it then fails."""
        self._close()

    def ask(self, sql: str) -> pa.Table:
        """The rows of a query in DuckDB's dialect that names nothing but what it may.

        Raises `QueryError` where it takes too long, too much memory or too many rows, or means nothing to DuckDB.
        """
        try:
            cursor = self._loaded().cursor()
        except duckdb.ConnectionException:
            raise QueryError("the catalogue is closed") from None
        done = threading.Event()
        threading.Thread(target=_interrupt, args=(cursor, done, _own_clock()), daemon=True).start()
        try:
            reader = cursor.sql(sql).to_arrow_reader(_BATCH)
            batches, count, size = list[pa.RecordBatch](), 0, 0
            for batch in reader:
                batches.append(batch)
                count, size = count + batch.num_rows, size + batch.nbytes
                if count > _MAX_ROWS or size > _MAX_BYTES:
                    raise QueryError(f"a query of the catalogue gives at most {_MAX_ROWS:,} rows, and 8 MiB")
            return pa.Table.from_batches(batches, reader.schema)
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # Arrow's, of an error between two batches
            raise QueryError(_complaint(error)) from None
        finally:
            done.set()
            cursor.close()


def _interrupt(cursor: duckdb.DuckDBPyConnection, done: threading.Event, taken: Callable[[], float]) -> None:
    """Interrupt what takes too long, again and again: DuckDB forgets it between planning and running a query.

    `taken` is the CPU time of the thread that asks, so that a busy machine refuses nothing; it waits `_WAIT` at most.
    """
    limit, until = taken() + _SECONDS, time.monotonic() + _WAIT
    while not done.wait(_LOOK):
        if taken() > limit or time.monotonic() > until:
            cursor.interrupt()


def _own_clock() -> Callable[[], float]:
    """The seconds of CPU that this thread has taken; where a system does not count them, those that pass."""
    if sys.platform in ("win32", "darwin"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(threading.get_ident())

    def taken() -> float:
        try:
            return time.clock_gettime(clock)
        except OSError:  # the thread has ended, and its query with it
            return 0.0

    return taken


def _complaint(error: Exception) -> str:
    """What to say of an error: the words of a lookup, which are ours, and none of DuckDB's."""
    text = str(error)
    _, marked, words = text.partition("LookupError: ")
    if marked:
        return words.splitlines()[0]
    if any(word in text for word in ("INTERRUPT Error", "Out of Memory Error")):
        return _TOO_MUCH
    return f"this query of the catalogue is not supported ({type(error).__name__.removesuffix('Exception')})"


_SCALARS = {
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
    "DECIMAL(38, 6)": pa.decimal128(38, 6),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "TIMESTAMP": pa.timestamp("us"),
    "DATE": pa.date32(),
}
ARROW = _SCALARS | {f"{name}[]": pa.list_(kind) for name, kind in _SCALARS.items()}
