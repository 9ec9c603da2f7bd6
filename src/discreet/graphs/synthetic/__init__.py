"""Synthetic graphs with edge privacy: noisy measurements first, then a random graph that has what was measured."""

from discreet.graphs.synthetic._measurements import MeasurementPlan, NoisyMeasurements
from discreet.graphs.synthetic._question import PreparedSynthesis, SynthesizeGraph
from discreet.graphs.synthetic._release import SYNTHETIC_KIND, GraphSynthesis
from discreet.graphs.synthetic._statistics import clustering_by_class, survival
from discreet.graphs.synthetic._synthesis import Comparison, SyntheticGraph, synthesize

__all__ = [
    "SYNTHETIC_KIND",
    "Comparison",
    "GraphSynthesis",
    "MeasurementPlan",
    "NoisyMeasurements",
    "PreparedSynthesis",
    "SynthesizeGraph",
    "SyntheticGraph",
    "clustering_by_class",
    "survival",
    "synthesize",
]
