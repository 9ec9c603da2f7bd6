"""Records are the rows that count: their sums and counts are those of a query with the same salt, caps biting."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines import Engine
from discreet.engines._open import open_engine
from discreet.engines._shards import ALL
from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.query import PERSON_COLUMN, RecordPlan, Sum, plan_records

pytestmark = pytest.mark.usefixtures("one_database")
Tables = dict[str, pa.Table]
Open = Callable[[Policy, Tables], Engine]
DAYS = [dt.date(2024, 1, day) for day in (1, 2, 3)]
SITES = ["a", "it's", "ü", ""]
QUERIES = [
    "SELECT age, cost, site FROM visits",
    "SELECT LN(cost + 1) AS logged, age / 10 AS decade, cost > 5 AS dear, day FROM visits WHERE age > 20",
    "SELECT v.age, p.member, v.site FROM visits v JOIN persons p ON v.person = p.person",
    "SELECT well, CASE WHEN age > 50 THEN 'old' ELSE 'young' END AS stage, age * cost AS product FROM visits",
    "SELECT n, total FROM (SELECT person, COUNT(*) AS n, SUM(age) AS total FROM visits GROUP BY person)",
]


def policy_of(unit: str, most: int) -> Policy:
    columns = {
        "age": {"type": "int", "bounds": [0, 99]},
        "cost": {"type": "float", "bounds": [0, 10]},
        "site": {"type": "string", "keys": SITES},
        "day": {"type": "date", "keys": DAYS},
        "well": {"type": "bool"},
    }
    visits: dict[str, Any] = {"unit": unit, "columns": columns} | ({} if unit == "rows" else {"max_rows": most})
    persons = {"unit": "person", "max_rows": 1, "columns": {"member": {"type": "bool", "nullable": False}}}
    return load_policy({"version": "1", "tables": {"visits": visits, "persons": persons}})


def tables(dice: random.Random, rows: int = 120) -> Tables:
    """Rows with values that no policy has, and people with many rows."""

    def some(*values: Any) -> list[Any]:
        return [dice.choice([*values, *values, None]) for _ in range(rows)]

    return {
        "visits": pa.table({
            "person": pa.array([dice.choice([*range(12), 1, 1, 1, None]) for _ in range(rows)], pa.int64()),
            "age": pa.array(some(-5, 0, 17, 40, 64, 99, 200), pa.int64()),
            "cost": pa.array(some(-1.0, 0.0, 2.125, 9.999, 11.0, 0.1), pa.float64()),
            "site": pa.array(some(*SITES, "other"), pa.string()),
            "day": pa.array(some(*DAYS, dt.date(1999, 1, 1)), pa.date32()),
            "well": pa.array(some(True, False), pa.bool_()),
        }),
        "persons": pa.table({"person": list(range(10)), "member": [i % 3 == 0 for i in range(10)]}),
    }  # fmt: skip


def opened(policy: Policy, data: Tables) -> Engine:
    return open_engine(data, policy)


def compare(open_at: Open, seed: int, unit: str, queries: list[str]) -> int:
    """Compare records with sums by their categories, of the same rows; how many records there were."""
    dice, found = random.Random(seed), 0
    policy = policy_of(unit, dice.randint(1, 4))
    engine = open_at(policy, tables(dice))
    for query in queries:
        plan = plan_records(query, policy)
        salt = dice.randbytes(16)
        engine.accept(plan.rows.bounded)
        records = engine.read_records(plan.rows, salt)
        groups = engine.run(replace(plan.rows.bounded, count_units=unit == "rows"), salt)
        assert summed(plan, records) == {group.key: group.sums for group in groups if any(group.sums)}, query
        check_limits(plan, records)
        found += records.num_rows
    engine.close()
    return found


def summed(plan: RecordPlan, records: pa.Table) -> dict[Any, Any]:
    """The sums of numbers by categories; groups without any are left out."""
    keys = plan.rows.bounded.keys
    sums: dict[Any, list[int]] = {}
    for row in records.to_pylist():
        key = tuple((each.values or ())[row[f"k{i}"]] for i, each in enumerate(keys))
        so_far = sums.setdefault(key, [0] * len(plan.rows.bounded.measures))
        for i in range(len(so_far)):
            so_far[i] += row[f"v{i}"] or 0
    return {key: tuple(each) for key, each in sums.items() if any(each)}


def check_limits(plan: RecordPlan, records: pa.Table) -> None:
    bounded = plan.rows.bounded
    if bounded.unit is not None and records.num_rows:
        people = Counter(records[PERSON_COLUMN].to_pylist())
        assert max(people.values()) <= bounded.max_rows
        assert set(people) <= set(range(200))
    for feature in plan.features:
        for value in records[feature.column].to_pylist():
            if feature.is_number:
                assert value is None or feature.lower <= value <= feature.upper
                assert feature.nullable or value is not None
            else:
                assert 0 <= value < len(feature.values or ())


@pytest.mark.parametrize("unit", ["rows", "person"])
def test_records_are_the_rows_that_queries_count(unit: str) -> None:
    queries = QUERIES if unit == "person" else [each for each in QUERIES if "person" not in each]
    assert sum(compare(opened, seed, unit, queries) for seed in range(6)) > 500


def test_postgres_reads_the_rows_that_it_counts(load_postgres: Any, postgres: str) -> None:
    from discreet.engines.postgres import PostgreSQL

    def open_at(policy: Policy, data: Tables) -> Engine:
        return PostgreSQL(postgres, policy, load_postgres(data))

    assert sum(compare(open_at, seed, "person", QUERIES) for seed in range(3)) > 100
    assert compare(open_at, 5, "rows", QUERIES[:2]) > 50


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_reads_the_rows_that_it_counts(load_spark: Any, spark: Any) -> None:
    from discreet.engines.spark import Spark

    def open_at(policy: Policy, data: Tables) -> Engine:
        return Spark(spark, policy, load_spark(data))

    assert compare(open_at, 0, "person", QUERIES[:3]) > 20
    assert compare(open_at, 5, "rows", QUERIES[:2]) > 50


@pytest.mark.parametrize("keys", [[-(2**63)], [2**63 - 2, 2**63 - 1], [2**63 - 1, -(2**63)]])
def test_keys_may_be_the_first_and_last_whole_numbers(keys: list[int]) -> None:
    columns = {"n": {"type": "int", "keys": keys}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    engine = opened(policy, {"t": pa.table({"n": pa.array([*keys, 0, None], pa.int64())})})
    records = engine.read_records(plan_records("SELECT n FROM t", policy).rows, bytes(16))
    engine.close()
    assert sorted(records["k0"].to_pylist()) == [*range(len(keys) + 1)]


def test_shards_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)
    policy, data = policy_of("person", 3), tables(dice)
    plan, salt = plan_records(QUERIES[0], policy), dice.randbytes(16)
    engine = opened(policy, data)
    whole = engine.read_records(plan.rows, salt)
    read = DuckDB._records

    def small(self: Any, request: Any, source: str, salt: bytes) -> Any:
        return None if source == self._rows(request.bounded, ALL) else read(self, request, source, salt)

    monkeypatch.setattr(DuckDB, "_records", small)
    parts = engine.read_records(plan.rows, salt)
    engine.close()

    def people(table: pa.Table) -> list[Any]:
        """The rows of each person, in whatever order."""
        rows: dict[int, list[str]] = {}
        for row in table.to_pylist():
            rows.setdefault(row.pop(PERSON_COLUMN), []).append(repr(row))
        return sorted(sorted(each) for each in rows.values())

    assert people(parts) == people(whole)
    assert set(parts[PERSON_COLUMN].to_pylist()) == set(whole[PERSON_COLUMN].to_pylist())


@pytest.mark.parametrize("query", QUERIES)
def test_a_person_more_is_a_few_records_more(query: str) -> None:
    """The records of all others are the same ones, whatever rows the person has."""
    for seed in range(4):
        dice = random.Random(seed)
        policy, data = policy_of("person", dice.randint(1, 3)), tables(dice)
        rows = data["visits"].to_pylist()
        more = [{**dice.choice(rows), "person": 9} for _ in range(dice.randint(1, 9))]
        less = [row for row in rows if row["person"] != 9]
        plan, salt = plan_records(query, policy), dice.randbytes(16)
        sides: list[Counter[str]] = []
        for side in (less, [*less, *more]):
            engine = opened(policy, {**data, "visits": pa.Table.from_pylist(side, data["visits"].schema)})
            records = engine.read_records(plan.rows, salt)
            engine.close()
            sides.append(Counter(repr(row) for row in records.drop_columns(PERSON_COLUMN).to_pylist()))
        assert not sides[0] - sides[1]
        assert (sides[1] - sides[0]).total() <= plan.rows.bounded.max_rows


def test_numbers_of_records_are_those_of_sums() -> None:
    plan = plan_records("SELECT age, LN(cost + 1) AS c FROM visits", policy_of("person", 2))
    assert all(isinstance(each, Sum) and each.center == 0 for each in plan.rows.bounded.measures)
    assert plan.feature("AGE").bounds == (0, 99) and plan.feature("age").integer
    low, high = plan.feature("c").bounds
    assert low == 0 and 2.397 < high < 2.398
