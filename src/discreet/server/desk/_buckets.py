"""Token buckets: so many requests at once, and so many a second after that, for each account and each address."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

__all__ = ["Buckets"]

_MOST_NAMES = 20_000


@dataclass(slots=True)
class Buckets:
    """Buckets by name, of which the most recently used stay.

    >>> buckets = Buckets(rate=1, burst=2)
    >>> [buckets.take("ada") > 0 for _ in range(3)]
    [False, False, True]
    >>> buckets.take("ben", 2), buckets.take("ben", 2) > 1
    (0.0, True)
    """

    rate: float
    burst: float
    _levels: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict[str, tuple[float, float]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str, count: float = 1) -> float:
        """Take tokens, at most a burst; 0, or the seconds to wait for so many, and then none is taken."""
        count = min(count, self.burst)
        now = time.monotonic()
        with self._lock:
            level, at = self._levels.pop(name, (self.burst, now))
            level = min(self.burst, level + (now - at) * self.rate)
            wait = 0.0 if level >= count else (count - level) / self.rate
            self._levels[name] = (level if wait else level - count, now)
            while len(self._levels) > _MOST_NAMES:
                self._levels.popitem(last=False)
        return wait
