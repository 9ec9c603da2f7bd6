"""Lower triangular Toeplitz matrices C with public, exact coefficients: what the noise of a run is correlated by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.numeric._integers import whole_in

__all__ = [
    "GUARD",
    "MOST_STEPS",
    "PLACES",
    "WEIGHT_PLACES",
    "BandedToeplitz",
    "Blt",
    "Independent",
    "Strategy",
    "strategy_from_json",
    "strategy_to_json",
]

MOST_STEPS = 1 << 20
"""The most steps of a run with correlated noise."""

PLACES = 12
"""The noise is on a grid finer by 2**PLACES than that of contributions; coefficients of bands are on it too."""

WEIGHT_PLACES = 14
"""Weights of a `Blt` are whole numbers over 2**WEIGHT_PLACES."""

GUARD = 8
"""Buffers of a `Blt` have so many binary places more than the noise."""

_GAP_BITS, _MOST_SHIFT, _MOST_BUFFERS = 7, 31, 16
_POWER_BITS = 31
_ONE = 1 << PLACES


@dataclass(frozen=True, slots=True)
class Independent:
    """C = 1: fresh noise in each step, which no later noise takes back. Keeps no state.

    >>> Independent().state
    0
    """

    @property
    def places(self) -> int:
        """The noise is on the grid of the contributions."""
        return 0

    @property
    def state(self) -> int:
        """How many numbers are kept per parameter."""
        return 0

    @property
    def bands(self) -> int:
        """How many entries of the first column may be other than 0."""
        return 1

    @property
    def is_nonincreasing(self) -> bool:
        """Whether the entries of the first column are 0 or more and never increase."""
        return True

    def column_above(self, steps: int) -> tuple[NDArray[np.int64], int]:
        """The first column, exactly, as whole numbers over 2**0."""
        return _unit(steps, 1), 0

    def column(self, steps: int) -> NDArray[np.float64]:
        """The first column, in floats."""
        return _unit(steps, 1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class BandedToeplitz:
    """C with the first column c₀ = 1, c₁, …, and 0 from some row on. Keeps one number per parameter for each but c₀.

    `numerators` are the entries times 2**12, exact. Raises `ParameterError` unless the first is 2**12, the last is not
    0, there are at most 2**20 and none is beyond ±2**12. Source: Choquette-Choo and others 2023, "(Amplified) banded
    matrix factorization"; ``proofs/correlated_noise.md``.

    >>> BandedToeplitz.rounded([1, 0.5, 0.375])
    BandedToeplitz(numerators=(4096, 2048, 1536))
    """

    numerators: tuple[int, ...]

    def __post_init__(self) -> None:
        each_in_range = all(type(each) is int and abs(each) <= _ONE for each in self.numerators)
        if not (1 <= len(self.numerators) <= MOST_STEPS and each_in_range):
            raise ParameterError(f"entries of a band are whole numbers over {_ONE}, each from -1 to 1")
        if self.numerators[0] != _ONE or not self.numerators[-1]:
            raise ParameterError(f"the first entry of a band is {_ONE}, which stands for 1, and the last is not 0")

    @classmethod
    def rounded(cls, coefficients: Sequence[float] | NDArray[np.float64]) -> BandedToeplitz:
        """The band nearest to a first column that begins with 1; entries at its end that round to 0 are left out."""
        near = [round(float(each) * _ONE) for each in coefficients]
        while len(near) > 1 and not near[-1]:
            near.pop()
        return cls(tuple(near))

    @property
    def places(self) -> int:
        """The noise is on a grid of 2**−places of that of the contributions."""
        return PLACES

    @property
    def state(self) -> int:
        """How many numbers are kept per parameter: those of the last steps' noise."""
        return len(self.numerators) - 1

    @property
    def bands(self) -> int:
        """How many entries of the first column may be other than 0."""
        return len(self.numerators)

    @property
    def is_nonincreasing(self) -> bool:
        """Whether the entries of the first column are 0 or more and never increase."""
        return self.numerators[-1] > 0 and all(a >= b for a, b in pairwise(self.numerators))

    def column_above(self, steps: int) -> tuple[NDArray[np.int64], int]:
        """The first column, exactly, as whole numbers over 2**12."""
        column = np.zeros(steps, dtype=np.int64)
        column[: self.bands] = self.numerators[:steps]
        return column, PLACES

    def column(self, steps: int) -> NDArray[np.float64]:
        """The first column, in floats."""
        return self.column_above(steps)[0] / _ONE


@dataclass(frozen=True, slots=True)
class Blt:
    """A buffered linear Toeplitz matrix: c₀ = 1 and cⱼ = Σᵢ wᵢ λᵢ^(j−1). Keeps a number per parameter for each i.

    `weights` are the wᵢ times 2**14. `gaps` are the 1 − λᵢ, each as (a, k) for a/2**k. Both are exact. Raises
    `ParameterError` unless weights are 1 or more and add up to 2**14 at most, 1 ≤ a ≤ 2**7, a ≤ 2**k, k ≤ 31, and
    there are 1 to 16 of each: so that entries are above or at 0 and never increase.
    Source: Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024; ``proofs/correlated_noise.md``.

    >>> Blt.rounded([0.25], [0.5])
    Blt(weights=(4096,), gaps=((1, 1),))
    """

    weights: tuple[int, ...]
    gaps: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.weights) == len(self.gaps) <= _MOST_BUFFERS:
            raise ParameterError(f"a buffered Toeplitz matrix has 1 to {_MOST_BUFFERS} weights and as many gaps")
        if not all(type(each) is int and each >= 1 for each in self.weights) or sum(self.weights) > 1 << WEIGHT_PLACES:
            raise ParameterError(f"weights are whole numbers, 1 or more, that add up to 2**{WEIGHT_PLACES} or less")
        for gap, shift in self.gaps:
            are_whole = type(gap) is int and type(shift) is int
            if not (are_whole and 0 <= shift <= _MOST_SHIFT and 1 <= gap <= min(1 << shift, 1 << _GAP_BITS)):
                raise ParameterError(
                    f"a gap (a, k) stands for a/2**k: whole numbers, a from 1 to 2**{_GAP_BITS} and at most 2**k, "
                    f"k from 0 to {_MOST_SHIFT}"
                )

    @classmethod
    def rounded(cls, weights: Sequence[float], decays: Sequence[float]) -> Blt:
        """The matrix nearest to these: weights of equal decays are added up, and those that round to 0 left out."""
        at_gap: dict[tuple[int, int], int] = {}
        for weight, decay in zip(weights, decays, strict=True):
            gap = _gap(1 - float(decay))
            at_gap[gap] = at_gap.get(gap, 0) + round(float(weight) * 2**WEIGHT_PLACES)
        largest = max(at_gap, key=lambda gap: at_gap[gap])
        at_gap[largest] -= max(0, sum(at_gap.values()) - (1 << WEIGHT_PLACES))
        positive = {gap: weight for gap, weight in at_gap.items() if weight}
        return cls(tuple(positive.values()), tuple(positive))

    @property
    def places(self) -> int:
        """The noise is on a grid of 2**−places of that of the contributions."""
        return PLACES

    @property
    def state(self) -> int:
        """How many numbers are kept per parameter: the buffers."""
        return len(self.weights)

    @property
    def bands(self) -> None:
        """There is no row from which on all is 0."""
        return

    @property
    def is_nonincreasing(self) -> bool:
        """Whether the entries of the first column are 0 or more and never increase: always."""
        return True

    @property
    def reach(self) -> Fraction:
        """Σᵢ wᵢ / (1 − λᵢ), the sum of all entries below the first."""
        terms = (Fraction(w << k, a) for w, (a, k) in zip(self.weights, self.gaps, strict=True))
        return sum(terms, Fraction(0)) / (1 << WEIGHT_PLACES)

    def column_above(self, steps: int) -> tuple[NDArray[np.int64], int]:
        """Whole numbers over 2**45 that the first column is at most, each by less than 2**−26 above it."""
        column = np.zeros(steps, dtype=np.int64)
        for weight, (gap, shift) in zip(self.weights, self.gaps, strict=True):
            column[1:] += weight * _powers_above(gap, shift, steps - 1)
        column[0] = 1 << _POWER_BITS + WEIGHT_PLACES
        return column, _POWER_BITS + WEIGHT_PLACES

    def column(self, steps: int) -> NDArray[np.float64]:
        """The first column, in floats."""
        column, after = np.zeros(steps), np.arange(steps - 1)
        for weight, (gap, shift) in zip(self.weights, self.gaps, strict=True):
            column[1:] += weight / 2**WEIGHT_PLACES * (1 - gap / 2**shift) ** after
        column[0] = 1.0
        return column


Strategy = Independent | BandedToeplitz | Blt


def strategy_to_json(strategy: Strategy) -> dict[str, Any]:
    """A strategy as plain JSON, for a certificate.

    >>> strategy_to_json(Blt((4096,), ((1, 1),)))
    {'strategy': 'Blt', 'weights': [4096], 'gaps': [[1, 1]]}
    """
    match strategy:
        case Independent():
            return {"strategy": "Independent"}
        case BandedToeplitz(numerators):
            return {"strategy": "BandedToeplitz", "numerators": list(numerators)}
        case Blt(weights, gaps):
            return {"strategy": "Blt", "weights": list(weights), "gaps": [list(gap) for gap in gaps]}


def strategy_from_json(data: object) -> Strategy:
    """The inverse of `strategy_to_json`. Raises `ParameterError` for anything else.

    >>> strategy_from_json({"strategy": "Independent"})
    Independent()
    """
    match data:
        case {"strategy": "Independent", **rest} if not rest:
            return Independent()
        case {"strategy": "BandedToeplitz", "numerators": [*numerators], **rest} if not rest:
            return BandedToeplitz(tuple(numerators))
        case {"strategy": "Blt", "weights": [*weights], "gaps": [*gaps], **rest} if not rest:
            if all(isinstance(gap, list) and len(gap) == 2 for gap in gaps):
                return Blt(tuple(weights), tuple((gap[0], gap[1]) for gap in gaps))
        case _:
            pass
    raise ParameterError("this is no strategy of correlated noise that this version of discreet knows")


def _unit(steps: int, first: int) -> NDArray[np.int64]:
    column = np.zeros(whole_in(steps, "steps", 1, MOST_STEPS), dtype=np.int64)
    column[0] = first
    return column


def _gap(value: float) -> tuple[int, int]:
    """(a, k) in lowest terms with a/2**k nearest to a value from 2**−24 to 1, a having seven bits at most."""
    value = min(max(value, 2.0**-24), 1.0)
    shift = _GAP_BITS - frexp(value)[1]
    gap = round(value * 2**shift)
    while shift and not gap & 1:
        gap, shift = gap >> 1, shift - 1
    return gap, shift


def _powers_above(gap: int, shift: int, many: int) -> NDArray[np.int64]:
    """Whole numbers over 2**31 at or above (1 − gap/2**shift)^j for j < many: rounded up about log₂ j times."""
    fine, coarse = 2 * _POWER_BITS, _POWER_BITS
    powers = np.array([1 << coarse], dtype=np.int64)
    factor = (1 << fine) - (gap << fine >> shift)  # (1 − gap/2**shift)^(powers.size)
    while powers.size < many:
        near = -(-factor >> fine - coarse)
        powers = np.concatenate([powers, powers * near + (1 << coarse) - 1 >> coarse])
        factor = -(-factor * factor >> fine)
    return powers[: max(many, 0)]
