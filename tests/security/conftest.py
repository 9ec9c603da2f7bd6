"""Every mechanism, built at a scale and fed with neighbours: what each test here runs over.

A new mechanism is one line in `CASES`; `test_registry.py` fails until it is there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import discreet as dp
from discreet import mechanisms as m
from discreet.privacy import Loss
from discreet.sensitivity import Mode


def one_by_one(mechanism: Any, data: Any, size: int) -> list[Any]:
    return [mechanism.release(data) for _ in range(size)]


def all_at_once(mechanism: Any, value: Any, size: int) -> list[Any]:
    return mechanism.release([value] * size)


def in_this_process(mechanism: m.SampleAndAggregate, data: Any, size: int) -> list[Any]:
    """Without the process per chunk, which has its own tests and takes most of the time."""

    def answer(chunk: Any) -> float:
        try:
            return math.nan if chunk is None else float(mechanism.function(chunk))
        except ValueError:  # the mean of two infinities
            return math.nan

    def answers(_sent: bytes, chunks: Any, _seconds: int) -> list[float]:
        return [answer(chunk) for chunk in chunks]

    module = "discreet.mechanisms.statistics._sample_and_aggregate"
    with patch(f"{module}.check_function", lambda _: b""), patch(f"{module}.answers", answers):
        return one_by_one(mechanism, data, size)


@dataclass(frozen=True)
class Case:
    """One mechanism.

    at: scale → the mechanism whose ε is 1/scale, or whose noise has that scale, at sensitivity 1.
    worlds: two neighbouring data sets.
    step: the mechanism → the grid of its outputs; None for outputs that are choices.
    draw: (mechanism, data, how many) → so many releases.
    loss: the mechanism → what one release costs for those neighbours.
    spoilt: data with NaN and infinities in it; `refuses` says whether a release raises or goes on without them.
    plain: see `additive`.
    """

    at: Callable[[Any], Any]
    worlds: tuple[Any, Any]
    spoilt: tuple[Any, ...]
    step: Callable[[Any], Fraction] | None = None
    draw: Callable[[Any, Any, int], list[Any]] = one_by_one
    loss: Callable[[Any], Loss] = lambda mechanism: mechanism.loss()
    refuses: bool = True
    plain: bool = False


NAN, INF = math.nan, math.inf
SPOILT_NUMBERS = (NAN, INF, -INF, np.float64(NAN), np.float32(INF), [0, NAN], np.array([0.0, INF]), [None], "nan")
SPOILT_LISTS = ([0, 1, NAN], [0, INF, 1], [-INF, 0, 1], np.array([0, 1, NAN]), [0, 1, np.float32(INF)], [0, 1, None])


def additive(build: Callable[[Any], Any], *, plain: bool = True) -> Case:
    """Noise on whole numbers: `build` takes its scale.

    Plain is what takes numbers of any size, is calibrated to a spend and a sensitivity alone, and has a law whose ratio
    to its neighbour is monotone, which goes into `LAWS` of `test_calibration.py`.
    """
    return Case(
        at=build,
        worlds=(0, 1),
        spoilt=SPOILT_NUMBERS,
        step=lambda _: Fraction(1),
        draw=all_at_once,
        loss=lambda mechanism: mechanism.loss(1),
        plain=plain,
    )


def selection(build: Callable[[Any], Any]) -> Case:
    """A choice among candidates by utilities of sensitivity 1: `build` takes its ε."""
    return Case(at=lambda scale: build(1 / scale), worlds=([0, 1, 2], [1, 1, 1]), spoilt=SPOILT_LISTS)


def stream(build: Callable[[Any], Any]) -> Case:
    """Sums of eight numbers so far: `build` takes the scale of the noise in the tree or the filter."""
    return Case(
        at=build,
        worlds=([0] * 8, [1, *[0] * 7]),
        spoilt=SPOILT_LISTS,
        step=lambda _: Fraction(1),
        draw=lambda mechanism, data, size: [mechanism.release(data)[0] for _ in range(size)],
        loss=lambda mechanism: mechanism.loss(1),
    )


def framework(build: Callable[[Loss], Any], spend: Callable[[Any], Loss], **how: Any) -> Case:
    """A statistic of numbers in [0, 1] with noise: `build` takes its spend. NaN and infinities are clamped."""
    x = [0.0, 1.0] * 30
    spoilt = tuple(np.array([*x, *bad]) for bad in ([NAN], [INF, -INF], [NAN] * 9))
    worlds = np.array(x), np.array(x[:-1])
    return Case(
        at=lambda scale: build(spend(1 / scale)),
        worlds=worlds,
        spoilt=(*spoilt, np.full(9, NAN), np.full(9, INF)),
        refuses=False,
        **how,
    )


def approx(epsilon: Any) -> Loss:
    return dp.approx(epsilon, "0.1")


def in_rho(epsilon: Any) -> Loss:
    """A ρ at which δ(ε) is small, for small ε and for large ones."""
    return dp.rho(min(epsilon**2 / 8, epsilon / 4))


UNIT = {"bounds": (0, 1)}

CASES: dict[str, Case] = {
    "DiscreteLaplace": additive(m.DiscreteLaplace),
    "DiscreteGaussian": additive(m.DiscreteGaussian),
    "Gaussian": additive(m.Gaussian),
    "Laplace": additive(m.Laplace),
    "Staircase": additive(lambda scale: m.Staircase(1 / scale, 1), plain=False),
    "BoundedLaplace": additive(lambda scale: m.BoundedLaplace(scale, (-50, 50)), plain=False),
    "TruncatedLaplace": additive(lambda scale: m.TruncatedLaplace(scale, 100), plain=False),
    "OnGrid": replace(additive(lambda scale: m.OnGrid(m.DiscreteLaplace(scale), step=1), plain=False), draw=one_by_one),
    "Sampled": replace(
        additive(lambda scale: m.Sampled(m.DiscreteLaplace(scale), rate="1/2", function=sum), plain=False),
        worlds=([0], [0, 1]),
        spoilt=([NAN] * 60, [INF] * 60, 5),
        draw=one_by_one,
    ),
    "TreeCounter": stream(lambda scale: m.TreeCounter(8, scale)),
    "ToeplitzCounter": stream(lambda scale: m.ToeplitzCounter.calibrate(in_rho(1 / scale), 1, steps=8)),
    "Exponential": selection(lambda epsilon: m.Exponential(epsilon, 1)),
    "PermuteAndFlip": selection(lambda epsilon: m.PermuteAndFlip(epsilon, 1)),
    "ReportNoisyMax exponential": selection(lambda epsilon: m.ReportNoisyMax(epsilon, 1)),
    "ReportNoisyMax gumbel": selection(lambda epsilon: m.ReportNoisyMax(epsilon, 1, "gumbel")),
    "ReportNoisyMax laplace": selection(lambda epsilon: m.ReportNoisyMax(epsilon, 1, "laplace")),
    "TopK": selection(lambda epsilon: m.TopK(2, epsilon / 2, 1)),
    "AboveThreshold": selection(lambda epsilon: m.AboveThreshold(1, epsilon, 1)),
    "AboveThreshold numeric": selection(lambda epsilon: m.AboveThreshold(1, epsilon, 1, numeric=True)),
    "MostFrequent": Case(
        at=lambda scale: m.MostFrequent.calibrate(dp.pure(1 / scale), mode=Mode((0, 1))),
        worlds=([0, 0, 1], [0, 1]),
        spoilt=(1, 2.5, None),
    ),
    "PartitionSelection": Case(
        at=lambda scale: m.PartitionSelection(1 / scale, "0.3"), worlds=([1, 3, 0], [1, 2, 0]), spoilt=SPOILT_LISTS
    ),
    "ThresholdedCounts": Case(
        at=lambda scale: m.ThresholdedCounts(m.DiscreteLaplace(scale), 5 + 5 * math.ceil(scale)),
        worlds=([1, 10**5, 0], [1, 10**5 - 1, 0]),
        spoilt=SPOILT_LISTS,
    ),
    "Shuffled": Case(
        at=lambda scale: m.Shuffled(m.RandomizedResponse.from_epsilon(1 / scale, k=3), 3),
        worlds=([0, 1, 2], [1, 1, 2]),
        spoilt=SPOILT_LISTS,
        draw=lambda mechanism, data, size: [mechanism.release(data).tolist() for _ in range(size)],
    ),
    "RandomizedResponse": Case(
        at=lambda scale: m.RandomizedResponse.from_epsilon(1 / scale, k=3),
        worlds=([0], [1]),
        spoilt=SPOILT_LISTS,
        draw=lambda mechanism, data, size: mechanism.release(data * size).tolist(),
    ),
    "ProposeTestRelease": framework(
        lambda spend: m.ProposeTestRelease("mean", bound="0.1", spend=spend, **UNIT),
        approx,
        step=lambda mechanism: mechanism.step,
    ),
    "SmoothSensitivity laplace": framework(
        lambda spend: m.SmoothSensitivity("median", spend=spend, **UNIT), approx, step=lambda mechanism: mechanism.step
    ),
    "SmoothSensitivity cauchy": framework(
        lambda spend: m.SmoothSensitivity("median", spend=spend, noise="cauchy", **UNIT),
        dp.pure,
        step=lambda mechanism: mechanism.step,
    ),
    "SmoothSensitivity student_t": framework(
        lambda spend: m.SmoothSensitivity("median", spend=spend, noise="student_t", **UNIT),
        dp.pure,
        step=lambda mechanism: mechanism.step,
    ),
    **{
        f"SmoothSensitivity {noise}": framework(
            lambda spend, noise=noise: m.SmoothSensitivity("median", spend=spend, noise=noise, **UNIT),
            in_rho,
            step=lambda mechanism: mechanism.step,
        )
        for noise in ("uniform_log_normal", "laplace_log_normal")
    },
    "GlobalSensitivity": framework(
        lambda spend: m.GlobalSensitivity("sum", spend=spend, **UNIT), dp.pure, step=lambda mechanism: mechanism.step
    ),
    "Quantiles": framework(
        lambda spend: m.Quantiles.calibrate(spend, probabilities="1/2", bounds=(0, 1)),
        dp.pure,
        step=lambda mechanism: mechanism.step,
    ),
    "Quantiles many": framework(
        lambda spend: m.Quantiles.calibrate(spend, probabilities=["1/4", "1/2", "3/4"], bounds=(0, 1)),
        dp.pure,
        step=lambda mechanism: mechanism.step,
        draw=lambda mechanism, data, size: [float(mechanism.release(data)[1]) for _ in range(size)],
    ),
    "SampleAndAggregate mean": framework(
        lambda spend: m.SampleAndAggregate(statistics.fmean, chunks=4, spend=spend, **UNIT),
        dp.pure,
        step=lambda mechanism: mechanism._step / mechanism.chunks,
        draw=in_this_process,
    ),
    "SampleAndAggregate median": framework(
        lambda spend: m.SampleAndAggregate(statistics.fmean, chunks=4, spend=spend, aggregator="median", **UNIT),
        approx,
        step=lambda mechanism: mechanism.median.step,
        draw=in_this_process,
    ),
}
"""By name of the class, and after a space the variant."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case` is each mechanism in turn, `additive_case` each plain noise, `numeric_case` each that releases numbers."""
    chosen = {
        "case": CASES,
        "additive_case": {name: case for name, case in CASES.items() if case.plain},
        "numeric_case": {name: case for name, case in CASES.items() if case.step is not None},
    }
    for argument in chosen.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(argument, chosen[argument].values(), ids=chosen[argument].keys())


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    return CASES
