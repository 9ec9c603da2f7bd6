"""Hash functions of a public list of keys: of any three values, the buckets are as good as independent."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.local._frequencies._hashing import buckets_of
from discreet.local._layout import Integers

__all__ = ["QUADRATIC", "QuadraticHashes"]

QUADRATIC = "quadratic-1"
"""The name of this specification in JSON. Another function gets another name."""

_BITS = 31
_PRIME = (1 << _BITS) - 1
_HASHES_AT_ONCE = 1 << 16  # what the steps of a block touch stays in the cache


@dataclass(frozen=True, slots=True)
class QuadraticHashes:
    """The hash functions 0 … hashes − 1 of the family `key`: from values 0 … size − 1 into `buckets` buckets.

    Specification ``quadratic-1``, with P = 2**31 − 1: function i has coefficients cⱼ = `buckets_of` of the text
    ``quadratic-1 i j`` under the family's key into P buckets, for j = 0, 1, 2. Value v has the residue
    r = (c₂·v² + c₁·v + c₀) mod P and the bucket ⌊r·buckets / 2**31⌋. For uniform coefficients the residues of three
    values are independent and uniform.
    Source: Carter and Wegman 1979 and Wegman and Carter 1981; ``proofs/local_hashing.md``, section 5.

    >>> QuadraticHashes(size=5, buckets=4, hashes=10, key=0).hashed(np.arange(5), np.full(5, 7)).tolist()
    [0, 2, 0, 3, 2]
    """

    size: int
    buckets: int
    hashes: int
    key: int

    @property
    def collision(self) -> Fraction:
        """The probability over coefficients that two values have one bucket: Σ (of P residues, a bucket's share)²."""
        return _power_sum(self.buckets, 2)

    @property
    def triple(self) -> Fraction:
        """The probability over coefficients that three values have one bucket."""
        return _power_sum(self.buckets, 3)

    def hashed(self, values: Integers, rows: Integers) -> Integers:
        """The bucket of each value under the function of its row."""
        named, which = np.unique(rows, return_inverse=True)
        return self._evaluate(values, self._coefficients(named)[:, which])

    def supports(self, table: Integers) -> Integers:
        """For each value, the sum over functions of the table's entry at (function, bucket of the value)."""
        values = np.arange(self.size)
        total = np.zeros(self.size, dtype=np.int64)
        few = max(1, _HASHES_AT_ONCE // self.size)
        for row in range(0, self.hashes, few):
            some = np.arange(row, min(row + few, self.hashes))
            coefficients = self._coefficients(some)[:, :, None]
            for first in range(0, self.size, _HASHES_AT_ONCE):
                places = slice(first, first + _HASHES_AT_ONCE)
                found = self._evaluate(values[places], coefficients)
                found += some[:, None] * self.buckets
                total[places] += table.ravel().take(found).sum(axis=0)
        return total

    def _coefficients(self, rows: Integers) -> Integers:
        texts = [f"{QUADRATIC} {row} {power}" for power in range(3) for row in rows.tolist()]
        return buckets_of(texts, self.key, _PRIME).reshape(3, -1)

    def _evaluate(self, values: Integers, coefficients: Integers) -> Integers:
        """Horner's rule; 2**31 ≡ 1, so a number's high bits are added to its low ones. Values are below 2**24."""
        residue = _folded(coefficients[2] * values + coefficients[1])
        residue = _folded(_folded(residue * values + coefficients[0]))
        residue[residue == _PRIME] = 0
        return residue * self.buckets >> _BITS


def _folded(number: Integers) -> Integers:
    """The same modulo P: below 2**32 for a number below 2**62, and at most P for one below 2**32."""
    return (number & _PRIME) + (number >> _BITS)


@lru_cache(maxsize=64)
def _power_sum(buckets: int, power: int) -> Fraction:
    begins = [-(-(bucket << _BITS) // buckets) for bucket in range(buckets)] + [_PRIME]
    return Fraction(sum((two - one) ** power for one, two in itertools.pairwise(begins)), _PRIME**power)
