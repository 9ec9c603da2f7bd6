"""Noise with its loss: one mechanism, one file, one proof note in ``proofs/``.

A mechanism used by itself is the raw toolbox: it states its loss and charges it to nobody.
"""

from discreet.mechanisms._above_threshold import AboveThreshold
from discreet.mechanisms._bounded_laplace import BoundedLaplace
from discreet.mechanisms._count_stream import CountStream
from discreet.mechanisms._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms._discrete_laplace import DiscreteLaplace
from discreet.mechanisms._exponential import Exponential
from discreet.mechanisms._gaussian import Gaussian
from discreet.mechanisms._global_sensitivity import GlobalSensitivity
from discreet.mechanisms._laplace import Laplace
from discreet.mechanisms._mechanism import Mechanism
from discreet.mechanisms._mechanism_question import MechanismQuestion
from discreet.mechanisms._mechanism_release import MechanismRelease
from discreet.mechanisms._most_frequent import MostFrequent
from discreet.mechanisms._on_grid import OnGrid
from discreet.mechanisms._partition_selection import PartitionSelection
from discreet.mechanisms._permute_and_flip import PermuteAndFlip
from discreet.mechanisms._proportions import Proportions
from discreet.mechanisms._propose_test_release import ProposeTestRelease
from discreet.mechanisms._quantiles import Quantiles
from discreet.mechanisms._randomized_response import RandomizedResponse
from discreet.mechanisms._rebuilt import mechanism_earned
from discreet.mechanisms._report_noisy_max import ReportNoisyMax
from discreet.mechanisms._sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms._sampled import Sampled
from discreet.mechanisms._shuffled import Shuffled
from discreet.mechanisms._smooth_sensitivity import SmoothNoise, SmoothSensitivity
from discreet.mechanisms._staircase import Staircase
from discreet.mechanisms._threshold_stream import ThresholdStream
from discreet.mechanisms._thresholded_counts import ThresholdedCounts
from discreet.mechanisms._toeplitz_counter import ToeplitzCounter
from discreet.mechanisms._top_k import TopK
from discreet.mechanisms._tree_counter import TreeCounter
from discreet.mechanisms._truncated_laplace import TruncatedLaplace

__all__ = [
    "AboveThreshold",
    "BoundedLaplace",
    "CountStream",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "GlobalSensitivity",
    "Laplace",
    "Mechanism",
    "MechanismQuestion",
    "MechanismRelease",
    "MostFrequent",
    "OnGrid",
    "PartitionSelection",
    "PermuteAndFlip",
    "Proportions",
    "ProposeTestRelease",
    "Quantiles",
    "RandomizedResponse",
    "ReportNoisyMax",
    "SampleAndAggregate",
    "Sampled",
    "Shuffled",
    "SmoothNoise",
    "SmoothSensitivity",
    "Staircase",
    "ThresholdStream",
    "ThresholdedCounts",
    "ToeplitzCounter",
    "TopK",
    "TreeCounter",
    "TruncatedLaplace",
    "mechanism_earned",
]
