"""Laplace or uniform noise times a log-normal factor, X · e**(sigma · Y) with Y ~ N(0, 1), rounded exactly."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.noise._blocks import below_exp
from discreet.noise._exp import exp_bounds
from discreet.noise._rounded_laplace import Laplace, Real, Uniform, happens, nearest
from discreet.noise._source import BitSource, SecureBits

__all__ = ["rounded_laplace_log_normal", "rounded_uniform_log_normal"]

_MOST_SIGMA = 100
_GUARD = 64
_HALF = Fraction(1, 2)


def rounded_laplace_log_normal(center: Fraction, scale: Fraction, sigma: Fraction) -> int:
    """The integer nearest to center + scale · X · e**(sigma · Y). Exact: neither X nor Y is rounded.

    The real X has density e**(−|x|) / 2, the real Y is standard normal, independent of it. It is post-processing of the
    continuous mechanism, also where center and scale both depend on data.

    Parameters
    ----------
    center, scale
        Exact rationals, of any size; scale 0 or more.
    sigma
        An exact rational from 0 to 100; 0 makes it Laplace noise.

    Costs no privacy by itself. Raises `ParameterError` for an argument out of its range. Source: Bun and Steinke 2019
    (the distribution); ``proofs/noise.md``, section 9.

    >>> rounded_laplace_log_normal(Fraction(7, 3), Fraction(0), Fraction(1))
    2
    """
    source = _checked(scale, sigma)
    return nearest(center, scale, LogNormal(Laplace(source), sigma, source))


def rounded_uniform_log_normal(center: Fraction, scale: Fraction, sigma: Fraction) -> int:
    """The integer nearest to center + scale · U · e**(sigma · Y). Exact: neither U nor Y is rounded.

    As `rounded_laplace_log_normal`, with a real U uniform on [−1, 1] in the place of X.

    >>> rounded_uniform_log_normal(Fraction(7, 3), Fraction(0), Fraction(1))
    2
    """
    source = _checked(scale, sigma)
    return nearest(center, scale, LogNormal(Symmetric(source), sigma, source))


def _checked(scale: Fraction, sigma: Fraction) -> BitSource:
    if scale < 0:
        raise ParameterError("the scale of noise must be 0 or more")
    if not 0 <= sigma <= _MOST_SIGMA:
        raise ParameterError(f"sigma must be from 0 to {_MOST_SIGMA}, got {sigma}")
    return SecureBits()


class Symmetric:
    """2U − 1: uniform on [−1, 1]."""

    __slots__ = ("_u",)

    def __init__(self, source: BitSource) -> None:
        self._u = Uniform(source)

    def bracket(self) -> tuple[Fraction, Fraction]:
        one = 1 << self._u.bits
        return Fraction(2 * self._u.digits - one, one), Fraction(2 * self._u.digits + 2 - one, one)

    def reveal(self) -> None:
        self._u.reveal()


class LogNormal:
    """X · e**(sigma · Y): Y = ±(whole + V), with P(whole = k) ∝ e**(−k²/2), V of density ∝ e**(−v (2k + v)/2)."""

    __slots__ = ("_falls", "_integer", "_sigma", "_v", "_x")

    def __init__(self, x: Real, sigma: Fraction, source: BitSource) -> None:
        self._x, self._sigma = x, sigma
        self._falls = source.take(1)[0] & 1 == 1
        while True:
            self._integer = _whole_of_normal(source)
            self._v = Uniform(source)
            if happens(self._density, self._v, source):
                return

    def bracket(self) -> tuple[Fraction, Fraction]:
        low, high = self._x.bracket()
        least, most = self._factor()
        return low * (least if low > 0 else most), high * (most if high > 0 else least)

    def reveal(self) -> None:
        self._x.reveal()
        self._v.reveal()

    def _factor(self) -> tuple[Fraction, Fraction]:
        """Bounds on e**(sigma · Y)."""
        while True:
            bits, digits = self._v.bits + _GUARD, (self._integer << self._v.bits) + self._v.digits
            low = exp_bounds(self._sigma * Fraction(digits + 1, 1 << self._v.bits), bits)[0]
            high = exp_bounds(self._sigma * Fraction(digits, 1 << self._v.bits), bits)[1]
            one = 1 << bits
            if self._falls:
                return Fraction(low, one), Fraction(high, one)
            if low > 0:
                return Fraction(one, high), Fraction(one, low)
            self._v.reveal()

    def _density(self, digits: int, bits: int) -> tuple[int, int]:
        """e**(−t (2k + t)/2), which falls."""
        low, high = (Fraction(each, 1 << bits) for each in (digits, digits + 1))
        return (
            exp_bounds(high * (2 * self._integer + high) / 2, bits)[0],
            exp_bounds(low * (2 * self._integer + low) / 2, bits)[1],
        )


def _whole_of_normal(source: BitSource) -> int:
    """Draw k with probability ∝ e**(−k²/2): proposed ∝ e**(−k/2), kept with probability e**(−k (k − 1)/2)."""
    while True:
        k = 0
        while below_exp(0, 0, _HALF, source):
            k += 1
        if k < 2 or below_exp(0, 0, Fraction(k * (k - 1), 2), source):
            return k
