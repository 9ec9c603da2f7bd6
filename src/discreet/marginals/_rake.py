"""Distributions whose shares of rows in some sets of cells are known: iterative proportional fitting.

Of all distributions with these shares it comes to the one that is nearest to the first in relative entropy. Source:
Deming and Stephan 1940; Csiszár 1975, theorem 3.2, for what it converges to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.marginals._estimate import FORBIDDEN, model_of
from discreet.marginals._junction_tree import Clique, Numbers

__all__ = ["KnownShare", "rake", "summed_potentials"]

_SWEEPS = 500
_NEAR = 1e-9
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class KnownShare:
    """What share of all rows is in some cells of a marginal, which are True in `cells`, in C order."""

    clique: Clique
    cells: NDArray[np.bool_]
    share: float


def summed_potentials(*potentials: Mapping[Clique, Numbers]) -> dict[Clique, Numbers]:
    """The potentials of a product of distributions.

    >>> summed_potentials({(0,): np.array([1.0])}, {(0,): np.array([2.0])})
    {(0,): array([3.])}
    """
    summed: dict[Clique, Numbers] = {}
    for clique, values in (item for each in potentials for item in each.items()):
        summed[clique] = summed[clique] + values if clique in summed else values.copy()
    return summed


def rake(
    sizes: Sequence[int], potentials: Mapping[Clique, Numbers], known: Sequence[KnownShare]
) -> tuple[dict[Clique, Numbers], float]:
    """The potentials of the nearest distribution with known shares, and how far the worst share is off.

    That is about 0 unless no distribution with the same empty cells has all of these shares.

    >>> potentials, off = rake([2], {}, [KnownShare((0,), np.array([True, False]), 0.75)])
    >>> model_of([2], potentials, 1).marginal((0,)).round(6).tolist(), off < 1e-9
    ([0.75, 0.25], True)
    """
    raked = summed_potentials(potentials, {each.clique: np.zeros(each.cells.size) for each in known})
    off = 0.0
    for _ in range(_SWEEPS if known else 0):
        off = 0.0
        for each in known:
            shares = model_of(sizes, raked, 1.0).marginal(each.clique)
            held, rest = float(shares[each.cells].sum()), float(shares[~each.cells].sum())
            off = max(off, abs(held - each.share))
            inside, outside = _moves(held, rest, each.share)
            raked[each.clique] = raked[each.clique] + np.where(each.cells, inside, outside)
        if off < _NEAR:
            break
    return raked, off


def _moves(held: float, rest: float, share: float) -> tuple[float, float]:
    """By how much the potentials of the cells inside and outside move, so that these hold a share.

    What is below the smallest numbers moves by their logarithm: all sweeps together by less than `FORBIDDEN`.
    """
    if share <= 0 or share >= 1:
        return (FORBIDDEN, 0.0) if share <= 0 else (0.0, FORBIDDEN)
    return math.log(share / max(held, _LEAST)), math.log((1 - share) / max(rest, _LEAST))
