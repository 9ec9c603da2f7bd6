"""Every function on hostile rows: nothing raises, and values are DuckDB's but for those listed."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.engines.postgres._dialect import PostgresDialect
from discreet.engines.postgres._functions import renderings
from discreet.engines.postgres._url import Server
from discreet.engines.sql import Expressions
from discreet.query import FUNCTIONS
from discreet.query.expressions._types import check_scalar

_path = Path(__file__).parents[1] / "test_functions.py"
_spec = importlib.util.spec_from_file_location("duckdb_functions", _path)
assert _spec is not None and _spec.loader is not None
duck = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(duck)

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
WRITE = Expressions(PostgresDialect("pg_c_utf8"), duck.COLUMNS)
DIFFERENT = ("REVERSE", "UPPER")
"""REVERSE goes by code points, where DuckDB keeps an accent with its letter; the upper case of ß is ß, not ẞ."""
CHUNKS = 4


@pytest.fixture(scope="module")
def both(load: Load, postgres: str) -> Iterator[tuple[Callable[[str], list[Any]], Callable[[str], list[Any]]]]:
    """The same hostile rows in PostgreSQL, which holds no NUL character, and in DuckDB."""
    rows = [{"n": i, **row} for i, row in enumerate(duck._hostile().to_pylist())]
    rows = [{k: v.replace("\0", "\x01") if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    schema = pa.schema([("n", pa.int32()), *((field.name, field.type) for field in duck._hostile().schema)])
    table = pa.Table.from_pylist(rows, schema)
    name = load({"hostile": table})["hostile"]
    with duckdb.connect() as local, Server(postgres).connect()[0] as server:
        local.execute("SET TimeZone = 'UTC'")
        local.register("arrow", table)
        local.execute("CREATE TABLE hostile AS FROM arrow ORDER BY n")
        texts = ", ".join(f'"c:{n}" COLLATE "C" AS "c:{n}"' for n in "st")
        others = ", ".join(f'"c:{n}"' for n in duck.COLUMNS if n not in "st")
        server.execute("SET default_transaction_read_only = off")
        server.execute(f"CREATE TEMP TABLE hostile AS SELECT n, {others}, {texts} FROM {name}".encode())

        def ours(sql: str) -> list[Any]:
            found = server.execute(f"SELECT {sql} FROM hostile ORDER BY n".encode()).fetchall()
            return [value for (value,) in found]

        def theirs(sql: str) -> list[Any]:
            return [value for (value,) in local.execute(f"SELECT {sql} FROM hostile ORDER BY n").fetchall()]

        yield ours, theirs


def test_the_engine_writes_exactly_what_the_table_lists() -> None:
    assert set(renderings("C")) == {entry.names[0] for entry in FUNCTIONS}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nothing_raises_and_values_are_those_of_duckdb(both: Any, chunk: int) -> None:
    ours, theirs = both
    for text in duck.CASES[chunk::CHUNKS]:
        node = duck._parsed(text)
        kind = check_scalar(node, duck.COLUMNS)
        for clamped in (False, True)[: 1 + (kind == "number")]:
            if kind == "null":
                continue
            one, other = (write._writer(clamped=clamped).value(node) for write in (WRITE, duck.WRITE))
            found, expected = ours(one), theirs(other)
            if not text.startswith(DIFFERENT):
                assert [p for p in zip(found, expected, strict=True) if not _same(*p)] == [], text
        assert ours(WRITE.present(node)) == theirs(duck.WRITE.present(node)), text


def _same(one: Any, other: Any) -> bool:
    """Logarithms and powers are those of another library: their last digit may differ."""
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        return one == other or abs(one - other) <= 4e-16 * abs(other)
    return str(one) == str(other) and (one is None) == (other is None)


def test_what_differs_differs_as_listed(both: Any) -> None:
    ours, theirs = both
    upper = duck._parsed("UPPER(s)")
    one, other = ours(WRITE._writer(clamped=False).value(upper)), theirs(duck.WRITE._writer(clamped=False).value(upper))
    assert one != other
    assert one == [text if text is None else text.replace("ẞ", "ß") for text in other]
    assert ours(WRITE._writer(clamped=False).value(duck._parsed("REVERSE(s)")))[3] == "ŉ eßartS"


CASTS = {
    "BOOLEAN": ["true", "TRUE", "t", "1", "0", "f", "no", "Y", "on", "off", "2", "01", "-1", " true ", ""],
    "BIGINT": [
        *[
            "7",
            "+7",
            "-7",
            "2.5",
            "3.5",
            "-2.5",
            "0.5",
            "1e3",
            "1E3",
            "1e",
            "1.",
            ".5",
            ".",
            "-",
            "0x1F",
            "0b11",
            "1_000",
            "1__0",
            "_1",
            "1_",
            "0o17",
            "00012",
            "1e400",
            "nan",
            "25e-1",
        ],
        *[
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "9223372036854775807.4",
            "1e18",
            "1e19",
            "5e-1",
        ],
        *["12abc", "1,000", "--1", "1.2.3", "1_000.5", "0x", "0xG", "-0x1F", "1.4999999999999999999999999999", "1e+2"],
        *("", " 7 ", "\t7\n", "\x0b7", "７", "\u00a07"),
    ],
    "DOUBLE": [
        *[
            "7",
            "+7",
            "2.5",
            "1e3",
            "1e",
            "1.",
            ".5",
            ".",
            "-.5",
            "0x1F",
            "1_000",
            "nan",
            "NaN",
            "-nan",
            "inf",
            "Inf",
            "+inf",
            "-inf",
            "infinity",
            "-Infinity",
            "infin",
        ],
        *[
            "1e999",
            "-1e999",
            "1e-999",
            "5e-324",
            "2e-324",
            "1d",
            "1f",
            "1.7976931348623159e308",
            "0.1e",
            "1e+",
            "1__0",
            "1_",
            "1,5",
            "1_0.5_0",
            "1e1_0",
        ],
        *("", " 7 ", "\t7\n", "+ 7", "0" * 400 + "1", "1" + "0" * 400, "0." + "0" * 400 + "1"),
    ],
    "DATE": [
        *[
            "2024-02-29",
            "2024-2-9",
            "2024/02/29",
            "2024-02/29",
            "20240229",
            "2024-02-30",
            "2024-02-29x",
            "24-02-29",
            "1-1-1",
            "0001-01-01",
        ],
        *[
            "9999-12-31",
            "10000-01-01",
            "+2024-01-01",
            "epoch",
            "now",
            "today",
            "yesterday",
            "tomorrow",
            "allballs",
            "2024-001",
            "2024-13-01",
        ],
        *(" 2024-02-29 ", "2024-02-29 12:00:00", "2024-02-29T12:00:00", "2024-02-29 (BC)", "Feb 29 2024"),
        *("2024-02-29 00:00:00+05", "2024 02 29", "2024\\02\\29", "2024-02-29 BC", "02-29-2024", "J2451187"),
    ],
    "TIMESTAMP": [
        *[
            "2024-02-29",
            "2024-02-29T12:30:59Z",
            "epoch",
            "now",
            "2024-02-29t12:30:59",
            "20240229T120000",
            "10000-01-01",
        ],
        *("2024-02-29 12:30:59.999999", "2024-02-29 12:30", "2024-02-29 12", "2024-02-29 12:30:59+05"),
        *("2024-02-29 12:30:59+05:30", "2024-02-29 12:30:59 UTC", "2024-02-29 12:30:59 Europe/Berlin"),
        *("2024-02-29 24:00:00", "2024-02-29 23:59:60", "2024-02-29 1:2:3", "2024-02-29 12:30:59.9999999"),
        *("2024-02-29 12:30:59.", "2024/02/29 12:00:00", "2024-02-29  12:00:00", "2020-01-01 00:00:00 Foo/Bar"),
        *("2024-02-29 24:00:01", "2024-02-29 25:00:00", "2024-02-29 12:30:59+5", "9999-12-31 24:00:00"),
    ],
}


@pytest.mark.parametrize("kind", CASTS)
def test_texts_are_read_as_duckdb_reads_them(both: Any, kind: str) -> None:
    ours, theirs = both
    for text in CASTS[kind]:
        node = exp.cast(exp.Concat(expressions=[exp.Literal.string(text)]), kind)
        one, other = (write._writer(clamped=False).value(node) for write in (WRITE, duck.WRITE))
        assert _same(ours(one)[0], theirs(other)[0]), text


def test_a_long_query_is_written_in_proportion_to_its_text() -> None:
    for shape in (
        "LN({})", "SQRT({})", "({} + f)", "({}) * f", "({}) / f", "({}) / 3", "NULLIF({}, 1)", "GREATEST({}, 0)",
        "-({})", "POWER({}, -2)", "POWER({}, f)", "CAST(CAST({} AS VARCHAR) AS DOUBLE)", "CAST({} AS INTEGER)",
        "{} % f", "IF(({}) IN (1, 2), 1, 0)", "ROUND({}, 2)", "ROUND({})", "EXP({})", "LOG2({})",
        "LENGTH(SUBSTRING('abc', {}, 2))", "LENGTH(REPLACE(CAST({} AS VARCHAR), 'a', 'b'))",
    ):  # fmt: skip
        lengths: list[int] = []
        text = "f"
        for _ in range(10):
            text = shape.format(text)
            node = duck._parsed(text)
            lengths.append(len(WRITE.condition(exp.GT(this=node, expression=exp.Literal.number(1)))))
        grown = [b - a for a, b in itertools.pairwise(lengths[2:])]
        assert max(grown) - min(grown) < 40, shape


def test_a_deep_query_is_planned_in_time(both: Any) -> None:
    ours, _ = both
    text = "f"
    for i in range(8):
        text = f"ROUND({text} * f / (f + {i}), 2)"
    ours(WRITE._writer(clamped=False).value(duck._parsed(text)))
