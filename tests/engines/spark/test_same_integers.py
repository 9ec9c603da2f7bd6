"""Every query of the suite: the integers before noise are those of DuckDB, group by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from suite.case import Case
from suite.cases import CASES
from suite.databases import shop_policy, shop_tables
from suite.features import landed

from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.spark import Spark
from discreet.policy import Policy, load_policy
from discreet.privacy import approx
from discreet.query import BoundedAggregate, Group, make_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWERED = [each for each in CASES if landed(each.needs)]
Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
SALT = bytes(range(16))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(shop_policy({"epsilon": 10**14, "delta": 0.9}))


@pytest.fixture(scope="module")
def engines(policy: Policy, load: Load, spark: SparkSession) -> Iterator[tuple[Engine, Engine]]:
    tables: dict[str, pa.Table] = shop_tables()
    duck, other = DuckDB(tables, policy), Spark(spark, policy, load(tables))
    for name in policy.tables:
        other.check(name)
    yield duck, other
    duck.close()
    other.close()


def exact(engine: Engine, request: BoundedAggregate) -> list[tuple[object, ...]]:
    """What an engine finds, in an order that only depends on what it is."""
    return sorted((_plain(group, request) for group in engine.run(request, SALT)), key=repr)


def _plain(group: Group, request: BoundedAggregate) -> tuple[object, ...]:
    cells = [dict(zip(where.tolist(), many.tolist(), strict=True)) for where, many in group.cells]
    cells = cells or [{} for _ in request.histograms]
    return group.key, group.units, group.sums, cells


@pytest.mark.parametrize(
    "each",
    [pytest.param(each, marks=[pytest.mark.soak] if i % 3 else []) for i, each in enumerate(ANSWERED)],
    ids=lambda each: each.query[:110],
)
def test_the_integers_are_those_of_duckdb(each: Case, engines: tuple[Engine, Engine], policy: Policy) -> None:
    duck, other = engines
    for level in make_plan(each.query, policy, approx(10**9, 1e-6)).levels:
        assert exact(other, level.bounded) == exact(duck, level.bounded)


def test_there_are_enough_of_them() -> None:
    """A third of them are asked every time, and all in the soak."""
    assert len(ANSWERED) >= 300
