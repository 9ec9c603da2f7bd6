"""A Spark application for the tests that ask for one, and tables in it."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[2] / "query"))

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",  # what users have; the engine's own session must not
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these few rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_numbers = itertools.count()

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
"""Makes views of Arrow tables; returns their names in the session."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs them all, so that one application is started."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session as a user has it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("tests")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def load(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Load:
    """See `Load`."""

    def load(tables: Mapping[str, pa.Table]) -> dict[str, str]:
        number, names = next(_numbers), dict[str, str]()
        for name, table in tables.items():
            path = tmp_path_factory.mktemp("tables") / f"{name}.parquet"
            pq.write_table(table, path)
            names[name] = f"{name}_{number}"
            spark.read.parquet(str(path)).createOrReplaceTempView(names[name])
        return names

    return load
