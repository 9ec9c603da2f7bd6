"""What an engine cannot answer at once it answers in shards, and the integers are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines import _shards
from discreet.engines._open import open_engine
from discreet.engines._shards import ALL, Shard, in_shards
from discreet.policy import load_policy
from discreet.query import BoundedAggregate, Group, make_plan

SALT = b"sixteen bytes of"
PEOPLE = {"unit": "person", "max_rows": 3, "max_groups": 2}
POLICY = load_policy(
    {
        "version": "1",
        "tables": {
            "t": {
                **PEOPLE,
                "columns": {
                    "x": {"type": "int", "bounds": [0, 9]},
                    "f": {"type": "float", "bounds": [0, 9]},
                    "s": {"type": "string"},
                    "city": {"type": "string", "keys": ["a", "b"]},
                },
            },
            "orders": {"unit": "buyer", "max_rows": 4, "columns": {"y": {"type": "int", "bounds": [0, 5]}}},
            "items": {
                "unit": "order_id -> orders.id",
                "max_rows": 5,
                "columns": {"z": {"type": "int", "bounds": [0, 5]}},
            },
            "rows": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}, "s": {"type": "string"}}},
            "shops": {"public": True, "columns": {"n": {"type": "int", "bounds": [0, 9]}, "label": {"type": "string"}}},
        },
    }
)
QUERIES = (
    "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(f) AS a FROM t",
    "SELECT city, COUNT(*), COUNT(DISTINCT s), COUNT(DISTINCT f) FILTER (WHERE x > 3) FROM t GROUP BY city",
    "SELECT s, COUNT(*) AS n, COUNT(DISTINCT person) AS p FROM t GROUP BY s",
    "SELECT city, MEDIAN(f) AS m, SUM(x) AS s FROM t GROUP BY city",
    "SELECT COUNT(DISTINCT s) AS d, COUNT(*) AS n, SUM(x) AS t FROM rows",
    "SELECT s, COUNT(*) AS n FROM rows GROUP BY s",
    "SELECT SUM(i.z) AS z, COUNT(*) AS n FROM orders AS o JOIN items AS i ON o.id = i.order_id",
    "SELECT COUNT(*) AS n, SUM(t.x) AS x FROM t JOIN t AS u ON t.person = u.person JOIN shops ON shops.n = u.x",
    "SELECT AVG(c) AS a FROM (SELECT person, COUNT(*) AS c FROM t GROUP BY person)",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM (SELECT person, x FROM t UNION ALL SELECT person, x FROM t)",
)


def _tables() -> dict[str, pa.Table]:
    rows = range(300)
    people = [i % 41 if i % 7 else 5 for i in rows]
    t = pa.table(
        {
            "person": people,
            "x": [i * 7 % 11 for i in rows],
            "f": [None if i % 13 == 0 else i % 17 / 4 for i in rows],
            "s": [None if i % 11 == 0 else f"{i % 6}" for i in rows],
            "city": ["abc"[i % 3] for i in rows],
        }
    )
    orders = pa.table({"id": [i % 60 for i in range(90)], "buyer": [i % 19 for i in range(90)], "y": [1] * 90})
    items = pa.table({"order_id": [i % 70 for i in rows], "z": [i % 6 for i in rows]})
    shops = pa.table({"n": [i % 5 for i in range(20)], "label": [str(i) for i in range(20)]})
    return {"t": t, "orders": orders, "items": items, "rows": t.select(["x", "s"]), "shops": shops}


def _sorted(groups: Sequence[Group]) -> list[Any]:
    plain = [(g.key, g.units, g.sums, [(c.tolist(), n.tolist()) for c, n in g.cells]) for g in groups]
    return sorted((item for item in plain if any(item[1:3]) or any(item[2]) or any(c for c, _ in item[3])), key=repr)


def _split(request: BoundedAggregate, groups: Callable[..., Any], values: Callable[..., Any]) -> list[Group] | None:
    """As if a request failed for all units, and for one of the shards of the first level."""

    def fails(shard: Shard) -> bool:
        return shard == ALL or shard == Shard(3, 8)

    return in_shards(request, lambda shard: None if fails(shard) else groups(shard), values)


def _check(engine: Any, module: str, monkeypatch: pytest.MonkeyPatch, queries: Sequence[str] = QUERIES) -> None:
    for query in queries:
        bounded = make_plan(query, POLICY).levels[0].bounded
        at_once = engine.run(bounded, SALT)
        with monkeypatch.context() as patch:
            patch.setattr(f"discreet.engines.{module}._engine.in_shards", _split)
            in_parts = engine.run(bounded, SALT)
        assert _sorted(in_parts) == _sorted(at_once), query


def test_shards_add_up_on_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(_tables(), POLICY)
    _check(engine, "duckdb", monkeypatch)
    engine.close()


@pytest.mark.parametrize("queries", [QUERIES[::3], pytest.param(QUERIES, marks=pytest.mark.soak)])
def test_shards_add_up_where_rows_are_packed(
    queries: Sequence[str], monkeypatch: pytest.MonkeyPatch, spied: Callable[[pytest.MonkeyPatch], list[bool]]
) -> None:
    used = spied(monkeypatch)
    engine = open_engine(_tables(), POLICY)
    _check(engine, "duckdb", monkeypatch, queries)
    engine.close()
    assert any(used)


def test_shards_add_up_on_postgres(load_postgres: Any, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines.postgres import PostgreSQL

    engine = PostgreSQL(postgres, POLICY, load_postgres(_tables()))
    _check(engine, "postgres", monkeypatch)
    engine.close()


@pytest.mark.parametrize("queries", [QUERIES[:1], pytest.param(QUERIES, marks=pytest.mark.soak)])
def test_shards_add_up_on_spark(
    queries: Sequence[str], load_spark: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.engines.spark import Spark

    engine = Spark(spark, POLICY, load_spark(_tables()))
    _check(engine, "spark", monkeypatch, queries)
    engine.close()


def test_what_fails_for_the_fewest_units_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = make_plan(QUERIES[0], POLICY).levels[0].bounded
    asked: list[Shard] = []

    def fail(shard: Shard) -> None:
        asked.append(shard)

    assert in_shards(bounded, fail, lambda shard, place: None) is None
    assert [shard.count for shard in asked] == [8**depth for depth in range(5)]
    assert asked[-1].count == _shards._DEEPEST


def test_every_unit_is_in_one_shard_of_each_level() -> None:
    level = [ALL]
    for _ in range(3):
        level = [each for shard in level for each in shard.split()]
        assert {(shard.index, shard.count) for shard in level} == {(i, len(level)) for i in range(len(level))}
