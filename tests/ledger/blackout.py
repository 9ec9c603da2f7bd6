"""Processes that spend from one SQLite ledger, on a disk whose power fails now and then: run as a script.

python blackout.py LEDGER DIRECTORY CUTS SEED LAZY     with LAZY 1 nothing is ever synced, which must be found out

At a cut all writers stand still. Under DIRECTORY/NUMBER then lie the two files as the system has them (``ledger``,
``ledger-wal``) and as the disk has them for certain (``ledger.kept``, ``ledger-wal.kept``: what they held before the
last sync that has returned), and ``told``: all that the writers had told until then.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from children import child, end
from storm import AT_ONCE, Report, Request, work

from discreet.ledger import open_ledger
from discreet.ledger.sqlite import _file, _wal
from discreet.privacy import pure

REQUESTS = 5000


def keep(disk: Path, name: str, read: Callable[[], bytes], sync: Callable[[], None]) -> None:
    """Sync a file, and put what it surely holds then on the disk, under the time when it held it."""
    began, held = time.monotonic_ns(), read()
    sync()
    draft = disk / f".{name}.{os.getpid()}"
    draft.write_bytes(held)
    draft.rename(disk / f"{name}.{began}.{os.getpid()}")


def watch(path: str, disk: Path, lazy: bool) -> None:
    """Have this process's syncs noted; and its log moved into the file often."""
    main = os.open(path, os.O_RDONLY)  # for good: closing it would drop SQLite's locks
    sync, shorten = _wal.Log.sync, _file.File._shorten

    def read_main() -> bytes:
        return os.pread(main, os.fstat(main).st_size, 0)

    def synced(log: _wal.Log) -> None:
        if not lazy:
            keep(disk, "ledger-wal", Path(log.path).read_bytes, partial(sync, log))

    def shortened(file: _file.File, *words: object) -> None:
        shorten(file, *words)  # type: ignore[arg-type]
        keep(disk, "ledger", read_main, lambda: None)  # SQLite has synced it, and others wait

    _wal.Log.sync, _file.File._shorten, _wal._FRAMES = synced, shortened, 40  # type: ignore[method-assign]


def newest(disk: Path, name: str) -> bytes:
    kept = sorted(disk.glob(f"{name}.*"), key=lambda each: int(each.name.split(".")[1]))
    for older in kept[:-1]:
        older.unlink()
    return kept[-1].read_bytes()


def main(path: str, directory: str, cuts: str, seed: str, lazy: str) -> None:
    chance, disk, reports = random.Random(int(seed)), Path(directory, "disk"), Path(directory, "reports")
    for each in (disk, reports):
        each.mkdir(parents=True)
    (disk / "ledger.0.0").write_bytes(Path(path).read_bytes())
    (disk / "ledger-wal.0.0").write_bytes(b"")

    def run(name: str) -> int:
        watch(path, disk, lazy == "1")
        mine = random.Random(f"{seed} {name}").sample(range(REQUESTS), REQUESTS)
        work(path, Report(f"{reports}/{name}"), [Request(each) for each in mine])
        return 0

    def told() -> bytes:
        return b"".join(each.read_bytes() for each in reports.iterdir())

    open_ledger(None, pure(1)).close()  # imports what children need
    writers = [child(partial(run, f"child{index}")) for index in range(AT_ONCE)]
    lines = 0
    for number in range(int(cuts)):
        began = time.monotonic()
        while told().count(b"\n") < lines + 20:
            assert time.monotonic() < began + 600
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.02))
        for pid in writers:
            os.kill(pid, signal.SIGSTOP)
        for pid in writers:
            assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
        cut = Path(directory, str(number))
        cut.mkdir()
        for name in ("ledger", "ledger-wal"):
            (cut / name).write_bytes(Path(path).with_name(name).read_bytes())
            (cut / f"{name}.kept").write_bytes(newest(disk, name))
        (cut / "told").write_bytes(told())
        lines = told().count(b"\n")
        for pid in writers:
            os.kill(pid, signal.SIGCONT)
    for pid in writers:
        os.kill(pid, signal.SIGKILL)
        assert end(pid) == -signal.SIGKILL


if __name__ == "__main__":
    main(*sys.argv[1:])
