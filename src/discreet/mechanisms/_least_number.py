"""The least whole number that is enough."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["least"]


def least(enough: Callable[[int], bool]) -> int:
    """The least k ≥ 0 with ``enough(k)``, which holds from some k on; `enough` has said yes to what is returned.

    >>> least(lambda k: k * k >= 30)
    6
    """
    low, high = -1, 0  # not enough at `low`, enough at `high`
    while not enough(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
