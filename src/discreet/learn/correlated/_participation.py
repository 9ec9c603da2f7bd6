"""Who takes part in which steps, and how far C·x moves for one person then: exact, rounded outward."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn.correlated._strategies import MOST_STEPS, Strategy
from discreet.mechanisms.numeric._integers import whole_in
from discreet.rational import Number, decimal_text, rational
from discreet.reprs import call_repr

__all__ = ["CyclicPoisson", "MinimumSeparation", "Sampling", "sensitivity_squared", "window_sums"]

_EXACT_IN_64_BITS = 1 << 62


@dataclass(frozen=True, slots=True)
class MinimumSeparation:
    """A person takes part in at most `participations` of `steps` steps, any two of them `separation` or more apart.

    In which ones may depend on that person and on what was released, and is no secret. Raises `ParameterError` unless
    1 ≤ steps ≤ 2**20, and separation and participations are from 1 to steps.

    >>> MinimumSeparation.epochs(steps=2048, epochs=8)
    MinimumSeparation(steps=2048, participations=8, separation=256)
    """

    steps: int
    participations: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        whole_in(self.steps, "steps", 1, MOST_STEPS)
        whole_in(self.participations, "participations", 1, self.steps)
        whole_in(self.separation, "separation", 1, self.steps)

    @classmethod
    def epochs(cls, steps: int, epochs: int) -> MinimumSeparation:
        """Every person once in each epoch, in the same order each time; the last epoch may be a shorter one."""
        separation = whole_in(steps, "steps", 1, MOST_STEPS) // whole_in(epochs, "epochs", 1, steps)
        return cls(steps, -(-steps // separation), separation)

    @property
    def most(self) -> int:
        """The most participations that fit in the steps at this separation."""
        return min(self.participations, -(-self.steps // self.separation))


@dataclass(frozen=True, slots=True, init=False)
class CyclicPoisson:
    """People are in `groups`; step t takes each person of group t mod `groups` with probability `rate`, in secret.

    A person's group is a function of that person alone, or a coin for that person alone. With one group this is
    Poisson sampling. Raises `ParameterError` unless 1 ≤ steps ≤ 2**20, 1 ≤ groups ≤ steps and 0 < rate ≤ 1.
    Source: Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta and Xu 2023, Algorithm 2.

    >>> CyclicPoisson(steps=2048, rate="1/32", groups=8).blocks
    256
    """

    steps: int
    rate: Fraction
    groups: int

    __repr__ = call_repr

    def __init__(self, steps: int, rate: Number, groups: int = 1) -> None:
        exact = rational(rate, "rate")
        if not 0 < exact <= 1:
            raise ParameterError(f"rate must be above 0 and at most 1, got {decimal_text(exact)}")
        object.__setattr__(self, "steps", whole_in(steps, "steps", 1, MOST_STEPS))
        object.__setattr__(self, "rate", exact)
        object.__setattr__(self, "groups", whole_in(groups, "groups", 1, self.steps))

    @property
    def blocks(self) -> int:
        """The most steps that may take the same person."""
        return -(-self.steps // self.groups)


Sampling = MinimumSeparation | CyclicPoisson


@lru_cache(maxsize=256)
def sensitivity_squared(strategy: Strategy, sampling: MinimumSeparation) -> Fraction:
    """An upper bound of ‖C·δ‖² where δ has rows of norm 1 at most, in the steps that one person takes part in.

    It is attained, but for `Blt`, by entries that are rounded up by 2**−26. It holds too if entries of C are replaced
    by 0, in view of what was released: which is what a restart does. Raises `ParameterError` for bands that neither
    end before the next participation nor are all 0 or more and non-increasing: no bound is proved for them.
    Source: ``proofs/correlated_noise.md``.

    >>> from discreet.learn.correlated import BandedToeplitz
    >>> sensitivity_squared(BandedToeplitz.rounded([1, 0.5]), MinimumSeparation(4, 2, 2))
    Fraction(5, 2)
    >>> sensitivity_squared(BandedToeplitz.rounded([1, 0.5]), MinimumSeparation(4, 2, 1))
    Fraction(7, 2)
    """
    ends = strategy.bands is not None and (strategy.bands <= sampling.separation or sampling.most == 1)
    if not (ends or strategy.is_nonincreasing):
        raise ParameterError(
            f"a band of {strategy.bands} over a separation of {sampling.separation} must be 0 or more and never "
            "increase; use no more bands than steps of separation, or coefficients that never increase"
        )
    column, places = strategy.column_above(sampling.steps)
    if int(np.abs(column).sum()) * sampling.most >= _EXACT_IN_64_BITS:
        column = column.astype(object)
    moved: list[int] = window_sums(column, sampling.most, sampling.separation).tolist()
    return Fraction(sum(map(mul, moved, moved)), 1 << 2 * places)


def window_sums(column: NDArray[Any], many: int, separation: int) -> NDArray[Any]:
    """The sum of `many` copies of a column, each further down by `separation` and cut at its end."""
    rows = -(-column.size // separation)
    padded = np.zeros(rows * separation, dtype=column.dtype)
    padded[: column.size] = column
    sums = padded.reshape(rows, separation).cumsum(axis=0)
    if many < rows:
        earlier = sums[:-many].copy()
        sums[many:] -= earlier
    return sums.reshape(-1)[: column.size]
