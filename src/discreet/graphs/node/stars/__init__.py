"""2-stars under a cap without a list of them: prices of vertices, and sums over pairs of neighbours that follow."""

from discreet.graphs.node.stars._two_stars import TwoStars

__all__ = ["TwoStars"]
