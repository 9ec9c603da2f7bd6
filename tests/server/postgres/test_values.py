"""Values as a real PostgreSQL writes and reads them."""
# ruff: noqa: DTZ001 - timestamps have no zone

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from discreet.ledger.crypto._scram import scram_verifier
from discreet.server.postgres.codec.scram import Verifier
from discreet.server.postgres.values.copying import BINARY_END, BINARY_START, CopyFormat, copied_header, copied_row
from discreet.server.postgres.values.literals import ParameterValueError, literal, quoted
from discreet.server.postgres.values.types import TYPE_KEY, columns_of, rows_of, type_of

NAN, INFINITY = math.nan, math.inf
COLUMNS: list[tuple[str, pa.DataType, list[Any]]] = [
    ("boolean", pa.bool_(), [True, False, None]),
    ("bigint", pa.int64(), [0, -1, 2**63 - 1, -(2**63), None]),
    ("integer", pa.int32(), [0, -(2**31), 7, None]),
    ("smallint", pa.int16(), [0, -(2**15), 7, None]),
    ("text", pa.string(), ["", "Cork's", "NULL", "naïve €\n\t\\x", '"quoted", comma', None]),
    (
        "double precision", pa.float64(),
        [0.0, -0.0, 1.0, 0.1, 1e14, 1e15, 123456789012345.6, 1e16, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, 1 / 3,
         -1234.5, 2**53 + 2.0, NAN, INFINITY, -INFINITY, None],
    ),
    ("real", pa.float32(), [0.1, 1e5, 1e6, 123456.0, 1.5e-5, NAN, INFINITY, None]),
    ("date", pa.date32(), [dt.date(2000, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    ("time", pa.time64("us"), [dt.time(), dt.time(9, 30, 0, 250_000), dt.time(23, 59, 59, 999_999), None]),
    (
        "timestamp", pa.timestamp("us"),
        [dt.datetime(2024, 2, 29, 12, 30), dt.datetime(1999, 12, 31, 23, 59, 59, 999_990), dt.datetime(1, 1, 1), None],
    ),
    (
        "timestamptz", pa.timestamp("us", "Asia/Kathmandu"),
        [dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC), dt.datetime(1999, 12, 31, 23, tzinfo=dt.UTC), None],
    ),
    (
        "numeric(38,10)", pa.decimal128(38, 10),
        [Decimal("0.0000000000"), Decimal("12345678901234567890.0000000001"), Decimal("-0.0000120000"),
         Decimal("10000.0000000000"), None],
    ),
    ("numeric(20,0)", pa.decimal128(20, 0), [Decimal(10000), Decimal(99999999), Decimal(-1), None]),
    ("numeric(20)", pa.uint64(), [0, 2**64 - 1, None]),
    ("text[]", pa.list_(pa.string()), [[], ["a", "b c", "", "NULL", None, 'q"\\', "{x}"], None]),
    ("bigint[]", pa.list_(pa.int64()), [[1, None, -3], [], None]),
    ("bytea", pa.binary(), [b"", b"\x00\xff", None]),
    ("oid", pa.uint32(), [0, 2**32 - 1, None]),
    (
        "interval", pa.month_day_nano_interval(),
        [(14, -3, 4_500_000_000), (0, 0, 0), (-1, 2, -3_600_000_000_000), (-14, 0, 0), (12, 1, 1_000),
         (1, -1, -1_000), None],
    ),
]  # fmt: skip


@pytest.fixture
def utc(postgres: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        yield connection


@pytest.mark.parametrize(("name", "kind", "values"), COLUMNS, ids=[name for name, *_ in COLUMNS])
def test_cells_are_those_of_postgresql(
    utc: psycopg.Connection, name: str, kind: pa.DataType, values: list[Any]
) -> None:
    """PostgreSQL reads our text, and writes the same text and the same bytes."""
    table = pa.table({"x": pa.array(values, kind)})
    texts = [row[0] for row in rows_of(table, [0])]
    binary = [row[0] for row in rows_of(table, [1])]
    (column,) = columns_of(table.schema, [1])
    for text, packed in zip(texts, binary, strict=True):
        given = sql.NULL if text is None else sql.Literal(text.decode())
        asked = sql.SQL("SELECT CAST({} AS {})").format(given, sql.SQL(name)).as_string(utc)
        theirs = utc.pgconn.exec_params(asked.encode(), [], result_format=0)
        assert theirs.get_value(0, 0) == text
        assert (theirs.ftype(0), theirs.fsize(0)) == (column.oid, column.size)
        assert utc.pgconn.exec_params(asked.encode(), [], result_format=1).get_value(0, 0) == packed


def test_types_of_the_catalogue_are_named_by_metadata() -> None:
    schema = pa.schema(
        [
            pa.field("relname", pa.string(), metadata={TYPE_KEY: b"name"}),
            pa.field("relkind", pa.string(), metadata={TYPE_KEY: b'"char"'}),
            pa.field("indkey", pa.list_(pa.int16()), metadata={TYPE_KEY: b"int2vector"}),
            pa.field("d", pa.dictionary(pa.int8(), pa.string())), pa.field("n", pa.null()),
        ]
    )  # fmt: skip
    assert [type_of(field).oid for field in schema] == [19, 18, 22, 25, 25]
    arrays = [["t"], ["r"], [[1, 2]], pa.array(["k"]).dictionary_encode().cast(schema[3].type), [None]]
    columns = [pa.array(a, f.type) if isinstance(a, list) else a for a, f in zip(arrays, schema, strict=True)]
    table = pa.table(columns, schema=schema)
    assert list(rows_of(table, [])) == [[b"t", b"r", b"1 2", b"k", None]]
    assert [column.size for column in columns_of(schema, [])][:2] == [64, 1]


def test_formats_are_none_one_or_one_for_each() -> None:
    table = pa.table({"a": [1], "b": [2]})
    assert list(rows_of(table, [0, 1])) == [[b"1", (2).to_bytes(8, "big")]]
    for formats in ([0, 0, 0], [1, 0, 1]):
        with pytest.raises(ValueError, match="3 formats for 2 columns"):
            rows_of(table, formats)
        with pytest.raises(ValueError, match="3 formats for 2 columns"):
            columns_of(table.schema, formats)
    assert list(rows_of(pa.table({}), [])) == []


PARAMETERS: list[tuple[str, int, list[Any]]] = [
    ("smallint", 21, [0, -(2**15), 2**15 - 1]),
    ("integer", 23, [7, -1]),
    ("bigint", 20, [2**63 - 1, -(2**63)]),
    ("real", 700, [0.5, -1.5e-5]),
    ("double precision", 701, [0.1, -1e300, 5e-324, -0.0]),
    ("numeric", 1700,
     [Decimal("0.00"), Decimal("-12345.678900"), Decimal("1E+20"), Decimal("0.00001"), Decimal(10_000)]),
    ("text", 25, ["", "Cork's", "a\\nb", "$1 -- '; DROP TABLE t", "€"]),
    ("varchar", 1043, ["x"]),
    ("boolean", 16, [True, False]),
    ("date", 1082, [dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    ("timestamp", 1114, [dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(1, 1, 1)]),
    (
        "timestamptz", 1184,
        [dt.datetime(2024, 2, 29, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=45))),
         dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-8)))],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "oid", "values"), PARAMETERS, ids=[name for name, *_ in PARAMETERS])
@pytest.mark.parametrize("code", [0, 1])
def test_parameters_mean_what_they_mean_to_postgresql(
    utc: psycopg.Connection, name: str, oid: int, values: list[Any], code: int
) -> None:
    for value in values:
        asked = sql.SQL("SELECT ({})::{}").format(sql.Literal(value), sql.SQL(name)).as_string(utc)
        sent = utc.pgconn.exec_params(asked.encode(), [], result_format=code).get_value(0, 0)
        constant = literal(oid, code, sent)
        plain = "timestamp" if name == "timestamptz" else name  # a zoned moment is asked as that of UTC
        same = f"SELECT ({constant})::{plain} = ({asked.removeprefix('SELECT ')}), {constant}"
        assert utc.execute(same).fetchall()[0][0] is True  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("oid", "code", "value", "sqlstate"),
    [
        (23, 0, b"1; DROP TABLE t", "22P02"), (23, 0, b"2147483648", "22P02"), (23, 0, b"", "22P02"),
        (23, 0, b"1_000", "22P02"), (23, 0, "١".encode(), "22P02"), (23, 0, b"9" * 9999, "22P02"),
        (23, 1, b"\0\0\0", "22P03"), (20, 1, b"", "22P03"), (16, 1, b"\2", "22P03"), (16, 0, b"maybe", "22P02"),
        (701, 0, b"NaN", "22023"), (701, 0, b"-Infinity", "22023"), (701, 1, b"\x7f\xf0" + bytes(6), "22023"),
        (701, 0, b"1e9999", "22023"), (701, 0, b"0x10", "22P02"), (700, 1, b"\0", "22P03"),
        (1700, 0, b"NaN", "22023"), (1700, 0, b"1e9999", "22003"), (1700, 0, b"1" * 2000, "22P02"),
        (1700, 1, b"\0\0\0\0\xc0\0\0\0", "22023"), (1700, 1, b"\0\1\x7f\xff\0\0\0\0\0\1", "22P03"),
        (1700, 1, b"\0\1\0\0\0\0\0\0\x27\x10", "22P03"), (1700, 1, b"\x7f\xff\0\0\0\0\0\0", "22P03"),
        (1700, 1, b"", "22P03"),
        (25, 0, b"a\0b", "22021"), (25, 0, b"\xff", "22P02"), (25, 1, b"\xff", "22P03"),
        (1082, 0, b"yesterday", "22P02"), (1082, 1, b"\x7f\xff\xff\xff", "22P03"), (1082, 0, b"2024-02-30", "22P02"),
        (1114, 1, b"\x7f" + b"\xff" * 7, "22P03"), (1114, 0, b"infinity", "22P02"),
        (1184, 0, b"0001-01-01 00:00:00+14", "22P02"),
        (1182, 0, b"{}", "0A000"), (3802, 1, b"{}", "0A000"), (1028, 1, b"\0\0\0\1", "22P03"), (26, 1, b"", "22P03"),
        (1028, 1, b"\0\0\0\1\0\0\0\0\0\0\0\x1a\x7f\0\0\0\0\0\0\1", "22P03"),
    ],
)  # fmt: skip
def test_a_value_that_is_none_is_refused(oid: int, code: int, value: bytes, sqlstate: str) -> None:
    with pytest.raises(ParameterValueError) as error:
        literal(oid, code, value)
    assert error.value.sqlstate == sqlstate
    assert "DROP" not in str(error.value)


@pytest.mark.parametrize("values", [[], [1, 2**31], [None], [0, None, 7]])
def test_arrays_of_numbers_of_objects(utc: psycopg.Connection, values: list[int | None]) -> None:
    asked = sql.SQL("SELECT {}::oid[]").format(sql.Literal(values)).as_string(utc)
    for code in (0, 1):
        sent = utc.pgconn.exec_params(asked.encode(), [], result_format=code).get_value(0, 0)
        same = utc.execute(
            f"SELECT ({literal(1028, code, sent)})::oid[] IS NOT DISTINCT FROM {asked.removeprefix('SELECT ')}"
        )  # pyright: ignore[reportArgumentType]
        assert same.fetchone() == (True,)


@pytest.mark.parametrize("values", [["a", None, 'q"u\\o,te', "", "it's"], []])
def test_arrays_of_texts(utc: psycopg.Connection, values: list[str | None]) -> None:
    asked = sql.SQL("SELECT {}::text[]").format(sql.Literal(values)).as_string(utc)
    for code in (0, 1):
        sent = utc.pgconn.exec_params(asked.encode(), [], result_format=code).get_value(0, 0)
        row = utc.execute(f"SELECT ({literal(1009, code, sent)})::text[]").fetchone()  # pyright: ignore[reportArgumentType]
        assert row == (values,)


@pytest.mark.parametrize(
    ("kind", "oid", "text"),
    [
        ("date", 1082, "2024-02-29 +01"),
        ("date", 1082, "2024-02-29 -11:30"),
        ("date", 1082, "2024-02-29 23:30:00+02"),
        ("timestamp", 1114, "2024-02-29 12:30:00.5 +01"),
        ("timestamp", 1114, "2024-02-29"),
        ("timestamp", 1114, "2024-02-29T12:30Z"),
        ("timestamptz", 1184, "2024-02-29 00:30:00 +0145"),
        ("timestamptz", 1184, "2024-02-29 12:30:00.123456-08"),
    ],
)
def test_dates_as_jdbc_writes_them(utc: psycopg.Connection, kind: str, oid: int, text: str) -> None:
    plain = "timestamp" if kind == "timestamptz" else kind
    row = utc.execute(f"SELECT ({literal(oid, 0, text.encode())})::{plain} = '{text}'::{kind}").fetchone()  # pyright: ignore[reportArgumentType]
    assert row == (True,)


def test_null_is_null_and_a_quote_is_doubled() -> None:
    assert literal(23, 1, None) == "NULL"
    assert quoted("it's") == "'it''s'"
    with pytest.raises(ParameterValueError):
        quoted("\0")


TEXTS = [
    "",
    "plain",
    "a,b",
    'say "hi"',
    "line\nbreak",
    "\r",
    "tab\there",
    "back\\slash",
    "\\.",
    "\\N",
    "NULL",
    "é",
    None,
    "x|y",
]


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ("", CopyFormat()),
        ("(HEADER)", CopyFormat(header=True)),
        ("(DELIMITER '|', NULL 'NULL')", CopyFormat(delimiter="|", null="NULL")),
        ("(FORMAT csv)", CopyFormat("csv", ",", "")),
        ("(FORMAT csv, HEADER)", CopyFormat("csv", ",", "", header=True)),
        ("(FORMAT csv, DELIMITER '|', NULL 'NULL', QUOTE '''', ESCAPE '\\')",
         CopyFormat("csv", "|", "NULL", quote="'", escape="\\")),
        ("(FORMAT csv, FORCE_QUOTE *)", CopyFormat("csv", ",", "", forced=None)),
        ("(FORMAT csv, FORCE_QUOTE (a))", CopyFormat("csv", ",", "", forced=frozenset({"a"}))),
        ("(FORMAT binary)", CopyFormat("binary")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("alone", [False, True])
def test_copied_rows_are_those_of_postgresql(
    utc: psycopg.Connection, options: str, how: CopyFormat, alone: bool
) -> None:
    names = ["a b"] if alone else ["a", "b,c"]
    rows = [[text] for text in TEXTS] if alone else list(zip(TEXTS, reversed(TEXTS), strict=True))
    if alone and "(a)" in options:
        options = options.replace("(a)", '("a b")')
        how = CopyFormat("csv", ",", "", forced=frozenset({"a b"}))
    cells = [sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Literal(x)) for x in row) for row in rows]
    values = sql.SQL(", ").join(map(sql.SQL("({})").format, cells))
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    asked = sql.SQL("COPY (SELECT * FROM (VALUES {}) AS t ({})) TO STDOUT {}").format(values, columns, sql.SQL(options))
    with utc.cursor() as cursor, cursor.copy(asked) as copy:
        theirs = b"".join(map(bytes, copy))
    encoded = [[None if text is None else text.encode() for text in row] for row in rows]
    ours = copied_header(names, how) + b"".join(copied_row(row, names, how) for row in encoded)
    assert (BINARY_START + ours + BINARY_END if how.binary else ours) == theirs


def test_a_verifier_is_the_one_that_postgresql_stores(admin: psycopg.Connection) -> None:
    admin.execute("SET password_encryption = 'scram-sha-256'")
    admin.execute("CREATE ROLE oracle PASSWORD 'some token'")
    try:
        row = admin.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'oracle'").fetchone()
    finally:
        admin.execute("DROP ROLE oracle")
    assert row is not None
    theirs = Verifier.parse(row[0])
    assert scram_verifier("some token", theirs.salt, theirs.iterations) == row[0]
    assert (len(theirs.salt), theirs.iterations) == (16, 4096)
