"""Noisy counts of private keys, shown where they reach a threshold: Laplace and Gaussian thresholding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import ParameterError
from discreet.mechanisms.additive._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.numeric._integers import least, whole_in
from discreet.mechanisms.thresholds._partition_selection import NEEDS_DELTA, units_of
from discreet.noise import bernoulli, exp_bounds
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, RhoLoss, budget_of
from discreet.rational import Number, rational
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["ThresholdedCounts"]

Noise = DiscreteLaplace | DiscreteGaussian | Gaussian

_MOST_KEYS = 10**9
_MOST_THRESHOLD = 2**62
_STEPS = 1024
_BITS = 256
_MARGIN = 1 + Fraction(1, 10**12)
_LEAST_TAIL = Fraction(1, 10**300)


@dataclass(frozen=True, slots=True, init=False)
class ThresholdedCounts:
    """Adds noise to how many units each key has, and shows key and noisy count if that is `threshold` or more.

    A threshold between two whole numbers is reached by the upper one, and by the lower one with the probability that
    is left: 14.25 by 15 always and by 14 in three of four cases. So no part of a δ is lost to rounding.

    A key that no unit has is never shown, so the list of possible keys need not be public. A neighbour differs in at
    most `keys` keys, by one unit in each. `PartitionSelection` shows more keys for the same loss; here a noisy count
    comes with each at no further cost, and Gaussian noise makes many keys per unit cheaper.

    Parameters
    ----------
    noise
        `DiscreteLaplace`, `DiscreteGaussian` or `Gaussian`.
    threshold
        A number, public.
    keys
        In how many keys a neighbour can differ: `discreet.sensitivity.keys_touched`.

    Raises `ParameterError` for anything else, and for a threshold so low that a key of one unit is likely to be shown.
    Sources: Korolova, Kenthapadi, Mishra and Ntoulas 2009; Wilson and others 2020, section 3.5; Swanberg, Desfontaines
    and Haney 2023 (Gaussian); ``proofs/partition_selection.md``.

    >>> from discreet.privacy import approx
    >>> shown = ThresholdedCounts.calibrate(approx(1, 1e-6))
    >>> float(shown.threshold), shown.release([0, 1, 1000])[:2]
    (14.625, [None, None])
    """

    noise: Noise
    threshold: int | Fraction
    keys: int

    __repr__ = call_repr

    def __init__(self, noise: Noise, threshold: Number, keys: int = 1) -> None:
        if not isinstance(noise, Noise):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                f"noise must be DiscreteLaplace, DiscreteGaussian or Gaussian noise, got {type(noise).__name__}"
            )
        object.__setattr__(self, "noise", noise)
        exact = rational(threshold, "threshold")
        if not 1 <= exact <= _MOST_THRESHOLD:
            raise ParameterError(f"threshold must be from 1 to {_MOST_THRESHOLD}")
        object.__setattr__(self, "threshold", int(exact) if exact.denominator == 1 else exact)
        object.__setattr__(self, "keys", whole_in(keys, "keys", 1, _MOST_KEYS))
        if self.delta >= 1:
            raise ParameterError("with this threshold keys of one unit are likely to be shown; raise it")

    @classmethod
    def calibrate(
        cls, spend: Loss, *, keys: int = 1, noise: Literal["laplace", "gaussian"] | None = None
    ) -> ThresholdedCounts:
        """The least noise that the spend allows, and the least threshold for its δ.

        For (ε, δ) Laplace noise, or with ``noise="gaussian"`` Gaussian noise for half of δ, the threshold having the
        other half; for ρ and δ discrete Gaussian noise, for μ and δ Gaussian noise. Costs no privacy. Raises
        `ParameterError` for a spend without δ, which cannot buy the discovery of keys, and for another noise.

        >>> from discreet.privacy import rho
        >>> ThresholdedCounts.calibrate(rho(0.5, 1e-6)).noise
        DiscreteGaussian(sigma=1)
        """
        moves = _moves(whole_in(keys, "keys", 1, _MOST_KEYS))
        kind, allowed = budget_of(spend)
        if noise not in {None, "laplace" if kind == "approx" else "gaussian", "gaussian"}:
            raise ParameterError(f"for a spend in {kind}, noise must be 'gaussian' or left out, got {noise!r}")
        match kind, allowed:
            case "rho", (rho, delta) if delta > 0:
                return cls.least(DiscreteGaussian.calibrate(RhoLoss(rho, Fraction(0)), moves), keys, delta)
            case "mu", (squared, delta) if delta > 0:
                return cls.least(Gaussian.calibrate(MuLoss(squared), moves), keys, delta)
            case "approx", (epsilon, delta) if delta > 0 and noise == "gaussian":
                return cls.least(Gaussian.calibrate(ApproxLoss(epsilon, delta / 2), moves), keys, delta / 2)
            case "approx", (epsilon, delta) if delta > 0:
                return cls.least(DiscreteLaplace.calibrate(PureLoss(epsilon), moves), keys, delta)
            case _:
                raise ParameterError(NEEDS_DELTA)

    @classmethod
    def least(cls, noise: Noise, keys: int, delta: Fraction) -> ThresholdedCounts:
        """The least threshold at which `keys` keys of one unit are shown with probability `delta` at most.

        In steps of 1/1024. Costs no privacy. Raises `ParameterError` where no threshold below 2**62 is high enough.
        Source: ``proofs/partition_selection.md``, Noisy counts.

        >>> ThresholdedCounts.least(DiscreteLaplace(2), 1, Fraction("1e-6"))
        ThresholdedCounts(noise=DiscreteLaplace(scale=2), threshold=27.7353515625)
        """
        if keys * _shown_up(noise, _MOST_THRESHOLD) > delta:
            raise ParameterError("no threshold is high enough for this delta; spend a larger one")
        ceiling = least(lambda threshold: keys * _shown_up(noise, threshold) <= delta)
        upper, lower = _shown_up(noise, ceiling), _shown_up(noise, ceiling - 1)
        steps = math.floor(_STEPS * (delta / keys - upper) / (lower - upper)) if lower > upper else 0
        return cls(noise, ceiling - Fraction(max(steps, 0), _STEPS), keys)

    @property
    def delta(self) -> Fraction:
        """At least the probability that one of `keys` keys of one unit each is shown."""
        ceiling, edge = self._parts()
        below = edge * _shown_up(self.noise, ceiling - 1) if edge else 0
        return self.keys * ((1 - edge) * _shown_up(self.noise, ceiling) + below)

    def loss(self) -> Loss:
        """The loss of the noise on `keys` counts, and `delta` beside it, for any number of keys.

        Source: ``proofs/partition_selection.md``, Noisy counts.

        >>> ThresholdedCounts(DiscreteLaplace(2), threshold=30, keys=2).loss().eps
        Fraction(1, 1)
        """
        match self.noise.loss(_moves(self.keys)):
            case PureLoss(epsilon):
                return ApproxLoss(epsilon, self.delta)
            case RhoLoss(rho, _):
                return RhoLoss(rho, self.delta)
            case MuLoss(squared, _):
                return MuLoss(squared, self.delta)
            case other:
                raise ParameterError(f"this noise states a {type(other).__name__} loss, which takes no delta beside it")

    def release(self, counts: ArrayLike) -> list[int | None]:
        """For each key its noisy count, or `None` where it may not be shown, given how many distinct units have it.

        Costs `loss()` for all keys together, **and charges nobody**: this is the raw toolbox. Raises `ParameterError`
        unless the counts are whole numbers, 0 or more, in one dimension. Source: ``proofs/partition_selection.md``.
        """
        units = units_of(counts)
        if units.ndim != 1:
            raise ParameterError(f"counts must have one dimension, got {units.ndim}")
        exact = units.tolist()
        noisy = self.noise.release(exact)
        ceiling, edge = self._parts()
        lower = bernoulli(edge, len(exact)).tolist() if edge else [False] * len(exact)
        return [
            each if count and each >= ceiling - one_less else None
            for count, each, one_less in zip(exact, noisy, lower, strict=True)
        ]

    def error(self, level: Number = 0.95) -> int:
        """How far a count that is shown is off at most, with probability `level` before it is known to be shown.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        """
        return self.noise.error(level)

    def probability(self, units: int) -> float:
        """The probability that a key of so many distinct units is shown, in float precision. Costs no privacy.

        Raises `ParameterError` if `units` is not a whole number, 0 or more.

        >>> shown = ThresholdedCounts(DiscreteLaplace(1), threshold=15)
        >>> shown.probability(0), round(shown.probability(15), 3), shown.probability(60)
        (0.0, 0.731, 1.0)
        """
        if whole_in(units, "units", 0, _MOST_THRESHOLD) == 0:
            return 0.0
        ceiling, edge = self._parts()
        lower = float(edge) * _reaches(self.noise, ceiling - 1 - units) if edge else 0.0
        return (1 - float(edge)) * _reaches(self.noise, ceiling - units) + lower

    def shown_from(self, level: float) -> int:
        """The least number of units of which a key is shown with probability `level` or more. Costs no privacy.

        Raises `ParameterError` unless 0 < level < 1.

        >>> ThresholdedCounts(DiscreteLaplace(2), threshold=28).shown_from(0.95)
        33
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be greater than 0 and less than 1, got {level!r}")
        return least(lambda units: self.probability(units) >= level)

    def _parts(self) -> tuple[int, Fraction]:
        """The count that always reaches the threshold, and the probability with which one less does."""
        ceiling = math.ceil(self.threshold)
        return ceiling, Fraction(ceiling - self.threshold)


def _moves(keys: int) -> Norms:
    return Norms(keys, keys, 1)


@lru_cache(maxsize=256)
def _shown_up(noise: Noise, threshold: int) -> Fraction:
    """At least P(1 + X ≥ threshold)."""
    m = threshold - 1
    if m < 1:
        return Fraction(1)
    if isinstance(noise, DiscreteLaplace):
        high, low = exp_bounds(m / noise.scale, _BITS)[1], exp_bounds(1 / noise.scale, _BITS)[0]
        return Fraction(high, (1 << _BITS) + low)
    start = m - 1 if isinstance(noise, DiscreteGaussian) else m - Fraction(1, 2)
    return max(Fraction(_above(start / noise.sigma)) * _MARGIN, _LEAST_TAIL)


def _reaches(noise: Noise, m: int) -> float:
    """P(X ≥ m)."""
    return _tail(noise, m) if m >= 1 else 1 - _tail(noise, 1 - m)


def _tail(noise: Noise, m: int) -> float:
    """P(X ≥ m) for m ≥ 1."""
    if isinstance(noise, DiscreteLaplace):
        return float(np.exp(-m / float(noise.scale)) / (1 + np.exp(-1 / float(noise.scale))))
    return _above((m - Fraction(1, 2)) / noise.sigma)


def _above(x: Fraction) -> float:
    """P(Z ≥ x) of a standard normal Z."""
    from scipy.special import ndtr

    return float(ndtr(-float(x)))
