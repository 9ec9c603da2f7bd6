"""A mechanism is shown as the call that makes it."""

from __future__ import annotations

import statistics
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet import mechanisms, privacy, sensitivity
from discreet.mechanisms import (
    AboveThreshold,
    BoundedLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GlobalSensitivity,
    Laplace,
    MostFrequent,
    OnGrid,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    Quantiles,
    RandomizedResponse,
    ReportNoisyMax,
    SampleAndAggregate,
    Sampled,
    Shuffled,
    SmoothSensitivity,
    Staircase,
    ThresholdedCounts,
    ToeplitzCounter,
    TopK,
    TreeCounter,
    TruncatedLaplace,
)
from discreet.mechanisms.examples import examples
from discreet.rational import rational
from discreet.reprs import number_repr
from discreet.sensitivity import Mode, Norms, Quantile, Slope

SMALL = dp.approx(1, "1e-6")
NAMES = {"Fraction": Fraction, "statistics": statistics} | {
    name: getattr(module, name) for module in (privacy, sensitivity, mechanisms) for name in module.__all__
}
SHOWN: dict[str, Any] = {
    "AboveThreshold(threshold=10, epsilon=2, sensitivity=1)": AboveThreshold(10, 2, 1),
    "AboveThreshold(threshold=-3, epsilon='1/3', sensitivity=1, cutoff=2, numeric=True)": AboveThreshold(
        -3, "1/3", 1, 2, numeric=True
    ),
    "BoundedLaplace(scale=0.5, bounds=(-1, 10))": BoundedLaplace("0.5", (-1, 10)),
    "DiscreteGaussian(sigma=10)": DiscreteGaussian(10),
    "DiscreteLaplace(scale=0.7)": DiscreteLaplace(0.7),
    "Exponential(epsilon=1e-100, sensitivity=1e+20)": Exponential(1e-100, 10**20),
    "Gaussian(sigma=1.1)": Gaussian(1.1),
    "Laplace(scale='0.12345678901234567890123')": Laplace("0.12345678901234567890123"),
    "OnGrid(mechanism=DiscreteLaplace(scale=10), step=0.25, bounds=(0, 0.5), entries=3)": OnGrid(
        DiscreteLaplace(10), step="0.25", bounds=(0, 0.5), entries=3
    ),
    "PartitionSelection(epsilon=1, delta=1e-06, keys=3, concentrated=True)": PartitionSelection(
        1, 1e-6, 3, concentrated=True
    ),
    "PermuteAndFlip(epsilon=1, sensitivity=1, monotone=True)": PermuteAndFlip(1, 1, monotone=True),
    "Quantiles(probabilities=('1/3', 0.5), bounds=(0, 100), epsilon=1, step=1, method='joint')": Quantiles(
        ["1/3", 0.5], (0, 100), 1, step=1, method="joint"
    ),
    "RandomizedResponse(p=0.75, k=3)": RandomizedResponse(0.75, 3),
    "ReportNoisyMax(epsilon=1, sensitivity=1, noise='gumbel')": ReportNoisyMax(1, 1, "gumbel"),
    "Sampled(mechanism=DiscreteLaplace(scale=1), rate=0.1, function=len)": Sampled(DiscreteLaplace(1), "0.1", len),
    "Shuffled(randomizer=RandomizedResponse(p=0.75), n=10000)": Shuffled(RandomizedResponse(0.75), 10_000),
    "Staircase(epsilon=5, sensitivity=100, step=8)": Staircase(5, 100),
    "ThresholdedCounts(noise=Gaussian(sigma=2), threshold=30, keys=2)": ThresholdedCounts(Gaussian(2), 30, 2),
    "ToeplitzCounter(steps=64, sigma=10)": ToeplitzCounter(64, 10),
    "TopK(k=3, epsilon=1, sensitivity=2)": TopK(3, 1, Norms(3, 5)),
    "TreeCounter(steps=1000, scale=6, arity=13)": TreeCounter(1000, 6),
    "TruncatedLaplace(scale=1, bound=14)": TruncatedLaplace(1, 14),
}
OTHERS: list[Any] = [
    BoundedLaplace.calibrate(dp.pure(1), 1, bounds=(0, 10)),
    DiscreteLaplace(Fraction(2**50 + 1, 3**30)),
    Exponential(Fraction(3**4000, 3**4000 + 1), 1),
    Exponential(Fraction(3**9000, 3**9000 + 1), 1),
    GlobalSensitivity("mean", bounds=(0, 100), spend=dp.rho(1)),
    GlobalSensitivity("sum", bounds=(Fraction(1, 10), 0.7), spend=dp.approx(1, 1e-6), relation="substitute"),
    MostFrequent.calibrate(dp.pure(2), mode=Mode(("no", "a.b", 3, None))),
    ProposeTestRelease("median", bound="0.001", bounds=(0, 1), spend=SMALL),
    ProposeTestRelease(Quantile("1/3"), bound=1, bounds=(0.5, 0.7), spend=SMALL, relation="substitute"),
    SampleAndAggregate(statistics.fmean, chunks=9, bounds=(0, 0.1), spend=dp.pure(1), aggregator="median", unit="who"),
    SmoothSensitivity("median", bounds=(0, 1), spend=SMALL),
    SmoothSensitivity("median", bounds=(0, 1), spend=SMALL, beta="0.001"),
    SmoothSensitivity("variance", bounds=(0, 1), spend=dp.pure(1), noise="cauchy"),
    SmoothSensitivity(Slope((-5, 5)), bounds=((0, 1), (0, 9)), spend=dp.rho(1)),
    SmoothSensitivity("max", bounds=(0, 1), spend=dp.rho("0.1"), noise="laplace_log_normal", beta="0.1"),
    ToeplitzCounter.calibrate(dp.rho(1), 1, steps=64),
]


@pytest.mark.parametrize("shown", SHOWN)
def test_a_mechanism_is_shown_as_a_person_would_write_it(shown: str) -> None:
    assert repr(SHOWN[shown]) == shown


EXAMPLES = [each.mechanism for example in examples() for each in (example, *example.settings)]


@pytest.mark.parametrize("mechanism", [*SHOWN.values(), *OTHERS, *EXAMPLES], ids=lambda each: type(each).__name__)
def test_what_is_shown_makes_an_equal_mechanism(mechanism: Any) -> None:
    again = eval(repr(mechanism), dict(NAMES))
    assert again == mechanism
    assert repr(again) == repr(mechanism)


def test_every_mechanism_is_tried() -> None:
    kinds = {name for name in mechanisms.__all__ if hasattr(getattr(mechanisms, name), "release")}
    assert {type(each).__name__ for each in EXAMPLES} == kinds - {"Mechanism"}


def test_a_function_of_ones_own_is_shown_by_its_name() -> None:
    mechanism = Sampled(DiscreteLaplace(1), 0.1, lambda rows: 7)
    assert repr(mechanism).endswith("<lambda>)") and " at 0x" not in repr(mechanism)


@given(st.one_of(st.fractions(), st.floats(allow_nan=False, allow_infinity=False).map(Fraction), st.decimals(
    allow_nan=False, allow_infinity=False).map(Fraction)))  # fmt: skip
def test_a_number_is_read_as_the_same_number(value: Fraction) -> None:
    assert rational(eval(number_repr(value), {"Fraction": Fraction}), "x") == value
