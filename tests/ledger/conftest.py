"""Where ledgers are kept, for tests that all of them must pass."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the scripts that tests of this folder run, and read

_numbers = itertools.count()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be made: a path, or the URL of a schema that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger")
    return request.getfixturevalue("place_on_server")


@pytest.fixture
def place_on_server(postgres: str) -> str:
    """The URL of a schema that is not there yet."""
    return f"{postgres}{'&' if '?' in postgres else '?'}ledger=place_{os.getpid()}_{next(_numbers)}"
