"""Sketches: a report names a row, one of some public hash functions, and tells of the value's bucket in that row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import Domain, DomainLike, domain_of, integer, texts_of
from discreet.local._estimate import Estimate, Floats
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Integers
from discreet.local._scheme import Scheme
from discreet.local.frequencies._hash_families import HASH, buckets_of
from discreet.local.frequencies._supports import HashedSupports, no_candidates
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["SketchScheme"]

_MOST_ROWS, _MOST_WIDTH, _MOST_CELLS = 2**16, 2**20, 2**26


@dataclass(frozen=True, slots=True, init=False)
class SketchScheme(Scheme[Estimate]):
    """A scheme whose server keeps a table of `hashes` rows and `width` buckets, for the values of any domain."""

    hash_names: ClassVar[tuple[str, ...]] = (HASH,)

    epsilon: Fraction
    hashes: int
    width: int
    domain: Domain | None
    key: int
    longitudinal: Longitudinal

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        epsilon: Number,
        *,
        hashes: int = 256,
        width: int = 1024,
        domain: DomainLike | None = None,
        key: int = 0,
        longitudinal: Longitudinal = "once",
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "hashes", integer(hashes, "hashes", 1, _MOST_ROWS))
        object.__setattr__(self, "width", integer(width, "width", 2, min(_MOST_WIDTH, _MOST_CELLS // hashes)))
        object.__setattr__(self, "domain", None if domain is None else domain_of(domain))
        object.__setattr__(self, "key", integer(key, "key", 0, 2**32 - 1))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    @property
    @abstractmethod
    def bucket_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report supports its sender's bucket, and that it supports one other of its row."""

    @abstractmethod
    def table(self, counts: Integers) -> tuple[Integers, Integers]:
        """How many reports are of each row, and how many of them support each bucket: one number and one row each."""

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report supports its sender's value (p), and that it supports one other value (q).

        Over the randomness of the clients and the choice of hash functions.
        """
        return self._supports.p, self._supports.q

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes their value."""
        return pure(self.epsilon)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, and the name of the hash function's specification."""
        return {
            "epsilon": str(self.epsilon),
            "hashes": self.hashes,
            "width": self.width,
            "domain": None if self.domain is None else self.domain.to_json(),
            "key": self.key,
            "hash": HASH,
        }

    def prepare(self, values: Any) -> NDArray[Any]:
        """The place of each value in the domain, or the texts themselves if there is none."""
        return _array_of(values) if self.domain is None else self.domain.places(values)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Estimate:
        """(supports/n − q) / (p − q), with the supports of a value summed over its buckets in all rows.

        Source: Apple's Differential Privacy Team 2017, "Learning with Privacy at Scale" (the same number, over n).
        """
        if self.domain is not None:
            no_candidates(candidates)
            domain, texts = self.domain, self._texts(range(self.domain.size))
        elif candidates is None:
            raise ParameterError(
                "this scheme has no domain to list values from; name those to look for: estimate(candidates=[...])"
            )
        else:
            texts = texts_of(candidates)
            domain = domain_of(texts, least=1)
        model, (held, table) = self._supports, self.table(counts)
        supports = np.zeros(domain.size, dtype=np.int64)
        for row in range(self.hashes):
            supports += table[row, self._hashed(texts, row)]
        shares = model.frequencies(supports, reports)
        return Estimate(domain, reports, shares, model.stderr(shares, reports, held, table))

    def variance(self, frequencies: ArrayLike) -> Floats:
        """N times the part of each estimate's variance that falls with n, were these the shares of the values.

        One share for each value of the domain; where there is none, for each value that anybody has. Over the
        randomness of the clients and the choice of hash functions. It does not depend on data and costs no privacy.
        Raises `ParameterError` for other numbers of shares.
        """
        return self._supports.falling(self._shares(frequencies))

    def collision_variance(self, frequencies: ArrayLike) -> Floats:
        """The variance that stays however many reports there are: which values collide under the hash functions.

        About Σ f² / (hashes·(width − 1)), with the sum over all other values. Over the choice of functions; it costs no
        privacy. Raises `ParameterError` as `variance`.
        """
        shares = self._shares(frequencies)
        return self._supports.staying(shares, np.maximum((shares**2).sum() - shares**2, 0))

    @property
    def _supports(self) -> HashedSupports:
        two, three = Fraction(1, self.width), Fraction(1, self.width**2)
        return HashedSupports(self.hashes, self.width, two, three, *self.bucket_probabilities)

    def _shares(self, frequencies: ArrayLike) -> Floats:
        shares = np.asarray(frequencies, dtype=np.float64)
        if shares.ndim != 1 or (self.domain is not None and shares.size != self.domain.size):
            raise ParameterError("frequencies must be numbers in one dimension, one for each value of the domain")
        return shares

    def _texts(self, values: Iterable[Any]) -> list[str]:
        """What is hashed: a name, or a number in decimal digits."""
        if self.domain is None or self.domain.names is None:
            return [str(value) for value in values]
        return [self.domain.names[place] for place in values]

    def _hashed(self, texts: Sequence[str], row: int) -> Integers:
        return buckets_of(texts, self.key << 32 | row, self.width)

    def buckets(self, prepared: NDArray[Any], rows: Integers) -> Integers:
        """The bucket of each value in its row; a value is hashed once for each row."""
        places: dict[Any, int] = {}
        which = np.fromiter((places.setdefault(value, len(places)) for value in prepared.tolist()), dtype=np.int64)
        texts = self._texts(places)
        numbers = np.empty(prepared.size, dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        named, starts = np.unique(rows[order], return_index=True)
        for row, senders in zip(named.tolist(), np.split(order, starts[1:]), strict=False):
            asked, back = np.unique(which[senders], return_inverse=True)
            numbers[senders] = self._hashed([texts[place] for place in asked.tolist()], row)[back]
        return numbers


def _array_of(values: Any) -> NDArray[Any]:
    texts = texts_of(values)
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
