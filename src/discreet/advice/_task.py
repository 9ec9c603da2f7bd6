"""What is to be released, all of it public: a statistic, a size, bounds, a spend, and data to try it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.privacy import Loss, Relation
from discreet.sensitivity import Statistic

__all__ = ["Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """One question to every mechanism. `samples` are public or made up: never the private data."""

    statistic: Statistic
    name: str | None
    n: int
    bounds: Any
    spend: Loss
    relation: Relation
    samples: tuple[Any, ...]

    @property
    def shared(self) -> dict[str, Any]:
        """The arguments that every framework takes."""
        return {"bounds": self.bounds, "spend": self.spend, "relation": self.relation}

    def truth(self, sample: Any) -> float:
        """The statistic of a sample."""
        return float(self.statistic.value(sample, self.bounds))
