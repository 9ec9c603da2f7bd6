"""A provider at a port, and browsers that speak with an application without a network."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("provider")

from provider import FakeProvider, new_keys, running  # noqa: E402

from discreet.server.http._app import create_app  # noqa: E402
from discreet.server.http._options import ApiOptions  # noqa: E402
from discreet.server.http.identity import OidcOptions  # noqa: E402

ORIGIN = "https://desk.example"


@pytest.fixture(scope="session")
def keys() -> dict[str, Any]:
    return new_keys()


@pytest.fixture(scope="module")
def one_provider(keys: Any) -> Iterator[FakeProvider]:
    with running(FakeProvider(keys)) as provider:
        yield provider


@pytest.fixture
def fake(one_provider: FakeProvider, keys: Any) -> FakeProvider:
    """A provider that says what is right, until a test spoils it."""
    issuer = one_provider.issuer
    one_provider.__init__(dict(keys))
    one_provider.issuer = issuer
    return one_provider


class Browser:
    """One browser: its cookies, which a `Secure` one is among, and what it asks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, app: Any) -> None:
        self._loop = loop
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        self.client = httpx2.AsyncClient(transport=transport, base_url=ORIGIN)

    def __call__(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return self._loop.run_until_complete(self.client.request(method, f"/v1{path}", **more))

    @property
    def cookies(self) -> dict[str, str]:
        return dict(self.client.cookies.items())

    def close(self) -> None:
        self._loop.run_until_complete(self.client.aclose())


@pytest.fixture
def browsers(team: Any, fake: FakeProvider) -> Iterator[Callable[..., Browser]]:
    """Browsers of one application, which the provider `fake` signs in."""
    loop, opened = asyncio.new_event_loop(), list[Browser]()
    apps: dict[str, Any] = {}

    def browser(**options: Any) -> Browser:
        name = repr(options)
        if name not in apps:
            settings = {"issuer": fake.issuer, "client_id": fake.client_id, "claim": "preferred_username"}
            settings |= {"public_url": ORIGIN, **options}
            apps[name] = create_app(
                {"shop": team.desk}, ApiOptions(account_burst=1e4, address_burst=1e4), OidcOptions(**settings)
            )
        opened.append(Browser(loop, apps[name]))
        return opened[-1]

    yield browser
    for each in opened:
        each.close()
    loop.close()
