"""Discrete Laplace noise of which the answer stays within public bounds: pure differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import cost_of, epsilon_within, level_of, one_move
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import least, sums
from discreet.mechanisms.numeric._roots import powers, second_moment
from discreet.noise import MAX_WINDOW, MIN_SCALE, exp_bounds, laplace_in_window, scale_in_range
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["BoundedLaplace"]

_BITS = 512
_FINENESS = 2**40
_TINY = Fraction(1, 2**60)


@dataclass(frozen=True, slots=True, init=False)
class BoundedLaplace(IntegerRelease):
    """Answers x within bounds, with probability proportional to exp(−|x − value| / scale); values are clamped first.

    That is discrete Laplace noise on the condition that the answer is within the bounds. How likely they are depends on
    the value, so this costs more than sensitivity / scale, up to twice as much. Clamping the answers of
    `DiscreteLaplace` is free, but piles them up at the bounds; here the answers are spread, and biased inward.

    Parameters
    ----------
    scale
        In units of the integers, from 0.001 to 2**56.
    bounds
        Public whole numbers (lower, upper), lower < upper, at most 2**62 apart.

    Raises `ParameterError` for an argument out of its range. Source: Holohan, Antonatos, Braghin and Mac Aonghusa
    2018, on the integers and with exact constants; ``proofs/bounded_laplace.md``.

    >>> all(0 <= x <= 9 for x in BoundedLaplace(scale=10, bounds=(0, 9)).release([0, 5, 2000] * 100))
    True
    """

    scale: Fraction
    bounds: tuple[int, int]

    __repr__ = call_repr

    def __init__(self, scale: Number, bounds: tuple[int, int]) -> None:
        object.__setattr__(self, "scale", scale_in_range(scale, "scale"))
        object.__setattr__(self, "bounds", _bounds_of(bounds))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms, *, bounds: tuple[int, int]) -> BoundedLaplace:
        """The mechanism with the least scale, to 2**−40 of itself, whose exact loss is paid for by `spend`.

        The scale is between Δ/ε and 2Δ/ε, Δ being at most the distance of the bounds. A spend in (ε, δ) is taken at its
        ε, one in ρ or μ at the pure ε that it pays for. Where less than the least scale would do, it is 0.001. Costs no
        privacy. Raises `ParameterError` for a spend of nothing, a sensitivity below 0, bad bounds, and if the scale
        would be above 2**56.
        Source: ``proofs/bounded_laplace.md``.

        >>> from discreet.privacy import pure
        >>> round(float(BoundedLaplace.calibrate(pure(1), sensitivity=1, bounds=(0, 10)).scale), 4)
        1.2848
        """
        lower, upper = _bounds_of(bounds)
        epsilon = epsilon_within(spend, per_rho=2)
        entries, move = one_move(sensitivity)
        lowest = max(entries * min(move, upper - lower) / epsilon, MIN_SCALE)

        def scale(k: int) -> Fraction:
            return lowest * (1 + Fraction(k, _FINENESS))

        return cls(scale(least(lambda k: _cost(scale(k), upper - lower, sensitivity) <= epsilon)), (lower, upper))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """Pure ε, the exact one rounded up: sensitivity / scale + ln of the most that a bounds' probability may differ.

        A number says how far one entry moves, while the others stay; with `Norms` several may share the move, and each
        of its units costs as much as the first. Integers move by whole numbers, so a sensitivity is rounded down to
        one. Raises `ParameterError` if it is below 0. Source: ``proofs/bounded_laplace.md``.

        >>> round(BoundedLaplace(scale=1, bounds=(0, 10)).loss(1).epsilon(), 3)
        1.209
        """
        return PureLoss(_cost(self.scale, self._width, sensitivity))

    @property
    def _width(self) -> int:
        return self.bounds[1] - self.bounds[0]

    def _released(self, values: list[int]) -> list[int]:
        lower, upper = self.bounds
        clamped = [min(max(value, lower), upper) for value in values]
        lowest = np.array([lower - value for value in clamped], dtype=np.int64)
        return sums(clamped, laplace_in_window(self.scale, lowest, self._width))

    def error(self, level: Number = 0.95) -> int:
        """The least k such that, for every value within the bounds, the answer is within ±k with that probability.

        Or one more. Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: the worst value is at a bound or in the middle, ``proofs/bounded_laplace.md``.

        >>> BoundedLaplace(scale=10, bounds=(0, 1000)).error(), BoundedLaplace(scale=10, bounds=(0, 20)).error()
        (30, 17)
        """
        miss = 1 - level_of(level)
        bits = 256 + math.ceil(1 / miss).bit_length() + 2 * math.ceil(self.scale).bit_length()
        power, width = powers(self.scale, bits), self._width

        def exceeds(k: int, left: int, right: int) -> bool:
            """Whether it is not certain that k is enough for a value this far from the bounds."""
            beyond, q, far = power(k + 1), power(1), (power(left + 1), power(right + 1))
            out = sum((max(beyond[1] - low, Fraction(0)) for low, _ in far), Fraction(0))
            return out > miss * (1 + q[0] - far[0][1] - far[1][1])

        return least(lambda k: not (exceeds(k, 0, width) or exceeds(k, width // 2, width - width // 2)))

    @property
    def rmse(self) -> float:
        """The root-mean-square error at the value within the bounds where it is largest, in float precision.

        It includes the bias, and is at a bound or in the middle: ``proofs/bounded_laplace.md``.
        """
        middle = self._width // 2
        worst = ((0, self._width), (middle, self._width - middle))
        return math.sqrt(max(_mean_square(self.scale, left, right) for left, right in worst))


def _cost(scale: Fraction, width: int, sensitivity: Number | Norms) -> Fraction:
    """The exact ε, a bit above it. One entry: move/scale + ln(C(lower + move) / C(lower)), C = the answers' weight."""

    def of_one(move: int) -> Fraction:
        power, moved = powers(scale, _BITS), min(move, width)
        (_, q), (here, _), (there, _), (_, beyond) = map(power, (1, moved, width - moved, width + 1))
        return moved / scale + _log1p_up(q * (1 - here) * (1 - there) / (1 - beyond))

    return cost_of(sensitivity, of_one)


def _mean_square(scale: Fraction, left: int, right: int) -> Fraction:
    """Of the noise at a value this far from the bounds."""
    (mass, square), (other_mass, other_square) = (second_moment(scale, reach) for reach in (left, right))
    return (square + other_square) / (1 + mass + other_mass)


def _log1p_up(x: Fraction) -> Fraction:
    """A number that is not below ln(1 + x), and above it by 2**−38 of itself at most; 0 ≤ x ≤ 1."""
    if x < _TINY:
        return x
    near, slack = Fraction(math.log1p(float(x))), Fraction(1, 2**40)
    while exp_bounds(near * (1 + slack), _BITS)[1] * (1 + x) > 1 << _BITS:
        slack *= 2
    return near * (1 + slack)


def _bounds_of(bounds: object) -> tuple[int, int]:
    ends = cast("tuple[Any, ...]", bounds) if isinstance(bounds, tuple | list) else ()
    if (
        len(ends) != 2
        or any(isinstance(end, bool) or not isinstance(end, Integral) for end in ends)
        or not 0 < ends[1] - ends[0] <= MAX_WINDOW
    ):
        raise ParameterError(
            f"bounds must be two whole numbers (lower, upper), lower < upper, at most 2**62 apart, got {bounds!r}"
        )
    return int(ends[0]), int(ends[1])
