"""What stands below an answer and in its cells, so that it is not taken for more than it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query import Release
from discreet.query._footnotes import cell_text

pytestmark = pytest.mark.usefixtures("one_database")

NOISE = "* no larger than its noise: it may be all noise"
ROWS = 600
KEYS, VALUES = ["a"] * 400 + ["b"] * 197 + ["c"] * 3, [1.0] * ROWS
COLUMNS = {
    "k": {"type": "string"},
    "x": {"type": "float", "bounds": [0, 10]},
    "y": {"type": "float", "bounds": [0, 10]},
}


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    budget = {"epsilon": 10**6, "delta": 0.5}
    table = {"unit": "rows", "columns": COLUMNS}
    tables = {"t": pa.table({"k": KEYS, "x": VALUES, "y": pa.nulls(ROWS, pa.float64())})}
    with dp.connect(tables, {"version": "1", "budget": budget, "tables": {"t": table}}) as session:
        yield session


@pytest.mark.parametrize(
    ("value", "half", "tilde", "rank", "text"),
    [
        (1042, 6.0, "", None, "1,042 ± 6"),
        (6, 6.0, "", None, "6 ± 6*"),
        (-3, 6.0, "", None, "-3 ± 6*"),
        (0, 0.0, "", None, "0 ± 0"),
        (0.25, 0.3, "~", None, "0.25 ± ~0.30*"),
        (2.5, 0.3, "~", None, "2.50 ± ~0.30"),
        (2.5, math.inf, "~", None, "2.5 ± ~∞*"),
        (13.0, math.nan, "", 16.0, "13 (rank ± 16 rows)"),
        (13.25, math.nan, "", None, "13.25"),
        (None, 1.0, "", None, "NULL"),
    ],
)
def test_cells(value: Any, half: float, tilde: str, rank: float | None, text: str) -> None:
    assert cell_text(value, half, tilde, rank) == text


@pytest.mark.parametrize(
    ("spend", "people"),
    [(dp.approx("0.5", "1e-6"), 32), (dp.approx(1, "1e-6"), 17)],
    ids=["a half", "one"],
)
def test_groups_that_may_be_missing(session: dp.Session, spend: dp.Loss, people: int) -> None:
    release = session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", spend)
    line = f"groups of fewer than {people} people may be missing"
    assert release.footnotes() == [line]
    assert line in repr(release) and line in release._repr_html_()
    assert Release.from_bytes(release.to_bytes()).footnotes() == [line]
    assert line in session.plan("SELECT k, COUNT(*) AS n FROM t GROUP BY k", spend).explain()


def test_of_several_grouping_sets_the_one_that_misses_most(session: dp.Session) -> None:
    query = "SELECT k, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((k), ())"
    assert session.sql(query, dp.approx(1, "1e-6")).footnotes() == ["groups of fewer than 32 people may be missing"]


def test_public_answers_have_no_footnotes(session: dp.Session) -> None:
    release = session.sql("SELECT COUNT(*) AS n, AVG(x) AS a FROM t", dp.pure(100))
    assert release.footnotes() == []


def test_what_is_all_noise_is_marked(session: dp.Session) -> None:
    release = session.sql("SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE x > 3) AS m FROM t", dp.pure("0.01"))
    few = release.cells()[0][1]
    value, half = release.to_arrow()["m"][0].as_py(), release.error("m")[0]
    assert few.endswith("*") == (abs(value) <= half)
    assert (release.footnotes() == [NOISE]) == any(cell.endswith("*") for cell in release.cells()[0])


def test_the_outermost_values_are_quantiles(session: dp.Session) -> None:
    release = session.sql("SELECT MAX(x) AS most, MIN(x) AS least, MEDIAN(x) AS m FROM t", dp.pure(50))
    assert release.footnotes() == [
        "most is the 99 % quantile of x: the outermost value is one person's own",
        "least is the 1 % quantile of x: the outermost value is one person's own",
    ]
    one = session.sql("SELECT MEDIAN(x) AS m FROM t", dp.pure(50))
    rows = one.rank_error("m")
    assert rows is not None and one.cells()[0][0].endswith(f"(rank ± {rows:,.4g} rows)")


def test_a_null_says_why(session: dp.Session) -> None:
    for number in range(40):  # each is null with a probability of a half
        release = session.sql(f"SELECT VAR_POP(y) AS v FROM t WHERE x < {10 + number}", dp.pure(1))
        nulls = release.to_arrow()["v"].null_count
        line = "NULL: noise left nothing to compute it from, as where a noisy count is not above zero"
        assert (line in release.footnotes()) == bool(nulls)
        if nulls:
            return
    pytest.fail("40 variances of nothing are all known")


@pytest.mark.parametrize("level", [{}, {"key_discovery": 3}, {"key_discovery": {"mechanism": "Oracle", "keys": 1}}, 7])
def test_a_certificate_that_nobody_knows_says_no_number(session: dp.Session, level: Any) -> None:
    release = session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(100))
    odd = Release(release.answer, release.loss, {**release.certificate, "levels": [level]})
    assert odd.footnotes() == ["groups of few people may be missing"]
    none = Release(release.answer, release.loss, {**release.certificate, "levels": level})
    assert none.footnotes() == [] and none.to_vega_lite()


def test_groups_of_capped_people_are_counted_after_the_caps() -> None:
    people = {"unit": "p", "max_rows": 1, "columns": {"k": {"type": "string"}}}
    tables = {"t": pa.table({"p": list(range(300)) * 2, "k": ["a"] * 300 + ["b"] * 300})}
    with dp.connect(tables, {"version": "1", "budget": {"epsilon": 9, "delta": 0.1}, "tables": {"t": people}}) as asked:
        release = asked.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", dp.approx(1, "1e-6"))
    caps = "counted after the caps on a person's rows and groups"
    assert release.footnotes() == [f"groups of fewer than 17 people, {caps}, may be missing"]
