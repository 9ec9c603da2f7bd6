"""At a modest spend, the mean of many runs is the bounded truth: answers have no bias beyond that of a ratio.

The spend is in zCDP, so the noise of a count or a sum is discrete Gaussian and sub-Gaussian with the stated σ, and so
is a mean of runs. Its standard error is taken from the σ of the noises and not from a half-width, which for whole
numbers is a whole number and may be less than σ. One cell of each query is looked at. Each lies beyond 7 standard
errors with probability 2.6e-12, and beyond 4 with probability 6.3e-5, so that more than `allowed` of them do with
probability 5e-10: over the suite, false alarms are rarer than 1e-9.

One run of each query is complete. The others draw the noise anew on the same exact sums: who counts is no part of the
noise, and in these tables everybody's rows do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query import draw
from discreet.session import Session
from suite.case import Case
from suite.cases import CASES
from suite.databases import shop_policy, sources
from suite.features import landed
from suite.truth import Rows, rows_of

pytestmark = pytest.mark.usefixtures("one_database")

RUNS = 24
LEVEL = math.erf(1 / math.sqrt(2))  # the half-width at one σ
SPEND = dp.rho("0.25")


@pytest.fixture(scope="module")
def session(tables: dict[str, pa.Table]) -> Iterator[Session]:
    policy = shop_policy({"rho": 10**15, "delta": 0.9})
    with dp.connect(sources(tables, policy), policy) as opened:
        yield opened


def _fixed_rows(each: Case) -> bool:
    """Whether which rows are released, and in which order, does not hang on noise."""
    words = ("HAVING", "LIMIT", "ORDER BY", "channel", "page", "Full Name", "DISTINCT ")
    return not any(word in each.query for word in words)


def _moments(each: Case, session: Session, truth: Rows) -> tuple[float, float] | None:
    """How far the mean of the runs is from the truth, and its standard error.

    None if no column is linear in the noise, no key tells the rows apart, or keys come and go by their discovery.
    """
    if any(level.bounded.count_units for level in session.plan(each.query).levels):
        return None
    release = session.sql(each.query, SPEND)
    linear = [name for name in release.noisy if not release.approximate(name)]
    if not linear or (len(truth) > 1 and len(release.noisy) == release.to_arrow().num_columns):
        return None
    place = release.to_arrow().column_names.index(linear[-1])
    right = sorted(truth, key=_keys(release))
    errors: list[float] = []
    for run in [release, *_redrawn(each, session, RUNS - 1)]:
        rows = sorted(rows_of(run.to_arrow()), key=_keys(run))
        assert len(rows) == len(right)
        errors.append(float(rows[0][place]) - float(right[0][place] or 0))
    shown = rows_of(release.to_arrow())
    looked_at = shown.index(sorted(shown, key=_keys(release))[0])
    return sum(errors) / RUNS, _sigma(release, linear[-1], looked_at) / math.sqrt(RUNS)


def _redrawn(each: Case, session: Session, runs: int) -> Iterator[dp.Release]:
    """The same query with fresh noise."""
    plan = session.plan(each.query, SPEND)
    assert plan.loss is not None
    exact = [session._engine.run(level.bounded, bytes(16)) for level in plan.levels]
    for _ in range(runs):
        noisy = [draw(g, e.bounded, e.noise) for g, e in zip(exact, plan.levels, strict=True) if e.noise]
        yield dp.Release(plan.finish(noisy), plan.loss, {})


def _sigma(release: dp.Release, column: str, row: int) -> float:
    """σ of a column that is linear in the noise, in one row: its noises are independent."""
    slopes, noises = release.answer.shape(column).slopes, release.answer.noises
    return math.hypot(*(slope[row] * float(noises[i].sigma) for i, slope in slopes.items()))


def _keys(release: dp.Release):
    exact = [i for i, name in enumerate(release.to_arrow().column_names) if name not in release.noisy]
    return lambda row: [str(row[i]) for i in exact]


SAMPLE = [each for each in CASES if landed(each.needs) and _fixed_rows(each)]


def _run(sample: list[Case], session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    beyond, asked = 0, 0
    for each in sample:
        found = _moments(each, session, plain.execute(each.truth).fetchall())
        if found is None:
            continue
        off, error = found
        asked += 1
        assert abs(off) <= 7 * error + 1e-6, (each.query, off, error)
        beyond += abs(off) > 4 * error + 1e-6
    assert asked >= len(sample) // 2
    assert beyond <= allowed(asked)


def allowed(cells: int) -> int:
    """The most cells beyond 4 standard errors: more have a chance of 5e-10 at most.

    >>> allowed(20), allowed(200)
    (2, 4)
    """
    chance, tail = math.erfc(4 / math.sqrt(2)), 1.0
    for most in range(cells + 1):
        tail -= math.comb(cells, most) * chance**most * (1 - chance) ** (cells - most)
        if tail <= 5e-10:
            return most
    return cells


def test_the_mean_of_a_few_queries_is_the_truth(session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    _run(SAMPLE[::12], session, plain)


@pytest.mark.soak
def test_the_mean_of_every_query_is_the_truth(session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    _run(SAMPLE, session, plain)


@pytest.mark.parametrize(
    ("query", "truth"),
    [
        ("SELECT AVG(seconds) FROM visits", "SELECT AVG(seconds_) FROM visits"),
        ("SELECT SUM(seconds) / COUNT(*) FROM visits", "SELECT SUM(seconds_) / COUNT(*) FROM visits"),
        (
            "SELECT AVG(seconds) - 300 FROM visits WHERE seconds > 0",
            "SELECT AVG(seconds_) - 300 FROM visits WHERE seconds > 0",
        ),
    ],
)
def test_the_mean_of_a_ratio_is_the_truth(
    query: str, truth: str, session: Session, plain: duckdb.DuckDBPyConnection
) -> None:
    """At this spend the bias of a ratio over 500 rows, about σ²/n² of it, is below a hundredth of a standard error."""
    runs = [session.sql(query, dp.rho(10 + Fraction(i, 10**6))) for i in range(RUNS)]
    (right,) = plain.execute(truth).fetchone() or (None,)
    assert right is not None
    values = [rows_of(release.to_arrow())[0][0] for release in runs]
    error = max(float(release.error(release.noisy[0], LEVEL)[0]) for release in runs) / math.sqrt(RUNS)
    assert abs(sum(values) / RUNS - float(right)) <= 7 * error
