"""Rules of people with all their rows: every row of every table keeps those of its table."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from random_rules import TYPES, Case, broken, random_case, wrong_value

import discreet as dp
from discreet import synth
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.synth.related import _keeping

pytestmark = pytest.mark.usefixtures("one_database")
PEOPLE = 400
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 100},
    "tables": {
        "persons": {
            "unit": "person",
            "max_rows": 1,
            "columns": {
                "grade": {"type": "string", "keys": ["a", "b", "c"], "nullable": False},
                "level": {"type": "int", "bounds": [1, 9]},
            },
        },
        "stays": {
            "unit": "person",
            "max_rows": 4,
            "columns": {
                "year": {"type": "int", "bounds": [1, 6], "nullable": False},
                "nights": {"type": "int", "bounds": [0, 30], "nullable": False},
                "cost": {"type": "int", "bounds": [0, 900]},
            },
        },
    },
}
LEVELS = {"a": 1, "b": 4, "c": 9}
RULES: dict[str, list[Any]] = {
    "persons": [synth.Follows("level", "grade", LEVELS)],
    "stays": ["nights > 0 OR cost = 0", "cost <= 100 * nights", "year > 2 OR nights < 9"],
}
HISTORIES = {"stays": synth.History(order="year", repeats=False)}


def tables() -> dict[str, pa.Table]:
    """Stays that break all rules, of people whose level is another one."""
    dice = np.random.default_rng(1)
    person = np.repeat(np.arange(PEOPLE), dice.integers(0, 5, PEOPLE))
    return {
        "persons": pa.table({
            "person": np.arange(PEOPLE), "grade": dice.choice(list(LEVELS), PEOPLE), "level": [5] * PEOPLE,
        }),
        "stays": pa.table({
            "person": person,
            "year": dice.integers(1, 7, person.size),
            "nights": dice.integers(0, 31, person.size),
            "cost": pa.array(dice.integers(0, 901, person.size), mask=dice.random(person.size) < 0.1),
        }),
    }  # fmt: skip


def fitted(rules: Any = None, histories: Any = HISTORIES, tier: Any = "best") -> synth.SyntheticTables:
    with dp.connect(tables(), POLICY) as session:
        return synth.fit_tables(
            session, ["stays", "persons"], dp.pure(20), tier=tier, histories=histories, rules=rules or RULES
        )


@pytest.mark.parametrize("histories", [None, HISTORIES], ids=["rows alone", "histories"])
@pytest.mark.parametrize("tier", ["instant", "best"])
def test_every_row_of_every_table_keeps_the_rules_of_its_table(histories: Any, tier: str) -> None:
    model = fitted(histories=histories, tier=tier)
    rows = model.sample(people=500)
    for rule in RULES["stays"]:
        assert broken(rule, rows["stays"]) == 0
    grades, levels = rows["persons"]["grade"].to_pylist(), rows["persons"]["level"].to_pylist()
    assert levels == [LEVELS[grade] for grade in grades]
    assert rows["persons"]["person"].to_pylist() == list(range(1, 501))
    assert set(rows["stays"]["person"].to_pylist()) <= set(range(1, 501))
    assert rows["stays"].num_rows > 100 and len(set(rows["stays"]["year"].to_pylist())) > 3
    if histories:
        places = list(zip(rows["stays"]["person"].to_pylist(), rows["stays"]["year"].to_pylist(), strict=True))
        assert len(set(places)) == len(places)
    again = synth.SyntheticTables.from_bytes(model.to_bytes())
    assert all(again.sample(people=500)[name].equals(table) for name, table in rows.items())
    assert model.policy()["tables"]["persons"]["columns"]["level"]["keys"] == list(LEVELS.values())


def test_people_without_rows_of_a_table_stay() -> None:
    """Rules do not make people who have no stays rarer: those have no row that could break one."""
    rows = fitted(histories=None).sample(people=2000)
    with_stays = len(set(rows["stays"]["person"].to_pylist()))
    assert 0.6 < with_stays / 2000 < 0.95


def test_rules_are_of_the_question() -> None:
    with dp.connect(tables(), POLICY) as session:
        names = ["stays", "persons"]
        first = synth.fit_tables(session, names, dp.pure(20), tier="instant", rules={"stays": ["cost < 500"]})
        before = session.remaining
        again = synth.fit_tables(session, names, dp.pure(20), tier="instant", rules={"STAYS": ["cost < 500"]})
        assert session.remaining == before and again.digest() == first.digest()
        other = synth.fit_tables(session, names, dp.pure(20), tier="instant", rules={"stays": ["cost < 501"]})
        assert session.remaining != before and other.certificate["plan"] != first.certificate["plan"]
        assert synth.plan_tables(session, names, dp.pure(20), rules=RULES).rules == (
            "persons: level follows from grade", *(f"stays: {rule}" for rule in RULES["stays"]),
        )  # fmt: skip


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"stays": ["cost < 0"]}, {}, "nothing satisfies the rule 'cost < 0'"),
    ({"stays": ["nights > 20", "nights < 10"]}, {}, "nothing satisfies all rules together"),
    ({"stays": ["grade = 'a'"]}, {}, "grade"),
    ({"visits": ["cost > 0"]}, {}, "no table visits"),
    ({"stays": "cost > 0"}, {}, "rules is a list"),
    ({"stays": [synth.Soft("cost > 0")]}, {}, "for a table that is fitted alone"),
    ({"persons": [synth.Total(9)]}, {}, "for a table that is fitted alone"),
    ({"stays": [synth.Follows("cost", "year", {})]}, {"constant": ["cost"]}, "leave it out of the history"),
    ({"stays": [synth.Follows("year", "nights", {})]}, {"order": "year"}, "leave it out of the history"),
    ({"stays": [synth.Follows("cost", "year", {1: 1})]}, {}, "cost"),
]


@pytest.mark.parametrize(("rules", "history", "words"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_cannot_be_kept_is_refused_before_the_charge(rules: Any, history: Any, words: str) -> None:
    with dp.connect(tables(), POLICY) as session:
        before = session.remaining
        histories = {"stays": synth.History(**history)} if history else None
        with pytest.raises((ParameterError, QueryError), match=words):
            synth.fit_tables(session, ["stays", "persons"], dp.pure(1), histories=histories, rules=rules)
        assert session.remaining == before


def test_where_few_people_keep_the_rules_there_are_copies_and_where_none_does_rows_of_the_rules_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = fitted(rules={"persons": ["grade <> 'a'"], "stays": ["nights > 0"]}, histories=None)
    monkeypatch.setattr(_keeping, "_ANEW", 0)
    copies = model.sample(people=300)
    assert copies["persons"].num_rows == 300 and broken("nights > 0", copies["stays"]) == 0
    assert copies["persons"]["person"].to_pylist() == list(range(1, 301))

    def none(conditions: Any, rows: pa.Table) -> Any:
        return np.zeros(rows.num_rows, bool)

    monkeypatch.setattr(_keeping, "rows_that_keep", none)
    alone = model.sample(people=300)
    assert alone["persons"].num_rows == 300 and broken("grade <> 'a'", alone["persons"]) == 0
    assert alone["stays"].num_rows == 0 and alone["stays"].schema == copies["stays"].schema


def test_files_with_other_rules_are_refused() -> None:
    model = fitted(tier="instant")
    content = model.to_dict()
    for wrong in (
        {"hard": ["height > 0"], "soft": [], "follows": [], "totals": []},
        {"hard": [], "soft": [["cost > 0", 1.0]], "follows": [], "totals": []},
        {"hard": [], "soft": [], "follows": [], "totals": [[9, None]]},
        {"hard": ["cost > (SELECT 1)"], "soft": [], "follows": [], "totals": []},
        {},
    ):
        shapes = [*content["shapes"][:-1], {**content["shapes"][-1], "rules": wrong}]
        with pytest.raises(LedgerError):
            synth.SyntheticTables.from_bytes(_json({**content, "shapes": shapes}))
    restored = synth.SyntheticTables.from_bytes(_json(content))
    assert restored.digest() == model.digest()
    other = replace(model, shapes=(model.shapes[0], replace(model.shapes[1], rules=model.shapes[0].rules)))
    assert other.digest() != model.digest()


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


def of_people(dice: random.Random, case: Case) -> tuple[dict[str, pa.Table], dict[str, Any], synth.History]:
    """The rows of a case as those of people, and a history where some column can be its order."""
    most = dice.randint(2, 4)
    owner = [dice.randrange(len(case.rows) // most) for _ in case.rows]
    policy = {
        "version": "1",
        "budget": {"rho": 100_000},
        "tables": {"t": {"unit": "who", "max_rows": most, "columns": case.columns}},
    }
    table = case.table.append_column("who", pa.array(owner))
    orders = [name for name, each in case.columns.items() if each["type"] in ("int", "date") and "bounds" in each]
    if not orders or dice.random() < 0.4:
        constant = [name for name in case.columns if dice.random() < 0.3]
        return {"t": table}, policy, synth.History(constant=constant)
    order = dice.choice(orders)
    constant = [name for name in case.columns if name != order and dice.random() < 0.3]
    return {"t": table}, policy, synth.History(order=order, constant=constant, repeats=dice.random() < 0.5)


def fit_or_none(session: Any, tier: Any, history: synth.History, rules: list[str]) -> synth.SyntheticTables | None:
    """None where nothing satisfies the rules, which costs nothing."""
    before = session.remaining
    try:
        return synth.fit_tables(session, ["t"], dp.rho(1_000), tier=tier, histories={"t": history}, rules={"t": rules})
    except (ParameterError, QueryError) as error:
        if "nothing satisfies" in str(error) and session.remaining == before:
            return None
        raise


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(4 * 3600)])])
def test_random_people_and_rules(first: int) -> None:
    """The soak asks 500 of them."""
    asked, refused = (500, 0) if first else (6, 0)
    for number in range(asked):
        dice = random.Random(7_000_000 + 1_000 * first + number)
        case = random_case(dice)
        source, policy, history = of_people(dice, case)
        tier: Any = dice.choice(["instant", "best"])
        with dp.connect(source, policy) as session:
            model = fit_or_none(session, tier, history, case.rules)
        if model is None:
            refused += 1
            continue
        rows = model.sample(people=200)["t"]
        assert set(rows["who"].to_pylist()) == set(range(1, 201)), number
        for rule in case.rules:
            assert broken(rule, rows) == 0, (number, rule)
        for name, column in case.columns.items():
            stated = rows.schema.field(name).type
            assert stated == TYPES[column["type"]] or pa.types.is_decimal(stated), (number, name)
            assert not [value for value in rows[name].to_pylist() if wrong_value(column, value)], (number, name)
    assert refused < asked / 3
