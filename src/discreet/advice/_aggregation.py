"""The expected errors of sample-and-aggregate, quantiles and selection for one task."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.advice._frameworks import root_mean_square
from discreet.advice._option import Option, Task
from discreet.errors import ParameterError
from discreet.mechanisms import Exponential, MostFrequent, PermuteAndFlip, Quantiles, SampleAndAggregate
from discreet.noise import uniform64
from discreet.sensitivity import Mode, Quantile, interval, smooth

__all__ = ["exponential_law", "permute_and_flip_law", "with_quantiles", "with_sample_and_aggregate", "with_selection"]


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
    trials: list[tuple[float, int, SampleAndAggregate]] = []
    for chunks in tried:
        mechanism = SampleAndAggregate(function, chunks=chunks, bounds=ends, spend=task.spend, aggregator=aggregator)
        errors = [
            _error(mechanism, _answers(function, sample, chunks), truth)
            for sample, truth in zip(task.samples, truths, strict=True)
        ]
        trials.append((root_mean_square(errors), chunks, mechanism))
    error, chunks, mechanism = min(trials, key=lambda each: each[:2])
    yield Option(mechanism, error, "simulated", f"takes any function, unseen; {chunks} chunks")


def _answers(function: Callable[..., Any], sample: Any, chunks: int) -> Floats:
    """The function's answers on equal chunks of the shuffled sample."""
    order = np.argsort(uniform64(len(sample)))
    size = len(sample) // chunks
    return np.asarray(function(np.asarray(sample)[order[: size * chunks]].reshape(chunks, size), axis=1))


def _error(mechanism: SampleAndAggregate, answers: Floats, truth: float) -> float:
    if mechanism.aggregator == "mean":
        return math.hypot(float(answers.mean()) - truth, mechanism.std)
    middle = mechanism.median
    bound = smooth(middle.statistic, answers, middle.beta, bounds=middle.bounds, relation=middle.relation)
    return math.hypot(float(np.median(answers)) - truth, middle.unit_std * bound / float(middle.rate))


_RECORDS = 2_000_000
"""So many are sorted in all for each sample: a few releases of large ones, and some dozens of small ones."""

_FEWEST, _MOST = 8, 60


def with_quantiles(task: Task) -> Iterator[Option]:
    """The exponential mechanism over the gaps of ordered data; nothing for other statistics."""
    if not isinstance(task.statistic, Quantile):
        return
    mechanism = Quantiles.calibrate(
        task.spend, probabilities=task.statistic.q, bounds=task.bounds, relation=task.relation
    )
    draws = max(_FEWEST, min(_RECORDS // task.n, _MOST))
    errors = [
        mechanism.release(sample) - truth
        for sample in task.samples
        for truth in [task.truth(sample)]
        for _ in range(draws)
    ]
    yield Option(mechanism, root_mean_square(errors), "simulated", "a place among the ordered values, ties free")


def with_selection(task: Task) -> Iterator[Option]:
    """The exponential mechanism, and permute-and-flip."""
    if not isinstance(task.statistic, Mode):
        return
    monotone = task.relation == "add_remove"
    for kind, law in ((Exponential, exponential_law), (PermuteAndFlip, permute_and_flip_law)):
        vote = MostFrequent.calibrate(task.spend, mode=task.statistic, relation=task.relation, kind=kind)
        rate = float(vote.choice.epsilon) / (1 if monotone else 2)
        gaps = [np.asarray(task.statistic.counts(sample)) for sample in task.samples]
        errors = [float(np.sqrt(law(counts, rate) @ (counts.max() - counts) ** 2)) for counts in gaps]
        why = "counts of categories: how many fewer people the picked one has"
        yield Option(vote, root_mean_square(errors), "computed", why)


def exponential_law(counts: Floats, rate: float) -> Floats:
    """The probability of each candidate, proportional to exp(rate · count)."""
    weights = np.exp(rate * (counts - counts.max()))
    return weights / weights.sum()


def permute_and_flip_law(counts: Floats, rate: float) -> Floats:
    """The probability of each candidate: p ∫₀¹ Π (1 − p′ t) dt over the others, p = exp(rate · (count − largest)).

    The product falls about like exp(−Σp′ t): places are even in ln(1 + Σp′ t). Source: McKenna and Sheldon 2020,
    Proposition 6.
    """
    accepted = np.exp(rate * (counts - counts.max()))
    places, weights = np.polynomial.legendre.leggauss(64)
    total = accepted.sum()
    reach = np.log1p(total)
    t = np.expm1(reach * (places + 1) / 2) / total
    logs = np.log1p(-np.outer(t, accepted))
    others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return accepted * ((reach * (t + 1 / total) * weights / 2) @ others)
