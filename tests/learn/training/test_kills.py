"""Processes that train are killed at random moments: no step is begun twice, none beyond those charged, and it ends."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from trainings import SPEND, train

from discreet.ledger import open_ledger

STEPS, FINISHING = 40, 16
IMPORTED = ("torch._dynamo", "sympy", "pandas", "duckdb", "scipy.optimize")
"""What processes import before they are started, beside discreet: most of the time goes there."""
LONGEST = 0.3
"""Seconds after which a process is killed at the latest, from where it may be charged: few have ended by then."""


@pytest.fixture(scope="module")
def processes() -> Iterator[ForkServerContext]:
    """Processes that start with torch imported, so that they are killed while they train."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["discreet.session", "discreet.learn.training", *IMPORTED])
    return context


def killed_and_resumed(processes: ForkServerContext, folder: Path, ledger: str, dice: random.Random, most: int) -> int:
    """Train in processes that are killed after a random time, until one ends well; how many were killed."""
    kills = 0
    while True:
        ready, its_end = processes.Pipe(duplex=False)
        process = processes.Process(target=train, args=(ledger, str(folder / "net.ckpt"), STEPS, its_end))
        process.start()
        its_end.close()
        with ready:
            assert ready.poll(60) and ready.recv_bytes() == b"ready"
            if kills < most:
                time.sleep(dice.uniform(0, LONGEST))
                process.kill()
            process.join(60)
        if process.exitcode == 0:
            return kills
        assert process.exitcode == -9
        kills += 1


def check(ledger: str) -> int:
    """The chain holds each step once, and no more than were charged; the charge is one. How many were begun."""
    with open_ledger(ledger) as opened:
        assert opened.spent == SPEND
        begun: list[int] = []
        for entry in opened.entries():
            if entry.kind == "begin":
                assert entry.steps is not None
                begun.extend(range(entry.steps[0], entry.steps[1] + 1))
    assert begun == list(range(1, len(begun) + 1)) and STEPS < len(begun) <= STEPS + FINISHING
    return len(begun)


def test_a_killed_training_draws_no_step_twice(processes: ForkServerContext, tmp_path: Path) -> None:
    ledger = str(tmp_path / "visits.ledger")
    assert killed_and_resumed(processes, tmp_path, ledger, random.Random(0), 1) == 1
    check(ledger)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(20))
def test_nor_does_one_that_is_killed_again_and_again(processes: ForkServerContext, tmp_path: Path, number: int) -> None:
    """10 kills each, 200 in all, up to 4 of one training."""
    dice, kills = random.Random(number), Counter[int]()
    while (place := len(kills)) < 100 and kills.total() < 10:
        folder = tmp_path / str(place)
        folder.mkdir()
        ledger = str(folder / "visits.ledger")
        kills[place] = killed_and_resumed(processes, folder, ledger, dice, min(4, 10 - kills.total()))
        check(ledger)
    assert kills.total() == 10


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("number", range(20))
def test_nor_does_one_whose_ledger_is_in_postgres(
    processes: ForkServerContext, postgres: str, tmp_path: Path, number: int
) -> None:
    """The same: 200 kills."""
    dice, kills = random.Random(number), Counter[int]()
    while (place := len(kills)) < 100 and kills.total() < 10:
        folder = tmp_path / str(place)
        folder.mkdir()
        name = f"kills_{os.getpid()}_{number}_{place}"
        ledger = f"{postgres}{'&' if '?' in postgres else '?'}ledger={name}"
        kills[place] = killed_and_resumed(processes, folder, ledger, dice, min(4, 10 - kills.total()))
        check(ledger)
    assert kills.total() == 10
