"""Caps that bite, where what is left can be counted by hand: every row of a person is like the others."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from suite.databases import STATUSES, shop_policy, sources
from suite.features import Feature, landed
from suite.truth import rows_of

pytestmark = pytest.mark.usefixtures("one_database")

PEOPLE = 50
EACH = 30
"""Orders of each person; 12 count."""
NEARLY_EXACT = dp.approx(10**9, 1e-6)

CAPPED: tuple[tuple[str, list[tuple[object, ...]], frozenset[Feature]], ...] = (
    ("SELECT COUNT(*) FROM orders", [(600,)], frozenset()),
    ("SELECT SUM(price), AVG(price) FROM orders", [(60_000, 100)], frozenset()),
    ("SELECT COUNT(discount), SUM(discount) FROM orders", [(0, 0)], frozenset()),
    ("SELECT COUNT(*) FROM orders WHERE price > 0", [(600,)], frozenset()),
    ("SELECT COUNT(*) FROM orders WHERE price > 100", [(0,)], frozenset()),
    ("SELECT channel, COUNT(*) FROM orders GROUP BY channel", [("web", 600)], frozenset()),
    (
        "SELECT status, COUNT(*) FROM orders GROUP BY status",
        [(status, 600 * (status == "paid")) for status in STATUSES],
        frozenset(),
    ),
    ("SELECT COUNT(DISTINCT customer_id) FROM orders", [(PEOPLE,)], frozenset({"count distinct people"})),
    (
        "SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id)",
        [(PEOPLE,)],
        frozenset({"per person"}),
    ),
)


def _orders(like: pa.Table) -> pa.Table:
    row = {"status": "paid", "channel": "web", "placed": None, "price": 100, "discount": None}
    rows = [{"id": i, "customer_id": i % PEOPLE, **row} for i in range(PEOPLE * EACH)]
    return pa.Table.from_pylist(rows, like.schema)


@pytest.mark.parametrize(
    ("query", "rows"),
    [(query, rows) for query, rows, needs in CAPPED if landed(needs)],
    ids=lambda each: str(each)[:80],
)
def test_of_each_person_no_more_rows_count_than_the_cap(
    query: str, rows: list[tuple[object, ...]], tables: dict[str, pa.Table]
) -> None:
    policy = shop_policy({"epsilon": 10**12, "delta": 0.9})
    capped = {**tables, "orders": _orders(tables["orders"])}
    with dp.connect(sources(capped, policy), policy) as session:
        found = rows_of(session.sql(query, NEARLY_EXACT).to_arrow())
    assert sorted(map(str, found)) == sorted(map(str, rows)) or found == [
        tuple(pytest.approx(v, abs=1e-3) for v in row) for row in rows
    ]
