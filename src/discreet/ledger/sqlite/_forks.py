"""Close connections before a fork; reopen them after it.

SQLite's locks belong to a process, and its notes of them to the memory that a child inherits: a child whose parent had
a file open believes in locks that it does not have, also through connections of its own. So a fork waits for the
transactions of other threads, and then closes all connections; parent and child open their own when they need one.

A fork in the middle of a transaction of the forking thread itself, or after waiting in vain, leaves a child that may
use no ledger in a file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Protocol
from weakref import WeakSet

from discreet.errors import LedgerError
from discreet.ledger.log import _database

__all__ = ["inside", "shut_at_forks"]


class Shut(Protocol):
    """What has connections."""

    def shut(self) -> None:
        """Close all connections, in the parent, before a fork."""
        ...

    def inherit(self, *, torn: bool) -> None:
        """Forget the parent's locks, in a child; if `torn`, its connections too."""
        ...


class _Door:
    def __init__(self) -> None:
        self.moved = threading.Condition(threading.RLock())
        self.inside: dict[int, int] = {}
        self.forking: set[int] = set()
        self.torn = False


_door = _Door()
_open: WeakSet[Shut] = WeakSet()


def shut_at_forks(owner: Shut) -> None:
    """Have connections of this owner closed at every fork from now on."""
    _open.add(owner)


@contextmanager
def inside() -> Generator[None]:
    """Hold off forks by other threads."""
    door, me = _door, threading.get_ident()
    with door.moved:
        if door.torn:
            raise LedgerError(
                "this process was forked in the middle of a ledger's transaction and can use no ledger in a file; "
                "fork between transactions"
            )
        while door.forking and me not in door.inside and me not in door.forking:
            door.moved.wait()
        door.inside[me] = door.inside.get(me, 0) + 1
    try:
        yield
    finally:
        with door.moved:
            door.inside[me] -= 1
            if not door.inside[me]:
                del door.inside[me]
                door.moved.notify_all()


def _before() -> None:
    me = threading.get_ident()
    _door.moved.acquire()
    _door.forking.add(me)
    _door.moved.wait_for(lambda: not _door.inside.keys() - {me}, _database.PATIENCE)
    if not _door.inside:
        for owner in [*_open]:
            with suppress(Exception):
                owner.shut()


def _in_parent() -> None:
    _door.forking.discard(threading.get_ident())
    _door.moved.notify_all()
    _door.moved.release()


def _in_child() -> None:
    global _door  # noqa: PLW0603
    torn = _door.torn or bool(_door.inside)
    _door = _Door()
    _door.torn = torn
    for owner in [*_open]:
        owner.inherit(torn=torn)


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
