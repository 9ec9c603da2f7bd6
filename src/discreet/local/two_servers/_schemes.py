"""Schemes for two servers: counts, sums, histograms and sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._domain import Domain, DomainLike, array_of, domain_of, integer
from discreet.local.two_servers._base import TwoServers, check_arguments, readable
from discreet.local.two_servers.prio3 import Circuit, Count, Histogram, MultihotCountVec, Sum, SumVec
from discreet.privacy import Loss
from discreet.sensitivity import Norms

__all__ = [
    "MOST_PLACES",
    "MOST_SUM",
    "TwoServerCount",
    "TwoServerHistogram",
    "TwoServerSets",
    "TwoServerSum",
    "TwoServerSums",
    "chunk_of",
    "up_to",
]


MOST_SUM = 2**32 - 1
MOST_PLACES = 2**16


@readable
@dataclass(frozen=True, slots=True)
class TwoServerCount(TwoServers):
    """The number of clients whose value is true. One client changes it by 1.

    >>> import discreet as dp
    >>> from discreet.local import commitment
    >>> from discreet.noise import secret
    >>> key = secret(32)
    >>> scheme = TwoServerCount(spend=dp.pure(1), minimum=3, commitment=commitment(key))
    >>> one, two = (scheme.server(index, key) for index in (0, 1))
    >>> for_one, for_two = scheme.client().encode([True, False, True])
    >>> said_one, said_two = one.check(for_one), two.check(for_two)
    >>> accepted_one, accepted_two = one.judge(said_two), two.judge(said_one)
    >>> one.settle(accepted_two)
    <first server of two_server_count: 3 reports, 0 rejected>
    >>> scheme.collect(one.publish(), two.settle(accepted_one).publish()).reports
    3
    """

    protocol: ClassVar[str] = "two_server_count"

    spend: Loss
    minimum: int
    commitment: str

    def __post_init__(self) -> None:
        check_arguments(self)

    @property
    def circuit(self) -> Circuit:
        """0 or 1."""
        return Count()

    @property
    def sensitivity(self) -> int:
        """1."""
        return 1

    def arguments(self) -> dict[str, Any]:
        """None."""
        return {}

    def prepare(self, values: Any) -> NDArray[Any]:
        """Truth values, or 0 and 1, as 0 and 1."""
        return Domain(2).places(values)


@readable
@dataclass(frozen=True, slots=True)
class TwoServerSum(TwoServers):
    """The sum of whole numbers from 0 to `bound`; a larger one counts as `bound`. One client moves it by at most
    `bound`.

    Raises `ParameterError` unless the bound is from 1 to 2**32 − 1.

    >>> import discreet as dp
    >>> from discreet.local import commitment
    >>> scheme = TwoServerSum(bound=255, spend=dp.pure(1), minimum=1000, commitment=commitment(bytes(32)))
    >>> scheme.noise, TwoServers.from_json(scheme.to_json()) == scheme
    (DiscreteLaplace(scale=255), True)
    """

    protocol: ClassVar[str] = "two_server_sum"

    bound: int
    spend: Loss
    minimum: int
    commitment: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", integer(self.bound, "bound", 1, MOST_SUM))
        check_arguments(self)

    @property
    def circuit(self) -> Circuit:
        """0 … bound."""
        return Sum(self.bound)

    @property
    def sensitivity(self) -> int:
        """The bound."""
        return self.bound

    def arguments(self) -> dict[str, Any]:
        """The bound."""
        return {"bound": self.bound}

    def prepare(self, values: Any) -> NDArray[Any]:
        """Whole numbers, 0 or more."""
        numbers = np.atleast_1d(array_of(values))
        if numbers.size == 0:
            return np.zeros(0, dtype=np.int64)
        if numbers.ndim != 1:
            raise ParameterError("values must be whole numbers, one or a list of them")
        return up_to(self.bound, numbers)


@readable
@dataclass(frozen=True, slots=True, init=False)
class TwoServerHistogram(TwoServers):
    """How many people have each value of a domain of 2 to 2**16. One client moves two of the counts by 1.

    >>> import discreet as dp
    >>> from discreet.local import commitment
    >>> made = {"spend": dp.rho("0.01"), "minimum": 1000, "commitment": commitment(bytes(32))}
    >>> scheme = TwoServerHistogram(domain=["bus", "car", "train"], **made)
    >>> scheme.noise, scheme.loss.rho()
    (DiscreteGaussian(sigma=10), 0.01)
    """

    protocol: ClassVar[str] = "two_server_histogram"

    domain: Domain
    spend: Loss
    minimum: int
    commitment: str

    def __init__(self, domain: DomainLike, spend: Loss, minimum: int, commitment: str) -> None:
        object.__setattr__(self, "domain", domain_of(domain))
        object.__setattr__(self, "spend", spend)
        object.__setattr__(self, "minimum", minimum)
        object.__setattr__(self, "commitment", commitment)
        if self.domain.size > MOST_PLACES:
            raise ParameterError(f"a histogram of two servers has 2 to 2**16 values, got {self.domain.size}")
        check_arguments(self)

    @property
    def circuit(self) -> Circuit:
        """One of the places, checked in chunks that make reports short."""
        return Histogram(self.domain.size, chunk_of(self.domain.size))

    @property
    def sensitivity(self) -> Norms:
        """One count goes up by 1 and one goes down: 2 in L1, √2 in L2."""
        return Norms(l1=2, l2_squared=2, linf=1)

    def arguments(self) -> dict[str, Any]:
        """The domain."""
        return {"domain": self.domain.to_json()}

    def prepare(self, values: Any) -> NDArray[Any]:
        """Places in the domain."""
        return self.domain.places(values)


def up_to(bound: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The numbers, each at most the bound. Raises `ParameterError` unless they are whole and 0 or more."""
    if numbers.dtype.kind not in "iu" or bool((numbers < 0).any()):
        raise ParameterError("values must be whole numbers, 0 or more and below 2**64")
    return np.minimum(numbers.astype(np.uint64), bound).astype(np.int64)


def chunk_of(size: int) -> int:
    """The chunk with the shortest proof: 2 · chunk + 2 · points elements, where points − 1 chunks hold all places."""
    lengths = ((-(-size // ((1 << power) - 1)), 1 << power) for power in range(1, 17))
    return min(lengths, key=lambda each: each[0] + each[1])[0]


@readable
@dataclass(frozen=True, slots=True)
class TwoServerSums(TwoServers):
    """The sums of `size` whole numbers, each from 0 to `bound`; a larger one counts as `bound`.

    One client can move every sum by `bound`, and the noise is calibrated to that. Raises `ParameterError` unless the
    bound is from 1 to 2**32 − 1 and the numbers of one client have at most 2**16 bits in all.

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
        object.__setattr__(self, "bound", integer(self.bound, "bound", 1, MOST_SUM))
        object.__setattr__(self, "size", integer(self.size, "size", 1, MOST_PLACES // self.bound.bit_length()))
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


@readable
@dataclass(frozen=True, slots=True, init=False)
class TwoServerSets(TwoServers):
    """How many people have each value of a domain, where one person has at most `most` of them.

    A client who has `most` other values instead moves 2 · `most` counts by 1, or all counts if there are fewer. Raises
    `ParameterError` for a domain of fewer than 2 or more than 2**16 values, and unless `most` is from 1 to the size of
    the domain.

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
        object.__setattr__(self, "most", integer(most, "most", 1, self.domain.size))
        check_arguments(self)

    @property
    def circuit(self) -> Circuit:
        """At most `most` of the places."""
        size = self.domain.size
        return MultihotCountVec(size, self.most, chunk_of(size + self.most.bit_length()))

    @property
    def sensitivity(self) -> Norms:
        """As many counts as two sets can differ in move by 1 each."""
        differ = min(2 * self.most, self.domain.size)
        return Norms(l1=differ, l2_squared=differ, linf=1)

    def arguments(self) -> dict[str, Any]:
        """The domain and `most`."""
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
