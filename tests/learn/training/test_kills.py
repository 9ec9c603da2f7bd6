"""Processes that train are killed at random moments: no step is begun twice, none beyond those charged, and it ends."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from trainings import SPEND

from discreet.ledger import open_ledger

STEPS, FINISHING = 12, 16


def killed_and_resumed(folder: Path, ledger: str, dice: random.Random, most: int) -> int:
    """Train in processes that are killed after a random time, until one ends well; how many were killed."""
    kills = 0
    command = [sys.executable, str(Path(__file__).with_name("trainings.py")), ledger, str(folder / "net.ckpt"), "1"]
    while True:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        patience = dice.uniform(1.0, 4.5) if kills < most else 120.0
        try:
            _, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0, errors
        return kills


def check(ledger: str) -> None:
    """The chain holds each step once, and no more than were charged; the charge is one."""
    with open_ledger(ledger) as opened:
        assert opened.spent == SPEND
        begun: list[int] = []
        for entry in opened.entries():
            if entry.kind == "begin":
                assert entry.steps is not None
                begun.extend(range(entry.steps[0], entry.steps[1] + 1))
    assert begun == list(range(1, len(begun) + 1)) and len(begun) <= STEPS + FINISHING


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 67))])
def test_a_killed_training_draws_no_step_twice(tmp_path: Path, number: int) -> None:
    """Three kills and a resume each, 200 in the soak; one a day."""
    ledger = str(tmp_path / "visits.ledger")
    killed_and_resumed(tmp_path, ledger, random.Random(number), 3 if number else 1)
    check(ledger)


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("number", range(67))
def test_nor_does_one_whose_ledger_is_in_postgres(postgres: str, tmp_path: Path, number: int) -> None:
    """The same: 200 kills."""
    ledger = f"{postgres}{'&' if '?' in postgres else '?'}ledger=kills_{os.getpid()}_{number}"
    killed_and_resumed(tmp_path, ledger, random.Random(number), 3)
    check(ledger)
