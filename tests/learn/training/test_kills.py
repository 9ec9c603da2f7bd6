"""Processes that train are killed at random moments: no step is begun twice, none beyond those charged, and it ends."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from trainings import LOST, SPEND, train

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


def killed_and_resumed(
    processes: ForkServerContext, folder: Path, ledger: str, dice: random.Random, most: int, *, counted: bool
) -> tuple[int, bool]:
    """Train in processes that are killed after a random time, until one ends well, or says that its count is lost.

    How many were killed, and whether the last one ended well.
    """
    kills = 0
    while True:
        ready, its_end = processes.Pipe(duplex=False)
        arguments = (ledger, str(folder / "net.ckpt"), STEPS, its_end)
        process = processes.Process(target=train, args=arguments, kwargs={"counted": counted})
        process.start()
        its_end.close()
        with ready:
            assert ready.poll(60) and ready.recv_bytes() == b"ready"
            if kills < most:
                time.sleep(dice.uniform(0, LONGEST))
                process.kill()
            process.join(60)
        if process.exitcode == 0 or (counted and kills and process.exitcode == LOST):
            return kills, not process.exitcode
        assert process.exitcode == -9
        kills += 1


def check(ledger: str, *, counted: bool, ended: bool) -> None:
    """The chain holds each step once, and no more than were charged; the charge is one.

    Where people are counted, that is the step before the others; if it is lost, it is the only one.
    """
    with open_ledger(ledger) as opened:
        assert opened.spent == SPEND
        begun: list[int] = []
        for entry in opened.entries():
            if entry.kind == "begin":
                assert entry.steps is not None
                begun.extend(range(entry.steps[0], entry.steps[1] + 1))
    assert begun == list(range(1, len(begun) + 1))
    if not ended:
        assert begun == [1]
    else:
        assert STEPS < len(begun) - counted <= STEPS + FINISHING


def check_kills(
    processes: ForkServerContext,
    folder: Path,
    ledger_in: Callable[[Path], str],
    dice: random.Random,
    wanted: int,
    *,
    counted: bool = False,
) -> None:
    """Train anew until so many processes were killed, up to four of one training, and check every ledger."""
    kills = 0
    for place in range(100):
        if kills == wanted:
            return
        own = folder / str(place)
        own.mkdir()
        most = min(4, wanted - kills)
        more, ended = killed_and_resumed(processes, own, ledger_in(own), dice, most, counted=counted)
        kills += more
        check(ledger_in(own), counted=counted, ended=ended)
    raise AssertionError(f"only {kills} of {wanted} processes were killed before they ended")


def in_sqlite(folder: Path) -> str:
    return str(folder / "visits.ledger")


def in_postgres(server: str, name: str) -> Callable[[Path], str]:
    """A ledger of its own for each training of a test."""
    return lambda folder: f"{server}{'&' if '?' in server else '?'}ledger=kills_{os.getpid()}_{name}_{folder.name}"


def test_a_killed_training_draws_no_step_twice(processes: ForkServerContext, tmp_path: Path) -> None:
    check_kills(processes, tmp_path, in_sqlite, random.Random(0), 1)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(20))
def test_nor_does_one_that_is_killed_again_and_again(processes: ForkServerContext, tmp_path: Path, number: int) -> None:
    """200 kills in all."""
    check_kills(processes, tmp_path, in_sqlite, random.Random(number), 10)


def test_nor_does_one_that_counts_people(processes: ForkServerContext, tmp_path: Path) -> None:
    check_kills(processes, tmp_path, in_sqlite, random.Random(1), 1, counted=True)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(10))
def test_nor_does_one_that_counts_people_and_is_killed_again_and_again(
    processes: ForkServerContext, tmp_path: Path, number: int
) -> None:
    """100 kills in all."""
    check_kills(processes, tmp_path, in_sqlite, random.Random(number), 10, counted=True)


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("number", range(20))
def test_nor_does_one_whose_ledger_is_in_postgres(
    processes: ForkServerContext, postgres: str, tmp_path: Path, number: int
) -> None:
    """The same: 200 kills."""
    check_kills(processes, tmp_path, in_postgres(postgres, f"{number}"), random.Random(number), 10)


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("number", range(10))
def test_nor_does_one_that_counts_people_with_its_ledger_in_postgres(
    processes: ForkServerContext, postgres: str, tmp_path: Path, number: int
) -> None:
    """The same: 100 kills."""
    ledger_in = in_postgres(postgres, f"counted_{number}")
    check_kills(processes, tmp_path, ledger_in, random.Random(number), 10, counted=True)
