"""The server for teams: what the desk adds to an answer, repeats a second, and analysts who think.

    python bench/server.py [--rounds 5] [--clients 64] [--minutes 0.5] [--only cost repeats analysts]

A server runs in a process of its own on the demo's visits, its ledger on disk, its shelf on. CPU is that of the server,
read from the operating system before and after; beside it, in turn, `Session.sql` with the error bars of its answer, on
the same data and with a ledger of its own on disk.

cost
    Paid answers: milliseconds of CPU by HTTP and by the wire less those of `Session.sql`. Repeats: milliseconds in all.
    By the wire the spend is SET before each question that is paid, in a message of its own for extended queries.
repeats
    Repeats a second from so many connections at once, and the server's CPU for each.
analysts
    So many analysts, each with a second of thought between an answer and the next question: 60 % repeats, 30 % plans,
    10 % paid. The 50th and 99th percentiles of the waits, and the server's memory at each tenth of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import random
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil
import psycopg

from discreet import connect
from discreet.datasets import rand
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.privacy import approx, pure

QUERY = "SELECT coinsurance, COUNT(*) AS n, AVG(dollars) AS mean FROM visits WHERE year <= {} GROUP BY coinsurance"
ACCOUNTS = 64
BUDGET = approx(10**9, "1e-6")


class Server:
    """A server on the demo's visits, and its accounts."""

    def __init__(self, home: Path) -> None:
        policy = home / "visits.toml"
        policy.write_text(re.sub(r"(?ms)^\[budget\].*?(?=^\[)", "", rand.policy.read_text()))
        facts = load_policy(policy)
        self.tokens: dict[str, str] = {}
        with open_ledger(home / "ledger", BUDGET, relation=facts.relation, people=facts.people) as ledger:
            for place in range(ACCOUNTS):
                self.tokens[f"a{place}"] = str(ledger.grant(f"a{place}", BUDGET))
        settings = home / "serve.toml"
        settings.write_text(
            'state = "desk"\n[sources.visits]\npolicy = "visits.toml"\nledger = "ledger"\nshelf = true\n'
            f'data = {{ visits = "{rand.table}" }}\n'
            '[postgres]\nlisten = ":0"\n'
            '[http]\nlisten = ":0"\naccount_rate = 1e6\naccount_burst = 1e6\naddress_rate = 1e6\naddress_burst = 1e6\n'
        )
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "discreet.cli", "serve", "--config", str(settings)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        found = re.search(r":(\d+)/", self.process.stderr.readline())
        assert found is not None
        self.port = int(found[1])
        self.wire = int(self.process.stderr.readline().split(":")[-1])
        self.started = time.perf_counter() - began
        self.watched = psutil.Process(self.process.pid)

    def cpu(self) -> float:
        times = self.watched.cpu_times()
        return times.user + times.system

    def memory(self) -> float:
        return self.watched.memory_info().rss / 2**20

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


class Line:
    """One connection of an account's, kept open."""

    def __init__(self, server: Server, account: str) -> None:
        self.server = server
        self.auth = base64.b64encode(f"{account}:{server.tokens[account]}".encode()).decode()
        self.streams: Any = None

    async def ask(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.server.port)
        reader, writer = self.streams
        content = json.dumps(body).encode()
        head = (
            f"POST /v1{path} HTTP/1.1\r\nHost: desk\r\nAuthorization: Basic {self.auth}\r\n"
            f"Content-Type: application/json\r\nIdempotency-Key: {secrets.token_hex(8)}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        writer.write(head.encode() + content)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = re.search(r"content-length: (\d+)", answer)
        assert length is not None
        return int(answer.split()[1]), await reader.readexactly(int(length[1]))


def body_of(place: int, epsilon: str) -> dict[str, Any]:
    spend = {"epsilon": epsilon}
    return {"query": QUERY.format(1 + place % 5), "spend": spend, "max_price": spend}


def per_act(seconds: float, count: int) -> float:
    return 1e3 * seconds / count


def wire_costs(server: Server, turn: int, count: int) -> dict[str, float]:
    """Milliseconds of the server's CPU for an answer by the PostgreSQL wire."""
    where = f"host=127.0.0.1 port={server.wire} dbname=visits user=a0 password={server.tokens['a0']} sslmode=disable"
    found: dict[str, float] = {}
    with psycopg.connect(where, autocommit=True) as connection:
        for name, prepare in (("simple", False), ("extended", True)):
            before = server.cpu()
            for place in range(count):
                setting = f"SET discreet.epsilon = 0.{len(name)}{turn + 1:02}{place:04}7"
                query = QUERY.format(1 + place % 5)
                if prepare:
                    connection.execute(setting)  # pyright: ignore[reportArgumentType]
                    connection.execute(query, prepare=True)  # pyright: ignore[reportArgumentType]
                else:
                    connection.execute(f"{setting}; {query}")  # pyright: ignore[reportArgumentType]
            found[f"{name}, paid"] = per_act(server.cpu() - before, count)
            for measured in (False, True):
                before = server.cpu()
                for place in range(5 if not measured else count):
                    query = QUERY.format(1 + place % 5)
                    connection.execute(query, prepare=prepare or None)  # pyright: ignore[reportArgumentType]
                found[f"{name}, repeat"] = per_act(server.cpu() - before, count)
    return found


async def cost(server: Server, home: Path, rounds: int) -> None:
    line, count, each = Line(server, "a0"), 40, defaultdict(list)
    facts = load_policy(home / "visits.toml")
    own = open_ledger(home / "alone", BUDGET, relation=facts.relation, people=facts.people)
    with own, connect({"visits": rand.table}, facts, own) as session:
        for turn in range(-1, rounds):
            spends = [f"0.1{turn + 1:02}{place:04}7" for place in range(count)]
            before = server.cpu()
            for place, epsilon in enumerate(spends):
                status, _ = await line.ask("/answers", body_of(place, epsilon))
                assert status == 200, status
            paid = per_act(server.cpu() - before, count)
            before = server.cpu()
            for place, epsilon in enumerate(spends):
                await line.ask("/answers", body_of(place, epsilon))
            again = per_act(server.cpu() - before, count)
            by_wire = wire_costs(server, turn, count)
            before = time.process_time()
            for place, epsilon in enumerate(spends):
                release = session.sql(QUERY.format(1 + place % 5), pure(epsilon))
                for name in release.noisy:
                    release.error(name)
            alone = per_act(time.process_time() - before, count)
            before = time.process_time()
            for place, epsilon in enumerate(spends):
                session.sql(QUERY.format(1 + place % 5), pure(epsilon))
            alone_again = per_act(time.process_time() - before, count)
            if turn >= 0:
                found = by_wire | {"paid": paid, "repeat": again, "sql": alone, "sql again": alone_again}
                for name, value in found.items():
                    each[name].append(value)
    medians = {name: statistics.median(values) for name, values in each.items()}
    print(
        f"CPU ms, medians of {rounds} rounds of {count}: paid by HTTP {medians['paid']:.1f}, Session.sql with "
        f"error bars {medians['sql']:.1f}, so {medians['paid'] - medians['sql']:+.1f}; repeat by HTTP "
        f"{medians['repeat']:.2f}, Session.sql {medians['sql again']:.2f}"
    )
    for name in ("simple", "extended"):
        paid, again = medians[f"{name}, paid"], medians[f"{name}, repeat"]
        print(f"  by the wire, {name}: paid {paid:.1f}, so {paid - medians['sql']:+.1f}; repeat {again:.2f}")


async def repeats(server: Server, clients: int, seconds: float = 5.0) -> None:
    lines = [Line(server, f"a{place % ACCOUNTS}") for place in range(clients)]
    for place in range(5):
        await lines[0].ask("/answers", body_of(place, "0.5"))
    count, waits, until = 0, [], time.perf_counter() + seconds

    async def ask(line: Line, place: int) -> None:
        nonlocal count
        while (began := time.perf_counter()) < until:
            status, _ = await line.ask("/answers", body_of(place, "0.5"))
            assert status == 200
            count += 1
            waits.append(time.perf_counter() - began)

    before, began = server.cpu(), time.perf_counter()
    await asyncio.gather(*(ask(line, place) for place, line in enumerate(lines)))
    spent, took = server.cpu() - before, time.perf_counter() - began
    print(
        f"repeats from {clients} connections: {count / took:,.0f} a second, {per_act(spent, count):.2f} ms of CPU, "
        f"p99 {1e3 * statistics.quantiles(waits, n=100)[98]:.0f} ms"
    )


async def analysts(server: Server, clients: int, minutes: float) -> None:
    waits: dict[str, list[float]] = defaultdict(list)
    until = time.perf_counter() + 60 * minutes
    failures: dict[int, int] = defaultdict(int)

    async def work(place: int) -> None:
        chance, line = random.Random(place), Line(server, f"a{place % ACCOUNTS}")
        await asyncio.sleep(chance.random())
        while time.perf_counter() < until:
            kind = chance.choices(("repeat", "plan", "paid"), (60, 30, 10))[0]
            epsilon = "0.5" if kind == "repeat" else f"0.{chance.randrange(10**9):09}1"
            body, path = body_of(chance.randrange(5), epsilon), "/answers"
            if kind == "plan":
                path = "/plans"
                del body["max_price"]
            began = time.perf_counter()
            status, _ = await line.ask(path, body)
            waits[kind].append(time.perf_counter() - began)
            if status != 200:
                failures[status] += 1
            await asyncio.sleep(1)

    async def watch() -> list[float]:
        sizes: list[float] = []
        for _ in range(10):
            await asyncio.sleep(6 * minutes)
            sizes.append(server.memory())
        return sizes

    before = server.cpu()
    *_, sizes = await asyncio.gather(*(work(place) for place in range(clients)), watch())
    spent = server.cpu() - before
    total = sum(map(len, waits.values()))
    print(f"{clients} analysts for {minutes:g} min: {total:,} questions, {per_act(spent, total):.1f} ms of CPU each")
    for kind, times in waits.items():
        cuts = statistics.quantiles(times, n=100)
        print(f"  {kind:7} {len(times):6,}  p50 {1e3 * cuts[49]:6.0f} ms  p99 {1e3 * cuts[98]:6.0f} ms")
    print(f"  memory, MiB: {', '.join(f'{size:.0f}' for size in sizes)}; statuses but 200: {dict(failures)}")


async def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        server = Server(home)
        try:
            print(f"started in {server.started:.2f} s, {server.memory():.0f} MiB")
            if "cost" in options.only:
                await cost(server, home, options.rounds)
            if "repeats" in options.only:
                await repeats(server, options.clients)
            if "analysts" in options.only:
                await analysts(server, options.clients, options.minutes)
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--only", nargs="+", default=["cost", "repeats", "analysts"])
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
