"""A spend is a budget that is accepted: a loss that happens to be small is not read as one by its upper bound."""

from __future__ import annotations

from inspect import signature

import pytest

import discreet as dp
from discreet import mechanisms as m
from discreet.errors import ParameterError
from discreet.sensitivity import Mode

NOT_BUDGETS = [
    dp.pure(1).shuffled(10_000),
    dp.pure(1).sampled("0.01"),
    dp.gaussian(1),
    dp.approx(1, 1e-6).sampled("0.5"),
    dp.laplace(1),
]

BOUNDS = {"bounds": (0, 1)}

TAKERS = {
    "AboveThreshold": lambda spend: m.AboveThreshold.calibrate(spend, 1, threshold=3),
    "BoundedLaplace": lambda spend: m.BoundedLaplace.calibrate(spend, 1, **BOUNDS),
    "DiscreteGaussian": lambda spend: m.DiscreteGaussian.calibrate(spend, 1),
    "DiscreteLaplace": lambda spend: m.DiscreteLaplace.calibrate(spend, 1),
    "Exponential": lambda spend: m.Exponential.calibrate(spend, 1),
    "Gaussian": lambda spend: m.Gaussian.calibrate(spend, 1),
    "GlobalSensitivity": lambda spend: m.GlobalSensitivity("mean", spend=spend, **BOUNDS),
    "Laplace": lambda spend: m.Laplace.calibrate(spend, 1),
    "MostFrequent": lambda spend: m.MostFrequent.calibrate(spend, mode=Mode((0, 1))),
    "OnGrid": lambda spend: m.OnGrid.calibrate(spend, 1, kind=m.DiscreteLaplace, step="0.1"),
    "PartitionSelection": lambda spend: m.PartitionSelection.calibrate(spend, keys=1),
    "PermuteAndFlip": lambda spend: m.PermuteAndFlip.calibrate(spend, 1),
    "ProposeTestRelease": lambda spend: m.ProposeTestRelease("mean", bound="0.1", spend=spend, **BOUNDS),
    "Quantiles": lambda spend: m.Quantiles.calibrate(spend, probabilities="1/2", bounds=(0, 1)),
    "RandomizedResponse": m.RandomizedResponse.calibrate,
    "ReportNoisyMax": lambda spend: m.ReportNoisyMax.calibrate(spend, 1),
    "SampleAndAggregate": lambda spend: m.SampleAndAggregate(max, chunks=10, spend=spend, **BOUNDS),
    "Sampled": lambda spend: m.Sampled.calibrate(spend, 1, kind=m.DiscreteLaplace, rate="0.1", function=len),
    "Shuffled": lambda spend: m.Shuffled.calibrate(spend, n=100),
    "SmoothSensitivity": lambda spend: m.SmoothSensitivity("median", spend=spend, **BOUNDS),
    "Staircase": lambda spend: m.Staircase.calibrate(spend, 1),
    "ThresholdedCounts": lambda spend: m.ThresholdedCounts.calibrate(spend, keys=1),
    "ToeplitzCounter": lambda spend: m.ToeplitzCounter.calibrate(spend, 1, steps=9),
    "TopK": lambda spend: m.TopK.calibrate(spend, 1, k=2),
    "TreeCounter": lambda spend: m.TreeCounter.calibrate(spend, 1, steps=9),
    "TruncatedLaplace": lambda spend: m.TruncatedLaplace.calibrate(spend, 1),
}


def test_every_mechanism_that_takes_a_spend_is_here() -> None:
    found = {
        name
        for name in m.__all__
        for kind in [getattr(m, name)]
        if hasattr(kind, "release")
        and (hasattr(kind, "calibrate") or "spend" in signature(kind).parameters)
        and name != "Mechanism"
    }
    assert found == set(TAKERS)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("spend", NOT_BUDGETS, ids=str)
def test_only_a_budget_can_be_spent(taker: str, spend: dp.Loss) -> None:
    with pytest.raises(ParameterError, match="state a budget or a spend in one currency"):
        TAKERS[taker](spend)
