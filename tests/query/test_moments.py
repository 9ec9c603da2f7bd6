"""Bounds of dates: what is computed from moments within bounds lies in the range, whose ends are reached."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.functions._dates import DATES
from discreet.query.functions._moments import changes, first_moment, microseconds, moment_at, part, shifted
from discreet.query.functions._ranges import ANYTHING, Range

EPOCH = dt.datetime.fromisoformat("1970-01-01")
FIRST, LAST = dt.datetime.fromisoformat("0001-01-01"), dt.datetime.fromisoformat("9999-12-31T23:59:59.999999")
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


def _range(*moments: dt.datetime) -> Range:
    return Range(Fraction(microseconds(min(moments))), Fraction(microseconds(max(moments))), integer=True)


def _drawn(draw: random.Random, near: dt.datetime | None = None) -> dt.datetime:
    """Any moment, or one near another: of either kind some are the first or the last of a month or of the calendar."""
    if near is None:
        far = draw.choice((FIRST, LAST, EPOCH, moment_at(draw.randint(microseconds(FIRST), microseconds(LAST)))))
        return far.replace(day=draw.choice((1, 28, far.day)), hour=draw.choice((0, 23, far.hour)))
    moved = microseconds(near) + draw.choice((-1, 1)) * int(10 ** draw.uniform(0, 15))
    return moment_at(min(max(moved, microseconds(FIRST)), microseconds(LAST)))


def _cases(seed: int, count: int) -> list[tuple[Range, list[dt.datetime]]]:
    draw = random.Random(seed)
    cases: list[tuple[Range, list[dt.datetime]]] = []
    for _ in range(count):
        start = _drawn(draw)
        ends = [start, _drawn(draw, start)]
        bounds = _range(*ends)
        cases.append(
            (bounds, [*ends, *(moment_at(draw.randint(int(bounds.lower), int(bounds.upper))) for _ in "1234")])
        )
    return cases


@pytest.fixture(scope="module")
def computed() -> Any:
    """DuckDB's value of an expression over moments ``a`` and ``b``."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")

        def compute(sql: str, pairs: list[tuple[dt.datetime, dt.datetime]]) -> list[Any]:
            table = pa.table({"n": range(len(pairs)), "a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
            connection.register("pairs", table)
            return [value for (value,) in connection.execute(f"SELECT {sql} FROM pairs ORDER BY n").fetchall()]

        yield compute


def test_days_and_microseconds_are_exact() -> None:
    assert microseconds(FIRST) == -719162 * 86_400_000_000
    assert microseconds(LAST) - microseconds(FIRST) == 3_652_059 * 86_400_000_000 - 1
    assert [moment_at(microseconds(moment)) for moment in (FIRST, EPOCH, LAST)] == [FIRST, EPOCH, LAST]


@pytest.mark.parametrize("unit", UNITS)
def test_differences_lie_between_those_of_the_ends(unit: str, computed: Any) -> None:
    cases = _cases(1, 60)
    firsts = [(bounds, moment) for bounds, moments in cases for moment in moments]
    pairs = [(x, y) for x in firsts[::3] for y in firsts[::5]]
    values = computed(f"date_diff('{unit}', a, b)", [(x[1], y[1]) for x, y in pairs])
    for ((one, _), (other, _)), value in zip(pairs, values, strict=True):
        bounds = changes(one, other, unit)
        assert bounds.lower <= value <= bounds.upper
    for bounds, moments in cases:
        own = computed(f"date_diff('{unit}', a, b)", [(x, y) for x in moments[:2] for y in moments[:2]])
        assert (min(own), max(own)) == (changes(bounds, bounds, unit).lower, changes(bounds, bounds, unit).upper)


@pytest.mark.parametrize("unit", UNITS)
def test_first_moments_lie_between_those_of_the_ends(unit: str, computed: Any) -> None:
    for bounds, moments in _cases(2, 60):
        values = computed(f"date_trunc('{unit}', a)", [(moment, moment) for moment in moments])
        cut = first_moment(bounds, unit)
        assert [cut.lower, cut.upper] == [microseconds(min(values)), microseconds(max(values))]


@pytest.mark.parametrize("unit", UNITS)
def test_later_moments_lie_within_the_range_of_the_shift(unit: str, computed: Any) -> None:
    draw = random.Random(unit)
    name, times = {"QUARTER": ("month", 3), "WEEK": ("day", 7)}.get(unit, (unit.lower(), 1))
    for bounds, moments in _cases(3, 120):
        count = draw.choice((1, -1, 11, 13, -25, 400, -4000))
        later = shifted(bounds, count, unit)
        values = computed(f"CAST(a + to_{name}s({count * times}) AS VARCHAR)", [(moment, moment) for moment in moments])
        for value in values:
            if "BC" not in value and len(value.partition("-")[0]) == 4:
                assert later.lower <= microseconds(dt.datetime.fromisoformat(value)) <= later.upper
        assert microseconds(FIRST) <= later.lower <= later.upper <= microseconds(LAST)


@pytest.mark.parametrize("entry", [each for each in DATES if each.arity == (1, 1) and each.exact == "always"])
def test_parts_lie_within_the_range_and_reach_its_ends_within_a_period(entry: Any) -> None:
    class Scope:
        def __init__(self, bounds: Range) -> None:
            self.bounds = bounds

        def range(self, _: object) -> Range:
            return self.bounds

    call: Any = type("Call", (), {"args": (None,)})
    widest = entry.span(call, Scope(ANYTHING))
    for bounds, moments in _cases(4, 300):
        limits = entry.span(call, Scope(bounds))
        values = [entry.evaluate(moment) for moment in moments]
        assert limits.lower <= min(values) <= max(values) <= limits.upper
        assert limits == widest or (limits.lower, limits.upper) == (values[moments.index(min(moments))], max(values))


def test_a_part_is_not_narrower_than_what_happens_across_a_period() -> None:
    year = _range(dt.datetime.fromisoformat("2020-12-31"), dt.datetime.fromisoformat("2021-01-02"))
    limits = part(year, lambda d: d.month, lambda d: d.year, (1, 12))
    assert (limits.lower, limits.upper) == (1, 12)


LEFT, RIGHT = (
    f"SELECT person, GREATEST(LEAST({{x}}, DATE '{year}-01-31'), DATE '{year}-01-01') AS d FROM visits"
    for year in (2000, 2001)
)
DAYS = "DATE_DIFF('day', DATE '2000-01-01', d)"


@pytest.mark.parametrize("column", ["day", "at"])
@pytest.mark.parametrize(
    ("query", "total"),
    [
        (f"SELECT SUM({DAYS}) AS a FROM ({LEFT})", 3 * 30 + 10),
        (f"SELECT SUM({DAYS}) AS a FROM ({LEFT} UNION ALL {RIGHT})", 3 * 30 + 10 + 366 * 4 + 60),
        (f"SELECT SUM({DAYS}) AS a FROM (SELECT person, MAX(d) AS d FROM ({LEFT}) GROUP BY person)", 3 * 30 + 10),
        (f"SELECT SUM(YEAR(d) - 1999) AS a FROM ({LEFT} UNION ALL {RIGHT})", 4 * 1 + 4 * 2),
        (f"SELECT SUM({DAYS}) AS a FROM ({LEFT}) WHERE d < DATE '2000-01-31'", 10),
    ],
)
def test_dates_with_bounds_go_through_sub_queries(column: str, query: str, total: int) -> None:
    moments = [dt.date(2000, 1, 11), dt.date(2001, 1, 31), dt.date(2000, 12, 31), dt.date(9999, 12, 31)]
    table = pa.table({"person": range(4), "day": moments, "at": pa.array(moments).cast(pa.timestamp("us"))})
    policy = {
        "version": "1",
        "budget": {"epsilon": 10**9},
        "tables": {
            "visits": {
                "unit": "person",
                "max_rows": 1,
                "columns": {"day": {"type": "date"}, "at": {"type": "timestamp"}},
            }
        },
    }
    with dp.connect({"visits": table}, policy) as session:
        assert session.sql(query.format(x=column), dp.pure(10**6)).to_arrow().to_pylist() == [{"a": total}]


def test_what_a_sum_of_days_costs_is_that_of_the_bounds() -> None:
    narrow, wide = (
        dp.connect(
            {"t": pa.table({"person": [1], "day": [dt.date(2000, 1, 1)]})},
            {"version": "1", "budget": {"epsilon": 1}, "tables": {"t": {"unit": "person", "max_rows": 1, "columns": {
                "day": {"type": "date"}}}}},
        ).plan(f"SELECT SUM(DATE_DIFF('day', DATE '2000-01-01', {x})) AS a FROM t", dp.pure(1))
        for x in ("GREATEST(LEAST(day, DATE '2000-01-11'), DATE '2000-01-01')", "day")
    )  # fmt: skip
    wider, error = wide.error("a"), narrow.error("a")
    assert wider is not None and error is not None and wider > 100_000 * error > 0
