"""What pages are run with; and lets the tests import `pages`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from discreet.datasets import rand

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("pages")


@pytest.fixture(scope="session")
def rand_url(postgres: str, load_postgres: Callable[..., dict[str, str]]) -> str:
    """The URL of a PostgreSQL database with the visits of the demo."""
    table = pyarrow.parquet.read_table(rand.table)
    schema = load_postgres({"visits": table})["visits"].partition(".")[0]
    return f"{postgres}&options=-csearch_path%3D{schema}"
