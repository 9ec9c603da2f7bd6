"""The mean and the sum of numbers between public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._data import Bounds, adds_or_removes, clamped, interval, middle
from discreet.sensitivity._exact import integers, round_up
from discreet.sensitivity._statistic import Profile

__all__ = ["Count", "Mean", "Sum"]


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean; of no values, the midpoint of the bounds.

    A(x, k) is exact under both relations, in exact arithmetic, O(1) for each k after O(n log n). Under add/remove
    the worst data of size n move by (upper - lower) / n, when one is removed; noise scaled to the local sensitivity
    alone would tell n. Source: ``proofs/local_sensitivity.md``, Mean.

    >>> around = Mean().profile([0, 0, 1], bounds=(0, 1), relation="add_remove")
    >>> [round(around.at_distance(k), 4) for k in range(4)]
    [0.3333, 0.5, 0.5, 0.5]
    """

    def value(self, x: Any, bounds: Bounds) -> float:
        """The mean of the clamped values, the float nearest to it. SENSITIVE."""
        lower, upper = interval(bounds)
        values = clamped(x, lower, upper)
        if not len(values):
            return middle(lower, upper)
        multiples, unit = integers(values)
        return float(sum(multiples.tolist()) * unit / len(values))

    def global_sensitivity(self, bounds: Bounds, relation: Relation, n: int | None = None) -> float:
        """(upper - lower) / 2 under add/remove; (upper - lower) / n under substitution, n = 1 if not given."""
        lower, upper = (Fraction(each) for each in interval(bounds))
        if adds_or_removes(relation):
            return round_up(_half(lower, upper))
        return 0.0 if n == 0 else round_up((upper - lower) / (n or 1))

    def profile(self, x: Any, bounds: Bounds, relation: Relation) -> Profile:
        """Local sensitivity around x at every distance, exact. SENSITIVE."""
        lower, upper = interval(bounds)
        values = np.sort(clamped(x, lower, upper))
        multiples, unit = integers(np.concatenate([[lower], values, [upper]]))
        low, *ordered, high = multiples.tolist()
        n = len(ordered)
        if not adds_or_removes(relation):
            farthest = max(high - ordered[0], ordered[-1] - low) if n else 0
            steps = [round_up(farthest * unit / max(n, 1)), round_up((high - low) * unit / n) if n else 0.0]
            return Profile(lambda k: steps[min(k, 1)], last=1 if n else 0)
        sums = [0, *accumulate(ordered)]
        empty = Fraction(middle(lower, upper)) / unit

        def at_distance(k: int) -> float:
            remaining = n - k
            if remaining <= 0:
                return round_up(_half(low * unit, high * unit))
            least, most = sums[remaining], sums[n] - sums[k]  # of the `remaining` lowest, of the `remaining` highest
            added = Fraction(max(remaining * high - least, most - remaining * low), remaining * (remaining + 1))
            if remaining == 1:
                return round_up(max(added, ordered[-1] - empty, empty - ordered[0]) * unit)
            others = remaining - 1
            least, most = sums[others], sums[n] - sums[k + 1]
            removed = Fraction(max(others * ordered[-1] - least, most - others * ordered[0]), others * remaining)
            return round_up(max(added, removed) * unit)

        return Profile(at_distance, last=n)


def _half(lower: Fraction, upper: Fraction) -> Fraction:
    """How far the mean of one value can be from that of none; the midpoint may be a rounded one."""
    empty = Fraction(middle(float(lower), float(upper)))
    return max(upper - empty, empty - lower)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum; of no values, 0.

    A(x, k) is exact. Under add/remove it is max(|lower|, |upper|) for every x and k. Under substitution one step
    suffices to reach upper - lower. Source: ``proofs/local_sensitivity.md``, Sum.

    >>> Sum().profile([1, 2], bounds=(0, 5), relation="substitute").at_distance(0)
    4.0
    """

    def value(self, x: Any, bounds: Bounds) -> float:
        """The sum of the clamped values, the float nearest to it. SENSITIVE."""
        multiples, unit = integers(clamped(x, *interval(bounds)))
        return float(sum(multiples.tolist()) * unit)

    def global_sensitivity(self, bounds: Bounds, relation: Relation, n: int | None = None) -> float:
        """max(|lower|, |upper|) under add/remove, upper - lower under substitution."""
        lower, upper = interval(bounds)
        if adds_or_removes(relation):
            return max(abs(lower), abs(upper))
        return 0.0 if n == 0 else round_up(Fraction(upper) - Fraction(lower))

    def profile(self, x: Any, bounds: Bounds, relation: Relation) -> Profile:
        """Local sensitivity around x at every distance, exact. SENSITIVE."""
        lower, upper = interval(bounds)
        values = clamped(x, lower, upper)
        if adds_or_removes(relation) or not len(values):
            everywhere = self.global_sensitivity(bounds, relation, n=len(values))
            return Profile(lambda _: everywhere, last=0)
        top, bottom = Fraction(upper), Fraction(lower)
        farthest = max(top - Fraction(float(values.min())), Fraction(float(values.max())) - bottom)
        steps = [round_up(farthest), round_up(top - bottom)]
        return Profile(lambda k: steps[min(k, 1)], last=1)


@dataclass(frozen=True, slots=True)
class Count:
    """The number of records, whatever they are: a missing value is a record too.

    A(x, k) is exact and the same for every x and k. Under substitution the number is public, and the sensitivity 0.
    Bounds are not used. Source: ``proofs/local_sensitivity.md``, Count.

    >>> Count().value([3, None, 3]), Count().global_sensitivity(None, "add_remove")
    (3, 1.0)
    """

    def value(self, x: Any, bounds: object = None) -> int:  # noqa: ARG002
        """The count. SENSITIVE under add/remove."""
        records = np.asarray(x) if hasattr(x, "__array__") else x
        many = records.ndim > 0 if isinstance(records, np.ndarray) else isinstance(records, Sequence)
        if not many or isinstance(records, str | bytes | bytearray):
            raise ParameterError("the data must be a sequence or an array of records")
        return len(records)

    def global_sensitivity(self, bounds: object, relation: Relation, n: int | None = None) -> float:  # noqa: ARG002
        """1 under add/remove, 0 under substitution."""
        return 1.0 if adds_or_removes(relation) else 0.0

    def profile(self, x: Any, bounds: object, relation: Relation) -> Profile:  # noqa: ARG002
        """The same at every distance, and for all data."""
        everywhere = self.global_sensitivity(bounds, relation)
        return Profile(lambda _: everywhere, last=0)
