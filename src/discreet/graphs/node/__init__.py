"""Node privacy: a person comes or goes with all relations.

One person can have any number of relations, so that no noise would hide one unless graphs are cut first. A *cap* bounds
what counts at one vertex; the cut is an extension of the statistic that moves by at most the cap when a person goes,
and does not change graphs that are within it. The cap is public, or it is bought with a part of the spend: it is never
read off the graph. No answer here is of one vertex: hiding whether a person is there at all, it could say nothing.
"""

from discreet.graphs.node._caps import CapScores, choose_cap
from discreet.graphs.node._count import Cap, NodeCount, NodeCountRelease
from discreet.graphs.node._degrees import NodeDegrees, NodeDegreesRelease
from discreet.graphs.node._degrees_release import NodePrivateDegrees
from discreet.graphs.node._distribution import block_sums, blocks_up_to
from discreet.graphs.node._flow import HALF_EDGES, EdgeFlows, edge_flow
from discreet.graphs.node._patterns import Stars, Triangles
from discreet.graphs.node._plan import NodePlan
from discreet.graphs.node._projection import edge_order, projected_degrees
from discreet.graphs.node._question import (
    PreparedNodeCount,
    PreparedNodeDegrees,
    prepare_node_count,
    prepare_node_degrees,
)
from discreet.graphs.node._release import NodePrivateCount
from discreet.graphs.node._truncation import PACKED, PackedPatterns, Resolution, Truncated
from discreet.graphs.node._verify import NODE_COUNT_KIND, NODE_DEGREES_KIND
from discreet.graphs.node.forests import FORESTS, SpanningForests
from discreet.graphs.node.stars import TwoStars

__all__ = [
    "FORESTS",
    "HALF_EDGES",
    "NODE_COUNT_KIND",
    "NODE_DEGREES_KIND",
    "PACKED",
    "Cap",
    "CapScores",
    "EdgeFlows",
    "NodeCount",
    "NodeCountRelease",
    "NodeDegrees",
    "NodeDegreesRelease",
    "NodePlan",
    "NodePrivateCount",
    "NodePrivateDegrees",
    "PackedPatterns",
    "PreparedNodeCount",
    "PreparedNodeDegrees",
    "Resolution",
    "SpanningForests",
    "Stars",
    "Triangles",
    "Truncated",
    "TwoStars",
    "block_sums",
    "blocks_up_to",
    "choose_cap",
    "edge_flow",
    "edge_order",
    "prepare_node_count",
    "prepare_node_degrees",
    "projected_degrees",
]
