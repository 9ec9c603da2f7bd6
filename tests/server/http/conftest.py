"""Servers of small ASGI applications that run while a test does; and lets the tests import `asgi_servers`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from asgi_servers import AsgiServer

from discreet.server.connections import Certificates


@pytest.fixture
def serve() -> Iterator[Callable[..., AsgiServer]]:
    """Starts servers, and sees that each ends."""
    running: list[AsgiServer] = []

    def start(application: Any, certificates: Certificates | None = None, **limits: Any) -> AsgiServer:
        running.append(AsgiServer(application, certificates, **limits).start())
        return running[-1]

    yield start
    for each in running:
        each.stop()
