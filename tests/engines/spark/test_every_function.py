"""Every function on hostile columns: nothing raises, and values are DuckDB's, but for a short list of differences."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.engines.spark._dialect import DIALECT
from discreet.engines.spark._functions import RENDERINGS
from discreet.engines.spark._private import PrivateSession
from discreet.engines.sql import Expressions
from discreet.query import FUNCTIONS
from discreet.query.expressions._types import check_scalar

sys.path.insert(0, str(Path(__file__).parents[1]))

from test_functions import CASES, COLUMNS, WRITE, _hostile, _parsed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 120
"""Every value of each column is among the first."""
LAST_BIT = (
    *("LN(", "LOG", "EXP(", "POWER(", "^"),
    *(f"{entry.names[0]}(" for entry in FUNCTIONS if entry.native and entry.evaluate is None),
)
"""Java's own library, which may differ in the last bits from that of C."""
OTHER = {
    ("LOWER", "İıſK"): "Java knows longer forms in the other case",
    ("UPPER", "Straße ŉ"): "Java knows longer forms in the other case",
    ("REVERSE", "e\u0301\u0301"): "code points, where DuckDB keeps together what makes one character",
    ("REVERSE", "👨‍👩‍👧é"): "code points, where DuckDB keeps together what makes one character",
    ("CAST", "0x1F"): "digits are decimal",
    ("CAST", "epoch"): "moments are written in digits",
    ("CAST", "2020-01-01 00:00:00 Foo/Bar"): "zones are UTC or an offset",
    ("CAST", "2020-01-01 24:00:00"): "an hour is 0 to 23",
}
"""Values that differ, by the function and the text that it is of."""
OURS = Expressions(DIALECT, COLUMNS)
Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]


@pytest.fixture(scope="module")
def both(spark: SparkSession, load: Load) -> Iterator[tuple[PrivateSession, Any]]:
    table = _hostile().slice(0, ROWS)
    table = table.append_column("#", pa.array(range(ROWS)))
    session, connection = PrivateSession(spark), duckdb.connect()
    session.bind("hostile", load({"hostile": table})["hostile"])
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("arrow", table)
    connection.execute("CREATE TABLE hostile AS SELECT * FROM arrow")
    yield session, connection
    session.close()
    connection.close()


def test_the_engine_writes_exactly_what_the_table_lists() -> None:
    assert set(RENDERINGS) == {entry.names[0] for entry in FUNCTIONS}


@pytest.mark.parametrize("chunk", range(6))
def test_nothing_raises_and_values_are_those_of_duckdb(both: tuple[PrivateSession, Any], chunk: int) -> None:
    session, connection = both
    cases = [(text, _parsed(text)) for text in CASES[chunk::6]]
    kinds = [check_scalar(node, COLUMNS) for _, node in cases]
    cases = [(*case, kind) for case, kind in zip(cases, kinds, strict=True) if kind != "null"]
    ours, theirs = (
        [(_shown(write, node, kind), _present(write, node)) for _, node, kind in cases] for write in (OURS, WRITE)
    )
    found = _columns(session.rows(_query(ours, "`")))
    expected = _columns(connection.execute(_query(theirs, '"')).fetchall())
    texts = {
        name: _columns(connection.execute(f'SELECT "c:{name}" FROM hostile ORDER BY "#"').fetchall())[0]
        for name in "st"
    }
    for i, (text, _, _) in enumerate(cases):
        for row, (mine, other) in enumerate(zip(found[2 * i], expected[2 * i], strict=True)):
            if not _same(mine, other, text):
                of = [texts[name][row] for name in "st" if f"({name}" in text or f" {name}" in text]
                assert any((f in text) and t in of for f, t in OTHER), (text, of, mine, other)
        if not any(f in text for f, _ in OTHER):
            assert found[2 * i + 1] == expected[2 * i + 1], text
        assert set(found[2 * i + 1]) <= {True, False}


def _shown(write: Expressions, node: Any, kind: str) -> str:
    bounded = kind == "number" and any(column.name in ("p", "q") for column in node.find_all(exp.Column))
    sql = write._writer(clamped=bounded).value(node)
    return write.dialect.cast(sql, "VARCHAR") if kind in ("date", "timestamp") else sql


def _present(write: Expressions, node: Any) -> str:
    return write.present(node)


def _query(pairs: list[tuple[str, str]], quote: str) -> str:
    items = [f"{sql} AS r{i}" for i, sql in enumerate(sql for pair in pairs for sql in pair)]
    return f"SELECT {', '.join(items)} FROM hostile ORDER BY {quote}#{quote}"


def _columns(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))


def _same(one: Any, other: Any, text: str) -> bool:
    if isinstance(one, float) and isinstance(other, float) and any(name in text for name in LAST_BIT):
        return math.isclose(one, other, rel_tol=1e-12)
    if one != other and text in ("CAST(f AS VARCHAR)", "CAST(g AS VARCHAR)", "CAST(h AS VARCHAR)"):
        return float(one) == float(other)  # Java may write digits beyond those needed
    return one == other
