"""An option with its expected error, and a mechanism left out with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.privacy import Loss, Relation
from discreet.sensitivity import Statistic

__all__ = ["LeftOut", "Option", "Task"]


@dataclass(frozen=True, slots=True)
class Option:
    """A ready mechanism and its expected error.

    Attributes
    ----------
    mechanism
        As it stands it costs no more than the spend: give the data to its `release`, or to `Session.release`.
    error
        The root of the mean square error against the statistic without noise, in the unit of the statistic; a refusal
        counts as an error of the size of all possible answers. Infinite for noise without a variance.
    basis
        Where the error is from: ``"exact"``, ``"computed"`` on public or made-up data, ``"simulated"`` on them.
    why
        What speaks for it and against it, in a few words.
    """

    mechanism: Any
    error: float
    basis: str
    why: str

    @property
    def name(self) -> str:
        """The class, and the choice that tells it from others of its class."""
        kind = type(self.mechanism).__name__
        for field in ("noise", "aggregator"):
            chosen = getattr(self.mechanism, field, None)
            if isinstance(chosen, str):
                return f"{kind} ({chosen})"
        choice = getattr(self.mechanism, "choice", None)
        return kind if choice is None else f"{kind} ({type(choice).__name__})"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A mechanism that was considered, and why it does not apply."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Task:
    """What every mechanism is tried on. `samples` are public or made up: never the private data."""

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
