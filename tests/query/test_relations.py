"""What FROM may mean, and what it may not: each refusal would otherwise let one person through."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query import make_plan

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "people": {"unit": "id", "max_rows": 1, "columns": {"city": {"type": "string", "keys": ["a", "b"]}}},
        "orders": {"unit": "person", "max_rows": 5, "columns": {"price": {"type": "int", "bounds": [0, 10]}}},
        "items": {"unit": "order_no -> orders.no", "max_rows": 9, "columns": {"q": {"type": "int", "bounds": [0, 9]}}},
        "visits": {
            "unit": "rows",
            "columns": {"x": {"type": "int", "bounds": [0, 1]}, "k": {"type": "int"}, "weight": {"type": "float"}},
        },
        "places": {"public": True, "key": "k", "columns": {"k": {"type": "int"}, "name": {"type": "string"}}},
        "tags": {"public": True, "columns": {"k": {"type": "int"}, "name": {"type": "string"}}},
    },
}
DATA = {
    "people": pa.table({"id": ["1", "2", "x"], "city": ["a", "b", "a"]}),
    "orders": pa.table({"no": [10, 11, 12], "person": [1, 1, 2], "price": [3, 4, 5]}),
    "items": pa.table({"order_no": ["10", "10", "12", "poison"], "q": [1, 2, 3, 4]}),
    "visits": pa.table({"x": [1, 1, 0], "k": [1, 2, 3], "weight": [2.0**53] * 3}),
    "places": pa.table({"k": [1, 2, 2], "name": ["here", "there", "there"]}),
    "tags": pa.table({"k": [1, 1, 2], "name": ["s", "t", "s"]}),
}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits", "UNION"),
        ("SELECT COUNT(*) FROM (SELECT x FROM visits UNION ALL SELECT x FROM visits)", "could count twice"),
        ("SELECT COUNT(*) FROM visits v JOIN tags t ON v.k = t.k", "may repeat a row"),
        ("SELECT COUNT(*) FROM visits v JOIN orders o ON v.x = o.price", "every row of it is another person"),
        ("SELECT COUNT(*) FROM orders o JOIN people p ON o.price = 1", "ties no column|different people"),
        ("SELECT COUNT(*) FROM orders o JOIN orders p ON o.price = p.price", "different people"),
        ("SELECT COUNT(*) FROM places p LEFT JOIN visits v ON p.k = v.k", "which rows have nobody"),
        ("SELECT COUNT(*) FROM places", "public tables alone"),
        ("SELECT COUNT(*) FROM (SELECT price, COUNT(*) AS n FROM orders GROUP BY price)", "group by the person"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT price FROM orders)", "group by the person"),
        ("SELECT COUNT(*) FROM (SELECT price FROM orders LIMIT 1)", "LIMIT"),
        ("SELECT SUM(person) FROM orders", "says whose a row is"),
        ("SELECT COUNT(*) FROM visits v JOIN places p ON v.x / 1 = p.k", "may repeat a row"),
        ("SELECT COUNT(*) FROM visits v JOIN places p ON v.weight = p.k", "may repeat a row"),
        ("SELECT COUNT(*) FROM visits v JOIN places p ON p.k = p.k", "ties no column"),
        ("SELECT COUNT(*) FROM (SELECT person, SUM(price) OVER () AS t FROM orders)", "OVER"),
        ("SELECT COUNT(*) FROM (SELECT person FROM orders WHERE price LIKE 'a' ESCAPE 'b')", "not supported"),
        ("WITH RECURSIVE r AS (SELECT 1) SELECT COUNT(*) FROM r", "RECURSIVE"),
    ],
)
def test_refused(query: str, words: str) -> None:
    with pytest.raises(dp.QueryError, match=words):
        make_plan(query, dp.policy.load_policy(POLICY))


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (
            "SELECT city, SUM(price) AS p FROM people c JOIN orders o ON c.id = o.person GROUP BY city",
            [("a", 7), ("b", 5)],
        ),
        ("SELECT COUNT(*) AS n, SUM(q) AS q FROM items", [(3, 6)]),
        ("SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS p FROM orders", [(3, 2)]),
        (
            "SELECT AVG(t) AS t, COUNT(*) AS n FROM (SELECT person, SUM(price) AS t FROM orders GROUP BY person)",
            [(6.0, 2)],
        ),
        ("SELECT COUNT(*) AS n FROM visits v JOIN places p ON v.k = p.k", [(2,)]),
        (
            (
                "SELECT COUNT(*) AS n, COUNT(one) AS found, SUM(one) AS s FROM orders o "
                "LEFT JOIN (SELECT id, 1 AS one FROM people WHERE city = 'a') p ON o.person = p.id"
            ),
            [(3, 2, 2)],
        ),
        (
            (
                "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE town IS NULL) AS lost "
                "FROM (SELECT id, COALESCE(city, '?') AS town FROM people WHERE city = 'b') p "
                "RIGHT JOIN orders o ON o.person = p.id"
            ),
            [(3, 2)],
        ),
    ],
)
def test_texts_and_numbers_name_the_same_people(query: str, answer: list[tuple[object, ...]]) -> None:
    """People stored as text here and as numbers there meet, and a value that is no number stops nothing."""
    with dp.connect(DATA, POLICY) as session:
        rows = session.sql(query, spend=dp.pure(10**6)).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in rows] == answer


def test_people_that_could_never_meet_are_refused_at_the_door() -> None:
    with pytest.raises(dp.DataError, match="store them alike"):
        dp.connect({**DATA, "people": pa.table({"id": [1.0, 2.0], "city": ["a", "b"]})}, POLICY)


HELD = {
    "text": ("string", ["Ann", "12", "", "ſ", None, "Ann"], 4),
    "number": ("float", [1.5, 2.25, 1e308, float("nan"), None, 1.5], 3),
    "whole": ("int", [2**63 - 1, 2**63 - 2, 0, -1, None, 0], 4),
    "day": ("date", ["2020-01-01", "0001-01-01", "9999-12-31", None, None, "2020-01-01"], 3),
    "moment": ("timestamp", ["2020-01-01 00:00:00", "2020-01-01 00:00:00.000001", None, None, None, None], 2),
    "flag": ("bool", [True, False, None, True, True, False], 2),
}


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("spelled", ["{0}", "CASE WHEN {0} IS NOT NULL THEN {0} END"])
def test_distinct_values_of_a_person_are_counted_whatever_they_are(name: str, spelled: str) -> None:
    """No value stops the query, and no two are one: a cast that fails would tell of a row."""
    kind, values, distinct = HELD[name]
    table = {"unit": "person", "max_rows": 9, "columns": {name: {"type": kind}}}
    policy = {"version": "1", "budget": {"rho": 10**13, "delta": "0.1"}, "tables": {"t": table}}
    source = pa.table({"person": [7] * len(values), name: values})
    totals = f"SELECT person, COUNT(DISTINCT {spelled.format(name)}) AS d FROM t GROUP BY person"
    with dp.connect({"t": source}, policy) as session:
        release = session.sql(f"SELECT SUM(d) AS d FROM ({totals})", dp.rho(10**12))
    assert release.to_arrow().column("d").to_pylist() == [distinct]
