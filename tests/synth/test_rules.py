"""Rules of synthetic tables: every row keeps the hard ones, whatever the private rows do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from random_rules import TYPES, Case, broken, public_row, random_case, wrong_value

import discreet as dp
from discreet import synth
from discreet.errors import DiscreetError, ParameterError, QueryError
from discreet.synth._candidates import WEIGHT, Wanted, candidates
from discreet.synth._workload import weighted_sets
from discreet.synth.rules import BoundRules

GRADES = {"a": 1, "b": 2, "c": 3, "d": 7}
COLUMNS: dict[str, Any] = {
    "grade": {"type": "string", "keys": list(GRADES), "nullable": False},
    "level": {"type": "int", "bounds": [1, 16]},
    "days": {"type": "int", "bounds": [0, 1000], "nullable": False},
    "stays": {"type": "int", "bounds": [0, 10], "nullable": False},
    "low": {"type": "int", "bounds": [0, 100], "nullable": False},
    "high": {"type": "int", "bounds": [0, 100]},
}
ROWS = 4_000
ALL = ["days = 0 OR stays > 0", "low <= high", synth.Follows("level", "grade", GRADES)]


def private_rows() -> pa.Table:
    dice = np.random.default_rng(1)
    grade = dice.choice(list(GRADES), ROWS, p=[0.4, 0.3, 0.2, 0.1])
    days = np.where(dice.random(ROWS) < 0.7, 0, dice.integers(1, 1000, ROWS))
    low = dice.integers(0, 100, ROWS)
    return pa.table(
        {
            "grade": grade,
            "level": [9] * ROWS,
            "days": days,
            "stays": np.where(days > 0, dice.integers(0, 9, ROWS), 0),
            "low": low,
            "high": pa.array(dice.integers(0, 100, ROWS), mask=dice.random(ROWS) < 0.1),
        }
    )


@pytest.fixture
def session() -> Any:
    policy = {"version": "1", "budget": {"rho": 100_000}, "tables": {"t": {"unit": "rows", "columns": COLUMNS}}}
    with dp.connect({"t": private_rows()}, policy) as session:
        yield session


@pytest.mark.parametrize("tier", ["instant", "best"])
def test_every_row_keeps_the_hard_rules_though_private_rows_do_not(session: Any, tier: Any) -> None:
    table = synth.fit(session, "t", dp.rho("0.1"), tier=tier, rules=ALL)
    refits = table.tables(2, rows=500) if tier == "instant" else []
    for rows in (table.sample(5_000), table.sample(700, given={"high": 3}), *refits):
        assert broken(ALL[0], rows) == broken(ALL[1], rows) == 0
        assert [GRADES[grade] for grade in rows["grade"].to_pylist()] == rows["level"].to_pylist()
    assert table.sample(10).column_names == list(COLUMNS)
    assert table.sample(10).schema.types == [TYPES[column["type"]] for column in COLUMNS.values()]
    assert table.sample(300, given={"high": 3})["low"].to_pylist() <= [3] * 300


def test_it_comes_back_from_a_file_and_from_the_ledger_with_its_rules(session: Any, tmp_path: Any) -> None:
    table = synth.fit(session, "t", dp.rho("0.1"), rules=[*ALL, synth.Soft("low < 50", 1.5), synth.Total(ROWS)])
    left = session.remaining
    again = synth.fit(session, "t", dp.rho("0.1"), rules=[*ALL, synth.Soft("low < 50", 1.5), synth.Total(ROWS)])
    assert session.remaining == left
    table.save(tmp_path / "t.synth")
    loaded = synth.load(tmp_path / "t.synth")
    assert loaded.rules == again.rules == table.rules
    assert loaded.sample(50).equals(table.sample(50))
    assert again.digest() == table.digest()
    synth.fit(session, "t", dp.rho("0.1"), rules=ALL)
    assert session.remaining != left


def test_what_follows_is_answered_from_what_was_measured(session: Any) -> None:
    table = synth.fit(session, "t", dp.rho(10), tier="instant", rules=ALL)
    answer = table.sql("SELECT level, COUNT(*) AS n, AVG(level) AS m FROM t GROUP BY level ORDER BY level")
    assert answer.kind("n") == "measured"
    real = [private_rows()["grade"].to_pylist().count(grade) for grade in GRADES]
    assert answer.to_arrow()["level"].to_pylist() == [1, 2, 3, 7]
    assert np.abs(np.array(answer.to_arrow()["n"].to_pylist()) - real).max() < 30
    policy = table.policy()["tables"]["t"]["columns"]
    assert policy["level"]["keys"] == [1, 2, 3, 7]
    assert list(policy) == list(COLUMNS)
    with pytest.raises(ParameterError, match="level follows from grade: give that"):
        table.sample(5, given={"level": 3})


def test_two_columns_that_one_follows_from(session: Any) -> None:
    sums = pa.table(
        {
            "grade": [g for g in GRADES for _ in range(11)],
            "stays": [s for _ in GRADES for s in range(11)],
            "level": [min(GRADES[g] + s, 16) for g in GRADES for s in range(11)],
        }
    )
    rules = [synth.Follows("level", ["grade", "stays"], sums), "level < 12"]
    rows = synth.fit(session, "t", dp.rho("0.1"), rules=rules).sample(2_000).to_pylist()
    assert all(row["level"] == min(GRADES[row["grade"]] + row["stays"], 16) < 12 for row in rows)


def test_totals_are_kept_in_expectation(session: Any) -> None:
    rules = [*ALL, synth.Total(10_000), synth.Total(2_500, "level >= 3"), synth.Total(0, "grade = 'b'")]
    rules += [synth.Total(4_000, "days = 0 AND grade = 'a'")]
    table = synth.fit(session, "t", dp.rho("0.1"), rules=rules)
    assert table.total == 10_000
    rows = table.sample()
    assert rows.num_rows == 10_000
    held = [row for row in rows.to_pylist() if row["level"] >= 3]
    assert abs(len(held) - 2_500) < 30
    assert "b" not in rows["grade"].to_pylist()
    alike = sum(row["days"] == 0 and row["grade"] == "a" for row in rows.to_pylist())
    assert abs(alike - 4_000) < 60


def test_a_soft_rule_makes_rows_that_break_it_rarer_by_its_weight(session: Any) -> None:
    shares: list[float] = []
    for rules in ([], [synth.Soft("low < 50", 2)]):
        rows = synth.fit(session, "t", dp.rho(1), tier="instant", rules=rules).sample(20_000)
        shares.append(float(np.mean(np.array(rows["low"].to_pylist()) < 50)))
    before, after = shares
    expected = before / (before + (1 - before) * np.exp(-2))
    assert abs(after - expected) < 0.02


def test_a_rule_moves_no_marginal_that_it_does_not_name(session: Any) -> None:
    rows = synth.fit(session, "t", dp.rho(10), rules=["low <= high"], tier="instant").sample(ROWS)
    real = private_rows()["grade"].to_pylist()
    for grade in GRADES:
        assert abs(rows["grade"].to_pylist().count(grade) - real.count(grade)) < 100
    assert abs(rows["high"].null_count - private_rows()["high"].null_count) < 150


def test_cells_that_a_total_tells_apart_are_never_merged(session: Any) -> None:
    rules = [synth.Total(ROWS), synth.Total(100, "days < 500")]
    cells = {"days": [100, 200, 300, 500, 600, 700]}
    table = synth.fit(session, "t", dp.rho("0.0001"), cells=cells, rules=rules, columns=["days"])
    into = table.merges[0].into
    texts = [table.columns[0].text(i) for i in range(table.columns[0].size)]
    below = {into[i] for i, text in enumerate(texts) if int(text.split(" to ")[-1]) < 500}
    assert not below & {into[i] for i, text in enumerate(texts) if int(text.split(" to ")[-1]) >= 500}


REFUSED: list[tuple[list[Any], type[DiscreetError], str]] = [
    (["days > 5 AND days < 3"], ParameterError, "nothing satisfies the rule 'days > 5 AND days < 3'"),
    (["low < high", "high < low", "high IS NOT NULL"], ParameterError, "nothing satisfies all rules together"),
    (["nothing > 3"], QueryError, "no column nothing"),
    (["random() > 0.5"], QueryError, "RANDOM.* cannot be in a rule"),
    (["low > (SELECT 3)"], QueryError, "cannot be in a rule"),
    (["low IN (SELECT low FROM t)"], QueryError, "cannot be in a rule"),
    (["COUNT(*) > 3"], QueryError, "cannot be in a rule"),
    (["1 = 1) OR (low = 1"], QueryError, "cannot be read"),
    (["low = 1 GROUP BY low"], QueryError, "no single condition"),
    (["low > 3; DROP TABLE t"], QueryError, "cannot be read"),
    (["low"], QueryError, "is no condition"),
    (["1 = 1"], QueryError, "names no column"),
    (["t.low > 3"], QueryError, "write low for t.low"),
    (["grade + 3 > low"], QueryError, "cannot be computed"),
    ([3], ParameterError, "a rule is a condition in SQL, or a synth.Soft"),
    (["low < high AND days < stays AND low < 3"], QueryError, "too many combinations"),
    ([synth.Soft("low < 50", -1)], ParameterError, "the weight of a soft rule"),
    ([synth.Soft("low < 50", True)], ParameterError, "the weight of a soft rule"),
    ([synth.Soft("low > 5 AND low < 3")], ParameterError, "nothing satisfies the rule"),
    ([synth.Total(5, "grade = 'a'")], ParameterError, "add synth.Total"),
    ([synth.Total(5), synth.Total(6)], ParameterError, "the total of all rows twice"),
    ([synth.Total(5), synth.Total(6, "grade = 'a'")], ParameterError, "above that of all rows"),
    ([synth.Total(-1)], ParameterError, "a total is a whole number"),
    ([synth.Total(100), synth.Total(5, "days > 17")], QueryError, "parts of cells: choose cells that end where"),
    ([synth.Total(9), synth.Total(8, "grade = 'a'"), synth.Total(8, "grade = 'b'")], ParameterError, "all totals"),
    ([synth.Total(9), synth.Total(8, "grade = 'a'"), "grade <> 'a'"], ParameterError, "all totals"),
    ([synth.Follows("level", "grade", {"a": 1})], ParameterError, "no value where grade is 'b'"),
    ([synth.Follows("level", "days", {1: 1})], QueryError, "cells of several values"),
    ([synth.Follows("level", "nothing", {1: 1})], QueryError, "no column nothing"),
    ([synth.Follows("nothing", "grade", {1: 1})], QueryError, "no column nothing"),
    ([synth.Follows("level", "level", {1: 1})], QueryError, "no column level"),
    ([synth.Follows("level", [], {1: 1})], ParameterError, "follows from nothing"),
    ([synth.Follows("level", "grade", {**GRADES, "d": 99})], ParameterError, "cannot be 99 by the policy"),
    ([synth.Follows("level", "grade", {**GRADES, "d": "x"})], ParameterError, "cannot be 'x'"),
    ([synth.Follows("level", "grade", GRADES)] * 2, ParameterError, "twice"),
    ([synth.Follows("level", "grade", [1, 2])], ParameterError, "values is a mapping"),  # type: ignore[arg-type]
    (["low > 1"] * 101, ParameterError, "at most 100 rules"),
]


@pytest.mark.parametrize(("rules", "error", "words"), REFUSED, ids=[str(rules)[:60] for rules, *_ in REFUSED])
def test_what_cannot_be_kept_is_refused_before_any_charge(session: Any, rules: Any, error: Any, words: str) -> None:
    left = session.remaining
    for ask in (synth.plan, synth.fit):
        with pytest.raises(error, match=words):
            ask(session, "t", dp.rho("0.1"), rules=rules)
    assert session.remaining == left


def test_rules_are_a_list(session: Any) -> None:
    with pytest.raises(ParameterError, match="rules is a list of conditions"):
        synth.plan(session, "t", dp.rho(1), rules="low > 3")
    with pytest.raises(ParameterError, match="level follows from other columns"):
        synth.plan(session, "t", dp.rho(1), rules=ALL, target="level")
    with pytest.raises(ParameterError, match="it follows from others"):
        synth.plan(session, "t", dp.rho(1), rules=ALL, cells={"level": 4})


def test_an_impossible_given_is_refused(session: Any) -> None:
    table = synth.fit(session, "t", dp.rho("0.1"), tier="instant", rules=["low <= high", "days = 0 OR stays > 0"])
    for given in ({"low": 80, "high": 3}, {"low": 6, "high": 4}, {"days": 900, "stays": 0}):
        with pytest.raises(ParameterError, match="give fewer or other values"):
            table.sample(10, given=given)
    assert table.sample(10, given={"low": 4, "high": 5}).num_rows == 10


def test_rows_that_are_rare_are_dropped_and_what_that_bends_is_stated(session: Any) -> None:
    table = synth.fit(session, "t", dp.rho(1), columns=["grade", "stays"])
    rows = table.sample(2_000, min_repeats=30)
    every = [tuple(row.values()) for row in rows.to_pylist()]
    assert every
    assert min(every.count(row) for row in set(every)) >= 30
    result = synth.min_repeats(table.sample(2_000), 30)
    assert result.rows.equals(rows)
    assert result.dropped == 2_000 - rows.num_rows > 0
    before, after = (
        np.array([t["stays"].to_pylist().count(i) for i in range(11)]) for t in (table.sample(2_000), rows)
    )
    distance = np.abs(before / before.sum() - after / after.sum()).sum() / 2
    assert abs(result.bent["stays"] - distance) < 1e-12
    assert b"discreet.min_repeats" in rows.schema.metadata
    for wrong in (0, True, 1.5):
        with pytest.raises(ParameterError, match="min_repeats is a whole number"):
            table.sample(10, min_repeats=wrong)  # type: ignore[arg-type]
    assert synth.min_repeats(table.sample(0), 2).rows.num_rows == 0


def test_a_workload_has_weights_and_may_be_sql(session: Any) -> None:
    workload = {("low", "days"): 8, "SELECT level, AVG(stays) FROM t WHERE high > 3 GROUP BY level": 2}
    plan = synth.plan(session, "t", dp.rho(1), rules=ALL, workload=workload)
    assert plan.workload == ((("grade", "stays", "high"), 2), (("days", "low"), 8))
    wrong: list[tuple[Any, str]] = [
        (["low"], "a workload is a list of marginals"),
        ({("low",): 0}, "a weight in a workload"),
        ({("low",): 1.5}, "a weight in a workload"),
        (["SELECT COUNT(*) FROM t"], "names no column"),
        (["SELECT low FROM other"], "queries over t"),
        (["SELECT nothing FROM t"], "no column nothing"),
        ("low", "a workload is a list of marginals"),
    ]
    for each, words in wrong:
        with pytest.raises(DiscreetError, match=words):
            synth.plan(session, "t", dp.rho(1), workload=each)


def test_a_heavier_marginal_has_a_heavier_score() -> None:
    sizes = [2, 3, 4, 5]
    weights = candidates(
        sizes, Wanted(workload=(((0, 1), 1), ((1, 2, 3), 8), ((2, 3), 100), ((0,), 7))), most=2
    ).weights
    assert weights[0, 1] == weights[0, 2] == WEIGHT
    assert weights[1, 2, 3] == 8 * WEIGHT
    assert weights[1, 2] == weights[1, 3] == 4 * WEIGHT
    assert weights[2, 3] == 100 * WEIGHT
    assert (0,) not in weights


def refusal(session: Any, tier: Any, case: Case) -> bool:
    """Whether no row is thought to keep the rules of a case."""
    try:
        synth.plan(session, "t", dp.rho(1_000), tier=tier, rules=case.rules)
    except ParameterError as error:
        if "nothing satisfies" in str(error):
            return True
        raise
    return False


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_random_policies_and_rules(first: int) -> None:
    """The soak asks 1,000 of them. NULLs keep their share where no rule names their column, with little noise."""
    asked, refused = (1_000, 0) if first else (8, 0)
    for number in range(asked):
        dice = random.Random(1_000 * first + number)
        case = random_case(dice)
        with dp.connect({"t": case.table}, case.policy) as session:
            tier: Any = dice.choice(["instant", "best"])
            if refusal(session, tier, case):
                refused += 1
                rows = [public_row(dice, case) for _ in range(2_000)]
                table = pa.table({name: [row[name] for row in rows] for name in case.columns})
                every = " AND ".join(f"(({rule}) IS NOT FALSE)" for rule in case.rules)
                never = [broken(f"(({rule}) IS TRUE)", table) == table.num_rows for rule in case.rules]
                assert any(never) or broken(every, table) == table.num_rows, case
                continue
            fitted = synth.fit(session, "t", dp.rho(1_000), tier=tier, rules=case.rules)
        rows = fitted.sample(400)
        for rule in case.rules:
            assert broken(rule, rows) == 0, (number, rule)
        for name, column in case.columns.items():
            assert not [value for value in rows[name].to_pylist() if wrong_value(column, value)], (number, name)
            free = not any(name in rule for rule in case.rules)
            if free and len(case.counted) > 50 and not case.rules:
                real = sum(row[name] is None for row in case.counted) / len(case.counted)
                assert abs(rows[name].null_count / 400 - real) < 0.06, (number, name)
    assert refused < asked / 3


def test_rules_without_a_table_of_their_own_leave_a_fit_as_it_is(session: Any) -> None:
    table = synth.fit(session, "t", dp.rho(1), tier="instant")
    bound = BoundRules(table.rules, table.columns)
    assert bound.fixed(table.merges) == {}
    assert weighted_sets([("low", "low")], "t", table.columns, ()) == (((4,), 4),)
