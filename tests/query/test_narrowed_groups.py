"""Groups that conditions of the query rule out are not answered, and no row that counts is without its group."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.policy import load_policy
from discreet.query import GroupKey, make_plan

NEARLY_EXACT = dp.pure(10**6)
MODES = ("AIR", "MAIL", "RAIL", "SHIP")
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**12},
    "tables": {
        "t": {"unit": "rows", "columns": {
            "mode": {"type": "string", "keys": list(MODES)},
            "city": {"type": "string"},
            "n": {"type": "int"},
            "age": {"type": "int", "bounds": [18, 99]},
            "p": {"type": "float", "bounds": [0, 1000]},
            "d": {"type": "date", "bounds": ["1992-01-01", "1998-12-31"]},
            "ts": {"type": "timestamp", "bounds": ["1992-01-01 00:00:00", "1998-12-31 00:00:00"]},
            "b": {"type": "bool"}}},
        "pub": {"public": True, "key": "id", "columns": {
            "id": {"type": "int"}, "kind": {"type": "string", "keys": ["x", "y", "z"]}}},
    },
}  # fmt: skip


def key_of(key: str, where: str, source: str = "t") -> GroupKey:
    query = f"SELECT {key} AS k, COUNT(*) AS c FROM {source} WHERE {where} GROUP BY {key}"
    return make_plan(query, load_policy(POLICY)).levels[0].bounded.keys[0]


@pytest.mark.parametrize(
    ("key", "where", "expected"),
    [
        ("mode", "mode IN ('MAIL', 'SHIP')", ("MAIL", "SHIP")),
        ("mode", "mode LIKE '%AI%'", ("AIR", "MAIL", "RAIL")),
        ("mode", "mode LIKE '_AI%' AND mode <> 'MAIL'", ("RAIL",)),
        ("mode", "mode > 'MAIL'", ("RAIL", "SHIP")),
        ("mode", "mode = 'AIR' OR mode = 'X'", ("AIR",)),
        ("mode", "mode = 'AIR' OR n > 3", MODES),
        ("mode", "(mode = 'AIR' AND n > 3) OR mode = 'SHIP'", ("AIR", "SHIP")),
        ("mode", "NOT (mode = 'AIR' OR n > 3)", ("MAIL", "RAIL", "SHIP")),
        ("mode", "LOWER(mode) = 'air'", ("AIR",)),
        ("mode", "UPPER(city) = mode", MODES),
        ("LEFT(mode, 1)", "mode NOT IN ('AIR', 'RAIL')", ("M", "S")),
        ("UPPER(mode)", "UPPER(mode) IN ('AIR', 'NONE')", ("AIR",)),
        ("city", "city = 'graz'", ("graz",)),
        ("city", "city IN ('graz', 'wien', 'graz') AND city <> 'wien'", ("graz",)),
        ("city", "city = 'graz' OR city = 'wien'", ("graz", "wien")),
        ("city", "city = 'graz' OR n = 3", None),
        ("city", "city > 'graz'", None),
        ("UPPER(city)", "city IN ('graz', 'wien')", ("GRAZ", "WIEN")),
        ("UPPER(city)", "UPPER(city) IN ('GRAZ', 'WIEN')", ("GRAZ", "WIEN")),
        ("n", "n BETWEEN 3 AND 6", (3, 4, 5, 6)),
        ("n", "n IN (1, 1000000, NULL, 2.5, 3.0)", (1, 1000000, 3)),
        ("n", "n > 3", None),
        ("n", "3 < n AND 5.5 > n", (4, 5)),
        ("n", "n IN (1, 2) OR (n >= 4 AND n < 6)", (1, 2, 4, 5)),
        ("age", "age BETWEEN 20 AND 23", (20, 21, 22, 23)),
        ("age", "age > 96", (97, 98, 99)),
        ("age", "age >= 150", (99,)),
        ("age", "age IN (20, 22)", (20, 22)),
        ("age", "age IN (20, 200)", (20, 99)),
        ("age", "age < 20 AND n > 3", (18, 19)),
        ("age", "age < 20 OR age IS NULL", (18, 19, None)),
        ("age", "age IS NULL", (None,)),
        ("age // 10", "age < 30", (1, 2)),
        ("FLOOR(p / 100)", "p < 500 AND p >= 100", (1, 2, 3, 4)),
        ("FLOOR(p / 100)", "p <= 500 AND p > 300", (3, 4, 5)),
        ("YEAR(d)", "d BETWEEN '1995-01-01' AND '1996-12-31'", (1995, 1996)),
        ("EXTRACT(YEAR FROM d)", "EXTRACT(YEAR FROM d) IN (1995, 1997)", (1995, 1997)),
        ("YEAR(ts)", "YEAR(ts) >= 1997", (1997, 1998)),
        ("YEAR(ts)", "YEAR(ts) > 2005", (1998,)),
        ("MONTH(d)", "MONTH(d) < 4", (1, 2, 3)),
        ("CAST(ts AS DATE)", "CAST(ts AS DATE) = DATE '1995-03-04'", (dt.date(1995, 3, 4),)),
        ("d", "d < TIMESTAMP '1992-01-03 12:00:00'", tuple(dt.date(1992, 1, i) for i in (1, 2, 3))),
        ("b", "b", (True,)),
        ("b", "NOT b", (False,)),
        ("b", "b IS NULL", (None,)),
        ("CASE WHEN mode = 'AIR' THEN 'a' ELSE mode END", "mode IN ('AIR', 'SHIP')", ("a", "AIR", "SHIP")),
    ],
)
def test_keys_that_conditions_leave(key: str, where: str, expected: tuple[object, ...] | None) -> None:
    assert key_of(key, where).values == expected


def test_conditions_of_sub_queries_and_joins_count_too() -> None:
    assert key_of("mode", "n > 0", "(SELECT * FROM t WHERE mode = 'AIR')").values == ("AIR",)
    on = "t {} JOIN pub ON n = id AND kind IN ('x', 'y') AND mode <> 'AIR'"
    assert key_of("kind", "n > 0", on.format("")).values == ("x", "y")
    assert key_of("mode", "n > 0", on.format("")).values == ("MAIL", "RAIL", "SHIP")
    assert key_of("mode", "n > 0", on.format("LEFT")).values == MODES


def test_a_key_release_lists_nothing_from_its_conditions() -> None:
    policy = load_policy(POLICY)
    plan = make_plan("SELECT DISTINCT city FROM t WHERE city IN ('graz', 'wien')", policy, dp.approx(1, 1e-6))
    assert plan.levels[0].bounded.keys[0].values is None


@pytest.mark.parametrize("where", ["mode = 'NONE'", "mode = NULL", "mode = 'AIR' AND mode = 'SHIP'"])
def test_no_group_at_all_is_refused(where: str) -> None:
    with pytest.raises(dp.QueryError, match="write a WHERE that leaves some"):
        key_of("mode", where)


def test_conditions_that_list_much_take_no_time() -> None:
    dates = ", ".join(f"'{dt.date(1992, 1, 1) + dt.timedelta(i)}'" for i in range(2_000))
    assert len(key_of("d", f"d IN ({dates})").values or ()) == 2_000
    many = {"type": "string", "keys": [f"k{i}" for i in range(10_000)]}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"m": many}}}})
    few = make_plan("SELECT m, COUNT(*) AS c FROM t WHERE m IN ('k7', 'k9', 'x') GROUP BY m", policy)
    assert few.levels[0].bounded.keys[0].values == ("k7", "k9")
    texts = " OR ".join(f"city = 'c{i}'" for i in range(60))
    assert len(key_of("city", texts).values or ()) == 60


def test_other_groups_are_another_question() -> None:
    policy = load_policy(POLICY)
    hashes = {
        make_plan(f"SELECT mode, COUNT(*) AS c FROM t {where} GROUP BY mode", policy, NEARLY_EXACT).hash(policy)
        for where in ("", "WHERE mode <> 'AIR'", "WHERE mode <> 'SHIP'")
    }
    assert len(hashes) == 3


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    dice = random.Random("rows")

    def some(*values: Any) -> list[Any]:
        return [dice.choice([*values, None]) for _ in range(400)]

    days = [dt.date(1980, 5, 1), dt.date(2010, 1, 1), *(dt.date(1992 + i // 4, 1 + i % 12, 1 + i) for i in range(28))]
    return pa.table({
        "mode": pa.array(some(*MODES, "air", "NONE"), pa.string()),
        "city": pa.array(some("graz", "wien", "Graz", "linz", ""), pa.string()),
        "n": pa.array(some(*range(-2, 9), 2**53 + 1), pa.int64()),
        "age": pa.array(some(5, 18, *range(19, 30), 77, 99, 150), pa.int64()),
        "p": pa.array(some(-5.0, 0.0, 99.99, 100.0, 500.0, 499.99999999999994, 1e3, 5e9, float("inf")), pa.float64()),
        "d": pa.array(some(*days), pa.date32()),
        "ts": pa.array([None if x is None else dt.datetime.combine(x, dt.time(13)) for x in some(*days)]),
        "b": pa.array(some(True, False), pa.bool_()),
    })  # fmt: skip


@pytest.fixture(scope="module")
def session(rows: pa.Table) -> Iterator[dp.Session]:
    public = pa.table({"id": list(range(6)), "kind": ["x", "y", "z"] * 2})
    with dp.connect({"t": rows, "pub": public}, POLICY) as opened:
        yield opened


KEYS = {
    "mode": "mode IN ('AIR', 'MAIL', 'RAIL', 'SHIP')",
    "LEFT(mode, 1)": "mode IN ('AIR', 'MAIL', 'RAIL', 'SHIP')",
    "age": "TRUE",
    "age // 10": "TRUE",
    "FLOOR(p / 100)": "TRUE",
    "YEAR(d)": "TRUE",
    "MONTH(d)": "TRUE",
    "DATE_TRUNC('quarter', ts)": "TRUE",
    "b": "TRUE",
    "CASE WHEN age > 25 THEN 'old' WHEN b THEN 'true' END": "TRUE",
}
CONDITIONS = (
    "mode = 'AIR'", "mode IN ('MAIL', 'SHIP', 'NONE')", "mode LIKE '%AI_'", "NOT mode <= 'MAIL'", "mode IS NULL",
    "age < 22", "age BETWEEN 21 AND 40", "age IN (5, 20, 150)", "age + 1 = 21", "age // 10 = 2", "age > 150",
    "age <> 20", "p < 500", "p > 99.99", "p = 1000", "FLOOR(p / 100) = 4", "FLOOR(p / 100) >= 10", "p IS NOT NULL",
    "YEAR(d) IN (1994, 1996)", "d >= '1997-01-01'", "YEAR(d) > 2000", "MONTH(d) = 5", "d < '1990-01-01'",
    "YEAR(ts) = 1993", "CAST(ts AS DATE) <= '1993-05-06'", "ts > TIMESTAMP '1995-01-01 13:00:00'",
    "b", "NOT b", "b IS NULL", "NOT (b IS NULL)", "n > 5", "n IN (1, 2.0, 9007199254740993)",
)  # fmt: skip


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("number", range(60))
def test_no_row_is_without_its_group(number: int, session: dp.Session, rows: pa.Table) -> None:
    """Of three conditions by chance, the groups hold as many rows as plain SQL counts."""
    dice = random.Random(number)
    one, two, three = dice.sample(CONDITIONS, 3)
    where = dice.choice([f"{one} OR {two}", f"{one} AND ({two} OR {three})", f"NOT ({one}) AND {two}", one])
    plain = duckdb.connect()
    plain.register("t", rows)
    for key, counted in KEYS.items():
        (expected,) = plain.execute(f"SELECT count(*) FROM t WHERE ({where}) AND {counted}").fetchall()[0]
        try:
            answer = session.sql(f"SELECT {key} AS k, COUNT(*) AS c FROM t WHERE {where} GROUP BY 1", NEARLY_EXACT)
        except dp.QueryError as error:
            assert "leaves some of them" in str(error)  # noqa: PT017
            assert expected == 0
            continue
        assert sum(answer.to_arrow().column("c").to_pylist()) == expected, (key, where)


@pytest.mark.parametrize("key", ["city", "n", "UPPER(city)"])
@pytest.mark.parametrize(
    "where", ["city IN ('graz', 'Graz', 'x') AND n IN (1, 2, 3)", "city = 'wien' AND n BETWEEN 0 AND 4"]
)
def test_keys_that_conditions_list_are_answered_as_plain_sql_does(
    key: str, where: str, session: dp.Session, rows: pa.Table
) -> None:
    query = f"SELECT {key} AS k, COUNT(*) AS c FROM t WHERE {where} GROUP BY 1"
    plain = duckdb.connect()
    plain.register("t", rows)
    answer = {row["k"]: row["c"] for row in session.sql(query, NEARLY_EXACT).to_arrow().to_pylist() if row["c"]}
    assert answer == dict(plain.execute(query).fetchall())
