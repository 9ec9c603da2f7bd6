"""Continuous Laplace noise, density e**(−|z|) / 2, rounded exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from discreet.errors import ParameterError
from discreet.noise._exp import exp_bounds
from discreet.noise._geometric import geometric_tails
from discreet.noise._revealed import Uniform, happens, nearest
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._table import Table

__all__ = ["Laplace", "rounded_laplace"]


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

    __slots__ = ("_negative", "_u", "_whole")

    def __init__(self, source: BitSource) -> None:
        self._negative = source.take(1)[0] & 1 == 1
        self._whole = int(_wholes().sample(1, source)[0])
        self._u = Uniform(source)
        while not happens(_falling, self._u, source):
            self._u = Uniform(source)

    def bracket(self) -> tuple[Fraction, Fraction]:
        digits = (self._whole << self._u.bits) + self._u.digits
        low, high = Fraction(digits, 1 << self._u.bits), Fraction(digits + 1, 1 << self._u.bits)
        return (-high, -low) if self._negative else (low, high)

    def reveal(self) -> None:
        self._u.reveal()


def _falling(digits: int, bits: int) -> tuple[int, int]:
    """e**−t."""
    one = 1 << bits
    return exp_bounds(Fraction(digits + 1, one), bits)[0], exp_bounds(Fraction(digits, one), bits)[1]
