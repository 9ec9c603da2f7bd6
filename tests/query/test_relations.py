"""What FROM may mean, and what it may not: each refusal would otherwise let one person through."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query import make_plan
from discreet.query.relations._nodes import Joined, scans, walked

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
        ("SELECT COUNT(*) FROM orders o JOIN people p ON o.price = 1", "no equality ties p to o"),
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
        ("SELECT COUNT(*) FROM orders, items WHERE x = order_no", "no column x"),
        ("SELECT COUNT(*) FROM orders a, orders b WHERE a.person = b.person AND price > 3", "a.price and b.price; say"),
        ("SELECT COUNT(*) FROM places, tags WHERE places.k = tags.k", "public tables alone"),
        ("SELECT COUNT(*) FROM visits v, tags t WHERE v.k = t.k", "may repeat a row"),
        ("SELECT COUNT(*) FROM visits v, orders o WHERE v.x = o.price", "every row of it is another person"),
        ("SELECT COUNT(*) FROM orders o, people p", "no equality ties p to o"),
        (
            "SELECT COUNT(*) FROM orders, tags, places, people WHERE id = person AND tags.k = places.k",
            "ties places, tags",
        ),
        ("SELECT COUNT(*) FROM orders o CROSS JOIN people p ON o.person = p.id", "CROSS JOIN is not supported"),
        ("SELECT COUNT(*) FROM orders o, people p LEFT JOIN tags t ON t.k = 3 WHERE o.person = p.id", "ties no column"),
        ("SELECT COUNT(*) FROM orders NATURAL JOIN tags", "no column of it has the name of one on the left"),
        ("SELECT COUNT(*) FROM orders POSITIONAL JOIN people", "rows have no order"),
        ("SELECT COUNT(*) FROM orders a JOIN orders b ON a.price = b.price WHERE b.price = a.price + 1", "different"),
        (
            "SELECT COUNT(*) FROM orders a LEFT JOIN orders b ON a.price = b.price WHERE a.person = b.person",
            "different",
        ),
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
        ("SELECT SUM(price) AS p FROM orders, people WHERE id = person AND city = 'a'", [(7,)]),
        ("SELECT COUNT(*) AS n, SUM(q) AS q FROM people, items, orders WHERE no = order_no AND person = id", [(3, 6)]),
        ("SELECT COUNT(*) AS n FROM orders o JOIN people p ON o.price > 3 WHERE p.id = o.person", [(2,)]),
        (
            "SELECT COUNT(*) AS n FROM visits, places WHERE (visits.k = places.k AND x = 1) OR places.k = visits.k",
            [(2,)],
        ),
        ("SELECT SUM(v.x) AS s FROM places CROSS JOIN visits v WHERE v.k = places.k AND name = 'there'", [(1,)]),
        ("SELECT COUNT(*) AS n, SUM(x) AS s FROM visits NATURAL JOIN places", [(2, 2)]),
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


def test_a_list_of_tables_is_the_join_that_it_means() -> None:
    policy = dp.policy.load_policy(POLICY)
    joined = (
        "SELECT c.city, SUM(q) AS s FROM items i JOIN orders o ON i.order_no = o.no JOIN people c ON o.person = c.id "
        "JOIN places p ON i.q = p.k WHERE o.price > 2 AND p.name = 'here' GROUP BY c.city"
    )
    listed = (
        "SELECT c.city, SUM(q) AS s FROM places p, people c, orders o, items i WHERE o.price > 2 AND p.k = i.q AND "
        "p.name = 'here' AND o.no = i.order_no AND c.id = o.person GROUP BY c.city"
    )
    one, other = (make_plan(query, policy) for query in (joined, listed))
    assert one.sql == other.sql
    assert one.hash(policy) == other.hash(policy)
    assert make_plan(other.sql, policy).sql == other.sql


@pytest.mark.parametrize(("tables", "first"), [("orders, items", "price"), ("items, orders", "q")])
def test_a_star_has_the_columns_in_the_order_of_the_tables_as_they_are_written(tables: str, first: str) -> None:
    query = f"SELECT SUM(a) AS s FROM (SELECT * FROM {tables} WHERE no = order_no) AS t(a, b, c, d, e)"
    assert make_plan(query, dp.policy.load_policy(POLICY)).sql.startswith(f'SELECT SUM("{first}") AS "s" FROM')


def test_a_public_table_is_joined_by_its_key_whatever_stands_beside_it() -> None:
    """Else the cap on public rows of one value, and that on a person's rows, would leave some out."""
    policy = dp.policy.load_policy(POLICY)
    query = "SELECT COUNT(*) FROM tags t, places p, orders o WHERE t.k = p.k AND o.price = p.k AND t.name = 's'"
    relation = make_plan(query, policy).levels[0].bounded.relation
    joins = [node for node in walked(relation) if isinstance(node, Joined)]
    assert [[scan.table for scan in scans(node.right)] for node in joins] == [["tags"], ["places"]]
    assert [node.matched is None for node in joins] == [False, True]
