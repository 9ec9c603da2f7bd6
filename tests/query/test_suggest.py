"""Suggestions: public cells, what they cost, what they find, and what they refuse."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import tomllib
from contextlib import closing
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import Suggestion, draw, plan_suggestion
from discreet.query.suggest._choose import _exceeded, choose_bounds, choose_cap
from discreet.query.suggest._ladder import Ladder, cap_ladder, value_ladder

SURE = dp.pure(10_000)


def policy(kind: str = "int", *, relation: str = "add_remove", unit: Any = None, **column: Any) -> Any:
    about = {"unit": "rows"} if unit is None else unit
    columns = {"x": {"type": kind, **column}}
    budget = {"epsilon": 10**6, "delta": "0.5"}
    return load_policy(
        {"version": "1", "relation": relation, "budget": budget, "tables": {"t": {**about, "columns": columns}}}
    )


PEOPLE = {"unit": "u", "max_rows": 2}


def suggest(values: Any, facts: Any, spend: Any = SURE, **options: Any) -> Suggestion:
    with dp.connect({"t": values if isinstance(values, pa.Table) else pa.table({"x": values})}, facts) as session:
        return session.suggest("t", "x", spend, **options)


def counts(table: pa.Table, facts: Any, *, keys: bool = False, spend: Any = SURE) -> list[dict[Any, tuple[int, ...]]]:
    """The exact counts of each part: sums by cell, or units by key."""
    plan = plan_suggestion(facts, "t", "x", spend, keys=keys)
    with closing(DuckDB({"t": table}, facts)) as engine:
        runs = [engine.run(level.bounded, bytes(16)) for level in plan.levels]
    return [{group.key[0]: group.sums or (group.units,) for group in groups} for groups in runs]


def cell_by_hand(ladder: Ladder, value: float) -> int:
    """Which cell a number is in, by the words of `Ladder`, with ends as the doubles or integers nearest to them."""
    kind = int if ladder.integer else float
    least = kind(ladder.least)
    for i, (below, above) in enumerate(itertools.pairwise(map(kind, ladder.ends))):
        if i == ladder.zero:
            inside = abs(value) <= least
        elif above > 0:
            inside = value <= above and (value > below if below or ladder.zero is None else value > least)
        else:
            inside = value >= below and (value < above if above or ladder.zero is None else value < -least)
        if inside:
            return i
    return 0 if value <= kind(ladder.ends[0]) else ladder.cells - 1


HOSTILE = [
    *(0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324, 1e-15, 1.1e-15, -1e-15, 1e18, 1e300, -1e300),
    *(1.0, -1.0, 1.2, 1.2000000000000002, -1.2, 2.5, 99999.0, 1e5, 1e5 + 1e-6, -80.0, -80.00000001, 7.0, 8.0),
]


@pytest.mark.parametrize("bounds", [None, (0, 100), (-3, 0), (2, 7), (-9, -5), ("-0.7", "1/3")], ids=str)
def test_every_value_is_in_the_cell_that_the_ladder_says(bounds: Any) -> None:
    facts = policy("float", **({} if bounds is None else {"bounds": bounds}))
    (found,) = counts(pa.table({"x": [*HOSTILE, math.nan, None]}), facts)
    declared = facts.tables["t"].columns["x"].bounds
    ladder = value_ladder(declared, integer=False)
    wanted: dict[int, int] = {}
    for value in HOSTILE:
        if declared is not None:
            value = min(max(value, float(declared[0])), float(declared[1]))  # noqa: PLW2901 - as clamping would
        cell = cell_by_hand(ladder, value)
        wanted[cell] = wanted.get(cell, 0) + 1
    assert {cell: n for cell, (n,) in found.items() if n} == wanted


def test_whole_numbers_are_compared_exactly() -> None:
    values = [2**63 - 1, -(2**63), 8 * 10**18, 8 * 10**18 + 1, 0, 1, -1, 7, 3 * 10**17, 3 * 10**17 + 1]
    (found,) = counts(pa.table({"x": [*values, None]}), policy())
    ladder = value_ladder(None, integer=True)
    assert {cell for cell, (n,) in found.items() if n} == {cell_by_hand(ladder, value) for value in values}


def test_ladders_are_rising_and_round() -> None:
    for ladder in (value_ladder(None, integer=True), value_ladder(None, integer=False), cap_ladder()):
        ends = list(ladder.ends)
        assert ends == sorted(ends)
        assert all(
            len(f"{float(abs(end)):.1e}".rstrip("0")) and float(f"{float(end):.1e}") == float(end) for end in ends
        )
    assert (value_ladder(None, integer=True).cells, value_ladder(None, integer=False).cells) == (377, 661)
    wide = value_ladder((Fraction(-(10**100)), Fraction(10) ** 100), integer=False)
    assert wide.ends[0] == -(10**100)
    assert wide.least == Fraction(10) ** 67


TABLES = [[], [(1, 5), (1, -5), (1, 5), (2, None), (3, 5)]]


@pytest.mark.parametrize("keys", [False, True], ids=["bounds", "keys"])
def test_norms_are_those_of_neighbours_by_brute_force(keys: bool) -> None:
    """Every way to give person 9 up to three rows, and as many others in their place, beside each small table."""
    spend, about = dp.approx(1, "0.01"), {"unit": {**PEOPLE, "max_groups": 1}, "bounds": [-100, 100]}
    own = [(), (5, 5), (-70, -70, -70), (5, -70)]
    runs: list[list[Any]] = []
    for rows in TABLES:
        near = [[*rows, *((9, value) for value in values)] for values in own]
        made = [pa.table({"u": [u for u, _ in t], "x": pa.array([x for _, x in t], pa.int64())}) for t in near]
        runs.append([counts(table, policy(**about), keys=keys, spend=spend) for table in made])
    for relation in ("add_remove", "substitute"):
        plan = plan_suggestion(policy(relation=relation, **about), "t", "x", spend, keys=keys)
        worst = [(0, 0)] * len(plan.levels)
        for here in runs:
            added = ((here[0], run) for run in here[1:])
            for one, other in itertools.combinations(here, 2) if relation == "substitute" else added:
                for i, (a, b) in enumerate(zip(one, other, strict=True)):
                    moves = [abs(a.get(cell, (0,))[0] - b.get(cell, (0,))[0]) for cell in a.keys() | b.keys()]
                    worst[i] = max(worst[i][0], sum(moves)), max(worst[i][1], sum(move * move for move in moves))
        for level, (l1, l2_squared) in zip(plan.levels, worst, strict=True):
            if level.norms:
                assert (l1, l2_squared) == (level.norms[0].l1, level.norms[0].l2_squared)
            else:
                assert level.noise is not None
                assert level.noise.selection is not None
                assert l1 <= level.noise.selection.keys == (2 if relation == "substitute" else 1)


@pytest.mark.parametrize(
    "spend",
    [dp.pure(1), dp.approx(1, "0.001"), dp.rho("0.5"), dp.rho("0.5", "0.001"), dp.mu(1), dp.mu(1, "0.001")],
    ids=str,
)
def test_the_parts_add_up_to_the_spend(spend: Any) -> None:
    with_delta = dp.privacy.budget_of(spend)[1][1:] not in ((), (0,))
    for unit, keys in itertools.product((None, PEOPLE), (False, True)):
        if keys and not with_delta:
            with pytest.raises(dp.ParameterError, match="delta"):
                plan_suggestion(policy(unit=unit), "t", "x", spend, keys=True)
            continue
        loss = plan_suggestion(policy(unit=unit), "t", "x", spend, keys=keys).loss
        charged, asked = (dp.privacy.budget_of(each)[1] for each in (loss, spend))
        assert charged[0] == asked[0]
        assert sum(charged[1:]) == (sum(asked[1:]) if keys else 0)


@pytest.mark.parametrize("budget", [{"epsilon": 9}, {"epsilon": 9, "delta": "0.01"}, {"rho": 9}, {"mu": 9}], ids=str)
def test_it_is_charged_once_and_repeated_for_free(budget: dict[str, Any], tmp_path: Any) -> None:
    facts = {**policy().model_dump(exclude={"budget"}), "budget": budget}
    facts["tables"]["t"] = {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 99]}}}
    spend = dp.rho(1) if "rho" in budget else dp.mu(1) if "mu" in budget else dp.pure(1)
    table = pa.table({"x": [1, 2, 3] * 500})
    with dp.connect({"t": table}, facts, tmp_path / "a.ledger") as session:
        first = session.suggest("t", "x", spend)
        left = session.remaining
        assert session.suggest("T", "X", spend) == first
        assert session.remaining == left
        spent, asked = (dp.privacy.budget_of(each)[1][0] for each in (session.spent, spend))
        assert spent == asked
    with dp.connect({"t": table.slice(0, 3)}, facts, tmp_path / "a.ledger") as session:
        assert session.suggest("t", "x", spend) == first, "it is stored whole"
        with pytest.raises(dp.BudgetExceeded):
            session.suggest("t", "x", spend * 100)
        assert session.remaining == left


def test_it_is_reserved_before_the_engine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.connect({"t": pa.table({"x": [1]})}, policy()) as session:
        spent: list[Any] = []
        run = DuckDB.run

        def watched(self: DuckDB, *arguments: Any) -> Any:
            spent.append(session.spent)
            return run(self, *arguments)

        monkeypatch.setattr(DuckDB, "run", watched)
        session.suggest("t", "x", dp.pure(1))
    assert spent == [dp.approx(1, 0)] or spent == [dp.pure(1)]


FOUND = [
    ("int", np.arange(4_000) % 73 + 17, (15, 100)),
    ("int", [0] * 900, (0, 1)),
    ("decimal", ["1.5", "2.5", "x"] * 900, (Fraction(6, 5), Fraction(5, 2))),
    ("int", -(np.arange(4_000) % 73 + 17), (-100, -15)),
    ("int", [7] * 900, (6, 8)),
    ("int", [2**63 - 1] * 900, (8 * 10**18, 10**19)),
    ("float", [math.inf] * 900, (8 * 10**17, 10**18)),
]


@pytest.mark.parametrize(
    ("kind", "values", "bounds"),
    [pytest.param(*each, marks=[pytest.mark.soak] if i > 2 else [], id=str(i)) for i, each in enumerate(FOUND)],
)
def test_bounds_are_found_without_noise(kind: str, values: Any, bounds: Any) -> None:
    assert suggest(values, policy(kind)).bounds == bounds


@pytest.mark.soak
def test_bounds_of_tails_are_found_without_noise() -> None:
    bounds = suggest(np.random.default_rng(3).normal(0, 1, 5_000), policy("float")).bounds
    assert bounds is not None and bounds[1] in (3, 4, 5)


@pytest.mark.parametrize("values", [[], [None] * 50, [3]], ids=str)
def test_nothing_stands_out_of_too_few_rows(values: Any) -> None:
    """Noise passes for rows in one run of 1,000 at most: five times of nine with probability below 1e-12."""
    facts = policy()
    plan = plan_suggestion(facts, "t", "x", dp.pure("0.00001"))
    (level,) = plan.levels
    assert level.noise is not None
    with closing(DuckDB({"t": pa.table({"x": pa.array(values, pa.int64())})}, facts)) as engine:
        exact = engine.run(level.bounded, bytes(16))
    noisy = [[draw(exact, level.bounded, level.noise)] for _ in range(9)]
    assert [plan.finish(each, facts).bounds for each in noisy].count(None) >= 5


def test_declared_bounds_are_only_tightened() -> None:
    found = suggest([1, 2, 500, 7_000] * 500, policy(bounds=[3, 600])).bounds
    assert found == (3, 600)
    assert suggest([20, 30, 40] * 500, policy(bounds=[3, 600])).bounds == (15, 40)
    assert suggest([0] * 500, policy("float", bounds=["-0.5", "0.25"])).bounds == (0, Fraction(1, 4))


NARROW = ["0.99999999999999999999", 5]
CLOSE = ["99.9999999999999999999", "100.00000000000000000001"]


@pytest.mark.parametrize(
    ("bounds", "value"), [(NARROW, 0.0), (NARROW, 9.0), (CLOSE, 1.0), (CLOSE, 101.0), (["-1e-100", "1e100"], 0.5)]
)
def test_declared_bounds_that_no_double_tells_apart_are_no_trouble(bounds: Any, value: float) -> None:
    """Ends that are equal as doubles, and widths whose ratio has a square that none holds: not an error after noise."""
    facts = policy("float", bounds=bounds)
    low, high = map(Fraction, bounds)
    found = suggest([value] * 500, facts).bounds
    assert found is not None
    assert low <= found[0] < found[1] <= high
    assert found[0] <= min(max(Fraction(value), low), high) <= found[1]


def people(rows: list[int], values: Any = None) -> pa.Table:
    owners = [person for person, n in enumerate(rows) for _ in range(n)]
    return pa.table({"u": owners, "x": values or [owner % 50 + 1 for owner in owners]})


def test_caps_are_found_beyond_the_present_one() -> None:
    found = suggest(people([4] * 300), policy(unit=PEOPLE))
    assert (found.max_rows, found.max_groups) == (4, None)
    assert found.bounds == (1, 50)


def test_one_person_with_very_many_rows_moves_nothing() -> None:
    crowd, heavy = people([2] * 400), people([2] * 400 + [50_000])
    heavy = heavy.set_column(1, "x", pa.array([9] * heavy.num_rows))
    crowd = crowd.set_column(1, "x", pa.array([9] * crowd.num_rows))
    for one, other in zip(counts(crowd, policy(unit=PEOPLE)), counts(heavy, policy(unit=PEOPLE)), strict=True):
        assert sum(abs(one.get(cell, (0,))[0] - other.get(cell, (0,))[0]) for cell in one | other) <= 2


def test_keys_and_both_caps_of_a_text() -> None:
    table = people([3] * 200, ["a b", '"quoted"', "Łódź"] * 200)
    found = suggest(table, policy("string", unit={"unit": "u", "max_rows": 3}), dp.approx(1000, "0.1"))
    assert found.keys == ('"quoted"', "a b", "Łódź")
    assert (found.bounds, found.max_rows, found.max_groups) == (None, 3, 3)
    column = tomllib.loads(found.to_toml())["tables"]["t"]
    assert column["max_groups"] == 3
    assert tuple(column["columns"]["x"]["keys"]) == found.keys


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("date", [dt.date(2024, 1, 31), dt.date(1, 1, 1), None]),
        (
            "timestamp",
            [dt.datetime.fromisoformat("2024-01-31T12:30:01.000005"), dt.datetime.fromisoformat("1999-01-01")],
        ),
        ("string", ["\x7f\u2028\t", "", "'; --", None]),
    ],
)
def test_keys_survive_the_ledger_and_toml(kind: str, values: list[Any]) -> None:
    found = suggest(values * 300, policy(kind), dp.approx(1000, "0.1"))
    assert found.keys == tuple(sorted(value for value in values if value is not None))
    assert Suggestion.from_bytes(found.to_bytes()) == found
    text = 'version = "1"\n' + found.to_toml().replace("[tables", '[tables.t]\nunit = "rows"\n[tables', 1)
    assert load_policy(tomllib.loads(text)).tables["t"].columns["x"].keys == found.keys


def test_int_keys_when_asked_for() -> None:
    assert suggest([-5, 0, 25] * 300, policy(), dp.approx(1000, "0.1"), keys=True).keys == (-5, 0, 25)


def test_rare_keys_are_not_shown() -> None:
    """One person's key is shown with probability δ = 1e-12 at most."""
    found = suggest(["common"] * 5_000 + ["secret"], policy("string"), dp.approx(1, 1e-12))
    assert found.keys == ("common",)


def test_paths_lead_to_the_person() -> None:
    facts = load_policy(
        {
            "version": "1",
            "budget": {"epsilon": 10**6},
            "tables": {
                "orders": {"unit": "who", "max_rows": 9, "columns": {}},
                "items": {"unit": "order_id -> orders.id", "max_rows": 6, "columns": {"price": {"type": "float"}}},
            },
        }
    )
    orders = pa.table({"id": list(range(600)), "who": [i // 2 for i in range(600)]})
    items = pa.table({"order_id": [i // 3 for i in range(1_800)], "price": [10.0 + i % 30 for i in range(1_800)]})
    with dp.connect({"orders": orders, "items": items}, facts) as session:
        found = session.suggest("items", "price", SURE)
    assert (found.bounds, found.max_rows) == ((10, 40), 6) or (found.bounds, found.max_rows) == ((8, 40), 6)


REFUSED = [
    ("nowhere", "x", {}, dp.QueryError, "has no table nowhere"),
    ("t", "y", {}, dp.QueryError, "t has no column y"),
    (None, "x", {}, dp.QueryError, "as texts"),
    ("t", 3, {}, dp.QueryError, "as texts"),
    ("t", "u", {}, dp.QueryError, "whose a row is"),
    ("t", "flag", {}, dp.QueryError, "groups are public"),
    ("t", "known", {}, dp.QueryError, "public keys in the policy already"),
    ("t", "f", {"keys": True}, dp.QueryError, "no keys"),
    ("pub", "x", {}, dp.QueryError, "public"),
    ("t", "s", {}, dp.ParameterError, "delta"),
]


@pytest.mark.parametrize(("table", "column", "options", "error", "message"), REFUSED)
def test_what_is_refused_is_refused_by_the_policy(
    table: str, column: str, options: Any, error: type[Exception], message: str
) -> None:
    columns = {
        "flag": {"type": "bool"},
        "known": {"type": "string", "keys": ["a"]},
        "f": {"type": "float"},
        "s": {"type": "string"},
    }
    tables = {
        "t": {**PEOPLE, "columns": columns},
        "pub": {"public": True, "columns": {"x": {"type": "int"}}},
    }
    facts = load_policy({"version": "1", "budget": {"epsilon": 1}, "tables": tables})
    with pytest.raises(error, match=message):
        plan_suggestion(facts, table, column, dp.pure(1), **options)
    with pytest.raises(dp.ParameterError):
        plan_suggestion(facts, "t", "f", 0.5)  # type: ignore[arg-type]


def test_it_can_be_shown() -> None:
    found = Suggestion("t", "<x>\x1b", "string", None, tuple("abcdefghijklmnopqrstuvwxyz"), 4, 2, dp.pure(1), {})
    assert "and 6 more" in repr(found)
    assert "\x1b" not in repr(found) + found._repr_html_()
    assert "<x>" not in found._repr_html_()
    nothing = Suggestion("t", "x", "int", None, None, None, None, dp.pure(1), {})
    assert "too few rows" in repr(nothing)
    assert tomllib.loads(nothing.to_toml()) == {"tables": {"t": {"columns": {"x": {"type": "int"}}}}}
    for payload in (b"", b"{}", b"[]", b'{"format": 2}', found.to_bytes()[:-9]):
        with pytest.raises(dp.LedgerError):
            Suggestion.from_bytes(payload)


@pytest.mark.parametrize("bounds", [(Fraction(1, 3), Fraction(10) ** 19), (-Fraction(12, 10**16), Fraction(10) ** 90)])
def test_bounds_are_written_exactly(bounds: Any) -> None:
    found = Suggestion("t", "x", "float", bounds, None, None, None, dp.pure(1), {})
    from decimal import Decimal

    read = tomllib.loads(found.to_toml(), parse_float=Decimal)["tables"]["t"]["columns"]["x"]["bounds"]
    assert policy("float", bounds=read).tables["t"].columns["x"].bounds == bounds
    assert Suggestion.from_bytes(found.to_bytes()) == found


@pytest.mark.parametrize("noise", [dp.mechanisms.DiscreteLaplace(20), dp.mechanisms.Gaussian(20)], ids=str)
@pytest.mark.parametrize("cells", [1, 4, 16])
def test_noise_exceeds_what_it_is_said_to(noise: Any, cells: int) -> None:
    """Of 20,000 sums, wrong with probability below 1e-9 by Hoeffding: 3.3 % about 2 %, the approximation included."""
    sums = np.array(noise.release([0] * (20_000 * cells))).reshape(-1, cells).sum(axis=1)
    assert abs(np.mean(sums > _exceeded(noise, cells, 0.02)) - 0.02) < 0.025


def test_choices_depend_on_noisy_counts_alone() -> None:
    ladder, caps = value_ladder(None, integer=True), cap_ladder()
    noise = dp.mechanisms.DiscreteLaplace(10)
    for extreme in (0.0, -1e30, 1e30, 1e-300):
        counts_of = np.full(ladder.cells, extreme)
        bounds = choose_bounds(counts_of, ladder, noise, Fraction(1))
        assert bounds is None or bounds[0] < bounds[1]
        cap = choose_cap(np.full(caps.cells, extreme), caps, noise, Fraction(1))
        assert cap is None or 1 <= cap <= 10**6
