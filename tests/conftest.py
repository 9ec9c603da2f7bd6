"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["sampled", "servers"]

# No deadline, and no limit on the time of drawing: a slow machine is no bug. In CI the examples are fixed, so that red
# means the change is to blame.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("local", **PATIENT)
settings.register_profile("ci", **PATIENT, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# Workers are as many as cores: threads of linear algebra and of trees would wait for each other in loops, which takes
# forty times as long where the machine is busy. This is read when numpy is loaded, and what a test starts has it too.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# Tests start interpreters by the dozen: none compiles what the one before it compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests and all modules are there to stay: they are not searched for garbage again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="module")
def one_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The engines of a module's tests are connections to one DuckDB.

    To open one costs more than most questions. All that an engine makes there is temporary, so its own; attached files
    alone are not, and tests of those open their own.
    """
    import duckdb

    real, opened = duckdb.connect, dict[str, duckdb.DuckDBPyConnection]()
    spill = str(tmp_path_factory.mktemp("spill"))

    def connect(database: Any = ":memory:", *, config: dict[str, Any] | None = None, **how: Any) -> Any:
        if database != ":memory:" or not config or how:
            return real(database, config=config or {}, **how)
        settings = {**config, "temp_directory": spill}
        if repr(settings) not in opened:
            opened[repr(settings)] = real(database, config=settings)
        return opened[repr(settings)].cursor()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", connect)
        yield
    for each in opened.values():
        each.close()
