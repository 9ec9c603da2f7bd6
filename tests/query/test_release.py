"""Releases for other libraries and for notebooks; casts of what is released, and dates that are written as calls."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.mechanisms import DiscreteLaplace
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
    assert any(line.startswith("3 rows; ± is 95 % of the noise; ~ approximate; cost epsilon 1") for line in page.text)


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


def with_noise(table: pa.Table, **halves: float) -> Release:
    """A release whose columns of these names have noise of these half-widths, NaN for a quantile."""
    shapes = {
        name: ErrorShape({QUANTILE if np.isnan(half) else 0: np.ones(table.num_rows)}, linear=True, cap=half)
        for name, half in halves.items()
    }
    return Release(Answer(table, shapes, (DiscreteLaplace(10**9),)), dp.pure(1), {})


def test_intervals_stand_beside_their_values() -> None:
    table = pa.table({"k": ["a", None], "n": [3, 40], "m": [1.5, None], "q": [7.0, 8.0]})
    release = with_noise(table, n=5, m=0.5, q=np.nan)
    assert release.to_arrow() is table and release.to_arrow(errors=False, level=0.5) is table
    answer = release.to_arrow(errors=True)
    assert answer.to_pydict() == {
        "k": ["a", None],
        "n": [3, 40],
        "n_low": [-2.0, 35.0],
        "n_high": [8.0, 45.0],
        "m": [1.5, None],
        "m_low": [1.0, None],
        "m_high": [2.0, None],
        "q": [7.0, 8.0],
        "q_low": [None, None],
        "q_high": [None, None],
    }
    assert answer.schema.field("n").type == pa.int64() and answer.schema.field("n_low").type == pa.float64()
    assert release.to_polars(errors=True).equals(pl.DataFrame(answer))
    assert release.to_pandas(errors=True).equals(answer.to_pandas())
    assert release.to_pandas().equals(table.to_pandas()) and release.to_polars().equals(pl.DataFrame(table))


def test_intervals_are_those_of_the_level(policy: Policy, clinic: pa.Table) -> None:
    with dp.connect({"Clinic": clinic}, policy) as session:
        release = session.sql("SELECT plan, COUNT(*) AS n, AVG(age) AS a FROM clinic GROUP BY plan", dp.pure(1))
    narrow = release.to_arrow(errors=True, level=0.5)
    for name in ("n", "a"):
        values, half = np.asarray(release.to_arrow()[name], dtype=float), release.error(name, 0.5)
        assert np.array_equal(narrow[f"{name}_low"], values - half)
        assert np.array_equal(narrow[f"{name}_high"], values + half)
    wide = release.to_arrow(errors=True)
    assert np.all(np.asarray(wide["n_high"]) > np.asarray(narrow["n_high"]))
    for level in (0, 1, True, "0.5"):
        with pytest.raises(dp.ParameterError, match="level must lie"):
            release.to_arrow(errors=True, level=level)


def test_names_of_intervals_are_taken_by_no_other_column() -> None:
    table = pa.table({"N_LOW": ["a"], "n": [3], "n_high_2": [1], "m": [2], "M_high_2": [4]})
    names = with_noise(table, n=1, n_high_2=1, m=1).to_arrow(errors=True).column_names
    assert names == [
        *("N_LOW", "n", "n_low_3", "n_high_3"),
        *("n_high_2", "n_high_2_low", "n_high_2_high"),
        *("m", "m_low", "m_high", "M_high_2"),
    ]


def test_what_is_not_known_has_infinite_ends() -> None:
    shapes = {"x": ErrorShape({0: np.ones(1)}, linear=True, cap=None, slack=np.inf)}
    release = Release(Answer(pa.table({"x": [2.0]}), shapes, (DiscreteLaplace(1),)), dp.pure(1), {})
    assert release.error("x").tolist() == [np.inf]
    assert release.to_arrow(errors=True).to_pydict() == {"x": [2.0], "x_low": [-np.inf], "x_high": [np.inf]}


def test_a_release_draws_itself(policy: Policy, clinic: pa.Table, tmp_path: Path) -> None:
    with dp.connect({"Clinic": clinic}, policy) as session:
        release = session.sql(
            "SELECT plan, COUNT(*) AS n, MEDIAN(age) AS m FROM clinic WHERE cost > 5 GROUP BY plan", dp.pure(2)
        )
    spec = release.to_vega_lite()
    assert spec["title"]["text"] == "Number of rows, median of age by plan"
    (line,) = spec["title"]["subtitle"]
    rank = f"m: rank within ± {release.rank_error('m'):,.4g} rows"
    assert line == f"95 % intervals of the noise, ε = 2 · where cost > 5 · {rank}"
    first, second = (view["data"]["values"] for view in spec["concat"])
    assert [row["value"] for row in first] == release.to_arrow()["n"].to_pylist()
    assert [row["high"] - row["value"] for row in first] == release.error("n").tolist()
    assert [row["low"] for row in second] == [None] * 3
    release.save(tmp_path / "a.release")
    loaded = Release.load(tmp_path / "a.release")
    assert loaded.to_vega_lite() == spec
    assert loaded.plot().to_dict()["title"] == spec["title"]
    assert loaded.to_vega_lite(0.5)["title"]["subtitle"][0].startswith("50 % intervals")
    with pytest.raises(dp.ParameterError, match="level must lie"):
        release.plot(level=1)


def test_grouping_sets_are_drawn_as_bars(policy: Policy, clinic: pa.Table) -> None:
    query = "SELECT plan, insured, GROUPING(insured) AS g, COUNT(*) AS n FROM clinic GROUP BY ROLLUP (plan, insured)"
    with dp.connect({"Clinic": clinic}, policy) as session:
        spec = session.sql(query, dp.pure(2)).to_vega_lite()
    assert [row["label"] for row in spec["data"]["values"]][-1] == "(null) · (null)"
    assert any("(null) may be a total over that key" in line for line in spec["title"]["subtitle"])


def test_a_release_without_noise_has_nothing_to_draw() -> None:
    with pytest.raises(dp.ParameterError, match="nothing to draw"):
        Release(Answer(pa.table({"k": ["a"]}), {}), dp.pure(1), {}).to_vega_lite()


def test_only_drawing_needs_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    release = with_noise(pa.table({"n": [3]}), n=1)
    assert release.to_vega_lite()["layer"]
    with pytest.raises(dp.MissingExtra, match=r"pip install 'discreet\[plots\]'"):
        release.plot()


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
