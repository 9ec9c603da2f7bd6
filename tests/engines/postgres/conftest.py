"""Tables put into the PostgreSQL server of the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "query"))

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]


@pytest.fixture(scope="session")
def load(load_postgres: Load) -> Load:
    """Puts tables into a schema of their own; returns their full names."""
    return load_postgres
