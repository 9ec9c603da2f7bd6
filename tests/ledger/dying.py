"""A process that is killed while it stores a large release: run as a script.

python dying.py PLACE POINT REPORT      POINT is one of `POINTS`

It reserves the plan ``dying`` under the key ``request``, draws, and stores what it drew. REPORT then has a line for the
charge and one for the draw.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from storm import Report

from discreet.ledger import Stored, open_ledger
from discreet.ledger.log import _store
from discreet.ledger.postgres import _payload_parts
from discreet.ledger.sqlite import _payload_files
from discreet.privacy import pure

LOSS = pure("1/4")
SIZE = 20 * 2**20
"""More than one transaction takes of a server."""


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after(place: Any, name: str, calls: int = 1) -> None:
    """Be killed after so many calls of a function of a module."""
    function: Callable[..., Any] = getattr(place, name)
    left = [calls]

    def counted(*words: Any, **options: Any) -> Any:
        value = function(*words, **options)
        left[0] -= 1
        if not left[0]:
            die()
        return value

    setattr(place, name, counted)


ANYWHERE: dict[str, Callable[[], None]] = {
    "before the entry": lambda: after(_store.LedgerStore, "store_large"),
    "before the entry is committed": lambda: after(_store._rows, "append"),
}
IN_FILES: dict[str, Callable[[], None]] = {
    "before the file is on disk": lambda: setattr(_payload_files, "synced", die),
    "before the file has its name": lambda: after(_payload_files, "synced"),
    "once the name is on disk": lambda: after(_payload_files, "synced_directory", 2),
}
ON_A_SERVER: dict[str, Callable[[], None]] = {
    "before the last parts": lambda: after(_payload_parts, "write"),
}
POINTS = ANYWHERE | IN_FILES | ON_A_SERVER


def main(place: str, point: str, report: str) -> None:
    lines = Report(report)
    with open_ledger(place, None) as ledger:
        reservation = ledger.reserve("dying", LOSS, idempotency_key="request")
        assert not isinstance(reservation, Stored)
        lines.tell("reserved", reservation.id)
        payload = os.urandom(SIZE)
        lines.tell("drawn")
        POINTS[point]()
        ledger.commit(reservation, payload)
        lines.tell("answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
