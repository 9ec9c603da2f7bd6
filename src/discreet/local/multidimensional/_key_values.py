"""Numbers by key: each person holds some keys, with a number for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import Domain, DomainLike, domain_of, integer
from discreet.local._estimate import Floats, projected
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local._scheme import Scheme
from discreet.local.frequencies._supports import no_candidates
from discreet.local.multidimensional._cell_oracle import CellOracle, best_oracle, cell_oracle, checked_oracle
from discreet.local.multidimensional._key_value_estimate import KeyValueEstimate, Moments
from discreet.local.numbers._bounded import bounds_of, shares_between
from discreet.noise import Draws
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["KeyValues", "Pairs", "pairs_as_texts", "texts_as_pairs"]


Pairs = tuple[Integers, Integers, NDArray[np.uint64]]
"""How many pairs each person has; then of all pairs the place of the key, and the number's threshold of 2**32."""

_SHIFT, _DIGITS = 33, 16


def pairs_as_texts(domain: Domain, low: Fraction, high: Fraction, values: Any) -> NDArray[Any]:
    """A text for each person: 16 hexadecimal digits a pair, in the order of the keys.

    `values` is one person's mapping of keys to numbers, or a list of people, each a mapping or a list of pairs. Raises
    `ParameterError` for what is neither, a key that is not in the domain or is there twice, and what is no number.
    """
    sizes, given, numbers = _people(values)
    keys = domain.places(given)
    shares = shares_between(low, high, numbers)
    codes = (keys.astype(np.uint64) << np.uint64(_SHIFT)) | np.rint(shares * 2.0**32).astype(np.uint64)
    person = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((codes, person))
    codes, sorted_keys = codes[order], keys[order]
    if bool(((np.diff(person) == 0) & (np.diff(sorted_keys) == 0)).any()):
        raise ParameterError("a person has one number for each key, and a key is there twice; take their mean before")
    digits, ends = codes.astype(">u8").tobytes().hex(), np.cumsum(sizes) * _DIGITS
    texts = np.empty(sizes.size, dtype=object)
    texts[:] = [digits[start:end] for start, end in zip((ends - sizes * _DIGITS).tolist(), ends.tolist(), strict=True)]
    return texts


def texts_as_pairs(texts: NDArray[Any]) -> Pairs:
    """The pairs that the texts encode."""
    every: list[str] = texts.tolist()
    sizes = np.fromiter(map(len, every), dtype=np.int64, count=len(every)) // _DIGITS
    codes = np.frombuffer(bytes.fromhex("".join(every)), dtype=">u8").astype(np.uint64)
    return sizes, (codes >> np.uint64(_SHIFT)).astype(np.int64), codes & np.uint64((1 << _SHIFT) - 1)


def _people(values: Any) -> tuple[Integers, list[Any], list[Any]]:
    """How many pairs each person has, and all keys and numbers in a row."""
    many: Any = [values] if isinstance(values, Mapping) else values
    people: list[Any] = list(many) if isinstance(many, Sequence | np.ndarray) else [None]
    if all(isinstance(each, Mapping) for each in people):
        keys = list(chain.from_iterable(people))
        numbers = list(chain.from_iterable(each.values() for each in people))
    else:
        people = [list(each.items()) if isinstance(each, Mapping) else each for each in people]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if not all(isinstance(each, list | tuple) and all(map(_is_pair, each)) for each in people):
            raise ParameterError(
                "values must be one person's mapping of keys to numbers, or a list of people: of mappings, or of lists "
                "of pairs"
            )
        keys, numbers = ([pair[place] for each in people for pair in each] for place in (0, 1))
    sizes = np.fromiter(map(len, people), dtype=np.int64, count=len(people))
    if not int(sizes.sum()) == len(keys) == len(numbers):
        raise ParameterError("a mapping must have as many keys as its length says; make a dict of it")
    return sizes, keys, numbers


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list | tuple) and len(cast("Sequence[Any]", pair)) == 2


_MOST_KEYS = 2**23 - 1


@dataclass(frozen=True, slots=True, init=False)
class KeyValues(Scheme[KeyValueEstimate]):
    """Reports one of a person's pairs of key and number, or that a slot is empty, at the full ε.

    Each person has `padding` slots, of which their pairs fill some. One is drawn; its number is rounded to one of the
    two bounds at random, and (key, bound), or nothing, is reported by a frequency oracle for these 2d + 1 words. So a
    report is as wide as the oracle's. The estimate has the share of people who have each key, and the mean of the
    number among them. Pure ε-local privacy for all pairs of a person together. Values are one person's mapping of keys
    to numbers, as ``{"bus": 12.5}``, or a list of people, each a mapping or a list of pairs; what lies beyond the
    bounds counts as the bound. Under ``"memoize"`` a device remembers one report for each set of pairs that it is
    given: another number of any key is another set, and costs again. Raises `ParameterError` for a domain of no keys or
    more than 2**23 − 1, bounds that are not two numbers, low < high, unless 1e-6 ≤ ε ≤ 100, and unless padding is from
    1 to the number of keys.
    Source: Gu, Li, Cheng, Xiong and Cao 2020, "PCKV: Locally Differentially Private Correlated Key-Value Data
    Collection with Optimized Utility": padding and sampling, and a pair's key and bound perturbed together;
    ``proofs/several.md``, section 3.

    Parameters
    ----------
    domain
        The keys: a list of names, or a size d for 0 … d − 1.
    bounds
        The lowest and the highest number.
    padding
        ℓ: how many pairs count in full. Errors grow with it. People with more pairs report one of them at random, and
        so count for less than one of each: take what most people have.
    oracle
        ``"kary_randomized_response"``, ``"hadamard_response"`` or ``"projective_geometry"``; by default the first for
        2d + 1 < 3e^ε + 2, and else the second up to ε = 1 and the third above it.

    >>> scheme = KeyValues(["bus", "car", "train"], bounds=(0, 90), epsilon=4, padding=2)
    >>> reports = scheme.client().encode([{"bus": 30, "car": 60}, {"car": 20}] * 10_000)
    >>> estimate = scheme.server().add(reports).estimate()
    >>> low, high = estimate.mean_interval(level=0.999999)
    >>> bool(low[1] < 40 < high[1]), bool(estimate.frequencies[1] > 0.8)
    (True, True)
    """

    protocol: ClassVar[str] = "key_values"

    domain: Domain
    low: Fraction
    high: Fraction
    epsilon: Fraction
    padding: int
    oracle: str
    longitudinal: Longitudinal

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        domain: DomainLike,
        bounds: Sequence[Number],
        epsilon: Number,
        *,
        padding: int,
        oracle: str | None = None,
        longitudinal: Longitudinal = "once",
    ) -> None:
        keys, exact = domain_of(domain, least=1), epsilon_of(epsilon)
        if keys.size > _MOST_KEYS:
            raise ParameterError(
                f"there are 1 to 2**23 - 1 keys here, got {keys.size:,}; leave out those that are rare"
            )
        low, high = bounds_of(bounds)
        object.__setattr__(self, "domain", keys)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "padding", integer(padding, "padding", 1, keys.size))
        object.__setattr__(self, "oracle", checked_oracle(oracle) or best_oracle(2 * keys.size + 1, exact))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes all of their pairs."""
        return pure(self.epsilon)

    @property
    def layout(self) -> Layout:
        """That of the oracle."""
        return self._oracle.scheme.layout

    @property
    def cells(self) -> int:
        """Those of the oracle."""
        return self._oracle.scheme.cells

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        return {
            "domain": self.domain.to_json(),
            "bounds": [str(self.low), str(self.high)],
            "epsilon": str(self.epsilon),
            "padding": self.padding,
            "oracle": self.oracle,
        }

    def prepare(self, values: Any) -> NDArray[Any]:
        """Each person's pairs as a text: the keys in order, each number as a share of the way between the bounds."""
        return pairs_as_texts(self.domain, self.low, self.high, values)

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A slot; if it has a pair, a step to one of the bounds; and the oracle's report of that.

        Words are 2·key for the low bound, 2·key + 1 for the high one, and 2d for nothing.
        """
        sizes, keys, thresholds = texts_as_pairs(prepared)
        slots, wide = np.empty(sizes.size, dtype=np.int64), np.maximum(sizes, self.padding)
        for size in np.unique(wide).tolist():
            at = np.flatnonzero(wide == size)
            slots[at] = draws.below(size, at.size)
        full = np.flatnonzero(slots < sizes)
        pair = (np.cumsum(sizes) - sizes + slots)[full]
        words = np.full(sizes.size, 2 * self.domain.size, dtype=np.int64)
        words[full] = 2 * keys[pair] + draws.steps(thresholds[pair])
        return self._oracle.scheme.perturb(words, draws)

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """Those of the oracle."""
        return self._oracle.scheme.genuine(fields)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count as the oracle does."""
        self._oracle.scheme.tally(fields, counts)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> KeyValueEstimate:
        """Frequencies from the sum of a key's two words, means from their difference over their sum."""
        no_candidates(candidates)
        shares = self._oracle.scheme.read(counts, reports, None).frequencies
        moments = self._moments(shares, projected(shares))
        return KeyValueEstimate(self.domain, float(self.low), float(self.high), self.padding, reports, moments)

    def variance(self, frequencies: ArrayLike, means: ArrayLike) -> Floats:
        """The variance of each frequency, times n, were people drawn from a population with these.

        Over the randomness of the clients and the choice of people. `frequencies` are the shares of people with each
        key, `means` the means of their numbers, for people of at most `padding` pairs. Does not depend on data and
        costs no privacy. Raises `ParameterError` unless both have a number for each key.

        >>> KeyValues(100, (0, 1), 1, padding=2).variance([0.1] * 100, [0.5] * 100).max().round(1).item()
        37.9
        """
        shares = [np.asarray(each, dtype=np.float64) for each in (frequencies, means)]
        if any(each.shape != (self.domain.size,) for each in shares):
            raise ParameterError(f"frequencies and means must be {self.domain.size} numbers, one for each key")
        sampled, up = shares[0] / self.padding, (shares[1] - float(self.low)) / float(self.high - self.low)
        words = np.append(np.column_stack((sampled * (1 - up), sampled * up)).ravel(), 1 - sampled.sum())
        moments = self._moments(words, words)
        return self.padding**2 * (moments.totals - moments.near_total**2)

    def _moments(self, words: Floats, near: Floats) -> Moments:
        low = 2 * np.arange(self.domain.size)
        high, cells = low + 1, self._oracle.cell_probabilities(near)
        lows, highs, both = (self._oracle.products(cells, *pair) for pair in ((low, low), (high, high), (low, high)))
        total, change = words[high] + words[low], words[high] - words[low]
        near_total, near_change = near[high] + near[low], near[high] - near[low]
        return Moments(
            total, change, near_total, near_change, highs + lows + 2 * both, highs + lows - 2 * both, highs - lows
        )

    @property
    def _oracle(self) -> CellOracle:
        return cell_oracle(self.oracle, 2 * self.domain.size + 1, self.epsilon, self.longitudinal)
