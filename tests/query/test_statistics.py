"""Statistics read off noisy sums: what they are of, what limits them, and what their error bars promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.query import Group, GroupKey, Plan, draw, make_plan
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

NEARLY_EXACT = dp.pure(10**20)
"""Noise that is 0 but once in e^(10^9): answers differ from the truth by their grid alone."""
BOUNDS = {"x": (-1, 9), "y": (0, 20), "z": (0, 5), "b": (0, 1), "w": (-100, 100)}
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**30, "delta": "0.9"},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "g": {"type": "string", "keys": ["full", "constant", "one", "two", "nulls", "empty"]},
                "name": {"type": "string"},
                "yes": {"type": "bool"},
                "x": {"type": "float", "bounds": [-1, 9]},
                "y": {"type": "float", "bounds": [0, 20]},
                "z": {"type": "int", "bounds": [0, 5]},
                "b": {"type": "int", "bounds": [0, 1], "nullable": False},
                "w": {"type": "decimal", "bounds": [-100, 100], "nullable": False},
            },
        }
    },
}
UNARY = ["VARIANCE", "VAR_SAMP", "VAR_POP", "STDDEV", "STDDEV_SAMP", "STDDEV_POP"]
BINARY = [
    *("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_COUNT", "REGR_R2"),
    *("REGR_SXX", "REGR_SYY", "REGR_SXY"),
]

Row = tuple[Any, ...]


def people() -> pa.Table:
    """Groups of many rows, of equal ones, of one and two, and with nothing but nulls; values beyond their bounds."""
    rng = np.random.default_rng(5)
    rows: list[Row] = []
    for i in range(300):
        x = float(rng.normal(4, 4))
        missing = i % 7 == 3, i % 11 == 5
        y = None if missing[1] else 3 + 1.5 * x + float(rng.normal(0, 3))
        rows.append(
            ("full", f"n{i % 17}", i % 3 == 0, None if missing[0] else x, y, int(rng.integers(-1, 8)), i % 2, x)
        )
    rows += [("constant", "same", None, 3.25, 2.5, 4, 1, 2.0)] * 5
    rows += [("one", "a", True, 1.5, 2.5, 3, 0, 2.0)]
    rows += [("two", "", False, 1.5, 2.5, 3, 0, 2.0), ("two", "b", False, 2.5, 2.5, 1, 1, 7.0)]
    rows += [("nulls", None, None, None, 1.0, None, 0, 0.0), ("nulls", None, True, None, 3.0, None, 0, 0.5)]
    names = ["g", "name", "yes", *BOUNDS]
    return pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with dp.connect({"t": people()}, POLICY) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> Iterator[Callable[[str], dict[str, Row]]]:
    """Plain SQL over the rows with every column clamped: the bounded truth, by group."""
    with duckdb.connect() as connection:
        connection.register("raw", people())
        clamped = ", ".join(
            f"CASE WHEN {n} IS NOT NULL THEN greatest(least({n}, {high}), {low}) END AS {n}"
            for n, (low, high) in BOUNDS.items()
        )
        connection.execute(f"CREATE TABLE t AS SELECT g, name, yes, {clamped} FROM raw")
        yield lambda query: {row[0]: row[1:] for row in connection.execute(query).fetchall()}


def released(session: Session, query: str) -> dict[str, Row]:
    table = session.sql(query, NEARLY_EXACT).to_arrow()
    return {row[0]: row[1:] for row in zip(*(column.to_pylist() for column in table.columns), strict=True)}


def close(ours: Any, theirs: Any) -> bool:
    if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
        return ours is None
    return ours == pytest.approx(float(theirs), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("argument", ["x", "y", "z", "b", "w", "x + 2 * y", "- z"])
@pytest.mark.parametrize("function", UNARY)
def test_moments_of_one_column(function: str, argument: str, session: Session, plain: Any) -> None:
    query = f"SELECT g, {function}({argument}) AS a, COUNT({argument}) AS n FROM t GROUP BY g"
    ours, theirs = released(session, query), plain(query)
    assert list(ours) == POLICY["tables"]["t"]["columns"]["g"]["keys"]
    for group, row in ours.items():
        assert all(map(close, row, theirs.get(group, (None, 0)))), (group, row, theirs.get(group))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arguments", ["y, x", "x, y", "z, w", "w, z", "b, w", "x, x", "x + y, z + w"])
@pytest.mark.parametrize("function", BINARY)
def test_moments_of_pairs(function: str, arguments: str, session: Session, plain: Any) -> None:
    query = f"SELECT g, {function}({arguments}) AS a FROM t GROUP BY g"
    ours, theirs = released(session, query), plain(query)
    nothing = (0,) if function == "REGR_COUNT" else (None,)
    for group, row in ours.items():
        truth = theirs.get(group, nothing)
        if truth[0] is not None and math.isnan(truth[0]):
            truth = (None,)
        assert abs(row[0] - truth[0]) <= 1e-3 * max(1, abs(truth[0])) if truth[0] is not None else row[0] is None, (
            group,
            row,
            truth,
        )


def test_numpy_agrees(session: Session) -> None:
    data = people().to_pandas().query("g == 'full'").dropna(subset=["x", "y"])
    x, y = data["x"].clip(-1, 9).to_numpy(), data["y"].clip(0, 20).to_numpy()
    query = (
        "SELECT g, CORR(y, x), REGR_SLOPE(y, x), COVAR_SAMP(y, x), REGR_AVGX(y, x), REGR_AVGY(y, x) FROM t GROUP BY g"
    )
    expected = (np.corrcoef(y, x)[0, 1], np.polyfit(x, y, 1)[0], np.cov(y, x)[0, 1], x.mean(), y.mean())
    assert released(session, query)["full"] == pytest.approx(expected, rel=1e-5)


FILTERED = [
    "COUNT(*) FILTER (WHERE x > 3)",
    "COUNT(x) FILTER (WHERE name LIKE 'n1%')",
    "SUM(y) FILTER (WHERE yes)",
    "AVG(z) FILTER (WHERE NOT yes)",
    "VAR_POP(x) FILTER (WHERE yes IS NULL OR z IN (1, 2))",
    "CORR(y, x) FILTER (WHERE b = 1)",
    "COUNT(DISTINCT name) FILTER (WHERE z < 4)",
    "COUNT(DISTINCT name), COUNT(DISTINCT z), COUNT(DISTINCT yes), COUNT(DISTINCT x), COUNT(DISTINCT z * 2)",
    "COUNT_IF(z > 3), COUNT_IF(x > y OR yes)",
    "100 * COUNT_IF(z > 3) / COUNT(*)",
    "SUM(z), SUM(z) FILTER (WHERE yes), AVG(z), COUNT(z)",
    "STDDEV_POP(y) / SQRT(COUNT(y))",
]


@pytest.mark.parametrize("items", FILTERED)
def test_filters_and_distinct_values(items: str, session: Session, plain: Any) -> None:
    query = f"SELECT g, {items} FROM t WHERE x BETWEEN -1 AND 9 AND y BETWEEN 0 AND 20 AND z BETWEEN 0 AND 5 GROUP BY g"
    query += " HAVING COUNT(*) > 2"
    ours, theirs = released(session, query), plain(query.replace("FROM t", "FROM raw"))
    assert ours.keys() == theirs.keys() == {"full", "constant"}
    for group, row in ours.items():
        for a, b in zip(row, theirs[group], strict=True):
            zero = b is None and "SUM" in items
            average = b is None and "AVG" in items
            assert average or close(a, 0 if zero or (b is None and "COUNT_IF" in items) else b), (group, a, b)


SHOWN = [
    "ROUND(AVG(x), 2), ROUND(SUM(w), -2), ROUND(COUNT(*))",
    "ABS(SUM(z) - 2000), SQRT(COUNT(*)), SQRT(-COUNT(*) - 1) IS NULL",
    "GREATEST(COUNT(*), 20), LEAST(AVG(x), AVG(y), 3), GREATEST(VAR_SAMP(w), 2)",
    "COALESCE(VAR_SAMP(w), -1), COALESCE(1 / (COUNT(*) - COUNT(*)), 1 / (SUM(b) * 0), 3)",
    "CASE WHEN COUNT(*) >= 3 THEN AVG(w) ELSE -5 END, CASE WHEN g = 'one' THEN 1 WHEN COUNT(*) > 9 THEN SUM(b) END",
    "CASE WHEN COUNT(*) > 9 THEN NULL ELSE 2 * COUNT(*) END + 1",
]


@pytest.mark.parametrize("items", [items for items in SHOWN if "IS NULL" not in items])
def test_functions_of_aggregates(items: str, session: Session, plain: Any) -> None:
    query = f"SELECT g, {items} FROM t GROUP BY g HAVING COUNT(x) > 0"
    ours, theirs = released(session, query), plain(query)
    assert ours.keys() == theirs.keys()
    for group, row in ours.items():
        for a, b in zip(row, theirs[group], strict=True):
            assert close(a, 3 if b is not None and math.isinf(b) else b), (group, a, b)


def test_measures_are_shared() -> None:
    def measures(items: str) -> int:
        return len(make_plan(f"SELECT {items} FROM t", load_policy(POLICY)).levels[0].bounded.measures)

    assert measures("VAR_POP(x), VAR_SAMP(x), STDDEV(x), AVG(x), SUM(x), COUNT(x)") == 3
    assert measures("CORR(y, x), COVAR_POP(x, y), REGR_SLOPE(y, x), REGR_SLOPE(x, y), REGR_COUNT(x, y)") == 6
    assert measures("CORR(b, w), VAR_POP(b), STDDEV(w), AVG(w), SUM(b), COUNT(*), COUNT(w)") == 6
    assert measures("COUNT(*) FILTER (WHERE b = 1), COUNT(w) FILTER (WHERE b = 1), COUNT_IF(b = 1)") == 1
    assert measures("COUNT(DISTINCT name), COUNT(DISTINCT name) FILTER (WHERE b = 1)") == 2


REFUSED = {
    "COUNT(DISTINCT name, x)": "DISTINCT",
    "SUM(DISTINCT x)": "DISTINCT",
    "VAR_POP(DISTINCT x)": "DISTINCT|supported",
    "COUNT_IF(DISTINCT yes)": "DISTINCT|supported|number",
    "COUNT_IF(x)": "condition",
    "VAR_POP(name)": "needs a number",
    "CORR(x, name)": "needs a number",
    "REGR_COUNT(x, yes)": "needs a number",
    "REGR_SLOPE(x)": "two arguments|not valid|supported",
    "VAR_POP(SUM(x))": "aggregate",
    "COUNT(*) FILTER (WHERE COUNT(*) > 1)": "aggregate",
    "COUNT(*) FILTER (WHERE x)": "condition",
    "APPROX_COUNT_DISTINCT(x, 0.1)": "both are approximate anyway",
    "VAR_POP(x) OVER ()": "not supported",
    "VAR_POP(x / (y - 1))": "may be zero",
    "VAR_POP(x * 1e150)": "rescale",
    "ROUND(AVG(x), z)": "whole number|GROUP BY",
    "ROUND(AVG(x), 99)": "digits",
    "1 + ROUND(AVG(x), 1)": "not supported",
    "CASE WHEN x > 1 THEN COUNT(*) END": "GROUP BY",
    "LN(COUNT(*))": "not supported",
    "COUNT(DISTINCT who)": "no column who",
}


@pytest.mark.parametrize("item", REFUSED)
def test_what_is_refused(item: str) -> None:
    with pytest.raises(dp.QueryError, match=REFUSED[item]):
        make_plan(f"SELECT {item} AS a FROM t", load_policy(POLICY))


def test_the_person_may_be_named_in_a_count_of_people_alone() -> None:
    policy = load_policy(
        {"version": "1", "tables": {"t": {"unit": "Who", "max_rows": 3, "columns": {"x": {"type": "int"}}}}}
    )
    plan = make_plan("SELECT COUNT(DISTINCT who) AS n FROM t", policy, dp.pure(1))
    assert plan.sql == 'SELECT COUNT(DISTINCT "Who") AS "n" FROM "t"'
    assert [norms.l1 for norms in plan.levels[0].norms] == [1]
    assert "number of people; L1 sensitivity 1, discrete Laplace noise of scale 1 steps" in plan.explain()
    for item in ("COUNT(who)", "COUNT(DISTINCT who + 1)", "SUM(who)", "COUNT(*) FILTER (WHERE who = 3)"):
        with pytest.raises(dp.QueryError, match="Who says whose a row is"):
            make_plan(f"SELECT {item} AS n FROM t", policy)
    for clause in ("WHERE who = 1", "GROUP BY who", "GROUP BY x HAVING who > 1"):
        with pytest.raises(dp.QueryError, match="Who says whose a row is"):
            make_plan(f"SELECT COUNT(DISTINCT who) AS n FROM t {clause}", policy)


def sample(rows: int) -> tuple[Policy, pa.Table, dict[str, float]]:
    """Made-up rows within their bounds, and the truth of each statistic."""
    rng = np.random.default_rng(1)
    x = np.clip(rng.normal(4, 1.5, rows), 0, 10)
    y = np.clip(3 + 0.8 * x + rng.normal(0, 2, rows), 0, 20)
    columns = {"x": {"type": "float", "bounds": [0, 10]}, "y": {"type": "float", "bounds": [0, 20]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    slope = np.cov(y, x, ddof=0)[0, 1] / x.var()
    truth = {
        "VAR_SAMP(x)": x.var(ddof=1),
        "STDDEV_POP(x)": x.std(),
        "COVAR_POP(y, x)": np.cov(y, x, ddof=0)[0, 1],
        "CORR(y, x)": np.corrcoef(y, x)[0, 1],
        "REGR_SLOPE(y, x)": slope,
        "REGR_INTERCEPT(y, x)": y.mean() - slope * x.mean(),
        "REGR_R2(y, x)": np.corrcoef(y, x)[0, 1] ** 2,
        "COUNT(DISTINCT x)": len(set(x)),
        "GREATEST(AVG(x), AVG(y))": y.mean(),
        "ROUND(AVG(x), 2)": x.mean(),
    }
    return policy, pa.table({"x": x, "y": y}), {name: float(value) for name, value in truth.items()}


def repeated(plan: Plan, group: Group, times: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent answers to one query, and their 95 % half-widths."""
    assert plan.levels[0].noise is not None
    bounded = replace(plan.levels[0].bounded, keys=(GroupKey("copy", tuple(range(times)), exp.column("copy"), "int"),))
    noisy = draw([Group((i,), 0, group.sums) for i in range(times)], bounded, plan.levels[0].noise)
    answer = plan.finish([[Group((), 0, each.sums) for each in noisy]])
    return np.array(answer.table.column("a").to_pylist(), dtype=float), answer.error("a")


@pytest.mark.sampled
@pytest.mark.parametrize("statistic", sample(2)[2])
@pytest.mark.parametrize(
    "spend", [pytest.param(dp.pure(1), id="pure"), pytest.param(dp.rho("0.1"), id="rho", marks=pytest.mark.soak)]
)
def test_error_bars_cover(statistic: str, spend: dp.Loss) -> None:
    """2,000 rows and answers: at least 91 % in 95 % bars, which a true 95 % misses once in 1e13 (binomial).

    Nor are they four times as wide as the answers' standard deviation, of which 1.96 is needed: those of R2, which is
    cut off at 0 and 1, come nearest with 3.
    """
    policy, table, truth = sample(2_000)
    engine = DuckDB({"t": table}, policy)
    plan = make_plan(f"SELECT {statistic} AS a FROM t", policy, spend)
    (group,) = engine.run(plan.levels[0].bounded, b"0" * 16)
    values, halves = repeated(plan, group, 2_000)
    assert np.mean(np.abs(values - truth[statistic]) <= halves) >= 0.91
    assert np.median(halves) <= 4 * values.std() + 0.01, "no wider than they need to be"


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("statistic", [name for name in sample(2)[2] if not name.startswith("ROUND")])
def test_the_mean_of_many_answers_is_the_truth(statistic: str) -> None:
    """20,000 rows, 1,000 answers at epsilon 3, where the bias of ratios is far below a standard error.

    The mean of 1,000 is normal enough: beyond 6.5 standard errors with probability 1e-10.
    """
    policy, table, truth = sample(20_000)
    engine = DuckDB({"t": table}, policy)
    plan = make_plan(f"SELECT {statistic} AS a FROM t", policy, dp.pure(3))
    (group,) = engine.run(plan.levels[0].bounded, b"0" * 16)
    values, _ = repeated(plan, group, 1_000)
    assert abs(values.mean() - truth[statistic]) <= 6.5 * values.std() / math.sqrt(1_000) + 1e-4


def test_answers_stay_within_what_the_bounds_allow(session: Session) -> None:
    query = (
        "SELECT g, VAR_POP(x) AS v, VAR_SAMP(x) AS s, STDDEV(x) AS d, COVAR_POP(y, x) AS c, CORR(y, x) AS r, "
        "REGR_R2(y, x) AS q FROM t GROUP BY g"
    )
    limits: Mapping[str, tuple[float, float]] = {
        "v": (0, 25), "s": (0, 50), "d": (0, 7.08), "c": (-50, 50), "r": (-1, 1), "q": (0, 1),
    }  # fmt: skip
    for _ in range(20):
        release = session.sql(query, dp.pure(0.5))
        repr(release)
        for name, (low, high) in limits.items():
            assert all(v is None or low <= v <= high for v in release.to_arrow().column(name).to_pylist())
            assert release.approximate(name)
            assert all(math.isnan(half) or 0 <= half <= high - low for half in release.error(name))


def test_an_error_that_is_not_known_is_nan(session: Session) -> None:
    query = (
        "SELECT CASE WHEN COUNT(*) > 3 THEN 1 ELSE 0 END AS flag, CASE WHEN COUNT(*) > 3 THEN AVG(w) END AS shown, "
        "ROUND(COUNT(*), -1) AS tens, COUNT(*) AS n, GREATEST(COUNT(*), 1000) AS most FROM t"
    )
    release = session.sql(query, dp.pure(5))
    assert np.isnan(release.error("flag")).all()
    assert release.error("shown")[0] > 0
    assert release.error("tens")[0] == release.error("n")[0] + 5
    assert release.error("most")[0] > 0
    again = type(release).from_bytes(release.to_bytes())
    assert again.error("tens")[0] == release.error("tens")[0]


def test_a_variance_is_half_as_uncertain_as_its_squares_are_wide() -> None:
    """Squares are summed less half of the largest: as far from zero to either side, and half as far."""
    plan = make_plan("SELECT VAR_POP(z) AS v FROM t", load_policy(POLICY), dp.pure(1))
    assert [norms.l1 for norms in plan.levels[0].norms] == [3, 1, 5]
