"""Processes that use one database of a ledger: run as a script, so that forking starts from a small process.

python users.py spend PLACE PROCESSES COUNT     each adds COUNT rows, each the last plus one
python users.py churn PLACE PROCESSES SECONDS   each opens, adds a row and closes, again and again
python users.py make PLACE PROCESSES            all make the ledger at once
python users.py hold PLACE                      begins to write, and says so, and waits
python users.py fork PLACE COUNT                a process whose threads write forks children that write
python users.py torn PLACE                      forks in the middle of a transaction
python users.py once PLACE                      one row, one draw: for a trace
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from children import child, end

from discreet.errors import LedgerError
from discreet.ledger.log import _database
from discreet.ledger.postgres import _postgres
from discreet.ledger.sqlite import _sqlite

tables = sa.MetaData()
meta = sa.Table("meta", tables, sa.Column("last", sa.Integer))
entries = sa.Table(
    "entries",
    tables,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text),
)


def fill(connection: sa.Connection) -> None:
    tables.create_all(connection)
    connection.execute(sa.insert(meta).values(last=0))
    (_sqlite if connection.dialect.name == "sqlite" else _postgres).append_only(connection)


def make(place: str) -> None:
    if "://" in place:
        opened(place).create(fill)
    else:
        Path(place).touch()
        _sqlite.build(place, fill)


def opened(place: str):
    return (_postgres if "://" in place else _sqlite).Database(place)


def add(database: _database.Database, body: str = "x") -> int:
    """A row whose number is the last one plus one: two writers at once would meet on it."""
    with database.transaction(write=True) as connection:
        number = last(connection) + 1
        connection.execute(sa.insert(entries).values(seq=number, body=body))
        connection.execute(sa.update(meta).values(last=number))
    return number


def last(connection: sa.Connection) -> int:
    found = connection.execute(sa.select(meta.c.last)).scalar()
    assert found == (connection.execute(sa.select(sa.func.max(entries.c.seq))).scalar() or 0)
    return found


def rows(database: _database.Database) -> int:
    with database.transaction(write=False) as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(entries)).scalar() == last(connection)
        return last(connection)


def all_of(count: int, work: Callable[[], int]) -> list[int]:
    start, go = os.pipe()

    def begin() -> int:
        os.close(go)
        os.read(start, 1)
        return work()

    pids = [child(begin) for _ in range(count)]
    os.close(go)
    return [end(pid) for pid in pids]


def spend(place: str, processes: str, count: str) -> None:
    database = opened(place)

    def work() -> int:
        for _ in range(int(count)):
            add(database)
        return 0

    print(*all_of(int(processes), work))


def churn(place: str, processes: str, seconds: str) -> None:
    def work() -> int:
        done, end = 0, time.monotonic() + float(seconds)
        while time.monotonic() < end:
            database = opened(place)
            add(database)
            database.close()
            done += 1
        os.write(1, f"{done}\n".encode())
        return 0

    assert not any(all_of(int(processes), work))


def race(place: str, processes: str) -> None:
    print(*all_of(int(processes), lambda: int(opened(place).create(fill))))


def hold(place: str) -> None:
    with opened(place).transaction(write=True) as connection:
        number = last(connection) + 1
        connection.execute(sa.insert(entries).values(seq=number, body="held"))
        connection.execute(sa.select(entries)).all()
        os.write(1, b"held\n")
        time.sleep(100)


def fork(place: str, count: str) -> None:
    database, done, written = opened(place), threading.Event(), []

    def write() -> None:
        while not done.is_set():
            written.append(add(database))

    def work() -> int:
        add(database)
        database.close()
        return 0

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    ended = [end(child(work)) for _ in range(int(count))]
    done.set()
    for thread in threads:
        thread.join()
    assert not any(ended)
    print(len(written) + len(ended), rows(database))


def torn(place: str) -> None:
    database = opened(place)

    def work() -> int:
        for use in (lambda: add(database), lambda: rows(opened(place)), database.sync):
            try:
                use()
            except LedgerError as error:
                os.write(1, f"{error}\n".encode())
        return 0

    with database.transaction(write=True) as connection:
        connection.execute(sa.insert(entries).values(seq=1, body="parent's"))
        connection.execute(sa.update(meta).values(last=1))
        pid = child(work)
        assert end(pid) == 0
    add(database)
    print(rows(database))


def once(place: str) -> None:
    database = opened(place)
    rows(database)
    os.write(1, b"before\n")
    add(database)
    os.getrandom(37)  # stands for the first draw of noise
    add(database)
    os.write(1, b"answer\n")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
