"""Subset selection: a set of w of the values, which has the sender's more often than any other one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields
from discreet.local.frequencies._unary import BitScheme
from discreet.noise import Draws

__all__ = ["SubsetSelection"]


@dataclass(frozen=True, slots=True, init=False)
class SubsetSelection(BitScheme):
    """Reports a set of w of the d values; the sets with the sender's own are e^ε times as likely as all others.

    w is the whole number of the least variance, near d / (e^ε + 1). As reports grow in number, no scheme has a lower
    worst-case mean squared error (Ye and Barg 2017). A report is ⌈d/8⌉ bytes with w ones; `ProjectiveGeometry` has
    nearly the same error in a few bytes. Pure ε-local privacy. Raises `ParameterError` for a domain of fewer than 2 or
    more than 2**24 values and unless 1e-6 ≤ ε ≤ 100.
    Source: Ye and Barg 2017, "Asymptotically Optimal Private Estimation under Mean Square Loss"; Wang et al. 2016,
    "Mutual Information Optimally Local Private Discrete Distribution Estimation"; ``proofs/subset_selection.md``.

    >>> scheme = SubsetSelection(domain=100, epsilon=1)
    >>> scheme.members, scheme.layout.width
    (27, 13)
    """

    protocol: ClassVar[str] = "subset_selection"

    @property
    def members(self) -> int:
        """w: how many values a report holds."""
        return _best_members(self.domain.size, self.epsilon)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities p = w·e^ε / (w·e^ε + d − w) and q = (p·(w − 1) + (1 − p)·w) / (d − 1)."""
        return _probabilities(self.domain.size, self.members, exp_epsilon(self.epsilon))

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A coin for the sender's value, and a set of the others that fills the report up to w."""
        last, members = self.domain.size - 1, self.members
        own = draws.coins(self.support_probabilities[0], prepared.size)
        bits = np.zeros((prepared.size, self.layout.width), dtype=np.uint8)
        width = -(-last // 8)
        bits[own, :width] = draws.packed_subsets(last, members - 1, int(own.sum()))
        bits[~own, :width] = draws.packed_subsets(last, members, int((~own).sum()))
        rows, byte = np.arange(prepared.size), prepared >> 3
        place = (1 << (prepared & 7)).astype(np.uint8)
        moved = bits[rows, byte] & place != 0  # the last value stands in for the sender's
        bits[:, last >> 3] |= np.where(moved, 1 << (last & 7), 0).astype(np.uint8)
        bits[rows, byte] = (bits[rows, byte] & ~place) | np.where(own, place, 0).astype(np.uint8)
        return bits

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """A report has w ones."""
        return np.bitwise_count(fields.bits).sum(axis=1, dtype=np.int64) == self.members


def _probabilities(size: int, members: int, weight: Fraction) -> tuple[Fraction, Fraction]:
    p = members * weight / (members * weight + size - members)
    return p, (members - p) / (size - 1)


@lru_cache(maxsize=256)
def _best_members(size: int, epsilon: Fraction) -> int:
    """Clients and servers choose in exact arithmetic, so that they agree."""
    weight = exp_epsilon(epsilon)

    def variance(members: int) -> Fraction:
        p, q = _probabilities(size, members, weight)
        return q * (1 - q) / (p - q) ** 2

    near = size / (weight + 1)
    return min((w for w in (int(near), int(near) + 1) if 1 <= w < size), key=variance)
