"""Windows and QUALIFY see released rows alone, and give what DuckDB makes of the released table."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.policy import load_policy
from discreet.query import Release, make_plan
from discreet.query.results._intervals import linear_half_width
from discreet.query.results._row_noise import RowNoise
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = load_policy(
    {
        "version": "1",
        "budget": {"epsilon": 10**13, "delta": "0.5"},
        "tables": {
            "t": {
                "unit": "who",
                "max_rows": 1,
                "columns": {
                    "k": {"type": "string", "keys": ["a", "b", "c"]},
                    "g": {"type": "int", "bounds": [0, 2]},
                    "d": {"type": "date", "keys": ["2024-01-01", "2024-02-01"]},
                    "x": {"type": "int", "bounds": [-9, 9]},
                    "free": {"type": "string"},
                },
            },
        },
    }
)
ROWS = 240
CHANCE = random.Random(5)
TABLE = pa.table(
    {
        "who": range(ROWS),
        "k": [CHANCE.choice("abc") for _ in range(ROWS)],
        "g": [CHANCE.choice([0, 1, 2, None]) for _ in range(ROWS)],
        "d": pa.array([CHANCE.choice(["2024-01-01", "2024-02-01"]) for _ in range(ROWS)]),
        "x": [CHANCE.choice([*range(-9, 10), None]) for _ in range(ROWS)],
        "free": [CHANCE.choice("pqrs") for _ in range(ROWS)],
    }
)
GROUPS = "SELECT k, g, d, COUNT(*) AS n, SUM(x) AS s, COUNT(*) // 4 AS few FROM t GROUP BY k, g, d"
"""What windows read: a row for each group, with a count of which many are alike."""

COUNT, TOTAL, FEW = "COUNT(*)", "SUM(x)", "ROUND(COUNT(*) / 8)"
PLAIN = {"n": COUNT, "s": TOTAL, "few": FEW, "k": "k", "g": "g", "d": "d"}
"""The columns of the released table, and what they are in the query."""

RANKS = ("RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()")
PLACES = ("ROW_NUMBER()", "NTILE(3)", "NTILE(40)")
SHIFTS = ("LAG({0})", "LEAD({0}, 2)", "LAG({0}, 3)", "LAG({0}, 0)", "FIRST_VALUE({0})")
TOTALS = ("SUM({1})", "COUNT({0})", "COUNT(*)", "AVG({1})", "MIN({0})", "MAX({0})")
FRAMES = (
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING", "ROWS 3 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING", "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND CURRENT ROW", "ROWS BETWEEN 1 PRECEDING AND 5 FOLLOWING",
)  # fmt: skip
RANGES = (
    "", "RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN CURRENT ROW AND CURRENT ROW", "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
)  # fmt: skip


def some_window(chance: random.Random) -> str:
    """A window in terms of the released columns; where equal rows matter, ordered by their place at last."""
    value, number = chance.choice(list(PLAIN)), chance.choice(["n", "s", "few", "g"])
    parts = chance.sample(["k", "g", "d", "few"], chance.randint(0, 2))
    directions = ("", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST")
    order = [each + chance.choice(directions) for each in chance.sample(list(PLAIN), chance.randint(0, 2))]
    kind = chance.randint(0, 3)
    frame = ""
    match kind:
        case 0:
            function = chance.choice(RANKS)
        case 1:
            function = chance.choice(TOTALS)
            function += chance.choice(["", "", " FILTER (WHERE few > 1)", " FILTER (WHERE k <> 'b' AND s > 0)"])
            frame = chance.choice(RANGES)
        case 2:
            function = chance.choice((*PLACES, *SHIFTS))
        case _:
            function, frame = (
                chance.choice((*TOTALS, "FIRST_VALUE({0})", "LAST_VALUE({0})", "NTH_VALUE({0}, 2)")),
                chance.choice(FRAMES),
            )
    if kind > 1:
        order.append("place")
    partition = f"PARTITION BY {', '.join(parts)} " if parts else ""
    ordered = f"ORDER BY {', '.join(order)} " if order else ""
    return f"{function.format(value, number)} OVER ({partition}{ordered}{frame})"


def in_query(window: str) -> str:
    """The window over groups: their columns written out, and without their place, which decides last in any case."""
    words = window.replace("ORDER BY place ", "").replace(", place ", " ").replace("(", "( ").replace(")", " )")
    return " ".join(PLAIN.get(word.rstrip(","), word.rstrip(",")) + "," * word.endswith(",") for word in words.split())


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with dp.connect({"t": TABLE}, POLICY) as opened:
        yield opened


def answer(session: Session, query: str) -> list[dict[str, Any]]:
    return session.sql(query, dp.approx(10**8, "1e-9")).to_arrow().to_pylist()


def rounded(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(round(v, 9) if isinstance(v, float) else v for v in row.values()) for row in rows]


@pytest.fixture(scope="module")
def released(session: Session) -> duckdb.DuckDBPyConnection:
    """The released rows without windows, as a table of DuckDB."""
    items = ", ".join(f"{written} AS {name}" for name, written in PLAIN.items())
    rows = session.sql(f"SELECT {items} FROM t GROUP BY k, g, d", dp.approx(10**8, "1e-9")).to_arrow()
    rows = rows.append_column("place", pa.array(range(rows.num_rows)))
    plain = duckdb.connect()
    plain.register("released", rows)
    return plain


@pytest.mark.parametrize("number", range(30))
def test_windows_are_those_of_duckdb(session: Session, released: duckdb.DuckDBPyConnection, number: int) -> None:
    """Eight windows at once, of every function, partition, order and frame, with nulls and with equal rows."""
    chance = random.Random(number)
    windows = [some_window(chance) for _ in range(8)]
    having = chance.choice(["", "", "n > 8", "s >= 0 AND k <> 'c'"])
    wanted = ", ".join(f"{window} AS w{i}" for i, window in enumerate(windows))
    ours = ", ".join(f"{in_query(window)} AS w{i}" for i, window in enumerate(windows))
    filtered = f"WHERE {having}" if having else ""
    plain = released.sql(f"SELECT k, g, d, {wanted} FROM released {filtered} ORDER BY place").arrow().read_all()
    groups = f"GROUP BY k, g, d HAVING {in_query(having)}" if having else "GROUP BY k, g, d"
    assert rounded(answer(session, f"SELECT k, g, d, {ours} FROM t {groups}")) == rounded(plain.to_pylist()), windows


CLAUSES = {
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC, place) <= 2 ORDER BY n DESC, place": (
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY COUNT(*) DESC) <= 2 ORDER BY n DESC"
    ),
    "QUALIFY n > AVG(n) OVER () ORDER BY place": "QUALIFY n > AVG(n) OVER ()",
    "QUALIFY RANK() OVER (ORDER BY n DESC) BETWEEN 3 AND 8 AND s > 0 ORDER BY place LIMIT 3 OFFSET 1": (
        "QUALIFY RANK() OVER (ORDER BY n DESC) BETWEEN 3 AND 8 AND s > 0 LIMIT 3 OFFSET 1"
    ),
    "ORDER BY RANK() OVER (ORDER BY n DESC), place LIMIT 4": "ORDER BY RANK() OVER (ORDER BY n DESC) LIMIT 4",
    "ORDER BY SUM(s) OVER (PARTITION BY k) DESC, n, place": "ORDER BY SUM(SUM(x)) OVER (PARTITION BY k) DESC, n",
    "QUALIFY LAG(k) OVER (ORDER BY place) = 'b' ORDER BY place": "QUALIFY LAG(k) OVER () = 'b'",
    "QUALIFY LAG(k) OVER (ORDER BY place) IS NULL OR d = MAX(d) OVER () ORDER BY place": (
        "QUALIFY LAG(k) OVER () IS NULL OR d = MAX(d) OVER ()"
    ),
}


@pytest.mark.parametrize("clause", CLAUSES)
def test_clauses_with_windows_are_those_of_duckdb(
    session: Session, released: duckdb.DuckDBPyConnection, clause: str
) -> None:
    plain = released.sql(f"SELECT k, g, d, n, s FROM released {clause}").arrow().read_all()
    query = f"SELECT k, g, d, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k, g, d {CLAUSES[clause]}"
    assert rounded(answer(session, query)) == rounded(plain.to_pylist())


ITEMS = {
    "n / SUM(n) OVER ()": "COUNT(*) / SUM(COUNT(*)) OVER ()",
    "ROUND(9 * n / SUM(n) OVER (PARTITION BY k), 1)": "ROUND(9 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY k), 1)",
    "n - LAG(n, 1, 0) OVER (ORDER BY place)": "COUNT(*) - LAG(COUNT(*), 1, 0) OVER ()",
    "LAG(k, 1, '-') OVER (ORDER BY place)": "LAG(k, 1, '-') OVER ()",
    "LAG(d, 1, DATE '2020-01-01') OVER (ORDER BY place)": "LAG(d, 1, DATE '2020-01-01') OVER ()",
    "COALESCE(LEAD(k) OVER (PARTITION BY k ORDER BY place), 'end')": "COALESCE(LEAD(k) OVER (PARTITION BY k), 'end')",
    "CASE WHEN RANK() OVER (ORDER BY n DESC) <= 3 THEN n ELSE 0 END": (
        "CASE WHEN RANK() OVER (ORDER BY COUNT(*) DESC) <= 3 THEN COUNT(*) ELSE 0 END"
    ),
    "CASE WHEN LAG(k) OVER (ORDER BY place) = k THEN 'same' ELSE 'new' END": (
        "CASE WHEN LAG(k) OVER () = k THEN 'same' ELSE 'new' END"
    ),
    "SUM(n * s) OVER (ORDER BY k)": "SUM(COUNT(*) * SUM(x)) OVER (ORDER BY k)",
    "SUM(CASE WHEN k = 'a' THEN n END) OVER (PARTITION BY k)": (
        "SUM(CASE WHEN k = 'a' THEN COUNT(*) END) OVER (PARTITION BY k)"
    ),
    "(n - MIN(n) OVER ()) / (MAX(n) OVER () - MIN(n) OVER ())": (
        "(COUNT(*) - MIN(COUNT(*)) OVER ()) / (MAX(COUNT(*)) OVER () - MIN(COUNT(*)) OVER ())"
    ),
    "SUM(1) OVER (PARTITION BY g)": "SUM(1) OVER (PARTITION BY g)",
    "n / (LAG(n) OVER (ORDER BY place) - LAG(n) OVER (ORDER BY place))": (
        "COUNT(*) / (LAG(COUNT(*)) OVER () - LAG(COUNT(*)) OVER ())"
    ),
    "RANK() OVER (PARTITION BY d, k = 'a' ORDER BY n)": (
        "RANK() OVER (PARTITION BY d, CASE WHEN k = 'a' THEN 1 ELSE 0 END ORDER BY COUNT(*))"
    ),
}


@pytest.mark.parametrize("item", ITEMS)
def test_arithmetic_with_windows_is_that_of_duckdb(
    session: Session, released: duckdb.DuckDBPyConnection, item: str
) -> None:
    plain = released.sql(f"SELECT {item} AS w FROM released ORDER BY place").arrow().read_all().to_pylist()
    wanted = [(None if row["w"] in (float("inf"), -float("inf")) else row["w"],) for row in plain]
    ours = rounded(answer(session, f"SELECT {ITEMS[item]} AS w, COUNT(*) AS n FROM t GROUP BY k, g, d"))
    assert [tuple(map(as_number, row[:1])) for row in ours] == [tuple(map(as_number, row)) for row in wanted]


def as_number(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, int | float) else value


SAME = {
    "SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY n DESC) AS r FROM t GROUP BY k QUALIFY r <= 2": (
        "SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY k "
        "QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2"
    ),
    "SELECT k, RANK() OVER w AS r, SUM(COUNT(*)) OVER (w ROWS 1 PRECEDING) AS s FROM t GROUP BY k "
    "WINDOW v AS (PARTITION BY k), W AS (v ORDER BY COUNT(*))": (
        "SELECT k, RANK() OVER (PARTITION BY k ORDER BY COUNT(*)) AS r, "
        "SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY COUNT(*) ROWS 1 PRECEDING) AS s FROM t GROUP BY k"
    ),
    "SELECT * FROM (SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY n) AS r FROM t GROUP BY k) WHERE r < 3 ORDER BY n": (
        "SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY k "
        "QUALIFY RANK() OVER (ORDER BY COUNT(*)) < 3 ORDER BY COUNT(*)"
    ),
    "SELECT k, n / SUM(n) OVER () AS share FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING n > 1) WHERE n > 2": (
        "SELECT k, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY k HAVING COUNT(*) > 1 AND COUNT(*) > 2"
    ),
    "SELECT n FROM (SELECT COUNT(*) AS n, RANK() OVER (ORDER BY n) AS r FROM t GROUP BY k) WHERE n > 2": (
        "SELECT COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) > 2"
    ),
    "SELECT n FROM (SELECT COUNT(*) AS n FROM t GROUP BY k) QUALIFY RANK() OVER (ORDER BY n) = 1": (
        "SELECT COUNT(*) AS n FROM t GROUP BY k QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1"
    ),
    "SELECT n FROM (SELECT COUNT(*) AS n, RANK() OVER (ORDER BY n) AS r FROM t GROUP BY k QUALIFY r = 1) WHERE n > 2": (
        "SELECT COUNT(*) AS n FROM t GROUP BY k QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1 AND COUNT(*) > 2"
    ),
    "WITH q AS (SELECT k, COUNT(*) AS n FROM t GROUP BY ALL) SELECT k, LAG(n) OVER (ORDER BY k) AS b FROM q": (
        "SELECT k, LAG(COUNT(*)) OVER (ORDER BY k) AS b FROM t GROUP BY k"
    ),
    "SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS r, COUNT(*) AS n FROM t GROUP BY ALL": (
        "SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS r, COUNT(*) AS n FROM t GROUP BY k"
    ),
}


@pytest.mark.parametrize("query", SAME)
def test_other_spellings_have_the_same_plan(query: str) -> None:
    ours, plain = (make_plan(each, POLICY, dp.pure(1)) for each in (query, SAME[query]))
    assert ours.sql == plain.sql
    assert ours.hash(POLICY) == plain.hash(POLICY)


REFUSED = {
    "SELECT COUNT(*) OVER () AS n FROM t": "write GROUP BY",
    "SELECT ROW_NUMBER() OVER (ORDER BY x) AS n FROM t": "write GROUP BY",
    "SELECT SUM(x) OVER (ORDER BY x) AS n FROM t": "write GROUP BY",
    "SELECT SUM(x) OVER (ORDER BY who) AS n FROM t": "whose a row is",
    "SELECT k, SUM(x) OVER () AS n, COUNT(*) AS m FROM t GROUP BY k": "x is neither in GROUP BY nor inside",
    "SELECT k, LAG(x) OVER () AS n, COUNT(*) AS m FROM t GROUP BY k": "x is neither in GROUP BY nor inside",
    "SELECT k, RANK() OVER (ORDER BY x) AS n, COUNT(*) AS m FROM t GROUP BY k": "x is neither in GROUP BY nor inside",
    "SELECT k, RANK() OVER (PARTITION BY x) AS n, COUNT(*) AS m FROM t GROUP BY k": "x is neither in GROUP BY",
    "SELECT k, SUM(COUNT(*)) FILTER (WHERE x > 1) OVER () AS n FROM t GROUP BY k": "x is neither in GROUP BY",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k QUALIFY RANK() OVER (ORDER BY x) = 1": "x is neither in GROUP BY",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k QUALIFY x = 1 AND RANK() OVER () = 1": "x is neither in GROUP BY",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k QUALIFY LAG(who) OVER () = 1": "says whose a row is",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY RANK() OVER (ORDER BY x)": "x is neither in GROUP BY",
    "SELECT k, COUNT(*) AS n FROM t WHERE RANK() OVER () = 1 GROUP BY k": "write QUALIFY",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING RANK() OVER () = 1": "write QUALIFY",
    "SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY n) AS r FROM t GROUP BY k HAVING r = 1": "write QUALIFY",
    "SELECT RANK() OVER () AS r, COUNT(*) AS n FROM t GROUP BY 1": "write QUALIFY",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k QUALIFY n > 1": "write HAVING",
    "SELECT DISTINCT k, RANK() OVER () AS r FROM t": "SELECT DISTINCT beside",
    "SELECT AVG(r) FROM (SELECT RANK() OVER (ORDER BY x) AS r FROM t)": "outermost SELECT",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY x) AS r FROM t)": "outermost SELECT",
    "SELECT COUNT(*) FROM (SELECT who, SUM(x) OVER (PARTITION BY who) AS r FROM t GROUP BY who, x)": "outermost SELECT",
    "SELECT COUNT(*) FROM (SELECT x FROM t QUALIFY RANK() OVER (ORDER BY x) = 1)": "outermost SELECT",
    "SELECT MEDIAN(r) FROM (SELECT who, RANK() OVER w AS r FROM t GROUP BY who WINDOW w AS ())": "outermost SELECT",
    "SELECT SUM(RANK() OVER ()) AS s FROM t": "rows of people",
    "SELECT COUNT(*) FILTER (WHERE RANK() OVER () = 1) AS s FROM t": "rows of people",
    "SELECT RANK() OVER (ORDER BY SUM(COUNT(*)) OVER ()) AS s FROM t GROUP BY k": "with the release",
    "SELECT k, SUM(COUNT(*)) OVER () AS s, RANK() OVER (ORDER BY s) AS r FROM t GROUP BY k": "with the release",
    "SELECT RANK() OVER (ORDER BY r) AS s FROM (SELECT RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY k)": (
        "with the release"
    ),
    "SELECT RANK() OVER (ORDER BY n) AS s FROM "
    "(SELECT COUNT(*) AS n, RANK() OVER (ORDER BY n) AS r FROM t GROUP BY k) WHERE r = 1": "put the filter last",
    "SELECT RANK() OVER (ORDER BY n) AS s FROM "
    "(SELECT COUNT(*) AS n FROM t GROUP BY k QUALIFY RANK() OVER (ORDER BY n) = 1)": "put the filter last",
    "SELECT RANK() OVER (ORDER BY n) AS s FROM (SELECT COUNT(*) AS n FROM t GROUP BY k LIMIT 2)": "put the LIMIT last",
    "SELECT k, MEDIAN(COUNT(*)) OVER () AS s FROM t GROUP BY k": "needs one of ROW_NUMBER",
    "SELECT k, STDDEV(COUNT(*)) OVER () AS s FROM t GROUP BY k": "needs one of ROW_NUMBER",
    "SELECT k, FROBNICATE(COUNT(*)) OVER () AS s FROM t GROUP BY k": "FROBNICATE|needs one of",
    "SELECT k, COUNT(DISTINCT COUNT(*)) OVER () AS s FROM t GROUP BY k": "of one value",
    "SELECT k, SUM(DISTINCT COUNT(*)) OVER () AS s FROM t GROUP BY k": "of one value",
    "SELECT k, SUM(COUNT(*) ORDER BY k) OVER () AS s FROM t GROUP BY k": "of one value",
    "SELECT k, RANK(ORDER BY COUNT(*)) OVER () AS s FROM t GROUP BY k": "not valid SQL|of one value|takes no argument",
    "SELECT k, LAG(COUNT(*) IGNORE NULLS) OVER () AS s FROM t GROUP BY k": "write COALESCE",
    "SELECT k, LAG(COUNT(*), COUNT(*)) OVER () AS s FROM t GROUP BY k": "needs a constant whole number",
    "SELECT k, LAG(COUNT(*), -1) OVER () AS s FROM t GROUP BY k": "needs a constant whole number",
    "SELECT k, LAG(COUNT(*), 1, SUM(x)) OVER () AS s FROM t GROUP BY k": "needs a constant as its default",
    "SELECT k, LAG(k, 1, 0) OVER () AS s, COUNT(*) AS n FROM t GROUP BY k": "needs a default of the kind",
    "SELECT k, LAG(COUNT(*), 1, 'none') OVER () AS s FROM t GROUP BY k": "needs a default of the kind",
    "SELECT k, NTILE(0) OVER () AS s, COUNT(*) AS n FROM t GROUP BY k": "needs a constant whole number",
    "SELECT k, NTH_VALUE(k, 0) OVER () AS s, COUNT(*) AS n FROM t GROUP BY k": "needs a constant whole number",
    "SELECT k, SUM(k) OVER () AS s, COUNT(*) AS n FROM t GROUP BY k": "needs a number",
    "SELECT k, SUM(*) OVER () AS s, COUNT(*) AS n FROM t GROUP BY k": "not valid SQL|needs a value",
    "SELECT k, RANK() OVER (ROWS x PRECEDING) AS s, COUNT(*) AS n FROM t GROUP BY k": "frame needs constant",
    "SELECT k, SUM(COUNT(*)) OVER (ORDER BY g RANGE 1 PRECEDING) AS s FROM t GROUP BY k, g": "frame needs constant",
    "SELECT k, SUM(COUNT(*)) OVER (ROWS COUNT(*) PRECEDING) AS s FROM t GROUP BY k": "frame needs constant",
    "SELECT k, SUM(COUNT(*)) OVER (ROWS 1.5 PRECEDING) AS s FROM t GROUP BY k": "frame needs constant",
    "SELECT k, SUM(COUNT(*)) OVER (ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) AS s FROM t GROUP BY k": "earlier end",
    "SELECT k, SUM(COUNT(*)) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE TIES) AS s FROM t GROUP BY k": (
        "EXCLUDE is not supported"
    ),
    "SELECT k, RANK() OVER w AS s, COUNT(*) AS n FROM t GROUP BY k": "write WINDOW w AS",
    "SELECT k, RANK() OVER w AS s, COUNT(*) AS n FROM t GROUP BY k WINDOW v AS (), w AS (), w AS ()": "are called w",
    "SELECT k, RANK() OVER w AS s, COUNT(*) AS n FROM t GROUP BY k WINDOW v AS (), w AS ()": "v is never used",
    "SELECT k, RANK() OVER (w ORDER BY k) AS s FROM t GROUP BY k WINDOW w AS (ORDER BY g)": "window out",
    "SELECT k, COUNT(*) OVER (w ORDER BY k) AS s FROM t GROUP BY k WINDOW w AS (ROWS 1 PRECEDING)": "window out",
    "SELECT k, RANK() OVER (w PARTITION BY k) AS s FROM t GROUP BY k WINDOW w AS (ORDER BY g)": "SQL|window out",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused(query: str) -> None:
    with pytest.raises(dp.QueryError, match=REFUSED[query]):
        make_plan(query, POLICY, dp.approx(1, "1e-6"))


def test_too_many_windows_are_refused() -> None:
    windows = ", ".join(f"LAG(COUNT(*), {i}) OVER (ORDER BY k) AS w{i}" for i in range(51))
    with pytest.raises(dp.QueryError, match="more than 50 windows"):
        make_plan(f"SELECT k, {windows} FROM t GROUP BY k", POLICY)
    base = "PARTITION BY " + ", ".join(["COUNT(*)"] * 200)
    many = ", ".join(f"LAG(COUNT(*), {i}) OVER w AS w{i}" for i in range(40))
    with pytest.raises(dp.QueryError, match="too large"):
        make_plan(f"SELECT k, {many} FROM t GROUP BY k WINDOW w AS ({base})", POLICY)


def test_windows_tell_grouping_sets_apart(session: Session) -> None:
    rank = "RANK() OVER (PARTITION BY GROUPING(k) ORDER BY COUNT(*) DESC)"
    rows = answer(session, f"SELECT k, COUNT(*) AS n, {rank} AS r FROM t GROUP BY ROLLUP (k)")
    counts = sorted((row["n"] for row in rows if row["k"] is not None), reverse=True)
    assert [row["r"] for row in rows] == [1 if row["k"] is None else counts.index(row["n"]) + 1 for row in rows]


BY = "FROM t GROUP BY k, g, d"
SPEND = dp.pure(1)


def release(session: Session, query: str, spend: dp.Loss = SPEND) -> Release:
    return session.sql(query, spend)


LINEAR: dict[str, Callable[[int], list[float]]] = {
    "SUM(COUNT(*)) OVER (ROWS UNBOUNDED PRECEDING)": lambda row: [1.0] * (row + 1),
    "SUM(COUNT(*)) OVER ()": lambda _: [1.0] * 24,
    "AVG(COUNT(*)) OVER (ROWS 2 PRECEDING)": lambda row: [1 / min(row + 1, 3)] * min(row + 1, 3),
    "2 * (COUNT(*) - LAG(COUNT(*), 2, 0) OVER ())": lambda row: [2.0, 2.0][: 1 + (row > 1)],
    "COUNT(*) - LAG(COUNT(*), 0) OVER ()": lambda _: [],
    "COUNT(*) - FIRST_VALUE(COUNT(*)) OVER ()": lambda row: [1.0, 1.0] if row else [],
    "COUNT(*) - AVG(COUNT(*)) OVER ()": lambda _: [23 / 24, *([1 / 24] * 23)],
    "-LEAD(3 * COUNT(*)) OVER () / 2": lambda row: [1.5] if row < 23 else [float("nan")],
    "COUNT(*) / COUNT(*) OVER (PARTITION BY k)": lambda _: [1 / 8],
    "COUNT(*) * ROW_NUMBER() OVER (ORDER BY k, g, d)": lambda row: [float(row + 1)],
    "SUM(COUNT(*)) FILTER (WHERE k = 'a') OVER ()": lambda _: [1.0] * 8,
    "SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY d)": lambda row: [1.0] * (8 if row % 2 else 4),
    "NTH_VALUE(COUNT(*), 2) OVER (PARTITION BY k)": lambda _: [1.0],
    "ROW_NUMBER() OVER (ORDER BY k) + 0 * COUNT(*)": lambda _: [],
}


@pytest.mark.parametrize("item", LINEAR)
def test_bars_of_linear_windows_are_those_of_the_sum_of_their_noises(session: Session, item: str) -> None:
    answered = release(session, f"SELECT k, g, d, COUNT(*) AS n, {item} AS w {BY}")
    noise = answered.answer.noises[0]
    factors = [LINEAR[item](row) for row in range(24)]
    wanted = [linear_half_width(each, [noise] * len(each), 0.95) for each in factors]
    assert answered.error("w") == pytest.approx(wanted, rel=1e-6, nan_ok=True)
    assert not answered.approximate("w")
    plan = make_plan(f"SELECT k, g, d, COUNT(*) AS n, {item} AS w {BY}", POLICY, SPEND)
    assert plan.error("w") == pytest.approx(np.nanmax(wanted), rel=1e-6)
    restored = Release.from_bytes(answered.to_bytes())
    np.testing.assert_array_equal(restored.error("w", 0.8), answered.error("w", 0.8))
    assert restored.to_bytes() == answered.to_bytes()


def test_bars_of_sums_know_both_noises_and_grouping_sets(session: Session) -> None:
    query = "SELECT k, SUM(x) AS s, AVG(x) AS a, SUM(SUM(x)) OVER (ORDER BY k) AS w FROM t GROUP BY ROLLUP (k)"
    answered = release(session, query)
    slopes = answered.answer.shapes["s"].slopes
    rows = answered.to_arrow().num_rows
    assert rows == 4
    for row in range(rows):
        pairs = [(abs(slopes[i][r]), answered.answer.noises[i]) for r in range(row + 1) for i in slopes if slopes[i][r]]
        wanted = linear_half_width([c for c, _ in pairs], [noise for _, noise in pairs], 0.95)
        assert answered.error("w")[row] == pytest.approx(wanted, rel=0.02)


def test_many_noises_are_nearly_normal() -> None:
    """Beyond 32 noises the bar is that of their law, but for a step and 3 in 100 at most."""
    for noise in (DiscreteLaplace(scale=1), DiscreteLaplace(scale=40), DiscreteGaussian(sigma=3)):
        for number in (33, 60, 200):
            sums = RowNoise(*(np.array(each) for each in ([0, 1], [0], [1.0], [number], [np.inf])))
            ours = sums.half_widths([noise], 0.95, 1)[0]
            ends = np.arange(-60 * number, 60 * number + 1)
            law = np.abs(ends)
            if isinstance(noise, DiscreteLaplace):
                weights = np.exp(-law / float(noise.scale))
            else:
                weights = np.exp(-(law**2) / (2.0 * float(noise.sigma) ** 2))
            spectrum = np.fft.rfft(np.fft.ifftshift(weights / weights.sum())).real ** number
            mass = np.fft.fftshift(np.fft.irfft(spectrum, len(ends)))
            assert mass[law <= ours].sum() >= 0.949
            assert mass[law <= 0.97 * ours - 1].sum() < 0.95


UNKNOWN = (
    "RANK() OVER (ORDER BY COUNT(*))", "MAX(COUNT(*)) OVER ()", "SUM(COUNT(*)) OVER (ORDER BY COUNT(*))",
    "COUNT(*) * SUM(COUNT(*)) OVER ()", "AVG(AVG(x)) OVER ()",
    "COUNT(*) / SUM(COUNT(*)) OVER () / SUM(SUM(x)) OVER ()", "COALESCE(LAG(COUNT(*)) OVER (), 0)",
    "SUM(COUNT(*)) FILTER (WHERE COUNT(*) > 3) OVER ()", "SUM(COUNT(*)) OVER (PARTITION BY ROUND(COUNT(*) / 9))",
    "SUM(ROUND(COUNT(*) / 9)) OVER ()", "ABS(COUNT(*) - LAG(COUNT(*)) OVER ())", "LAG(MEDIAN(x)) OVER ()",
    "CASE WHEN LAG(k) OVER (ORDER BY COUNT(*)) = 'a' THEN 1 ELSE 2 END",
)  # fmt: skip


@pytest.mark.parametrize("item", UNKNOWN)
def test_no_bar_where_noise_decides_what_a_window_reads(session: Session, item: str) -> None:
    query = f"SELECT k, g, d, COUNT(*) AS n, {item} AS w {BY}"
    answered = release(session, query)
    assert np.isnan(answered.error("w")).all()
    assert answered.rank_error("w") is None
    assert np.isfinite(answered.error("n")).all()
    plan = make_plan(query, POLICY, SPEND)
    assert "w: no error bar" in plan.explain()
    assert plan.error("w") is None
    assert "no error bar" in str(plan)
    with pytest.raises(dp.ParameterError, match="no error bar"):
        plan.spend_for(error={"w": 3})
    assert "±" in str(answered)
    assert answered.to_vega_lite()


def test_bars_of_shares_are_those_of_a_quotient(session: Session) -> None:
    answered = release(session, "SELECT k, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS w FROM t GROUP BY k")
    counts, noise = answered.to_arrow()["n"].to_pylist(), answered.answer.noises[0]
    total = sum(counts)
    within = max(1.959964, np.log(20) / 2**0.5) * noise.std * 3**0.5 / total
    for n, bar in zip(counts, answered.error("w"), strict=True):
        factors = [1 / total - n / total**2, n / total**2, n / total**2]
        assert bar == pytest.approx(linear_half_width(factors, [noise] * 3, 0.95) / (1 - within), rel=1e-4)


def test_bars_of_shares_hold(session: Session) -> None:
    """Of 120 shares in 40 answers; those of one may fail together, and so 49 with a probability below 1e-9."""
    counts = [TABLE["k"].to_pylist().count(key) for key in "abc"]
    held = 0
    for number in range(40):
        where = f"WHERE x > -{200 + number} OR x IS NULL"
        query = f"SELECT k, ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS w FROM t {where} GROUP BY k"
        answered = release(session, query, dp.pure("0.2"))
        assert answered.approximate("w")
        values, bars = answered.to_arrow()["w"].to_pylist(), answered.error("w")
        held += sum(abs(v - 100 * n / ROWS) <= bar for v, n, bar in zip(values, counts, bars, strict=True))
        assert (bars < 60).all()
    assert held >= 72


def test_a_share_has_no_limit_where_the_total_may_be_zero(session: Session) -> None:
    query = "SELECT k, COUNT(*) / SUM(COUNT(*)) OVER () AS w FROM t WHERE x > 8 AND g = 0 GROUP BY k"
    answered = release(session, query, dp.pure("0.005"))
    total = 1 / abs(answered.error("w"))
    assert np.isinf(answered.error("w")).all() or (total > 0).all()
    restored = Release.from_bytes(answered.to_bytes())
    np.testing.assert_array_equal(restored.error("w"), answered.error("w"))
    plan = make_plan(query, POLICY, dp.pure(1))
    assert plan.error("w") is None
    assert "w: depends on the data" in plan.explain()


TOTAL_OF_ALL = "SUM(COUNT(*)) OVER () AS w"
PICKED = {
    f"SELECT k, COUNT(*) AS n, {TOTAL_OF_ALL} FROM t GROUP BY k HAVING COUNT(*) > -99": 1.0,
    f"SELECT k, COUNT(*) AS n, {TOTAL_OF_ALL} FROM t GROUP BY k QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1": 1 / 3,
    f"SELECT k, COUNT(*) AS n, {TOTAL_OF_ALL} FROM t GROUP BY k QUALIFY n + 99 > AVG(COUNT(*)) OVER ()": 1 / 3,
    f"SELECT k, COUNT(*) AS n, {TOTAL_OF_ALL} FROM t GROUP BY k ORDER BY n DESC LIMIT 2": 2 / 3,
    f"SELECT k, COUNT(*) AS n, {TOTAL_OF_ALL} FROM t GROUP BY k QUALIFY ROW_NUMBER() OVER (ORDER BY k) = 1": None,
    f"SELECT free, COUNT(*) AS n, {TOTAL_OF_ALL} FROM t GROUP BY free": None,
}


@pytest.mark.parametrize("query", PICKED)
def test_rows_that_noise_picks_have_wider_bars_and_windows_none(session: Session, query: str) -> None:
    answered = session.sql(query, dp.approx(3, "1e-3"))
    assert answered.answer.picked == (None if PICKED[query] is None else pytest.approx(PICKED[query]))
    steady = "ORDER BY k) = 1" in query
    assert np.isnan(answered.error("w")).all() is not steady or not answered.to_arrow().num_rows
    assert (make_plan(query, POLICY, dp.approx(3, "1e-3")).error("w") is None) is not steady


def test_bars_of_totals_hold(session: Session) -> None:
    """Of 120 totals of eight groups 95 in 100 are to hold: if so, fewer than 94 do with a probability below 1e-9."""
    wanted = [TABLE["k"].to_pylist().count(key) for key in "abc"]
    held = 0
    for number in range(40):
        where = f"WHERE x > -{100 + number} OR x IS NULL"
        query = f"SELECT k, SUM(COUNT(*)) OVER (PARTITION BY k) AS w FROM t {where} GROUP BY k, g, d"
        answered = release(session, query)
        values = answered.to_arrow()["w"].to_pylist()[::8]
        held += sum(abs(v - w) <= e for v, w, e in zip(values, wanted, answered.error("w")[::8], strict=True))
    assert held >= 94


def test_windows_change_nothing_that_is_measured() -> None:
    """The engine is asked the same, for the same noise; ranks need all keys, so none are chosen before noise."""
    spend = dp.pure(1)
    plain = make_plan("SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k", POLICY, spend)
    windows = "RANK() OVER (ORDER BY COUNT(*)) AS r, SUM(x) / SUM(SUM(x)) OVER () AS share, LAG(k) OVER () AS b"
    windowed = make_plan(f"SELECT k, COUNT(*) AS n, SUM(x) AS s, {windows} FROM t GROUP BY k", POLICY, spend)
    assert [level.bounded for level in plain.levels] == [level.bounded for level in windowed.levels]
    assert plain.levels[0].norms == windowed.levels[0].norms
    assert plain.sql != windowed.sql
    assert plain.hash(POLICY) != windowed.hash(POLICY)
