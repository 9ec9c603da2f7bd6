"""Microdata from tables: all solutions and no others, by brute force; noisy tables; what cannot be asked."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import closing
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import attack
from discreet.anonymize import Hierarchy
from discreet.errors import MissingExtra, ParameterError

COLUMNS: Any = {"sex": ["F", "M"], "age": [20, 21, 30, 31], "race": ["a", "b"]}
DECADE = {20: "[20, 29]", 21: "[20, 29]", 30: "[30, 39]", 31: "[30, 39]"}
KINDS = list(product(*COLUMNS.values()))


def block(draws: np.random.Generator, people: int) -> pa.Table:
    drawn = {name: draws.integers(0, len(values), people) for name, values in COLUMNS.items()}
    return pa.table({name: [COLUMNS[name][i] for i in places] for name, places in drawn.items()})


def counts(table: pa.Table, *names: str, decades: bool = False) -> pa.Table:
    if decades:
        ages: list[Any] = table.column("age").to_pylist()
        table = table.set_column(1, "age", pa.array([DECADE[each] for each in ages]))
    return table.group_by(list(names)).aggregate([([], "count_all")]).rename_columns([*names, "n"])


TABLE_SETS: list[Any] = [
    lambda b: [counts(b, "sex", "age"), counts(b, "race")],
    lambda b: [counts(b, "sex", "age"), counts(b, "sex", "race", "age", decades=True)],
    lambda b: [counts(b, "sex", "race"), counts(b, "sex", "age", decades=True), counts(b, "age", "race")],
]


def solutions(tables: list[pa.Table], people: int) -> set[tuple[tuple[Any, int], ...]]:
    """Every list of so many records that gives the tables: all lists are tried."""

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in COLUMNS if name in row)

    published = [({key(row): row["n"] for row in each.to_pylist()}, each) for each in tables]
    agreeing: set[tuple[tuple[Any, int], ...]] = set()
    for records in combinations_with_replacement(KINDS, people):
        rows = [dict(zip(COLUMNS, each, strict=True)) for each in records]
        for numbers, table in published:
            is_wide = isinstance(table.to_pylist()[0].get("age"), str)
            own = Counter(
                tuple(DECADE[row[n]] if is_wide and n == "age" else row[n] for n in COLUMNS if n in table.column_names)
                for row in rows
            )
            if own != numbers:
                break
        else:
            agreeing.add(tuple(sorted(Counter(records).items())))
    return agreeing


def as_set(found: attack.Microdata) -> set[tuple[tuple[Any, int], ...]]:
    listed = [Counter(tuple(row.values()) for row in each.to_pylist()) for each in found.tables(10**6)]
    assert len(listed) == found.solutions
    return {tuple(sorted(each.items())) for each in listed}


SOLVERS = ["search", "cp-sat"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("place", range(len(TABLE_SETS)))
def test_all_solutions_are_listed_and_no_others(place: int, solver: Any) -> None:
    draws = np.random.default_rng(place)
    for people in (1, 3, 4):
        truth = block(draws, people)
        tables = TABLE_SETS[place](truth)
        result = attack.microdata(tables, COLUMNS, solver=solver)
        expected = solutions(tables, people)
        assert result.is_complete
        assert as_set(result) == expected
        assert result.is_unique == (len(expected) == 1)
        records = result.records()
        for row in records.to_pylist():
            kind = tuple(row[name] for name in COLUMNS)
            share = sum(dict(each).get(kind, 0) >= row["copy"] for each in expected) / len(expected)
            assert row["confidence"] == pytest.approx(share)


def test_one_solution_is_the_truth_and_claims_are_right() -> None:
    draws = np.random.default_rng(5)
    national = block(draws, 500)
    unique = 0
    for _ in range(60):
        truth = block(draws, 6)
        result = attack.microdata(TABLE_SETS[1](truth), COLUMNS)
        outcome = result.against(truth, national)
        assert outcome.false_claims == 0
        assert outcome.targets == 6
        unique += result.is_unique
        if result.is_unique:
            assert (outcome.right, outcome.claims) == (6, 6)
    assert 5 < unique < 60


def test_millions_of_solutions_are_counted_by_parts() -> None:
    ages = list(range(20, 60))
    bands = [f"[{10 * i}, {10 * i + 9}]" for i in range(2, 6)]
    by_age = pa.table({"age": ages, "n": [1] * 40})
    by_race = pa.table({"age": bands * 2, "race": ["a"] * 4 + ["b"] * 4, "n": [5] * 8})
    result = attack.microdata([by_age, by_race], {"age": ages, "race": ["a", "b"]})
    assert result.is_complete
    assert result.solutions == 252**4
    assert set(result.records()["confidence"].to_pylist()) == {0.5}
    assert len(list(result.tables(7))) == 7


def test_tables_that_tell_nothing_of_a_column_leave_it_open() -> None:
    result = attack.microdata([pa.table({"sex": ["F"], "n": [2]})], COLUMNS)
    assert result.solutions == 36  # two of eight kinds, in any order
    assert "36 lists" in result.explain()


def test_tables_that_contradict_each_other_have_no_solution() -> None:
    by_sex, by_race = pa.table({"sex": ["F", "M"], "n": [2, 1]}), pa.table({"race": ["a"], "n": [2]})
    for tables in ([by_sex, by_race], [by_sex, pa.table({"race": ["a", "b"], "n": [4, -1]})]):
        result = attack.microdata(tables, COLUMNS)
        assert (result.solutions, result.is_complete, result.is_unique) == (0, True, False)
        assert "contradict" in result.explain()
        assert not list(result.tables())
        assert not result.records().num_rows
        truth = pa.table({"sex": ["F"], "age": [20], "race": ["a"]})
        outcome = result.against(truth, truth)
        assert (outcome.right, outcome.claims, outcome.baseline) == (0, 0, 1.0)
    assert attack.microdata([by_sex, by_race], COLUMNS, margin=1).solutions > 1


def test_what_was_not_searched_is_not_claimed() -> None:
    truth = block(np.random.default_rng(6), 12)
    for setting in ({"limit": 1}, {"steps": 3}):
        result = attack.microdata(TABLE_SETS[0](truth), COLUMNS, **setting)  # pyright: ignore[reportArgumentType]
        assert not result.is_complete
        assert not result.is_unique
        assert "not all were found" in result.explain()
        assert result.against(truth, truth).claims == 0


def test_cells_may_be_ancestors_sets_and_stars() -> None:
    tree = Hierarchy("race", {"a": ("a", "any", "*"), "b": ("b", "any", "*")})
    for cell in ("any", "{a, b}", "*"):
        table = pa.table({"race": [cell], "n": [1]})
        assert attack.microdata([table], {"race": ["a", "b"]}, hierarchies={"race": tree}).solutions == 2


@pytest.fixture
def session(tmp_path: Path) -> Any:
    truth = block(np.random.default_rng(7), 12)
    columns = {
        "sex": {"type": "string", "keys": ["F", "M"]},
        "age": {"type": "int", "keys": COLUMNS["age"]},
        "race": {"type": "string", "keys": ["a", "b"]},
    }
    policy = {"version": "1", "budget": {"epsilon": 1}, "tables": {"people": {"unit": "rows", "columns": columns}}}
    with closing(dp.connect({"people": truth}, policy=policy, ledger=str(tmp_path / "l.ledger"))) as opened:
        yield opened, truth


def test_noisy_tables_have_no_solution_or_many(session: Any) -> None:
    asked, truth = session
    keys = ["sex, age", "sex, race", "age, race"]
    tables = [
        asked.sql(f"SELECT {each}, COUNT(*) AS n FROM people GROUP BY {each}", dp.pure("1/3")).to_arrow()
        for each in keys
    ]
    exact = attack.microdata(tables, COLUMNS)
    assert not exact.is_unique
    wide = attack.microdata(tables, COLUMNS, margin=30, limit=1000)
    assert not wide.is_unique
    assert wide.against(truth, truth).targets == 12


def test_the_solver_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(MissingExtra, match=r"discreet\[ortools\]"):
        attack.microdata([pa.table({"sex": ["F"], "n": [2]})], COLUMNS, solver="cp-sat")


@pytest.mark.parametrize(
    ("tables", "columns", "settings", "words"),
    [
        ([], COLUMNS, {}, "no tables"),
        ([pa.table({"sex": ["F"], "n": [1]})], {}, {}, "name the columns"),
        ([pa.table({"sex": ["F"], "n": [1]})], {"sex": ["F", "F"]}, {}, "once"),
        ([pa.table({"sex": ["F"], "n": [1]})], {"sex": range(2000), "age": range(2000)}, {}, "coarser"),
        ([pa.table({"sex": ["F"]})], COLUMNS, {}, "count="),
        ([pa.table({"town": ["F"], "n": [1]})], COLUMNS, {}, "town"),
        ([pa.table({"sex": ["X"], "n": [1]})], COLUMNS, {}, "'X' in sex"),
        ([pa.table({"sex": ["F"], "n": [float("nan")]})], COLUMNS, {}, "none of them is null"),
        ([pa.table({"sex": ["F", "M"], "n": [1, None]})], COLUMNS, {}, "none of them is null"),
        ([pa.table({"sex": ["F"], "n": [1e300]})], COLUMNS, {}, "numbers of people"),
        ([pa.table({"sex": ["F"], "n": ["one"]})], COLUMNS, {}, "are numbers"),
        ([pa.table({"sex": ["F"], "n": [1]})], COLUMNS, {"margin": -1}, "margin"),
        ([pa.table({"sex": ["F"], "n": [1]})], COLUMNS, {"solver": "magic"}, "magic"),
    ],
)  # fmt: skip
def test_what_cannot_be_solved_is_refused(tables: Any, columns: Any, settings: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        attack.microdata(tables, columns, **settings)


def test_the_truth_has_values_that_people_can_have() -> None:
    result = attack.microdata([pa.table({"sex": ["F"], "n": [1]})], {"sex": ["F", "M"]})
    for truth in (pa.table({"sex": ["X"]}), pa.table({"age": [3]})):
        with pytest.raises(ParameterError, match="truth"):
            result.against(truth, pa.table({"sex": ["F"]}))


INTERRUPTED = """
import os, signal, time
import pyarrow as pa
from discreet import attack

attack.microdata([pa.table({"sex": ["F"], "n": [2]})], {"sex": ["F", "M"]}, solver="cp-sat")
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_control_c_is_python_s_after_a_solve() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n")
