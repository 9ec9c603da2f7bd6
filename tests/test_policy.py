"""A policy says who is protected, or it is refused."""

from __future__ import annotations

import copy
import datetime as dt
import tomllib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

import discreet as dp
from discreet.errors import PolicyError
from discreet.policy import Budget, Column, column_to_toml, load_policy
from discreet.query import Field

TOML = """
version = "1984"
relation = "add_remove"
[budget]
epsilon = 0.3
delta = 1e-6
[tables.visits]
unit = "zper"
max_rows = 5
max_groups = 1
[tables.visits.columns.outpdol]
type = "float"
bounds = [0, 0.1]
[tables.visits.columns.coins]
type = "int"
keys = [0, 25, 50, 95, 100]
[tables.visits.columns.day]
type = "date"
keys = [2024-01-01, 2024-04-01]
[tables.visits.columns.moment]
type = "timestamp"
keys = [2024-01-01T12:00:00]
nullable = false
"""

GOOD: dict[str, Any] = {
    "version": "1984",
    "budget": {"epsilon": 0.3, "delta": 1e-6},
    "tables": {
        "visits": {
            "unit": "zper",
            "max_rows": 5,
            "max_groups": 1,
            "columns": {
                "outpdol": {"type": "float", "bounds": [0, 0.1]},
                "coins": {"type": "int", "keys": [0, 25, 50, 95, 100]},
                "day": {"type": "date", "keys": ["2024-01-01", dt.date(2024, 4, 1)]},
                "moment": {"type": "timestamp", "keys": ["2024-01-01 12:00:00"], "nullable": False},
            },
        }
    },
}


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    policy = copy.deepcopy(GOOD)
    change(policy)
    return policy


def with_column(**column: Any) -> dict[str, Any]:
    return changed(lambda p: p["tables"]["visits"]["columns"].update(x=column))


def with_table(**table: Any) -> dict[str, Any]:
    return changed(lambda p: p["tables"]["visits"].update(table))


def with_budget(**budget: Any) -> dict[str, Any]:
    return changed(lambda p: p.update(budget=budget))


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "policy.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_file_and_a_dict_say_the_same(tmp_path: Path) -> None:
    from_file, from_dict = load_policy(write(tmp_path, TOML)), load_policy(GOOD)
    assert from_file == from_dict
    assert from_file.digest() == from_dict.digest()
    assert load_policy(from_file) is from_file
    assert load_policy(str(tmp_path / "policy.toml")) == from_dict


def test_decimals_are_exact() -> None:
    policy = load_policy(GOOD)
    assert policy.tables["visits"].columns["outpdol"].bounds == (0, Fraction(1, 10))
    assert policy.budget is not None
    assert policy.budget.loss() == dp.approx(Fraction(3, 10), Fraction(1, 10**6))


@pytest.mark.parametrize("tenth", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), "1e-1"])
def test_a_tenth_is_a_tenth_however_it_is_written(tenth: object) -> None:
    same = changed(lambda p: p["tables"]["visits"]["columns"]["outpdol"].update(bounds=[0, tenth]))
    assert load_policy(same).digest() == load_policy(GOOD).digest()


def test_the_digest_does_not_depend_on_the_order_of_tables_and_columns() -> None:
    other = changed(
        lambda p: p["tables"]["visits"].update(columns=dict(reversed(GOOD["tables"]["visits"]["columns"].items())))
    )
    assert load_policy(dict(reversed(other.items()))).digest() == load_policy(GOOD).digest()


def test_the_digest_is_the_same_for_ever() -> None:
    """It is part of every plan's hash, and so of every stored answer: a change here makes people pay again."""
    assert load_policy(GOOD).digest() == DIGEST


DIGEST = "2c409c3418f082ab4ac8d7995ecdac208896af0e0c94a83fca3207d149043c7d"


@pytest.mark.parametrize(
    "other",
    [
        changed(lambda p: p.update(version="1985")),
        changed(lambda p: p.update(relation="substitute")),
        with_budget(epsilon=0.4, delta=1e-6),
        with_table(max_rows=6),
        with_table(max_groups=2),
        with_table(unit="other"),
        with_column(type="int"),
        changed(lambda p: p["tables"]["visits"]["columns"]["outpdol"].update(bounds=[0, 1])),
        changed(lambda p: p["tables"]["visits"]["columns"]["coins"].update(keys=[25, 0, 50, 95, 100])),
        changed(lambda p: p["tables"]["visits"]["columns"]["coins"].update(nullable=False)),
    ],
)
def test_the_digest_tells_policies_apart(other: dict[str, Any]) -> None:
    assert load_policy(other).digest() != load_policy(GOOD).digest()


REFUSED: list[tuple[object, str]] = [
    # unknown keys, at each level
    (changed(lambda p: p.update(versions="1")), "versions: unknown key"),
    (with_budget(epsilon=1, eps=1), "budget.eps: unknown key"),
    (with_table(max_row=1), "tables.visits.max_row: unknown key"),
    (with_column(type="int", bound=[0, 1]), "tables.visits.columns.x.bound: unknown key"),
    # what is missing
    (changed(lambda p: p.pop("version")), "version: is missing"),
    (changed(lambda p: p.pop("tables")), "tables: is missing"),
    (changed(lambda p: p.update(tables={})), "tables"),
    (changed(lambda p: p["tables"]["visits"].pop("unit")), 'unit: is missing: .* unit = "rows"'),
    (changed(lambda p: p["tables"]["visits"].pop("columns")), "columns: is missing"),
    (changed(lambda p: p["tables"]["visits"].pop("max_rows")), "max_rows is missing: .* one zper"),
    (with_table(max_rows=None), "max_rows is missing"),
    (with_column(bounds=[0, 1]), "type: is missing"),
    # labels and relations
    (changed(lambda p: p.update(version="")), "version"),
    (changed(lambda p: p.update(version=1984)), "version"),
    (changed(lambda p: p.update(relation="swap")), "relation: .*'add_remove' or 'substitute'"),
    # units and caps
    (with_table(unit=""), "unit"),
    (with_table(unit=5), "unit"),
    (with_table(unit=None), "unit"),
    (with_table(unit="rows"), "every row is another person: leave max_rows and max_groups out"),
    *[(with_table(max_rows=n), "max_rows") for n in (0, -1, 1.5, "5", True, 10**7)],
    *[(with_table(max_groups=n), "max_groups") for n in (0, -1, 1.5, "5", True, 10**7)],
    # bounds
    (with_column(type="int", bounds=[None, 1]), "bounds.0: it must be a finite number, got None"),
    (with_column(type="float", bounds=[float("nan"), 1]), "bounds.0: it must be a finite number"),
    (with_column(type="float", bounds=[0, float("inf")]), "bounds.1: it must be a finite number"),
    (with_column(type="float", bounds=[0, Decimal("NaN")]), "bounds.1: it must be a finite number"),
    (with_column(type="int", bounds=[1, 0]), "lower < upper"),
    (with_column(type="int", bounds=[1, 1]), "lower < upper"),
    (with_column(type="int", bounds=[0.5, 1]), "whole numbers"),
    (with_column(type="float", bounds=[0, 1e101]), "within ±1e100"),
    *[
        (with_column(type="int", bounds=b), "bounds")
        for b in ([0], [0, 1, 2], "01", 5, {"a": 1}, ["a", "b"], [False, True])
    ],
    *[
        (with_column(type=t, bounds=[0, 1]), "bounds are for int, float, decimal, date, timestamp")
        for t in ("string", "bool")
    ],
    (with_column(type="date", bounds=[0, 1]), "bounds of a date column must be dates"),
    (with_column(type="date", bounds=["2024-01-01", "2024-01-01T09:00"]), "bounds of a date column must be dates"),
    (with_column(type="timestamp", bounds=[0, 1]), "bounds of a timestamp column must be timestamps"),
    (with_column(type="timestamp", bounds=["2024-01-01T00:00Z", "2024-01-02"]), "no time zone"),
    (with_column(type="date", bounds=["2024-01-02", "2024-01-01"]), "first not after last"),
    (with_column(type="int", bounds=["2024-01-02", "2024-01-03"]), "bounds of int columns are numbers"),
    # keys
    (with_column(type="float", keys=[1.0]), "a float column cannot be grouped by"),
    (with_column(type="decimal", keys=["1"]), "a decimal column cannot be grouped by"),
    (with_column(type="int", keys=[]), "may not be an empty list"),
    (with_column(type="int", keys=[1, 2, 1]), "keys may not repeat"),
    (with_column(type="string", keys=["a", "a"]), "keys may not repeat"),
    (with_column(type="date", keys=["2024-01-01", dt.date(2024, 1, 1)]), "keys may not repeat"),
    *[
        (with_column(type="int", keys=[k]), "does not suit a column of type int")
        for k in ("1", 1.0, True, None, 2**63, [1])
    ],
    *[
        (with_column(type="string", keys=[k]), "does not suit a column of type string")
        for k in (1, None, True, "\ud800")
    ],
    *[(with_column(type="bool", keys=[k]), "does not suit a column of type bool") for k in (0, 1, "true")],
    (with_column(type="date", keys=[dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]), "does not suit a column of type date"),
    (with_column(type="date", keys=["yesterday"]), "yesterday"),
    (with_column(type="timestamp", keys=[dt.date(2024, 1, 1)]), "does not suit a column of type timestamp"),
    (with_column(type="timestamp", keys=[dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]), "does not suit"),
    (with_column(type="timestamp", keys=["2024-01-01T00:00:00+02:00"]), "does not suit"),
    (with_column(type="int", keys="123"), "keys"),
    (with_column(type="int", keys=7), "keys"),
    # types and names
    *[(with_column(type=t), "type") for t in ("integer", "INT", "", None, 3)],
    (with_column(type="int", nullable="no"), "nullable"),
    (with_column(type="int", nullable=1), "nullable"),
    (changed(lambda p: p["tables"].update(VISITS=p["tables"]["visits"])), "may not differ by case alone"),
    (changed(lambda p: p["tables"]["visits"]["columns"].update(COINS={"type": "int"})), "may not differ by case alone"),
    (with_table(columns=[1]), "columns"),
    (changed(lambda p: p.update(tables={"t": 3})), "tables.t"),
    (changed(lambda p: p.update(tables={3: p["tables"]["visits"]})), "tables"),
    # budgets
    (with_budget(), "give one of epsilon"),
    (with_budget(delta=0.1), "give one of epsilon"),
    (with_budget(epsilon=1, rho=1), "give one of epsilon"),
    (with_budget(mu=0), "mu must be greater than 0"),
    (with_budget(mu=1, epsilon=1), "give one of epsilon"),
    *[(with_budget(epsilon=e), "epsilon") for e in (0, -1, float("nan"), float("inf"), "x", True, None, "1e5000", [])],
    *[(with_budget(rho=r), "rho") for r in (0, -0.1, float("inf"), "")],
    *[(with_budget(epsilon=1, delta=d), "delta") for d in (1, 1.5, -1e-9, float("nan"), "x", None)],
    *[(with_budget(rho=1, delta=d), "delta") for d in (1, -1)],
    (changed(lambda p: p.update(budget=3)), "budget"),
    # not a policy at all
    (3, "a TOML file or a dict"),
    (None, "a TOML file or a dict"),
    (b"policy.toml", "a TOML file or a dict"),
    ([], "a TOML file or a dict"),
    ({}, "version: is missing"),
    ("no/such/file.toml", "there is no such file; .*discreet policy init"),
    ("nul\0byte.toml", "nul"),
]


@pytest.mark.parametrize(("policy", "message"), REFUSED)
def test_refused(policy: Any, message: str) -> None:
    with pytest.raises(dp.PolicyError, match=message):
        load_policy(policy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = ", "not valid TOML"),
        ("", "version: is missing"),
        (b"\xff\xfe\x00", "not valid TOML"),
        ("a = " + "[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("a = " + "9" * 5_000, "not valid TOML"),
        ('version = "1"\nversion = "2"', "not valid TOML"),
        (TOML.replace("[0, 0.1]", "[0, inf]"), "bounds.1: it must be a finite number"),
        (TOML.replace("[0, 0.1]", "[nan, 1]"), "bounds.0: it must be a finite number"),
        (TOML.replace("2024-01-01T12:00:00", "2024-01-01T12:00:00Z"), "does not suit a column of type timestamp"),
        (TOML.replace("2024-01-01T12:00:00", "12:00:00"), "does not suit a column of type timestamp"),
        (TOML.replace("[2024-01-01,", "[2024-01-01T00:00:00,"), "does not suit a column of type date"),
        (TOML.replace("epsilon = 0.3", "mu = -0.3"), "mu must be greater than 0"),
        (TOML.replace('unit = "zper"', ""), "unit: is missing"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(dp.PolicyError, match=message) as refused:
        load_policy(path)
    assert str(path) in str(refused.value)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(dp.PolicyError, match="cannot be read"):
        load_policy(tmp_path)
    with pytest.raises(dp.PolicyError, match="there is no such file"):
        load_policy(tmp_path / "absent.toml")


def test_all_that_is_wrong_is_said_at_once() -> None:
    both = changed(lambda p: (p.pop("version"), p["tables"]["visits"].pop("unit")))
    with pytest.raises(dp.PolicyError, match=r"version: is missing.*unit: is missing"):
        load_policy(both)


def test_a_unit_of_rows_means_one_row_and_one_group_a_person() -> None:
    rows = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {}}}})
    assert rows.unit("t") == dp.Unit.rows()
    assert (rows.tables["t"].rows_per_unit, rows.tables["t"].groups_per_unit) == (1, 1)
    ones = load_policy(
        {"version": "1", "tables": {"t": {"unit": "rows", "max_rows": 1, "max_groups": 1, "columns": {}}}}
    )
    assert ones.unit("t").name is None


def test_a_unit_of_a_column_is_that_column() -> None:
    policy = load_policy(changed(lambda p: p.update(relation="substitute")))
    assert policy.unit("visits") == dp.Unit.column("zper", "substitute")
    table = policy.tables["visits"]
    assert (table.rows_per_unit, table.groups_per_unit) == (5, 1)
    wide = load_policy(with_table(max_groups=9)).tables["visits"]
    assert wide.groups_per_unit == 5, "no more groups than rows"
    assert load_policy(with_table(max_groups=None)).tables["visits"].groups_per_unit == 5


def test_a_policy_does_not_change() -> None:
    policy = load_policy(GOOD)
    with pytest.raises(Exception, match="frozen"):
        policy.version = "2"
    with pytest.raises(Exception, match="frozen"):
        policy.tables["visits"].max_rows = 100


def test_a_budget_without_a_delta_is_pure() -> None:
    for budget, loss in (
        ({"epsilon": "1/3"}, dp.pure("1/3")),
        ({"epsilon": 1, "delta": 0}, dp.pure(1)),
        ({"epsilon": 1, "delta": 1e-9}, dp.approx(1, 1e-9)),
        ({"rho": 0.5}, dp.rho(0.5)),
        ({"rho": 0.5, "delta": 1e-9}, dp.rho(0.5, 1e-9)),
    ):
        policy = load_policy(with_budget(**budget))
        assert policy.budget is not None
        assert policy.budget.loss() == loss


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        ({"epsilon": 0.3, "delta": "1e-6", "every": "month"}, "Budget(epsilon=0.3, delta=1e-06, every='month')"),
        ({"rho": "1/3"}, "Budget(rho='1/3')"),
        ({"mu": 2, "delta": 0}, "Budget(mu=2)"),
    ],
)
def test_a_budget_is_shown_as_it_is_written(budget: dict[str, Any], text: str) -> None:
    shown = load_policy({**GOOD, "budget": budget}).budget
    assert (repr(shown), str(shown)) == (text, text)
    assert eval(text, {"Budget": Budget}) == shown


def test_a_policy_is_shown_as_it_is_written() -> None:
    policy = load_policy(GOOD)
    assert eval(repr(policy), {"datetime": dt, **vars(dp.policy)}) == policy
    assert "Fraction" not in repr(policy)


@pytest.mark.parametrize(
    ("kind", "ends", "keys"),
    [
        ("int", {"from": -1, "to": 2}, (-1, 0, 1, 2)),
        ("int", {"from": 7, "to": 7}, (7,)),
        (
            "date",
            {"from": dt.date(2024, 2, 28), "to": "2024-03-01"},
            tuple(dt.date(2024, *d) for d in ((2, 28), (2, 29), (3, 1))),
        ),
    ],
)
def test_a_range_of_keys_is_its_values(kind: Any, ends: dict[str, Any], keys: tuple[Any, ...]) -> None:
    assert Column(type=kind, keys=cast("Any", ends)).keys == keys
    policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"k": {"type": kind, "keys": ends}}}}}
    assert (
        load_policy(policy).digest()
        == load_policy(
            {**policy, "tables": {"t": {"unit": "rows", "columns": {"k": {"type": kind, "keys": list(keys)}}}}}
        ).digest()
    )


@pytest.mark.parametrize(
    ("kind", "ends", "why"),
    [
        ("int", {"from": 2, "to": 1}, "goes up"),
        ("int", {"from": 1, "to": 10**9}, "at most 10,000 values"),
        ("int", {"from": 1}, "has from and to"),
        ("int", {"from": 1, "to": 3, "step": 2}, "has from and to"),
        ("int", {"from": False, "to": True}, "whole number to another"),
        ("int", {"from": 1, "to": 2.5}, "whole number to another"),
        ("date", {"from": "yesterday", "to": "2024-03-01"}, "Invalid isoformat"),
        ("string", {"from": 1, "to": 3}, "does not suit"),
        ("float", {"from": 1, "to": 3}, "cannot be grouped by"),
        (
            "timestamp",
            {"from": dt.datetime.fromisoformat("2024-01-01"), "to": dt.datetime.fromisoformat("2024-01-02")},
            "whole number to another",
        ),
    ],
)
def test_what_is_no_range_is_refused(kind: Any, ends: dict[str, Any], why: str) -> None:
    columns = {"k": {"type": kind, "keys": ends}}
    with pytest.raises(PolicyError, match=why):
        load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})


def test_bounds_may_be_dates_and_timestamps() -> None:
    day = Column(type="date", bounds=("2024-01-01", dt.date(2024, 12, 31)))
    assert Field.from_column(day).bounds == (19_723, 20_088)
    assert day.number_bounds is None
    assert column_to_toml("d", day) == 'd = { type = "date", bounds = [2024-01-01, 2024-12-31] }'
    moment = Column(type="timestamp", bounds=("1969-12-31T23:59:59", "1970-01-01"))
    assert Field.from_column(moment).bounds == (-1_000_000, 86_400 * 10**6 - 1)
    assert tomllib.loads(column_to_toml("t", moment))["t"]["bounds"] == list(moment.bounds or ())
