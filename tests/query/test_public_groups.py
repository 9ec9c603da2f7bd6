"""Groups by columns of public tables: all that the tables have, for no δ, and read from nothing else."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import complete, make_plan, public_reader
from discreet.query._verify import recompute_query_loss, verify_query_loss
from discreet.release import json_digest

NEARLY_EXACT = dp.pure(10**6)
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**12, "delta": 0.1},
    "tables": {
        "customer": {"unit": "custkey", "max_rows": 4, "columns": {
            "custkey": {"type": "int"}, "home": {"type": "int"}, "seg": {"type": "string", "keys": ["x", "y"]},
            "acct": {"type": "float", "bounds": [0, 100]}, "note": {"type": "string"}}},
        "nation": {"public": True, "key": "nationkey", "columns": {
            "nationkey": {"type": "int"}, "n_name": {"type": "string"}, "region": {"type": "int"},
            "founded": {"type": "date"}, "size": {"type": "int", "bounds": [0, 3]},
            "kind": {"type": "string", "keys": ["old", "new"]}}},
        "region": {"public": True, "key": "regionkey", "columns": {
            "regionkey": {"type": "int"}, "r_name": {"type": "string"}}},
        "alias": {"public": True, "columns": {"of": {"type": "int"}, "called": {"type": "string"}}},
    },
}  # fmt: skip
JOINED = "customer JOIN nation ON home = nationkey"
OUTER = "customer LEFT JOIN nation ON home = nationkey"
ALL = f"{JOINED} JOIN region ON region = regionkey"
RENAMED = "(SELECT nationkey AS z, region AS r, n_name AS one FROM nation)"
POLICY_OF = load_policy(POLICY)


def public_tables(seed: object = "nations") -> dict[str, pa.Table]:
    dice = random.Random(str(seed))
    some = range(12)
    return {
        "nation": pa.table({
            "nationkey": pa.array(list(some), pa.int64()),
            "n_name": pa.array([dice.choice(["at", "de", "fr", "Fr", "", None]) for _ in some], pa.string()),
            "region": pa.array([dice.choice([0, 1, 2, 7, None]) for _ in some], pa.int64()),
            "founded": pa.array([dice.choice([None, dt.date(1918, 1 + i, 3)]) for i in some], pa.date32()),
            "size": pa.array([dice.choice([-1, 0, 2, 9, None]) for _ in some], pa.int64()),
            "kind": pa.array([dice.choice(["old", "new", "odd", None]) for _ in some], pa.string())}),
        "region": pa.table({"regionkey": [0, 1, 2, 3], "r_name": ["ASIA", "EUROPE", None, "AFRICA"]}),
        "alias": pa.table({"of": [0, 0, 1, 5], "called": ["a", "b", "b", None]}),
    }  # fmt: skip


def customers(number: int = 300) -> pa.Table:
    dice = random.Random("customers")
    return pa.table({
        "custkey": pa.array(list(range(number)), pa.int64()),
        "home": pa.array([dice.choice([None, *range(15)]) for _ in range(number)], pa.int64()),
        "seg": pa.array([dice.choice(["x", "y"]) for _ in range(number)], pa.string()),
        "acct": pa.array([dice.choice([None, 5.0, 50.0]) for _ in range(number)], pa.float64()),
        "note": pa.array([dice.choice(["secret", None]) for _ in range(number)], pa.string())})  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    with dp.connect({"customer": customers(), **public_tables()}, POLICY) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, table in {"customer": customers(), **public_tables()}.items():
        connection.register(name, table)
    return connection


def rows(table: pa.Table) -> set[tuple[Any, ...]]:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


QUERIES = [
    # the keys, what is joined, conditions, and the public rows that hold all groups
    ("n_name", JOINED, "TRUE", "nation"),
    ("n_name, founded", JOINED, "acct > 10", "nation"),
    ("UPPER(n_name)", JOINED, "n_name <> 'de'", "nation WHERE n_name <> 'de'"),
    ("YEAR(founded), MONTH(founded)", JOINED, "size IS NOT NULL", "nation WHERE size IS NOT NULL"),
    ("size", JOINED, "n_name LIKE 'f%' OR region = 1", "nation WHERE n_name LIKE 'f%' OR region = 1"),
    ("n_name", JOINED, "n_name = 'at' OR acct > 10", "nation"),
    ("n_name || '!'", JOINED, "TRUE", "nation"),
    ("n_name, r_name", ALL, "TRUE", "nation JOIN region ON region = regionkey"),
    ("n_name", ALL, "r_name = 'ASIA'", "nation JOIN region ON region = regionkey WHERE r_name = 'ASIA'"),
    ("n_name, r_name IS NULL", ALL, "size > 0", "nation JOIN region ON region = regionkey WHERE size > 0"),
    ("r_name", ALL, "TRUE", "region"),
    ("n_name", OUTER, "TRUE", "(FROM nation UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL)"),
    ("COALESCE(n_name, 'none'), size", OUTER, "TRUE",
     "(FROM nation UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL)"),
    ("n_name", OUTER, "size < 5", "nation WHERE size < 5"),
    ("n_name", OUTER, "nationkey IS NOT NULL", "nation"),
    ("called", "customer JOIN alias ON home = of", "TRUE", "alias"),
    ("called, n_name", f"{JOINED} JOIN alias ON home = of", "TRUE",
     "(SELECT DISTINCT called FROM alias), (SELECT DISTINCT n_name FROM nation)"),
    ("n_name, seg", JOINED, "seg <> 'y'", "nation, (SELECT 'x' AS seg)"),
    ("m, b", "customer JOIN (SELECT nationkey AS z, LOWER(n_name) AS m, size > 1 AS b FROM nation) ON home = z", "b",
     "(SELECT LOWER(n_name) AS m, size > 1 AS b FROM nation) WHERE b"),
    ("one, b.size", f"customer JOIN {RENAMED} ON home = z JOIN nation b ON r = b.nationkey",
     "(one = 'at' AND b.size >= 0) OR one IN ('fr', 'Fr')",
     f"{RENAMED} JOIN nation b ON r = nationkey WHERE (one = 'at' AND b.size >= 0) OR one IN ('fr', 'Fr')"),
    ("n_name", "customer, region, nation", "home = nationkey AND regionkey = region AND r_name LIKE 'E%'",
     "nation JOIN region ON region = regionkey WHERE r_name LIKE 'E%'"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "joined", "where", "public"), QUERIES)
def test_all_groups_are_answered_as_plain_sql_has_them(
    keys: str, joined: str, where: str, public: str, session: dp.Session, plain: duckdb.DuckDBPyConnection
) -> None:
    query = f"SELECT {keys}, COUNT(*) AS n, SUM(acct) AS s FROM {joined} WHERE {where} GROUP BY ALL"
    release = session.sql(query, NEARLY_EXACT)
    answer = release.to_arrow()
    truth = {
        row[:-2]: row[-2:]
        for row in plain.execute(
            f"SELECT {keys}, COUNT(*), SUM(acct) FROM {joined} WHERE {where} GROUP BY ALL"
        ).fetchall()
    }
    found = {row[:-2]: row[-2:] for row in rows(answer)}
    assert set(found) == set(plain.execute(f"SELECT DISTINCT {keys} FROM {public}").fetchall())
    assert set(truth) <= set(found)
    for key, (n, s) in found.items():
        count, total = truth.get(key, (0, 0))
        assert n == count
        assert abs(s - (total or 0)) < 0.01
    assert release.loss == NEARLY_EXACT


def test_conditions_on_several_tables_leave_what_they_list_of_each(session: dp.Session) -> None:
    plan = session.plan(
        f"SELECT n_name, called, COUNT(*) AS n FROM {JOINED} JOIN alias ON home = of "
        "WHERE (n_name = 'at' AND called = 'a') OR (n_name = 'de' AND called IN ('b', 'c')) GROUP BY ALL"
    )
    names, called = (key.values or () for key in plan.levels[0].bounded.keys)
    assert set(names) <= {"at", "de"}
    assert set(called) == {"a", "b"}


def test_keys_that_the_policy_lists_are_all_answered_as_before(session: dp.Session) -> None:
    answer = session.sql(f"SELECT kind, COUNT(*) AS n FROM {JOINED} GROUP BY kind", NEARLY_EXACT).to_arrow()
    assert answer.column("kind").to_pylist() == ["old", "new"]


def test_beside_a_private_key_all_keys_are_discovered(session: dp.Session) -> None:
    plan = session.plan(f"SELECT n_name, note, COUNT(*) AS n FROM {JOINED} GROUP BY n_name, note", dp.approx(1, 1e-6))
    assert [key.values for key in plan.levels[0].bounded.keys] == [None, None]


def test_sets_and_first_keys(session: dp.Session, plain: duckdb.DuckDBPyConnection) -> None:
    query = f"SELECT n_name, r_name, COUNT(*) AS n FROM {ALL} GROUP BY ROLLUP (n_name, r_name)"
    found = {row for row in rows(session.sql(query, NEARLY_EXACT).to_arrow()) if row[-1]}
    assert found == set(plain.execute(query).fetchall())
    first = session.sql(f"SELECT n_name, COUNT(*) AS n FROM {JOINED} GROUP BY 1 ORDER BY n DESC LIMIT 2", NEARLY_EXACT)
    top = plain.execute(f"SELECT n_name, COUNT(*) AS n FROM {JOINED} GROUP BY 1 ORDER BY n DESC LIMIT 2").fetchall()
    assert first.to_arrow().column("n").to_pylist() == [n for _, n in top]


def test_the_groups_are_the_same_without_anybody() -> None:
    query = f"SELECT n_name, size, COUNT(*) AS n FROM {OUTER} GROUP BY ALL"
    shown = []
    for people in (customers(0), customers(1), customers()):
        with dp.connect({"customer": people, **public_tables()}, POLICY) as session:
            release = session.sql(query, NEARLY_EXACT)
            shown.append((release.to_arrow().select(["n_name", "size"]), release.certificate["plan"]))
    assert shown[0] == shown[1] == shown[2]


def test_other_public_rows_are_another_question() -> None:
    query, hashes = f"SELECT n_name, size, COUNT(*) AS n FROM {JOINED} GROUP BY ALL", set[str]()
    for seed in ("nations", "nations", "others"):
        with dp.connect({"customer": customers(), **public_tables(seed)}, POLICY) as session:
            hashes.add(session.plan(query, NEARLY_EXACT).hash(POLICY_OF))
    assert len(hashes) == 2


def test_a_certificate_says_which_groups_were_read(session: dp.Session, plain: duckdb.DuckDBPyConnection) -> None:
    query = f"SELECT n_name, founded, COUNT(*) AS n FROM {JOINED} GROUP BY ALL HAVING COUNT(*) > 5"
    release = dp.Release.from_bytes(session.sql(query, dp.pure(1)).to_bytes())
    (read,) = release.certificate["public_keys"]
    listed = plain.execute(f"FROM ({read['query']}) ORDER BY n_name NULLS LAST, founded NULLS LAST").fetchall()
    assert (read["keys"], read["groups"]) == (["n_name", "founded"], len(listed))
    assert read["rows"] == json_digest([[n, None if day is None else day.isoformat()] for n, day in listed])
    assert recompute_query_loss(release.certificate) == release.loss == dp.pure(1)
    verify_query_loss(release.certificate)
    none = session.sql("SELECT seg, COUNT(*) AS n FROM customer GROUP BY seg", dp.pure(1))
    assert "public_keys" not in none.certificate


def test_the_plan_says_where_groups_come_from(session: dp.Session) -> None:
    text = session.plan(f"SELECT n_name, size, COUNT(*) AS n FROM {JOINED} GROUP BY ALL", dp.pure(1)).explain()
    assert (
        'Key n_name: 6 public keys, in the combinations with size that there are, by SELECT DISTINCT "n_name"' in text
    )


def test_bias_is_estimated_beside_public_groups(session: dp.Session) -> None:
    release = session.sql(f"SELECT n_name, SUM(acct) AS s FROM {JOINED} GROUP BY 1", NEARLY_EXACT, bias=True)
    assert release.bias("s")


def test_what_reads_groups_reads_no_private_rows() -> None:
    engine = DuckDB({"customer": customers(), **public_tables()}, POLICY_OF)
    read = public_reader(engine)
    private = make_plan("SELECT note, COUNT(*) AS n FROM customer GROUP BY note", POLICY_OF).levels[0].bounded
    for request in (private, replace(private, unit=None), replace(private, unit=None, measures=())):
        with pytest.raises(dp.QueryError, match="public tables alone"):
            read(request)
    engine.close()


def test_groups_that_were_not_read_are_not_answered() -> None:
    plan = make_plan(f"SELECT n_name, COUNT(*) AS n FROM {JOINED} GROUP BY 1", POLICY_OF, dp.pure(1))
    assert plan.levels[0].bounded.keys[0].is_unread
    assert "which a session reads" in plan.explain()
    assert "read from a table" in str(plan)
    assert plan.error("n") == 12
    with pytest.raises(dp.QueryError, match="needs to plan"):
        complete([], plan.levels[0].bounded)


@pytest.mark.parametrize("where", ["n_name = 'nowhere'", "size > 100", "region IN (1) AND region = 2"])
def test_no_group_at_all_is_refused(where: str, session: dp.Session) -> None:
    spent = session.spent
    with pytest.raises(dp.QueryError, match="write a WHERE that leaves some"):
        session.sql(f"SELECT n_name, COUNT(*) AS n FROM {JOINED} WHERE {where} GROUP BY 1", NEARLY_EXACT)
    assert session.spent == spent


@pytest.mark.parametrize("number", [10_000, 10_001])
def test_more_groups_than_are_worth_noise_are_discovered(number: int) -> None:
    tables = public_tables() | {
        "alias": pa.table({"of": list(range(number)), "called": [f"c{i}" for i in range(number)]})
    }
    query = "SELECT called, COUNT(*) AS n FROM customer JOIN alias ON home = of GROUP BY called"
    with dp.connect({"customer": customers(), **tables}, POLICY) as session:
        if number == 10_000:
            assert session.sql(query, NEARLY_EXACT).to_arrow().num_rows == 10_000
            return
        with pytest.raises(dp.ParameterError, match=r"needs a delta.*at most 10,000 values"):
            session.sql(query, NEARLY_EXACT)
        plan = session.plan(query, dp.approx(10**6, 1e-6))
        assert "private keys, discovered: its public values are too many to list" in plan.explain()
        assert session.sql(query, dp.approx(10**6, 1e-6)).to_arrow().num_rows <= 15
