"""Local hashing: the bucket of the value under a hash function that the report names, by randomized response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import Domain, DomainLike, domain_of, integer
from discreet.local._estimate import Estimate, Floats, SupportEstimate
from discreet.local._exp_epsilon import epsilon_of, exp_epsilon
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._hash_families import LINEAR, QUADRATIC, LinearHashes, QuadraticHashes, prime_from
from discreet.local.frequencies._supports import FrequencyScheme, HashedSupports, add_cells, no_candidates
from discreet.noise import Draws
from discreet.rational import Number

__all__ = ["LocalHashing"]

_MOST_BUCKETS = 2**16
_MOST_CELLS = 2**26


@dataclass(frozen=True, slots=True, init=False)
class LocalHashing(FrequencyScheme):
    """Reports a hash function and, by randomized response, the bucket of the value under it.

    The error does not grow with d. A report takes ⌈2·log₂ d⌉ bits and the bucket's, each in whole bytes. Pure ε-local
    privacy: the function says nothing about the value. Raises `ParameterError` for a domain of fewer than 2 or more
    than 2**24 values, unless 1e-6 ≤ ε ≤ 100, and for parameters out of the ranges below.
    Source: Wang, Blocki, Li and Jha 2017, Section 4.4; ``proofs/local_hashing.md``.

    Parameters
    ----------
    buckets
        g, from 2 to 2**16. By default the number with the least variance, near e^ε + 1 (optimised local hashing); 2 is
        binary local hashing, one bit beside the function.
    keys
        By default each report draws its function from about d², and a server hashes all d values for each report.
        With ``keys=K`` it names one of K functions that are public; the server counts K·g cells, at most 2**26, at the
        speed of any counter, and makes K·d hashes when it is read, about 10**8 a second. Which values collide is then
        the same for all reports, and adds `collision_variance` to the variance, however many reports there are:
        ``keys=2**16`` for up to some millions of reports, and more for more.
    key
        Which K functions, from 0 to 2**32 − 1. Another collection can use another key, so that its collisions are
        other ones.

    >>> scheme = LocalHashing(domain=1000, epsilon=2)
    >>> scheme.buckets
    8
    >>> reports = scheme.client().encode([7] * 5000)
    >>> int(scheme.server().add(reports).estimate().frequencies.argmax())
    7
    """

    protocol: ClassVar[str] = "local_hashing"
    hash_names: ClassVar[tuple[str, ...]] = (LINEAR, QUADRATIC)

    domain: Domain
    epsilon: Fraction
    buckets: int
    keys: int | None
    key: int
    longitudinal: Longitudinal

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        domain: DomainLike,
        epsilon: Number,
        *,
        buckets: int | None = None,
        keys: int | None = None,
        key: int = 0,
        longitudinal: Longitudinal = "once",
    ) -> None:
        values, exact = domain_of(domain), epsilon_of(epsilon)
        if buckets is None:
            count = _best_buckets(prime_from(values.size) if keys is None else None, exact)
        else:
            count = integer(buckets, "buckets", 2, _MOST_BUCKETS)
        if keys is not None:
            keys = integer(keys, "keys", 1, _MOST_CELLS // count)
        elif key:
            raise ParameterError("key says which public functions; give keys=K, how many, beside it, or leave it out")
        object.__setattr__(self, "domain", values)
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "buckets", count)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "key", integer(key, "key", 0, 2**32 - 1))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, and the name of the hash function's specification."""
        return {
            "domain": self.domain.to_json(),
            "epsilon": str(self.epsilon),
            "buckets": self.buckets,
            "keys": self.keys,
            "key": self.key,
            "hash": LINEAR if self.keys is None else QUADRATIC,
        }

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities p = e^ε / (e^ε + g − 1), and q, near 1/g (the buckets differ in size by at most 1).

        The probabilities that a report supports its sender's value, and that it supports one other value.
        """
        return self._supports.p, self._supports.q

    @property
    def layout(self) -> Layout:
        """The function and the bucket; under public keys in one number, function·g + bucket."""
        if self.keys is None:
            return Layout((self._linear.keys, self.buckets))
        return Layout((self.keys * self.buckets,))

    @property
    def cells(self) -> int:
        """One count for each value; under public keys one for each bucket of each function."""
        return self.domain.size if self.keys is None else self.keys * self.buckets

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A function, and a coin: the value's bucket, or any other one."""
        people = prepared.size
        if self.keys is None:
            function = draws.below(self._linear.keys, people)
            bucket = self._linear.hashed(prepared, function)
        else:
            function = draws.below(self.keys, people)
            bucket = self._quadratic.hashed(prepared, function)
        changed = np.flatnonzero(~draws.coins(self._supports.p, people))
        other = draws.below(self.buckets - 1, changed.size)
        bucket[changed] = other + (other >= bucket[changed])
        if self.keys is None:
            return self.layout.pack(function, bucket)
        return self.layout.pack(function * self.buckets + bucket)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the values in the report's bucket; under public keys the bucket."""
        if self.keys is None:
            counts += self._linear.supports(*fields.numbers)
        else:
            add_cells(fields.numbers[0], counts)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Estimate:
        """(supports/n − q) / (p − q). Source: Wang, Blocki, Li and Jha 2017, Theorem 1."""
        no_candidates(candidates)
        model = self._supports
        if self.keys is None:
            shares = model.frequencies(counts, reports)
            stderr = np.sqrt(model.falling(np.clip(shares, 0, 1)) / reports)
            return SupportEstimate(self.domain, reports, shares, stderr, counts.copy(), float(model.p), float(model.q))
        table = counts.reshape(self.keys, self.buckets)
        shares = model.frequencies(self._quadratic.supports(table), reports)
        return Estimate(self.domain, reports, shares, model.stderr(shares, reports, table.sum(axis=1), table))

    def variance(self, frequencies: ArrayLike) -> Floats:
        """N times the variance of each estimate: Wang, Blocki, Li and Jha 2017, Theorem 2, without approximation.

        Under public keys, the part that falls with n, over the randomness of the clients and the choice of functions.
        """
        return self._supports.falling(self._shares(frequencies))

    def collision_variance(self, frequencies: ArrayLike) -> Floats:
        """The variance that stays however many reports there are: which values collide under the public functions.

        0 unless `keys` is given. Over the choice of functions; it costs no privacy. About Σ f² / ((g − 1)·K), with the
        sum over all other values. Raises `ParameterError` unless there is a share for each value.

        >>> LocalHashing(1000, 1, keys=4096).collision_variance([1] + [0] * 999)[:2].round(8).tolist()
        [0.0, 8.138e-05]
        """
        shares = self._shares(frequencies)
        return self._supports.staying(shares, np.maximum((shares**2).sum() - shares**2, 0))

    @property
    def _linear(self) -> LinearHashes:
        return LinearHashes(self.domain.size, self.buckets)

    @property
    def _quadratic(self) -> QuadraticHashes:
        return QuadraticHashes(self.domain.size, self.buckets, self.keys or 0, self.key)

    @property
    def _supports(self) -> HashedSupports:
        weight = exp_epsilon(self.epsilon)
        p, other = weight / (weight + self.buckets - 1), 1 / (weight + self.buckets - 1)
        if self.keys is None:
            return HashedSupports(None, self.buckets, self._linear.collision, Fraction(0), p, other)
        family = self._quadratic
        return HashedSupports(self.keys, self.buckets, family.collision, family.triple, p, other)


@lru_cache(maxsize=256)
def _best_buckets(prime: int | None, epsilon: Fraction) -> int:
    """The number of buckets with the least variance for a value that nobody has.

    At most 2**16, and at most P where the residues are those of a prime P; `None` stands for one without end.
    """
    gain = math.expm1(epsilon)
    g = np.arange(2, min(prime or _MOST_BUCKETS, _MOST_BUCKETS) + 1, dtype=np.float64)
    collision = 1 / g
    if prime is not None:
        small = prime // g
        more = prime - small * g
        collision = small * (more * (small + 1) + (g - more) * (small - 1)) / (prime * (prime - 1.0))
    q = (1 + gain * collision) / (gain + g)
    return int(g[np.argmin(q * (1 - q) * ((gain + g) / (gain * (1 - collision))) ** 2)])
