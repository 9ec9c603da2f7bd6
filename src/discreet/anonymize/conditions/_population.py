"""Conditions on how many people of a population look like those in the table: k-map and δ-presence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.conditions._condition import Check, Condition, Counts
from discreet.anonymize.tables import Column
from discreet.errors import ParameterError

__all__ = ["PopulationSize", "Presence"]


@dataclass(frozen=True)
class PopulationSize(Condition):
    """Every class with somebody in the table has k people of the population; the column says "in" or "population"."""

    k: int

    def check(self, column: Column) -> Check:
        """See `Condition.check`."""
        return _PopulationCheck(column.values.index("in"), column.values.index("population"), self.k, None, None)

    def to_json(self) -> dict[str, Any]:
        """See `Condition.to_json`."""
        return {"model": "k-map", "k": self.k}


@dataclass(frozen=True)
class Presence(Condition):
    """Of each class of the population a share between two is in the table."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Raises `ParameterError` for shares out of their range."""
        if not 0 <= self.low <= self.high <= 1:
            raise ParameterError(f"δ-presence has two shares, 0 ≤ low ≤ high ≤ 1, not {self.low!r} and {self.high!r}")

    def check(self, column: Column) -> Check:
        """See `Condition.check`."""
        return _PopulationCheck(column.values.index("in"), column.values.index("population"), 1, self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        """See `Condition.to_json`."""
        return {"model": "δ-presence", "low": self.low, "high": self.high}


@dataclass(frozen=True)
class _PopulationCheck(Check):
    inside: int
    population: int
    k: int
    low: float | None
    high: float | None

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        there, people = counts[:, self.inside], counts[:, self.population]
        if self.low is None or self.high is None:
            return (there == 0) | (people >= self.k)
        return (people >= there) & (there >= self.low * people) & (there <= self.high * people)
