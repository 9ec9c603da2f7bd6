"""Queries in the manner of TPC-H, with commas as the benchmark writes them: customers are the people."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.policy import load_policy
from discreet.query import make_plan

pytestmark = pytest.mark.usefixtures("one_database")

TEXT, NUMBER = {"type": "string"}, {"type": "int"}
DATE = {"type": "date", "bounds": ["1992-01-01", "1998-12-31"]}


def _listed(*keys: str) -> dict[str, Any]:
    return {"type": "string", "keys": list(keys)}


def _public(key: str | None, **columns: Any) -> dict[str, Any]:
    return {"public": True, **({"key": key} if key else {}), "columns": columns}


POLICY = {
    "version": "1",
    "budget": {"epsilon": 10**14, "delta": 0.9},
    "tables": {
        "customer": {
            "unit": "c_custkey",
            "max_rows": 1,
            "columns": {"c_custkey": NUMBER, "c_nationkey": NUMBER, "c_acctbal": {"type": "decimal"}, "c_name": TEXT},
        },
        "orders": {
            "unit": "o_custkey",
            "max_rows": 40,
            "columns": {
                "o_orderkey": NUMBER,
                "o_custkey": NUMBER,
                "o_orderdate": DATE,
                "o_orderpriority": _listed("1-URGENT", "2-HIGH", "3-MEDIUM"),
            },
        },
        "lineitem": {
            "unit": "l_orderkey -> orders.o_orderkey",
            "max_rows": 200,
            "columns": {
                "l_orderkey": NUMBER,
                "l_partkey": NUMBER,
                "l_suppkey": NUMBER,
                "l_quantity": {"type": "int", "bounds": [1, 50]},
                "l_price": {"type": "int", "bounds": [0, 1000]},
                "l_discount": {"type": "int", "bounds": [0, 10]},
                "l_shipdate": DATE,
                "l_receiptdate": DATE,
                "l_shipmode": _listed("MAIL", "SHIP", "RAIL"),
            },
        },
        "nation": _public("n_nationkey", n_nationkey=NUMBER, n_name=_listed("F", "G", "J"), n_regionkey=NUMBER),
        "region": _public("r_regionkey", r_regionkey=NUMBER, r_name=TEXT),
        "part": _public("p_partkey", p_partkey=NUMBER, p_type=TEXT, p_size={"type": "int", "bounds": [1, 50]}),
        "supplier": _public("s_suppkey", s_suppkey=NUMBER, s_nationkey=NUMBER),
        "partsupp": _public(None, ps_partkey=NUMBER, ps_suppkey=NUMBER, ps_cost={"type": "int", "bounds": [0, 90]}),
    },
}
VOLUME = "l_price * (10 - l_discount)"
QUERIES = {
    "Q5": f"SELECT n_name, SUM({VOLUME}) AS s FROM customer, orders, lineitem, supplier, nation, region "
    "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey "
    "AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE' "
    "AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-01' + INTERVAL '3' YEAR GROUP BY n_name",
    "Q7": "SELECT supp, cust, l_year, SUM(volume) AS s FROM (SELECT n1.n_name AS supp, n2.n_name AS cust, "
    f"EXTRACT(YEAR FROM l_shipdate) AS l_year, {VOLUME} AS volume "
    "FROM supplier, lineitem, orders, customer, nation n1, nation n2 "
    "WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey "
    "AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'F' AND n2.n_name = 'G') "
    "OR (n1.n_name = 'G' AND n2.n_name = 'F'))) AS shipping GROUP BY supp, cust, l_year",
    "Q8": f"SELECT o_year, SUM(CASE WHEN nation = 'F' THEN volume ELSE 0 END) AS s, SUM(volume) AS v FROM ("
    f"SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, {VOLUME} AS volume, n2.n_name AS nation "
    "FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region "
    "WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey "
    "AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'EUROPE' "
    "AND s_nationkey = n2.n_nationkey AND p_type LIKE '%TIN') AS all_nations GROUP BY o_year",
    "Q9": f"SELECT nation, o_year, SUM(amount) AS s FROM (SELECT n_name AS nation, EXTRACT(YEAR FROM o_orderdate) AS "
    f"o_year, {VOLUME} - ps_cost * l_quantity AS amount FROM part, supplier, lineitem, partsupp, orders, nation "
    "WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey "
    "AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_type LIKE 'PROMO%') AS profit "
    "GROUP BY nation, o_year",
    "Q12": "SELECT l_shipmode, SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 "
    "END) AS high FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipdate < l_receiptdate "
    "GROUP BY l_shipmode",
    "Q14": f"SELECT SUM(CASE WHEN p_type LIKE 'PROMO%' THEN {VOLUME} ELSE 0 END) AS s, SUM({VOLUME}) AS v "
    "FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'",
    "Q19": f"SELECT SUM({VOLUME}) AS s FROM lineitem, part WHERE "
    "(p_partkey = l_partkey AND p_type = 'PROMO TIN' AND l_quantity BETWEEN 1 AND 20 AND l_shipmode IN ('MAIL')) "
    "OR (p_partkey = l_partkey AND p_type = 'SMALL TIN' AND l_quantity BETWEEN 10 AND 40 AND p_size BETWEEN 1 AND 30)",
}


def _rows(scale: int) -> dict[str, pa.Table]:
    """A little of everything, by whole numbers that wander through the values; suppliers sell some parts twice."""
    order, line = range(5 * scale), range(30 * scale)
    return {
        "customer": pa.table(
            {"c_custkey": range(scale), "c_nationkey": [i % 3 for i in range(scale)], "c_acctbal": [1.5] * scale,
             "c_name": ["x"] * scale}
        ),
        "orders": pa.table(
            {
                "o_orderkey": range(5 * scale),
                "o_custkey": [i % scale for i in range(5 * scale)],
                "o_orderdate": pa.array([f"199{3 + i % 5}-0{1 + i % 9}-11" for i in order]).cast(pa.date32()),
                "o_orderpriority": [["1-URGENT", "2-HIGH", "3-MEDIUM"][i % 3] for i in range(5 * scale)],
            }
        ),
        "lineitem": pa.table(
            {
                "l_orderkey": [i * 7 % (5 * scale) for i in line],
                "l_partkey": [i % 6 for i in line],
                "l_suppkey": [i * 5 % 7 for i in line],
                "l_quantity": [1 + i % 50 for i in line],
                "l_price": [i * 37 % 1000 for i in line],
                "l_discount": [i % 11 for i in line],
                "l_shipdate": pa.array([f"199{5 + i % 2}-0{1 + i % 9}-11" for i in line]).cast(pa.date32()),
                "l_receiptdate": pa.array([f"199{5 + i % 3}-0{1 + i % 7}-12" for i in line]).cast(pa.date32()),
                "l_shipmode": [["MAIL", "SHIP", "RAIL"][i % 3] for i in line],
            }
        ),
        "nation": pa.table({"n_nationkey": [0, 1, 2], "n_name": ["F", "G", "J"], "n_regionkey": [0, 0, 1]}),
        "region": pa.table({"r_regionkey": [0, 1], "r_name": ["EUROPE", "ASIA"]}),
        "part": pa.table(
            {
                "p_partkey": range(6),
                "p_type": ["PROMO TIN", "SMALL TIN", "PROMO BRASS", "SMALL BRASS", "PROMO TIN", "X"],
                "p_size": [5, 15, 25, 35, 45, 50],
            }
        ),
        "supplier": pa.table({"s_suppkey": range(7), "s_nationkey": [i % 3 for i in range(7)]}),
        "partsupp": pa.table(
            {
                "ps_partkey": [i % 6 for i in range(42)],
                "ps_suppkey": [i % 7 for i in range(42)],
                "ps_cost": [i % 30 for i in range(42)],
            }
        ),
    }  # fmt: skip


def _groups(rows: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """The rows in which a sum is not 0: groups that are public and empty are no rows of plain SQL."""
    return {tuple(map(str, row.values())) for row in rows if any(row.get(name) for name in ("s", "v", "high"))}


@pytest.mark.parametrize("name", QUERIES)
def test_it_is_answered_as_plain_sql_answers_it(name: str) -> None:
    tables = _rows(12)
    with dp.connect(tables, POLICY) as session:
        rows = session.sql(QUERIES[name], dp.approx(10**9, 1e-6)).to_arrow().to_pylist()
    with duckdb.connect() as plain:
        for each, table in tables.items():
            plain.register(each, table)
        truth = plain.sql(QUERIES[name]).to_arrow_table().to_pylist()
    assert truth
    assert _groups(rows) == _groups(truth)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (("SELECT c_acctbal, SUM(l_price) FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND "
         "l_orderkey = o_orderkey GROUP BY c_custkey, c_acctbal"), "c_custkey would release rows"),
        ("SELECT COUNT(*) FROM lineitem, part WHERE l_quantity < (SELECT AVG(p_size) FROM part)", "ties part to"),
        (("SELECT SUM(ps_cost) FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND "
         "s_nationkey = n_nationkey AND n_name = 'G'"), "public tables alone"),
        (("SELECT COUNT(*) FROM supplier, lineitem, orders, nation WHERE s_suppkey = l_suppkey AND "
         "o_orderkey = l_orderkey"), "no equality ties nation to lineitem, orders, supplier"),
    ],
)  # fmt: skip
def test_it_is_refused(query: str, words: str) -> None:
    with pytest.raises(dp.QueryError, match=words):
        make_plan(query, load_policy(POLICY))
