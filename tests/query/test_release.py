"""Releases for other libraries and for notebooks; casts of what is released, and dates that are written as calls."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.policy import Policy
from discreet.query import make_plan
from discreet.query._release import Release
from discreet.query.results._answer import QUANTILE, Answer, ErrorShape

pytestmark = pytest.mark.usefixtures("one_database")

VALUES = pa.table({"k": ["a", None, "ż"], "n": pa.array([3, -1, 2**62]), "m": [1.5, None, 2.0]})


def release_of(table: pa.Table) -> Release:
    shapes = {name: ErrorShape({}, linear=name != "m", cap=None) for name in table.column_names[1:]}
    return Release(Answer(table, shapes), dp.pure(1), {})


def test_what_reads_arrow_reads_a_release() -> None:
    release = release_of(VALUES)
    assert pa.table(release).equals(VALUES)
    assert pa.RecordBatchReader.from_stream(release).read_all().equals(VALUES)
    assert pl.DataFrame(release).equals(release.to_polars())
    assert duckdb.sql("SELECT * FROM release").arrow().read_all().to_pydict() == VALUES.to_pydict()
    assert nw.from_arrow(release, backend="pyarrow").to_native().equals(VALUES)
    assert pd.DataFrame.from_arrow(release).equals(release.to_pandas())


def test_a_release_is_handed_over_in_another_type_where_one_is_asked_for() -> None:
    asked = pa.schema([("k", pa.large_string()), ("n", pa.int64()), ("m", pa.float64())])
    assert (
        pa.RecordBatchReader.from_stream(release_of(VALUES), schema=asked).schema.field("k").type == pa.large_string()
    )


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_a_notebook_shows_error_bars() -> None:
    page = Cells()
    page.feed(release_of(VALUES)._repr_html_())
    assert page.text[:3] == ["k", "n", "m"]
    assert page.text[3:6] == ["a", "3 ± 0", "1.5000 ± ~0.0000"]
    assert page.text[6:9] == ["NULL", "-1 ± 0", "NULL"]
    assert page.text[-1].startswith("3 rows; ± is 95 % of the noise; ~ approximate; cost epsilon 1")


def test_what_hangs_on_a_quantile_has_no_half_width_beside_it() -> None:
    shapes = {name: ErrorShape({QUANTILE: np.ones(1)}, linear=False, cap=None) for name in ("whole", "part")}
    release = Release(Answer(pa.table({"whole": [3_000], "part": [2.5]}), shapes), dp.pure(1), {})
    assert release.cells() == [["3,000", "2.5"]]


def test_hostile_keys_and_names_stay_text_in_a_notebook() -> None:
    key = "<script>alert(1)</script>&\"'\x1b[2J\u202e"
    page = Cells()
    html = release_of(pa.table({key: [key], "<b>n</b>": [1]}))._repr_html_()
    page.feed(html)
    assert set(page.tags) == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert "\x1b" not in html and "\u202e" not in html
    assert page.text[0] == "<script>alert(1)</script>&\"'\\x1b[2J\\u202e" and page.text[1] == "<b>n</b>"


def test_a_notebook_says_that_rows_are_left_out() -> None:
    page = release_of(pa.table({"k": [str(i) for i in range(51)], "n": range(51)}))._repr_html_()
    assert page.count("<tr>") == 51 and "first 50 of 51 rows" in page


CASTS = [
    ("CAST(COUNT(*) AS DOUBLE)", pa.float64()),
    ("TRY_CAST(AVG(age) AS DOUBLE)", pa.float64()),
    ("CAST(ROUND(AVG(age), 3) AS DOUBLE)", pa.float64()),
    ("CAST(ROUND(AVG(age)) AS BIGINT)", pa.int64()),
    ("CAST(ROUND(SUM(age), -2) AS BIGINT)", pa.int64()),
    ("CAST(ROUND(SUM(age) / (COUNT(*) - COUNT(*))) AS BIGINT)", pa.int64()),
    ("CAST(ROUND(SUM(age) * 1e300) AS BIGINT)", pa.int64()),
    ("CAST(COUNT(*) AS DOUBLE) / 2", pa.float64()),
]


@pytest.mark.parametrize(("written", "kind"), CASTS, ids=[written for written, _kind in CASTS])
def test_released_numbers_are_cast(written: str, kind: pa.DataType, policy: Policy, clinic: pa.Table) -> None:
    """As plain DuckDB does, but a number too large for BIGINT is the largest one, and a division by zero is null."""
    query = f"SELECT {written} AS x FROM clinic HAVING {written} > -1 OR {written} IS NULL ORDER BY {written}"
    with dp.connect({"Clinic": clinic}, policy) as session:
        answer = session.sql(query, dp.approx(10**9, "1e-6")).to_arrow()
    assert answer.schema.field("x").type == kind
    (ours,) = answer.column("x").to_pylist()
    if "1e300" in written:
        assert ours == 2**63 - 1024
        return
    if "- COUNT" in written:
        assert ours is None
        return
    plain = duckdb.connect()
    plain.register("clinic", clinic)
    held = written.replace("age", "LEAST(age, 120)")
    ((theirs,),) = plain.sql(f"SELECT {held} FROM clinic").fetchall()
    assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(
    "written",
    [
        "CAST(COUNT(*) AS INTEGER)",
        "CAST(AVG(age) AS BIGINT)",
        "CAST(ROUND(AVG(age), 1) AS BIGINT)",
        "CAST(AVG(age) AS FLOAT)",
        "CAST(AVG(age) AS DECIMAL(9, 2))",
        "CAST(COUNT(*) AS VARCHAR)",
        "CAST(ROUND(AVG(age)) AS BIGINT) + 1",
    ],
)
def test_other_casts_of_released_numbers_are_refused(written: str, policy: Policy) -> None:
    with pytest.raises(dp.QueryError, match="not supported"):
        make_plan(f"SELECT {written} AS x FROM clinic", policy)


MOMENTS = {
    "seen > MAKE_DATE(2024, 2, 29)": "seen > DATE '2024-02-29'",
    "stamp > MAKE_TIMESTAMP(2024, 1, 31, 23, 59, 59.5)": "stamp > TIMESTAMP '2024-01-31 23:59:59.5'",
    "stamp > MAKE_TIMESTAMP(2024, 1, 31, 0, 0, 0)": "stamp > TIMESTAMP '2024-01-31'",
}


@pytest.mark.parametrize("written", MOMENTS)
def test_dates_made_of_constants_are_constants(written: str, policy: Policy) -> None:
    ours, hand = (f"SELECT COUNT(*) AS n FROM clinic WHERE {each}" for each in (written, MOMENTS[written]))
    assert make_plan(ours, policy).hash(policy) == make_plan(hand, policy).hash(policy)


@pytest.mark.parametrize(
    "written",
    [
        *("MAKE_DATE(2023, 2, 29)", "MAKE_DATE(0, 1, 1)", "MAKE_DATE(99999, 1, 1)", "MAKE_DATE(2024, 1.5, 1)"),
        *(
            "MAKE_DATE(age, 1, 1)",
            "MAKE_DATE(2024, 1)",
            "MAKE_DATE('2024', 1, 1)",
            "MAKE_DATE(-1, 1, 1)",
            "MAKE_DATE(1e999999999, 1, 1)",
            "MAKE_TIMESTAMP(2024, 1, 1, 1, 1, 1e-999999999)",
            "MAKE_DATE(3)",
        ),
        *("MAKE_TIMESTAMP(2024, 1, 1, 24, 0, 0)", "MAKE_TIMESTAMP(2024, 1, 1, 0, 0, 60)", "MAKE_TIMESTAMP(17)"),
        *("MAKE_TIMESTAMP(2024, 1, 1, 0, 0, 1e-9)", "MAKE_TIMESTAMP(2024, 1, 1, 0.5, 0, 0)"),
        *("MAKE_TIMESTAMP(2024, 1, 1, 0, 0, 1e999999)"),
    ],
)
def test_dates_that_there_are_none_of_are_refused(written: str, policy: Policy) -> None:
    with pytest.raises(dp.QueryError):
        make_plan(f"SELECT COUNT(*) AS n FROM clinic WHERE stamp > {written}", policy)
