"""`discreet census`: plan, publish, show and area; refusals are one line, name the line, and cost nothing."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from discreet import census

pytestmark = pytest.mark.usefixtures("one_database")

SPEC = """table = "visits"

[geography]
areas = "areas.csv"
levels = ["side", "region"]
root = "country"

[tables]
total = []

[shares]
country = 1
side = 1
region = 2
"""
SOURCES = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")


@pytest.fixture(autouse=True)
def spec(cli: Any) -> None:
    del cli
    Path("country.toml").write_text(SPEC)
    with Path("areas.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("side", "region"), ("low", "north"), ("low", "south"), ("high", "west")])


def test_help_teaches(cli: Any) -> None:
    for verb in ("plan", "publish", "show", "area"):
        done = cli("census", verb, "--help")
        assert done.code == 0 and "discreet census" in done.out


def test_a_plan_spends_nothing(cli: Any) -> None:
    done = cli("census", "plan", "country.toml", "--policy", "visits.toml", "--rho", "0.1")
    assert done.code == 0 and "half-width of one cell" in done.out
    words = cli("census", "plan", "country.toml", "--policy", "visits.toml", "--epsilon", "1", "--explain").out
    assert "for 6 areas at 3 levels" in words and "a person is a value of person" in words
    plan = cli("census", "plan", "country.toml", "--policy", "visits.toml", "--rho", "0.1", "--format", "json").json
    assert [each["share"] for each in plan["measured"]] == [0.25, 0.25, 0.5] and plan["areas"] == [1, 2, 3]
    assert not Path("visits.ledger").exists()


def test_a_publication_is_paid_once_shown_and_verified(cli: Any) -> None:
    options = ("census", "publish", "country.toml", *SOURCES, "--epsilon", "1")
    done = cli(*options, "-o", "country")
    assert done.code == 0 and "in country" in done.out
    again = cli(*options, "-o", "again")
    assert again.code == 0
    assert Path("again/publication.json").read_bytes() == Path("country/publication.json").read_bytes()
    assert "already" in cli(*options, "-o", "again").err
    loaded = census.load("country")
    total = loaded.total(areas=["low"])
    area = cli("census", "area", "country", "side:low", "--format", "json").json
    assert area["value"] == total.value and area["unbiased"] == total.unbiased
    assert f"published {total.value:,}" in cli("census", "area", "country", "north", "south").out
    assert "none may lie in another" in cli("census", "area", "country", "low", "north").err
    rate = cli("census", "area", "country", "north", "--population", "250", "--per", "10", "--format", "json").json
    assert rate["value"] == pytest.approx(loaded.total(areas=["north"]).value / 25) and rate["per"] == 10
    assert "per 100,000" in cli("census", "area", "country", "north", "--population", "250").out
    assert "above 0" in cli("census", "area", "country", "north", "--population", "-1").err
    shown = cli("census", "show", "country", "--table", "total", "--by", "region", "--format", "json").json
    assert [row["region"] for row in shown["rows"]] == ["west", "north", "south"]
    assert "bend" in cli("census", "show", "country", "--plot", "sizes.json", "--draw", "sizes").out
    assert Path("sizes.json").exists()
    checked = cli("verify", "country/publication.json", "--ledger", "visits.ledger")
    assert checked.code == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("side = 1\n", "village = 1\n", "country.toml, line 13: shares.village: there is no such level"),
        ('levels = ["side", "region"]', "", "country.toml, line 3: geography.levels: is missing"),
        ('"areas.csv"', '"nowhere.csv"', "nowhere.csv"),
        ("total = []", 'total = "all"', "country.toml, line 9: tables.total: give a list of columns"),
        ('table = "visits"', 'table = "visits"\nextra = 1', "country.toml, line 2: extra: unknown key"),
        ("[tables]", "[tables", "not valid TOML"),
    ],
)
def test_bad_specifications_name_the_line(cli: Any, old: str, new: str, words: str) -> None:
    Path("country.toml").write_text(SPEC.replace(old, new))
    done = cli("census", "plan", "country.toml", "--policy", "visits.toml", "--rho", "0.1")
    assert done.code != 0 and words in " ".join(done.err.split())


def test_without_a_spend_it_says_how_to_give_one(cli: Any) -> None:
    assert "--rho R" in cli("census", "plan", "country.toml", "--policy", "visits.toml").err
