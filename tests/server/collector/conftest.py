"""Collectors that run while the tests of a module do; and lets the tests import `collectors`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from collectors import Collector


@pytest.fixture(scope="module", params=["collector", "asgi"])
def start(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Collector]]:
    """Starts collectors on either stack, and sees that each ends well."""
    running: list[Collector] = []

    def begin(home: Path | None = None, fold: int = 1 << 22, **limits: int) -> Collector:
        running.append(
            Collector(home or tmp_path_factory.mktemp("store") / "store", limits, fold, stack=request.param).start()
        )
        return running[-1]

    yield begin
    for each in running:
        if each.process.returncode is None:
            each.stop()


@pytest.fixture(scope="module")
def collector(start: Callable[..., Collector]) -> Collector:
    """One that all tests of a module send to."""
    return start()


@pytest.fixture(scope="module")
def strict(start: Callable[..., Collector]) -> Collector:
    """One with little patience and little room."""
    return start(body=1 << 16, held=1 << 17, connections=50, seconds=1)
