"""Simplifying a list of parts before any number is crunched."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from discreet.privacy._pld._gaussian import GaussianPair
from discreet.privacy._pld._laplace import LaplacePair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy._pld._pair import Pair


def merged(parts: Sequence[tuple[Pair, int]]) -> list[tuple[Pair, int]]:
    """Add up the counts of equal pairs, and make one Gaussian of all that are not sampled.

    Gaussians with noise s_i compose to one with 1/s^2 = sum count_i / s_i^2 (Dong, Roth and Su 2022, Corollary 3.3).
    """
    counts: dict[Pair, int] = {}
    precisions: list[float] = []
    for pair, count in parts:
        if isinstance(pair, GaussianPair | LaplacePair) and pair.rate == 0.0:
            continue  # P = Q
        if isinstance(pair, GaussianPair) and pair.rate == 1.0:
            precisions += [count / pair.noise**2]
        else:
            counts[pair] = counts.get(pair, 0) + count
    found = list(counts.items())
    if precisions and fsum(precisions) > 0:
        found.append((GaussianPair(fsum(precisions) ** -0.5), 1))
    return found
