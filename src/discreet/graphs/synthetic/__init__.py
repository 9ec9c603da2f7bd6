"""Synthetic graphs with edge privacy: noisy measurements first, then a random graph that has what was measured."""

from discreet.graphs.synthetic._measurements import MeasurementPlan, NoisyMeasurements
from discreet.graphs.synthetic._synthesis import Comparison, SyntheticGraph, synthesize

__all__ = ["Comparison", "MeasurementPlan", "NoisyMeasurements", "SyntheticGraph", "synthesize"]
