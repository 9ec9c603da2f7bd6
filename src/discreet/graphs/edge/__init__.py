"""Edge privacy: neighbours differ in one edge, and the vertices are public."""

from discreet.graphs.edge._degrees import graphical, sorted_degrees
from discreet.graphs.edge._smooth_count import SmoothCount, pareto_rate, pure_epsilon

__all__ = ["SmoothCount", "graphical", "pareto_rate", "pure_epsilon", "sorted_degrees"]
