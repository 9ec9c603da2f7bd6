"""What a count of a graph would be, and how wrong: free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError, printable
from discreet.graphs.edge._question import PreparedCount
from discreet.graphs.edge._release import possible_edges
from discreet.graphs.edge._smooth_count import SmoothCount
from discreet.privacy import Loss, in_words, to_json
from discreet.release import ShownTable

__all__ = ["GraphPlan", "plan_of"]


@dataclass(frozen=True, repr=False, eq=False)
class GraphPlan(ShownTable):
    """What a count of a graph would measure. Made by `PrivateGraph.plan`: it costs nothing and touches no data.

    Attributes
    ----------
    prepared
        The question that was checked.
    sensitivity
        How far one edge is assumed to move the count around the graph, a public guess; None if there is none.
    """

    prepared: PreparedCount
    sensitivity: float | None = None

    @property
    def loss(self) -> Loss:
        """What it would cost."""
        return self.prepared.loss

    def error(self, level: float = 0.95) -> float | None:
        """How far the answer would be from the count, at most, with probability `level`.

        Of triangles, stars and other subgraphs only under the assumption, and None without one; of a ratio of two
        numbers None. Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        if sum(each.numbers for each in self.prepared.measurements) > 1:
            return None
        only = next(iter(self.prepared.measurements))
        mechanism = only.mechanism
        if isinstance(mechanism, SmoothCount):
            if self.sensitivity is None:
                return None
            return float(only.unit) * mechanism.error(self.sensitivity / float(only.unit), level)
        half = float(mechanism.error(level))
        pairs = possible_edges(self.prepared.table.vertices, directed=self.directed)
        return half / max(pairs, 1) if self.prepared.statistic == "density" else half

    @property
    def directed(self) -> bool:
        """Whether the graph is directed, and one arc would be protected."""
        return self.prepared.table.declared.directed

    def explain(self, level: float = 0.95) -> str:
        """What would be measured and how wrong it would be, in words."""
        table, asked = self.prepared.table, self.prepared.statistic
        lines = [f"{asked} of the graph {table.name}, {table.vertices:,} vertices.", ""]
        one = self._protected
        lines += [f"Protected: one {one}. A person with k {one}s is protected with k times {in_words(self.loss)}."]
        for each in self.prepared.measurements:
            if isinstance(each.mechanism, SmoothCount):
                noise = f"beta {float(each.mechanism.beta):.4g}, tails of exponent {each.mechanism.shape}"
                moved = each.mechanism.statistic.most * each.unit
                most = f"one edge moves it by {int(moved):,} at most, in the worst graph"
                lines.append(f"Measured: {each.statistic}, with noise scaled to smooth sensitivity ({noise}); {most}.")
            else:
                together = (
                    ", of which one arc moves one by 1" if each.numbers > 1 else f", which one {one} moves by 1 at most"
                )
                lines.append(f"Measured: {each.statistic}{together}.")
        error = self.error(level)
        lines.append(
            "Error: that of a ratio depends on the graph; the answer tells it."
            if error is None and self.directed
            else "Error: it depends on the graph, so it is not public; assume a sensitivity to see what it would be."
            if error is None
            else f"Error at {100 * level:.10g} %: ± {error:,.6g}"
            + (
                "."
                if self.sensitivity is None
                else f", if one edge moves it by {self.sensitivity:,.6g} around the graph."
            )
        )
        lines += ["", f"Cost: {in_words(self.loss)}, once."]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "graph": self.prepared.table.name,
            "vertices": self.prepared.table.vertices,
            "protects": "edge",
            "statistic": self.prepared.statistic,
            "measured": [each.to_json() for each in self.prepared.measurements],
            **({"directed": True} if self.directed else {}),
            "sensitivity": self.sensitivity,
            "level": level,
            "error": self.error(level),
            "loss": to_json(self.loss),
        }

    def header(self) -> list[tuple[str, bool]]:
        """The statistic, and its error."""
        return [("statistic", False), ("± at most", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The row as text."""
        error = self.error(level)
        return [[self.prepared.statistic, "not public" if error is None else f"{error:,.6g}"]]

    @property
    def shown_rows(self) -> int:
        """One."""
        return 1

    def note(self, level: float = 0.95) -> str:
        """Whom it protects."""
        return f"graph {self.prepared.table.name}; one {self._protected} is protected; errors at {100 * level:.10g} %"

    @property
    def _protected(self) -> str:
        return "arc" if self.directed else "edge"

    def _cost(self) -> str:
        return in_words(self.loss)


def plan_of(prepared: PreparedCount, assume: Mapping[str, float] | None) -> GraphPlan:
    """The plan of a question that was checked. Raises `ParameterError` for an assumption that is none."""
    assumed = dict(assume or {})
    sensitivity = assumed.pop("sensitivity", None)
    if assumed:
        raise ParameterError(f"assume takes the sensitivity of a count around the graph, not {', '.join(assumed)}")
    if sensitivity is not None and (isinstance(sensitivity, bool) or not sensitivity >= 0):
        raise ParameterError(f"the assumed sensitivity must be 0 or more, got {sensitivity!r}")
    return GraphPlan(prepared, None if sensitivity is None else float(sensitivity))
