"""Tables as views of the Spark session of the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "query"))

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]


@pytest.fixture(scope="session")
def load(load_spark: Load) -> Load:
    """Makes views of Arrow tables; returns their names in the session."""
    return load_spark
