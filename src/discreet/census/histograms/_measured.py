"""What was measured of a histogram, part by part, and what all parts together lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.strategies import COLUMN_NORM
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss, in_currency, parts
from discreet.sensitivity import Norms

__all__ = ["BLOCKS", "FIRST_BLOCKS", "PARTITIONED", "Measured", "factorization_norms", "parts_cost"]

BLOCKS, FIRST_BLOCKS = "blocks of ", "first blocks of "
PARTITIONED = ("segments", "split units", "split cells")
"""A row of data is in one segment that is not split, or else in one unit that is and in one cell of it."""
_MOST = 2**100


@dataclass(frozen=True, eq=False)
class Measured:
    """One part: sums with the same noise in each.

    Attributes
    ----------
    part
        ``"blocks of N"`` cells, ``"first blocks of N"`` where a choice is made by these before anything else,
        ``"strategy"`` for the rows of a factorisation, or one of `PARTITIONED`.
    mechanism
        The noise.
    counts
        The noisy sums.
    """

    part: str
    mechanism: Additive
    counts: tuple[int, ...]

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The noisy sums as floats."""
        return np.array(self.counts, np.float64)

    @property
    def variance(self) -> float:
        """Of the noise of each; never 0."""
        return max(self.mechanism.std, 1e-6) ** 2

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON."""
        return {**self.stated, "counts": list(self.counts)}

    @property
    def stated(self) -> dict[str, Any]:
        """What a certificate states of it."""
        return {"part": self.part, **additive_to_json(self.mechanism)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measured:
        """The inverse of `to_json`. Raises `ValueError`, `KeyError`, `TypeError` or `LedgerError` for what is none."""
        counts = data["counts"]
        noise = {name: value for name, value in data.items() if name not in ("part", "counts")}
        if not isinstance(data["part"], str) or any(type(each) is not int or abs(each) > _MOST for each in counts):
            raise ValueError
        return cls(data["part"], additive_from_json(noise), tuple(counts))


def factorization_norms(rows: int, *, substitute: bool) -> Norms:
    """How far one person with so many rows moves what a factorisation measures: its columns have a common length.

    Each row moves it by a column of at most `COLUMN_NORM`; a substituted person takes rows away and brings others.
    """
    moved = rows * COLUMN_NORM * (2 if substitute else 1)
    return Norms(moved * COLUMN_NORM, moved**2)


def parts_cost(measured: Sequence[tuple[str, Loss]], currency: str) -> Fraction:
    """What the parts cost together, by name: all blocks that a row is in, and the dearer way through a partition."""
    costs = {name: Fraction(0) for name in PARTITIONED}
    total = Fraction(0)
    for part, loss in measured:
        cost = parts(in_currency(loss, currency))[0]
        if part in costs:
            costs[part] += cost
        else:
            total += cost
    return total + max(costs["segments"], costs["split units"] + costs["split cells"])
