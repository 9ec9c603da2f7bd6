"""Run the rest of a query on released rows and public ones, in a DuckDB of its own that reaches nothing else."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import QueryError

__all__ = ["rehearse", "run_rest"]

_SECONDS, _REHEARSAL_SECONDS = 60.0, 2.0
_MOST_ROWS, _MOST_BYTES = 1_000_000, 2**27
_BATCH = 65_536
_DAYS = (-719_162, 2_932_896)
_MICROSECONDS = (_DAYS[0] * 86_400 * 10**6, (_DAYS[1] + 1) * 86_400 * 10**6 - 1)
"""The years 1 to 9999, since 1970."""
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "1GB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_LOCKED = (
    "SET disabled_optimizers = 'common_subexpressions'",  # which computes what TRY is around outside of it
    "SET python_enable_replacements = false",
    "SET temp_directory = ''",
    "SET enable_progress_bar = false",
    "SET TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_EXAMPLES: Mapping[str, tuple[object, ...]] = {
    "int64": (2**62, 0, None),
    "double": (1e300, 0.0, None),
    "string": ("a", "", None),
    "bool": (True, False, None),
    "date32[day]": (dt.date(9999, 12, 31), dt.date(1, 1, 1), None),
    "timestamp[us]": (dt.datetime(9999, 12, 31), dt.datetime(1, 1, 1), None),  # noqa: DTZ001 - as they are released
}  # fmt: skip


def run_rest(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """The rows of a query over these tables and nothing else; None where it fails, or has over a million rows.

    Post-processing: costs nothing. It may use a gigabyte and a minute, and make 128 MiB.
    """
    try:
        return _run(sql, tables, seconds=_SECONDS)
    except Exception:  # noqa: BLE001 - whatever it is, and DuckDB has many ways to fail in the midst of a stream
        return None


def rehearse(sql: str, tables: Mapping[str, tuple[pa.Schema, int]]) -> pa.Schema:
    """The names and types of a query's columns. Raises `QueryError` for what DuckDB refuses, or fails on example rows.

    Of each table there are the schema, and how many rows it surely has if these are few, else 3. Examples are the ends
    of each type and null.
    """
    examples = {name: _example(schema, rows) for name, (schema, rows) in tables.items()}
    import duckdb

    try:
        result = _run(sql, examples, seconds=_REHEARSAL_SECONDS)
    except (duckdb.Error, pa.ArrowException, MemoryError, OSError) as error:
        raise QueryError(f"the query over the released rows cannot be run: {_problem(error)}") from None
    if result is None:
        raise QueryError(
            f"the query over the released rows makes more than {_MOST_ROWS:,} rows, or than 128 MiB; write "
            "a condition that joins fewer of them"
        )
    return result.schema


def _run(sql: str, tables: Mapping[str, pa.Table], *, seconds: float) -> pa.Table | None:
    import duckdb

    with duckdb.connect(":memory:", read_only=False, config=_SETTINGS) as connection:  # its own: settings are locked
        for name, table in tables.items():
            connection.register(name, table)
        for setting in _LOCKED:
            connection.execute(setting)
        timer = threading.Timer(seconds, connection.interrupt)
        timer.start()
        try:
            reader = connection.sql(sql).to_arrow_reader(_BATCH)
            batches, rows, size = list[Any](), 0, 0
            for batch in reader:
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if rows > _MOST_ROWS or size > _MOST_BYTES:
                    return None
                batches.append(batch)
            result = pa.Table.from_batches(batches, reader.schema)
        finally:
            timer.cancel()
    names = [f"c{i}" for i in range(result.num_columns)]
    return pa.table([_plain(result.column(i), field) for i, field in enumerate(result.schema)], names=names)


def _plain(column: Any, field: pa.Field[Any]) -> Any:
    """A column as a release has it: 64-bit integers, finite doubles, texts, truth values, dates and timestamps."""
    kind = field.type
    if pa.types.is_decimal(kind) and kind.scale == 0:
        inside = pc.less_equal(pc.abs(column), pa.scalar(Decimal(2**63 - 1), kind))
        return pc.if_else(inside, column, None).cast(pa.int64())
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return column.cast(pa.int64())
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        numbers = column.cast(pa.float64())
        return pc.if_else(pc.is_finite(numbers), numbers, None)
    if kind in (pa.string(), pa.bool_()):
        return column
    if kind == pa.date32():
        return _within(column, pa.int32(), _DAYS)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return _within(column.cast(pa.timestamp("us")), pa.int64(), _MICROSECONDS)
    raise QueryError(
        f"{field.name} is of a type that no release has ({kind}); write a number, a text, a date or a timestamp, as "
        "DATE_DIFF('day', a, b) does"
    )


def _within(column: Any, numbers: Any, limits: tuple[int, int]) -> Any:
    """Dates or timestamps, with null in place of those outside the years 1 to 9999."""
    since = column.cast(numbers)
    first, last = (pa.scalar(limit, numbers) for limit in limits)
    return pc.if_else(pc.and_(pc.greater_equal(since, first), pc.less_equal(since, last)), column, None)


def _example(schema: pa.Schema, rows: int) -> pa.Table:
    columns = [pa.array(_EXAMPLES.get(str(field.type), (None,) * 3)[:rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _problem(error: Exception) -> str:
    """DuckDB's complaint in one line, without what it says of its own catalogue."""
    first = str(error).split("\n\n")[0].replace("\n", " ").split(" Candidate")[0].split("Did you mean")[0].strip()
    return f"{first[:300]}; write it otherwise, or compute with the releases"
