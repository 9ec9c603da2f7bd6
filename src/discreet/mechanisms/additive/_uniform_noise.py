"""Uniform noise: a probability δ of telling two values apart for certain, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import l1_of, level_of
from discreet.mechanisms.additive._base import IntegerRelease
from discreet.mechanisms.numeric._integers import sums, whole_in
from discreet.noise import MAX_WINDOW, uniform_below
from discreet.privacy import ApproxLoss, Loss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["UniformNoise"]


@dataclass(frozen=True, slots=True, init=False)
class UniformNoise(IntegerRelease):
    """Adds to each integer an independent one, each of −bound, …, bound with the same probability.

    An answer either could be the other neighbour's with the same probability, or could not be it at all: the loss is
    (0, δ), and no ε helps. The noise is wide: `TruncatedLaplace` buys the same δ with far less, once it may spend an ε.
    A δ that is not tiny lets one person in 1/δ be told apart, which is rarely what people want; it is here to compare
    and to learn from.

    `bound` is a whole number from 0 to 2**61, else `ParameterError`. Source: Geng and Viswanath 2016, where it is
    nearly the best for a small δ; ``proofs/uniform_noise.md``.

    >>> UniformNoise(bound=49).loss(sensitivity=1).delta(0)
    0.010101010101010102
    """

    bound: int

    __repr__ = call_repr

    def __init__(self, bound: int) -> None:
        object.__setattr__(self, "bound", whole_in(bound, "bound", 0, MAX_WINDOW // 2))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms) -> UniformNoise:
        """The least bound whose δ is within that of `spend`; an ε, ρ or μ beside the δ is left unspent.

        Costs no privacy. Raises `ParameterError` for a spend without a δ, for a sensitivity below 0, and if the bound
        would be above 2**61. Source: ``proofs/uniform_noise.md``.

        >>> from discreet.privacy import approx
        >>> UniformNoise.calibrate(approx(1, 0.01), sensitivity=1)
        UniformNoise(bound=50)
        """
        _, (_, *rest) = budget_of(spend)
        if not rest or rest[0] <= 0:
            raise ParameterError(
                "uniform noise spends a delta alone; spend dp.approx(epsilon, delta), of which the epsilon is not used"
            )
        return cls(max(0, math.ceil((math.floor(l1_of(sensitivity)) / rest[0] - 1) / 2)))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """(0, δ) with δ = sensitivity / (2 bound + 1), where values are that far apart in L1 norm; at most 1.

        Integers move by whole numbers, so a sensitivity is rounded down to one. Raises `ParameterError` if it is below
        0. Source: ``proofs/uniform_noise.md``.
        """
        moved = math.floor(l1_of(sensitivity))
        return ApproxLoss(Fraction(0), min(Fraction(1), Fraction(moved, 2 * self.bound + 1)))

    def _released(self, values: list[int]) -> list[int]:
        return sums(values, uniform_below(2 * self.bound + 1, len(values)) - self.bound)

    def error(self, level: Number = 0.95) -> int:
        """The least k such that one entry's noise is within ±k with probability `level` or more.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.

        >>> UniformNoise(50).error(0.95)
        48
        """
        return max(0, math.ceil((level_of(level) * (2 * self.bound + 1) - 1) / 2))

    @property
    def std(self) -> float:
        """The standard deviation of one entry's noise: √(bound (bound + 1) / 3)."""
        return math.sqrt(self.bound * (self.bound + 1) / 3)
