"""`discreet policy check`: what each column permits, what it lacks, and where a policy or its data are wrong."""

# ruff: noqa: E501 (lines as they are printed)

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

SHOP = """version = "1"
[budget]
epsilon = 1
delta = 1e-6
[tables.orders]
unit = "customer"
max_rows = 5
max_groups = 2
[tables.orders.columns]
id = { type = "int" }
city = { type = "string", keys = ["Bern", "Ulm"] }
paid = { type = "decimal", bounds = [0, 100] }
weight = { type = "float" }
express = { type = "bool" }
[tables.lines]
unit = "order_id -> orders.id"
max_rows = 9
columns = { item = { type = "string" }, day = { type = "date" } }
[tables.customers]
unit = "id"
max_rows = 1
columns = {}
[tables.items]
public = true
key = "item"
columns = { item = { type = "string" } }
"""

TABLE = """
budget: epsilon 1, delta 1e-06

orders: rows of the person in customer; of one person at most 5 count in 2 groups; joins lines on orders.id = lines.order_id, customers on orders.customer = customers.id, items (public) on items.item
  column    type      GROUP BY                         SUM, AVG, quantiles   COUNT, WHERE   for more, it lacks
  id        int       no: each is one person's         no                    yes            bounds, for SUM, AVG and quantiles; keys or bounds, for GROUP BY without a delta
  city      string    yes                              no                    yes
  paid      decimal   by FLOOR(paid)                   yes                   yes
  weight    float     by FLOOR(weight), costs a delta  no                    yes            bounds, for SUM, AVG and quantiles
  express   bool      yes                              no                    yes
lines: rows of order_id -> orders.id; of one person at most 9 count; joins orders on lines.order_id = orders.id, items (public) on items.item
  column    type      GROUP BY                         SUM, AVG, quantiles   COUNT, WHERE   for more, it lacks
  item      string    yes, costs a delta               no                    yes            keys, for GROUP BY without a delta
  day       date      yes, costs a delta               no                    yes            keys or bounds, for GROUP BY without a delta
customers: rows of the person in id; of one person at most 1 counts; joins orders on customers.id = orders.customer, items (public) on items.item
  column    type      GROUP BY                         SUM, AVG, quantiles   COUNT, WHERE   for more, it lacks
items: public: its rows protect nobody, and are read through a join
  column    type      GROUP BY                         SUM, AVG, quantiles   COUNT, WHERE   for more, it lacks
  item      string    yes, costs a delta               no                    yes            keys, for GROUP BY without a delta
"""


def words(text: str) -> list[list[str]]:
    lines = (line.replace("─", " ").split() for line in text.splitlines())
    return [line for line in lines if line]


def test_each_column_says_what_can_be_asked_of_it(cli: Any) -> None:
    Path("shop.toml").write_text(SHOP)
    done = cli("policy", "check", "shop.toml")
    assert (done.code, done.err) == (0, "")
    assert words(done.out) == words(TABLE)


def test_what_is_said_is_what_queries_may_do(cli: Any) -> None:
    Path("shop.toml").write_text(SHOP)
    tables = {table["name"]: table for table in cli("policy", "check", "shop.toml", "--json").json["tables"]}
    for column in tables["orders"]["columns"]:
        name = column["name"]
        for sql, may in (
            (f"SELECT SUM({name}) AS s, AVG({name}) AS a FROM orders", column["numbers"]),
            (f"SELECT COUNT(*) AS n FROM orders GROUP BY {name}", column["group_by"] not in ("expression", "person")),
            (f"SELECT COUNT({name}) AS n FROM orders WHERE {name} IS NOT NULL", True),
        ):
            assert (cli("plan", sql, "--policy", "shop.toml").code == 0) == may, sql
        free = cli(
            "plan", f"SELECT COUNT(*) AS n FROM orders GROUP BY {name}", "--policy", "shop.toml", "--epsilon", "1"
        )
        assert (free.code == 0) == (column["group_by"] == "free")


@pytest.mark.parametrize(
    ("budget", "takes", "shown"),
    [
        ("", None, "needs a ledger with one"),
        ("[budget]\nepsilon = 1", False, "a GROUP BY that costs a delta is refused: write delta = 1e-6 under [budget]"),
        ("[budget]\nrho = 1\ndelta = 1e-9", True, "budget: rho 1, delta 1e-09"),
    ],
)
def test_a_budget_without_a_delta_is_seen(cli: Any, budget: str, takes: bool | None, shown: str) -> None:
    Path("t.toml").write_text(
        f'version = "1"\n{budget}\n[tables.t]\nunit = "rows"\ncolumns = {{ x = {{ type = "int" }} }}\n'
    )
    assert cli("policy", "check", "t.toml", "--json").json["takes_delta"] is takes
    done = cli("policy", "check", "t.toml")
    assert done.code == 0
    assert shown in done.out
    assert ("no: needs a delta" in done.out) == (takes is False)


def test_edges_of_people_are_for_the_graph_alone(cli: Any) -> None:
    Path("t.toml").write_text(
        'version = "1"\n[tables.ties]\nunit = "ends"\n[tables.ties.columns]\na = { type = "int", bounds = [0, 9] }\n'
        'b = { type = "int", bounds = [0, 9] }\n[graphs.town]\nedges = "ties"\nends = ["a", "b"]\nprotects = "node"\n'
    )
    done = cli("policy", "check", "t.toml")
    assert (
        done.code == 0
        and "no query reads it, only the graph town" in done.out
        and "GROUP BY" not in done.out.split("ties", 1)[1]
    )
    (table,) = cli("policy", "check", "t.toml", "--json").json["tables"]
    assert (table["columns"], table["graphs"], table["unit"]) == ([], ["town"], "ends")


def test_what_is_wrong_is_named_with_its_line(cli: Any) -> None:
    Path("t.toml").write_text(
        'version = "1"\n\n[tables.t]\nunit = "rows"\n[tables.t.columns]\nage = { type = "int", bound = [0, 9] }\n'
        '[tables.t.columns."a b"]\ntype = "sting"\n[tables.u]\nmax_rows = 2\ncolumns = {}\n'
    )
    done = cli("policy", "check", "t.toml")
    assert (done.code, done.out) == (4, "")
    assert done.err.splitlines() == [
        "t.toml, line 6: tables.t.columns.age.bound: unknown key; see docs/policy.md for the keys a policy has",
        (
            "t.toml, line 8: tables.t.columns.a b.type: Input should be 'bool', 'int', 'float', 'decimal', 'string', 'date' "
            "or 'timestamp'"
        ),
        (
            't.toml, line 9: tables.u: unit: is missing: name the column that identifies a person, or say unit = "rows" if '
            'every row is another person, unit = "order_id -> orders.id" if another table knows whose a row is, or public = '
            "true if it is about nobody"
        ),
    ]
    wrong = cli("policy", "check", "t.toml", "--json").json["problems"]
    assert [(each["line"], each["key"]) for each in wrong] == [
        (6, "tables.t.columns.age.bound"), (8, "tables.t.columns.a b.type"), (9, "tables.u"),
    ]  # fmt: skip


def test_a_file_that_is_no_policy_is_one_error(cli: Any) -> None:
    Path("bad.toml").write_text("version = ")
    for name, shown in (("bad.toml", "is not valid TOML"), ("none.toml", "there is no such file")):
        done = cli("policy", "check", name, "--json")
        assert (done.code, done.out) == (4, "")
        assert shown in done.err


POLICY = """version = "1"
[tables.visits]
unit = "persn"
max_rows = 2
[tables.visits.columns]
city = { type = "string" }
cost = { type = "int" }
day = { type = "int" }
agee = { type = "int" }
[tables.stays]
unit = "rows"
columns = {}
"""


def test_data_are_compared_by_names_and_declared_types(cli: Any) -> None:
    Path("new.toml").write_text(POLICY)
    done = cli("policy", "check", "new.toml", "--data", "visits=visits.parquet")
    assert done.code == 4
    assert done.err.splitlines() == [
        "new.toml, line 3: tables.visits.unit: the data have no column persn; did you mean person?",
        (
            "new.toml, line 8: tables.visits.columns.day: it is stored as date, of which nothing converts to int: every value "
            "would be NULL"
        ),
        "new.toml, line 9: tables.visits.columns.agee: the data have no column agee; did you mean age?",
        "new.toml, line 10: tables.stays: the data have no table stays",
    ]
    assert "int, stored as float" in done.out
    assert cli("policy", "check", "visits.toml", "--data", "visits.parquet").code == 0


def test_a_csv_declares_no_types_and_says_so(cli: Any) -> None:
    Path("t.csv").write_text("a,b\nsecret,1\n")
    Path("t.toml").write_text(
        'version = "1"\n[tables.other]\nunit = "rows"\ncolumns = { a = { type = "date" }, b = { type = "string" } }\n'
    )
    done = cli("policy", "check", "t.toml", "--data", "t.csv")
    assert (done.code, done.err) == (0, "")
    assert "These data declare no types" in done.out
    assert "secret" not in done.out


def test_a_database_is_compared_table_by_table(cli: Any) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute(
            "CREATE TABLE Orders (id INTEGER, customer INTEGER, city VARCHAR, paid DOUBLE, weight DOUBLE)"
        )
        connection.execute("CREATE TABLE lines (order_id INTEGER, item VARCHAR[], day TIMESTAMP)")
        connection.execute("CREATE TABLE customers (id INTEGER)")
    Path("shop.toml").write_text(SHOP)
    wrong = cli("policy", "check", "shop.toml", "--data", "shop.duckdb", "--json").json["problems"]
    assert [(each["line"], each["key"]) for each in wrong] == [
        (14, "tables.orders.columns.express"), (18, "tables.lines.columns.item"), (23, "tables.items"),
    ]  # fmt: skip
    assert "a type that policies do not have" in wrong[1]["problem"]


@pytest.mark.parametrize("source", ["nowhere.csv", "mysql://host/shop"])
def test_data_that_cannot_be_read_are_an_error(cli: Any, source: str) -> None:
    done = cli("policy", "check", "visits.toml", "--data", source)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("error: ")
