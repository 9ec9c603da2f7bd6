"""Scores by which a fit chooses what to measure: whole numbers that one person moves by no more than is stated.

Proof: ``proofs/synth.md``, section 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.marginals import Numbers
from discreet.sensitivity import Norms

__all__ = ["distance", "score", "score_sensitivity"]

_MOST_EXPECTED = 2.0**44
"""More rows than any table has. So a sum over 2**18 cells stays within 64 bits, whatever was measured."""


def distance(counts: NDArray[np.int64], expected: Numbers) -> int:
    """The L1 distance of counts from public ones, which are rounded to whole numbers and cut to at most 2**44 first.

    It moves by at most as much as the counts do in L1.

    >>> distance(np.array([3, 0]), np.array([1.4, 2.6]))
    5
    """
    public = np.rint(np.clip(np.nan_to_num(expected), 0, _MOST_EXPECTED)).astype(np.int64)
    return int(np.abs(counts.ravel() - public).sum())


def score(counts: NDArray[np.int64], expected: Numbers, weight: int, penalty: int) -> int:
    """How much a marginal is worth measuring: a public weight times its distance, less a public penalty."""
    return weight * (distance(counts, expected) - penalty)


def score_sensitivity(weight: int, norms: Norms) -> int:
    """How far one person moves a score of at most that weight, if a marginal moves by `norms`.

    >>> score_sensitivity(16, Norms(l1=2, l2_squared=2))
    32
    """
    return weight * norms.l1
