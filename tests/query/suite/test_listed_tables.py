"""Random lists of tables, with commas, CROSS JOIN, JOIN … ON and LEFT JOIN, against plain SQL of the same text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.session import Session
from suite.databases import shop_policy, sources
from suite.truth import difference, rows_of

GOLDEN = Path(__file__).parents[1] / "golden" / "listed_tables.txt"
"""Queries, and the joins that they mean."""
NEARLY_EXACT = dp.approx(10**9, 1e-6)

TIES = {
    ("orders", "customers"): ("orders.customer_id", "customers.id"),
    ("items", "orders"): ("items.order_id", "orders.id"),
    ("products", "items"): ("items.product", "products.id"),
    ("regions", "customers"): ("regions.city", "customers.city"),
}
"""Of each pair the first joins the second, and the columns that tie them."""
LISTS = (
    ("customers", "orders"),
    ("customers", "orders", "items"),
    ("orders", "items", "products"),
    ("customers", "regions"),
    ("customers", "orders", "items", "products"),
    ("items", "products"),
)
SUMS = {
    "customers": "age",
    "orders": "discount",
    "items": "quantity",
    "products": "list_price",
    "regions": "weight",
}
FILTERS = {
    "customers": ("customers.age > 30", "NOT customers.vip"),
    "orders": ("orders.price > 40", "orders.discount IS NOT NULL"),
    "items": ("items.quantity > 1", "items.price BETWEEN 3 AND 40"),
    "products": ("products.category = 'food'", "products.list_price < 60"),
    "regions": ("regions.region <> 'east'", "regions.weight > 0"),
}


@pytest.fixture(scope="module")
def session(tables: dict[str, pa.Table]) -> Iterator[Session]:
    policy = shop_policy({"epsilon": 10**14, "delta": 0.9})
    with dp.connect(sources(tables, policy), policy) as opened:
        yield opened


def listed(dice: random.Random) -> tuple[str, str]:
    """A query over a random list of tables, and the same where columns that are summed are clamped."""
    names = dice.sample(chosen := dice.choice(LISTS), len(chosen))
    ties = [_equality(dice, *TIES[pair]) for pair in TIES if set(pair) <= set(names)]
    filters = [dice.choice(FILTERS[name]) for name in dice.sample(names, dice.randrange(0, 3))]
    joined, where = names[0], list(ties)
    comma = dice.choice([", ", " CROSS JOIN "])  # plain DuckDB's ON does not see what is before a comma
    outer = dice.random() < 0.3 and "customers" in names and "regions" not in names
    for i, name in enumerate(names[1:], 1):
        apart = [tie for tie in where if name in tie and any(each in tie for each in names[:i])]
        if apart and comma != ", " and dice.random() < 0.4:
            where.remove(apart[0])
            joined += f" JOIN {name} ON {apart[0]}"
        else:
            joined += comma + name
    if outer and (comma != ", " or names[-1] == "customers"):
        joined += " LEFT JOIN regions ON regions.city = customers.city AND regions.region = 'east'"
        names.append("regions")
    if where and filters and dice.random() < 0.4:
        branches = [" AND ".join(dice.sample([*where, each], len(where) + 1)) for each in filters]
        where, filters = [" OR ".join(f"({branch})" for branch in branches)], []
        where = [f"({where[0]})"]
    conditions = [*where, *filters]
    dice.shuffle(conditions)
    clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    column = SUMS[name := dice.choice(names)]
    texts = [f"SELECT COUNT(*), SUM({name}.{each}) FROM {joined}{clause}" for each in (column, f"{column}_")]
    return texts[0], texts[1]


def _equality(dice: random.Random, one: str, other: str) -> str:
    return f"{one} = {other}" if dice.random() < 0.5 else f"{other} = {one}"


@pytest.mark.parametrize("seed", [*range(16), *(pytest.param(i, marks=pytest.mark.soak) for i in range(16, 400))])
def test_a_list_of_tables_is_what_plain_sql_makes_of_it(
    seed: int, session: Session, plain: duckdb.DuckDBPyConnection
) -> None:
    query, truth = listed(random.Random(seed))
    release = session.sql(query, NEARLY_EXACT)
    assert difference(rows_of(release.to_arrow()), plain.execute(truth).fetchall(), ordered=True) is None, query


def test_the_order_of_tables_and_equalities_is_no_part_of_the_plan(session: Session) -> None:
    names = ["customers", "orders", "items", "products"]
    ties = ["orders.customer_id = customers.id", "items.order_id = orders.id", "items.product = products.id"]
    dice, plans = random.Random(1), set[str]()
    for _ in range(12):
        for each in (names, ties):
            dice.shuffle(each)
        where = " AND ".join([*ties, "city = 'Graz'"])
        plans.add(session.plan(f"SELECT COUNT(*) AS n FROM {', '.join(names)} WHERE {where}").sql)
    assert len(plans) == 1


@pytest.mark.parametrize("block", GOLDEN.read_text(encoding="utf-8").split("\n\n"))
def test_golden(block: str, session: Session) -> None:
    query, joined = (line.rstrip(";") for line in block.splitlines() if line and not line.startswith("--"))
    assert session.plan(query).sql == joined
