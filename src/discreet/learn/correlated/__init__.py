"""Correlated noise for private training: strategies, what they cost, the noise itself, and which to take."""

from discreet.learn.correlated._choose import candidates, cheapest
from discreet.learn.correlated._mechanism import CorrelatedGaussian
from discreet.learn.correlated._noise import CorrelatedNoise, NoiseState
from discreet.learn.correlated._optimize import optimize, optimize_blt
from discreet.learn.correlated._participation import CyclicPoisson, MinimumSeparation, sensitivity_squared
from discreet.learn.correlated._prefix_error import prefix_error
from discreet.learn.correlated._strategies import (
    BandedToeplitz,
    Blt,
    Independent,
    strategy_from_json,
    strategy_to_json,
)

__all__ = [
    "BandedToeplitz",
    "Blt",
    "CorrelatedGaussian",
    "CorrelatedNoise",
    "CyclicPoisson",
    "Independent",
    "MinimumSeparation",
    "NoiseState",
    "candidates",
    "cheapest",
    "optimize",
    "optimize_blt",
    "prefix_error",
    "sensitivity_squared",
    "strategy_from_json",
    "strategy_to_json",
]
