"""Many small processes on one ledger: run as a script, so that forking starts from a small process without threads.

python crowd.py birth DIRECTORY COUNT SEED         children are killed at random moments of making a ledger
python crowd.py race LEDGER COUNT TRIES            children make or open one ledger at once and spend what they can
python crowd.py fork LEDGER COUNT                  a process whose threads are spending forks children that spend
python crowd.py once LEDGER                        one reservation, one draw, one release: for a trace
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from functools import partial

from children import child, end

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Ledger, open_ledger
from discreet.privacy import pure


def warm() -> None:
    """Import what a ledger imports, so that a child is killed at work and not at its imports."""
    open_ledger(None, pure(1)).close()


def birth(directory: str, count: str, seed: str) -> None:
    chance = random.Random(int(seed))
    warm()

    def make(path: str) -> int:
        with open_ledger(path, pure(3)) as ledger:
            return ledger.verify() - 1

    began = time.monotonic()
    assert end(child(partial(make, f"{directory}/alive.ledger"))) == 0
    longest = 1.5 * (time.monotonic() - began)
    for index in range(int(count)):
        path = f"{directory}/{index}.ledger"
        pid = child(partial(make, path))
        time.sleep(chance.uniform(0, longest))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert end(pid) in (0, -signal.SIGKILL)


def race(path: str, count: str, tries: str) -> None:
    start, go = os.pipe()

    def spend() -> int:
        os.close(go)
        os.read(start, 1)
        with open_ledger(path, pure(3)) as ledger:
            return affordable(ledger, int(tries))

    children = [child(spend) for _ in range(int(count))]
    os.close(go)
    print(*(end(pid) for pid in children))


def fork(path: str, count: str) -> None:
    with open_ledger(path, None) as ledger, open_ledger(None, pure(1)) as private:
        done = threading.Event()
        spent: list[int] = []

        def spend_on() -> None:
            while not done.is_set():
                spent.append(affordable(ledger, 1))

        def inherit() -> int:
            with contextlib.suppress(LedgerError):
                private.reserve("double", pure(1))
                return 200
            return affordable(ledger, 3)

        threads = [threading.Thread(target=spend_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        children = [end(child(inherit)) for _ in range(int(count))]
        done.set()
        for thread in threads:
            thread.join()
        print(sum(spent), *children)


def once(path: str) -> None:
    with open_ledger(path, None) as ledger:
        os.write(1, b"before\n")
        reservation = ledger.reserve("plan", pure(0.1))
        os.getrandom(37)  # stands for the first draw of noise
        ledger.commit(reservation, b"release")
        os.write(1, b"answer\n")


def affordable(ledger: Ledger, tries: int) -> int:
    accepted = 0
    for _ in range(tries):
        with contextlib.suppress(BudgetExceeded):
            ledger.reserve("plan", pure(0.1))
            accepted += 1
    return accepted


if __name__ == "__main__":
    {"birth": birth, "race": race, "fork": fork, "once": once}[sys.argv[1]](*sys.argv[2:])
