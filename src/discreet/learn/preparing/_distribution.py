"""How each number is distributed between its bounds, from noisy counts. Proof: ``proofs/learning_preparing.md``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places
from discreet.learn._steps import Measurer, RowNorms, deviation

__all__ = ["Distributions", "distribution_norms", "exact_counts", "measure_distributions"]

_FAN, _DEPTH = 4, 5
_SIZES = tuple(_FAN**i for i in range(1, _DEPTH + 1))
_LEAVES = _SIZES[-1]
_ENOUGH, _TAIL, _MOST_TAIL = 6.0, 7.0, 0.25
"""Fewer rows than so many times the noise of one count say nothing; tails of fewer are noise."""

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Distributions:
    """For each number, the share of the rows at each level or below, and counts of each level: both from noisy counts.

    Attributes
    ----------
    below
        Never falling, from 0 to 1, a row for each number; what is rarer at either end than noise is left out.
    counts
        A row for each number; the last of the 1,024 levels has the topmost two in it.
    """

    below: Reals
    counts: Reals

    def quantiles(self, shares: list[float]) -> Reals:
        """The least level that so large a share of the rows is at or below, a column for each share."""
        return np.stack([(self.below < share - 1e-12).sum(axis=1) for share in shares], axis=1).astype(np.float64)

    def means(self) -> Reals:
        """The mean level of each number."""
        return self._shares() @ np.arange(_LEAVES)

    def deviations(self) -> Reals:
        """The standard deviation of each number, in levels."""
        squares = self._shares() @ np.arange(_LEAVES) ** 2
        return np.sqrt(np.maximum(squares - self.means() ** 2, 0))

    def modes(self) -> Reals:
        """The level of each number that most rows seem to have."""
        return self.counts.argmax(axis=1).astype(np.float64)

    def _shares(self) -> Reals:
        return np.diff(self.below, axis=1, prepend=0.0)


def distribution_norms(inputs: Inputs) -> RowNorms:
    """A row is in one node of each of five levels of a tree, for each number that is not missing."""
    count = _DEPTH * len(inputs.numbers)
    return RowNorms(count, count)


def exact_counts(numbers: Places) -> NDArray[np.int64]:
    """How many rows are in each node: a row for each number, the nodes level by level from the top."""
    counts = np.zeros((numbers.shape[1], sum(_SIZES)), np.int64)
    for i, column in enumerate(numbers.T):
        leaves = np.minimum(column[column != MISSING], LEVELS - 1)
        finest = np.bincount(leaves, minlength=_LEAVES)
        counts[i] = np.concatenate([finest.reshape(size, -1).sum(axis=1) for size in _SIZES])
    return counts


def measure_distributions(measurer: Measurer, name: str, examples: Examples, share: Fraction) -> Distributions:
    """The distribution of each number, for a share of the spend: one measurement, from which all else follows."""
    noise = measurer.noise_of(name, share)
    noisy = measurer.measure(name, exact_counts(examples.numbers), noise)
    return _distributions(_consistent(noisy), deviation(noise))


def _consistent(noisy: Reals) -> Reals:
    """The leaves of the tree that is nearest to noisy counts and adds up. Source: Hay et al. 2010, theorem 3."""
    levels: list[Any] = np.split(noisy, np.cumsum(_SIZES)[:-1], axis=1)
    best = levels[-1]
    bests = [best]
    for height, level in enumerate(reversed(levels[:-1]), 2):
        own = (_FAN**height - _FAN ** (height - 1)) / (_FAN**height - 1)
        best = own * level + (1 - own) * _parents(best)
        bests.append(best)
    fitted = bests[-1]
    for best in reversed(bests[:-1]):
        fitted = best + np.repeat((fitted - _parents(best)) / _FAN, _FAN, axis=1)
    return fitted


def _parents(level: Reals) -> Reals:
    return level.reshape(len(level), -1, _FAN).sum(axis=2)


def _distributions(counts: Reals, sd: float) -> Distributions:
    """Distributions of counts with noise of that deviation; a uniform one where there are too few rows to see any."""
    sums = np.cumsum(counts, axis=1)
    totals = sums[:, -1:]
    uniform = np.arange(1, _LEAVES + 1) / _LEAVES
    known = totals > _ENOUGH * sd
    rows = np.where(known, totals, 1.0)
    shares = np.clip(sums / rows, 0, 1)
    rising = np.maximum.accumulate(shares, axis=1)
    falling = np.minimum.accumulate(shares[:, ::-1], axis=1)[:, ::-1]
    below = (rising + falling) / 2
    tail = np.minimum(_TAIL * sd / rows, _MOST_TAIL)
    below = np.where(below < tail, 0.0, np.where(below >= 1 - tail, 1.0, below))
    below[:, -1] = 1.0
    return Distributions(np.where(known, below, uniform), counts)
