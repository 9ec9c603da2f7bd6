"""Answers at an enormous epsilon, where the noise is next to nothing, against plain DuckDB on the same rows."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.policy import Policy
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

NEARLY_EXACT = dp.approx(10**9, 1e-6)
BOUNDED = {"age": (0, 120), "visits": (-5, 10), "cost": (0, 2000), "dose": (0.5, 9), "coins": (0, 100)}

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def session(policy: Policy, clinic: pa.Table) -> Iterator[Session]:
    with dp.connect({"Clinic": clinic}, policy) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(clinic: pa.Table) -> Iterator[Callable[[str], Rows]]:
    """Plain SQL over the same rows; `x_` is column x clamped to its bounds."""
    with duckdb.connect() as connection:
        connection.register("raw", clinic)
        clamped = ", ".join(
            f"CASE WHEN {name} IS NOT NULL THEN greatest(least({name}, {high}), {low}) END AS {name}_"
            for name, (low, high) in BOUNDED.items()
        )
        connection.execute(f"CREATE VIEW clinic AS SELECT *, {clamped} FROM raw")
        yield lambda query: connection.execute(query).fetchall()


def oracle(query: str) -> str:
    """The query with every column inside SUM and AVG replaced by its clamped twin, and the SUM of nothing 0."""

    def inside(found: re.Match[str]) -> str:
        aggregate, argument = found[1], re.sub(r"\b(age|visits|cost|dose|coins)\b", r"\1_", found[2])
        return f"coalesce({aggregate}({argument}), 0)" if aggregate == "SUM" else f"{aggregate}({argument})"

    return re.sub(r"\b(SUM|AVG)\(((?:[^()]|\([^()]*\))*)\)", inside, query)


def same(ours: Rows, theirs: Rows) -> bool:
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(ours, theirs, strict=True)
    )


def near(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        return one == pytest.approx(float(other), rel=1e-6, abs=1e-3)
    return one == other


def rows_of(release: dp.Release) -> Rows:
    table = release.to_arrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_columns else []


def in_some_order(rows: Rows) -> Rows:
    """By what is exact: the keys and the counts."""
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row if not isinstance(value, float)])


WHOLE_TABLE = [
    "SELECT COUNT(*) FROM clinic",
    "SELECT COUNT(cost), COUNT(visits), COUNT(city), COUNT(insured), COUNT(seen), COUNT(stamp) FROM clinic",
    "SELECT SUM(age), SUM(visits), SUM(cost), SUM(dose) FROM clinic",
    "SELECT AVG(age), AVG(visits), AVG(cost), AVG(dose) FROM clinic",
    "SELECT COUNT(cost), SUM(cost), AVG(cost) FROM clinic",
    "SELECT SUM(2 * visits - age + 1) FROM clinic",
    "SELECT AVG(-visits), SUM(- (cost - 5)) FROM clinic",
    "SELECT SUM(cost / 4), SUM(age / (dose + 1)), AVG(1 / (dose + 1)) FROM clinic",
    "SELECT SUM(cost * dose) FROM clinic",
    "SELECT SUM(visits * visits) FROM clinic",
    "SELECT SUM(0.1 * age + 1e-2), SUM(1.5e1 * visits) FROM clinic",
    "SELECT SUM(3), AVG(2.5), SUM(0) FROM clinic",
    "SELECT COUNT(visits + cost), COUNT(1 / (age + 1)), COUNT(age > 50) FROM clinic",
    'SELECT SUM("odd ""name"""), AVG("odd ""name""") FROM clinic',
    "SELECT SUM(cost) / COUNT(*), SUM(cost) / COUNT(cost), AVG(cost) FROM clinic",
    "SELECT 100 * COUNT(visits) / COUNT(*), SUM(age) - SUM(visits), -COUNT(*) + 1, 2 * (AVG(dose) + 1) FROM clinic",
    "SELECT AVG(cost) * AVG(dose), COUNT(*) * COUNT(*) FROM clinic",
]

CONDITIONS = [
    "age > 50",
    "age >= 50 AND age <= 60",
    "age = 37 OR age = 74",
    "age <> 37",
    "NOT age < 100",
    "age BETWEEN 10 AND 20",
    "age NOT BETWEEN 10 AND 120",
    "age IN (37, 74, 1000)",
    "age NOT IN (37, 74)",
    "age IN (36 + 1, 2 * 37)",
    "visits < -3",
    "visits = -8",
    "visits > -2.5",
    "- visits > 3",
    "visits + 1 = 4",
    "visits / 2 = 1.5",
    "visits IS NULL",
    "visits IS NOT NULL",
    "visits <> 2",
    "NOT (visits > 2)",
    "visits IN (2, -8)",
    "NOT (visits IN (2, -8))",
    "cost > 100.5",
    "cost >= 0 AND NOT cost > 12.125",
    "cost = 12.125",
    "cost * 2 > dose + 100",
    "cost < 1e2",
    "cost / (age + 1) > 1",
    "dose = 2.25",
    "dose BETWEEN 1 AND 2.5",
    "city = 'Graz'",
    "city <> 'Graz'",
    "city = 'O''Hare'",
    "city = 'Łódź'",
    "city = ''",
    "city IS NULL OR city = 'graz'",
    "city IN ('Graz', 'graz', 'nowhere')",
    "city NOT IN ('Graz', 'graz')",
    "city LIKE 'G%'",
    "city LIKE '_raz'",
    "city LIKE '%''%'",
    "city NOT LIKE '%a%'",
    "city < 'H'",
    "insured",
    "NOT insured",
    "insured = TRUE",
    "insured <> FALSE AND age > 10",
    "insured IS NULL",
    "insured IS NOT NULL AND (insured OR age < 20)",
    "TRUE",
    "FALSE",
    "(age > 50) = insured",
    "(age > 50) IS NULL OR (visits > 0) IS NULL",
    "seen = '2024-01-05'",
    "seen >= DATE '2024-01-10' AND seen < '2024-01-20'",
    "seen BETWEEN '2024-01-05' AND '2024-01-09'",
    "seen IN ('2024-01-05', '2024-01-07')",
    "seen IS NULL",
    "'2024-01-05' > seen",
    "stamp > '2024-01-01 12:00:00'",
    "stamp = TIMESTAMP '2024-01-01 03:30:00'",
    "stamp <= '2024-01-01T05:30'",
    "stamp >= seen",
    "stamp < DATE '2024-01-02'",
    "code = 4611686018427387905",
    "code = 4611686018427387904",
    "code > 4611686018427387904",
    "code = -5",
    "code < 9223372036854775807 AND code > -9223372036854775807",
    "plan = 'platinum'",
    "coins = 50",
    "1 = 1",
    "'a' < 'b'",
]

GROUPED = [
    "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM clinic GROUP BY city",
    "SELECT city, AVG(age) FROM clinic WHERE age < 100 GROUP BY city",
    "SELECT COUNT(*), city FROM clinic GROUP BY 2",
    "SELECT code, COUNT(*), SUM(visits) FROM clinic GROUP BY code",
    "SELECT seen, COUNT(*) FROM clinic GROUP BY seen",
    "SELECT stamp, COUNT(*), AVG(dose) FROM clinic GROUP BY stamp",
    "SELECT city, code FROM clinic GROUP BY city, code",
    "SELECT city AS town, code AS c, COUNT(*) AS n FROM clinic GROUP BY town, c",
    "SELECT COUNT(*) FROM clinic GROUP BY city",
    "SELECT code, code + 1, 2 * code + COUNT(*) FROM clinic WHERE code < 10 GROUP BY code",
    "SELECT city, plan, COUNT(*) FROM clinic WHERE plan IN ('free', 'basic', 'gold') GROUP BY city, plan",
]

ARRANGED = [
    "SELECT city, COUNT(cost) AS n FROM clinic GROUP BY city ORDER BY n DESC, city",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY s LIMIT 3",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY city NULLS FIRST",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY city DESC NULLS FIRST LIMIT 2",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY city DESC NULLS LAST",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY city",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY city DESC",
    "SELECT city, SUM(cost) AS cost FROM clinic GROUP BY city ORDER BY cost",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY 2 DESC",
    "SELECT city, COUNT(cost) AS n, SUM(cost) AS s FROM clinic GROUP BY city ORDER BY s / n, city",
    "SELECT code, COUNT(*) AS n FROM clinic GROUP BY code ORDER BY code DESC",
    "SELECT seen, COUNT(*) AS n FROM clinic GROUP BY seen ORDER BY n DESC, seen LIMIT 5",
    "SELECT stamp, COUNT(*) AS n FROM clinic GROUP BY stamp ORDER BY stamp LIMIT 4",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city HAVING city = 'Graz'",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city HAVING city <> 'Graz' ORDER BY city",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city HAVING NOT (city IN ('Graz', '')) ORDER BY city",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city HAVING city IS NULL",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city HAVING city IS NOT NULL AND n > 1 ORDER BY city",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city HAVING s > 2900 OR city = 'graz' ORDER BY city",
    "SELECT city, SUM(cost) AS s FROM clinic GROUP BY city HAVING SUM(cost) BETWEEN 2000 AND 3000 ORDER BY city",
    "SELECT city, AVG(visits) AS a FROM clinic GROUP BY city HAVING COUNT(*) + 1 > 20.5 AND AVG(visits) < 3 ORDER BY a",
    "SELECT code, COUNT(*) AS n FROM clinic GROUP BY code HAVING code > 6 ORDER BY code",
    "SELECT code, COUNT(*) AS n FROM clinic GROUP BY code HAVING code IN (7, -5) ORDER BY code",
    "SELECT COUNT(*) AS n FROM clinic HAVING n > 1000000",
    "SELECT COUNT(*) AS n FROM clinic HAVING COUNT(*) > 10",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city ORDER BY n, city LIMIT 0",
    "SELECT city, COUNT(*) AS n FROM clinic GROUP BY city ORDER BY city LIMIT 99999999999999999999999",
]


@pytest.mark.parametrize("query", WHOLE_TABLE)
def test_aggregates(query: str, session: Session, plain: Callable[[str], Rows]) -> None:
    assert same(rows_of(session.sql(query, NEARLY_EXACT)), plain(oracle(query)))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(condition: str, session: Session, plain: Callable[[str], Rows]) -> None:
    query = f"SELECT COUNT(*), SUM(cost) FROM clinic WHERE {condition}"
    assert same(rows_of(session.sql(query, NEARLY_EXACT)), plain(oracle(query)))


@pytest.mark.parametrize("query", GROUPED)
def test_private_keys(query: str, session: Session, plain: Callable[[str], Rows]) -> None:
    ours, theirs = rows_of(session.sql(query, NEARLY_EXACT)), plain(oracle(query))
    if "gold" in query:  # the keys of a mixed group that nobody has are not discovered
        assert all(row[1] != "gold" for row in theirs)
    assert same(in_some_order(ours), in_some_order(theirs))


@pytest.mark.parametrize("query", ARRANGED)
def test_having_order_and_limit(query: str, session: Session, plain: Callable[[str], Rows]) -> None:
    theirs = plain(re.sub(r"LIMIT 9{20,}", "", oracle(query)))
    assert same(rows_of(session.sql(query, NEARLY_EXACT)), theirs)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (
            "SELECT plan, COUNT(*), SUM(cost) FROM clinic GROUP BY plan",
            "(VALUES ('free'), ('basic'), ('gold')) k(plan)",
        ),
        (
            "SELECT coins, COUNT(*), SUM(coins) FROM clinic WHERE age > 9 GROUP BY coins",
            "(VALUES (0), (25), (95)) k(coins)",
        ),
        ("SELECT insured, COUNT(*), COUNT(visits) FROM clinic GROUP BY insured", "(VALUES (TRUE), (FALSE)) k(insured)"),
        (
            "SELECT quarter, COUNT(*), SUM(age) FROM clinic WHERE NOT insured GROUP BY quarter",
            "(VALUES (DATE '2024-01-01'), (DATE '2024-04-01')) k(quarter)",
        ),
        (
            "SELECT plan, coins, COUNT(*), SUM(dose) FROM clinic GROUP BY plan, coins",
            "(VALUES ('free'), ('basic'), ('gold')) k(plan) CROSS JOIN (VALUES (0), (25), (95)) l(coins)",
        ),
        (
            "SELECT plan, COUNT(*), SUM(age) FROM clinic WHERE FALSE GROUP BY plan",
            "(VALUES ('free'), ('basic'), ('gold')) k(plan)",
        ),
    ],
)
def test_every_public_key_appears_in_the_order_of_the_policy(
    query: str, keys: str, session: Session, plain: Callable[[str], Rows]
) -> None:
    names = query[len("SELECT ") : query.index(", COUNT")]
    items, condition = re.search(r"(COUNT.*) FROM clinic(?: WHERE (.*))? GROUP", query).groups()  # type: ignore[union-attr]
    groups = " AND ".join(f"t.{name} = keys.{name}" for name in names.split(", "))
    counted = oracle(items).replace("COUNT(*)", "COUNT(age)")
    theirs = plain(
        f"SELECT {', '.join(f'keys.{name}' for name in names.split(', '))}, {counted} FROM (SELECT * FROM {keys}) keys "
        f"LEFT JOIN (SELECT * FROM clinic WHERE {condition or 'TRUE'}) t ON {groups} GROUP BY ALL"
    )
    release = session.sql(query, NEARLY_EXACT)
    ours = rows_of(release)
    assert same(in_some_order(ours), in_some_order(theirs))
    first = [row[0] for row in ours]
    order = {"plan": ["free", "basic", "gold"], "coins": [0, 25, 95], "insured": [True, False]}.get(
        names.split(", ")[0]
    )
    assert order is None or list(dict.fromkeys(first)) == order


def test_the_mean_of_nothing_is_the_middle_of_the_bounds(session: Session) -> None:
    release = session.sql("SELECT AVG(cost), AVG(visits), SUM(cost), COUNT(*) FROM clinic WHERE FALSE", NEARLY_EXACT)
    mean, other, total, count = rows_of(release)[0]
    assert mean == pytest.approx(1000, abs=1)
    assert other == 2
    assert (total, count) == (pytest.approx(0, abs=1e-3), 0)


def test_division_by_zero_is_null_and_so_is_what_overflows(session: Session) -> None:
    query = (
        "SELECT COUNT(*) / (COUNT(*) - COUNT(*)) AS a, 1 / (SUM(age) * 0) AS b, COUNT(*) * 1e308 * 1e308 AS c, "
        "1e308 * 1e308 * COUNT(*) - 1e308 * 1e308 * COUNT(*) AS d, 0 * COUNT(*) AS e, "
        "COUNT(1 / (age - age)) AS f FROM clinic"
    )
    release = session.sql(query, NEARLY_EXACT)
    assert rows_of(release) == [(None, None, None, None, 0, 0)]
    assert all(str(release.error(name)[0]) == "nan" for name in "abcd")
    assert release.error("e")[0] == 0
    assert "NULL" in repr(release)


def test_types_of_the_columns_follow_from_the_policy(session: Session) -> None:
    query = (
        "SELECT city, insured, coins, seen, stamp, COUNT(*) AS n, SUM(age) AS whole, SUM(cost) AS total, "
        "AVG(age) AS mean, COUNT(*) / 2 AS half, coins * 2 AS twice FROM clinic GROUP BY 1, 2, 3, 4, 5"
    )
    schema = session.sql(query, NEARLY_EXACT).to_arrow().schema
    assert schema.names == [
        "city", "insured", "coins", "seen", "stamp", "n", "whole", "total", "mean", "half", "twice",
    ]  # fmt: skip
    assert schema.types == [
        pa.string(), pa.bool_(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.int64(), pa.int64(),
        *[pa.float64()] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize("upper", [10, 2**20, 2**31, 2**40, 10**15, 10**30])
def test_a_sum_of_fractions_is_a_fraction_however_wide_the_bounds(upper: int) -> None:
    policy = {
        "version": "1",
        "budget": {"epsilon": 10**60},
        "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "float", "bounds": [0, upper]}}}},
    }
    with dp.connect({"t": pa.table({"x": [float(upper)] * 40})}, policy) as session:
        release = session.sql("SELECT SUM(x) AS s, AVG(x) AS a FROM t", dp.pure(10**50))
    assert release.to_arrow().schema.types == [pa.float64(), pa.float64()]
    assert rows_of(release)[0] == pytest.approx((40.0 * upper, upper), rel=1e-6)


def test_whole_sums_stop_at_the_ends_of_64_bits_and_wider_ones_are_fractions() -> None:
    columns = {"x": {"type": "int", "bounds": [0, 2**30]}, "y": {"type": "int", "bounds": [0, 2**62]}}
    policy = {"version": "1", "budget": {"epsilon": 10**60}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    table = pa.table({"x": [2**30] * 9, "y": [2**62] * 9})
    with dp.connect({"t": table}, policy) as session:
        release = session.sql("SELECT SUM(x) AS x, SUM(y) AS y, SUM(-y) AS z FROM t", dp.pure(10**50))
    assert release.to_arrow().schema.types == [pa.int64(), pa.float64(), pa.float64()]
    assert rows_of(release)[0] == (9 * 2**30, pytest.approx(9.0 * 2**62), pytest.approx(-9.0 * 2**62))


def test_keys_beyond_what_a_double_holds_are_exact(session: Session) -> None:
    query = (
        "SELECT code, code - 1 AS less, COUNT(*) FROM clinic GROUP BY code HAVING code > 0.5 AND code <> 7 ORDER BY 1"
    )
    assert rows_of(session.sql(query, NEARLY_EXACT)) == [(2**62 + 1, pytest.approx(2.0**62), 30)]


def test_nan_is_null_and_infinities_clamp() -> None:
    nan, infinity = float("nan"), float("inf")
    columns = {"x": {"type": "float", "bounds": [-1, 3]}, "y": {"type": "decimal", "bounds": [0, 1]}}
    policy = {"version": "1", "budget": {"epsilon": 10**12}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    table = pa.table({"x": [nan, infinity, -infinity, 0.5, None], "y": [0.5, nan, infinity, None, 0.25]})
    query = "SELECT COUNT(*), COUNT(x), SUM(x), SUM(x + y), SUM(x * y), COUNT(x / 0), AVG(x) FROM t"
    with dp.connect({"t": table}, policy) as session:
        assert same(rows_of(session.sql(query, dp.pure(10**9))), [(5, 3, 2.5, 0.0, -1.0, 0, 2.5 / 3)])
        where = "SELECT COUNT(*) FROM t WHERE x IS NULL OR x > 1000 OR x < -1000"
        assert same(rows_of(session.sql(where, dp.pure(10**9))), [(4,)])


def test_rows_of_nobody_are_dropped() -> None:
    columns = {"x": {"type": "int", "bounds": [0, 9]}}
    tables = {"t": {"unit": "who", "max_rows": 10, "columns": columns}}
    policy = {"version": "1", "budget": {"epsilon": 10**12}, "tables": tables}
    for who in (["a", "a", None, "b"], [1.0, 1.0, float("nan"), 2.0], [1, 1, None, 2]):
        with dp.connect({"t": pa.table({"who": who, "x": [1, 2, 4, 5]})}, policy) as session:
            release = session.sql("SELECT COUNT(*), SUM(x) FROM t", dp.pure(10**9))
            assert same(rows_of(release), [(3, 8)])


def test_caps_hold_in_the_answer() -> None:
    columns = {"x": {"type": "int", "bounds": [0, 9]}, "k": {"type": "int", "keys": list(range(8))}}
    tables = {"t": {"unit": "who", "max_rows": 4, "max_groups": 2, "columns": columns}}
    policy = {"version": "1", "budget": {"epsilon": 10**12}, "tables": tables}
    table = pa.table({"who": ["a"] * 40 + ["b"] * 3, "k": [i % 8 for i in range(40)] + [0, 0, 0], "x": [3] * 43})
    with dp.connect({"t": table}, policy) as session:
        assert same(rows_of(session.sql("SELECT COUNT(*), SUM(x) FROM t", dp.pure(10**9))), [(7, 21)])
        groups = rows_of(session.sql("SELECT k, COUNT(*) FROM t GROUP BY k", dp.pure(10**9)))
        counts = [count for _, count in groups]
        assert counts[0] >= 3 and sum(counts) <= 7
        assert sum(count > (3 if key == 0 else 0) for key, count in groups) <= 2


def test_an_empty_table_has_an_answer() -> None:
    schema = pa.schema([("who", pa.string()), ("x", pa.int64()), ("k", pa.int64()), ("p", pa.string())])
    columns = {"x": {"type": "int", "bounds": [0, 9]}, "k": {"type": "int", "keys": [1, 2]}, "p": {"type": "string"}}
    for table in ({"unit": "rows"}, {"unit": "who", "max_rows": 3}, {"unit": "who", "max_rows": 3, "max_groups": 1}):
        policy = {
            "version": "1",
            "budget": {"epsilon": 10**12, "delta": "0.9"},
            "tables": {"t": {**table, "columns": columns}},
        }
        with dp.connect({"t": schema.empty_table()}, policy) as session:
            assert same(rows_of(session.sql("SELECT COUNT(*), SUM(x), AVG(x) FROM t", NEARLY_EXACT)), [(0, 0, 4)])
            public = session.sql("SELECT k, COUNT(*), SUM(x) FROM t GROUP BY k ORDER BY k", NEARLY_EXACT)
            assert same(rows_of(public), [(1, 0, 0), (2, 0, 0)])
            private = session.sql(
                "SELECT p, COUNT(*) AS n FROM t GROUP BY p HAVING p IN ('a') ORDER BY n", NEARLY_EXACT
            )
            assert private.to_arrow().num_rows == 0
            assert private.to_arrow().schema.types == [pa.string(), pa.int64()]
            assert list(private.error("n")) == []
            assert "0 rows" in repr(private)


def test_errors_are_aligned_with_the_rows(session: Session) -> None:
    query = "SELECT plan, AVG(cost) AS a, COUNT(*) AS n FROM clinic GROUP BY plan ORDER BY n DESC, plan"
    release = session.sql(query, dp.pure(10))
    assert list(release.noisy) == ["a", "n"]
    widths = release.error("a")
    counts = release.to_arrow().column("n").to_pylist()
    assert len(widths) == 3
    assert [width for width, _ in sorted(zip(widths, counts, strict=True))] == sorted(widths)
    assert widths[counts.index(max(counts))] == min(widths), "more rows, less error"
    assert release.approximate("a") and not release.approximate("n")
    assert len(set(release.error("n"))) == 1


def test_dates_at_the_ends_of_time_have_groups() -> None:
    columns = {"d": {"type": "date"}, "t": {"type": "timestamp"}}
    policy = {
        "version": "1",
        "budget": {"epsilon": 10**12, "delta": "0.9"},
        "tables": {"t": {"unit": "rows", "columns": columns}},
    }
    days = [dt.date.min, dt.date.max, dt.date(1970, 1, 1), None] * 10
    times = [dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None] * 10  # noqa: DTZ001, DTZ901
    with dp.connect({"t": pa.table({"d": days, "t": times})}, policy) as session:
        by_day = rows_of(session.sql("SELECT d, COUNT(*) FROM t GROUP BY d ORDER BY d", NEARLY_EXACT))
        by_time = rows_of(session.sql("SELECT t, COUNT(*) FROM t GROUP BY t ORDER BY t", NEARLY_EXACT))
    assert by_day == [(day, 10) for day in (days[0], days[2], days[1], None)]
    assert by_time == [(time, 10) for time in (times[0], times[2], times[1], None)]
