"""Which rows and groups of a person count when a cap bites: so many, whoever else is there, and each as likely."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.spark import Spark
from discreet.policy import load_policy
from discreet.query import make_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
COLUMNS = {
    "k": {"type": "string", "keys": ["a", "b", "c", "d"]},
    "q": {"type": "string"},
    "i": {"type": "int", "keys": [1, 2, 3, 4]},
    "x": {"type": "int", "bounds": [0, 10**6]},
    "y": {"type": "int", "bounds": [0, 2**50]},
}
SUMS = "COUNT(*) AS n, SUM(x) AS s"
QUERIES = {
    "public": f"SELECT k, {SUMS}, COUNT(DISTINCT u) AS p FROM t GROUP BY k",
    "long": f"SELECT k, {SUMS}, SUM(y) AS y FROM t GROUP BY k",
    "private": f"SELECT q, {SUMS} FROM t GROUP BY q",
    "two keys": f"SELECT k, i, {SUMS} FROM t GROUP BY k, i",
    "whole": f"SELECT {SUMS}, COUNT(DISTINCT x) AS d FROM t",
    "median": "SELECT k, MEDIAN(x) AS m, COUNT(*) AS n FROM t GROUP BY k",
}
CAPS = {"max_rows": 4, "max_groups": 2}


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


def _policy(caps: dict[str, int]) -> Any:
    columns = {**COLUMNS, "u": {"type": "int"}}
    return load_policy({"version": "1", "tables": {"t": {"unit": "u", **caps, "columns": columns}}})


def _counter(engine: Any, bounded: Any, salt: bytes) -> Counter[object]:
    total: Counter[object] = Counter()
    for group in engine.run(bounded, salt):
        for j, value in enumerate([group.units, *group.sums]):
            total[group.key, j] += value
        for j, (cells, counts) in enumerate(group.cells):
            for cell, n in zip(cells.tolist(), counts.tolist(), strict=True):
                total[group.key, "cell", j, cell] += n
    return +total


DAILY = ("public", "median", "whole")
"""With keys, with cells and with neither; the others are for the soak, and `test_three_engines.py` asks more."""


@pytest.mark.parametrize("query", [pytest.param(q, marks=[pytest.mark.soak] * (q not in DAILY)) for q in QUERIES])
def test_the_choice_ignores_row_order_and_other_people(query: str, spark: SparkSession, load: Load) -> None:
    dice = random.Random(query)
    rows, salt, policy = _rows(dice, people=60, most=12), dice.randbytes(16), _policy(CAPS)
    bounded = make_plan(QUERIES[query], policy).levels[0].bounded

    def run(some: list[tuple[object, ...]]) -> Counter[object]:
        return _counter(Spark(spark, policy, load({"t": _table(some)})), bounded, salt)

    whole = run(rows)
    shuffled = rows[:]
    dice.shuffle(shuffled)
    if query == "whole":  # distinct values of several people overlap
        assert run(shuffled) == whole
        return
    half = {person for person in range(60) if dice.random() < 0.5}
    apart = run([row for row in shuffled if row[0] in half]), run([row for row in shuffled if row[0] not in half])
    assert apart[0] + apart[1] == whole


def test_caps_that_do_not_bite_change_nothing_and_others_keep_as_many_as_duckdb(
    spark: SparkSession, load: Load
) -> None:
    """Each person is a group of their own, so that what is kept of each is seen."""
    dice = random.Random(3)
    rows = [(p, str(p), dice.choice("vwxyz"), 1, dice.randrange(9), 1) for p in range(50) for _ in range(1 + p % 13)]
    columns = {**COLUMNS, "k": {"type": "string", "keys": [str(p) for p in range(50)]}}
    for caps in ({"max_rows": 5, "max_groups": 2}, {"max_rows": 13, "max_groups": 13}, {"max_rows": 1}):
        policy = load_policy({"version": "1", "tables": {"t": {"unit": "u", **caps, "columns": columns}}})
        engines = DuckDB({"t": _table(rows)}, policy), Spark(spark, policy, load({"t": _table(rows)}))
        bounded = make_plan("SELECT k, q, COUNT(*) AS n FROM t GROUP BY k, q", policy).levels[0].bounded
        kept = []
        for engine in engines:
            groups = [g for g in engine.run(bounded, bytes(16)) if g.units or any(g.sums)]
            count = Counter[object]()
            for group in groups:
                count[group.key[0]] += group.sums[0] if group.sums else group.units
            kept.append((groups, count, Counter(group.key[0] for group in groups)))
            assert all(seen <= caps.get("max_groups", 1) for seen in kept[-1][2].values())
            assert all(n <= caps["max_rows"] for n in count.values())
        if caps["max_rows"] == 13:
            assert sorted(map(repr, kept[0][0])) == sorted(map(repr, kept[1][0]))


def test_rows_and_groups_of_one_person_are_as_likely(spark: SparkSession, load: Load) -> None:
    """Of 4,000 people with the same 8 rows in 4 groups: each count lies within 6.2 standard deviations, by a binomial.

    There are 12 of them, each outside by chance with less than 6e-10; together below 1e-8 only if the hash is no hash,
    and the salt is fixed, so that a run repeats the last.
    """
    rows = [(p, "abcd"[j // 2], "q", 1, j, 0) for p in range(4000) for j in range(8)]
    found = []
    for caps, most in (({"max_rows": 3, "max_groups": 8}, 3 / 8), ({"max_rows": 8, "max_groups": 1}, 1 / 4)):
        policy = _policy(caps)
        columns = {**COLUMNS, "u": {"type": "int"}, "x": {"type": "int", "bounds": [0, 7], "keys": list(range(8))}}
        policy = load_policy({"version": "1", "tables": {"t": {"unit": "u", **caps, "columns": columns}}})
        by = "x" if caps["max_rows"] == 3 else "k"
        engine = Spark(spark, policy, load({"t": _table(rows)}))
        bounded = make_plan(f"SELECT {by}, COUNT(*) AS n FROM t GROUP BY {by}", policy).levels[0].bounded
        groups = engine.run(bounded, b"a salt of sixteen"[:16])
        each = 1 if by == "x" else 2
        sd = (4000 * most * (1 - most)) ** 0.5
        found += [abs(group.sums[0] / each - 4000 * most) / sd for group in groups]
    assert len(found) == 12
    assert max(found) < 6.2
