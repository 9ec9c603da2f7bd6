"""Sort the mechanisms that can release a statistic by their expected error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.advice._advisors import advisor
from discreet.advice._aggregation import with_quantiles, with_sample_and_aggregate, with_selection
from discreet.advice._frameworks import with_global_sensitivity, with_proposed_sensitivity, with_smooth_sensitivity
from discreet.advice._option import LeftOut, Option, Task
from discreet.advice._recommendation import Recommendation
from discreet.errors import ParameterError
from discreet.mechanisms import SmoothNoise
from discreet.privacy import Loss, Relation, budget_of
from discreet.sensitivity import Mode, Slope, Statistic, interval
from discreet.sensitivity import statistic as named

__all__ = ["SHAPES", "Framework", "compare", "numeric_frameworks", "recommend", "samples_of"]


Floats = NDArray[np.float64]

Framework = tuple[str, Callable[[Task], Iterator[Option]]]
"""A name, and what yields its options for a task."""

_MOST = 10**6
_MOST_PAIRS = 10**5
"""Records that are tried at most, and points for a slope; more only make the errors smaller."""

_SKEW = 5


def _bell(shares: Floats) -> Floats:
    from scipy.special import betaincinv

    return np.asarray(betaincinv(4, 4, shares))


SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "even": lambda shares: shares,
    "bell": _bell,
    "skewed": lambda shares: -np.log1p(shares * np.expm1(-_SKEW)) / _SKEW,
}
"""Quantile functions on [0, 1]: uniform; Beta(4, 4); an exponential that falls by e**−5 over the range."""


def samples_of(statistic: Statistic, n: int, bounds: Any, given: Any = None) -> tuple[Any, ...]:
    """Data sets of n records, at most a million, one per shape; or one, as the given sample is distributed.

    A given sample of numbers is stretched or thinned to n by its quantiles; categories and pairs are repeated in turn.
    """
    size = min(n, _MOST_PAIRS if isinstance(statistic, Slope) else _MOST)
    if isinstance(statistic, Mode):
        return (_repeated(given, size),) if given is not None else (_zipf(statistic, size),)
    if isinstance(statistic, Slope):
        if given is not None and (not isinstance(given, tuple | list) or len(given) != 2):
            raise ParameterError("a sample for a slope must be a pair (x, y) of arrays")
        return (tuple(_repeated(each, size) for each in given),) if given is not None else _lines(size, bounds)
    if given is not None:
        numbers = np.asarray(given)
        if numbers.ndim != 1 or numbers.dtype.kind not in "biuf" or not len(numbers) or not np.isfinite(numbers).all():
            raise ParameterError("sample must be a one-dimensional array of finite numbers, at least one")
        return (np.quantile(numbers, _shares(size), method="inverted_cdf"),)
    lower, upper = interval((0, 1) if bounds is None else bounds)
    return tuple(lower + (upper - lower) * shape(_shares(size)) for shape in SHAPES.values())


def _shares(size: int) -> Floats:
    return (np.arange(size) + 0.5) / size


def _repeated(given: Any, size: int) -> Any:
    values = np.asarray(given)
    if values.ndim != 1 or not len(values):
        raise ParameterError("sample must be one-dimensional, with at least one value")
    return values[np.arange(size) % len(values)]


def _zipf(statistic: Mode, size: int) -> Any:
    """The i-th category is 1/i as frequent as the first."""
    weights = np.cumsum(1 / np.arange(1, len(statistic.domain) + 1))
    places = np.searchsorted(weights / weights[-1], _shares(size))
    return [statistic.domain[place] for place in places]


def _lines(size: int, bounds: Any) -> tuple[Any, ...]:
    """X evenly over its range; y on the diagonal of the box, and spread around it by its golden-ratio sequence."""
    (left, right), (low, high) = (interval(each) for each in bounds)
    shares, spread = _shares(size), (np.arange(size) * 0.6180339887498949) % 1
    mixed = 0.5 * shares + 0.5 * spread
    return ((left + (right - left) * shares, low + (high - low) * mixed),)


_SMOOTH_NOISES: dict[str, tuple[SmoothNoise, ...]] = {
    "pure": ("student_t", "cauchy"),
    "approx": ("laplace", "student_t"),
    "rho": ("uniform_log_normal", "laplace_log_normal"),
    "mu": (),
}


def recommend(  # noqa: PLR0913 (all but the first by keyword)
    statistic: str | Statistic,
    *,
    n: int | None = None,
    nodes: int | None = None,
    bounds: Any = None,
    spend: Loss,
    relation: Relation = "add_remove",
    sample: Any = None,
) -> Recommendation:
    """The mechanisms that can release a statistic for a spend, ready to use, the one that errs least first.

    Costs no privacy and sees no private data: errors are computed where a formula knows them, and otherwise on three
    made-up data sets (even, bell-shaped, skewed towards the lower bound) or on the public `sample`.

    Parameters
    ----------
    statistic
        A name such as ``"mean"`` or ``"median"``, or a `discreet.sensitivity.Statistic`; a mode as ``Mode(domain)``.
        With `nodes`, a statistic of a graph by its name, such as ``"triangles"``.
    n
        How many records there are, about: public.
    nodes
        In place of `n` and `bounds`, for a graph whose edges are protected: its public number of vertices. Errors are
        computed on two made-up graphs; see `discreet.graphs.recommend_count`.
    bounds
        The public (lower, upper) of the data.
    spend
        What one release may cost.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.
    sample
        Public or synthetic data that look like the private ones; of a graph, a `discreet.graphs.Graph`. Never the
        private data: what is recommended, and with which parameters, would tell about them.

    Raises `ParameterError` for an argument out of its range, for a statistic that is public under the relation, and if
    nothing applies.

    >>> from discreet.privacy import approx, pure
    >>> type(recommend("mean", n=30_000, bounds=(0, 100), spend=pure(1)).mechanism).__name__
    'GlobalSensitivity'
    >>> type(recommend("variance", n=30_000, bounds=(0, 100), spend=approx(1, 1e-6)).mechanism).__name__
    'SmoothSensitivity'
    """
    if nodes is not None:
        if n is not None or bounds is not None or relation != "add_remove":
            raise ParameterError("a statistic of a graph takes nodes, a spend and a sample; leave out the others")
        return advisor("nodes")(statistic, nodes=nodes, spend=spend, sample=sample)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ParameterError(f"n must be a whole number, 1 or more, got {n!r}; a statistic of a graph takes nodes")
    chosen = named(statistic)
    if chosen.global_sensitivity(bounds, relation) == 0:
        raise ParameterError("this statistic is the same for all neighbours: it is public, and needs no mechanism")
    name = statistic if isinstance(statistic, str) else None
    task = Task(chosen, name, n, bounds, spend, relation, samples_of(chosen, n, bounds, sample))
    by_global, *others = numeric_frameworks(spend)
    return compare(
        task,
        (
            by_global,
            ("Quantiles", with_quantiles),
            *others,
            ("SampleAndAggregate (mean)", partial(with_sample_and_aggregate, aggregator="mean")),
            ("SampleAndAggregate (median)", partial(with_sample_and_aggregate, aggregator="median")),
            ("MostFrequent", with_selection),
        ),
    )


def numeric_frameworks(spend: Loss) -> tuple[Framework, ...]:
    """Those for any `Statistic` with numbers as values: global and smooth sensitivity, and propose-test-release."""
    currency, _ = budget_of(spend)
    return (
        ("GlobalSensitivity", with_global_sensitivity),
        ("SmoothSensitivity", partial(with_smooth_sensitivity, noises=_SMOOTH_NOISES[currency])),
        ("ProposeTestRelease", with_proposed_sensitivity),
    )


def compare(task: Task, frameworks: Iterable[Framework], counted: str = "records") -> Recommendation:
    """The options of all frameworks for one task, the one that errs least first; `counted` is what `task.n` counts.

    A framework is left out, with the reason, where it raises `ParameterError` or `NotImplementedError`. Raises
    `ParameterError` if none is left.
    """
    options: list[Option] = []
    left_out: list[LeftOut] = []
    for label, framework in frameworks:
        try:
            options.extend(framework(task))
        except (ParameterError, NotImplementedError) as error:
            left_out.append(LeftOut(label, str(error) or "the statistic does not implement what it needs"))
    if not options:
        raise ParameterError("no mechanism applies: " + "; ".join(f"{each.name}: {each.reason}" for each in left_out))
    options.sort(key=lambda each: (each.error, each.name))
    title = _title(task.statistic, task.name)
    return Recommendation(title, task.n, task.spend, tuple(options), tuple(left_out), counted)


def _title(statistic: Statistic, name: str | None) -> str:
    return name or type(statistic).__name__
