"""Entries for statistics of data."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from typing import Literal

import numpy as np

from discreet import mechanisms
from discreet.audit.black_box._subject import Batched, batched
from discreet.audit.catalog._entry import Entry
from discreet.privacy import Loss, approx, mu, pure, rho

__all__ = ["data"]

_SLOW = 40_000
_RARE = "the move and the stretch of the noise meet in its tail, which is rare"


def data() -> Iterator[Entry]:
    """Statistics of bounded data, quantiles, sample and aggregate, and Poisson samples."""
    yield from _global()
    yield from _local()
    yield from _quantiles()
    yield from _chunks()
    yield from _sampled()


def _global() -> Iterator[Entry]:
    entry = partial(Entry, group="Statistics of data", kind=mechanisms.GlobalSensitivity, samples=100_000)
    for name, statistic, spend, shown, pair, delta, note in (
        ("sum", "sum", pure(1), "dp.pure(1)", ([1.0], []), None, "one record at the upper bound"),
        ("sum rho", "sum", rho("0.5"), 'dp.rho("0.5")', ([1.0], []), "0.01", "ρ is told as an ε above the true one"),
        ("sum mu", "sum", mu(1), "dp.mu(1)", ([1.0], []), "0.05", "one record at the upper bound"),
        ("variance", "variance", pure(1), "dp.pure(1)", ([0.0, 1.0], [0.0]), None, "from none to the most"),
        (
            "mean",
            "mean",
            pure(1),
            "dp.pure(1)",
            ([1.0] * 3, [1.0] * 2),
            None,
            "one number of two noisy sums tells less than both, which are what is paid for",
        ),
    ):
        mechanism = mechanisms.GlobalSensitivity(statistic, bounds=(0, 1), spend=spend)
        yield entry(
            f"GlobalSensitivity {name}",
            shown=f'GlobalSensitivity("{statistic}", bounds=(0, 1), spend={shown})',
            mechanism=mechanism,
            pairs=(pair,),
            claim=mechanism.loss(),
            delta=delta,
            note=note,
        )
    swapped = mechanisms.GlobalSensitivity("mean", bounds=(0, 1), spend=pure(1), relation="substitute")
    yield entry(
        "GlobalSensitivity mean substitute",
        shown='GlobalSensitivity("mean", bounds=(0, 1), spend=dp.pure(1), relation="substitute")',
        mechanism=swapped,
        pairs=(([1.0] * 20, [0.0, *[1.0] * 19]), ([0.0] * 9 + [1.0] * 10, [0.0] * 10 + [1.0] * 9)),
        claim=swapped.loss(),
        note="from one bound to the other, in the middle, where few answers are cut off",
    )


def _local() -> Iterator[Entry]:
    entry = partial(Entry, group="Statistics of data", samples=_SLOW)
    first_record = ([], [0.0])
    cases: tuple[tuple[str, mechanisms.SmoothNoise, str, Loss, str, tuple[list[float], list[float]], str], ...] = (
        ("laplace", "laplace", "mean", approx(1, "0.05"), 'dp.approx(1, "0.05")', ([0, 1, 1, 1], [0, 0, 1, 1, 1]), ""),
        ("cauchy", "cauchy", "median", pure(1), "dp.pure(1)", first_record, "one scale for both: the worst move alone"),
        ("student_t", "student_t", "median", pure(1), "dp.pure(1)", ([0, 0.5], [0, 0.5, 0.5]), _RARE),
        ("uniform_log_normal", "uniform_log_normal", "median", rho("0.5"), 'dp.rho("0.5")', ([], [1]), ""),
        (
            "laplace_log_normal",
            "laplace_log_normal",
            "median",
            rho("0.5"),
            'dp.rho("0.5")',
            ([0.5, 1], [0.5, 1, 1]),
            "",
        ),
    )
    for name, noise, statistic, spend, shown, pair, note in cases:
        mechanism = mechanisms.SmoothSensitivity(statistic, bounds=(0, 1), spend=spend, noise=noise)
        in_rho = name.endswith("log_normal")
        yield entry(
            f"SmoothSensitivity {name}",
            shown=f'SmoothSensitivity("{statistic}", bounds=(0, 1), spend={shown}, noise="{noise}")',
            mechanism=mechanism,
            pairs=(pair,),
            claim=mechanism.loss(),
            delta="0.01" if in_rho else None,
            kind=mechanisms.SmoothSensitivity,
            note="the theorem is not tight, and ρ is told as an ε above the true one" if in_rho else note or _RARE,
        )
    rows = [*[0.0] * 119, 1.0]
    tested = mechanisms.ProposeTestRelease("mean", bound="1/108", bounds=(0, 1), spend=approx(1, "0.001"))
    yield entry(
        "ProposeTestRelease",
        shown='ProposeTestRelease("mean", bound="1/108", bounds=(0, 1), spend=dp.approx(1, "0.001"))',
        mechanism=tested,
        pairs=(([*rows, 1.0], rows),),
        claim=tested.loss(),
        kind=mechanisms.ProposeTestRelease,
        note="the test and the noise pay half each: data at the threshold that move by nearly the whole bound",
    )


def _quantiles() -> Iterator[Entry]:
    entry = partial(Entry, group="Statistics of data", kind=mechanisms.Quantiles, samples=_SLOW)
    bounds = (0, 1000)
    median = mechanisms.Quantiles.calibrate(pure(1), probabilities="1/2", bounds=bounds, step=1)
    swapped = mechanisms.Quantiles.calibrate(pure(1), probabilities="1/2", bounds=bounds, step=1, relation="substitute")
    yield entry(
        "Quantiles median",
        shown='Quantiles.calibrate(dp.pure(1), probabilities="1/2", bounds=(0, 1000), step=1)',
        mechanism=median,
        pairs=(([0.0], [0.0, 800.0]),),
        claim=median.loss(),
        delta="0.01",
        note="outputs above the record lose by as much as all others gain; at δ = 0 a limit of rare outputs",
    )
    yield entry(
        "Quantiles median substitute",
        shown='Quantiles.calibrate(dp.pure(1), probabilities="1/2", bounds=(0, 1000), step=1, relation="substitute")',
        mechanism=swapped,
        pairs=(([0.0, 100.0], [100.0, 1000.0]),),
        claim=swapped.loss(),
        delta="0.01",
        note="outputs below the others lose by as much as those above gain; at δ = 0 a limit of rare outputs",
    )
    cases: tuple[tuple[str, list[str], str, Literal["recursive", "joint"]], ...] = (
        ("recursive", ["1/4", "1/2", "3/4"], '["1/4", "1/2", "3/4"]', "recursive"),
        ("joint", ["1/3", "2/3"], '["1/3", "2/3"]', "joint"),
        ("joint three", ["1/4", "1/2", "3/4"], '["1/4", "1/2", "3/4"]', "joint"),
    )
    for name, asked, text, method in cases:
        many = mechanisms.Quantiles.calibrate(pure(1), probabilities=asked, bounds=(0, 100), step=1, method=method)
        yield entry(
            f"Quantiles {name}",
            shown=f'Quantiles.calibrate(dp.pure(1), probabilities={text}, bounds=(0, 100), step=1, method="{method}")',
            mechanism=many,
            pairs=(([0.0, 100.0], [0.0, 95.0, 100.0]), ([0.0] * 4, [0.0] * 4 + [95.0])),
            claim=many.loss(),
            samples=10_000,
            note="a limit of rare outputs, in which all quantiles must lie on the losing side",
        )


def _chunks() -> Iterator[Entry]:
    entry = partial(Entry, group="Statistics of data", kind=mechanisms.SampleAndAggregate, samples=_SLOW)
    cases: tuple[tuple[Literal["mean", "median"], int, Loss, str, str], ...] = (
        ("mean", 4, pure(1), "dp.pure(1)", "one row: its chunk moves from bound to bound, whichever it is"),
        (
            "median",
            1,
            approx(1, "0.05"),
            'dp.approx(1, "0.05")',
            "one answer: its scale never differs, and half of ε pays for scales that do",
        ),
    )
    for name, chunks, spend, shown, note in cases:
        mechanism = mechanisms.SampleAndAggregate(
            statistics.fmean, chunks=chunks, bounds=(0, 1), spend=spend, aggregator=name
        )
        yield entry(
            f"SampleAndAggregate {name}",
            shown=f"SampleAndAggregate(fmean, chunks={chunks}, bounds=(0, 1), spend={shown}, aggregator={name!r})",
            mechanism=_rehearsed(mechanism),
            pairs=((np.array([0.0]), np.array([1.0])),),
            claim=mechanism.loss(),
            note=f"{note}. Rehearsed: a release has a process for each chunk, and the same noise",
        )


def _rehearsed(mechanism: mechanisms.SampleAndAggregate) -> Batched:
    """Without a process for each chunk, which keeps chunks apart and takes most of the time."""
    return batched(lambda rows, size: [mechanism.rehearse(rows) for _ in range(size)])


def _sampled() -> Iterator[Entry]:
    sampled = mechanisms.Sampled(mechanisms.DiscreteLaplace("2/3"), rate="1/2", function=len)
    yield Entry(
        "Sampled",
        group="Samples",
        shown='Sampled(DiscreteLaplace("2/3"), rate="1/2", function=len)',
        mechanism=sampled,
        pairs=(([0], []),),
        claim=sampled.loss(1),
        kind=mechanisms.Sampled,
        samples=100_000,
        note="the only record: outputs of 1 or more attain it",
    )
