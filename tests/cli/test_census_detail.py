"""`discreet census detail`: the plan for nothing, the release once, and refusals that name the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet import census

pytestmark = pytest.mark.usefixtures("one_database")

SPEC = """table = "visits"
chance = 0.5

[groups]
column = "region"
most = 2
codes = ["north", "south", "west"]

[geography]
areas = { city = ["Bern", "Ulm"] }
levels = ["city"]

[detail.by_day]
from = 40
columns = ["day"]
"""
PLAN = ("census", "detail", "groups.toml", "--policy", "visits.toml", "--epsilon", "1")
PUBLISH = (*PLAN, "--data", "visits.parquet", "--ledger", "visits.ledger")


@pytest.fixture(autouse=True)
def spec(cli: Any) -> None:
    del cli
    Path("groups.toml").write_text(SPEC)


def test_a_plan_spends_nothing(cli: Any) -> None:
    assert "discreet census" in cli("census", "detail", "--help").out
    done = cli(*PLAN)
    assert done.code == 0 and "20% above the threshold" in done.out
    words = cli(*PLAN, "--explain", "--plot", "errors.json").out
    assert "a person is a value of person, in at most 2 groups, and once in each" in words
    assert Path("errors.json").exists()
    plan = cli(*PLAN, "--format", "json").json
    assert [each["stage"] for each in plan["measured"]] == ["totals", "detail"] * 2
    assert plan["details"][0]["threshold"] == 40 and plan["groups_per_row"] == 2
    assert not Path("visits.ledger").exists()


def test_a_release_is_paid_once_and_loaded_again(cli: Any) -> None:
    done = cli(*PUBLISH, "-o", "made.json")
    assert done.code == 0 and "3 groups of visits, at most 2 of one person" in done.out
    rows = cli(*PUBLISH, "-o", "again.json", "--format", "json").json["rows"]
    assert Path("again.json").read_bytes() == Path("made.json").read_bytes()
    assert len(rows) == 6 and {row["group"] for row in rows} == {"north", "south", "west"}
    assert census.load_detail("made.json").totals("city").to_pylist() == rows
    assert cli("verify", "made.json", "--ledger", "visits.ledger").code == 0
    assert "already" in cli(*PUBLISH, "-o", "again.json").err
    assert "-o FILE" in cli(*PUBLISH).err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("most = 2", "most = 3", "groups.most: the policy has at most 2 rows"),
        ("from = 40", "from = 0", "groups.toml, line 14: detail.by_day.from: a threshold is"),
        ('["day"]', '["city"]', "groups.toml, line 15: detail.by_day.columns: city names areas"),
        ("chance = 0.5", "chance = 2", "groups.toml, line 2: chance: a probability"),
        ("chance = 0.5", "luck = 0.5", "groups.toml, line 2: luck: unknown key"),
        ("chance = 0.5", "", "take a threshold of"),
        ('codes = ["north"', 'codes = [1, "north"', "groups.toml, line 7: groups.codes"),
    ],
)
def test_bad_specifications_are_refused_before_any_charge(cli: Any, old: str, new: str, words: str) -> None:
    Path("groups.toml").write_text(SPEC.replace(old, new))
    done = cli(*PUBLISH, "-o", "made.json")
    assert done.code != 0 and words in " ".join(done.err.split())
    assert not Path("visits.ledger").exists() and not Path("made.json").exists()


def test_without_a_spend_it_says_how_to_give_one(cli: Any) -> None:
    assert "--rho R" in cli(*PLAN[:-2]).err
