"""A ledger of a million entries: how long it takes to open, to show and to spend from, and to check.

    python bench/long_ledger.py [--entries 1000000] [--accounts 20] [--keep FILE] [--check]

The ledger is written in one transaction by the functions that write every entry; then each figure is of a process of
its own, its start and its imports included: CPU seconds of it and its children, and its wall-clock seconds.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from discreet.ledger import open_ledger
from discreet.privacy import pure

OPEN = "from discreet.ledger import open_ledger; l = open_ledger(r'{path}'); print(l.remaining); l.close()"
SPEND = (
    "from discreet.ledger import open_ledger; from discreet.privacy import pure; l = open_ledger(r'{path}'); "
    "l.reserve('one-more', pure('1/1000'), fresh=True); l.close()"
)
EMPTY = (
    "from discreet.ledger import open_ledger; from discreet.privacy import pure; open_ledger(None, pure(1)).remaining"
)


def build(path: Path, entries: int, accounts: int) -> None:
    """Reservations and releases in turn, by many accounts."""
    names = [f"analyst{number}" for number in range(accounts)]
    with open_ledger(path, pure(10**9), every="month") as ledger:
        for name in names:
            ledger.grant(name, pure(10**8), token=False)
        store = ledger._store  # noqa: SLF001
        charge = {"history": {name: list(texts) for name, texts in _charge().items()}}
        pages = {}
        with store.database.transaction(write=True) as connection:
            last = state = None
            for number in range((entries - accounts) // 2):
                name = names[number % accounts]
                if name not in pages:
                    pages[name] = store.page(connection, name)
                page = pages[name]
                if last is not None:
                    page.last = last
                    page.state = type(state)(state.total, page.state.account, state.history)
                row = page.write("reserve", charge, plan_hash=f"plan{number}")
                page.write("release", {"loss": charge["history"]["pure"]}, reservation=row.hash,
                           plan_hash=f"plan{number}", payload=b"release")  # fmt: skip
                last, state = page.last, page.state


def _charge() -> dict[str, list[str]]:
    from discreet.ledger.state._arithmetic import numbers, of_loss

    return {name: numbers(loss) for name, loss in of_loss(pure("1/1000")).items()}


def timed(*command: str) -> str:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{cpu:8.2f} CPU s {wall:8.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--accounts", type=int, default=20)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        path = options.keep or Path(home, "long.ledger")
        if not path.exists():
            began = time.process_time()
            build(path, options.entries, options.accounts)
            print(f"built in {time.process_time() - began:.0f} CPU s, {path.stat().st_size / 1e6:,.0f} MB")
        discreet = (sys.executable, "-m", "discreet.cli")
        ways = {
            "an empty one in memory": (sys.executable, "-c", EMPTY),
            "open, remaining": (sys.executable, "-c", OPEN.format(path=path)),
            "open, reserve": (sys.executable, "-c", SPEND.format(path=path)),
            "discreet ledger --help": (*discreet, "ledger", "--help"),
            "discreet ledger show": (*discreet, "ledger", "show", str(path)),
            "discreet ledger show --plot": (*discreet, "ledger", "show", str(path), "--plot", f"{home}/burn.html"),
        }
        if options.check:
            ways["discreet ledger check"] = (*discreet, "ledger", "check", str(path))
        for name, command in ways.items():
            print(f"{name:<28}{min(timed(*command) for _ in range(1 if 'check' in name else 3))}", flush=True)


if __name__ == "__main__":
    main()
