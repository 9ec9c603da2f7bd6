"""What hashing does to an estimate: a report supports buckets, and the values in a bucket share its supports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.local._estimate import Floats
from discreet.local._layout import Integers

__all__ = ["HashedSupports"]

_CELLS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class HashedSupports:
    """A report picks a hash function, and supports its sender's bucket with one probability, each other with a lower.

    The model: the public functions are drawn independently from a family in which any two values collide with one
    probability, any three with another, whatever the values are. Every statement here is over the randomness of the
    clients and of that draw. Source: ``proofs/count_mean_sketch.md``, sections 2 to 4.

    Attributes
    ----------
    hashes
        How many public functions there are, or `None` where each report draws its own.
    buckets
        Into how many buckets each hashes.
    collision, triple
        The probability that two, that three values are in one bucket.
    truth, other
        The probability that a report supports its sender's bucket, and another one.
    """

    hashes: int | None
    buckets: int
    collision: Fraction
    triple: Fraction
    truth: Fraction
    other: Fraction

    @property
    def lie(self) -> Fraction:
        """The probability that a report supports one other value."""
        return self.other + (self.truth - self.other) * self.collision

    def falling(self, shares: Floats) -> Floats:
        """N times the part of each estimate's variance that falls with the number n of reports."""
        p, lie, gap, c = self.truth, self.lie, self.truth - self.other, self.collision
        known = gap**2 * c * (1 - c) / self.hashes if self.hashes else 0
        of_yes, of_no, span = float(p * (1 - p)), float(lie * (1 - lie) - known), float(p - lie)
        return (shares * of_yes + (1 - shares) * of_no) / span**2

    def staying(self, shares: Floats, squares: float | Floats) -> Floats:
        """The part that stays: who collides with a value. `squares`: the sum of the squares of all other shares."""
        if self.hashes is None:
            return np.zeros(shares.shape)
        c = self.collision
        pairs, triples = float(c * (1 - c)), float(self.triple - c**2)
        return (pairs * squares + triples * ((1 - shares) ** 2 - squares)) / (self.hashes * float(1 - c) ** 2)

    def frequencies(self, supports: Integers, reports: int) -> Floats:
        """(supports/n − lie) / (truth − lie): unbiased in the model."""
        return (supports / reports - float(self.lie)) / float(self.truth - self.lie)

    def stderr(self, found: Floats, reports: int, held: Integers, table: Integers) -> Floats:
        """The standard errors of frequencies that are found to be these, both parts together.

        `held`: the reports of each function; `table`: how many of them support each bucket, a row for each function.
        """
        shares = np.clip(found, 0, 1)
        squares = np.maximum(self._squares(held, table) - shares**2, 0)
        return np.sqrt(self.falling(shares) / reports + self.staying(shares, squares))

    def _squares(self, held: Integers, table: Integers) -> float:
        """The sum of the squares of all shares, from how uneven the buckets are: unbiased, but for being cut to 0 … 1.

        Source: Alon, Matias and Szegedy 1999 (the idea); ``proofs/count_mean_sketch.md``, section 4.
        """
        counts = held.astype(np.float64)
        pairs = float(counts @ (counts - 1))
        if pairs <= 0:
            return 1.0
        p, q, c = self.truth, self.other, float(self.collision)
        noise = float((p * (1 - p) + (self.buckets - 1) * q * (1 - q)) / (p - q) ** 2)
        total = 0.0
        step = max(1, _CELLS_AT_ONCE // self.buckets)
        for row in range(0, len(held), step):
            some = counts[row : row + step]
            senders = (table[row : row + step] - float(q) * some[:, None]) / float(p - q)
            total += float((senders**2).sum()) - float(some.sum()) * (1 + noise)
        return min(max((total / pairs - c) / (1 - c), 0.0), 1.0)
