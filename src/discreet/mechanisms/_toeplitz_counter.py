"""Continual counting with Gaussian noise: every prefix sum of a stream, with noise that later noise takes back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from discreet.errors import ParameterError
from discreet.mechanisms._count_stream import MOST_STEPS, CountStream, drawn_in_blocks
from discreet.mechanisms._counter_release import CounterRelease
from discreet.mechanisms._gaussian import Gaussian
from discreet.mechanisms._integers import whole_in
from discreet.mechanisms._root import root_up
from discreet.mechanisms._sensitivity import l1_of, level_of
from discreet.mechanisms._toeplitz_factor import PLACES, ToeplitzFactor, factor_for
from discreet.noise import MAX_SCALE, MIN_SCALE, rounded_gaussian, scale_in_range
from discreet.privacy import Loss, Mu, Pure, budget_of
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["ToeplitzCounter"]

_FINEST = 40
_GUARD = 32


@dataclass(frozen=True, slots=True, init=False)
class ToeplitzCounter(CounterRelease):
    """Estimates every prefix sum of a stream of integers, with exact Gaussian noise by a factorization A = B·C.

    A is the matrix of prefix sums. C is near its square root, the factorization of Fichtenberger, Henzinger and
    Upadhyay 2023, and such that ln(T)/2 + 2 numbers of state apply its inverse (Dvijotham and others 2024).

    Parameters
    ----------
    steps
        T, public: the most increments that a stream has, from 1 to 2**40.
    sigma
        The standard deviation of the noise of one entry of C·x, in units of the increments, from 0.001 to 2**56. The
        noise is drawn on a grid of 2**−40 of a unit, or as much coarser as makes sigma at most 2**56 steps of it.

    Raises `ParameterError` for anything else. Source: ``proofs/toeplitz_counter.md``.

    >>> from discreet.privacy import mu
    >>> counter = ToeplitzCounter.calibrate(mu(1), sensitivity=1, steps=1000)
    >>> round(float(counter.sigma), 3), round(counter.std(1000), 3), counter.error(0.95)
    (1.82, 3.279, 6)
    """

    steps: int
    sigma: Fraction

    def __init__(self, steps: int, sigma: Number) -> None:
        object.__setattr__(self, "steps", whole_in(steps, "steps", 1, MOST_STEPS))
        object.__setattr__(self, "sigma", scale_in_range(sigma, "sigma"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms, steps: int) -> ToeplitzCounter:
        """The counter with about the least sigma whose loss is within `spend`: (ε, δ) with δ > 0, ρ or μ.

        At a small δ and few steps a `TreeCounter` at the same (ε, δ) may err less: compare their `error`. Costs no
        privacy. Raises `ParameterError` for a pure ε, which no Gaussian noise meets, for a sensitivity below 0, and if
        sigma would be above 2**56. Source: `Gaussian.calibrate`; ``proofs/toeplitz_counter.md``.

        >>> from discreet.privacy import approx
        >>> ToeplitzCounter.calibrate(approx(1, "1e-5"), sensitivity=1, steps=10_000).error()
        29
        """
        kind, allowed = budget_of(spend)
        if kind == "pure" or (kind == "approx" and not allowed[1]):
            raise ParameterError(
                "a Toeplitz counter has Gaussian noise, which meets no pure epsilon; spend dp.approx(epsilon, delta), "
                "dp.rho(rho) or dp.mu(mu), or use TreeCounter"
            )
        unit, moved = Gaussian.calibrate(spend, 1).sigma, l1_of(sensitivity)
        shape = cls(steps, 1)
        for places in range(_FINEST, -1, -1):
            sigma = max(shape._distance(moved, places) * unit, MIN_SCALE)
            if sigma * 2**places <= MAX_SCALE:
                return cls(steps, sigma)
        raise ParameterError(
            "sigma would be above 2**56; spend more, or count in a coarser unit, so that the sensitivity is less"
        )

    @property
    def places(self) -> int:
        """The noise is drawn on a grid of 2**−places of a unit."""
        finer = MAX_SCALE / self.sigma
        return min(_FINEST, (finer.numerator // finer.denominator).bit_length() - 1)

    @property
    def _factor(self) -> ToeplitzFactor:
        return factor_for(self.steps)

    def _distance(self, moved: Fraction, places: int) -> Fraction:
        """How far C·x moves in L2 norm at most, with what is rounded on the way counted in."""
        if not moved:
            return Fraction(0)
        rounding = (1 + self._factor.reach() / 2**_GUARD) / 2**places
        return self._factor.norm(self.steps) * moved + rounding * root_up(Fraction(self.steps - 1))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """μ = ‖C‖ · sensitivity / sigma for a whole stream, ‖C‖ being the largest L2 norm of a column.

        `sensitivity` is in L1 norm: by how much neighbours' increments differ at most, summed over the steps. It is
        k · m for a person who moves up to k increments by up to m each. It holds for increments chosen in view of
        earlier estimates. Raises `ParameterError` if it is below 0. Source: ``proofs/toeplitz_counter.md``.

        >>> ToeplitzCounter(steps=1, sigma=10).loss(sensitivity=2) == Mu(Fraction(1, 25))
        True
        """
        squared = (self._distance(l1_of(sensitivity), self.places) / self.sigma) ** 2
        return Mu(squared) if squared else Pure(Fraction(0))

    def start(self) -> CountStream:
        """A stream that takes one increment at a time, in memory for ln(T)/2 + 2 numbers.

        Starting costs `loss(sensitivity)` for the whole stream, **and charges nobody**: this is the raw toolbox.
        Source: ``proofs/toeplitz_counter.md``.

        >>> stream = ToeplitzCounter(steps=3, sigma="1/1000").start()
        >>> stream.add(5), stream.add(7), stream.add(-1), stream.left
        (5, 12, 11, 0)
        """
        places, sigma = self.places, self.sigma * 2**self.places
        draws = drawn_in_blocks(lambda size: rounded_gaussian(sigma, size))
        return CountStream(_rounded(_prefix_noise(self._factor, draws), places), self.steps)

    def std(self, step: int) -> float:
        """The standard deviation of the estimate after `step` increments, in float precision.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 1 ≤ step ≤ `steps`.
        Source: ``proofs/toeplitz_counter.md``.
        """
        variance = self._factor.inverse_squares(whole_in(step, "step", 1, self.steps))
        spread = float(self.sigma) * math.sqrt(variance)
        return Gaussian(max(Fraction(spread), MIN_SCALE)).std if spread < 1 else math.sqrt(spread**2 + 1 / 12)

    def error(self, level: Number = 0.95) -> int:
        """A k such that the estimate of the last step, which is the worst, is within ±k with probability `level`.

        For all T steps together with probability 1 − β, ask level 1 − β/T. Does not depend on data and costs no
        privacy. Raises `ParameterError` unless 0 < level < 1. Source: ``proofs/toeplitz_counter.md``, in floats, with
        a margin of 1e-9.
        """
        from scipy.special import ndtri

        miss = float(1 - level_of(level)) * (1 - 1e-12)
        reach = -float(ndtri(miss / 2)) * float(self.sigma) * math.sqrt(self._factor.inverse_squares(self.steps))
        rounding = (1 + float(self._factor.reach()) / 2**_GUARD) * self._factor.inverse_sum(self.steps) / 2**self.places
        return max(0, math.ceil((reach + rounding) * (1 + 1e-9) - 0.5))


def _prefix_noise(factor: ToeplitzFactor, draws: Iterator[int]) -> Iterator[int]:
    """The sums of n₁, n₂, … with n = draw − Σᵢ wᵢ sᵢ and then sᵢ ← λᵢ sᵢ + n, rounded: the noise of A·C⁻¹, stepwise."""
    weights, decays, state = factor.weights, factor.decays, [0] * len(factor.weights)
    shift, half, total = PLACES + _GUARD, 1 << (PLACES + _GUARD - 1), 0
    for draw in draws:
        new = draw - (sum(map(mul, weights, state), half) >> shift)
        total += new
        fine = new << _GUARD
        state = [(each >> PLACES) + fine for each in map(mul, decays, state)]
        yield total


def _rounded(noise: Iterator[int], places: int) -> Iterator[int]:
    """The nearest whole numbers to multiples of 2**−places."""
    half = (1 << places) >> 1
    return ((each + half) >> places for each in noise)
