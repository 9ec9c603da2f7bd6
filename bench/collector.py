"""The collector under load: batches and reports a second, answer times and memory, with durability on.

    python bench/collector.py [--seconds 5] [--connections 8] [--sizes 1 100 10000] [--store DIR] [--asgi]

A collector runs in a process of its own. Senders, in processes of their own on the same machine, each send one batch
after another over one connection, each batch under a key of its own; every one is on disk before it is answered. What
was acknowledged is compared with what was counted. Reports are of Hadamard response over 1,000 values, two bytes each.
`processor` is how many cores the collector was busy with, `µs` its CPU time for a batch. With `--asgi` the same
collector is an ASGI application on the stack of the HTTP API, as it is tested there.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from discreet import local
from discreet.server.collector import read_store

SCHEME = local.HadamardResponse(domain=1_000, epsilon=2)


def send(port: int, body: bytes, seconds: float, told: multiprocessing.Queue) -> None:
    line = http.client.HTTPConnection("127.0.0.1", port)
    waits, counted, until = [], 0, time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        name = secrets.token_hex(16)
        line.request("POST", "/reports", body, {"Content-Type": "application/octet-stream", "Idempotency-Key": name})
        answer = line.getresponse()
        counted += json.loads(answer.read())["reports"]
        waits.append(time.perf_counter() - began)
    told.put((waits, counted))


ASGI = Path(__file__).parents[1] / "tests/server/collector/run_collector.py"


def measured(size: int, connections: int, seconds: float, home: Path, *, asgi: bool) -> None:
    document = home / "scheme.json"
    document.write_text(SCHEME.to_json())
    store = home / f"of-{size}"
    command = [sys.executable, "-m", "discreet.cli", "collect", "serve", "--scheme", str(document), "--port", "0"]
    command = (
        [sys.executable, str(ASGI), "asgi", str(store), "{}", str(1 << 22)]
        if asgi
        else [*command, "--store", str(store)]
    )
    with (
        document.open() as given,
        subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        found = re.search(r":(\d+)/", process.stdout.readline())
        watched = psutil.Process(process.pid)
        before = watched.memory_info().rss
        body = bytes(SCHEME.simulate(np.arange(size) % 1_000))
        told: multiprocessing.Queue = multiprocessing.Queue()
        senders = [
            multiprocessing.Process(target=send, args=(int(found[1]), body, seconds, told)) for _ in range(connections)
        ]
        began, busy = time.perf_counter(), sum(watched.cpu_times()[:2])
        for sender in senders:
            sender.start()
        most = before
        while any(sender.is_alive() for sender in senders) and told.qsize() < connections:
            most = max(most, watched.memory_info().rss)
            time.sleep(0.05)
        spent = time.perf_counter() - began
        busy = sum(watched.cpu_times()[:2]) - busy
        answers = [told.get() for _ in senders]
        for sender in senders:
            sender.join()
        process.send_signal(signal.SIGTERM)
        process.wait()
    waits = np.concatenate([each for each, _ in answers])
    counted = sum(each for _, each in answers)
    if read_store(store).reports != counted:
        raise SystemExit("what was acknowledged is not what was counted")
    cost = busy / len(waits) * 1e6
    disk = sum(each.stat().st_size for each in store.iterdir())
    print(
        f"{size:>7,} {len(waits) / spent:>10,.0f} {counted / spent:>12,.0f} {np.median(waits) * 1e3:>8.1f} "
        f"{np.quantile(waits, 0.99) * 1e3:>8.1f} {busy / spent:>9.2f} {cost:>5.0f} "
        f"{before / 2**20:>8.0f} {most / 2**20:>8.0f} {disk / len(waits):>10,.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 100, 10_000])
    parser.add_argument("--store", type=Path, help="Where to make the stores. Default: a temporary directory.")
    parser.add_argument("--asgi", action="store_true", help="On the stack of the HTTP API.")
    given = parser.parse_args()
    print(f"{given.connections} connections, {given.seconds:g} s each; ms are for an answer, MiB of the collector")
    print(
        f"{'reports':>7} {'batches/s':>10} {'reports/s':>12} {'ms':>8} {'ms, 99 %':>8} {'processor':>9} {'µs':>5}"
        f" {'MiB idle':>8} {'MiB most':>8} {'disk/batch':>10}"
    )
    with tempfile.TemporaryDirectory(dir=given.store) as home:
        for size in given.sizes:
            measured(size, given.connections, given.seconds, Path(home), asgi=given.asgi)


if __name__ == "__main__":
    main()
