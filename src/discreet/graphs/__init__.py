"""Graphs: whose privacy is it, the edge's or the person's?

Two graphs are neighbours if they differ in one edge (edge privacy), or in one vertex with all its edges (node privacy).
The second is far stronger: with ε per edge, a person with k edges is protected with kε.
"""

from discreet.graphs._directed_graph import DirectedGraph
from discreet.graphs._graph import Graph
from discreet.graphs._private_graph import PrivateGraph
from discreet.graphs._private_graph import open_graph as open  # noqa: A004
from discreet.graphs._private_graph import plan_graph as plan
from discreet.graphs._questions import CountGraph, ReleaseDegrees
from discreet.graphs.edge import (
    COUNT_KIND,
    CUTS_KIND,
    DEGREES_KIND,
    MIXING_KIND,
    CutEstimate,
    CutsPlan,
    GraphCount,
    GraphCuts,
    GraphDegrees,
    GraphMixing,
    GraphPlan,
    Ladder,
    MixingPlan,
    RandomizedGraph,
    ReleaseCuts,
    ReleaseMixing,
    SmoothCount,
    recommend_count,
)
from discreet.graphs.features import FEATURES_KIND, AggregateFeatures, GraphFeatures, NoisyAggregation
from discreet.graphs.node import (
    NODE_COUNT_KIND,
    NODE_DEGREES_KIND,
    NodePlan,
    NodePrivateCount,
    NodePrivateDegrees,
)
from discreet.graphs.synthetic import SYNTHETIC_KIND, GraphSynthesis, SynthesizeGraph

__all__ = [
    "COUNT_KIND",
    "CUTS_KIND",
    "DEGREES_KIND",
    "FEATURES_KIND",
    "MIXING_KIND",
    "NODE_COUNT_KIND",
    "NODE_DEGREES_KIND",
    "SYNTHETIC_KIND",
    "AggregateFeatures",
    "CountGraph",
    "CutEstimate",
    "CutsPlan",
    "DirectedGraph",
    "Graph",
    "GraphCount",
    "GraphCuts",
    "GraphDegrees",
    "GraphFeatures",
    "GraphMixing",
    "GraphPlan",
    "GraphSynthesis",
    "Ladder",
    "MixingPlan",
    "NodePlan",
    "NodePrivateCount",
    "NodePrivateDegrees",
    "NoisyAggregation",
    "PrivateGraph",
    "RandomizedGraph",
    "ReleaseCuts",
    "ReleaseDegrees",
    "ReleaseMixing",
    "SmoothCount",
    "SynthesizeGraph",
    "open",
    "plan",
    "recommend_count",
]
