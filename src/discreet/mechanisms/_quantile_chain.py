"""Cuts drawn all at once, so that the records between them are near their shares, exactly.

Proof: ``proofs/quantiles.md``, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms._quantile_places import Places
from discreet.noise import exp_bounds, uniform64, uniform_below

__all__ = ["Chain"]

_WORD = 64
_WEIGHT_BITS = 46
_NONE = -1e300

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chain:
    """Cuts z₁ ≤ … ≤ z_m at places, with a size v; they cost Σ |units between two cuts − share · v|, one per share."""

    places: Places
    shares: tuple[Fraction, ...]
    sizes: tuple[Fraction, ...]
    rate: Fraction

    def draw(self) -> list[int]:
        """Cuts, where (cuts, size) has probability ∝ exp(−rate · cost) among all, exactly.

        Blocks are proposed, by floats, and a place in each, evenly; then they are accepted or not, by exact numbers.
        Costs what ``proofs/quantiles.md``, section 5, says, and charges nobody.
        """
        probabilities = tuple(accumulate(self.shares[:-1]))
        starts, widths = self.places.blocks(probabilities, self.rate)
        low, high = (self.places.below(z) * float(self.rate) for z in (starts, starts + widths - 1))
        y, log_weights = (low + high) / 2, np.log(widths) + (high - low)
        messages = [self._messages(size, y, log_weights) for size in self.sizes]
        totals = np.array([_log_sum(each[-1]) for each in messages])
        bound = Fraction(_log_sum(totals) + self._slack())
        while True:
            at, odds = _pick(totals)
            size, blocks = self.sizes[at], list[int]()
            logs = messages[at][-1]
            for j in range(len(self.shares) - 2, -1, -1):
                block, more = _pick(logs)
                odds *= more * int(widths[block])
                blocks.insert(0, block)
                if j:
                    gaps = y[block] - y[: block + 1]
                    logs = messages[at][j - 1][: block + 1] - np.abs(gaps - float(self.rate * self.shares[j] * size))
            cuts = [int(starts[k]) + int(uniform_below(int(widths[k]), 1)[0]) for k in blocks]
            if cuts == sorted(cuts) and _accepted(self._cost(cuts, size) * self.rate + bound, odds):
                return cuts

    def _slack(self) -> float:
        """By how much floats may have misjudged the whole and the way to one vector of places, at most."""
        largest = float(self.rate * (self.places.records + max(abs(size) for size in self.sizes)))
        return 2.0**-44 * (len(self.shares) + 2) ** 2 * (2**13 + len(self.shares) * (32 + largest / 2))

    def _cost(self, cuts: list[int], size: Fraction) -> Fraction:
        ends = [0, *self.places.below(np.array(cuts, dtype=np.int64)).tolist(), self.places.records]
        return sum(
            (abs(high - low - share * size) for (low, high), share in zip(pairwise(ends), self.shares, strict=True)),
            Fraction(0),
        )

    def _messages(self, size: Fraction, y: Floats, log_weights: Floats) -> list[Floats]:
        """For j = 1, 2, … and each block of cut j: the logarithm of all that the cuts before it weigh; last, of all."""
        first, *others, last = (float(self.rate * share * size) for share in self.shares)
        found = [log_weights - np.abs(y - first)]
        for target in others:
            found.append(log_weights + _moved(found[-1], y, target))
        found.append(found.pop() - np.abs(float(self.rate * self.places.records) - y - last))
        return found


def _moved(logs: Floats, y: Floats, target: float) -> Floats:
    """At each k: ln Σ exp(logs[i] − |y[k] − y[i] − target|) over all i ≤ k, from sums of positive terms alone."""
    places = np.arange(y.size)
    split = np.minimum(np.searchsorted(y, y - target, side="right"), places + 1)
    near = _sums(logs + y, np.zeros_like(split), split) - (y - target)
    far = _sums(logs - y, split, places + 1) + (y - target)
    return _log_add(near, far)


def _sums(logs: Floats, start: NDArray[np.intp], stop: NDArray[np.intp]) -> Floats:
    """The logarithm of Σ exp(logs[i]) over start ≤ i < stop, by runs of 1, 2, 4, … terms."""
    found, at, runs = np.full(start.size, _NONE), start.copy(), logs
    for bit in range(int((stop - start).max()).bit_length()):
        some = np.flatnonzero((stop - start) >> bit & 1)
        found[some] = _log_add(found[some], runs[at[some]])
        at[some] += 1 << bit
        runs = _log_add(runs[: -(1 << bit)], runs[1 << bit :])
    return found


def _log_add(a: Floats, b: Floats) -> Floats:
    return np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))


def _log_sum(logs: Floats) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def _pick(logs: Floats) -> tuple[int, Fraction]:
    """An index with probability about ∝ exp(logs), and the inverse of its exact probability."""
    weights = _weights(logs)
    tops = np.cumsum(weights)
    at = int(np.searchsorted(tops, uniform_below(int(tops[-1]), 1)[0], side="right"))
    return at, Fraction(int(tops[-1]), int(weights[at]))


def _weights(logs: Floats) -> NDArray[np.int64]:
    """None is 0, so that whatever underflows can be picked, if hardly ever."""
    return np.exp(logs - logs.max() + _WEIGHT_BITS * math.log(2)).astype(np.int64) + 1


def _accepted(x: Fraction, odds: Fraction) -> bool:
    """True with probability odds · exp(−x), which must be at most 1, exactly."""
    digits, known = 0, 0
    while True:
        digits, known = digits << _WORD | int(uniform64(1)[0]), known + _WORD
        extra = math.ceil(odds).bit_length()
        low, high = exp_bounds(x, known + extra)
        if digits + 1 << extra <= odds * low:
            return True
        if digits << extra >= odds * high:
            return False
