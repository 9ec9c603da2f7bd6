"""Fits in processes that kill themselves at one of many points: run as a script.

python killed.py DIRECTORY POINTS      prints a line of JSON for each point

A point is a call of a function of discreet, counted from where the session is open. Each child has a ledger of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  DuckDB loads it for tables of Arrow: before the fork too
from synth_neighbours import policy_of, some_rows, table_of

import discreet as dp
import discreet.connection
import discreet.engines.duckdb  # imported before the fork, for each child needs it
from discreet import synth
from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.privacy import to_json

_HOUSE = str(Path(dp.__file__).parent)
SPEND = dp.rho(1)


def _fit(path: str, before: Callable[[], None], after: Callable[[], None]) -> bytes:
    dice = random.Random(3)
    rows = [row for person in range(20) for row in some_rows(dice, 0, person)]
    with dp.connect({"t": table_of(rows)}, policy_of("add_remove", 2, {"rho": 3}), path) as session:
        before()
        fitted = synth.fit(session, "t", SPEND, idempotency_key="once")
        after()
        return fitted.to_bytes()


def _killed_at(path: str, point: int | None) -> int:
    """The number of calls, if the child is not killed."""
    calls = 0

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_filename.startswith(_HOUSE):
            if calls == point:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1

    _fit(path, lambda: sys.setprofile(count), lambda: sys.setprofile(None))
    return calls


def _child(work: Callable[[], object]) -> tuple[int, str]:
    """The exit status of a forked child, and what it says."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 255
        try:
            os.close(read)
            os.write(write, json.dumps(work()).encode())
            status = 0
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)
    os.close(write)
    text = b"".join(iter(lambda: os.read(read, 65_536), b"")).decode()
    os.close(read)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text


def _again(path: str) -> str:
    """What the same request gets: the digest of the table, or that it is dead."""
    try:
        return hashlib.sha256(_fit(path, lambda: None, lambda: None)).hexdigest()
    except LedgerError as error:
        return str(error)


def main(directory: str, points: int) -> None:
    (status, text) = _child(lambda: _killed_at(f"{directory}/first", None))
    assert status == 0
    calls = int(text)
    for number in range(points):
        path, point = f"{directory}/{number}", calls * number // points
        status, _ = _child(lambda path=path, point=point: _killed_at(path, point))
        with open_ledger(path, None) as ledger:
            before, spent = [entry.kind for entry in ledger.entries()], ledger.spent
        answers = [_child(lambda path=path: _again(path)) for _ in range(2)]
        with open_ledger(path, None) as ledger:
            ledger.verify()
            after = [entry.kind for entry in ledger.entries()]
            print(json.dumps({
                "point": point, "of": calls, "status": status, "before": before, "spent": to_json(spent),
                "answers": answers, "after": after, "spent_after": to_json(ledger.spent),
            }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
