"""Coarser values: truncated, rounded, in intervals, one level up, or none at all; and shuffled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymize.hierarchies import ANY, Hierarchy
from discreet.anonymize.masking._mask import Mask, of_different_texts
from discreet.errors import ParameterError
from discreet.noise import permutation

__all__ = ["Generalize", "Round", "Shuffle", "Suppress", "Truncate"]


@dataclass(frozen=True)
class Truncate(Mask):
    """Keeps the first characters of a text, as of a postcode."""

    length: int

    def __post_init__(self) -> None:
        """Raises `ParameterError` for a negative length."""
        if isinstance(self.length, bool) or self.length < 0:
            raise ParameterError(f"length is a number of characters, 0 or more, not {self.length!r}")

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`."""
        return of_different_texts(column, lambda text: text[: self.length], pa.string())


@dataclass(frozen=True)
class Round(Mask):
    """Rounds a number to the nearest multiple; what lies in the middle goes to the even one."""

    to: float

    def __post_init__(self) -> None:
        """Raises `ParameterError` unless it is a positive number."""
        if not 0 < self.to < float("inf"):
            raise ParameterError(f"numbers are rounded to multiples of a positive number, not {self.to!r}")

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array | pa.ChunkedArray[Any]:
        """See `Mask.apply`."""
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise ParameterError(f"it is of type {kind}, and no number")
        rounded = pc.call_function(
            "round_to_multiple", [column.cast(pa.float64())], pc.RoundToMultipleOptions(self.to, "half_to_even")
        )
        return rounded.cast(kind, safe=False) if self.to == int(self.to) else rounded


@dataclass(frozen=True)
class Generalize(Mask):
    """Shows each value's ancestor in a hierarchy."""

    hierarchy: Hierarchy
    level: int

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`."""
        if not 0 <= self.level <= self.hierarchy.height:
            raise ParameterError(f"the hierarchy has levels 0 to {self.hierarchy.height}, not {self.level!r}")
        known = self.hierarchy.ancestors

        def ancestor(text: str) -> str:
            if text not in known:
                raise ParameterError(f"the hierarchy has no value {text!r}: add it")
            return known[text][self.level]

        return of_different_texts(column, ancestor, pa.string())


@dataclass(frozen=True)
class Suppress(Mask):
    """Shows nothing: a star in every row, nulls too."""

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`."""
        return pa.array([ANY] * len(column), pa.string())


@dataclass(frozen=True)
class Shuffle(Mask):
    """Puts the values of a column into a random order: it changes no marginal, and breaks all that hangs together.

    Each value is still somebody's, and a value that only one person can have still tells that the person is there.
    """

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array | pa.ChunkedArray[Any]:
        """See `Mask.apply`."""
        return column.take(pa.array(permutation(len(column)), pa.int64()))
