"""Noise with its loss: one mechanism, one file, one proof note in ``proofs/``.

A mechanism used by itself is the raw toolbox: it states its loss and charges it to nobody.
"""

from discreet.mechanisms._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms._discrete_laplace import DiscreteLaplace
from discreet.mechanisms._gaussian import Gaussian
from discreet.mechanisms._mechanism import Mechanism
from discreet.mechanisms._partition_selection import PartitionSelection
from discreet.mechanisms._propose_test_release import ProposeTestRelease
from discreet.mechanisms._sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms._smooth_sensitivity import SmoothSensitivity

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Mechanism",
    "PartitionSelection",
    "ProposeTestRelease",
    "SampleAndAggregate",
    "SmoothSensitivity",
]
