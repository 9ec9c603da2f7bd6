"""The power fails while processes spend: what was told of before is in the ledger after, and nothing is half there."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from storm import ACCOUNTS

import discreet
from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.privacy import pure
from servers import start_postgres

BLACKOUT = [sys.executable, str(Path(__file__).with_name("blackout.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
STORM = [sys.executable, str(Path(__file__).with_name("storm.py"))]
SECTOR = 512


def blackout(tmp_path: Path, cuts: int, seed: int, *, lazy: bool) -> list[Path]:
    """The places of what was left at each cut."""
    path = tmp_path / "ledger"
    with open_ledger(path, pure(1000)) as ledger:
        for name in ACCOUNTS[1:]:
            ledger.grant(name, pure(1000), token=False)
    command = [*BLACKOUT, *map(str, (path, tmp_path / "cuts", cuts, seed, int(lazy)))]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=3000, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [tmp_path / "cuts" / str(number) for number in range(cuts)]


def left_over(cut: Path, name: str, chance: random.Random) -> Iterator[bytes]:
    """What a disk may hold: for certain what was synced, and of what was written since, anything."""
    kept, written = ((cut / each).read_bytes() for each in (f"{name}.kept", name))
    old, new = kept.ljust(len(written), b"\0"), written.ljust(len(kept), b"\0")
    yield kept
    yield written
    changed = [at for at in range(0, len(new), SECTOR) if old[at : at + SECTOR] != new[at : at + SECTOR]]
    while True:
        torn = chance.randrange(min(changed, default=0), max(changed, default=0) + SECTOR)
        yield new[:torn] + kept[torn:]  # in order, torn at any byte; the file may not have grown
        mixed = bytearray(kept if chance.random() < 0.5 else old)
        for at in changed:  # in any order
            if chance.random() < 0.5:
                mixed[at : at + SECTOR] = new[at : at + SECTOR]
            elif at >= len(kept) and chance.random() < 0.2:
                mixed[at : at + SECTOR] = chance.randbytes(len(new[at : at + SECTOR]))
        yield bytes(mixed)


def check(place: Path | str, told: list[list[str]], *, server: bool = False) -> tuple[int, str]:
    """Where the ledger ends that a power cut has left, once all that was told is there."""
    with open_ledger(place, None) as ledger:
        entries = list(ledger.entries())
        count = ledger.verify({f"head {each}": each for word, each, *_ in told if word == "head"})
        charges = {entry.hash: entry for entry in entries if entry.kind == "reserve"}
        releases = {entry.reservation: entry.payload_sha256 for entry in entries if entry.kind == "release"}
        repeats = {entry.idempotency_key for entry in entries if entry.kind == "repeat"}
        held = {entry.idempotency_key: releases.get(entry.hash) for entry in charges.values()}
        for word, key, *rest in told:
            if word == "reserved":
                assert charges[rest[0]].idempotency_key == key
            elif word == "answered" and key in held:
                assert held[key] == rest[0]
            elif word == "answered":
                assert key in repeats
                assert rest[0] in releases.values()
        assert entries[-1].spent.eps == sum(entry.loss.eps for entry in charges.values())
        for name, account in () if server else ledger.accounts.items():
            assert account.spent.eps == sum(each.loss.eps for each in charges.values() if each.account == name)
        ledger.commit(ledger.reserve("after", pure(1), fresh=True), b"the ledger goes on")
        return count, entries[-1].hash


@pytest.mark.parametrize(("cuts", "states"), [(6, 6), pytest.param(150, 20, marks=pytest.mark.soak)])
def test_what_was_told_before_a_power_cut_is_there_after_it(tmp_path: Path, cuts: int, states: int) -> None:
    chance, ends, more, moved = random.Random(2026), dict[int, str](), 0, set[bytes]()
    for cut in blackout(tmp_path, cuts, 7, lazy=False):
        told = [line.split() for line in (cut / "told").read_text().splitlines()]
        files = [left_over(cut, name, chance) for name in ("ledger", "ledger-wal")]
        lengths = set()
        moved.add((cut / "ledger.kept").read_bytes())
        for state in range(states):
            place = cut / f"state{state}" / "ledger"
            place.parent.mkdir()
            place.write_bytes(next(files[0]))
            place.with_name("ledger-wal").write_bytes(next(files[1]))
            count, head = check(place, told)
            assert ends.setdefault(count, head) == head, "two cuts of one ledger tell two stories"
            lengths.add(count)
        more += len(lengths) - 1
    assert more, "no cut met a writer at work"
    assert len(moved) > 1, "the log was never moved into the file"
    with open_ledger(tmp_path / "ledger", None) as ledger:
        story = [entry.hash for entry in ledger.entries()]
    assert all(story[count - 1] == head for count, head in ends.items())
    assert max(ends) > 5 * cuts


def test_a_ledger_that_does_not_sync_is_found_out(tmp_path: Path) -> None:
    """So that the test above can fail. More than half of the cuts find it out: none of 30 does in 1e-9 of runs."""
    missed = 0
    for cut in blackout(tmp_path, 30, 8, lazy=True):
        told = [line.split() for line in (cut / "told").read_text().splitlines()]
        place = cut / "state" / "ledger"
        place.parent.mkdir()
        for name in ("ledger", "ledger-wal"):
            place.with_name(name).write_bytes(next(left_over(cut, name, random.Random(1))))
        try:
            check(place, told)
        except (KeyError, AssertionError, LedgerError):
            missed += 1
    assert missed


def slain(folder: Path, how: signal.Signals) -> None:
    """No process of the server is left: told to stop at once, or killed, the first of them first."""
    first = psutil.Process(int((folder / "postmaster.pid").read_text().split()[0]))
    all_of_it = [first, *first.children(recursive=True)]
    for process in all_of_it[: 1 if how == signal.SIGQUIT else None]:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(how)
    assert not psutil.wait_procs(all_of_it, timeout=600)[1]


@pytest.mark.postgres
@pytest.mark.parametrize("times", [2, pytest.param(30, marks=pytest.mark.soak)])
def test_what_was_told_before_a_server_died_is_there_after_it(tmp_path: Path, times: int) -> None:
    """The server keeps what it has not written to its log in memory, and loses that."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    server = start_postgres(folder)
    reports, chance = tmp_path / "reports", random.Random(times)
    reports.mkdir()

    def told() -> list[list[str]]:
        files = [each for each in reports.iterdir() if each.name.startswith("child")]
        return [line.split() for each in files for line in each.read_text().splitlines()]

    try:
        url = f"{server.get_uri()}&ledger=slain"
        with open_ledger(url, pure(1000)) as ledger:
            for name in ACCOUNTS[1:]:
                ledger.grant(name, pure(1000), token=False)
            command = [*STORM, "patient", url, str(reports), str(times)]
            with (
                subprocess.Popen(command, env=ENVIRONMENT, stdout=-1, stderr=-1, text=True) as writers,
                ExitStack() as stopped,
            ):
                stopped.callback((reports / "stop").touch)
                for number in range(times):
                    before, began = len(told()), time.monotonic()
                    while len(told()) < before + 30:
                        assert writers.poll() is None
                        assert time.monotonic() < began + 600, "the writers did not go on"
                        time.sleep(0.01)
                    time.sleep(chance.uniform(0, 0.1))
                    slain(folder, (signal.SIGQUIT, signal.SIGKILL)[number % 2])
                    known = told()
                    server.ensure_postgres_running()
                    (reports / "hold").touch()  # what was asked for before still comes in meanwhile
                    check(url, known, server=True)
                    (reports / "hold").unlink()
                    assert ledger.spent.eps > 0, "who had it open goes on with a new connection"
                stopped.close()
                out, err = writers.communicate()
            assert (writers.returncode, err) == (0, "")
            assert any(map(int, out.split())), "nobody noticed"
            wrong = re.compile("trusted|gone_back|damaged")
            assert not [what for word, what, *_ in told() if word == "failed" and wrong.search(what)]
            ledger.verify()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
