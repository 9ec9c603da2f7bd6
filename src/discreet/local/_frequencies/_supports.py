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
from discreet.local._domain import Domain, DomainLike, domain_of
from discreet.local._estimate import Estimate, Floats, SupportEstimate
from discreet.local._layout import Integers
from discreet.local._odds import epsilon_of
from discreet.local._scheme import Longitudinal, Scheme, longitudinal_of
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["FrequencyScheme", "SupportScheme", "add_cells", "no_candidates"]


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
    def truth(self) -> Fraction:
        """The probability that a report supports its sender's value."""

    @property
    @abstractmethod
    def lie(self) -> Fraction:
        """The probability that a report supports one other value."""

    @abstractmethod
    def supports(self, counts: Integers) -> Integers:
        """How many reports support each value."""

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Estimate:
        """(supports/n − lie) / (truth − lie). Source: Wang, Blocki, Li and Jha 2017, Theorem 1."""
        no_candidates(candidates)
        supports = self.supports(counts)
        truth, lie = float(self.truth), float(self.lie)
        found = (supports / reports - lie) / float(self.truth - self.lie)
        stderr = np.sqrt(self.variance(np.clip(found, 0, 1)) / reports)
        return SupportEstimate(self.domain, reports, found, stderr, supports, truth, lie)

    def variance(self, frequencies: ArrayLike) -> Floats:
        """The variance of each estimate, times n: Wang, Blocki, Li and Jha 2017, Theorem 2, without approximation."""
        shares = self._shares(frequencies)
        p, q = self.truth, self.lie
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
