"""Neighbourhood features for learning, with the privacy of edges: noisy sums of neighbours' public vectors."""

from discreet.graphs.features._aggregation import GRID, NoisyAggregation, neighbour_sums, normalized, unit_vectors
from discreet.graphs.features._question import AggregateFeatures, PreparedFeatures
from discreet.graphs.features._release import FEATURES_KIND, GraphFeatures

__all__ = [
    "FEATURES_KIND",
    "GRID",
    "AggregateFeatures",
    "GraphFeatures",
    "NoisyAggregation",
    "PreparedFeatures",
    "neighbour_sums",
    "normalized",
    "unit_vectors",
]
