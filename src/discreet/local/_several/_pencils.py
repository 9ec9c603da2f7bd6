"""How many reports two values of projective geometry share: from the hyperplanes that go through what theirs share."""

from __future__ import annotations

import numpy as np

from discreet.local._frequencies._projective_points import Space
from discreet.local._layout import Integers

__all__ = ["shared_counts"]


def shared_counts(space: Space, supports: Integers, total: int, first: Integers, second: Integers) -> Integers:
    """For pairs of different values the counts of the points that are in the hyperplanes of both.

    `supports` are the counts of every hyperplane, and `total` that of all points. The q + 1 hyperplanes that contain
    what two share hold each of its points q + 1 times and every other one once. ``proofs/several.md``, section 2.
    """
    if space.t == 2:
        return np.zeros(first.size, dtype=np.int64)
    low, high = np.minimum(first, second), np.maximum(first, second)
    least, most = _digits(space, low), _digits(space, high)
    same = _lead(least) == _lead(most)
    least[same] = _normal(space, (most[same] - least[same]) % space.q)
    found = supports[_values(space, least)] - total
    for factor in range(space.q):
        found = found + supports[_values(space, (most + factor * least) % space.q)]
    return found // space.q


def _digits(space: Space, values: Integers) -> Integers:
    """The coordinates of each value's point, the highest of them that is not 0 being 1."""
    sizes, powers = _sizes(space), _powers(space)
    lead = np.searchsorted(sizes, values, "right") - 1
    vector = values - sizes[lead] + powers[lead]
    return vector[:, None] // powers % space.q


def _values(space: Space, digits: Integers) -> Integers:
    lead = _lead(digits)
    return digits @ _powers(space) - _powers(space)[lead] + _sizes(space)[lead]


def _lead(digits: Integers) -> Integers:
    return digits.shape[1] - 1 - np.argmax(digits[:, ::-1] != 0, axis=1)


def _normal(space: Space, digits: Integers) -> Integers:
    lead = digits[np.arange(len(digits)), _lead(digits)]
    kinds, place = np.unique(lead, return_inverse=True)
    inverse = np.array([pow(kind, -1, space.q) for kind in kinds.tolist()], dtype=np.int64)
    return digits * inverse[place][:, None] % space.q


def _powers(space: Space) -> Integers:
    return np.array([space.q**k for k in range(space.t)], dtype=np.int64)


def _sizes(space: Space) -> Integers:
    return np.array([space.points(k) for k in range(space.t)], dtype=np.int64)
