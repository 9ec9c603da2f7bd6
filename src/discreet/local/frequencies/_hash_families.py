"""Public hashes of texts, the same in every version and on every machine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local._reports import Integers

__all__ = ["HASH", "LINEAR", "QUADRATIC", "LinearHashes", "QuadraticHashes", "buckets_of", "prime_from"]


HASH = "blake2b-1"
"""The name of this specification in JSON. Another function gets another name."""

_PREFIX = b"discreet blake2b-1\0"


def buckets_of(texts: Sequence[str], key: int, size: int) -> Integers:
    """For each text, its bucket from 0 to size − 1 under the hash function of this key.

    Specification ``blake2b-1``: the BLAKE2b digest of 8 bytes, without key, of ``discreet blake2b-1``, a zero byte, the
    key in 8 bytes (least first) and the text in UTF-8, is read as a whole number w (least byte first); the bucket is
    ⌊w·size / 2**64⌋. So each bucket has 2**64/size digests, but for one.

    Public and without secrets: it costs and protects nothing. Keys are from 0 to 2**64 − 1, sizes from 1 to 2**32. A
    half of a surrogate pair, which is no character, is read as Python writes it with ``surrogatepass``.
    Source: RFC 7693 (BLAKE2b); Lemire 2019, "Fast Random Integer Generation in an Interval" (the product).

    >>> buckets_of(["a", "ü", ""], key=0, size=1000).tolist()
    [263, 784, 931]
    """
    begun = blake2b(_PREFIX + key.to_bytes(8, "little"), digest_size=8)
    digests = bytearray()
    for text in texts:
        state = begun.copy()
        state.update(text.encode("utf-8", "surrogatepass"))
        digests += state.digest()
    words = np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
    factor, low_bits = np.uint64(size), np.uint64(0xFFFFFFFF)
    high, low = words >> np.uint64(32), words & low_bits
    return ((high * factor + (low * factor >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


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
                buckets = self._evaluate(values[places], coefficients)
                buckets += some[:, None] * self.buckets
                total[places] += table.ravel().take(buckets).sum(axis=0)
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
