"""From noisy numbers to degrees that fall and belong to some graph. Post-processing: it costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

__all__ = ["degree_band", "graphical", "sorted_degrees"]


def sorted_degrees(noisy: NDArray[np.int64], *, directed: bool = False) -> NDArray[np.int64]:
    """The degrees of a graph, from the highest, that are nearest to sorted degrees with noise: int64, same shape.

    Least squares among falling sequences, cut to what degrees can be, rounded, and made graphical; but for those of one
    direction of a directed graph, which can be any. Source: Hay, Li, Miklau and Jensen 2009, section 3.

    >>> sorted_degrees(np.array([4, 1, 2, 0])).tolist()
    [2, 2, 2, 0]
    """
    vertices = len(noisy)
    if not vertices:
        return noisy
    falling = isotonic_regression(noisy.astype(float), increasing=False).x
    rounded = np.rint(np.clip(falling, 0, vertices - 1)).astype(np.int64)
    return rounded if directed else graphical(rounded)


def degree_band(noisy: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which integers all sorted degrees lie, wherever no noise is more than `most` in size.

    Least squares among falling sequences is at every place a minimum of maxima of averages, so it moves by no more than
    the sequence that it is given; and it leaves the true one as it is.

    >>> [ends.tolist() for ends in degree_band(np.array([2, 3, 0]), 1)]
    [[2, 2, 0], [2, 2, 1]]
    """
    falling = isotonic_regression(noisy.astype(float), increasing=False).x if len(noisy) else noisy.astype(float)
    ends = np.ceil(falling - most - 1e-9), np.floor(falling + most + 1e-9)
    low, high = (np.clip(each, 0, max(len(noisy) - 1, 0)).astype(np.int64) for each in ends)
    return low, high


def graphical(falling: NDArray[np.int64]) -> NDArray[np.int64]:
    """A sequence of degrees of some graph, near a falling one of numbers from 0 to n − 1: int64, same shape.

    Where the condition of Erdős and Gallai fails, the highest degrees are lowered to what it allows; if the sum is odd,
    one of the highest is lowered by 1.

    >>> graphical(np.array([3, 3, 1, 1])).tolist()
    [2, 2, 1, 1]
    """
    degrees = falling
    while (excess := _excess(degrees)) is not None or int(degrees.sum()) % 2:
        place, amount = (0, 1) if excess is None else excess
        if excess is None:
            place = int(np.searchsorted(-degrees, -degrees[0], side="right")) - 1
        head = degrees[: place + 1].copy()
        for _ in range(amount):
            head[int(np.searchsorted(-head, -head[0], side="right")) - 1] -= 1
        degrees = np.sort(np.concatenate([head, degrees[place + 1 :]]))[::-1]
    return degrees


def _excess(degrees: NDArray[np.int64]) -> tuple[int, int] | None:
    """The first place at which the highest degrees ask for more than the others can give, and by how much."""
    n = len(degrees)
    k = np.arange(1, n + 1)
    rising = degrees[::-1]
    sums = np.concatenate([[0], np.cumsum(rising)])
    below = np.minimum(np.searchsorted(rising, k, side="left"), n - k)  # of those after k, how many have less than k
    given = k * (k - 1) + sums[below] + k * (n - k - below)
    over = np.cumsum(degrees) - given
    places = np.flatnonzero(over > 0)
    return None if not len(places) else (int(places[0]), int(over[places[0]]))
