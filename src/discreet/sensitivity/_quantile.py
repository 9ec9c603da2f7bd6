"""The median, every other quantile, the minimum and the maximum."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.rational import Number, rational
from discreet.reprs import call_repr
from discreet.sensitivity._data import Bounds, adds_or_removes, clamped, interval, middle
from discreet.sensitivity._exact import difference_up, round_up
from discreet.sensitivity._staircase import Staircase
from discreet.sensitivity._statistic import Profile

__all__ = ["Jumps", "Quantile", "jumps", "rank"]


Ints = NDArray[np.int64]

_FITS = 2**62


def rank(q: Fraction, n: int) -> int:
    """The rank of the q-quantile of n >= 1 values: max(1, ceil(q n)), so the lower median for q = 1/2.

    >>> rank(Fraction(1, 2), 4), rank(Fraction(0), 4), rank(Fraction(1), 4)
    (2, 1, 4)
    """
    return max(1, -(-q.numerator * n // q.denominator))


def _ranks(q: Fraction, sizes: int) -> Ints:
    """The rank for n = 0, 1, ..., sizes - 1."""
    n = np.arange(sizes, dtype=np.int64 if max(q.denominator, q.numerator) * sizes < _FITS else object)
    return np.maximum(1, -((-q.numerator * n) // q.denominator)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Jumps:
    """Pairs (below, above): a data set with so many values below a gap and above it has a neighbour across the gap.

    They come in chain order: sizes 1, 2, 2, 3, 3, ... Entry 2m - 2 has size m, entry 2m - 1 has size m + 1 and lies
    above entry 2m - 2.
    """

    below: Ints
    above: Ints

    @property
    def size(self) -> Ints:
        """How many values the data set has."""
        return self.below + self.above

    def mirrored(self) -> Jumps:
        """The same with the order of the values turned around."""
        return Jumps(self.above, self.below)

    def cheapest(self, n: int) -> tuple[Ints, Ints]:
        """For h = 0, 1, ..., up to n: the least size of a pair with above >= h, and the largest below at that size.

        Shorter than n + 1 entries if no pair has above >= h.
        """
        highest = np.maximum.accumulate(self.above)
        pair = np.searchsorted(highest, np.arange(min(n, int(highest[-1])) + 1))
        partner = np.minimum(pair + 1, len(self.above) - 1)
        together = (self.size[partner] == self.size[pair]) & (self.above[partner] >= np.arange(len(pair)))
        below = np.where(together, np.maximum(self.below[pair], self.below[partner]), self.below[pair])
        return self.size[pair], below


def jumps(q: Fraction, n: int) -> Jumps:
    """The pairs of sizes 1 to 2 n + 2, which are all that 2 n + 1 steps around n values can use.

    >>> chain = jumps(Fraction(1, 2), 1)
    >>> list(zip(chain.below.tolist(), chain.above.tolist()))
    [(0, 1), (1, 1), (1, 1), (1, 2), (1, 2), (2, 2), (2, 2)]
    """
    at = _ranks(q, 2 * n + 4)
    m = np.arange(1, 2 * n + 3)
    below, above = np.empty(2 * len(m), dtype=np.int64), np.empty(2 * len(m), dtype=np.int64)
    below[0::2], above[0::2] = at[m + 1] - 1, m + 1 - at[m + 1]
    below[1::2], above[1::2] = at[m], m + 1 - at[m]
    return Jumps(below[:-1], above[:-1])


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quantile:
    """The q-quantile: the value of rank max(1, ceil(q n)) among n values sorted upwards.

    q = 1/2 is the lower median, 0 the minimum, 1 the maximum. The quantile of no values is the midpoint of the bounds.
    A(x, k) is exact under both relations. Under add/remove it grows until k = n + 1, not n: the emptied data set
    and one value more. Smooth sensitivity takes O(n log n), for the median under add/remove O(n) after sorting.

    Parameters
    ----------
    q
        Between 0 and 1, as a number or as text such as ``"1/3"``.

    Raises `ParameterError` if q is out of range. Source: Nissim, Raskhodnikova and Smith 2007, section 3.1, for the
    median under substitution; ``proofs/local_sensitivity.md``, Quantiles.

    >>> median = Quantile("1/2")
    >>> median.value([0.2, 0.9, 0.4, 0.5], bounds=(0, 1))
    0.4
    >>> around = median.profile([0.5], bounds=(0, 1), relation="add_remove")
    >>> around.at_distance(1), around.at_distance(2)
    (0.5, 1.0)
    """

    q: Number

    __repr__ = call_repr

    def __post_init__(self) -> None:
        exact = rational(self.q, "q")
        if not 0 <= exact <= 1:
            raise ParameterError(f"q must be between 0 and 1, got {self.q!r}; the median is 0.5")
        object.__setattr__(self, "q", exact)

    @property
    def _exact(self) -> Fraction:
        return rational(self.q, "q")

    def value(self, x: Any, bounds: Bounds) -> float:
        """The quantile of the clamped values. SENSITIVE."""
        lower, upper = interval(bounds)
        values = clamped(x, lower, upper)
        if not len(values):
            return middle(lower, upper)
        at = rank(self._exact, len(values)) - 1
        return float(np.partition(values, at)[at])

    def global_sensitivity(self, bounds: Bounds, relation: Relation, n: int | None = None) -> float:
        """The width of the bounds; 0 under substitution in no values."""
        lower, upper = interval(bounds)
        return 0.0 if not adds_or_removes(relation) and n == 0 else round_up(Fraction(upper) - Fraction(lower))

    def profile(self, x: Any, bounds: Bounds, relation: Relation) -> Profile:
        """Local sensitivity around x at every distance, exact. SENSITIVE."""
        lower, upper = interval(bounds)
        ordered = np.sort(clamped(x, lower, upper))
        padded = np.concatenate([[lower], ordered, [upper]])
        if adds_or_removes(relation):
            return _add_remove(self._exact, padded)
        return _substitute(self._exact, padded)


def _substitute(q: Fraction, values: Floats) -> Profile:
    n = len(values) - 2
    if n == 0:
        return Profile(lambda _: 0.0, last=0)
    top = np.arange(rank(q, n), n + 2)
    stairs = Staircase(values, top, top - 1, np.full(len(top), rank(q, n)), rate=1)
    return Profile(stairs.widest, last=n, smooth=partial(stairs.greatest, best=0.0))


def _add_remove(q: Fraction, values: Floats) -> Profile:
    n = len(values) - 2
    pairs = jumps(q, n)
    if q > Fraction(
        1, 2
    ):  # the mirror image has q < 1/2 in all that matters below: more values above the gap than below
        values, pairs = -values[::-1], pairs.mirrored()
    base, limit = _effort(n, *pairs.cheapest(n))
    turned = -values[::-1]
    costs, gaps = _envelope(
        [
            _emptied(values),
            _gaps(values, pairs.below, pairs.above, n - pairs.size),
            _frontier(values, base, limit),
            _frontier(turned, *_effort(n, *pairs.mirrored().cheapest(n))),
        ]
    )
    flat = bool((np.diff(base[1:]) >= 0).all())  # then what is not on the frontier is dominated
    stairs = Staircase(values, n + 1 - np.arange(len(base))[::-1], base[::-1], limit[::-1], rate=2)

    def at_distance(k: int) -> float:
        known = int(np.searchsorted(costs, k, side="right"))
        gap = float(gaps[known - 1]) if known else 0.0
        return gap if flat else max(gap, stairs.widest(k))

    def smooth(beta: float) -> float:
        best = float((gaps * np.exp(-beta * costs)).max())
        return best if flat else stairs.greatest(beta, best)

    return Profile(at_distance, last=n + 1, smooth=smooth)


def _effort(n: int, size: Ints, below: Ints) -> tuple[Ints, Ints]:
    """For h values kept above a gap: the cost when none are kept below it (2 less for each), and how many can be."""
    return n - 2 * np.arange(len(size)) + size, np.minimum(below, n)


def _frontier(values: Floats, base: Ints, limit: Ints) -> tuple[Ints, Floats]:
    """For every s the least h that allows it, and all s for h = 1: costs and gaps."""
    s = np.arange(int(limit[-1]) + 1)
    h = np.searchsorted(limit, s)
    if len(base) > 1:
        few = np.arange(int(limit[1]) + 1)
        s, h = np.concatenate([s, few]), np.concatenate([h, np.ones_like(few)])
    return _gaps(values, s, h, base[h] - 2 * s)


def _gaps(values: Floats, s: Ints, h: Ints, cost: Ints) -> tuple[Ints, Floats]:
    """Costs, and the gaps that s values lie below and h values above; those that exist."""
    n = len(values) - 2
    exist = s + h <= n
    s, h = s[exist], h[exist]
    return cost[exist], difference_up(values[n + 1 - h], values[s])


def _emptied(values: Floats) -> tuple[Ints, Floats]:
    """Costs and steps of the last value left, and of the data set emptied."""
    n = len(values) - 2
    empty = middle(float(values[0]), float(values[-1]))
    least = 1 if n else 0
    ends = np.array([[values[least], empty], [empty, values[n + 1 - least]], [values[0], empty], [empty, values[-1]]])
    steps = difference_up(ends[:, 1], ends[:, 0])
    return np.array([max(0, n - 1), max(0, n - 1), n, n]), steps


def _envelope(parts: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """All costs in order, and at each the largest gap so far."""
    costs, gaps = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(costs, kind="stable")
    return costs[order], np.maximum.accumulate(gaps[order])
