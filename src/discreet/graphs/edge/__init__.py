"""Edge privacy: neighbours differ in one edge, and the vertices are public."""

from discreet.graphs.edge._cuts import CUTS_KIND, GraphCuts, PreparedCuts, ReleaseCuts
from discreet.graphs.edge._degrees import graphical, sorted_degrees
from discreet.graphs.edge._ladder import Ladder, LadderLaw
from discreet.graphs.edge._measurements import STATISTICS, Measurement, measurements
from discreet.graphs.edge._mixing import PreparedMixing, ReleaseMixing, mixing_counts
from discreet.graphs.edge._mixing_and_cuts_plans import CutsPlan, MixingPlan
from discreet.graphs.edge._mixing_release import MIXING_KIND, GraphMixing
from discreet.graphs.edge._plan import GraphPlan, plan_of
from discreet.graphs.edge._question import PreparedCount, PreparedDegrees, prepare_count, prepare_degrees
from discreet.graphs.edge._randomized_graph import CutEstimate, RandomizedGraph
from discreet.graphs.edge._recommend import public_graphs, recommend_count
from discreet.graphs.edge._release import GraphCount, GraphDegrees
from discreet.graphs.edge._smooth_count import SmoothCount, pareto_rate, pure_epsilon
from discreet.graphs.edge._verify import COUNT_KIND, DEGREES_KIND

__all__ = [
    "COUNT_KIND",
    "CUTS_KIND",
    "DEGREES_KIND",
    "MIXING_KIND",
    "STATISTICS",
    "CutEstimate",
    "CutsPlan",
    "GraphCount",
    "GraphCuts",
    "GraphDegrees",
    "GraphMixing",
    "GraphPlan",
    "Ladder",
    "LadderLaw",
    "Measurement",
    "MixingPlan",
    "PreparedCount",
    "PreparedCuts",
    "PreparedDegrees",
    "PreparedMixing",
    "RandomizedGraph",
    "ReleaseCuts",
    "ReleaseMixing",
    "SmoothCount",
    "graphical",
    "measurements",
    "mixing_counts",
    "pareto_rate",
    "plan_of",
    "prepare_count",
    "prepare_degrees",
    "public_graphs",
    "pure_epsilon",
    "recommend_count",
    "sorted_degrees",
]
