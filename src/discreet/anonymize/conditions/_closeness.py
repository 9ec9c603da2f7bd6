"""t-closeness: a sensitive column is spread in every class nearly as in the whole table. Source: Li, Li and V. 2007."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.conditions._condition import Check, Condition, Counts
from discreet.anonymize.hierarchies import Hierarchy
from discreet.anonymize.tables import Column
from discreet.errors import ParameterError

__all__ = ["TCloseness"]

_ROUNDING = 1e-12


@dataclass(frozen=True)
class TCloseness(Condition):
    """The earth mover's distance between the values in each class and in the whole table is at most t.

    Attributes
    ----------
    column
        The sensitive column.
    t
        From 0, where every class is as the table, to 1.
    distance
        ``"equal"``: all values are 1 apart. ``"ordered"``: by rank, the first and the last 1 apart. ``"hierarchical"``:
        by the level at which two values have one ancestor, over the height.
    hierarchy
        Of the hierarchical distance.
    """

    is_relative: ClassVar[bool] = True
    t: float
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    hierarchy: Hierarchy | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Raises `ParameterError` for parameters out of their range."""
        if not 0 <= self.t <= 1:
            raise ParameterError(f"t is a number from 0 to 1, not {self.t!r}")
        if self.distance not in ("equal", "ordered", "hierarchical"):
            raise ParameterError(f"the distance is equal, ordered or hierarchical, not {self.distance!r}")
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            raise ParameterError(
                "the hierarchical distance needs a hierarchy of the sensitive column, others take none"
            )

    def check(self, column: Column) -> Check:
        """See `Condition.check`."""
        table = np.bincount(column.codes, minlength=column.size) / len(column.codes)
        levels: tuple[NDArray[np.int64], ...] = ()
        if self.hierarchy is not None:
            levels = tuple(self.hierarchy.groups(column, level) for level in range(self.hierarchy.height + 1))
        return _ClosenessCheck(self.t, self.distance, table, levels)

    def to_json(self) -> dict[str, Any]:
        """See `Condition.to_json`."""
        return {"model": "t-closeness", "column": self.column, "t": self.t, "distance": self.distance}


@dataclass(frozen=True)
class _ClosenessCheck(Check):
    t: float
    distance: str
    table: NDArray[np.float64]
    levels: tuple[NDArray[np.int64], ...]

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        moved = counts / counts.sum(axis=1, keepdims=True) - self.table
        if self.distance == "equal":
            far = np.abs(moved).sum(axis=1) / 2
        elif self.distance == "ordered":
            far = np.abs(np.cumsum(moved, axis=1)).sum(axis=1) / max(len(self.table) - 1, 1)
        else:
            far = self._by_levels(moved)
        return far <= self.t + _ROUNDING

    def _by_levels(self, moved: Counts) -> NDArray[np.float64]:
        """What cannot be moved within a group goes up one level, to the parent of the group, at 1/height each way.

        Two values whose first common ancestor is at level h are h/height apart, so each way up costs half of that.
        """
        height = len(self.levels) - 1
        far = np.zeros(len(moved))
        for groups in self.levels[:-1]:
            summed = np.zeros((len(moved), int(groups.max()) + 1))
            for value, group in enumerate(groups):
                summed[:, group] += moved[:, value]
            far += np.abs(summed).sum(axis=1)
        return far / (2 * height)
