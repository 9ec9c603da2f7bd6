"""Statistics of values that are only equal or different: the mode and the count of distinct values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._data import adds_or_removes, unmasked
from discreet.sensitivity._statistic import Profile

__all__ = ["CountDistinct", "Mode"]


@dataclass(frozen=True, slots=True)
class Mode:
    """The most frequent category of a finite public domain; of equally frequent ones, the first in the domain.

    The answer is a category, so its sensitivity is measured in the discrete metric: 1 if a neighbour can have
    another mode, else 0. A(x, k) is exact: 0 until k reaches the distance to instability. So
    ``distance(Mode(domain), x, bound=0)`` is what propose-test-release needs: if it is far from 0, the mode itself
    may be released. The mode of no values is the first category; a value outside the domain counts as the first.

    Parameters
    ----------
    domain
        The categories, all different, in the order that breaks ties. They are hashable.

    Bounds are not used. Raises `ParameterError` if the domain is empty or repeats a category.
    Source: Dwork and Roth 2014, section 7.3; ``proofs/local_sensitivity.md``, Mode.

    >>> around = Mode(("red", "green")).profile(["green"] * 5 + ["red"], None, "add_remove")
    >>> around.at_distance(2), around.at_distance(3)
    (0.0, 1.0)
    """

    domain: Sequence[Hashable]

    def __post_init__(self) -> None:
        try:
            domain = tuple(self.domain)
            different = len(set(domain)) == len(domain) > 0
        except TypeError:
            different, domain = False, ()
        if not different:
            raise ParameterError("domain must be a sequence of hashable categories, all different, and at least one")
        object.__setattr__(self, "domain", domain)

    def value(self, x: Any, bounds: object = None) -> Any:  # noqa: ARG002
        """The mode. SENSITIVE."""
        counts = self.counts(x)
        return self.domain[counts.index(max(counts))]

    def global_sensitivity(self, bounds: object, relation: Relation, n: int | None = None) -> float:  # noqa: ARG002
        """1, or 0 if the domain has one category only, or under substitution in no values."""
        moves = len(self.domain) > 1 and (adds_or_removes(relation) or n != 0)
        return 1.0 if moves else 0.0

    def profile(self, x: Any, bounds: object, relation: Relation) -> Profile:  # noqa: ARG002
        """0 below the distance to instability, 1 from it on. SENSITIVE."""
        counts = self.counts(x)
        if not self.global_sensitivity(None, relation, n=sum(counts)):
            return Profile(lambda _: 0.0, last=0)
        first = counts.index(max(counts))
        margin = min(counts[first] - each + (at > first) for at, each in enumerate(counts) if at != first)
        stable = (margin if adds_or_removes(relation) else -(-margin // 2)) - 1
        return Profile(lambda k: float(k >= stable), last=stable)

    def counts(self, x: Any) -> list[int]:
        """How often each category of the domain occurs, in its order. SENSITIVE."""
        place = {category: at for at, category in enumerate(self.domain)}
        counts = [0] * len(self.domain)
        for category, times in Counter(_hashable(x)).items():
            counts[place.get(category, 0)] += times
        return counts


@dataclass(frozen=True, slots=True)
class CountDistinct:
    """How many different values there are, from a domain without end; missing values (null, NaN) count as one value.

    A(x, k) is exact and the same for every x and k: one record more may bring a new value. Under substitution a
    single record always has one value, so there it is 0 for n <= 1. In a finite domain it is an upper bound.
    Bounds are not used. Source: ``proofs/local_sensitivity.md``, Distinct values.

    >>> CountDistinct().value(["a", "b", "a", None], None)
    3
    """

    def value(self, x: Any, bounds: object = None) -> int:  # noqa: ARG002
        """The count. SENSITIVE."""
        return len(set(_hashable(x)))

    def global_sensitivity(self, bounds: object, relation: Relation, n: int | None = None) -> float:  # noqa: ARG002
        """1; 0 under substitution in fewer than two values."""
        return 1.0 if adds_or_removes(relation) or n is None or n > 1 else 0.0

    def profile(self, x: Any, bounds: object, relation: Relation) -> Profile:
        """The same at every distance. Depends on the data only through n, and only under substitution."""
        everywhere = self.global_sensitivity(bounds, relation, n=len(_hashable(x)))
        return Profile(lambda _: everywhere, last=0)


def _hashable(x: Any) -> list[Hashable]:
    """The values as a list; what is missing or cannot be compared is `None`."""
    if hasattr(x, "__array__"):
        x = unmasked(x)
        if x.ndim != 1:
            raise ParameterError(f"the data must have one dimension, got {x.ndim}")
        x = x.tolist()
    if isinstance(x, str) or not hasattr(x, "__iter__"):
        raise ParameterError("the data must be a one-dimensional sequence or array of values")
    return [_category(each) for each in x]


def _category(value: Any) -> Hashable:
    try:
        hash(value)
        return None if isinstance(value, float) and math.isnan(value) else value
    except Exception:  # noqa: BLE001 (whatever one value does, it must not show)
        return None
