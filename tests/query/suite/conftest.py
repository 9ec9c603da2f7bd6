"""Lets the tests of the suite import it as a package, and makes the shop once for all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from suite.databases import plain_database, shop_tables


@pytest.fixture(scope="session")
def tables() -> dict[str, pa.Table]:
    """The rows of every table."""
    return shop_tables()


@pytest.fixture(scope="session")
def plain(tables: dict[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """The rows that count, as plain SQL sees them."""
    with plain_database(tables) as connection:
        yield connection
