"""From Arrow's types to PostgreSQL's, and the cells of an answer.

Source: PostgreSQL manual, section "pg_type"; ``src/include/catalog/pg_type.dat`` for the OIDs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.server.postgres.codec.backend import Column
from discreet.server.postgres.values import cells

__all__ = ["TYPE_KEY", "PgType", "columns_of", "rows_of", "type_named", "type_of"]

TYPE_KEY = b"pg_type"
"""A field's metadata under this key is PostgreSQL's name of its type, where Arrow's does not say it."""


@dataclass(frozen=True, slots=True)
class PgType:
    """A type: its OID, its width in bytes (-1 varies), and how its values are written in both formats."""

    oid: int
    size: int
    text: Callable[[Any], str]
    binary: Callable[[Any], bytes]
    array: int | None = None


_BOOL = PgType(16, 1, cells.bool_text, cells.packed("!?"), 1000)
_BYTEA = PgType(17, -1, cells.bytes_text, bytes, 1001)
_INT8 = PgType(20, 8, str, cells.packed("!q"), 1016)
_INT2 = PgType(21, 2, str, cells.packed("!h"), 1005)
_INT4 = PgType(23, 4, str, cells.packed("!i"), 1007)
_TEXT = PgType(25, -1, str, str.encode, 1009)
_OID_TYPE = PgType(26, 4, str, cells.packed("!I"), 1028)
_FLOAT4 = PgType(700, 4, cells.float4_text, cells.packed("!f"), 1021)
_FLOAT8 = PgType(701, 8, cells.float8_text, cells.packed("!d"), 1022)
_DATE = PgType(1082, 4, str, cells.date_binary, 1182)
_TIME = PgType(1083, 8, cells.time_text, cells.time_binary, 1183)
_TIMESTAMP = PgType(1114, 8, cells.timestamp_text, cells.timestamp_binary, 1115)
_TIMESTAMPTZ = PgType(1184, 8, cells.timestamptz_text, cells.timestamp_binary, 1185)
_INTERVAL = PgType(1186, 16, cells.interval_text, cells.interval_binary, 1187)
_NUMERIC = PgType(1700, -1, cells.numeric_text, cells.numeric_binary, 1231)

_CHAR = PgType(18, 1, str, str.encode, 1002)  # "char"
_NAME = PgType(19, 64, str, str.encode, 1003)
_VARCHAR = PgType(1043, -1, str, str.encode, 1015)
_BPCHAR = PgType(1042, -1, str, str.encode, 1014)
_JSON = PgType(114, -1, str, str.encode, 199)
_BY_NAME = {
    "smallint": _INT2, "integer": _INT4, "bigint": _INT8, "real": _FLOAT4, "double precision": _FLOAT8,
    "numeric": _NUMERIC, "boolean": _BOOL, "date": _DATE, "timestamp without time zone": _TIMESTAMP,
    "timestamp with time zone": _TIMESTAMPTZ, "oid": _OID_TYPE, "text": _TEXT, "name": _NAME, '"char"': _CHAR,
    "character varying": _VARCHAR, "character": _BPCHAR, "json": _JSON, "jsonb": _JSON,
}  # fmt: skip
"""By the names of `format_type`. Others, such as regclass, are sent as text, as which they are shown."""
_VECTORS = {"int2vector": (22, _INT2), "oidvector": (30, _OID_TYPE)}

_TESTS: tuple[tuple[Callable[[pa.DataType], bool], PgType], ...] = (
    (pa.types.is_boolean, _BOOL),
    (pa.types.is_int64, _INT8),
    (pa.types.is_int32, _INT4),
    (lambda kind: pa.types.is_int16(kind) or pa.types.is_int8(kind) or pa.types.is_uint8(kind), _INT2),
    (pa.types.is_uint32, _OID_TYPE),
    (pa.types.is_uint16, _INT4),
    (pa.types.is_float64, _FLOAT8),
    (lambda kind: pa.types.is_float32(kind) or pa.types.is_float16(kind), _FLOAT4),
    (lambda kind: pa.types.is_decimal(kind) or pa.types.is_uint64(kind), _NUMERIC),
    (pa.types.is_date, _DATE),
    (pa.types.is_time, _TIME),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, _TIMESTAMP),
    (pa.types.is_timestamp, _TIMESTAMPTZ),
    (lambda kind: pa.types.is_duration(kind) or pa.types.is_interval(kind), _INTERVAL),
    (
        lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind),
        _BYTEA,
    ),
)


def type_named(name: str) -> PgType:
    """The type on the wire of one that PostgreSQL names so; text where it is none of ours.

    >>> type_named("oid[]").oid, type_named("regclass").oid
    (1028, 25)
    """
    if name in _VECTORS:
        oid, inner = _VECTORS[name]
        return PgType(oid, -1, cells.vector_text, cells.array_binary(inner.oid, inner.binary))
    if name.endswith("[]"):
        return _array_of(type_named(name.removesuffix("[]")))
    return _BY_NAME.get(name, _TEXT)


def type_of(field: pa.Field) -> PgType:
    """The type that a column has on the wire; what has none of its own is text."""
    named = (field.metadata or {}).get(TYPE_KEY)
    if named is not None:
        return type_named(named.decode())
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _array_of(type_of(kind.value_field))
    return next((each for is_one, each in _TESTS if is_one(kind)), _TEXT)


def _array_of(element: PgType) -> PgType:
    oid = element.array or 1009
    return PgType(oid, -1, cells.array_text(element.text), cells.array_binary(element.oid, element.binary))


def columns_of(schema: pa.Schema, formats: Sequence[int]) -> list[Column]:
    """The description of an answer's columns, in the formats asked for: none, one for all, or each its own.

    Raises `ValueError` for another number of formats.
    """
    chosen = _spread(formats, len(schema))
    return [
        Column(field.name, kind.oid, kind.size, binary=bool(code))
        for field, kind, code in zip(schema, map(type_of, schema), chosen, strict=True)
    ]


def rows_of(table: pa.Table, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
    """The cells of an answer, row by row. Raises `ValueError` as `columns_of` does."""
    columns: list[list[bytes | None]] = []
    for field, column, code in zip(table.schema, table.columns, _spread(formats, table.num_columns), strict=True):
        kind = type_of(field)
        write = kind.binary if code else _encoded(kind.text)
        columns.append([None if value is None else write(value) for value in _values(column)])
    if not columns:
        return iter([[] for _ in range(table.num_rows)])
    return map(list, zip(*columns, strict=True))


def _values(column: Any) -> list[Any]:
    """Python's values of a column; what is finer than a microsecond is cut off."""
    kind = column.type
    if pa.types.is_null(kind):
        return [None] * len(column)
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_time(kind):
        column = column.cast(pa.time64("us"), safe=False)
    elif pa.types.is_duration(kind):
        column = column.cast(pa.duration("us"), safe=False)
    elif pa.types.is_uint64(kind):
        column = column.cast(pa.decimal128(20, 0))
    return column.to_pylist()


def _encoded(text: Callable[[Any], str]) -> Callable[[Any], bytes]:
    return lambda value: text(value).encode(errors="replace")


def _spread(formats: Sequence[int], count: int) -> Sequence[int]:
    if len(formats) > 1 and len(formats) != count:
        raise ValueError(f"{len(formats)} formats for {count} columns")
    return formats if len(formats) > 1 else [formats[0] if formats else 0] * count
