"""What a count of a graph of people would be, and how wrong its noise: free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError, printable
from discreet.graphs.node._question import PreparedNodeCount
from discreet.privacy import Loss, in_words, to_json
from discreet.release import ShownTable

__all__ = ["NodePlan"]


@dataclass(frozen=True, repr=False, eq=False)
class NodePlan(ShownTable):
    """What a count of a graph of people would measure. Made by `PrivateGraph.plan`: it costs nothing.

    Attributes
    ----------
    prepared
        The question that was checked.
    """

    prepared: PreparedNodeCount

    @property
    def loss(self) -> Loss:
        """What it would cost."""
        return self.prepared.loss

    @property
    def caps(self) -> tuple[int, ...]:
        """The caps that one would be chosen from; a single one is public."""
        return self.prepared.mechanism.caps

    def error(self, level: float = 0.95, cap: int | None = None) -> float:
        """How far noise moves the count at a cap, at most, with probability `level`; at the largest if none is given.

        Raises `ParameterError` unless 0 < level < 1, and for a cap that is not among those to choose from.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        cap = self.caps[-1] if cap is None else cap
        if cap not in self.caps:
            raise ParameterError(f"cap {cap!r} is not one to choose from: {', '.join(map(str, self.caps))}")
        mechanism = self.prepared.mechanism
        grid = mechanism.resolution
        return (mechanism.noise(cap).error(level) + grid.slack * cap) / grid.steps

    def explain(self, level: float = 0.95) -> str:
        """What would be measured and how wrong it would be, in words."""
        table, asked, caps = self.prepared.table, self.prepared.statistic, self.caps
        lines = [
            f"{asked} of the graph {table.name}, of people with {table.max_degree:,} edges at most.",
            "",
            f"Protected: a person with all edges, with {in_words(self.loss)}.",
            _measured(asked),
        ]
        if len(caps) == 1:
            lines.append(f"The cap is public, {caps[0]:,}: the most that the degree allows. Nothing below it is cut.")
        else:
            lines.append(f"The cap is bought: two fifths of the spend choose one of {caps[0]:,} to {caps[-1]:,}.")
        lines += [f"Noise at {100 * level:.10g} %, if the cap is"]
        lines += [f"  {cap:>16,}: ± {self.error(level, cap):,.6g}" for cap in caps]
        lines += ["What the cap cuts off comes on top; it is private.", "", f"Cost: {in_words(self.loss)}, once."]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "graph": self.prepared.table.name,
            "protects": "node",
            "statistic": self.prepared.statistic,
            "max_degree": self.prepared.table.max_degree,
            "level": level,
            "caps": [{"cap": cap, "error": self.error(level, cap)} for cap in self.caps],
            "loss": to_json(self.loss),
        }

    def header(self) -> list[tuple[str, bool]]:
        """A cap, and the noise at it."""
        return [("cap", True), ("± noise", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """A row for each cap as text."""
        return [[f"{cap:,}", f"{self.error(level, cap):,.6g}"] for cap in self.caps[:first]]

    def note(self, level: float = 0.95) -> str:
        """Whom it protects."""
        return (
            f"{self.prepared.statistic} of the graph {self.prepared.table.name}; a person with all edges is protected; "
            f"errors at {100 * level:.10g} %"
        )

    def _cost(self) -> str:
        return in_words(self.loss)


def _measured(statistic: str) -> str:
    if statistic == "components":
        return "Measured: people less the edges of a largest forest, of which no more than a cap count at one vertex."
    return f"Measured: {statistic}, of which no more than a cap count at one vertex, as the most that fit under it."
