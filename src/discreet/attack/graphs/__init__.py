"""Attacks on releases of graphs: planted vertices in edge lists without names, and counts that differ by an edge."""

from __future__ import annotations

from discreet.attack.graphs._edges import balanced_pairs, edge_differencing
from discreet.attack.graphs._planting import Planting, without_names
from discreet.attack.graphs._search import planted

__all__ = ["Planting", "balanced_pairs", "edge_differencing", "planted", "without_names"]
