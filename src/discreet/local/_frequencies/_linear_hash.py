"""Hash functions for keys that are drawn with each report: every two values collide with the same known probability."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local._layout import Integers

__all__ = ["LINEAR", "LinearHashes", "prime_from"]

LINEAR = "linear-1"
"""The name of this specification in JSON. Another function gets another name."""

_ROWS, _VALUES = (
    128,
    1024,
)  # a block of residues and what is made of it stay in the cache; sums of a block fit in a byte

Words = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True)
class LinearHashes:
    """The hash functions of the values 0 … size − 1 into `buckets` buckets, of which a report draws one.

    Specification ``linear-1``: P is the least prime with P ≥ size and P ≥ buckets. Key k, from 0 to P(P − 1) − 1, is
    a = 1 + k mod (P − 1) and b = ⌊k / (P − 1)⌋; value v has the residue r = (a·v + b) mod P and the bucket
    ⌊r·buckets / P⌋. For a uniform key the residues of two values are each pair of different numbers equally often.
    Source: Carter and Wegman 1979; ``proofs/local_hashing.md``, section 2.

    >>> LinearHashes(size=5, buckets=2).hashed(np.arange(5), np.array(7)).tolist()
    [0, 0, 1, 1, 0]
    """

    size: int
    buckets: int

    @property
    def prime(self) -> int:
        """P."""
        return prime_from(max(self.size, self.buckets))

    @property
    def keys(self) -> int:
        """How many keys there are: P(P − 1), below 2**50."""
        return self.prime * (self.prime - 1)

    @property
    def collision(self) -> Fraction:
        """The probability over keys that two values have one bucket, exactly, and the same for any two: below 1/g.

        Of P residues, P mod g buckets have ⌈P/g⌉ and the others ⌊P/g⌋.
        """
        small, more = divmod(self.prime, self.buckets)
        return Fraction(more * (small + 1) * small + (self.buckets - more) * small * (small - 1), self.keys)

    def hashed(self, values: Integers, keys: Integers) -> Integers:
        """The bucket of each value under its key."""
        b, a = np.divmod(keys, self.prime - 1)
        return ((a + 1) * values + b) % self.prime * self.buckets // self.prime

    def supports(self, keys: Integers, buckets: Integers) -> Integers:
        """For each value v, how many of the reports (key, bucket) have the bucket of v.

        The residues of a bucket are an interval, so nothing is multiplied for a value: a step adds a residue to all
        values of a block, and one subtraction and one comparison without sign say who is inside.
        """
        word = np.uint16 if self.prime < 1 << 15 else np.uint32
        total = np.zeros(self.size, dtype=np.int64)
        for at in range(0, len(keys), _ROWS):
            self._add(keys[at : at + _ROWS], buckets[at : at + _ROWS], total, word)
        return total

    def _add(self, keys: Integers, buckets: Integers, total: Integers, word: type[np.unsignedinteger[Any]]) -> None:
        prime = self.prime
        b, a = np.divmod(keys[:, None], prime - 1)
        a += 1
        low = -(-buckets[:, None] * prime // self.buckets)
        width = -(-(buckets[:, None] + 1) * prime // self.buckets) - low
        steps = _multiples(a, min(self.size, _VALUES), prime, word)
        moved, inside = np.empty_like(steps), np.empty(steps.shape, dtype=np.bool_)
        for first in range(0, self.size, _VALUES):
            count = min(_VALUES, self.size - first)
            start = (low - b - a * first) % prime  # a·t mod P is in [start, start + width), around P: inside
            around = start + width > prime
            start = np.where(around, start + width - prime, start)
            length = np.where(around, prime - width, width)
            np.subtract(steps[:, :count], start.astype(word), out=moved[:, :count])
            np.less(moved[:, :count], length.astype(word), out=inside[:, :count])
            inside[:, :count] ^= around
            total[first : first + count] += inside[:, :count].view(np.uint8).sum(axis=0, dtype=np.uint8)


def _multiples(a: Integers, count: int, prime: int, word: type[np.unsignedinteger[Any]]) -> Words:
    """a·t mod P for t from 0 to count − 1, a row for each a, by doubling; twice P fits the word."""
    rows = np.zeros((len(a), count), dtype=word)
    done = 1
    while done < count:
        some = min(done, count - done)
        moved = rows[:, :some] + (a * done % prime).astype(word)
        np.minimum(moved, moved - word(prime), out=rows[:, done : done + some])  # below P the difference wraps
        done += some
    return rows


@lru_cache(maxsize=256)
def prime_from(least: int) -> int:
    """The least prime that is not below `least`.

    >>> prime_from(1), prime_from(10_000), prime_from(2**24)
    (2, 10007, 16777259)
    """
    number = max(least, 2)
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number
