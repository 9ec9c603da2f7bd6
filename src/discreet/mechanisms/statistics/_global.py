"""Noise scaled to global sensitivity: what the worst data would need, and for sums, counts and means no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import level_of
from discreet.mechanisms.additive._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.statistics._answer import answer, fixed, numeric, power_of_two_below, to_float
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, Relation, RhoLoss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Mean, Norms, Statistic, clamped, interval

__all__ = ["GlobalSensitivity"]

_FINENESS = 2**28
"""Grid steps in the sensitivity, at least; and between the bounds of a mean."""

_MOST_IN_INT64 = 2**32
"""So many records' grid steps add up in 64 bits."""


@dataclass(frozen=True, slots=True, init=False)
class GlobalSensitivity:
    """A statistic with noise scaled to its global sensitivity; a mean as a quotient of noisy sums.

    The mean under add/remove is taken from two noisy sums, of the distances above the lower bound and of those below
    the upper bound. A person moves the two together by (upper − lower) in L1 and at most that in L2, and what they add
    up to is the noisy count: the variance is half of what a noisy sum over a noisy count with half the spend each
    would have. Under substitution the number of records is public, and the mean moves by (upper − lower) / n.

    Parameters
    ----------
    statistic
        A name such as ``"mean"``, ``"sum"`` or ``"count"``, or a `discreet.sensitivity.Statistic` with numbers as
        values and finite global sensitivity.
    bounds
        The public (lower, upper) of the data, where the statistic needs them.
    spend
        `dp.pure(ε)`: discrete Laplace noise. `dp.approx(ε, δ)`: that, or Gaussian noise where it is the smaller one.
        `dp.rho(ρ)`: discrete Gaussian noise. `dp.mu(μ)`: Gaussian noise.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.

    Raises `ParameterError` for an argument out of its range, which never depends on data.
    Source: Dwork, McSherry, Nissim and Smith 2006, Proposition 1; ``proofs/global_sensitivity.md``.

    >>> from discreet.privacy import pure
    >>> mean = GlobalSensitivity("mean", bounds=(0, 100), spend=pure(1))
    >>> mean.loss(), abs(mean.release([20, 40] * 5000) - 30) < 1
    (pure(1), True)
    """

    statistic: Statistic
    bounds: Any
    spend: Loss
    relation: Relation
    noise: DiscreteLaplace | DiscreteGaussian | Gaussian
    step: Fraction

    __repr__ = call_repr

    def __init__(
        self, statistic: str | Statistic, *, bounds: Any = None, spend: Loss, relation: Relation = "add_remove"
    ) -> None:
        chosen, most = numeric(statistic, bounds, relation)
        if not math.isfinite(most):
            raise ParameterError("this statistic has no finite global sensitivity; use SmoothSensitivity or bound it")
        if most == 0:
            raise ParameterError("this statistic is the same for all neighbours: it is public, and needs no noise")
        step = power_of_two_below(Fraction(most)) / _FINENESS
        moves = Norms(_FINENESS, _FINENESS**2) if isinstance(chosen, Mean) else _rounded(Fraction(most) / step)
        noise, charged = _least_noise(spend, moves)
        for name, value in (
            ("statistic", chosen),
            ("bounds", fixed(bounds)),
            ("spend", charged),
            ("relation", relation),
            ("noise", noise),
            ("step", step),
        ):
            object.__setattr__(self, name, value)

    def loss(self) -> Loss:
        """The spend, in its own currency; pure ε of an (ε, δ) where the noise is Laplace's."""
        return self.spend

    def release(self, x: Any) -> float:
        """The statistic of x with noise; a mean lies within the bounds.

        Costs `loss()`, **and charges nobody**: this is the raw toolbox. Raises `ParameterError` only if x is not a
        data set of the statistic's shape. Source: ``proofs/global_sensitivity.md``.
        """
        if isinstance(self.statistic, Mean):
            return self._mean(*self._sums(x))
        value = answer(self.statistic, x, self.bounds, self.step) / self.step
        return to_float(self.noise.release((value + Fraction(1, 2)).__floor__()), self.step)

    def error(self, level: Number = 0.95, *, records: int | None = None) -> float:
        """How far the answer is from the statistic, at most, with probability `level`.

        Does not depend on data. For a mean it depends on `records`, a public guess of how many there are, and is
        infinite where the noise may hide them all. Raises `ParameterError` unless 0 < level < 1, and for a mean without
        `records`.
        Source: ``proofs/global_sensitivity.md``, Error.

        >>> from discreet.privacy import pure
        >>> round(GlobalSensitivity("mean", bounds=(0, 100), spend=pure(1)).error(records=10_000), 3)
        0.037
        """
        if not isinstance(self.statistic, Mean):
            return to_float(self.noise.error(level) + 1, self.step)
        if isinstance(records, bool) or not isinstance(records, int) or records < 1:
            raise ParameterError(f"the error of a mean needs records, a public guess of 1 or more, got {records!r}")
        alone = self.relation == "substitute"
        most = self.noise.error(level if alone else (1 + level_of(level)) / 2)
        room = _FINENESS * records - (0 if alone else 2 * most)
        return float(most * self._width / room) if room > 0 else math.inf

    @property
    def std(self) -> float:
        """The standard deviation of the noise, in the unit of the statistic; for a mean, of the noise on each sum."""
        if isinstance(self.statistic, Mean):
            return self.noise.std * float(self._width / _FINENESS)
        return self.noise.std * float(self.step)

    @property
    def _width(self) -> Fraction:
        lower, upper = interval(self.bounds)
        return Fraction(upper) - Fraction(lower)

    def _sums(self, x: Any) -> tuple[int, int]:
        """The records' grid steps above the lower bound and below the upper one, both summed up. SENSITIVE."""
        lower, upper = interval(self.bounds)
        above = np.rint((clamped(x, lower, upper) - lower) / (upper - lower) * _FINENESS).astype(np.int64)
        total = sum(int(part.sum()) for part in np.array_split(above, len(above) // _MOST_IN_INT64 + 1))
        return total, _FINENESS * len(above) - total

    def _mean(self, above: int, below: int) -> float:
        if self.relation == "substitute":
            noisy, total = self.noise.release(above), above + below
        else:
            noisy, other = self.noise.release([above, below])
            total = noisy + other
        share = Fraction(noisy, total) if total > 0 else Fraction(1, 2)
        return float(Fraction(interval(self.bounds)[0]) + self._width * max(Fraction(0), min(share, Fraction(1))))


def _rounded(steps: Fraction) -> int:
    """A value that moves by so many steps moves by at most this many once it is a float, and then an integer."""
    return steps.__ceil__() + 1


def _least_noise(spend: Loss, moves: Norms | int) -> tuple[DiscreteLaplace | DiscreteGaussian | Gaussian, Loss]:
    match budget_of(spend):
        case "rho", (rho, _):
            return DiscreteGaussian.calibrate(spend, moves), RhoLoss(rho, Fraction(0))
        case "mu", (squared, _):
            return Gaussian.calibrate(spend, moves), MuLoss(squared, Fraction(0))
        case _, (epsilon, *rest):
            laplace = DiscreteLaplace.calibrate(PureLoss(epsilon), moves)
            if not any(rest):
                return laplace, PureLoss(epsilon)
            gaussian = Gaussian.calibrate(spend, moves)
            return (
                (gaussian, ApproxLoss(epsilon, rest[0])) if gaussian.std < laplace.std else (laplace, PureLoss(epsilon))
            )
        case _:
            raise ParameterError("the spend must be greater than 0")
