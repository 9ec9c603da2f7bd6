"""Sample-and-aggregate asked about one task: the number of chunks that errs least, by what chunks of samples say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.advice._frameworks import root_mean_square
from discreet.advice._option import Option
from discreet.advice._task import Task
from discreet.errors import ParameterError
from discreet.mechanisms import SampleAndAggregate
from discreet.noise import uniform64
from discreet.sensitivity import interval, smooth

__all__ = ["with_sample_and_aggregate"]

Floats = NDArray[np.float64]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": np.max,
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "variance": np.var,
}

_CHUNKS = (10, 30, 100, 300, 1000)
"""A chunk is a process, so few of them are tried."""

_FEWEST_IN_CHUNK = 5


def with_sample_and_aggregate(task: Task, aggregator: Literal["mean", "median"]) -> Iterator[Option]:
    """The number of chunks that errs least."""
    function = _FUNCTIONS.get(task.name or "")
    if function is None:
        raise ParameterError("it runs a function of your own, SampleAndAggregate(function, …); try it on public data")
    tried = [chunks for chunks in _CHUNKS if chunks * _FEWEST_IN_CHUNK <= task.n]
    if not tried:
        raise ParameterError(f"{task.n} records are too few to be cut into chunks")
    lower, upper = interval(task.bounds)
    ends = (0.0, (upper - lower) ** 2 / 4) if task.name == "variance" else (lower, upper)
    truths = [task.truth(sample) for sample in task.samples]
    found: list[tuple[float, int, SampleAndAggregate]] = []
    for chunks in tried:
        mechanism = SampleAndAggregate(function, chunks=chunks, bounds=ends, spend=task.spend, aggregator=aggregator)
        errors = [
            _error(mechanism, _answers(function, sample, chunks), truth)
            for sample, truth in zip(task.samples, truths, strict=True)
        ]
        found.append((root_mean_square(errors), chunks, mechanism))
    error, chunks, mechanism = min(found, key=lambda each: each[:2])
    yield Option(mechanism, error, "simulated", f"takes any function, unseen; {chunks} chunks")


def _answers(function: Callable[..., Any], sample: Any, chunks: int) -> Floats:
    """What the function says of equal chunks of the shuffled sample."""
    order = np.argsort(uniform64(len(sample)))
    size = len(sample) // chunks
    return np.asarray(function(np.asarray(sample)[order[: size * chunks]].reshape(chunks, size), axis=1))


def _error(mechanism: SampleAndAggregate, answers: Floats, truth: float) -> float:
    if mechanism.aggregator == "mean":
        return math.hypot(float(answers.mean()) - truth, mechanism.std)
    middle = mechanism.median
    bound = smooth(middle.statistic, answers, middle.beta, bounds=middle.bounds, relation=middle.relation)
    return math.hypot(float(np.median(answers)) - truth, middle.unit_std * bound / float(middle.rate))
