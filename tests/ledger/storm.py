"""Processes that ask one ledger for releases, each with its idempotency key, and are killed: run as a script.

python storm.py protocol LEDGER REPORTS KILLS SEED ROW   children are killed at random moments, and others try again;
                                                        a payload of more than ROW bytes is large
python storm.py limit LEDGER COUNT TRIES SHARED        children spend until nothing is left, all at once
python storm.py patient LEDGER REPORTS SEED           children go on when the server fails, until there is REPORTS/stop;
                                                      they rest while there is REPORTS/hold

Each child tells what it knows in a file of its own, one line at a time, so that a killed one has told all it did.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from children import child, end

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Ledger, Stored, open_ledger
from discreet.ledger.log import _store
from discreet.privacy import Loss, pure

ACCOUNTS = ("", "ada", "bob", "eve")
AT_ONCE = 4
FOR_EACH = 8
"""Requests that come new with each child; it tries again three times as many of those before it."""


@dataclass(frozen=True, slots=True)
class Request:
    """Two requests in turn ask for one plan: the second may be served what the first has paid for."""

    number: int

    @property
    def key(self) -> str:
        return f"key{self.number}"

    @property
    def plan(self) -> str:
        return f"plan{self.number // 2}"

    @property
    def account(self) -> str:
        return ACCOUNTS[self.number // 2 % len(ACCOUNTS)]

    @property
    def loss(self) -> Loss:
        return pure(f"{1 + self.number // 2 % 5}/1000")

    @property
    def fresh(self) -> bool:
        return self.number % 2 == 0


def requests_for(kills: int) -> list[Request]:
    return [Request(number) for number in range(FOR_EACH * kills)]


class Report:
    """What a process knows, written where its death cannot take it back."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def ask(ledger: Ledger, request: Request, report: Report) -> None:
    """Reserve, draw, store, answer."""
    try:
        found = ledger.reserve(request.plan, request.loss, idempotency_key=request.key, fresh=request.fresh)
    except BudgetExceeded:
        report.tell("refused", request.key)
        return
    except LedgerError as error:
        if "was charged and has no release" not in str(error):
            raise
        report.tell("dead", request.key)
        return
    if not isinstance(found, Stored):
        report.tell("reserved", request.key, found.id)
        payload = os.urandom(64).hex().encode()  # stands for the noise: a second draw is another
        time.sleep(payload[0] / 20_000)
        report.tell("drawn", request.key, _digest(payload))
        found = ledger.commit(found, payload)
    report.tell("answered", request.key, _digest(found.payload))


def work(path: str, report: Report, requests: Iterable[Request]) -> None:
    """All the requests, in turn; and where the ledger ends, now and then."""
    with open_ledger(path, None) as whole:
        accounts: dict[str, Ledger] = {name: whole.open_account(name) if name else whole for name in ACCOUNTS}
        for turn, request in enumerate(requests):
            ask(accounts[request.account], request, report)
            if turn % 8 == 0:
                report.tell("head", whole.head.hash)


def protocol(path: str, reports: str, kills: str, seed: str, row: str) -> None:
    _store.LARGEST_IN_ROW = int(row)
    chance, requests = random.Random(int(seed)), requests_for(int(kills))

    def run(name: str, last: int, again: int) -> int:
        mine = requests[max(0, last - 4 * FOR_EACH) : last] if again > 1 else requests
        shuffle = random.Random(f"{seed} {name}").sample
        work(path, Report(f"{reports}/{name}"), [each for _ in range(again) for each in shuffle(mine, len(mine))])
        return 0

    def stop(name: str, pid: int) -> None:
        lines, report, opened = chance.choice([0, 1, 2, 3, 5, 8]), Path(reports, name), time.monotonic()
        while not report.exists() or report.read_bytes().count(b"\n") < lines:
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), f"{name} ended by itself"
            assert time.monotonic() < opened + 600, f"{name} says nothing"
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.005))
        os.kill(pid, signal.SIGKILL)
        assert end(pid) == -signal.SIGKILL

    open_ledger(path, None).close()  # imports what children need
    running: list[tuple[str, int]] = []
    for index in range(int(kills)):
        name = f"child{index}"
        running.append((name, child(partial(run, name, FOR_EACH * (index + 1), 1000))))
        if len(running) == AT_ONCE:
            stop(*running.pop(chance.randrange(AT_ONCE)))
    for name, pid in running:
        stop(name, pid)
    assert end(child(partial(run, "last", len(requests), 1))) == 0


def patient(path: str, reports: str, seed: str) -> None:
    def requests(chance: random.Random) -> Iterator[Request]:
        """Some of them again, and most of them new, so that the ledger grows as long as the storm lasts."""
        asked: list[int] = []
        while not Path(reports, "stop").exists():
            while Path(reports, "hold").exists():
                time.sleep(0.01)
            asked.append(chance.choice(asked) if asked and chance.random() < 0.3 else chance.randrange(10**6))
            yield Request(asked[-1])

    def run(name: str) -> int:
        report, chance, failures = Report(f"{reports}/{name}"), random.Random(f"{seed} {name}"), 0
        while not Path(reports, "stop").exists():
            try:
                work(path, report, requests(chance))
            except LedgerError as error:
                failures += 1
                report.tell("failed", "_".join(str(error).split()))
                time.sleep(0.05)
        return min(failures, 100)

    open_ledger(path, None).close()
    print(*(end(pid) for pid in [child(partial(run, f"child{index}")) for index in range(AT_ONCE)]))


def limit(path: str, count: str, tries: str, shared: str) -> None:
    start, go = os.pipe()

    def spend(index: int) -> int:
        os.close(go)
        with open_ledger(path, None) as whole:
            ledger = whole.open_account("all" if int(shared) else f"account{index}")
            os.read(start, 1)
            accepted = 0
            for number in range(int(tries)):
                with contextlib.suppress(BudgetExceeded):
                    found = ledger.reserve(f"plan{index}.{number}", pure("1/10"))
                    assert not isinstance(found, Stored)
                    ledger.commit(found, b"release")
                    accepted += 1
            return accepted

    open_ledger(path, None).close()
    children = [child(partial(spend, index)) for index in range(int(count))]
    os.close(go)
    print(*(end(pid) for pid in children))


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


if __name__ == "__main__":
    {"protocol": protocol, "limit": limit, "patient": patient}[sys.argv[1]](*sys.argv[2:])
