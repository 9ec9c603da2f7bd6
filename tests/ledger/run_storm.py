"""Processes that advance one run together and are killed at random moments: run as a script.

python run_storm.py LEDGER REPORTS KILLS SEED SEQUENTIAL ROW     a payload of more than ROW bytes is large

Each child writes what it knows to a file of its own, one line at a time, so that a killed one has written all it did.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

from children import child, end
from storm import Report

from discreet.errors import LedgerError
from discreet.ledger import Run, open_ledger
from discreet.ledger.log import _store
from discreet.privacy import pure

AT_ONCE = 8
STEPS = 10**6
LOSS = pure(1)
PLAN = "a-run"


def digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def advance(run: Run, report: Report, chance: random.Random, *, sequential: bool) -> None:
    """Begin some steps after the last, draw and store each, and read an old answer now and then."""
    count = chance.choice([1, 1, 1, 3])
    try:
        steps = run.begin(count, after=run.read()) if sequential else run.begin(count)
    except LedgerError as error:
        if "moved on" not in str(error):
            raise
        time.sleep(chance.uniform(0, 0.02))
        return
    for step in steps:
        report.tell("began", step)
        answer = os.urandom(32)  # stands for the noise: a second draw is another
        time.sleep(answer[0] / 50_000)
        report.tell("drawn", step, digest(answer))
        try:
            run.store(step, answer, b"after %d" % step)
        except LedgerError as error:
            if "is lost" not in str(error):
                raise
            report.tell("lost", step)
            return
        report.tell("stored", step, digest(answer))
    old = chance.randint(1, steps[-1])
    answer = run.answer(old)
    if answer is not None:
        report.tell("answered", old, digest(answer))


def work(path: str, report: Report, seed: str, *, sequential: bool) -> int:
    chance = random.Random(seed)
    with open_ledger(path, None) as whole:
        account = whole.open_account("ada")
        for turn in range(10**6):
            if turn % 5 == 0:
                run = account.open_run(PLAN, LOSS, STEPS, sequential=sequential)
            advance(run, report, chance, sequential=sequential)
    return 0


def main(path: str, reports: str, kills: str, seed: str, sequential: str, row: str) -> None:
    _store.LARGEST_IN_ROW = int(row)
    chance = random.Random(int(seed))
    open_ledger(path, None).close()  # imports what children need
    running: list[tuple[str, int]] = []

    def stop(name: str, pid: int) -> None:
        lines, report, started = chance.choice([0, 1, 2, 3, 5, 8, 13]), Path(reports, name), time.monotonic()
        while not report.exists() or report.read_bytes().count(b"\n") < lines:
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), f"{name} ended by itself"
            assert time.monotonic() < started + 600, f"{name} writes nothing"
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.005))
        os.kill(pid, signal.SIGKILL)
        assert end(pid) == -signal.SIGKILL

    for index in range(int(kills)):
        name = f"child{index}"
        running.append(
            (
                name,
                child(partial(work, path, Report(f"{reports}/{name}"), f"{seed} {name}", sequential=sequential == "1")),
            )
        )
        if len(running) == AT_ONCE:
            stop(*running.pop(chance.randrange(AT_ONCE)))
    for name, pid in running:
        stop(name, pid)


if __name__ == "__main__":
    main(*sys.argv[1:])
