"""Fronts that run while the tests do; and lets the tests import `frontends` and `fronts`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fronts import Front, certificate, encryption, terms


@pytest.fixture(scope="session")
def front() -> Iterator[Front]:
    """In the clear, for clients that ask questions."""
    running = Front(terms(insecure=True), shelf=True).start()
    yield running
    running.stop()
    assert running.status == []


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def secure(certificates: tuple[Path, Path]) -> Iterator[Front]:
    """In TLS alone, with SCRAM."""
    running = Front(terms(encryption=encryption(certificates))).start()
    yield running
    running.stop()
    assert running.status == []
