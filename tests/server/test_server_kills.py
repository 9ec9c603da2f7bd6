"""A server that is killed while many ask: nothing that it answered is lost, and nothing is charged beyond the cap."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.privacy import Loss, pure, to_json
from discreet.query import Release, make_plan

POLICY = """
version = "1"
[budget]
epsilon = 60
[tables.visits]
unit = "person"
max_rows = 2
[tables.visits.columns]
person = { type = "int" }
cost = { type = "int", bounds = [0, 100] }
region = { type = "string", keys = ["north", "south"] }
"""
ACCOUNTS = ("ada", "ben", "cyd")
CLIENTS = 64
ENOUGH = 10


@dataclass
class Place:
    """The files of a server, and how to start it."""

    home: Path
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    port: int = 0
    wire: int = 0

    def make(self) -> Place:
        (self.home / "visits.toml").write_text(POLICY)
        rows = 400
        pq.write_table(
            pa.table(
                {
                    "person": [i // 2 for i in range(rows)],
                    "cost": [i % 100 for i in range(rows)],
                    "region": [("north", "south")[i % 2] for i in range(rows)],
                }
            ),
            self.home / "visits.parquet",
        )
        with open_ledger(self.home / "ledger", pure(60), relation="add_remove") as ledger:
            for account in ACCOUNTS:
                token = ledger.grant(account, pure(30))
                assert token is not None
                self.tokens[account] = token
        with socket.socket() as one, socket.socket() as other:
            for each in (one, other):
                each.bind(("127.0.0.1", 0))
            self.port, self.wire = one.getsockname()[1], other.getsockname()[1]
        return self

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "discreet.cli", "serve", "visits.toml", "--data", "visits.parquet"),
                *("--ledger", "ledger", "--http", f"127.0.0.1:{self.port}", "--postgres", f":{self.wire}"),
            ],
            cwd=self.home,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "signs in" in line:
                return process
        raise AssertionError(process.wait())


QUERY = "SELECT region, SUM(cost) AS s FROM visits WHERE cost < {} GROUP BY region"


def question(chance: random.Random) -> tuple[int, str]:
    """The number in a query, and its spend."""
    return chance.randrange(30), f"0.{chance.randrange(1, 100):03}"


@dataclass
class Clients:
    """Threads that ask until they are stopped, and what was answered to each account."""

    place: Place
    seed: int
    answered: dict[tuple[str, str], bytes] = field(default_factory=dict[tuple[str, str], bytes])
    rows: dict[tuple[str, int, str], list[Any]] = field(default_factory=dict[tuple[str, int, str], list[Any]])
    wrong: list[str] = field(default_factory=list[str])
    statuses: Counter[int] = field(default_factory=Counter[int])
    stopped: bool = False

    def run(self, number: int) -> None:
        chance, account = random.Random(f"{self.seed} {number}"), ACCOUNTS[number % len(ACCOUNTS)]
        if number % 2:
            self.run_wire(account, chance)
            return
        auth = (account, self.place.tokens[account])
        with httpx2.Client(base_url=f"http://127.0.0.1:{self.place.port}", auth=auth, timeout=30) as client:
            while not self.stopped:
                try:
                    self.ask(client, account, chance)
                except httpx2.HTTPError:
                    time.sleep(0.2)

    def run_wire(self, account: str, chance: random.Random) -> None:
        token = self.place.tokens[account]
        where = (
            f"host=127.0.0.1 port={self.place.wire} dbname=visits user={account} password={token} connect_timeout=30"
        )
        while not self.stopped:
            try:
                with psycopg.connect(where, autocommit=True) as connection:
                    while not self.stopped:
                        self.ask_wire(connection, account, chance)
            except psycopg.OperationalError:
                time.sleep(0.2)

    def ask_wire(self, connection: psycopg.Connection[Any], account: str, chance: random.Random) -> None:
        most, epsilon = question(chance)
        try:
            connection.execute(f"SET discreet.epsilon = {epsilon}")  # pyright: ignore[reportArgumentType]
            rows = connection.execute(QUERY.format(most)).fetchall()  # pyright: ignore[reportArgumentType]
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            if error.sqlstate != "53400":
                self.wrong.append(f"{error.sqlstate} {error}")
            return
        self.statuses[200] += 1
        name = account, most, epsilon
        if self.rows.setdefault(name, rows) != rows:
            self.wrong.append(f"{name} was answered in two ways")

    def ask(self, client: httpx2.Client, account: str, chance: random.Random) -> None:
        most, epsilon = question(chance)
        spend = {"epsilon": epsilon}
        body = {"query": QUERY.format(most), "spend": spend, "max_price": spend}
        key = f"{account}-{chance.getrandbits(64):x}"
        response = client.post("/v1/answers", json=body, headers={"Idempotency-Key": key})
        self.statuses[response.status_code] += 1
        if response.status_code == 200:
            rows = [tuple(row) for row in response.json()["rows"]]
            if self.rows.setdefault((account, most, epsilon), rows) != rows:
                self.wrong.append(f"{account} was answered in two ways")
            name = account, response.headers["discreet-answer"]
            if self.answered.setdefault(name, response.content) != response.content:
                self.wrong.append(f"{name} was answered in two ways")
        elif response.status_code not in {402, 409, 429}:
            self.wrong.append(f"{response.status_code} {response.text}")


def with_plans(clients: Clients) -> dict[tuple[str, str], list[Any]]:
    """What was answered, by the accounts and the hashes of plans."""
    policy = load_policy(clients.place.home / "visits.toml")
    return {
        (account, make_plan(QUERY.format(most), policy, pure(spend)).hash(policy)): rows
        for (account, most, spend), rows in clients.rows.items()
    }


def epsilon(loss: Loss) -> Fraction:
    return Fraction(to_json(loss)["epsilon"])  # pyright: ignore[reportArgumentType]


def check(place: Place, clients: Clients) -> None:
    """The ledger holds what was answered, byte for byte, each once, and within its caps."""
    assert clients.wrong == []
    with open_ledger(place.home / "ledger") as ledger:
        assert ledger.verify() > 0
        entries = list(ledger.entries())
        released = Counter((each.account, each.plan_hash) for each in entries if each.kind == "release")
        assert set(released.values()) <= {1}
        charged = [each.loss for each in entries if each.kind == "reserve" and each.loss is not None]
        total = sum(map(epsilon, charged))
        assert ledger.spent == pure(total)
        assert total <= 60
        for account, state in ledger.accounts.items():
            mine = [each.loss for each in entries if each.kind == "reserve" and each.account == account]
            assert sum(epsilon(each) for each in mine if each is not None) <= 30, state
        accounts = {account: ledger.admit(account) for account in ACCOUNTS}
        planned = with_plans(clients)
        for (account, plan), rows in planned.items():
            stored = accounts[account].find(plan)
            assert stored is not None, f"an answer to {account} is lost"
            assert [tuple(row.values()) for row in Release.from_bytes(stored.payload).to_arrow().to_pylist()] == rows
        for (account, plan), content in clients.answered.items():
            stored = accounts[account].find(plan)
            assert stored is not None, f"an answer to {account} is lost"
            expected: dict[str, Any] = Release.from_bytes(stored.payload).to_dict()
            assert json.loads(content) == json.loads(json.dumps(expected))


def storm(home: Path, kills: int, seed: int, clients_at_once: int = CLIENTS) -> Clients:
    place = Place(home).make()
    clients, chance = Clients(place, seed), random.Random(seed)
    threads = [threading.Thread(target=clients.run, args=(number,)) for number in range(clients_at_once)]
    process = place.start()
    for each in threads:
        each.start()
    try:
        for _ in range(kills):
            before, until = clients.statuses[200], time.monotonic() + 60
            while clients.statuses[200] < before + 5 and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
            process = place.start()
        until = time.monotonic() + 60
        while len(clients.answered) <= ENOUGH and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(1)
    finally:
        clients.stopped = True
        for each in threads:
            each.join()
        process.terminate()
        process.communicate()
    assert process.returncode == 0
    check(place, clients)
    return clients


def test_nothing_is_lost_when_a_server_is_killed(tmp_path: Path) -> None:
    clients = storm(tmp_path, kills=1, seed=1, clients_at_once=8)
    assert len(clients.answered) > ENOUGH


@pytest.mark.soak
def test_nothing_is_lost_in_a_thousand_kills(tmp_path: Path) -> None:
    for place in range(20):
        home = tmp_path / str(place)
        home.mkdir()
        assert len(storm(home, kills=50, seed=place).answered) > 50
