"""Fronts that run while the tests do; and lets the tests import `frontends` and `fronts`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from frontends import Wire
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


@pytest.fixture
def wire(front: Front) -> Iterator[Wire]:
    """A session of ada's that spends a tenth on a question."""
    with Wire(front.host, front.port) as connection:
        options = "-c discreet.epsilon=0.1 -c client_min_messages=warning"
        connection.sign_in(front.tokens["ada"], user="ada", database="visits", options=options)
        yield connection
