"""2-stars truncated at any cap without a list of them: a linear program between exact bounds, its tolerance charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.graphs.node._patterns import Stars
from discreet.graphs.node._truncation import PACKED, Truncated
from discreet.graphs.node.stars._prices import Mixture, descending_prices
from discreet.graphs.node.stars._program import Clip, PricedStars, StarProgram, star_program

__all__ = ["TwoStars", "certified_stars", "plain_descent"]


@dataclass(frozen=True, slots=True)
class TwoStars:
    """The count of 2-stars truncated at any cap, as `PackedPatterns` has it, from prices of vertices. SENSITIVE.

    Memory is a function of the number of edges, not of stars. Source: as `PackedPatterns`;
    ``proofs/graph_node_stars.md``.

    >>> two = TwoStars(Stars(4, np.array([[0, 1], [0, 2], [0, 3]]), leaves=2))
    >>> [round(two.truncated(cap).value / PACKED.steps, 2) for cap in (3, 1)]
    [3.0, 1.0]
    """

    patterns: Stars

    def truncated(self, cap: int) -> Truncated:
        """The count at a cap, on the grid of `PACKED`, certified to be within its tolerance."""
        if not (self.patterns.loads > cap).any():
            return Truncated(PACKED.steps * self.patterns.total, slope=0)
        program = star_program(self.patterns, cap)
        for prices, scale, weights in descending_prices(program):
            value = certified_stars(PricedStars(program, prices, scale), weights)
            if value is not None:
                return value
        return next(value for value in plain_descent(program) if value is not None)


def certified_stars(stars: PricedStars, weights: Mixture) -> Truncated | None:
    """The dual objective, rounded up to the grid, if the weights show it to be within the tolerance; else None.

    The weights are scaled down by one factor so that no vertex has more than the cap. All sums are integers.
    """
    program, scale = stars.program, stars.scale
    value = -((stars.dual() + program.free * scale) * -PACKED.steps // scale)
    loads, total, unit = weights.exact_loads(stars)
    primal = total * min(Fraction(1, unit), Fraction(program.cap, max(*loads, 1)))
    if value - (PACKED.steps * (primal + program.free)).__floor__() > PACKED.slack * program.cap:
        return None
    return Truncated(value, slope=sum(stars.prices.tolist()) * PACKED.steps // scale)


def plain_descent(program: StarProgram) -> Iterator[Truncated | None]:
    """What certificates come to, without end, by steps that are proven to converge: slow, and with memory as above.

    In integers of any size: λ falls by (cap − load)/3n of a vertex in n stars, and is 0 or more, for ever narrower
    clips on ever finer grids.
    """
    counts = _stars_at_rows(program)
    j = 0
    while True:
        j += 1
        bits, shift = 32 + 12 * j, 4 + 2 * j
        scale, width = 1 << bits, 1 << (bits - shift)
        prices = np.full(program.rows, scale // 3, object)
        mixture = Mixture((Clip(width),))
        for step in range(64**j):
            stars = PricedStars(program, prices, scale)
            loads, _ = stars.loads(mixture.clips[0])
            if step & (step - 1) == 0:
                yield certified_stars(stars, mixture)
            moved = [
                max(price - (program.cap * width - load) // (3 * n), 0)
                for price, load, n in zip(prices.tolist(), loads, counts, strict=True)
            ]
            prices = np.array(moved, object)


def _stars_at_rows(program: StarProgram) -> list[int]:
    """How many stars of the program each constrained vertex is in."""
    zero = np.zeros(program.rows, np.int64)
    return PricedStars(program, zero, 1).loads(Clip(1))[0]
