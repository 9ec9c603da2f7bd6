"""Entries of the audit over several tables: joins, paths, public tables, sub-queries and totals of each person."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from discreet.audit.sql._entry import Pair, SqlEntry
from discreet.policy import Policy, load_policy
from discreet.privacy import approx, pure

__all__ = ["over_tables"]

_CAPS = {"max_rows": 3, "max_groups": 2}
_X = {"type": "int", "bounds": [0, 10]}
_K = {"type": "string", "keys": ["a", "b", "c"]}
_TABLES: dict[str, dict[str, Any]] = {
    "t": {"unit": "u", **_CAPS, "columns": {"o": {"type": "int"}, "x": _X, "k": _K, "q": {"type": "string"}}},
    "people": {"unit": "u", "max_rows": 1, "columns": {"age": {"type": "int", "bounds": [0, 100]}, "k": _K}},
    "items": {"unit": "o -> t.o", **_CAPS, "columns": {"o": {"type": "int"}, "z": _X, "k": _K}},
    "tags": {"public": True, "columns": {"k": {"type": "string"}, "w": {"type": "int", "bounds": [0, 2]}}},
}
_SCHEMAS = {
    "t": pa.schema({"u": pa.int64(), "o": pa.int64(), "x": pa.int64(), "k": pa.string(), "q": pa.string()}),
    "people": pa.schema({"u": pa.int64(), "age": pa.int64(), "k": pa.string()}),
    "items": pa.schema({"o": pa.int64(), "z": pa.int64(), "k": pa.string()}),
}
_TAGS = pa.table({"k": ["a", "a", "b"], "w": [2, 2, 1]})
_Rows = dict[str, list[tuple[Any, ...]]]

_CROWD: _Rows = {
    "t": [(100 + i, 100 + i, 5, "a", "crowd") for i in range(8)],
    "people": [(100 + i, 40, "a") for i in range(8)],
    "items": [(100 + i, 5, "a") for i in range(8)],
}
_TOP: _Rows = {
    "t": [(1, 1 + i, 10, "a", "crowd") for i in range(8)],
    "people": [(1, 100, "a")],
    "items": [(1 + i, 10, "a") for i in range(8)],
}
"""Person 1 has eight rows of which three count, one row among the people, and an item of each row."""


_TOTAL = "SELECT SUM(v) AS s FROM (SELECT u, {} AS v FROM t GROUP BY u) AS p"


def over_tables() -> Iterator[SqlEntry]:
    """Person 1 is in every table, with more rows than count, at the upper bounds."""
    entry = partial(SqlEntry, policy=_policy(), spend=pure(1), pair=_apart(_TOP), note="8 rows, 3 count")
    yield entry("JOIN", "SELECT COUNT(*) AS n, SUM(t.x) AS s FROM t JOIN people AS p ON t.u = p.u")
    yield entry(
        "JOIN, AVG by public keys", "SELECT p.k, AVG(t.x) AS a FROM t JOIN people AS p ON t.u = p.u GROUP BY p.k"
    )
    yield entry("JOIN, MEDIAN", "SELECT MEDIAN(t.x) AS m FROM t JOIN people AS p ON t.u = p.u WHERE p.age > 50")
    yield entry("LEFT JOIN", "SELECT COUNT(*) AS n, COUNT(t.x) AS c FROM people AS p LEFT JOIN t ON t.u = p.u")
    yield entry(
        "LEFT JOIN of what is computed",
        "SELECT COUNT(*) AS n, SUM(s.y) AS y FROM people AS p LEFT JOIN (SELECT u, 2 * x AS y FROM t) s ON s.u = p.u",
    )
    yield entry("self join", "SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.u = b.u", note="64 pairs, 3 count")
    yield entry("path", "SELECT COUNT(*) AS n, SUM(z) AS s FROM items", note="8 items of 8 orders, 3 count")
    yield entry(
        "path, joined", "SELECT SUM(i.z + t.x) AS s FROM items AS i JOIN t ON i.o = t.o", note="8 items, 3 count"
    )
    yield entry("path, MEDIAN", "SELECT MEDIAN(z) AS m FROM items", note="8 items, 3 count")
    yield entry(
        "public table", "SELECT COUNT(*) AS n, SUM(g.w) AS s FROM t JOIN tags AS g ON t.k = g.k", note="16 pairs"
    )
    yield entry(
        "public table, LEFT JOIN", "SELECT COUNT(*) AS n FROM t LEFT JOIN tags AS g ON t.k = g.k", note="16 pairs"
    )
    public = "SELECT g.k, COUNT(*) AS n FROM t {} tags AS g ON t.k = g.k GROUP BY g.k"
    yield entry("groups of a public table", public.format("JOIN"), note="16 pairs, 3 count, in one group")
    yield entry(
        "groups of a public table, LEFT JOIN", public.format("LEFT JOIN"), note="16 pairs, 3 count, in one group"
    )
    yield entry("sub-query", "SELECT COUNT(*) AS n FROM (SELECT x AS y FROM t WHERE x > 5) AS s WHERE y > 6")
    yield entry("WITH", "WITH s AS (SELECT x AS y, k FROM t) SELECT k, SUM(y) AS s FROM s GROUP BY k")
    yield entry(
        "UNION ALL",
        "SELECT COUNT(*) AS n, SUM(x) AS s FROM (SELECT x FROM t UNION ALL SELECT z FROM items) AS b",
        note="16 rows of two tables, 3 + 3 count",
    )
    yield entry("SELECT DISTINCT of people", "SELECT COUNT(*) AS n FROM (SELECT DISTINCT u FROM t) AS s", note="1 row")
    yield entry(
        "JOIN, private keys",
        "SELECT t.q, COUNT(*) AS n FROM t JOIN people AS p ON t.u = p.u GROUP BY t.q",
        spend=approx(1, "0.05"),
    )
    yield from _sub_queries(entry)
    yield from _totals(entry)


def _sub_queries(entry: Any) -> Iterator[SqlEntry]:
    """Conditions and values that are sub-queries, over the person's own rows and over public ones."""
    conditions = {
        "EXISTS": "EXISTS (SELECT * FROM items AS i WHERE i.o = t.o AND i.z >= t.x)",
        "NOT EXISTS": "NOT EXISTS (SELECT * FROM t AS b WHERE b.u = t.u AND b.x > t.x)",
        "IN a sub-query": "o IN (SELECT o FROM items GROUP BY o HAVING SUM(z) > 4)",
        "NOT IN a sub-query": "x NOT IN (SELECT i.z + 1 FROM items AS i WHERE i.o = t.o)",
        "NOT IN a public table": "k NOT IN (SELECT k FROM tags WHERE w < 2)",
        "ALL of a sub-query": "x >= ALL (SELECT b.x FROM t AS b WHERE b.u = t.u)",
        "a public value": "x > (SELECT AVG(w) FROM tags)",
        "a value of the same person": "2 < (SELECT COUNT(*) FROM t AS b WHERE b.u = t.u) OR x < 6",
    }
    for name, condition in conditions.items():
        yield entry(name, " ".join(("SELECT COUNT(*) AS n, SUM(x) AS s FROM t WHERE", condition)))
    yield entry(
        "groups of one owner",
        "SELECT COUNT(*) AS n FROM (SELECT o, SUM(z) AS v FROM items GROUP BY o) AS g WHERE v > 4",
        note="8 groups of a person, 3 count",
    )


def _totals(entry: Any) -> Iterator[SqlEntry]:
    """One row for each person, clamped to what the person's rows can make."""
    once = partial(entry, note="1 row, of 8 that make the total: it is clamped to what 3 can make")
    for kind in ("COUNT(*)", "COUNT(x)", "SUM(x)"):
        yield once(f"total {kind}", _TOTAL.format(kind))
    for kind in ("AVG(x)", "MIN(x)", "MAX(x)"):
        yield once(f"total {kind}", _TOTAL.format(kind), note="1 row, at the upper bound")
    values = _TOP | {"t": [(1, 1 + i, i, "a", "crowd") for i in range(8)]}
    yield once(
        "total COUNT(DISTINCT x)",
        _TOTAL.format("COUNT(DISTINCT x)"),
        pair=_apart(values),
        note="1 row, of 8 values: clamped to 3",
    )
    keys = _TOP | {"t": [(1, 1 + i, 10, "abc"[i % 3], "crowd") for i in range(8)]}
    yield once(
        "totals by person and key",
        "SELECT k, COUNT(*) AS n FROM (SELECT u, k, SUM(x) AS v FROM t GROUP BY u, k) AS p GROUP BY k",
        pair=_apart(keys),
        note="3 groups of a person, of which 2 count: a bound for 3 rows in 2 groups is more than these can move",
        tight=False,
    )


def _policy() -> Policy:
    return load_policy({"version": "1", "tables": _TABLES})


def _apart(unit: _Rows) -> Pair:
    """The crowd with one more person in every table, and without."""
    return _tables(_CROWD, unit), _tables(_CROWD)


def _tables(*parts: _Rows) -> dict[str, pa.Table]:
    tables = {"tags": _TAGS}
    for name, schema in _SCHEMAS.items():
        rows = [row for part in parts for row in part[name]]
        columns = {column: [row[i] for row in rows] for i, column in enumerate(schema.names)}
        tables[name] = pa.table(columns, schema=schema)
    return tables
