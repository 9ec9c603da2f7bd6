"""A desk on files behind both fronts, in a thread of this process, so that a test can trouble what is below them."""

from __future__ import annotations

import asyncio
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pyarrow as pa

from discreet import noise
from discreet.privacy import pure, to_json
from discreet.server.connections import ConnectionLimits
from discreet.server.desk import Desk, open_desk
from discreet.server.http._app import create_app
from discreet.server.http._options import ApiOptions
from discreet.server.http._protocol import StrictHttp
from discreet.server.http._server import HttpServer, configure
from discreet.server.postgres import Limits, PostgresFront, Terms

FRONTS = ("http", "wire")
OFTEN = 1e6
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 100},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 3,
            "columns": {
                "person": {"type": "int"},
                "cost": {"type": "float", "bounds": [0, 100]},
                "region": {"type": "string", "keys": ["north", "south"]},
            },
        }
    },
}


@dataclass(frozen=True)
class Outcome:
    """What one question came to: where its answer is from, with its rows, or the status of what was refused."""

    status: str
    rows: list[Any] = field(default_factory=list[Any])
    words: str = ""


def question(number: int) -> str:
    """Another one for each number."""
    return f"SELECT region, COUNT(*) AS n FROM visits WHERE cost < {number} GROUP BY region"


class Served:
    """Both fronts at one desk; `tokens` are by account."""

    def __init__(self, home: Path, *, beat: float | None = None) -> None:
        rows = 600
        visits = pa.table(
            {
                "person": [i // 2 for i in range(rows)],
                "cost": [float(i % 100) for i in range(rows)],
                "region": [("north", "south")[i % 2] for i in range(rows)],
            }
        )
        self.home, self.ledger, self.state = home, home / "a.ledger", home / "a.desk"
        self.desk: Desk = open_desk({"visits": visits}, POLICY, self.ledger, state=self.state, beat=beat)
        self.tokens = {name: self.desk.owner().grant(name, pure(20)) or "" for name in ("ada", "ben")}
        self.reported: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._clients: dict[tuple[str, str], Any] = {}
        self._keys = 0

    def start(self) -> Served:
        self._thread.start()
        self.http_port, self.wire_port = self.run(self._start())
        return self

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(60)

    async def _start(self) -> tuple[int, int]:
        http, wire = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
        options = ApiOptions(account_rate=OFTEN, account_burst=OFTEN, address_rate=OFTEN, address_burst=OFTEN)
        app = create_app({"visits": self.desk}, options, on_failure=lambda error: self.reported.append(repr(error)))
        self.server = HttpServer(configure(app, StrictHttp(ConnectionLimits()), lifespan="on"))
        self._serving = asyncio.create_task(self.server.serve([http]))
        limits = Limits(account_rate=OFTEN, account_burst=OFTEN, address_rate=OFTEN, address_burst=OFTEN)
        self.front = PostgresFront(
            {"visits": self.desk}, Terms(noise.secret, insecure=True), limits=limits, on_status=self.reported.append
        )
        await self.front.start(wire)
        while not self.server.started:
            await asyncio.sleep(0.01)
        return http.getsockname()[1], wire.getsockname()[1]

    def stop(self) -> None:
        for each in self._clients.values():
            each.close()
        self.run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.desk.close()

    async def _stop(self) -> None:
        await self.front.stop()
        self.server.should_exit = True
        await self._serving

    def client(self, front: str, account: str = "ada", *, fresh: bool = False) -> Any:
        """A client that has signed in, the same one each time but for a `fresh` one, which the caller closes."""
        if fresh:
            return self._http(account) if front == "http" else self._wire(account)
        if (front, account) not in self._clients:
            self._clients[front, account] = self.client(front, account, fresh=True)
        return self._clients[front, account]

    def _http(self, account: str) -> httpx2.Client:
        auth = (account, self.tokens.get(account, "no"))
        return httpx2.Client(base_url=f"http://127.0.0.1:{self.http_port}/v1", auth=auth, timeout=60)

    def _wire(self, account: str) -> psycopg.Connection[Any]:
        where = f"host=127.0.0.1 port={self.wire_port} dbname=visits user={account} sslmode=disable"
        return psycopg.connect(f"{where} password={self.tokens.get(account, 'no')}", autocommit=True)

    def ask(self, front: str, number: int, account: str = "ada", key: str | None = None) -> Outcome:
        """Ask a question of a number at ε = 1/2, for as much. A session of the wire that begins not has no status."""
        try:
            client = self.client(front, account)
        except psycopg.OperationalError as error:
            return Outcome("", words=str(error))
        return (self._ask_http if front == "http" else self._ask_wire)(client, number, key)

    def _ask_http(self, client: httpx2.Client, number: int, key: str | None) -> Outcome:
        self._keys += 1
        body = {"query": question(number), "spend": {"epsilon": "0.5"}, "max_price": {"epsilon": "0.5"}}
        answer = client.post("/answers", json=body, headers={"Idempotency-Key": key or f"key-{self._keys}"})
        if answer.status_code != 200:
            return Outcome(str(answer.status_code), words=answer.json()["detail"])
        return Outcome(answer.headers["discreet-source"], [tuple(row) for row in answer.json()["rows"]])

    def _ask_wire(self, connection: psycopg.Connection[Any], number: int, key: str | None) -> Outcome:
        notices: list[str] = []

        def heard(notice: Any) -> None:
            notices.append(notice.message_primary)

        connection.add_notice_handler(heard)
        try:
            connection.execute("SET discreet.epsilon = 0.5")
            rows = connection.execute(question(number)).fetchall()  # pyright: ignore[reportArgumentType]
        except psycopg.Error as error:
            return Outcome(error.sqlstate or "", words=str(error))
        finally:
            connection.remove_notice_handler(heard)
        return Outcome("paid" if "this answer cost" in notices[-1] else "repeat", rows)

    def basic(self, account: str = "ada", token: str | None = None) -> str:
        """An Authorization header, of an account's own token or another."""
        shown = self.tokens[account] if token is None else token
        return f"Basic {b64encode(f'{account}:{shown}'.encode()).decode()}"

    def spent(self, account: str = "ada") -> Fraction:
        """Epsilon."""
        loss = self.desk.owner().ledger.accounts[account].spent
        return Fraction(to_json(loss)["epsilon"])  # pyright: ignore[reportArgumentType]

    def events(self) -> list[str]:
        """What the ledger has had since the accounts were made."""
        return [each.kind for each in self.desk.owner().ledger.entries() if each.kind in {"reserve", "release"}]

    def check(self) -> None:
        """Both chains are good, and nothing in the fronts was a bug."""
        self.desk.owner().ledger.verify()
        self.desk.log.verify()
        assert self.reported == []


def wait_until(condition: Callable[[], bool]) -> None:
    event = threading.Event()
    for _ in range(3_000):
        if condition():
            return
        event.wait(0.02)
    raise AssertionError("it did not come")
