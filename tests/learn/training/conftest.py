"""Modules beside the tests can be imported by their names; a session over a small table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import trainings

import discreet as dp


@pytest.fixture(scope="session")
def table() -> pa.Table:
    return trainings.visits()


@pytest.fixture
def session(table: pa.Table) -> Iterator[dp.Session]:
    with dp.connect({"visits": table}, trainings.POLICY) as opened:
        yield opened
