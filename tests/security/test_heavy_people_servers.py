"""What `test_heavy_people.py` asks of DuckDB, asked of PostgreSQL with little disk and of Spark with little memory."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pressure.databases import neighbour, shop, shop_policy
from pressure.outcomes import NEVER, Cancel, ended, released
from pressure.queries import SCRIPTS, random_query

import discreet as dp
from discreet.engines import Engine
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import Spark
from discreet.errors import QueryError
from discreet.ledger import open_ledger
from discreet.query import make_plan
from discreet.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]

SECONDS = 240
POLICY = shop_policy()
DAILY = ("public, three times",)
KINDS = ("one row", "a few long", "heavy", "heavy, own orders", "heavy, alike", "many short")
"""Rows of 777 that the servers load soon enough."""


class Served:
    """Engines of one server over the shop and its neighbours, each loaded when it is first asked."""

    def __init__(self, load: Load, connect: Callable[[dict[str, str]], Engine], cancel: Cancel) -> None:
        self._load, self._connect, self.cancel = load, connect, cancel
        self._tables = shop()
        self._engines: dict[str | None, Engine] = {}

    def engine(self, kind: str | None) -> Engine:
        if kind not in self._engines:
            names = self._load(self._tables if kind is None else neighbour(kind, self._tables))
            self._engines[kind] = self._connect(names)
            for table in POLICY.tables:
                self._engines[kind].check(table)
        return self._engines[kind]

    def check_script(self, name: str) -> None:
        """A script's outcome, in a session with a ledger of its own, is the same with 777 and without."""
        script, outcomes = SCRIPTS[name], []
        for kind in (None, script.neighbour):
            session = Session(self.engine(kind), POLICY, open_ledger(None, dp.approx(10**9, "0.9")))
            outcomes.append(released(session, script.query, self.cancel, SECONDS))
        assert outcomes[0] == outcomes[1], script.query
        assert outcomes[0][0] != NEVER, script.query

    def differing(self, seed: str, count: int) -> list[str]:
        """What differs, of so many random queries below the session."""
        dice, messages = random.Random(seed), list[str]()
        while count:
            query, kind = random_query(dice), dice.choice(KINDS)
            try:
                plan = make_plan(query, POLICY)
            except QueryError:
                continue
            count -= 1
            bounded = plan.levels[0].bounded
            outcomes = [ended(self.engine(which), bounded, self.cancel, SECONDS) for which in (None, kind)]
            if outcomes[0] != outcomes[1]:
                messages.append(f"{query}: {outcomes[0]} without 777, {outcomes[1]} with 777 ({kind})")
        return messages

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()


@pytest.fixture(scope="module")
def postgres_shops(postgres: str, admin: psycopg.Connection[Any], load_postgres: Load) -> Iterator[Served]:
    """As a role that may write 256 MB of temporary files."""
    admin.execute("CREATE ROLE tight LOGIN PASSWORD 'tight'")
    admin.execute("GRANT pg_read_all_data TO tight")
    admin.execute("ALTER ROLE tight SET temp_file_limit = '256MB'")
    url = postgres.replace("//postgres:@", "//tight:tight@")
    assert url != postgres
    stop = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'tight'"
    served = Served(load_postgres, lambda names: PostgreSQL(url, POLICY, names), partial(admin.execute, stop))
    yield served
    served.close()
    admin.execute("REVOKE pg_read_all_data FROM tight")
    admin.execute("DROP ROLE tight")


@pytest.fixture(scope="module")
def spark_shops(spark: SparkSession, load_spark: Load) -> Iterator[Served]:
    """In the 1 GB of the tests' session."""
    served = Served(load_spark, lambda names: Spark(spark, POLICY, names), spark.sparkContext.cancelAllJobs)
    yield served
    served.close()


LOADED = [name for name, script in SCRIPTS.items() if script.neighbour in KINDS]


@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] * (n not in DAILY)) for n in LOADED])
def test_a_script_sees_nobody_in_postgres(name: str, postgres_shops: Served) -> None:
    postgres_shops.check_script(name)


@pytest.mark.soak
@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize("name", LOADED)
def test_a_script_sees_nobody_in_spark(name: str, spark_shops: Served) -> None:
    spark_shops.check_script(name)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_random_queries_end_alike_in_postgres(seed: int, postgres_shops: Served) -> None:
    """10 seeds of 30 pairs."""
    assert postgres_shops.differing(f"soak {seed}", 30) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
def test_random_queries_end_alike_in_spark(seed: int, spark_shops: Served) -> None:
    """3 seeds of 10 pairs."""
    assert spark_shops.differing(f"soak {seed}", 10) == []
