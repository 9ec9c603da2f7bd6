"""Noise with its loss: one mechanism, one file, one proof note in ``proofs/``.

A mechanism used by itself is the raw toolbox: it states its loss and charges it to nobody.
"""

from discreet.mechanisms._stated_loss import stated_loss, wrong_relation
from discreet.mechanisms.additive._base import Mechanism
from discreet.mechanisms.additive._bounded_laplace import BoundedLaplace
from discreet.mechanisms.additive._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.additive._laplace import Laplace
from discreet.mechanisms.additive._on_grid import OnGrid
from discreet.mechanisms.additive._staircase import Staircase
from discreet.mechanisms.additive._truncated_laplace import TruncatedLaplace
from discreet.mechanisms.additive._uniform_noise import UniformNoise
from discreet.mechanisms.quantiles._quantiles import Quantiles
from discreet.mechanisms.randomizers._randomized_response import Proportions, RandomizedResponse
from discreet.mechanisms.randomizers._sampled import Sampled
from discreet.mechanisms.randomizers._shuffled import Shuffled
from discreet.mechanisms.selection._exponential import Exponential
from discreet.mechanisms.selection._most_frequent import MostFrequent
from discreet.mechanisms.selection._permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection._report_noisy_max import ReportNoisyMax
from discreet.mechanisms.selection._top_k import TopK
from discreet.mechanisms.statistics._global import GlobalSensitivity
from discreet.mechanisms.statistics._propose_test_release import ProposeTestRelease
from discreet.mechanisms.statistics._sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms.statistics._smooth import SmoothNoise, SmoothSensitivity
from discreet.mechanisms.streams._count_stream import CountStream
from discreet.mechanisms.streams._toeplitz_counter import ToeplitzCounter
from discreet.mechanisms.streams._tree_counter import TreeCounter
from discreet.mechanisms.thresholds._above_threshold import AboveThreshold, ThresholdStream
from discreet.mechanisms.thresholds._partition_selection import PartitionSelection
from discreet.mechanisms.thresholds._thresholded_counts import ThresholdedCounts

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
    "UniformNoise",
    "stated_loss",
    "wrong_relation",
]
