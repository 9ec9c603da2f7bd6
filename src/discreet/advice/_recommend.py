"""Every mechanism that can answer, asked what it would err by, and put in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from discreet.advice._aggregation import with_sample_and_aggregate
from discreet.advice._frameworks import with_global_sensitivity, with_proposed_sensitivity, with_smooth_sensitivity
from discreet.advice._option import LeftOut, Option
from discreet.advice._quantiles import with_quantiles
from discreet.advice._recommendation import Recommendation
from discreet.advice._samples import samples_of
from discreet.advice._selection import with_selection
from discreet.advice._task import Task
from discreet.errors import ParameterError
from discreet.mechanisms import SmoothNoise
from discreet.privacy import Loss, Relation, budget_of
from discreet.sensitivity import Statistic
from discreet.sensitivity import statistic as named

__all__ = ["recommend"]

_SMOOTH_NOISES: dict[str, tuple[SmoothNoise, ...]] = {
    "pure": ("student_t", "cauchy"),
    "approx": ("laplace", "student_t"),
    "rho": ("uniform_log_normal", "laplace_log_normal"),
    "mu": (),
}


def recommend(  # noqa: PLR0913 (all but the first by keyword)
    statistic: str | Statistic,
    *,
    n: int,
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
    n
        How many records there are, about: public.
    bounds
        The public (lower, upper) of the data.
    spend
        What one release may cost.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.
    sample
        Public or synthetic data that look like the private ones. Never the private data: what is recommended, and
        with which parameters, would tell about them.

    Raises `ParameterError` for an argument out of its range, for a statistic that is public under the relation, and if
    nothing applies.

    >>> from discreet.privacy import approx, pure
    >>> type(recommend("mean", n=30_000, bounds=(0, 100), spend=pure(1)).mechanism).__name__
    'GlobalSensitivity'
    >>> type(recommend("variance", n=30_000, bounds=(0, 100), spend=approx(1, 1e-6)).mechanism).__name__
    'SmoothSensitivity'
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"n must be a whole number, 1 or more, got {n!r}")
    found = named(statistic)
    if found.global_sensitivity(bounds, relation) == 0:
        raise ParameterError("this statistic is the same for all neighbours: it is public, and needs no mechanism")
    name = statistic if isinstance(statistic, str) else None
    task = Task(found, name, n, bounds, spend, relation, samples_of(found, n, bounds, sample))
    options: list[Option] = []
    left_out: list[LeftOut] = []
    for label, framework in _frameworks(spend):
        try:
            options.extend(framework(task))
        except (ParameterError, NotImplementedError) as error:
            left_out.append(LeftOut(label, str(error) or "the statistic does not implement what it needs"))
    if not options:
        raise ParameterError("no mechanism applies: " + "; ".join(f"{each.name}: {each.reason}" for each in left_out))
    options.sort(key=lambda each: (each.error, each.name))
    return Recommendation(_title(found, name), n, spend, tuple(options), tuple(left_out))


def _frameworks(spend: Loss) -> tuple[tuple[str, Callable[[Task], Iterator[Option]]], ...]:
    currency, _ = budget_of(spend)
    return (
        ("GlobalSensitivity", with_global_sensitivity),
        ("Quantiles", with_quantiles),
        ("SmoothSensitivity", partial(with_smooth_sensitivity, noises=_SMOOTH_NOISES[currency])),
        ("ProposeTestRelease", with_proposed_sensitivity),
        ("SampleAndAggregate (mean)", partial(with_sample_and_aggregate, aggregator="mean")),
        ("SampleAndAggregate (median)", partial(with_sample_and_aggregate, aggregator="median")),
        ("MostFrequent", with_selection),
    )


def _title(statistic: Statistic, name: str | None) -> str:
    return name or type(statistic).__name__
