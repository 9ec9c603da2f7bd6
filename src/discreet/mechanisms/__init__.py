"""Noise with its loss: one mechanism, one file, one proof note in ``proofs/``.

A mechanism used by itself is the raw toolbox: it states its loss and charges it to nobody.
"""

from discreet.mechanisms._above_threshold import AboveThreshold
from discreet.mechanisms._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms._discrete_laplace import DiscreteLaplace
from discreet.mechanisms._exponential import Exponential
from discreet.mechanisms._gaussian import Gaussian
from discreet.mechanisms._mechanism import Mechanism
from discreet.mechanisms._partition_selection import PartitionSelection
from discreet.mechanisms._permute_and_flip import PermuteAndFlip
from discreet.mechanisms._proportions import Proportions
from discreet.mechanisms._propose_test_release import ProposeTestRelease
from discreet.mechanisms._quantiles import Quantiles
from discreet.mechanisms._randomized_response import RandomizedResponse
from discreet.mechanisms._report_noisy_max import ReportNoisyMax
from discreet.mechanisms._sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms._smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms._threshold_stream import ThresholdStream
from discreet.mechanisms._top_k import TopK

__all__ = [
    "AboveThreshold",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "Mechanism",
    "PartitionSelection",
    "PermuteAndFlip",
    "Proportions",
    "ProposeTestRelease",
    "Quantiles",
    "RandomizedResponse",
    "ReportNoisyMax",
    "SampleAndAggregate",
    "SmoothSensitivity",
    "ThresholdStream",
    "TopK",
]
