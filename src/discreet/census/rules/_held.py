"""Whole times of generators near real ones, with sums that are given exactly: totals that are held."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

__all__ = ["times_with_totals"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_TAKEN_BACK = (0, 1, 2, 4, 8, 16, 32, 64)
_MOST_STATES = 2**22
_NOTHING, _CLOSE = 1e-6, 1e-6


def times_with_totals(near: Numbers, sums: Places, totals: Places) -> Places | None:
    """Whole times from 0 near real ones, with ``sums @ times`` exactly the totals; None if there are none near.

    What is below the real times stays; what then misses is filled with generators, by all sums that they reach up to
    it. Where they do not reach it, more is taken back, up to 64 times each generator.

    >>> times_with_totals(np.array([2.4, 1.2]), np.array([[2, 3]]), np.array([9]))
    array([3, 1])
    """
    bound = sums.any(axis=0)
    near = _on_totals(near, sums, totals)
    floors = np.where(bound, np.floor(near + _NOTHING), np.rint(near)).astype(np.int64)
    for back in _TAKEN_BACK:
        times = np.where(bound, np.maximum(floors - back, 0), floors)
        rest = totals - sums @ times
        if (rest < 0).any() or math.prod((rest + 1).tolist()) > _MOST_STATES:
            continue
        added = _filled(sums[:, bound], rest)
        if added is not None:
            times[bound] += added
            return times
        if not times[bound].any():
            break
    return None


def _on_totals(near: Numbers, sums: Places, totals: Places) -> Numbers:
    """Times whose sums are the totals as nearly as floats are, beside given ones."""
    used = (near > 0) & sums.any(axis=0)
    missing = totals - sums @ near
    if used.any():
        near = near.copy()
        near[used] += np.linalg.lstsq(sums[:, used].astype(np.float64), missing, rcond=None)[0]
        missing = totals - sums @ near
    if (near < 0).any() or np.abs(missing).max() > _CLOSE * max(float(totals.max()), 1.0):
        return np.asarray(nnls(sums.astype(np.float64), totals.astype(np.float64))[0], np.float64)
    return near


def _filled(sums: Places, rest: Places) -> Places | None:
    """How often each generator is in a sum of them that is the rest; None if there is no such sum."""
    reached = [np.zeros(tuple((rest + 1).tolist()), np.bool_)]
    reached[0][(0,) * len(rest)] = True
    for step in sums.T:
        reached.append(_with_multiples(reached[-1], step, rest))
    place, times = rest.copy(), np.zeros(sums.shape[1], np.int64)
    if not reached[-1][tuple(place)]:
        return None
    for generator in reversed(range(sums.shape[1])):
        while not reached[generator][tuple(place)]:
            place -= sums[:, generator]
            times[generator] += 1
    return times


def _with_multiples(reached: NDArray[np.bool_], step: Places, rest: Places) -> NDArray[np.bool_]:
    """What is reached with any number of steps more: by one, by two, by four, and so on."""
    reached = reached.copy()
    while (step <= rest).all():
        ahead = tuple(slice(each, None) for each in step.tolist())
        behind = tuple(slice(None, most + 1 - each) for each, most in zip(step.tolist(), rest.tolist(), strict=True))
        reached[ahead] |= reached[behind].copy()
        step = 2 * step
    return reached
