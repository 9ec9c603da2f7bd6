"""Continuous Laplace noise, density e**(−|z|) / 2, rounded exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Protocol

from discreet.errors import ParameterError
from discreet.noise._blocks import Table
from discreet.noise._exp import exp_bounds
from discreet.noise._laplace import geometric_tails
from discreet.noise._source import BitSource, SecureBits

__all__ = ["Chance", "Laplace", "Real", "Uniform", "happens", "nearest", "rounded_laplace"]


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


def rounded_laplace(center: Fraction, scale: Fraction) -> int:
    """The integer nearest to center + scale · Z, where the real Z has density e**(−|z|) / 2. Exact: Z is not rounded.

    It is post-processing of the continuous mechanism, so what that costs holds for it, also where center and scale
    both depend on data. A coarser or finer grid is a matter of dividing both by its step.

    Parameters
    ----------
    center, scale
        Exact rationals, of any size; scale 0 or more.

    Costs no privacy by itself. Raises `ParameterError` if the scale is below 0. Source: Karney 2016, section 3 (an
    exponential as an integer and a fraction); ``proofs/noise.md``, section 8.

    >>> rounded_laplace(Fraction(7, 3), Fraction(0))
    2
    """
    if scale < 0:
        raise ParameterError("the scale of noise must be 0 or more")
    return _rounded_laplace(center, scale, SecureBits())


def _rounded_laplace(center: Fraction, scale: Fraction, source: BitSource) -> int:
    return nearest(center, scale, Laplace(source))


@cache
def _wholes() -> Table:
    """P(whole = k) ∝ e**−k. A table, because counting up to k would take a time that tells k."""
    return Table(geometric_tails(Fraction(1)), signed=False)


class Laplace:
    """Sign · (whole + U), with P(whole = k) ∝ e**−k and U of density ∝ e**−u on [0, 1)."""

    __slots__ = ("_integer", "_negative", "_u")

    def __init__(self, source: BitSource) -> None:
        self._negative = source.take(1)[0] & 1 == 1
        self._integer = int(_wholes().sample(1, source)[0])
        self._u = Uniform(source)
        while not happens(_falling, self._u, source):
            self._u = Uniform(source)

    def bracket(self) -> tuple[Fraction, Fraction]:
        digits = (self._integer << self._u.bits) + self._u.digits
        low, high = Fraction(digits, 1 << self._u.bits), Fraction(digits + 1, 1 << self._u.bits)
        return (-high, -low) if self._negative else (low, high)

    def reveal(self) -> None:
        self._u.reveal()


def _falling(digits: int, bits: int) -> tuple[int, int]:
    """e**−t."""
    one = 1 << bits
    return exp_bounds(Fraction(digits + 1, one), bits)[0], exp_bounds(Fraction(digits, one), bits)[1]
