"""Servers that a client asks: the API over a desk, and applications that answer what no server should."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.client import AsyncRemoteSession, RemoteSession
from discreet.privacy import pure
from discreet.server.connections import ConnectionLimits
from discreet.server.desk import Desk, open_desk
from discreet.server.http._app import create_app
from discreet.server.http._options import ApiOptions
from discreet.server.http._protocol import StrictHttp
from discreet.server.http._server import HttpServer, configure

sys.path.insert(0, str(Path(__file__).parent))

POLICY = {
    "version": "1",
    "budget": {"epsilon": 100},
    "tables": {
        "visits": {
            "unit": "rows",
            "columns": {
                "age": {"type": "int"},
                "cost": {"type": "float", "bounds": [0, 100]},
                "region": {"type": "string", "keys": ["north", "south"]},
            },
        }
    },
}
VISITS = pa.table(
    {
        "age": [i % 90 for i in range(2_000)],
        "cost": [float(i % 100) for i in range(2_000)],
        "region": [("north", "south")[i % 2] for i in range(2_000)],
    }
)


class Running:
    """An application that is served in a thread."""

    def __init__(self, application: Any, lifespan: str = "off") -> None:
        http = StrictHttp(ConnectionLimits())
        self.server = HttpServer(configure(application, http, port=0, lifespan=lifespan))
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(60)
        assert not self.thread.is_alive()


@dataclass(frozen=True)
class Team:
    """A desk over made-up visits, and where its API is."""

    desk: Desk
    url: str
    tokens: dict[str, str]

    def connect(self, account: str = "ada", **more: Any) -> RemoteSession:
        return RemoteSession(self.url, account=account, token=self.tokens[account], **more)

    def connect_async(self, account: str = "ada", **more: Any) -> AsyncRemoteSession:
        return AsyncRemoteSession(self.url, account=account, token=self.tokens[account], **more)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("desk")
    with open_desk({"visits": VISITS}, POLICY, home / "a.ledger", state=home / "a.desk", shelf=True) as desk:
        owner = desk.owner()
        tokens = {
            name: str(owner.grant(name, pure(cap))) for name, cap in (("ada", 20), ("ben", 1), ("cyd", 1), ("dan", 5))
        }
        options = ApiOptions(account_burst=1e4, address_burst=1e4)
        running = Running(create_app({"visits": desk}, options), "on")
        yield Team(desk, running.url, tokens)
        running.stop()


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    """Serves applications; each has a URL."""
    started: list[Running] = []

    def start(application: Any) -> str:
        started.append(Running(application))
        return started[-1].url

    yield start
    for each in started:
        each.stop()
