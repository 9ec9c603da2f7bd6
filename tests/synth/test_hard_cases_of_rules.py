"""Rules that are extreme, have odd names, or tie many columns together: fits go through, and files are read again."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.marginals import ColumnCells
from discreet.query import Cut
from discreet.synth.rows._rows import public_rows
from discreet.synth.rules import BoundRules, Follower, Rules, Total

ROWS = 2_000
CUTS = (Cut(Fraction(300)), Cut(Fraction(600)))
DAY = dt.datetime(2024, 1, 1)  # noqa: DTZ001
DATES = {"a": dt.date(2024, 1, 1), "b": dt.date(2024, 1, 2), "c": dt.date(2024, 2, 1)}
COLUMNS: dict[str, Any] = {
    "grade": {"type": "string", "keys": ["a", "b", "c"], "nullable": False},
    "low": {"type": "int", "bounds": [0, 99], "nullable": False},
    "given 0": {"type": "int", "bounds": [0, 5], "nullable": False},
    "s0": {"type": "int", "bounds": [0, 5], "nullable": False},
    "number of the row": {"type": "int", "bounds": [0, 20], "nullable": False},
    "cell of column 0": {"type": "int", "bounds": [0, 20], "nullable": False},
    "moment": {"type": "timestamp", "bounds": [DAY, DAY + dt.timedelta(seconds=10)], "nullable": False},
    "day": {"type": "date", "bounds": [DATES["a"], DATES["c"]]},
    "text": {"type": "string"},
}


def private_rows() -> pa.Table:
    dice = np.random.default_rng(2)
    rows: dict[str, Any] = {
        "grade": dice.choice(list("abc"), ROWS),
        "low": dice.integers(0, 100, ROWS),
        "given 0": dice.integers(0, 6, ROWS),
        "s0": dice.integers(0, 6, ROWS),
        "number of the row": dice.integers(0, 21, ROWS),
        "cell of column 0": dice.integers(0, 21, ROWS),
        "moment": [DAY + dt.timedelta(seconds=int(each)) for each in dice.integers(0, 11, ROWS)],
        "day": [DATES["a"]] * ROWS,
        "text": ["x"] * ROWS,
    }
    return pa.table(rows)


def fitted(rules: list[Any], columns: list[str], rho: int = 10, tier: Any = "instant") -> synth.SyntheticTable:
    policy = {"version": "1", "budget": {"rho": 1_000}, "tables": {"t": {"unit": "rows", "columns": COLUMNS}}}
    with dp.connect({"t": private_rows()}, policy) as session:
        return synth.fit(session, "t", dp.rho(rho), tier=tier, columns=columns, rules=rules)


@pytest.mark.parametrize("weight", [37.0, 50.0, 100.0])
def test_a_soft_rule_of_any_weight_leaves_finite_numbers(weight: float) -> None:
    table = fitted([synth.Soft("low < 50 AND grade = 'a'", weight)], ["low", "grade"])
    assert all(np.isfinite(each).all() for each in table.potentials.values())
    assert synth.SyntheticTable.from_bytes(table.to_bytes()).digest() == table.digest()
    rows = table.sample(500)
    assert set(rows["grade"].to_pylist()) == {"a"}


@pytest.mark.parametrize("name", ["s0", "given 0", "number of the row", "cell of column 0"])
def test_columns_may_have_any_names_beside_a_rule(name: str) -> None:
    follows = synth.Follows("text", "grade", {"a": "x", "b": "y", "c": "z"})
    quoted = f'"{name}"'
    rules = [follows, f"{quoted} < 3 OR text = 'z'", f"{quoted} > 0 OR grade = 'a'"]
    rows = fitted(rules, ["grade", name]).sample(500).to_pylist()
    assert all((row[name] < 3 or row["text"] == "z") and (row[name] > 0 or row["grade"] == "a") for row in rows)
    assert {row["text"] for row in rows} == {"x", "y", "z"}


@pytest.mark.parametrize("name", ["s0", "given 0"])
def test_what_follows_may_have_any_name(name: str) -> None:
    rules = [synth.Follows(name, "grade", {"a": 1, "b": 2, "c": 0}), synth.Total(1_000)]
    rows = fitted([*rules, synth.Total(700, f'"{name}" = 0')], ["grade", "low"]).sample()
    assert abs(rows[name].to_pylist().count(0) - 700) < 20


def test_dates_that_follow_are_within_the_bounds_of_the_policy() -> None:
    assert set(fitted([synth.Follows("day", "grade", DATES)], ["grade"]).sample(200)["day"].to_pylist()) <= {
        *DATES.values()
    }
    for wrong in (dt.date(2023, 12, 31), dt.date(2024, 2, 2), DAY):
        with pytest.raises(ParameterError, match="day cannot be"):
            fitted([synth.Follows("day", "grade", {**DATES, "b": wrong})], ["grade"])


def test_what_follows_from_moments_has_no_interval() -> None:
    """A moment between two seconds is none that a rule lists: nothing is measured of what follows from it."""
    values = {DAY + dt.timedelta(seconds=i): "2030-01-01" if i % 2 else None for i in range(11)}
    table = fitted([synth.Follows("text", "moment", values)], ["moment"])
    for condition in ("text IS NULL", "text > '2025-01-01'", "text = '2030-01-01'", "NOT text < '2030-01-01'"):
        answer = table.sql(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")
        assert answer.kinds("n") == ["model"]
        assert answer.table["n"].to_pylist()[0] > 100


@pytest.mark.sampled
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("target", [None, "c0"])
def test_rules_that_tie_many_columns_leave_a_small_tree(hard: bool, target: str | None) -> None:
    """A ring of rules across a network would need cliques of many columns; the network goes where there is room."""
    names = [f"c{i}" for i in range(9)]
    columns = {name: {"type": "int", "bounds": [0, 31], "nullable": False} for name in names}
    dice = np.random.default_rng(3)
    base = dice.integers(0, 32, 20_000)
    table = pa.table({name: (base + dice.integers(0, 6, 20_000)) % 32 for name in names})
    ring = [(names[2 * i % 9], names[2 * (i + 1) % 9]) for i in range(9)]
    conditions = [f"{one} <= {other} + 30" for one, other in ring]
    rules = conditions if hard else [synth.Soft(each, 1) for each in conditions]
    policy = {"version": "1", "budget": {"rho": 1_000}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    with dp.connect({"t": table}, policy) as session:
        result = synth.fit(session, "t", dp.rho(10), tier="instant", rules=rules, target=target)
    assert result.model.tree.cells < 2**21
    assert sum(len(each.clique) == 2 for each in result.measured) >= 8


def test_rows_of_rules_alone_are_the_same_beside_other_columns_and_in_any_number() -> None:
    low, high, other = (ColumnCells(name, "int", False, tuple(range(100))) for name in ("low", "high", "other"))
    grade = Follower("grade", "string", nullable=False, place=1, given=("low",), values=tuple(map(str, range(100))))
    rules = Rules(hard=("low = 99 - high", "low < 9"), followers=(grade,))
    alone = public_rows(BoundRules(rules, (low, high)), 10)
    assert alone.column_names == ["low", "grade", "high"]
    beside = public_rows(BoundRules(rules, (other, low, high)), 10)
    assert beside.column_names == ["other", "grade", "low", "high"]
    assert beside.select(alone.column_names).equals(alone)
    many = public_rows(BoundRules(rules, (low, high)), 20_000)
    assert many.slice(0, 10).equals(alone)
    assert all(row["low"] == 99 - row["high"] < 9 and row["grade"] == str(row["low"]) for row in many.to_pylist())


def spoilt(content: dict[str, Any], number: int) -> dict[str, Any]:
    """What is stored, with rules that no fit has."""
    rules, names = content["rules"], [column["name"] for column in content["columns"]]
    match number:
        case 0:
            rules["hard"] = ["low > 3"] * 1_000
        case 1:
            rules["hard"] = [" AND ".join(f'"{name}" >= 0' for name in names)]
        case 2:
            rules["soft"] = [[" AND ".join(f'"{name}" >= 0' for name in names), 1.0]]
        case 3:
            rules["totals"] = [[10, None], [5, " AND ".join(f'"{name}" >= 0' for name in names)]]
        case 4:
            rules["hard"] = ["low IN (SELECT low FROM '/etc/passwd')"]
        case 5:
            rules["hard"] = ["DATE() > low"]
        case _:
            content["measured"][-1]["columns"] = [0, 5]
    return content


@pytest.fixture(scope="module")
def stored() -> bytes:
    names = ["low", "number of the row", "cell of column 0", "s0", "given 0", "moment"]
    policy = {"version": "1", "budget": {"rho": 1_000}, "tables": {"t": {"unit": "rows", "columns": COLUMNS}}}
    with dp.connect({"t": private_rows()}, policy) as session:
        return synth.fit(session, "t", dp.rho(100), tier="instant", columns=names, rules=["low < 90"]).to_bytes()


@pytest.mark.parametrize("number", range(7))
def test_a_file_with_rules_that_cannot_be_computed_with_is_refused(stored: bytes, number: int) -> None:
    content = spoilt(json.loads(stored), number)
    for each in content["columns"]:  # more cells than a tree of all columns may have
        if number in (1, 2, 3):
            each |= {"cuts": [], "keys": list(range(100)), "type": "int"}
    for each in content["merges"]:
        if number in (1, 2, 3):
            each |= {"into": [0] * 100, "shares": [0.01] * 100}
    if number in (1, 2, 3):
        content["potentials"] = []
        content["measured"] = []
    with pytest.raises(LedgerError, match="cannot be read"):
        synth.SyntheticTable.from_bytes(json.dumps(content).encode())


def test_a_value_that_is_given_has_the_type_of_its_column(stored: bytes) -> None:
    table = synth.SyntheticTable.from_bytes(stored)
    assert set(table.sample(20, given={"low": 3.0})["low"].to_pylist()) == {3}
    for given in ({"low": "3"}, {"moment": "2024-01-01 00:00:03"}, {"moment": DAY.date()}):
        with pytest.raises(ParameterError, match="give a value of that type"):
            table.sample(5, given=given)


def test_the_same_numbers_of_other_types_are_the_same_rules() -> None:
    """What is asked twice is charged once."""
    columns = {**COLUMNS, "text": {"type": "float", "bounds": [0, 9]}}
    policy = {"version": "1", "budget": {"rho": 1_000}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    rows = private_rows().drop_columns("text").append_column("text", pa.array([1.0] * ROWS))
    with dp.connect({"t": rows}, policy) as session:
        left: list[Any] = []
        for weight, value in ((2, 1), (2.0, 1.0)):
            follows = synth.Follows("text", "grade", {"a": value, "b": 2.5, "c": 3})
            names, rules = ["grade", "low"], [follows, synth.Soft("low < 50", weight)]
            synth.fit(session, "t", dp.rho(1), tier="instant", columns=names, rules=rules)
            left.append(session.remaining)
    assert left[0] == left[1]


def test_a_condition_that_few_values_of_a_cell_keep_closes_no_cell() -> None:
    """Cells of three values each, of which one keeps it, or of many: none lies between the points that are tried."""
    low = ColumnCells("low", "int", nullable=True, keys=None, cuts=CUTS, upper=Fraction(1_000))
    bound = BoundRules(Rules(hard=("low % 97 = 3",), totals=(Total(10), Total(0, "low % 97 = 3"))), (low,))
    ((tried,), ((counted, _),)) = bound.hard, bound.totals
    real = [
        sum(i % 97 == 3 for i in range(*ends)) / (ends[1] - ends[0]) for ends in ((0, 300), (300, 600), (600, 1_001))
    ]
    assert tried.share.tolist() == pytest.approx([*real, 1])
    assert counted.share.tolist() == pytest.approx([*real, 0])
    with pytest.raises(QueryError, match="parts of cells"):
        bound.check()


@pytest.mark.parametrize("tier", ["instant", "best"])
def test_totals_hold_though_the_private_rows_are_far_from_them(tier: Any) -> None:
    columns: dict[str, Any] = {
        "g": {"type": "string", "keys": ["a", "b"], "nullable": False},
        "d": {"type": "int", "bounds": [0, 1]},
        "e": {"type": "int", "bounds": [0, 8], "nullable": False},
    }
    policy = {"version": "1", "budget": {"rho": 10**9}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    table = pa.table({"g": ["a"] * 49_999 + ["b"], "d": [1] * 49_999 + [0], "e": [3] * 50_000})
    totals = [Total(2, "g = 'b'"), Total(3, "d = 0"), Total(1, "e = 8 AND g = 'b'")]
    with dp.connect({"t": table}, policy) as session:
        rules = [Total(7), *totals, "g = 'a' OR e > 0"]
        fitted = synth.fit(session, "t", dp.rho(10**8), tier=tier, rules=rules)
    bound = BoundRules(fitted.rules, fitted.columns)
    for tried, rows in bound.totals:
        inside = tried.merged(fitted.merges, any_point=True) > 0
        assert fitted.model.marginal(tried.columns)[inside].sum() == pytest.approx(rows / 7, abs=1e-5)
    assert [each.num_rows for each in fitted.tables(2)] == [7, 7]


def test_functions_that_lack_an_argument_are_refused_in_words() -> None:
    rows = pa.table({"low": [1, 2, 3] * 200})
    columns = {"low": {"type": "int", "bounds": [0, 9], "nullable": False}}
    policy = {"version": "1", "budget": {"rho": 9}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    with dp.connect({"t": rows}, policy) as session:
        table = synth.fit(session, "t", dp.rho(1), tier="instant")
    with pytest.raises(QueryError, match="lacks an argument"):
        table.sql("SELECT COUNT(*) AS n FROM t WHERE DATE() > low")


@pytest.mark.parametrize("tier", ["instant", "best"])
def test_rules_that_hold_in_a_sliver_of_a_cell_are_kept(tier: Any) -> None:
    """A second of two days, and one number of a hundred million: no draw would meet them by chance."""
    columns: dict[str, Any] = {
        "seen": {"type": "timestamp", "bounds": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)], "nullable": False},
        "amount": {"type": "int", "bounds": [0, 10**8], "nullable": False},
    }
    policy = {"version": "1", "budget": {"rho": 9}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    rows = pa.table({"seen": [DAY + dt.timedelta(hours=i % 48) for i in range(600)], "amount": list(range(600))})
    rules = ["seen >= TIMESTAMP '2024-01-02 23:59:59'", "amount = 12345678"]
    with dp.connect({"t": rows}, policy) as session:
        table = synth.fit(session, "t", dp.rho(1), tier=tier, rules=rules)
    sampled = table.sample(500)
    assert set(sampled["amount"].to_pylist()) == {12345678}
    assert min(sampled["seen"].to_pylist()) >= dt.datetime(2024, 1, 2, 23, 59, 59)  # noqa: DTZ001
