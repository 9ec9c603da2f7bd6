"""How many records there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._relation import adds_or_removes
from discreet.sensitivity._statistic import Profile

__all__ = ["Count"]


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
        found = np.asarray(x) if hasattr(x, "__array__") else x
        many = found.ndim > 0 if isinstance(found, np.ndarray) else isinstance(found, Sequence)
        if not many or isinstance(found, str | bytes | bytearray):
            raise ParameterError("the data must be a sequence or an array of records")
        return len(found)

    def global_sensitivity(self, bounds: object, relation: Relation, n: int | None = None) -> float:  # noqa: ARG002
        """1 under add/remove, 0 under substitution."""
        return 1.0 if adds_or_removes(relation) else 0.0

    def profile(self, x: Any, bounds: object, relation: Relation) -> Profile:  # noqa: ARG002
        """The same at every distance, and for all data."""
        everywhere = self.global_sensitivity(bounds, relation)
        return Profile(lambda _: everywhere, last=0)
