"""Spanning forests under a cap without a list of sets: an exact reduction to pieces, and bounds of each in integers."""

from discreet.graphs.node.forests._forests import FORESTS, SpanningForests

__all__ = ["FORESTS", "SpanningForests"]
