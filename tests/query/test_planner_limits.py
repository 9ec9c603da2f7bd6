"""Any text of 64 KiB is planned or refused in a moment, and an answer is no larger than its public size allows."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.policy import Policy, load_policy
from discreet.query import RULES, assuming, make_plan, with_spend
from query.planner_texts import LONGEST, SPEND, make_policy, plan, text_of

GUARD = 3.0
"""CPU seconds, many times what any of the texts takes now, on a machine that is busy."""
WIDE = "WIDTH_BUCKET(age, 0, 120, 9998)"


def inside(template: str, text: str, times: int) -> str:
    for _ in range(times):
        text = template.replace("{}", text)
    return text


def listed(template: str, times: int, separator: str = ", ") -> str:
    return separator.join(template.format(i=i, j=i - 1) for i in range(times))


SLOW_ONCE = {
    "a value that could be a type, nested": f"SELECT {inside('ROW({})', '1', 24)} FROM Clinic",
    "an interval of many digits": f"SELECT COUNT(*) FROM Clinic WHERE seen + INTERVAL '{'9' * 16_000}' > seen",
    "semicolons": ";" * 40_000,
    "correlations": f"SELECT {listed('CORR(age + {i}, cost + {i}) AS a{i}', 340)} FROM Clinic",
    "a long ROLLUP": f"SELECT COUNT(*) FROM Clinic GROUP BY ROLLUP ({listed('ABS(age * 3 + {i}) - {i}', 60)})",
    "BETWEEN of BETWEEN": f"SELECT COUNT(*) FROM Clinic WHERE {inside('({}) BETWEEN 1 AND 2', 'age', 40)}",
    "answers of answers": "WITH t0 AS (SELECT COUNT(*) AS n FROM Clinic), "
    + ", ".join(f"t{i} AS (SELECT * FROM t{i - 1})" for i in range(1, 600))
    + " SELECT * FROM t599",
    "values of many keys": f"SELECT COUNT(*) FROM Clinic GROUP BY {listed(f'ABS({WIDE} + {{i}})', 90)}",
    "a chain of quotients": f"SELECT {listed('SUM(age + {i}) / COUNT(*)', 400, ' + ')} AS x FROM Clinic",
    "a chain of sums": f"SELECT {listed('SUM(age + {i})', 400, ' + ')} AS x FROM Clinic",
    "a key that a chain could be": f"SELECT SUM(age) / COUNT(*), {listed('age' + ' + 1' * 95, 20)} FROM Clinic "
    "GROUP BY age + 2",
    "aliases of aliases": f"SELECT {listed('COUNT(*)', 60, ' + ')} AS n FROM Clinic ORDER BY {listed('n', 1_400)}",
}
HONEST = {
    "thousands of literals": f"SELECT COUNT(*) FROM Clinic WHERE age IN ({listed('{i}', 4_500)})",
    "thousands of dates": "SELECT COUNT(*) FROM Clinic WHERE seen IN (" + listed("'2024-01-31'", 3_000) + ")",
    "hundreds of branches": f"SELECT SUM(CASE {listed('WHEN age = {i} THEN {i}', 500, ' ')} ELSE 0 END) FROM Clinic",
    "dozens of aggregates": f"SELECT {listed('AVG(age + {i}) AS a{i}, STDDEV(cost * {i}) AS s{i}', 48)} FROM Clinic",
    "30 parentheses": f"SELECT SUM({'(' * 30}age{')' * 30}) AS s FROM Clinic",
    "20 tables": "SELECT COUNT(*) AS n FROM Visits AS t0 "
    + " ".join(f"JOIN Visits AS t{i} ON t0.person = t{i}.person" for i in range(1, 20)),
    "20 tables in a list": f"SELECT COUNT(*) AS n FROM {listed('Visits AS t{i}', 20)} WHERE "
    + " AND ".join(f"t{i * 7 % 20}.person = t{(i * 7 + 7) % 20}.person" for i in range(19)),
    "a list whose branches share an equality": "SELECT COUNT(*) AS n FROM Visits AS a, Visits AS b WHERE "
    + " OR ".join(f"(a.person = b.person AND a.cost > {i})" for i in range(60)),
    "20 steps": "WITH t0 AS (SELECT * FROM Visits), "
    + ", ".join(f"t{i} AS (SELECT * FROM t{i - 1} WHERE cost > {i})" for i in range(1, 20))
    + " SELECT COUNT(*) AS n FROM t19",
    "a long text": f"SELECT COUNT(*) FROM Clinic WHERE city = '{'x' * 60_000}'",
    "64 grouping sets": "SELECT SUM(age) FROM Clinic GROUP BY CUBE (plan, insured, quarter, city, seen, coins)",
}


@pytest.fixture(scope="module")
def tables() -> Policy:
    policy = make_policy()
    make_plan("SELECT plan, AVG(age) FROM Clinic GROUP BY plan", policy, SPEND)  # what is loaded on the way
    return policy


@pytest.mark.parametrize("name", SLOW_ONCE)
def test_a_text_that_took_long_once_takes_a_moment(name: str, tables: Policy) -> None:
    seconds, outcome = plan(SLOW_ONCE[name], tables)
    assert (seconds < GUARD, outcome) == (True, "refused")


@pytest.mark.parametrize("statistic", ["AVG", "STDDEV"])
def test_the_errors_of_many_columns_take_a_moment(statistic: str, tables: Policy) -> None:
    text = f"SELECT {listed(statistic + '(age + {i}) AS c{i}', 100)} FROM Clinic"
    began = time.process_time()
    wide = assuming(make_plan(text, tables), {"rows": 1_000})
    spend = wide.spend_for({f"c{i}": 3 for i in range(100)}, currency="rho", delta="1e-9")
    at = with_spend(wide, spend)
    assert all((at.error(f"c{i}") or 9) <= 3 for i in range(100))
    assert time.process_time() - began < GUARD


@pytest.mark.parametrize("step", [len(RULES), pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("dialect", RULES)
def test_no_text_takes_long_in_another_dialect(dialect: str, step: int, tables: Policy) -> None:
    """Every text in one of them every time, and in each in the soak."""
    several = f"SELECT COUNT(DISTINCT {listed('age', 2_000)}) FROM Clinic"
    texts = [several, *SLOW_ONCE.values(), *HONEST.values(), *map(text_of, range(0, 90, 2))]
    for text in texts[list(RULES).index(dialect) % step :: step]:
        began = time.process_time()
        with contextlib.suppress(dp.QueryError):
            dp.transpile(text, dialect, tables)
        assert time.process_time() - began < GUARD, text[:100]


@pytest.mark.parametrize("name", HONEST)
def test_a_large_query_that_people_write_is_planned(name: str, tables: Policy) -> None:
    seconds, outcome = plan(HONEST[name], tables)
    assert (seconds < GUARD, outcome) == (True, "planned")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT COUNT(*) FROM Clinic -- " + "x" * LONGEST, "longer than 65,536 characters"),
        ("SELECT COUNT(*) FROM Clinic WHERE " + "(age) " * 5_000, "more than 12,000 words and signs"),
        ("SELECT COUNT(*) FROM Clinic WHERE age IN (" + listed("{i}", 5_200) + ")", "more than 5,000 parts"),
        ("SELECT " + "(" * 200 + "1" + ")" * 200, "more than 100 levels"),
        (SLOW_ONCE["a value that could be a type, nested"], "too many ways"),
        ("SELECT COUNT(*) FROM Clinic WHERE city" + "[1]" * 30 + " = 'a'", "takes parts of values more than 20 times"),
        (
            "SELECT COUNT(*) FROM Clinic WHERE f(city)" + ".a" * 30 + " = 'a'",
            "takes parts of values more than 20 times",
        ),
        (SLOW_ONCE["an interval of many digits"], "INTERVAL takes a number and a unit"),
        ("SELECT COUNT(*) FROM Clinic WHERE age = " + "1" * 1_001, "over 1,000 digits"),
        ('SELECT COUNT(*) FROM "' + "x" * 1_001 + '"', "longer than 1,000 characters"),
        (SLOW_ONCE["answers of answers"], "more than 64 sub-queries"),
        (SLOW_ONCE["aliases of aliases"], "ordinals and aliases"),
        (SLOW_ONCE["a long ROLLUP"], "its grouping sets, written out"),
        (SLOW_ONCE["values of many keys"], "more than 200,000"),
        (SLOW_ONCE["correlations"], "it has 340 aggregates"),
        (f"SELECT {listed('CORR(age + {i}, cost + {i}) AS a{i}', 120)} FROM Clinic", "read off 720 sums and counts"),
        ("SELECT DISTINCT " + listed("age + {i}", 101) + " FROM Clinic", "at most 100 keys, got 101"),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT person, " + listed("cost + {i}", 101) + " FROM Visits) AS t",
            "at most 100 keys",
        ),
    ],
    ids=lambda value: value[:40],
)
def test_the_limit_that_a_text_meets_is_named(text: str, message: str, tables: Policy) -> None:
    with pytest.raises(dp.QueryError, match=message) as refused:
        make_plan(text, tables, SPEND)
    assert len(str(refused.value)) < 2_100


def test_a_message_shows_the_ends_of_what_was_written(tables: Policy) -> None:
    with pytest.raises(dp.QueryError, match=" … ") as refused:
        make_plan(f"SELECT COUNT(*) FROM Clinic WHERE age = CONCAT(city, '{'x' * 20_000}')", tables)
    message = str(refused.value)
    assert (message[:10], message[-20:], len(message)) == ('"age" is a', "be compared or mixed", 2_003)


def test_texts_that_nobody_writes_are_planned_or_refused(tables: Policy) -> None:
    for seed in range(25):
        seconds, outcome = plan(text_of(seed), tables)
        assert (seed, seconds < GUARD, outcome in ("planned", "refused"), outcome) == (seed, True, True, outcome)


def test_those_texts_are_of_all_lengths_and_some_are_planned(tables: Policy) -> None:
    texts = [text_of(seed) for seed in range(120)]
    assert max(map(len, texts)) == LONGEST
    assert sum(len(text) > LONGEST / 4 for text in texts) > 10
    assert sum(plan(text, tables)[1] == "planned" for text in texts if len(text) < 1_000) > 5


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(20))
def test_thousands_of_them_take_a_second_each_at_most(batch: int) -> None:
    """In a process of its own, which is ended if one text holds it for a minute."""
    first, count = 1_000 * (batch + 1), 500
    program = Path(__file__).with_name("planner_texts.py")
    command = [sys.executable, str(program), str(first), str(first + count)]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        watchdog = threading.Timer(60, worker.kill)
        watchdog.start()
        assert worker.stdout is not None
        for line in worker.stdout:
            watchdog.cancel()
            watchdog = threading.Timer(60, worker.kill)
            watchdog.start()
            lines.append(line)
        watchdog.cancel()
    ends = [line.split(maxsplit=3) for line in lines if line.startswith("end")]
    assert len(ends) == count, f"ended in {lines[-1]!r}"
    bad = [end for end in ends if float(end[2]) > 1 or end[3].strip() not in ("planned", "refused")]
    assert bad == []


# the size of an answer


def grid(*buckets: int) -> str:
    keys = ", ".join(f"WIDTH_BUCKET({'xyz'[i % 3]}, 0, 1000, {size - 2}) AS k{i}" for i, size in enumerate(buckets))
    return f"SELECT {keys}, COUNT(*) AS n FROM t GROUP BY {', '.join(map(str, range(1, len(buckets) + 1)))}"


def grid_policy(**columns: Any) -> Policy:
    bounded = {name: {"type": "float", "bounds": [0, 1000], "nullable": False} for name in "xyz"}
    table = {"unit": "rows", "columns": {**bounded, **columns}}
    return load_policy({"version": "1", "budget": {"epsilon": 1000, "delta": "1e-6"}, "tables": {"t": table}})


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (grid(9_998, 9_998, 9_998), "999,400,119,992 rows.*at most 100,000.*fewer keys or coarser.*k0|WIDTH_BUCKET"),
        (grid(3_000, 3_000), "9,000,000 rows"),
        (grid(*[9_997] * 20), "rows, one for each combination"),
        (grid(317, 316), "100,172 rows"),
        (
            "SELECT COUNT(*) AS n FROM t GROUP BY CUBE (WIDTH_BUCKET(x, 0, 9, 398), WIDTH_BUCKET(y, 0, 9, 248))",
            "100,651 rows",
        ),
        (grid(201, 100).replace("COUNT(*)", "MEDIAN(z)"), "20,100 quantiles and modes in 20,100 rows.*at most 20,000"),
        (grid(101, 100).replace("COUNT(*)", "MEDIAN(z) AS m, MIN(z)"), "20,200 quantiles and modes in 10,100 rows"),
        (
            grid(300, 300).replace("COUNT(*)", f"{listed('CORR(x + {i}, y) AS c{i}', 30)}, COUNT(*)"),
            "error bars of its 90,000 rows",
        ),
        ("SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b", "160,000 rows"),
        ("SELECT DISTINCT a, b FROM t", "160,000 rows"),
        ("SELECT s.a, s.b, COUNT(*) AS n FROM (SELECT a, b FROM t) AS s GROUP BY ALL", "160,000 rows"),
    ],
    ids=lambda value: value[-60:],
)
def test_an_answer_that_is_too_large_is_refused_from_its_public_size(query: str, message: str) -> None:
    policy = grid_policy(a={"type": "int", "keys": list(range(400))}, b={"type": "int", "keys": list(range(400))})
    began = time.process_time()
    with pytest.raises(dp.QueryError, match=message):
        make_plan(query, policy, dp.pure(1))
    assert time.process_time() - began < GUARD


def test_private_keys_have_no_public_size() -> None:
    policy = grid_policy(city={"type": "string"})
    keys = "WIDTH_BUCKET(x, 0, 9, 9998), WIDTH_BUCKET(y, 0, 9, 9998)"
    plan = make_plan(f"SELECT city, COUNT(*) AS n FROM t GROUP BY city, {keys}", policy, dp.approx(1, 1e-7))
    assert [key.values is None for key in plan.levels[0].bounded.keys] == [True, False, False]


def data(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({name: rng.uniform(0, 1000, rows) for name in "xyz"})


def whole_path(query: str, bias: bool) -> tuple[int, float]:
    """The rows of an answer that is planned, drawn, stored, served again and shown, and the CPU seconds of it all."""
    began = time.process_time()
    with dp.connect({"t": data(100)}, grid_policy()) as session:
        session.plan(query, dp.pure(1), bias=bias).explain()
        release = session.sql(query, spend=dp.pure(1), bias=bias)
        once = session.spent
        again = session.sql(query, spend=dp.pure(1), bias=bias)
        assert session.spent == once
    assert again.to_arrow().equals(release.to_arrow())
    assert len(repr(again)) < 20_000
    assert again.error("n").size == release.to_arrow().num_rows
    return release.to_arrow().num_rows, time.process_time() - began


def test_a_large_answer_takes_a_moment() -> None:
    rows, seconds = whole_path(grid(150, 150), bias=False)
    assert (rows, seconds < GUARD) == (22_500, True)


def test_explaining_many_columns_of_many_groups_takes_a_moment() -> None:
    many = listed("CORR(z + {i}, x) AS c{i}", 15)
    plan = make_plan(grid(100, 100).replace("COUNT(*) AS n", many), grid_policy(), dp.pure(1))
    began = time.process_time()
    text = plan.explain()
    assert (text.count("± ~") + text.count("depends on the data"), time.process_time() - began < GUARD) == (15, True)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("columns", "bias"),
    [
        ("COUNT(*) AS n", False),
        ("COUNT(*) AS n, AVG(z) AS m, STDDEV(z) AS s", True),
        (listed("AVG(z + {i}) AS a{i}", 20) + ", COUNT(*) AS n", False),
    ],
)
def test_the_largest_answers_take_seconds(columns: str, bias: bool) -> None:
    rows, seconds = whole_path(grid(316, 316).replace("COUNT(*) AS n", columns), bias=bias)
    assert (rows, seconds < 20) == (99_856, True)


@pytest.mark.soak
def test_the_most_quantiles_take_seconds() -> None:
    rows, seconds = whole_path(grid(200, 100).replace("COUNT(*) AS n", "MEDIAN(z) AS n"), bias=False)
    assert (rows, seconds < 60) == (20_000, True)
