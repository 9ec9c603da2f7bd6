"""`Quantiles` asked about one task."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.advice._frameworks import root_mean_square
from discreet.advice._option import Option
from discreet.advice._task import Task
from discreet.mechanisms import Quantiles
from discreet.sensitivity import Quantile

__all__ = ["with_quantiles"]

_RECORDS = 2_000_000
"""So many are sorted in all for each sample: a few releases of large ones, and some dozens of small ones."""

_FEWEST, _MOST = 8, 60


def with_quantiles(task: Task) -> Iterator[Option]:
    """The exponential mechanism over the gaps of ordered data; nothing for other statistics."""
    if not isinstance(task.statistic, Quantile):
        return
    mechanism = Quantiles.calibrate(task.spend, task.statistic.q, task.bounds, relation=task.relation)
    draws = max(_FEWEST, min(_RECORDS // task.n, _MOST))
    errors = [
        mechanism.release(sample) - truth
        for sample in task.samples
        for truth in [task.truth(sample)]
        for _ in range(draws)
    ]
    yield Option(mechanism, root_mean_square(errors), "simulated", "a place among the ordered values, ties free")
