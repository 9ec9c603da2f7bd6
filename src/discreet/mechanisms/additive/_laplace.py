"""Continuous Laplace noise, rounded exactly to the grid: charged by its own loss distribution, by L1 sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet import privacy
from discreet.mechanisms._sensitivity import epsilon_within, l1_of, level_of
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import least, sums
from discreet.noise import MIN_SCALE, exp_bounds, rounded_laplace_noise, scale_in_range
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True, init=False)
class Laplace(IntegerRelease):
    """Adds to each integer the rounding of independent continuous Laplace noise of scale `scale`, exactly.

    `scale` is in units of the integers, from 0.001 to 2**56, otherwise `ParameterError`. Rounding an integer plus
    continuous noise is post-processing, so a release costs what the Laplace mechanism costs: pure (L1 sensitivity /
    scale) once, and less in a composition, where its own losses add up. `DiscreteLaplace` errs less at the same pure
    ε, by about 1/(16 scale²) of the standard deviation. Source: Dwork, McSherry, Nissim and Smith 2006,
    Proposition 1; ``proofs/laplace.md``.

    >>> Laplace(scale=10).loss(sensitivity=1)
    laplace(10)
    """

    scale: Fraction

    __repr__ = call_repr

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", scale_in_range(scale, "scale"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> Laplace:
        """The mechanism with the least noise whose pure ε is paid for by `spend`, in its own currency.

        That is ε itself, also of a spend in (ε, δ); √(2ρ); and the ε that is μ-GDP, nearly. Where less than the least
        scale would do, the scale is 0.001. Costs no privacy. Raises `ParameterError` for a spend of nothing, for a
        sensitivity below 0, and if the scale would be above 2**56. Source: scale = Δ₁/ε, ``proofs/laplace.md``.

        >>> from discreet.privacy import pure, rho
        >>> Laplace.calibrate(pure(0.1), sensitivity=3), Laplace.calibrate(rho(0.125), sensitivity=1)
        (Laplace(scale=30), Laplace(scale=2))
        """
        return cls(max(l1_of(sensitivity) / epsilon_within(spend, per_rho=2), MIN_SCALE))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """The losses of continuous Laplace noise, where neighbours' values are at most `sensitivity` apart in L1 norm.

        Holds for one number and for a vector alike: spreading the move over more entries costs less. Raises
        `ParameterError` if the sensitivity is below 0. Source: ``proofs/laplace.md``.

        >>> loss = Laplace(scale=10).loss(sensitivity=1)
        >>> loss.epsilon(), round((100 * loss).epsilon(delta=1e-6), 2)
        (0.1, 4.69)
        """
        moved = l1_of(sensitivity)
        return privacy.LaplaceLoss(self.scale / moved) if moved else PureLoss(Fraction(0))

    def _released(self, values: list[int]) -> list[int]:
        return sums(values, rounded_laplace_noise(self.scale, len(values)))

    def error(self, level: Number = 0.95) -> int:
        """The least k such that one entry's noise is within ±k with probability `level` or more.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: P(|X| > k) = exp(−(k + ½)/scale).

        >>> Laplace(10).error(0.95)
        30
        """
        miss = 1 - level_of(level)
        bits = 128 + math.ceil(1 / miss).bit_length()
        return least(lambda k: exp_bounds((2 * k + 1) / (2 * self.scale), bits)[1] <= miss * (1 << bits))

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise, in float precision: √(cosh(u)/2) / sinh(u), u = 1/(2 scale)."""
        u = float(1 / (2 * self.scale))
        return math.sqrt(math.cosh(u) / 2) / math.sinh(u)
