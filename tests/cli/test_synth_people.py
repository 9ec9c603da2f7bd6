"""`discreet synth` of people with all their rows: histories, and several tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from discreet import synth
from discreet.policy import load_policy

pytestmark = pytest.mark.usefixtures("one_database")

SOURCES = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")
HISTORY = ("--columns", "region,cost", "--unique-order", "age", "--constant", "region")
SHOP = """
version = "1"
budget = { epsilon = 9 }
[tables.persons]
unit = "person"
max_rows = 1
[tables.persons.columns]
member = { type = "bool", nullable = false }
[tables.orders]
unit = "person"
max_rows = 3
[tables.orders.columns]
day = { type = "date", bounds = [2026-01-01, 2026-12-31] }
shop = { type = "string", nullable = false }
price = { type = "int", bounds = [0, 99], nullable = false }
[tables.shops]
public = true
key = "name"
[tables.shops.columns]
name = { type = "string", keys = ["a", "b", "c"] }
"""


@pytest.fixture
def people(cli: Any) -> Any:
    done = cli("synth", "fit", "visits", *SOURCES, *HISTORY, "--epsilon", "1", "--tier", "instant", "-o", "p.synth")
    assert done.code == 0 and "of about" in done.out and "cost epsilon 1; left epsilon 2" in done.out
    return cli


@pytest.fixture
def shop(cli: Any) -> Any:
    Path("shop.toml").write_text(SHOP)
    with duckdb.connect("shop.duckdb") as database:
        database.execute("CREATE TABLE persons AS SELECT i AS person, i % 3 = 0 AS member FROM range(300) t(i)")
        database.execute(
            "CREATE TABLE orders AS SELECT i % 300 AS person, DATE '2026-01-01' + CAST(i % 365 AS INT) AS day, "
            "chr(CAST(97 + i % 3 AS INT)) AS shop, i % 100 AS price FROM range(700) t(i)"
        )
        database.execute("CREATE TABLE shops AS SELECT unnest(['a', 'b']) AS name")
    return cli


SHOP_SOURCES = ("--data", "shop.duckdb", "--policy", "shop.toml", "--ledger", "shop.ledger")
SHOP_FIT = ("orders", "persons", "shops", "--link", "orders.shop=shops.name", "--order", "orders.day", "--epsilon", "4")


def test_a_plan_shows_the_parts_and_spends_nothing(cli: Any) -> None:
    asked = ("synth", "plan", "visits", "--policy", "visits.toml", "--epsilon", "1", *HISTORY)
    shown = cli(*asked)
    assert shown.code == 0 and "visits: first rows" in shown.out and "visits: next rows" in shown.out
    words = cli(*asked, "--explain", "--level", "0.9").out
    assert "people with all their rows" in words and "at 90 %" in words and "a person is a value of person" in words
    plan = cli(*asked, "--format", "json").json
    assert [part["name"] for part in plan["parts"]] == ["visits: first rows", "visits: next rows"]
    assert plan["parts"][1]["given"] == ["region", "previous age", "previous cost"]
    assert plan["parts"][1]["columns"] == ["step of age", "cost"]
    assert not Path("visits.ledger").exists()


def test_the_same_fit_is_given_again_and_verifies(people: Any) -> None:
    again = people(
        "synth", "fit", "visits", *SOURCES, *HISTORY, "--epsilon", "1", "--tier", "instant", "-o", "q.synth",
        "--format", "json",
    )  # fmt: skip
    assert Path("q.synth").read_bytes() == Path("p.synth").read_bytes()
    assert list(again.json) == ["file", "tables", "people", "parts", "remaining", "certificate"]
    assert list(again.json["parts"]) == ["visits: first rows", "visits: next rows"]
    checked = people("verify", "p.synth", "--ledger", "visits.ledger", "--format", "json")
    assert checked.code == 0 and {each["result"] for each in checked.json["checks"]} == {"good"}


def test_people_are_sampled(people: Any) -> None:
    printed = people("synth", "sample", "p.synth", "--people", "40", "--label", "a").out
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert {row["person"] for row in rows} == {str(i) for i in range(1, 41)}
    done = people(
        "synth", "sample", "p.synth", "--people", "40", "--label", "a", "-o", "r.parquet", "--policy", "r.toml"
    )
    assert f"{len(rows)} rows of synthetic visits in r.parquet" in done.out
    table = pq.read_table("r.parquet")
    assert table.equals(synth.load_tables("p.synth").sample(40, label="a")["visits"])
    assert load_policy("r.toml").tables["visits"].public
    assert list(load_policy("r.toml").tables["visits"].columns) == table.column_names


def test_several_tables_go_into_a_folder_or_a_database(shop: Any) -> None:
    done = shop("synth", "fit", *SHOP_FIT, *SHOP_SOURCES, "-o", "s.synth")
    assert done.code == 0, done.err
    assert "orders" in done.out and "persons" in done.out
    written = shop("synth", "sample", "s.synth", "--people", "100", "-o", "rows")
    assert written.out.startswith("100 rows of synthetic persons in rows\n")
    persons, orders = pq.read_table("rows/persons.parquet"), pq.read_table("rows/orders.parquet")
    assert persons.num_rows == 100 and set(orders["shop"].to_pylist()) <= {"a", "b"}
    assert set(orders["person"].to_pylist()) <= set(persons["person"].to_pylist())
    assert shop("synth", "sample", "s.synth", "--people", "100", "-o", "rows.duckdb").code == 0
    with duckdb.connect("rows.duckdb", read_only=True) as database:
        assert database.execute("FROM orders").fetchall() == list(zip(*orders.to_pydict().values(), strict=True))
    for place, words in (("rows", "already"), ("rows.duckdb", "already"), ("rows.csv", ".duckdb")):
        refused = shop("synth", "sample", "s.synth", "--people", "9", "-o", place)
        assert refused.code == 2 and words in refused.err
    stdout = shop("synth", "sample", "s.synth", "--people", "9")
    assert stdout.code == 2 and "there are 2 tables" in stdout.err


def test_show_has_each_part(people: Any) -> None:
    shown = people("synth", "show", "p.synth", "--steps")
    assert shown.code == 0 and "visits: first rows" in shown.out and "step of age" in shown.out
    one = people("synth", "show", "p.synth", "--part", "visits: next rows").out
    assert "visits: first rows" not in one and "step of age" in one and "rows of visits" not in one
    listed = people("synth", "show", "p.synth", "--format", "json").json
    shares = [step["share"] for part in listed["parts"].values() for step in part["steps"]]
    assert sum(shares) == pytest.approx(1, abs=1e-6) and len(listed["parts"]) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["show", "p.synth", "--plot", "a.svg"], "--part, one of visits: first rows"),
        (["show", "p.synth", "--part", "visits"], "there is no part 'visits'"),
        (["sample", "p.synth", "-n", "9"], "--rows is for one table"),
        (["sample", "p.synth", "--given", "region=north"], "--given is for one table"),
        (["sample", "p.synth", "--min-repeats", "2"], "--min-repeats is for one table"),
        (["check", "p.synth", *SOURCES, "--epsilon", "1"], "a check is of a table that is fitted alone"),
        (["sample", "visits.parquet"], "not a release"),
    ],
)
def test_what_is_not_of_people_is_refused(people: Any, options: list[str], words: str) -> None:
    done = people("synth", *options)
    assert done.code in (2, 4) and words in done.err and len(done.err.splitlines()) == 1, done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["visits", "--people", "--target", "region"], "--target is for a table that is fitted alone"),
        (["visits", "--order", "age", "--rule", "cost < 0"], "nothing satisfies the rule 'cost < 0'"),
        (["visits", "people", "--rule", "cost > 0"], "names one of them first"),
        (["visits", "people", "--rules", "rules.toml"], "--rules is for one table"),
        (["visits", "--order", "age", "--unique-order", "cost"], "visits has one order"),
        (["visits", "--order", "height"], "no column height"),
        (["visits", "--order", "region"], "is a string"),
        (["visits", "--constant", ","], "--constant takes names"),
        (["visits", "--link", "a"], "--link takes"),
        (["visits", "visits"], "named twice"),
        (["visits", "people"], "no table people"),
        (["visits", "people", "--order", "age"], "as TABLE.COLUMN"),
    ],
)
def test_fits_that_cannot_be_are_refused_before_a_ledger_is_made(cli: Any, options: list[str], words: str) -> None:
    columns = ("--columns", "region,cost") if len(options) > 2 and "people" not in options[:2] else ()
    done = cli("synth", "fit", *options, *SOURCES, *columns, "--epsilon", "1", "-o", "v.synth")
    assert done.code == 2 and words in done.err and len(done.err.splitlines()) == 1, done.err
    assert not Path("visits.ledger").exists() and not Path("v.synth").exists()


def test_a_workload_may_have_weights(cli: Any) -> None:
    asked = ("synth", "plan", "visits", "--policy", "visits.toml", "--epsilon", "1", "--columns", "region,cost,age")
    query = "2x SELECT region, age, COUNT(*) FROM visits GROUP BY ALL"
    done = cli(*asked, "--workload", "3x cost,age", "--workload", query, "--format", "json")
    weights = {tuple(each["columns"]): each["weight"] for each in done.json["workload"]}
    assert weights == {("cost", "age"): 3, ("region", "age"): 2}
    twice = cli(*asked, "--workload", "cost,age", "--workload", "2x cost,age")
    assert twice.code == 2 and "twice" in twice.err
