"""What is publicly known of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.policy import ColumnType, Key

__all__ = ["Field"]


@dataclass(frozen=True, slots=True)
class Field:
    """What is publicly known of a column of a relation, as in a policy: numbers are moved into bounds when summed."""

    type: ColumnType
    bounds: tuple[Fraction, Fraction] | None = None
    keys: tuple[Key | None, ...] | None = None
    nullable: bool = True
