"""Many quantiles at once: the exponential mechanism over all vectors of places, judged by the records between them.

Proof: ``proofs/quantiles.md``, sections 5 to 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms._epsilon import log_of
from discreet.mechanisms._quantile_chain import Chain
from discreet.mechanisms._quantile_places import PLACE_BITS, Places
from discreet.noise import discrete_laplace
from discreet.privacy import BoundedRange, Loss, Pure, Relation

__all__ = ["LEAST_EPSILON", "MOST_CELLS", "MOST_EPSILON", "MOST_QUANTILES", "Joint"]

MOST_CELLS, MOST_QUANTILES = 1024, 20
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**40), Fraction(2**10)

_COUNT_SHARE = Fraction(1, 12)
_GUESSES = 7
_MOST_UNCOUNTED = 2


@dataclass(frozen=True, slots=True)
class Joint:
    """Two or more quantiles of `cells` cells, drawn together for ε in all."""

    probabilities: tuple[Fraction, ...]
    cells: int
    epsilon: Fraction
    relation: Relation

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Of the records, between one quantile and the next."""
        return tuple(high - low for low, high in pairwise((Fraction(0), *self.probabilities, Fraction(1))))

    @property
    def counted(self) -> Fraction:
        """What of ε goes to a count of the records; 0 where the cost is judged by their number itself."""
        few = len(self.probabilities) <= _MOST_UNCOUNTED
        return Fraction(0) if few or self.relation == "substitute" else _COUNT_SHARE * self.epsilon

    @property
    def per_rho(self) -> Fraction:
        """ε²/ρ."""
        counted = self.counted / self.epsilon
        return 8 / (4 * counted**2 + (1 - counted) ** 2)

    @property
    def _rate(self) -> Fraction:
        """By how much an exponent falls per record of cost: ``proofs/quantiles.md``, section 5."""
        if self.relation == "substitute":
            return self.epsilon / 4
        return (self.epsilon - self.counted) / (2 if self.counted else 4 * (1 - min(self.shares)))

    @property
    def _apart(self) -> Fraction:
        """The distance between guesses of how many records there are."""
        return Fraction(5, 4) * len(self.shares) / self._rate

    def loss(self) -> Loss:
        """The count's pure loss, if there is a count, and then one of bounded range."""
        choice = BoundedRange(self.epsilon - self.counted)
        return Pure(self.counted) + choice if self.counted else choice

    def drawn(self, cells: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> list[int]:
        """The cell of each quantile, where each cell given has a record, or so many. Costs `loss()`, uncharged."""
        histogram = np.zeros(self.cells, dtype=np.int64)
        np.add.at(histogram, cells, 1 if counts is None else counts)
        places = Places(histogram)
        return [cut >> places.bits for cut in self._chain(places, self._sizes(int(histogram.sum()))).draw()]

    def _chain(self, places: Places, sizes: list[Fraction]) -> Chain:
        unit = 2 << places.bits
        return Chain(places, self.shares, tuple(unit * size for size in sizes), self._rate / unit)

    def _sizes(self, records: int) -> list[Fraction]:
        if not self.counted:
            return [Fraction(records)]
        noisy = records + int(discrete_laplace(1 / self.counted, 1)[0])
        return [noisy + self._apart * k for k in range(-(_GUESSES // 2), _GUESSES // 2 + 1)]

    def error(self, records: int, miss: Fraction) -> float:
        """How far the ranks of all answers are off at most, but for a probability of `miss`, for any n ≤ records."""
        m, rate, apart = len(self.probabilities), float(self._rate), float(self._apart)
        odds, wrong_size = log_of(2 / miss), 0.0
        if self.counted:
            odds += math.log(_GUESSES)
            wrong_size = max(apart / 2, log_of(4 / miss) / float(self.counted) - _GUESSES // 2 * apart)
        near = max(1 / rate, records / 2 ** (PLACE_BITS - 4))
        right = min(near / max(records, 1), 1) - 2**-PLACE_BITS
        odds += m * math.log((self.cells + m) / right)
        farthest = max(max(p, 1 - p) for p in self.probabilities)
        return float(farthest) * (wrong_size + 2 * m * near + odds / rate)
