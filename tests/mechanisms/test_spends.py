"""A spend is a budget that is accepted: a loss that happens to be small is not read as one by its upper bound."""

from __future__ import annotations

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import (
    AboveThreshold,
    BoundedLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    ReportNoisyMax,
    SampleAndAggregate,
    SmoothSensitivity,
    Staircase,
    TopK,
    TruncatedLaplace,
)

NOT_BUDGETS = [
    dp.pure(1).shuffled(10_000),
    dp.pure(1).sampled("0.01"),
    dp.gaussian(1),
    dp.approx(1, 1e-6).sampled("0.5"),
    dp.laplace(1),
]

BOUNDS = {"bounds": (0, 1)}

TAKERS = {
    "DiscreteLaplace": lambda spend: DiscreteLaplace.calibrate(spend, 1),
    "DiscreteGaussian": lambda spend: DiscreteGaussian.calibrate(spend, 1),
    "Gaussian": lambda spend: Gaussian.calibrate(spend, 1),
    "Laplace": lambda spend: Laplace.calibrate(spend, 1),
    "BoundedLaplace": lambda spend: BoundedLaplace.calibrate(spend, 1, **BOUNDS),
    "TruncatedLaplace": lambda spend: TruncatedLaplace.calibrate(spend, 1),
    "Staircase": lambda spend: Staircase.calibrate(spend, 1),
    "Exponential": lambda spend: Exponential.calibrate(spend, 1),
    "PermuteAndFlip": lambda spend: PermuteAndFlip.calibrate(spend, 1),
    "RandomizedResponse": RandomizedResponse.calibrate,
    "ReportNoisyMax": lambda spend: ReportNoisyMax.calibrate(spend, 1),
    "TopK": lambda spend: TopK.calibrate(spend, 1, k=2),
    "AboveThreshold": lambda spend: AboveThreshold.calibrate(spend, 1, threshold=3),
    "PartitionSelection": lambda spend: PartitionSelection.calibrate(spend, keys=1),
    "ProposeTestRelease": lambda spend: ProposeTestRelease("mean", bound="0.1", spend=spend, **BOUNDS),
    "SmoothSensitivity": lambda spend: SmoothSensitivity("median", spend=spend, **BOUNDS),
    "SampleAndAggregate": lambda spend: SampleAndAggregate(max, chunks=10, spend=spend, **BOUNDS),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("spend", NOT_BUDGETS, ids=str)
def test_only_a_budget_can_be_spent(taker: str, spend: dp.Loss) -> None:
    with pytest.raises(ParameterError, match="state a budget or a spend in one currency"):
        TAKERS[taker](spend)
