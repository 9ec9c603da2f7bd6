"""Enough stack for recursion over a nested expression, however much of it the caller has used."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["FRAMES", "room", "with_room"]

FRAMES = 6_000
"""Calls within one another: some 25 are those of the parser for one level of a query, which has at most 100."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_lock = threading.Lock()
_users = 0
_limits = (0, 0)
"""Python's limit before the first user of the room, and the one set for the users there are."""


@contextmanager
def room() -> Generator[None]:
    """Let `FRAMES` calls be within one another from here on, so that whether that is enough depends on the query alone.

    Python's limit is one for all threads. It is only ever raised, and put back when nobody needs it any more, unless
    somebody else has set another in the meantime.
    """
    global _users, _limits  # noqa: PLW0603
    needed = _depth() + FRAMES
    with _lock:
        now = sys.getrecursionlimit()
        _limits = (_limits[0] if _users else now), max(now, needed)
        _users += 1
        sys.setrecursionlimit(_limits[1])
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users and sys.getrecursionlimit() == _limits[1]:
                sys.setrecursionlimit(_limits[0])


def with_room(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that runs in a `room`."""

    @wraps(function)
    def run(*args: _P.args, **named: _P.kwargs) -> _T:
        with room():
            return function(*args, **named)

    return run


def _depth() -> int:
    """How many calls are within one another here."""
    frame, depth = sys._getframe(), 0  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
