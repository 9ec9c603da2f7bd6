"""The least whole numbers that keep linear rules, of which all others are sums: a Hilbert basis.

Numbers from 0 that keep ``A c = 0`` and ``B c ≤ 0`` are exactly the sums of finitely many of them. So whoever adds up
such generators, in whatever areas, keeps all rules in all sums of areas. Source: Contejean and Devie, "An Efficient
Incremental Algorithm for Solving Systems of Linear Diophantine Equations", Information and Computation 113, 1994.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["generators"]

Places = NDArray[np.int64]
_MOST, _MOST_TRIED = 256, 50_000


def generators(factors: Places, is_equal: NDArray[np.bool_]) -> Places:
    """The Hilbert basis of the numbers c from 0 with ``factors @ c`` 0 where `is_equal`, and 0 at most elsewhere.

    A row for each generator. Raises `ParameterError` for rules that need more than 256.

    >>> generators(np.array([[1, 0, -1]]), np.array([True])).tolist()  # the first as many as the third
    [[0, 1, 0], [1, 0, 1]]
    >>> generators(np.array([[2, -3]]), np.array([False])).tolist()  # twice the first at most three times the second
    [[0, 1], [1, 1], [3, 2]]
    """
    slack = np.flatnonzero(~is_equal)
    system = np.hstack([factors, np.eye(len(factors), dtype=np.int64)[:, slack]])
    many = system.shape[1]
    free = ~system.any(axis=0)
    basis = [*np.eye(many, dtype=np.int64)[free]]
    front = np.eye(many, dtype=np.int64)[~free]
    tried = 0
    while len(front):
        values = front @ system.T
        solved = ~values.any(axis=1)
        basis += list(front[solved])
        front, values = front[~solved], values[~solved]
        downhill = values @ system < 0
        downhill[:, free] = False
        rows, columns = np.nonzero(downhill)
        following = front[rows]
        following[np.arange(len(rows)), columns] += 1
        following = np.unique(following, axis=0)
        tried += len(following)
        _check(len(basis), tried)
        beyond = np.zeros(len(following), bool)
        for known in basis:
            beyond |= (following >= known).all(axis=1)
        front = following[~beyond]
    every = np.array(basis, np.int64).reshape(len(basis), many)[:, : factors.shape[1]]
    return np.unique(every[every.any(axis=1)], axis=0)


def _check(basis: int, tried: int) -> None:
    if basis > _MOST or tried > _MOST_TRIED:
        raise ParameterError(
            "rules: together they are too many to be kept exactly; leave some out, or simplify factors"
        )
