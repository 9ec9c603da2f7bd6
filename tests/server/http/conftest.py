"""The application over a desk, asked without a network; and servers of small ASGI applications, in a thread each."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from discreet.server.connections import Certificates
from discreet.server.http._app import create_app
from discreet.server.http._options import ApiOptions

sys.path.insert(0, str(Path(__file__).parent))

from asgi_servers import AsgiServer


class Client:
    """Requests to the application, one after the other, from an account or from nobody."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._loop = asyncio.new_event_loop()
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx2.AsyncClient(transport=transport, base_url="http://desk")

    def __call__(self, method: str, path: str, auth: tuple[str, str] | None = None, **more: Any) -> httpx2.Response:
        return self._loop.run_until_complete(self._client.request(method, f"/v1{path}", auth=auth, **more))

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(what)

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


@pytest.fixture
def client_of() -> type[Client]:
    """Requests to an application of a test's own, which closes it."""
    return Client


@pytest.fixture
def ask(team: Any) -> Iterator[Client]:
    """Requests to a desk that shares nothing."""
    client = Client(create_app({"shop": team.desk}, ApiOptions(account_burst=1e4, address_burst=1e4)))
    yield client
    client.close()


@pytest.fixture
def slowly(team: Any) -> Iterator[Client]:
    """Requests to one that takes few of them."""
    options = ApiOptions(account_rate=0.01, account_burst=3, address_rate=0.01, address_burst=5)
    client = Client(create_app({"shop": team.desk}, options))
    yield client
    client.close()


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
