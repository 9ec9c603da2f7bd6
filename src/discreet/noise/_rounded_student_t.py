"""Heavy-tailed noise of density ∝ (1 + y²)**−m, rounded exactly: Cauchy for m = 1, Student's t for any other."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from discreet.errors import ParameterError
from discreet.noise._rounded_laplace import Uniform, happens, nearest
from discreet.noise._source import BitSource, SecureBits

__all__ = ["rounded_student_t"]


def rounded_student_t(center: Fraction, scale: Fraction, degrees: int) -> int:
    """The integer nearest to center + scale · Y, where the real Y has density ∝ (1 + y²)**(−(degrees + 1)/2). Exact.

    √degrees · Y is Student's t, so Y is Cauchy for 1 degree of freedom, and has variance 1 for 3. It is
    post-processing of the continuous mechanism, also where center and scale both depend on data.

    Parameters
    ----------
    center, scale
        Exact rationals, of any size; scale 0 or more.
    degrees
        Degrees of freedom: an odd number, 1 or more.

    Costs no privacy by itself. Raises `ParameterError` for an argument out of its range. Source: ``proofs/noise.md``,
    section 8.

    >>> rounded_student_t(Fraction(7, 3), Fraction(0), degrees=3)
    2
    """
    if scale < 0:
        raise ParameterError("the scale of noise must be 0 or more")
    if isinstance(degrees, bool) or not isinstance(degrees, int) or degrees < 1 or degrees % 2 == 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"degrees must be an odd whole number, 1 or more, got {degrees!r}")
    return _rounded_student_t(center, scale, degrees, SecureBits())


def _rounded_student_t(center: Fraction, scale: Fraction, degrees: int, source: BitSource) -> int:
    return nearest(center, scale, _Student((degrees + 1) // 2, source))


class _Student:
    """±U where |Y| ≤ 1, else ±1/U; U has weight (1 + u²)**−m there and u**(2m − 2) (1 + u²)**−m here."""

    __slots__ = ("_inside", "_negative", "_u")

    def __init__(self, m: int, source: BitSource) -> None:
        while True:
            coins = source.take(1)[0]
            self._negative, self._inside = coins & 1 == 1, coins & 2 == 2
            self._u = Uniform(source)
            if happens(partial(_falling if self._inside or m == 1 else _rising, m), self._u, source):
                return

    def bracket(self) -> tuple[Fraction, Fraction]:
        while not self._inside and self._u.digits == 0:
            self._u.reveal()
        digits, one = self._u.digits, 1 << self._u.bits
        low, high = (
            (Fraction(digits, one), Fraction(digits + 1, one))
            if self._inside
            else (Fraction(one, digits + 1), Fraction(one, digits))
        )
        return (-high, -low) if self._negative else (low, high)

    def reveal(self) -> None:
        self._u.reveal()


def _falling(m: int, digits: int, bits: int) -> tuple[int, int]:
    """(1 + t²)**−m."""
    one = 1 << bits
    return (
        (one ** (2 * m + 1)) // (one * one + (digits + 1) ** 2) ** m,
        -(-(one ** (2 * m + 1)) // (one * one + digits * digits) ** m),
    )


def _rising(m: int, digits: int, bits: int) -> tuple[int, int]:
    """t**(2m − 2) (1 + t²)**−m, which rises on [0, 1] for m ≥ 2."""
    one = 1 << bits
    after = digits + 1
    return (
        one**3 * digits ** (2 * m - 2) // (one * one + digits * digits) ** m,
        -(-(one**3) * after ** (2 * m - 2) // (one * one + after * after) ** m),
    )
