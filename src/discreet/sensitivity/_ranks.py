"""Which gap of a data set a quantile can jump across when one value is added or removed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["Jumps", "jumps", "rank"]

Ints = NDArray[np.int64]

_FITS = 2**62


def rank(q: Fraction, n: int) -> int:
    """The rank of the q-quantile of n >= 1 values: max(1, ceil(q n)), so the lower median for q = 1/2.

    >>> rank(Fraction(1, 2), 4), rank(Fraction(0), 4), rank(Fraction(1), 4)
    (2, 1, 4)
    """
    return max(1, -(-q.numerator * n // q.denominator))


def _ranks(q: Fraction, sizes: int) -> Ints:
    """The rank for n = 0, 1, ..., sizes - 1."""
    n = np.arange(sizes, dtype=np.int64 if max(q.denominator, q.numerator) * sizes < _FITS else object)
    return np.maximum(1, -((-q.numerator * n) // q.denominator)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Jumps:
    """Pairs (below, above): a data set with so many values below a gap and above it has a neighbour across the gap.

    They come in chain order: sizes 1, 2, 2, 3, 3, ... Entry 2m - 2 has size m, entry 2m - 1 has size m + 1 and lies
    above entry 2m - 2.
    """

    below: Ints
    above: Ints

    @property
    def size(self) -> Ints:
        """How many values the data set has."""
        return self.below + self.above

    def mirrored(self) -> Jumps:
        """The same with the order of the values turned around."""
        return Jumps(self.above, self.below)

    def cheapest(self, n: int) -> tuple[Ints, Ints]:
        """For h = 0, 1, ..., up to n: the least size of a pair with above >= h, and the largest below at that size.

        Shorter than n + 1 entries if no pair has above >= h.
        """
        highest = np.maximum.accumulate(self.above)
        found = np.searchsorted(highest, np.arange(min(n, int(highest[-1])) + 1))
        partner = np.minimum(found + 1, len(self.above) - 1)
        together = (self.size[partner] == self.size[found]) & (self.above[partner] >= np.arange(len(found)))
        below = np.where(together, np.maximum(self.below[found], self.below[partner]), self.below[found])
        return self.size[found], below


def jumps(q: Fraction, n: int) -> Jumps:
    """The pairs of sizes 1 to 2 n + 2, which are all that 2 n + 1 steps around n values can use.

    >>> chain = jumps(Fraction(1, 2), 1)
    >>> list(zip(chain.below.tolist(), chain.above.tolist()))
    [(0, 1), (1, 1), (1, 1), (1, 2), (1, 2), (2, 2), (2, 2)]
    """
    at = _ranks(q, 2 * n + 4)
    m = np.arange(1, 2 * n + 3)
    below, above = np.empty(2 * len(m), dtype=np.int64), np.empty(2 * len(m), dtype=np.int64)
    below[0::2], above[0::2] = at[m + 1] - 1, m + 1 - at[m + 1]
    below[1::2], above[1::2] = at[m], m + 1 - at[m]
    return Jumps(below[:-1], above[:-1])
