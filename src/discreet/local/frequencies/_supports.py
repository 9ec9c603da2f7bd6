"""Schemes in which a report supports some of the values: the sender's with one probability, each other with a lower.

Wang, Blocki, Li and Jha 2017 call them pure. One estimator serves them all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import Domain, DomainLike, domain_of
from discreet.local._estimate import Estimate, Floats, SupportEstimate
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Integers
from discreet.local._scheme import Scheme
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["FrequencyScheme", "HashedSupports", "SupportScheme", "add_cells", "no_candidates"]


@dataclass(frozen=True, slots=True, init=False)
class FrequencyScheme(Scheme[Estimate]):
    """A scheme that estimates how often each value of a public domain occurs."""

    domain: Domain
    epsilon: Fraction
    longitudinal: Longitudinal

    def __init__(self, domain: DomainLike, epsilon: Number, *, longitudinal: Longitudinal = "once") -> None:
        object.__setattr__(self, "domain", domain_of(domain))
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes their value."""
        return pure(self.epsilon)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        return {"domain": self.domain.to_json(), "epsilon": str(self.epsilon)}

    def prepare(self, values: Any) -> NDArray[Any]:
        """The place of each value in the domain."""
        return self.domain.places(values)

    @abstractmethod
    def variance(self, frequencies: ArrayLike) -> Floats:
        """The variance of each estimate, times n, were the shares of the people who report these, in domain order.

        The shares sum to 1, as everybody has a value; their order can matter. Over the randomness of the clients. It
        does not depend on data and costs no privacy.
        """

    def _shares(self, frequencies: ArrayLike) -> Floats:
        shares = np.asarray(frequencies, dtype=np.float64)
        if shares.shape != (self.domain.size,):
            raise ParameterError(f"frequencies must be {self.domain.size} numbers, one for each value of the domain")
        return shares


class SupportScheme(FrequencyScheme):
    """A frequency scheme with two probabilities: a report supports its sender's value, or any other one."""

    __slots__ = ()

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report supports its sender's value (p), and that it supports one other value (q)."""

    @abstractmethod
    def supports(self, counts: Integers) -> Integers:
        """How many reports support each value."""

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Estimate:
        """(supports/n − q) / (p − q). Source: Wang, Blocki, Li and Jha 2017, Theorem 1."""
        no_candidates(candidates)
        supports = self.supports(counts)
        p, q = self.support_probabilities
        shares = (supports / reports - float(q)) / float(p - q)
        stderr = np.sqrt(self.variance(np.clip(shares, 0, 1)) / reports)
        return SupportEstimate(self.domain, reports, shares, stderr, supports, float(p), float(q))

    def variance(self, frequencies: ArrayLike) -> Floats:
        """The variance of each estimate, times n: Wang, Blocki, Li and Jha 2017, Theorem 2, without approximation."""
        shares = self._shares(frequencies)
        p, q = self.support_probabilities
        of_yes, of_no, span = float(p * (1 - p)), float(q * (1 - q)), float(p - q)
        return (shares * of_yes + (1 - shares) * of_no) / span**2


def add_cells(cells: Integers, counts: Integers) -> None:
    """Add 1 to the count of each cell, in place."""
    if cells.size * 8 < counts.size:
        np.add.at(counts, cells, 1)
    else:
        counts += np.bincount(cells, minlength=counts.size)


def no_candidates(candidates: Sequence[str] | None) -> None:
    """Refuse candidates where the domain says what to estimate."""
    if candidates is not None:
        raise ParameterError("this scheme has a domain, and estimates all of it; estimate() takes no candidates here")


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
    p, other
        The probabilities that a report supports its sender's bucket, and one other bucket.
    """

    hashes: int | None
    buckets: int
    collision: Fraction
    triple: Fraction
    p: Fraction
    other: Fraction

    @property
    def q(self) -> Fraction:
        """The probability that a report supports one other value."""
        return self.other + (self.p - self.other) * self.collision

    def falling(self, shares: Floats) -> Floats:
        """N times the part of each estimate's variance that falls with the number n of reports."""
        p, q, gap, c = self.p, self.q, self.p - self.other, self.collision
        known = gap**2 * c * (1 - c) / self.hashes if self.hashes else 0
        of_yes, of_no, span = float(p * (1 - p)), float(q * (1 - q) - known), float(p - q)
        return (shares * of_yes + (1 - shares) * of_no) / span**2

    def staying(self, shares: Floats, squares: float | Floats) -> Floats:
        """The part that stays: who collides with a value. `squares`: the sum of the squares of all other shares."""
        if self.hashes is None:
            return np.zeros(shares.shape)
        c = self.collision
        pairs, triples = float(c * (1 - c)), float(self.triple - c**2)
        return (pairs * squares + triples * ((1 - shares) ** 2 - squares)) / (self.hashes * float(1 - c) ** 2)

    def frequencies(self, supports: Integers, reports: int) -> Floats:
        """(supports/n − q) / (p − q): unbiased in the model."""
        return (supports / reports - float(self.q)) / float(self.p - self.q)

    def stderr(self, estimates: Floats, reports: int, held: Integers, table: Integers) -> Floats:
        """The standard errors of these estimated frequencies: noise and collisions together.

        `held`: the reports of each function; `table`: how many of them support each bucket, a row for each function.
        """
        shares = np.clip(estimates, 0, 1)
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
        p, other, c = self.p, self.other, float(self.collision)
        noise = float((p * (1 - p) + (self.buckets - 1) * other * (1 - other)) / (p - other) ** 2)
        total = 0.0
        step = max(1, _CELLS_AT_ONCE // self.buckets)
        for row in range(0, len(held), step):
            some = counts[row : row + step]
            senders = (table[row : row + step] - float(other) * some[:, None]) / float(p - other)
            total += float((senders**2).sum()) - float(some.sum()) * (1 + noise)
        return min(max((total / pairs - c) / (1 - c), 0.0), 1.0)
