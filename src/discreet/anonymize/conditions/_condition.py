"""What a class of rows must satisfy beside its size: a condition on the counts of a sensitive column's values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.tables import Column

__all__ = ["Check", "Condition", "Counts"]

Counts = NDArray[np.float64]
"""A row for each class, a column for each value of the sensitive column: how many rows of the class have it."""


class Check(ABC):
    """A condition with what it needs to know of one table."""

    @abstractmethod
    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """For each class whether it satisfies the condition; every class has a row at least."""


@dataclass(frozen=True)
class Condition(ABC):
    """A condition on how one sensitive column is spread within each class.

    Attributes
    ----------
    column
        Which column.
    is_relative
        Whether a class is compared with all rows that are published, so that it changes when others are suppressed.
    """

    is_relative: ClassVar[bool] = False
    column: str

    @abstractmethod
    def check(self, column: Column) -> Check:
        """Bind it to the column of a table. Raises `ParameterError` for a condition that no grouping can satisfy."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its name and parameters as plain JSON."""
