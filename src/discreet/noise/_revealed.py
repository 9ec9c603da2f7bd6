"""Reals that are known between two rationals, closer with every bit drawn, and decisions and roundings of them.

Proof: ``proofs/noise.md``, section 8.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from discreet.noise._source import BitSource

__all__ = ["Chance", "Real", "Uniform", "happens", "nearest"]

Chance = Callable[[int, int], tuple[int, int]]
"""``chance(digits, bits)`` brackets 2**bits · p(t) for every t from digits / 2**bits to (digits + 1) / 2**bits."""

_HALF = Fraction(1, 2)


class Real(Protocol):
    """A random real, revealed step by step."""

    def bracket(self) -> tuple[Fraction, Fraction]:
        """Rationals between which it lies."""
        ...

    def reveal(self) -> None:
        """Draw more bits, so that the bracket gets closer."""
        ...


class Uniform:
    """U uniform on [0, 1), of which `bits` binary digits are known: digits ≤ 2**bits · U < digits + 1."""

    __slots__ = ("_source", "bits", "digits")

    def __init__(self, source: BitSource) -> None:
        self._source, self.digits, self.bits = source, 0, 0
        self.reveal()

    def reveal(self) -> None:
        """64 digits more."""
        self.digits = (self.digits << 64) | int.from_bytes(self._source.take(8), "little")
        self.bits += 64


def happens(chance: Chance, u: Uniform, source: BitSource) -> bool:
    """Whether V < p(U) for a fresh uniform V, p being given by its brackets; reveals more of U where that is needed."""
    v = Uniform(source)
    while v.bits < u.bits:
        v.reveal()
    while True:
        low, high = chance(u.digits, u.bits)
        if v.digits < low:
            return True
        if v.digits >= high:
            return False
        u.reveal()
        v.reveal()


def nearest(center: Fraction, scale: Fraction, z: Real) -> int:
    """The integer nearest to center + scale · Z, for scale ≥ 0: exactly the rounding of the real number."""
    while True:
        low, high = z.bracket()
        least, most = ((center + scale * each + _HALF).__floor__() for each in (low, high))
        if least == most:
            return least
        z.reveal()
