"""Noise with Pareto tails on both sides, P(|Z| > z) = (1 + z)**−shape, rounded exactly."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.noise._rounded_laplace import Uniform, nearest
from discreet.noise._source import BitSource, SecureBits

__all__ = ["rounded_pareto"]

_LARGEST_SHAPE = 2**16


def rounded_pareto(center: Fraction, scale: Fraction, shape: int) -> int:
    """The integer nearest to center + scale · Z, where P(|Z| > z) = (1 + z)**−shape, with either sign. Exact.

    The density is shape/2 · (1 + |z|)**−(shape + 1): as steep as Laplace noise at 0, and of polynomial tails, so that
    it can be stretched at a bounded loss. The mean of |Z| is 1/(shape − 1). It is post-processing of the continuous
    mechanism, also where center and scale both depend on data.

    Parameters
    ----------
    center, scale
        Exact rationals, of any size; scale 0 or more.
    shape
        An integer from 1 to 65,536.

    Costs no privacy by itself. Raises `ParameterError` for an argument out of its range. Source: ``proofs/noise.md``,
    section 14.

    >>> rounded_pareto(Fraction(7, 3), Fraction(0), shape=16)
    2
    """
    if scale < 0:
        raise ParameterError("the scale of noise must be 0 or more")
    if isinstance(shape, bool) or not isinstance(shape, int) or not 1 <= shape <= _LARGEST_SHAPE:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"shape must be an integer from 1 to {_LARGEST_SHAPE}, got {shape!r}")
    return _rounded_pareto(center, scale, shape, SecureBits())


def _rounded_pareto(center: Fraction, scale: Fraction, shape: int, source: BitSource) -> int:
    return nearest(center, scale, Pareto(shape, source))


class Pareto:
    """±(1/M − 1), where M is the largest of as many uniforms as the shape: P(M < 1/(1 + z)) = (1 + z)**−shape."""

    __slots__ = ("_negative", "_uniforms")

    def __init__(self, shape: int, source: BitSource) -> None:
        self._negative = source.take(1)[0] & 1 == 1
        self._uniforms = [Uniform(source) for _ in range(shape)]

    def bracket(self) -> tuple[Fraction, Fraction]:
        while (digits := max(each.digits for each in self._uniforms)) == 0:
            self.reveal()
        one = 1 << self._uniforms[0].bits
        low, high = Fraction(one, digits + 1) - 1, Fraction(one, digits) - 1
        return (-high, -low) if self._negative else (low, high)

    def reveal(self) -> None:
        """64 digits more of each uniform, so that any of them may turn out to be the largest."""
        for each in self._uniforms:
            each.reveal()
