"""Quantiles of dates and timestamps are dates and timestamps, on a grid of days or of the clock."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, QueryError
from discreet.policy import load_policy
from discreet.query import Release, make_plan

NEARLY_EXACT = dp.pure(10**9)
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**12},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "k": {"type": "string", "keys": ["a", "b"]},
                "d": {"type": "date", "bounds": ["2023-01-01", "2024-12-31"]},
                "m": {"type": "timestamp", "bounds": ["2024-02-28", "2024-03-01"]},
                "free": {"type": "date"},
            },
        }
    },
}
FIRST = dt.date(2022, 12, 1)
MIDNIGHT = dt.datetime.fromisoformat("2024-02-28")


def table_of(rows: int, seed: int) -> pa.Table:
    dice = np.random.default_rng(seed)
    days = [None if dice.random() < 0.1 else FIRST + dt.timedelta(days=int(dice.integers(900))) for _ in range(rows)]
    moments = [
        None if dice.random() < 0.1 else MIDNIGHT + dt.timedelta(seconds=int(dice.integers(2 * 86_400)))
        for _ in range(rows)
    ]
    keys = [["a", "b"][int(dice.integers(2))] for _ in range(rows)]
    return pa.table({"k": keys, "d": pa.array(days, pa.date32()), "m": moments, "free": pa.array(days, pa.date32())})


def released(rows: pa.Table, query: str) -> Release:
    with dp.connect({"t": rows}, POLICY) as session:
        return session.sql(query, NEARLY_EXACT)


@pytest.mark.parametrize("seed", range(3))
def test_they_are_those_of_plain_sql_of_clamped_values(seed: int) -> None:
    rows = table_of(801, seed)
    release = released(rows, "SELECT k, QUANTILE_DISC(d, 0.3) AS q, MEDIAN(m) AS m, COUNT(*) AS n FROM t GROUP BY k")
    day = "GREATEST(LEAST(d, DATE '2024-12-31'), DATE '2023-01-01')"
    plain = duckdb.sql(f"""SELECT k, QUANTILE_DISC(CASE WHEN d IS NOT NULL THEN {day} END, 0.3) AS q,
        QUANTILE_DISC(m, 0.5) AS m FROM rows GROUP BY k ORDER BY k""").fetchall()
    table = release.to_arrow()
    assert table.schema.field("q").type == pa.date32()
    assert table.schema.field("m").type == pa.timestamp("us")
    for row, (key, q, m) in zip(table.to_pylist(), plain, strict=True):
        assert row["k"] == key
        assert abs(row["q"] - q) <= dt.timedelta(days=3)  # neighbouring ranks
        assert abs(row["m"] - m) <= dt.timedelta(minutes=15)


def test_values_beyond_the_bounds_are_moved_into_them() -> None:
    rows = pa.table(
        {
            "k": ["a"] * 3,
            "d": [dt.date(1, 1, 1)] * 3,
            "m": [dt.datetime.fromisoformat("9999-12-31")] * 3,
            "free": [FIRST] * 3,
        }
    )
    table = released(rows, "SELECT MEDIAN(d) AS d, MAX(m) AS m FROM t").to_arrow()
    assert table.to_pylist() == [{"d": dt.date(2023, 1, 1), "m": dt.datetime.fromisoformat("2024-03-01 23:59:55")}]


def test_bounds_may_stand_in_the_query() -> None:
    rows = table_of(300, 4)
    query = "SELECT MIN({0}) AS a, MAX({0}) AS b FROM t"
    clamped = "GREATEST(LEAST(free, DATE '2024-12-31'), DATE '2023-01-01')"
    table = released(rows, query.format(clamped)).to_arrow().to_pylist()[0]
    assert dt.date(2023, 1, 1) <= table["a"] < table["b"] <= dt.date(2024, 12, 31)
    plan = make_plan(query.format("CAST(m AS DATE)"), load_policy(POLICY))
    assert [h.bounds for h in plan.levels[0].bounded.histograms] == [(19781, 19783)]


@pytest.mark.parametrize(
    ("first", "last", "step"),
    [
        ("2024-01-01T00:00:00", "2024-01-01T10:00:00", 1),
        ("2024-01-01", "2024-01-31", 60),
        ("2024-01-01", "2024-12-31", 600),
        ("2000-01-01", "2024-12-31", 21_600),
        ("1900-01-01", "2024-12-31", 86_400),
        ("0001-01-01", "9999-12-31", 100 * 86_400),
    ],
)
def test_the_grid_of_timestamps_is_that_of_clocks(first: str, last: str, step: int) -> None:
    columns = {"m": {"type": "timestamp", "bounds": [first, last]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    (histogram,) = make_plan("SELECT MEDIAN(m) AS m FROM t", policy).levels[0].bounded.histograms
    assert histogram.step == Fraction(step)
    assert histogram.upper < 2**16


def test_having_order_and_differences_of_dates() -> None:
    rows = table_of(400, 5)
    query = (
        "SELECT k, MAX(d) AS last, MAX(d) - MIN(d) AS days FROM t GROUP BY k "
        "HAVING MAX(d) > DATE '2023-06-01' AND MEDIAN(m) < TIMESTAMP '2024-03-02 00:00:00' ORDER BY last DESC"
    )
    release = released(rows, query)
    last = release.to_arrow()["last"].to_pylist()
    assert len(last) == 2
    assert last == sorted(last, reverse=True)
    assert all(600 < days < 731 for days in release.to_arrow()["days"].to_pylist())


def test_an_answer_is_stored_shown_and_drawn_without_its_dates() -> None:
    release = released(table_of(100, 6), "SELECT k, MEDIAN(d) AS d, COUNT(*) AS n FROM t GROUP BY k")
    assert Release.from_bytes(release.to_bytes()).to_arrow() == release.to_arrow()
    assert release.noisy == ("d", "n")
    assert np.isnan(release.error("d")).all()
    assert release.rank_error("d") is not None
    ends = release.to_arrow(errors=True)
    assert ends.column_names == ["k", "d", "d_low", "d_high", "n", "n_low", "n_high"]
    assert ends["d_low"].null_count == 2
    assert ends.schema.field("d_low").type == pa.date32()
    assert "rank" in release.cells()[0][1]
    assert release.to_dict()["rows"][0][1] == release.to_arrow()["d"][0].as_py().isoformat()
    assert release.to_vega_lite()["title"]["text"] == "Number of rows by k"
    with pytest.raises(ParameterError, match="nothing to draw"):
        released(table_of(100, 6), "SELECT MEDIAN(d) AS d FROM t").to_vega_lite()


def test_the_plan_says_what_it_is_in_days_and_hours() -> None:
    text = make_plan("SELECT MEDIAN(d) AS d, MAX(m) AS m FROM t", load_policy(POLICY), dp.pure(1)).explain()
    assert 'quantiles 50 % of "d", to the nearest 1 day in [2023-01-01, 2024-12-31]' in text
    assert 'quantiles 99 % of "m", to the nearest 5 seconds in [2024-02-28 00:00:00, 2024-03-01 23:59:55]' in text


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("MEDIAN(free)", "add bounds = .* or write GREATEST"),
        ("MEDIAN(free + INTERVAL 1 DAY)", "write GREATEST"),
        ("MAX(d) + 1", "write the same statistic of a number"),
        ("ROUND(MAX(d))", "write the same statistic of a number"),
        ("CAST(MAX(m) AS DOUBLE)", "write the same statistic of a number"),
        ("MAX(m) - MIN(m)", "write the same statistic of a number"),
        ("COALESCE(MAX(d), DATE '2024-01-01')", "write the same statistic of a number"),
        ("CASE WHEN COUNT(*) > 1 THEN MAX(d) END", "write the same statistic of a number"),
        ("AVG(d)", "needs a number"),
        ("MAX(k)", "needs a number, a date or a timestamp"),
        ("MEDIAN(DATE '2024-01-01')", "only one value"),
        ("MEDIAN(TIMESTAMP '2024-01-01 00:00:00')", "only one second"),
    ],
)
def test_what_has_no_bounds_or_is_no_number_is_refused(item: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        make_plan(f"SELECT {item} AS n FROM t", load_policy(POLICY))


def test_in_days_and_as_dates_are_different_grids_of_one_column() -> None:
    query = "SELECT MEDIAN(m) AS a, MEDIAN(DATE_DIFF('second', TIMESTAMP '1970-01-01 00:00:00', m)) AS b FROM t"
    table = released(table_of(501, 7), query).to_arrow().to_pylist()[0]
    assert abs((table["a"] - dt.datetime.fromisoformat("1970-01-01")).total_seconds() - table["b"]) < 600
