"""Continual counting with Gaussian noise: every prefix sum of a stream, with noise that later noise takes back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from operator import mul

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import l1_of, level_of
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.numeric._integers import whole_in
from discreet.mechanisms.numeric._roots import root_up
from discreet.mechanisms.streams._count_stream import MOST_STEPS, CounterRelease, CountStream, drawn_in_blocks
from discreet.noise import MAX_SCALE, MIN_SCALE, rounded_gaussian, scale_in_range
from discreet.privacy import Loss, MuLoss, PureLoss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["PLACES", "ToeplitzCounter", "ToeplitzFactor", "factor_for"]


PLACES = 64
"""Weights and decays are whole numbers over 2**PLACES."""

_FINE = 2 * PLACES
_NEAR, _FAR = 0.3, 0.6


@dataclass(frozen=True, slots=True)
class ToeplitzFactor:
    """Weights wᵢ and decays λᵢ between 0 and 1, both times 2**PLACES, exact."""

    weights: tuple[int, ...]
    decays: tuple[int, ...]

    def norm(self, steps: int) -> Fraction:
        """The L2 norm of the first column up to `steps` entries, which is the largest, rounded up by about 2**−40."""
        one, squared = 1 << _FINE, 1 << _FINE
        for w, decay in zip(self.weights, self.decays, strict=True):
            for v, other in zip(self.weights, self.decays, strict=True):
                ratio = decay * other
                squared += -(-w * v * (one - _power_below(ratio, steps - 1)) // (one - ratio))
        return root_up(Fraction(squared, one))

    def reach(self) -> Fraction:
        """Σᵢ wᵢ / (1 − λᵢ), the sum of all entries below the first, rounded up to a whole number."""
        one = 1 << PLACES
        return Fraction(sum(-(-w // (one - decay)) for w, decay in zip(self.weights, self.decays, strict=True)))

    def inverse_squares(self, steps: int) -> float:
        """Σ bⱼ² over the first `steps` entries of the first column of A·C⁻¹: the variance of that prefix sum."""
        rest, parts, falls = self._inverse()
        rest_terms = rest**2 * steps + 2 * rest * float(np.sum(parts * _geometric(falls, steps)))
        return rest_terms + float(np.outer(parts, parts).ravel() @ _geometric(_join(falls), steps))

    def inverse_sum(self, steps: int) -> float:
        """Σ bⱼ over the same entries, none of which is below 0."""
        rest, parts, falls = self._inverse()
        return rest * steps + float(np.sum(parts * _geometric(falls, steps)))

    def _inverse(self) -> tuple[float, np.ndarray, np.ndarray]:
        """b∞, pᵢ and fᵢ with bⱼ = b∞ + Σᵢ pᵢ (1 − fᵢ)ʲ; f are the eigenvalues of diag(1 − λ) + √w √wᵀ."""
        weights = np.array([w / 2**PLACES for w in self.weights])
        losses = np.array([((1 << PLACES) - decay) / 2**PLACES for decay in self.decays])
        root = np.column_stack([np.diag(np.sqrt(losses)), np.sqrt(weights)])
        falls = np.linalg.svd(root, compute_uv=False) ** 2  # keeps twice the digits of the least ones that eigh does
        parts = 1 / (falls * np.sum(weights / (losses - falls[:, None]) ** 2, axis=1))
        return 1 / (1 + float(np.sum(weights / losses))), parts, falls


def _geometric(falls: np.ndarray, steps: int) -> np.ndarray:
    """Σ (1 − f)ʲ over j < steps, for 0 < f < 1, without loss of digits."""
    return -np.expm1(steps * np.log1p(-falls)) / falls


def _join(falls: np.ndarray) -> np.ndarray:
    """The falls of products of two powers: 1 − (1 − f)(1 − g), for all pairs."""
    return (falls[:, None] + falls[None, :] - np.outer(falls, falls)).ravel()


def _power_below(ratio: int, exponent: int) -> int:
    """ratio**exponent for a ratio below 1 over 2**_FINE, rounded down."""
    power = 1 << _FINE
    while exponent:
        if exponent & 1:
            power = power * ratio >> _FINE
        ratio, exponent = ratio * ratio >> _FINE, exponent >> 1
    return power


@lru_cache(maxsize=64)
def factor_for(steps: int) -> ToeplitzFactor:
    """A factor for so many steps, with ⌈ln(steps)/2⌉ + 2 decays, or steps − 1 if that is less.

    The square root has entries cⱼ = ∫ λ^(j−1) dF(λ) with F(λ) = (θ − sin θ cos θ)/π at λ = sin² θ. Decays e^(−s) are
    geometric in s, and each takes the mass of F that is nearest to it. Floats choose the factor; what they chose is
    exact from then on.

    >>> [round(factor_for(steps).norm(steps) ** 2, 3) for steps in (1, 2, 1000)]
    [Fraction(1, 1), Fraction(5, 4), Fraction(1657, 500)]
    """
    many = min(steps - 1, math.ceil(math.log(steps) / 2) + 2)
    logs = np.linspace(math.log(_NEAR / steps), math.log(_FAR), many).tolist()
    edges = [1.0, *(math.exp(-math.exp((a + b) / 2)) for a, b in pairwise(logs)), 0.0]
    below = [_mass_below(edge) for edge in edges]
    one = 1 << PLACES
    return ToeplitzFactor(
        weights=tuple(round((a - b) * one) for a, b in pairwise(below)) if many else (),
        decays=tuple(round(math.exp(-math.exp(each)) * one) for each in logs),
    )


def _mass_below(decay: float) -> float:
    angle = math.asin(math.sqrt(decay))
    return (angle - math.sin(angle) * math.cos(angle)) / math.pi


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
    >>> round(float(counter.sigma), 3), round(counter.std_at(1000), 3), counter.error(0.95)
    (1.82, 3.279, 6)
    """

    steps: int
    sigma: Fraction

    __repr__ = call_repr

    def __init__(self, steps: int, sigma: Number) -> None:
        object.__setattr__(self, "steps", whole_in(steps, "steps", 1, MOST_STEPS))
        object.__setattr__(self, "sigma", scale_in_range(sigma, "sigma"))

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms, *, steps: int) -> ToeplitzCounter:
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

        >>> ToeplitzCounter(steps=1, sigma=10).loss(sensitivity=2) == MuLoss(Fraction(1, 25))
        True
        """
        squared = (self._distance(l1_of(sensitivity), self.places) / self.sigma) ** 2
        return MuLoss(squared) if squared else PureLoss(Fraction(0))

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

    @property
    def std(self) -> float:
        """The standard deviation of the estimate of the last step, which is the worst, in float precision."""
        return self.std_at(self.steps)

    def std_at(self, step: int) -> float:
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
