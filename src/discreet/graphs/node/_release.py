"""A count of a graph with the privacy of people: what is shown, stored and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import ParameterError
from discreet.graphs.node._flow import HALF_EDGES
from discreet.graphs.node._truncation import PACKED, Resolution
from discreet.graphs.node.forests import FORESTS
from discreet.prices import Additive, Choice, additive_from_json, additive_to_json, choice_from_json, choice_to_json
from discreet.privacy import Loss
from discreet.release import JsonRelease

__all__ = ["NodePrivateCount", "cap_in", "choice_in", "is_listed", "resolution_of"]

_MOST_CAP = 2**40
_MOST_BITS = 256
_GRIDS = {"edges": HALF_EDGES, "triangles": PACKED, "2-stars": PACKED, "3-stars": PACKED, "components": FORESTS}


def resolution_of(statistic: str) -> Resolution:
    """The public grid of a statistic before noise. Raises `KeyError` for none that is counted.

    >>> resolution_of("edges").sensitivity(5)
    10
    """
    return _GRIDS[statistic]


@dataclass(frozen=True, repr=False, eq=False)
class NodePrivateCount(JsonRelease):
    """A count of a graph, with the privacy of people with all their edges. It may be shown to anyone.

    Attributes
    ----------
    graph, statistic
        The graph of the policy, and what was asked for.
    choice
        The mechanism that chose the cap; None where it is public.
    cap
        The most of the statistic at one vertex that is counted.
    noise
        The mechanism that drew the noise, in steps.
    noisy
        The noisy count, in steps.
    loss, certificate
        As of every release.
    """

    called = "count of a graph of people"
    fields = frozenset({"graph", "statistic", "choice", "cap", "noise", "noisy"})
    repeated = frozenset({"graph", "statistic", "choice", "cap", "noise"})
    left_out = "value and error follow from the noisy number"

    graph: str
    statistic: str
    choice: Choice | None
    cap: int
    noise: Additive
    noisy: int
    loss: Loss
    certificate: Mapping[str, Any]

    def certified(self, certificate: Mapping[str, Any]) -> NodePrivateCount:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def measured(self) -> dict[str, Any]:
        """The cap and the noise at it, as its certificate has them."""
        return {"cap": self.cap, "noise": additive_to_json(self.noise)}

    @property
    def value(self) -> float:
        """The noisy count: right on average for what the cap leaves, which is at most the count.

        Of triangles and stars it may be up to cap/1024 above that, which is solved for. Of components the cap leaves as
        many or more, and it may be up to cap/64 below that.
        """
        return self.noisy / resolution_of(self.statistic).steps

    def error(self, level: float = 0.95) -> float:
        """How far the value is from what the cap leaves, at most, with probability `level`, the solver's part included.

        What a cap cuts off comes on top: it is private. Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        grid = resolution_of(self.statistic)
        return (self.noise.error(level) + grid.slack * self.cap) / grid.steps

    def content(self) -> dict[str, Any]:
        """What was asked for, the cap, the noise, and the noisy integer."""
        return {
            "graph": self.graph,
            "statistic": self.statistic,
            "choice": None if self.choice is None else choice_to_json(self.choice),
            **self.measured,
            "noisy": self.noisy,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> NodePrivateCount:
        """The inverse of `content`."""
        graph, statistic, noisy = str(content["graph"]), str(content["statistic"]), content["noisy"]
        resolution_of(statistic)
        if type(noisy) is not int or noisy.bit_length() > _MOST_BITS:
            raise TypeError("noisy")
        noise = additive_from_json(content["noise"])
        return cls(graph, statistic, choice_in(content), cap_in(content), noise, noisy, loss, certificate)

    def derived(self, level: float) -> dict[str, Any]:
        """The value and its error."""
        return {"value": self.value, "error": self.error(level)}

    def header(self) -> list[tuple[str, bool]]:
        """The statistic, its value, its error, and the cap."""
        return [("statistic", False), ("value", True), ("± noise", True), ("cap", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The row as text."""
        return [[self.statistic, f"{self.value:,.10g}", f"{self.error(level):,.6g}", f"{self.cap:,}"]]

    @property
    def shown_rows(self) -> int:
        """One."""
        return 1

    def note(self, level: float = 0.95) -> str:
        """What it is, and whom it protects."""
        counted = "edges of a forest" if self.statistic == "components" else self.statistic
        return (
            f"graph {self.graph}; a person with all edges is protected; noise at {100 * level:.10g} %; at most "
            f"{self.cap:,} {counted} count per person"
        )


def is_listed(content: Mapping[str, Any]) -> bool:
    """Whether the people of a release or its certificate are listed in public. Raises `TypeError` for another mark."""
    if content.get("listed", True) is not True:
        raise TypeError("listed")
    return "listed" in content


def cap_in(content: Mapping[str, Any]) -> int:
    """The cap of a stored release. Raises `TypeError` for none."""
    cap = content["cap"]
    if type(cap) is not int or not 1 <= cap <= _MOST_CAP:
        raise TypeError("cap")
    return cap


def choice_in(content: Mapping[str, Any]) -> Choice | None:
    """What chose the cap of a stored release, if it was bought. Raises `LedgerError` for no such choice."""
    return None if content["choice"] is None else choice_from_json(content["choice"])
