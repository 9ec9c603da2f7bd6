"""Unary encoding: one bit for each value, 1 at the sender's, and each bit flipped on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._supports import SupportScheme
from discreet.noise import Draws

__all__ = ["BitScheme", "OptimizedUnary", "SymmetricUnary", "bit_counts"]


_BYTES_AT_ONCE = 1 << 19  # what the steps of a chunk touch stays in the cache
_FEW = 255  # rows whose sums fit a byte

Words = NDArray[np.uint64]


def bit_counts(rows: Bytes, bits: int) -> Integers:
    """For each of the first `bits` places, in how many rows it is 1; eight places a byte, the least bit first.

    Three rows are replaced by two, their sum without carry and the carries, on 64 places at once, until two are left of
    each weight: five operations on words for each row.
    Source: Harley and Seal, in Warren 2012, "Hacker's Delight", 5-1.

    >>> bit_counts(np.array([[0b101], [0b001], [0b011]], dtype=np.uint8), 3).tolist()
    [3, 1, 1]
    """
    count, width = rows.shape
    if count <= _FEW:
        each = np.unpackbits(rows, axis=1, count=bits, bitorder="little")
        return each.sum(axis=0, dtype=np.uint8).astype(np.int64)
    total = np.zeros(bits, dtype=np.int64)
    padded = -(-width // 8) * 8
    step = max(3, _BYTES_AT_ONCE // max(padded, 1))
    for start in range(0, count, step):
        some = rows[start : start + step]
        words = np.zeros((len(some), padded), dtype=np.uint8)
        words[:, :width] = some
        _add(words.view(np.uint64), total)
    return total


def _add(words: Words, total: Integers) -> None:
    weight = 1
    while len(words):
        carries: list[Words] = []
        while len(words) >= 3:
            third = len(words) // 3
            a, b, c, rest = np.split(words, (third, 2 * third, 3 * third))
            odd = a ^ b
            carries.append((a & b) | (odd & c))
            words = np.concatenate((odd ^ c, rest))
        for row in words:
            total += weight * np.unpackbits(row.view(np.uint8), count=total.size, bitorder="little").astype(np.int64)
        words = np.concatenate(carries) if carries else words[:0]
        weight *= 2


class BitScheme(SupportScheme):
    """One bit for each value of the domain, 1 where the report supports it; a report is ⌈d/8⌉ bytes."""

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        """The bits, in domain order."""
        return Layout((), self.domain.size)

    @property
    def cells(self) -> int:
        """One count for each value."""
        return self.domain.size

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the ones of each bit."""
        counts += bit_counts(fields.bits, self.domain.size)

    def supports(self, counts: Integers) -> Integers:
        """A report supports the values whose bits are 1."""
        return counts.copy()


class _UnaryScheme(BitScheme):
    """Bits that are drawn on their own."""

    __slots__ = ()

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """Every bit is 1 with probability q; then the sender's own is drawn anew, 1 with probability p."""
        p, q = self.support_probabilities
        bits = draws.packed_coins(q, prepared.size, self.domain.size)
        rows, byte = np.arange(prepared.size), prepared >> 3
        place = (1 << (prepared & 7)).astype(np.uint8)
        own = draws.coins(p, prepared.size)
        bits[rows, byte] = (bits[rows, byte] & ~place) | np.where(own, place, 0).astype(np.uint8)
        return bits


@dataclass(frozen=True, slots=True, init=False)
class SymmetricUnary(_UnaryScheme):
    """Every bit is reported unchanged with probability e^(ε/2) / (e^(ε/2) + 1).

    A report is ⌈d/8⌉ bytes. `OptimizedUnary` has a lower error at the same price. Pure ε-local privacy. Raises
    `ParameterError` for a domain of fewer than 2 or more than 2**24 values and unless 1e-6 ≤ ε ≤ 100.
    Source: Wang, Blocki, Li and Jha 2017, Section 4.3 (basic one-time RAPPOR);
    ``proofs/local_frequencies.md``, section 3.

    >>> scheme = SymmetricUnary(domain=100, epsilon=1)
    >>> len(bytes(scheme.client().encode(42))) - 19
    13
    """

    protocol: ClassVar[str] = "symmetric_unary"

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """e^(ε/2) / (e^(ε/2) + 1) and 1 / (e^(ε/2) + 1)."""
        weight = exp_epsilon(self.epsilon / 2)
        return weight / (weight + 1), 1 / (weight + 1)


@dataclass(frozen=True, slots=True, init=False)
class OptimizedUnary(_UnaryScheme):
    """The sender's bit is a fair coin, and every other one is 1 with probability 1 / (e^ε + 1).

    A report is ⌈d/8⌉ bytes. Pure ε-local privacy. Raises `ParameterError` for a domain of fewer than 2 or more than
    2**24 values and unless 1e-6 ≤ ε ≤ 100.
    Source: Wang, Blocki, Li and Jha 2017, Section 4.3; ``proofs/local_frequencies.md``, section 3.

    >>> [round(float(each), 3) for each in OptimizedUnary(domain=100, epsilon=1).support_probabilities]
    [0.5, 0.269]
    """

    protocol: ClassVar[str] = "optimized_unary"

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """1/2 and 1 / (e^ε + 1)."""
        return Fraction(1, 2), 1 / (exp_epsilon(self.epsilon) + 1)
