"""What two servers can add up: several numbers or several choices of each client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._domain import Domain, DomainLike, domain_of
from discreet.local._two_servers._kinds import MOST_PLACES, MOST_SUM, chunk_of, up_to
from discreet.local._two_servers._prio3 import Circuit, MultihotCountVec, SumVec
from discreet.local._two_servers._two_servers import TwoServers, check_arguments
from discreet.local._whole import array_of, whole
from discreet.privacy import Loss
from discreet.sensitivity import Norms

__all__ = ["TwoServerSets", "TwoServerSums"]


@dataclass(frozen=True, slots=True)
class TwoServerSums(TwoServers):
    """The sums of `size` whole numbers, each from 0 to `bound`; a larger one counts as `bound`.

    One client can move all sums by `bound`, and the noise is for that. Raises `ParameterError` unless the bound is from
    1 to 2**32 − 1 and the numbers of one client have at most 2**16 bits in all.

    >>> import discreet as dp
    >>> from discreet.local import commitment
    >>> scheme = TwoServerSums(size=3, bound=10, spend=dp.pure(1), minimum=1000, commitment=commitment(bytes(32)))
    >>> scheme.noise.scale
    Fraction(30, 1)
    """

    protocol: ClassVar[str] = "two_server_sums"

    size: int
    bound: int
    spend: Loss
    minimum: int
    commitment: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", whole(self.bound, "bound", 1, MOST_SUM))
        object.__setattr__(self, "size", whole(self.size, "size", 1, MOST_PLACES // self.bound.bit_length()))
        check_arguments(self)

    @property
    def circuit(self) -> Circuit:
        """Numbers from 0 to the bound."""
        return SumVec(self.size, self.bound, chunk_of(self.size * self.bound.bit_length()))

    @property
    def sensitivity(self) -> Norms:
        """Every sum moves by the bound."""
        return Norms(l1=self.size * self.bound, l2_squared=self.size * self.bound**2, linf=self.bound)

    def arguments(self) -> dict[str, Any]:
        """The size and the bound."""
        return {"size": self.size, "bound": self.bound}

    def prepare(self, values: Any) -> NDArray[Any]:
        """Rows of whole numbers, 0 or more: one row, or one for each client."""
        numbers = np.atleast_2d(array_of(values))
        if numbers.size == 0:
            return np.zeros((0, self.size), dtype=np.int64)
        if numbers.ndim != 2 or numbers.shape[1] != self.size:
            raise ParameterError(f"values must be rows of {self.size} whole numbers, one row or a list of them")
        return up_to(self.bound, numbers)


@dataclass(frozen=True, slots=True, init=False)
class TwoServerSets(TwoServers):
    """How many people have each value of a domain among theirs, of which everybody has `most` at the most.

    One client with `most` values who has `most` others instead moves twice as many counts by 1, but not more than there
    are. Raises `ParameterError` for a domain of fewer than 2 or more than 2**16 values, and unless `most` is from 1 to
    the size of the domain.

    >>> import discreet as dp
    >>> from discreet.local import commitment
    >>> made = {"spend": dp.pure(1), "minimum": 1000, "commitment": commitment(bytes(32))}
    >>> scheme = TwoServerSets(domain=["cat", "dog", "fish", "horse", "hen"], most=2, **made)
    >>> scheme.noise.scale, len(scheme.client().encode([["cat", "hen"], []])[0])
    (Fraction(4, 1), 2)
    """

    protocol: ClassVar[str] = "two_server_sets"

    domain: Domain
    most: int
    spend: Loss
    minimum: int
    commitment: str

    def __init__(self, domain: DomainLike, most: int, spend: Loss, minimum: int, commitment: str) -> None:
        object.__setattr__(self, "domain", domain_of(domain))
        object.__setattr__(self, "spend", spend)
        object.__setattr__(self, "minimum", minimum)
        object.__setattr__(self, "commitment", commitment)
        if self.domain.size > MOST_PLACES:
            raise ParameterError(f"sets of two servers are from 2 to 2**16 values, got {self.domain.size}")
        object.__setattr__(self, "most", whole(most, "most", 1, self.domain.size))
        check_arguments(self)

    @property
    def circuit(self) -> Circuit:
        """At most so many places of all."""
        size = self.domain.size
        return MultihotCountVec(size, self.most, chunk_of(size + self.most.bit_length()))

    @property
    def sensitivity(self) -> Norms:
        """As many counts as two sets can differ in, by 1 each."""
        differ = min(2 * self.most, self.domain.size)
        return Norms(l1=differ, l2_squared=differ, linf=1)

    def arguments(self) -> dict[str, Any]:
        """The domain and the most."""
        return {"domain": self.domain.to_json(), "most": self.most}

    def prepare(self, values: Any) -> NDArray[Any]:
        """A list of lists of values, one list for each client, each with its values once; as rows of bits."""
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise ParameterError("values must be a list of lists of values, one list for each client")
        bits = np.zeros((len(values), self.domain.size), dtype=np.int64)
        for row, some in zip(bits, values, strict=True):
            if isinstance(some, str) or not hasattr(some, "__len__"):
                raise ParameterError("values must be a list of lists of values: write [['a']], not ['a']")
            np.add.at(row, self.domain.places(some), 1)
        if bits.size and (int(bits.max()) > 1 or int(bits.sum(axis=1).max()) > self.most):
            raise ParameterError(f"a client has each value once, and at most {self.most} of them; send the first ones")
        return bits
