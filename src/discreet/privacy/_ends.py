"""A curve whose two ends come from two computations, each asked only for what a search needs."""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.privacy._curves import Bounds, Of

__all__ = ["Ends"]


class Ends:
    """Lower and upper ends of ln δ(ε); ε by two bisections, each on one end, to `tolerance` of itself."""

    def __init__(self, lower: Callable[[float], float], upper: Callable[[float], float], tolerance: float) -> None:
        self._lower = Of(lambda eps: (found := lower(eps), found), tolerance)
        self._upper = Of(lambda eps: (-math.inf, upper(eps)), tolerance)

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε."""
        high = self._upper.log_delta(eps)[1]
        return min(self._lower.log_delta(eps)[0], high), high

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A bracket of ε."""
        high = self._upper.epsilon(log_delta)[1]
        return min(self._lower.epsilon(log_delta)[0], high), high
