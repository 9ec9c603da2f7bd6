"""Values by their keys, of which the most recently used stay."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["RecentlyUsed"]

_V = TypeVar("_V")


class RecentlyUsed(Generic[_V]):
    """The most recently used values by their keys: no more than `most`, and no more than `room` in all by their size.

    >>> recent = RecentlyUsed[str](most=2)
    >>> for key in "abca":
    ...     _ = recent.get(key, lambda key=key: key.upper())
    >>> len(recent)
    2
    """

    def __init__(self, most: int, room: int | None = None, size: Callable[[_V], int] = lambda _value: 0) -> None:
        self._most, self._room, self._size = most, room, size
        self._values: OrderedDict[Hashable, _V] = OrderedDict()
        self._used = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def peek(self, key: Hashable) -> _V | None:
        """The value of a key, or None."""
        with self._lock:
            return self._values.get(key)

    def drop(self, key: Hashable) -> None:
        """Forget a key, if it is there."""
        with self._lock:
            if key in self._values:
                self._used -= self._size(self._values.pop(key))

    def get(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """The value of a key, made now if there is none. What `make` raises is raised, and nothing is stored."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            if key not in self._values:
                self._values[key] = value
                self._used += self._size(value)
            while len(self._values) > self._most or (self._room is not None and self._used > self._room):
                _, oldest = self._values.popitem(last=False)
                self._used -= self._size(oldest)
        return value
