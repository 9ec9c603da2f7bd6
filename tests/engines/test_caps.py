"""Which rows of a person count when a cap bites."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.query import make_plan

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = {
    "k": {"type": "string", "keys": ["a", "b", "c", "d"]},
    "q": {"type": "string"},
    "i": {"type": "int", "keys": [1, 2, 3, 4]},
    "x": {"type": "int", "bounds": [0, 10**6]},
    "y": {"type": "int", "bounds": [0, 2**50]},
}
SUMS = "COUNT(*) AS n, SUM(x) AS s"
QUERIES = {
    "mask, packed order": f"SELECT k, {SUMS} FROM t GROUP BY k",
    "mask, long content": f"SELECT k, {SUMS}, SUM(y) AS y FROM t GROUP BY k",
    "split, public numbers": f"SELECT i, {SUMS} FROM t GROUP BY i",
    "split, private": f"SELECT q, {SUMS} FROM t GROUP BY q",
    "split, two keys": f"SELECT k, i, {SUMS} FROM t GROUP BY k, i",
    "whole": f"SELECT {SUMS} FROM t",
}


def _engine(table: pa.Table, caps: dict[str, int]) -> tuple[DuckDB, Policy]:
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "u", **caps, "columns": COLUMNS}}})
    return DuckDB({"t": table}, policy), policy


def _table(rows: list[tuple[object, ...]]) -> pa.Table:
    names = ["u", "k", "q", "i", "x", "y"]
    return pa.table({name: [row[j] for row in rows] for j, name in enumerate(names)})


def _rows(dice: random.Random, people: int, most: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for person in range(people):
        for _ in range(dice.randrange(1, most)):
            letter = dice.choice("abcd")
            rows.append((person, letter, letter * 2, dice.randrange(1, 5), dice.randrange(5), dice.randrange(2)))
    return rows


@pytest.mark.parametrize("query", QUERIES)
def test_the_choice_ignores_row_order_and_other_people(query: str) -> None:
    dice = random.Random(query)
    rows = _rows(dice, people=60, most=12)
    caps = {"max_rows": 4, "max_groups": 2}
    salt = dice.randbytes(16)

    def run(some: list[tuple[object, ...]]) -> Counter[object]:
        engine, policy = _engine(_table(some), caps)
        groups = engine.run(make_plan(QUERIES[query], policy).levels[0].bounded, salt)
        engine.close()
        total: Counter[object] = Counter()
        for group in groups:
            for j, value in enumerate([group.units, *group.sums]):
                total[group.key, j] += value
        return +total

    whole = run(rows)
    shuffled = rows[:]
    dice.shuffle(shuffled)
    assert run(shuffled) == whole
    half = {person for person in range(60) if dice.random() < 0.5}
    apart = run([row for row in rows if row[0] in half]), run([row for row in rows if row[0] not in half])
    assert apart[0] + apart[1] == whole


@pytest.mark.parametrize("rounds", [8, pytest.param(50, marks=pytest.mark.soak)])
@pytest.mark.parametrize("query", QUERIES)
def test_caps_hold_for_each_person(query: str, rounds: int) -> None:
    dice = random.Random(7)
    for _ in range(rounds):
        rows = [(1, *row[1:]) for row in _rows(dice, people=1, most=30)]
        engine, policy = _engine(_table(rows), {"max_rows": 5, "max_groups": 2})
        bounded = make_plan(QUERIES[query], policy).levels[0].bounded
        groups = [group for group in engine.run(bounded, dice.randbytes(16)) if any(group.sums)]
        engine.close()
        assert len(groups) <= 2
        assert sum(group.sums[0] for group in groups) <= 5
        if bounded.max_groups is None:
            assert sum(group.sums[0] for group in groups) == min(5, len(rows))


def test_each_row_is_kept_with_the_same_probability_however_many_are_alike() -> None:
    """Everybody has 20 rows, alike but for `i`, and 6 of them count: each stays with probability 6/20.

    People are independent (the hash takes the person) and each keeps between 0 and 6 rows of a kind, so Hoeffding
    bounds the deviation; false-alarm rate 4 · 2 · exp(−22.9) < 1e-9.
    """
    kinds, people, cap = {1: 12, 2: 5, 3: 2, 4: 1}, 20_000, 6
    rows = [(0, "a", "aa", i, 0, 0) for i, count in kinds.items() for _ in range(count)]
    table = _table([(person, *row[1:]) for person in range(people) for row in rows])
    engine, policy = _engine(table, {"max_rows": cap})
    groups = engine.run(
        make_plan("SELECT i, COUNT(*) AS n FROM t GROUP BY i", policy).levels[0].bounded, bytes(range(16))
    )
    engine.close()
    kept = {group.key[0]: group.sums[0] for group in groups}
    assert sum(kept.values()) == cap * people
    slack = cap * math.sqrt(people * 22.9 / 2)
    for i, count in kinds.items():
        assert abs(kept[i] - people * cap * count / 20) <= slack  # type: ignore[index]


def test_sums_of_the_largest_contributions_do_not_overflow() -> None:
    """2^40 rows of the largest contribution fit 128 bits by arithmetic; the engine's sums are 128 bits wide."""
    policy = load_policy(
        {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"y": {"type": "int", "bounds": [0, 2**53]}}}}}
    )
    bounded = make_plan("SELECT SUM(y) AS s FROM t", policy).levels[0].bounded
    (measure,) = bounded.measures
    assert max(abs(measure.lower), abs(measure.upper)) * 2**40 < 2**127
    wide = replace(bounded, measures=(replace(measure, step=Fraction(1), upper=2**62),))
    engine = DuckDB({"t": pa.table({"y": pa.array([2**62] * 1000, pa.int64())})}, policy)
    assert engine.run(wide, bytes(16))[0].sums == (1000 * 2**62,)
    engine.close()


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    """The floating-point counterexample, one huge number and a thousand small ones, at the ends of the grid."""
    policy = load_policy(
        {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"y": {"type": "float", "bounds": [0, 2**53]}}}}}
    )
    bounded = make_plan("SELECT SUM(y) AS s FROM t", policy).levels[0].bounded
    step = float(bounded.measures[0].step)  # type: ignore[union-attr]
    for values in ([2.0**53] + [step] * 1000, [step] * 1000 + [2.0**53]):
        engine = DuckDB({"t": pa.table({"y": values})}, policy)
        assert engine.run(bounded, bytes(16))[0].sums == (int(2**53 / step) + 1000,)
        engine.close()
