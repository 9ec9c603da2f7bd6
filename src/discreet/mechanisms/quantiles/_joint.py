"""Many quantiles at once: the exponential mechanism over all vectors of places, judged by the records between them.

Proof: ``proofs/quantiles.md``, sections 5 to 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms._sensitivity import log_of
from discreet.noise import discrete_laplace, exp_bounds, uniform64, uniform_below
from discreet.privacy import BoundedRangeLoss, Loss, PureLoss, Relation

__all__ = ["LEAST_EPSILON", "MOST_CELLS", "MOST_EPSILON", "MOST_QUANTILES", "PLACE_BITS", "Chain", "Joint", "Places"]


PLACE_BITS = 20
_FEWEST = 256
_NEAR, _FINEST = 16.0, 10

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Places:
    """2**`bits` places in each cell of a histogram. A record counts 2 · 2**bits units, as many before each place."""

    counts: Ints
    bits: int = PLACE_BITS

    @property
    def records(self) -> int:
        """Of all cells, in units."""
        return int(self.counts.sum()) << self.bits + 1

    def below(self, z: Ints) -> Ints:
        """The units before the middle of each place."""
        cells = z >> self.bits
        before = (np.cumsum(self.counts) - self.counts)[cells] << self.bits + 1
        return before + self.counts[cells] * (2 * (z & (1 << self.bits) - 1) + 1)

    def blocks(self, probabilities: tuple[Fraction, ...], rate: Fraction) -> tuple[Ints, Ints]:
        """The first place of each block, and how many places it has; together they hold every place once, in order.

        Near the ranks asked for, rate · units of a block are about 1 / m, and far away a share of the distance.
        """
        scale = float(rate)
        targets = np.array([float(p) for p in probabilities]) * self.records * scale
        finest = 1 / (2 * min(targets.size, _FINEST))
        piece = 1 << max(0, self.bits - (_FEWEST // self.counts.size).bit_length())
        start = np.arange(0, self.counts.size << self.bits, piece)
        size = np.full(start.size, piece)
        done = [(start[:0], size[:0])]
        while start.size:
            low, high = (self.below(z) * scale for z in (start, start + size - 1))
            half, middle = (high - low) / 2, (high + low) / 2
            after = np.searchsorted(targets, middle).clip(0, targets.size - 1)
            far = np.minimum(np.abs(middle - targets[after]), np.abs(middle - targets[(after - 1).clip(0)])) - half
            fine = (size == 1) | (half <= np.maximum(finest, (far - _NEAR) / (2 * targets.size)))
            done.append((start[fine], size[fine]))
            size = np.repeat(size[~fine] // 2, 2)
            start = np.repeat(start[~fine], 2)
            start[1::2] += size[1::2]
        starts, sizes = (np.concatenate(each) for each in zip(*done, strict=True))
        order = np.argsort(starts)
        return starts[order], sizes[order]


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
            at, inverse_probability = _pick(totals)
            size, blocks = self.sizes[at], list[int]()
            logs = messages[at][-1]
            for j in range(len(self.shares) - 2, -1, -1):
                block, more = _pick(logs)
                inverse_probability *= more * int(widths[block])
                blocks.insert(0, block)
                if j:
                    gaps = y[block] - y[: block + 1]
                    logs = messages[at][j - 1][: block + 1] - np.abs(gaps - float(self.rate * self.shares[j] * size))
            cuts = [int(starts[k]) + int(uniform_below(int(widths[k]), 1)[0]) for k in blocks]
            if cuts == sorted(cuts) and _accepted(self._cost(cuts, size) * self.rate + bound, inverse_probability):
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
        messages = [log_weights - np.abs(y - first)]
        for target in others:
            messages.append(log_weights + _moved(messages[-1], y, target))
        messages.append(messages.pop() - np.abs(float(self.rate * self.places.records) - y - last))
        return messages


def _moved(logs: Floats, y: Floats, target: float) -> Floats:
    """At each k: ln Σ exp(logs[i] − |y[k] − y[i] − target|) over all i ≤ k, from sums of positive terms alone."""
    places = np.arange(y.size)
    split = np.minimum(np.searchsorted(y, y - target, side="right"), places + 1)
    near = _sums(logs + y, np.zeros_like(split), split) - (y - target)
    far = _sums(logs - y, split, places + 1) + (y - target)
    return _log_add(near, far)


def _sums(logs: Floats, start: NDArray[np.intp], stop: NDArray[np.intp]) -> Floats:
    """The logarithm of Σ exp(logs[i]) over start ≤ i < stop, by runs of 1, 2, 4, … terms."""
    sums, at, runs = np.full(start.size, _NONE), start.copy(), logs
    for bit in range(int((stop - start).max()).bit_length()):
        some = np.flatnonzero((stop - start) >> bit & 1)
        sums[some] = _log_add(sums[some], runs[at[some]])
        at[some] += 1 << bit
        runs = _log_add(runs[: -(1 << bit)], runs[1 << bit :])
    return sums


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


def _accepted(x: Fraction, factor: Fraction) -> bool:
    """True with probability factor · exp(−x), which must be at most 1, exactly."""
    digits, known = 0, 0
    while True:
        digits, known = digits << _WORD | int(uniform64(1)[0]), known + _WORD
        extra = math.ceil(factor).bit_length()
        low, high = exp_bounds(x, known + extra)
        if digits + 1 << extra <= factor * low:
            return True
        if digits << extra >= factor * high:
            return False


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
        choice = BoundedRangeLoss(self.epsilon - self.counted)
        return PureLoss(self.counted) + choice if self.counted else choice

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
        log_odds, wrong_size = log_of(2 / miss), 0.0
        if self.counted:
            log_odds += math.log(_GUESSES)
            wrong_size = max(apart / 2, log_of(4 / miss) / float(self.counted) - _GUESSES // 2 * apart)
        near = max(1 / rate, records / 2 ** (PLACE_BITS - 4))
        right = min(near / max(records, 1), 1) - 2**-PLACE_BITS
        log_odds += m * math.log((self.cells + m) / right)
        farthest = max(max(p, 1 - p) for p in self.probabilities)
        return float(farthest) * (wrong_size + 2 * m * near + log_odds / rate)
