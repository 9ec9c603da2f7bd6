"""A synthetic graph that was released: its edges, what was measured, and how the one is like the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.graphs._graph import Graph
from discreet.graphs.edge._verify import check_edges, total_loss
from discreet.graphs.synthetic._measurements import MeasurementPlan, NoisyMeasurements
from discreet.graphs.synthetic._synthesis import UNMEASURED, Comparison, SyntheticGraph
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease, ReleaseKind, check_within, refuse_malformed, register, stated_in

__all__ = ["SYNTHETIC_KIND", "GraphSynthesis"]

_MOST = 2**28


@dataclass(frozen=True, repr=False, eq=False)
class GraphSynthesis(JsonRelease):
    """A graph that is like a private one in what was measured of it, with the privacy of its edges.

    Its vertices are numbered by falling degree, and are nobody. As a table it shows what was measured beside what the
    synthetic graph has.

    Attributes
    ----------
    name
        The graph of the policy.
    synthetic
        The synthetic graph, and the noisy measurements.
    loss, certificate
        As of every release; the certificate lists the measurements with their noise.
    """

    called = "synthetic graph"
    fields = frozenset({"graph", "measured", "survival", "clustering", "triangles", "edges"})
    repeated = frozenset({"graph", "measured"})
    left_out = "the comparison follows from the rest"

    name: str
    synthetic: SyntheticGraph
    loss: Loss
    certificate: Mapping[str, Any]

    def certified(self, certificate: Mapping[str, Any]) -> GraphSynthesis:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def graph(self) -> Graph:
        """The synthetic graph."""
        return self.synthetic.graph

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What was measured, beside what the synthetic graph has."""
        return self.synthetic.comparisons

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """What the graph has from the generator alone, so that it says nothing of the private one."""
        return UNMEASURED

    def to_arrow(self) -> Any:
        """The edges as a pyarrow table of two columns, `a` and `b`, with the number of vertices in its metadata."""
        return self.synthetic.to_arrow()

    def to_networkx(self) -> Any:
        """The graph as a networkx one. Raises `MissingExtra` where networkx is not installed."""
        return self.synthetic.to_networkx()

    def content(self) -> dict[str, Any]:
        """The noise, the noisy numbers, and the edges."""
        measured = self.synthetic.measurements
        return {
            "graph": self.name,
            "measured": measured.plan.to_json(),
            "survival": measured.survival.tolist(),
            "clustering": measured.clustering.tolist(),
            "triangles": measured.triangles,
            "edges": self.graph.ends.T.tolist(),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> GraphSynthesis:
        """The inverse of `content`."""
        plan = MeasurementPlan.from_json(content["measured"])
        survival, clustering = (_integers(content[name]) for name in ("survival", "clustering"))
        first, second = (_integers(each) for each in content["edges"])
        if type(content["triangles"]) is not int or not isinstance(content["graph"], str):
            raise TypeError("triangles")
        measured = NoisyMeasurements(plan, survival, clustering, content["triangles"])
        graph = Graph(plan.vertices, np.column_stack([first, second]))
        return cls(content["graph"], SyntheticGraph(graph, measured), loss, certificate)

    def derived(self, level: float) -> dict[str, Any]:  # noqa: ARG002
        """What was measured beside what the graph has, and what was not measured."""
        rows = [
            {"statistic": each.statistic, "measured": each.measured, "std": each.std, "synthetic": each.synthetic}
            for each in self.comparisons
        ]
        return {"comparison": rows, "unmeasured": list(UNMEASURED)}

    def header(self) -> list[tuple[str, bool]]:
        """A statistic, as measured and in the synthetic graph."""
        return [("statistic", False), ("measured", True), ("std of noise", True), ("synthetic", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The rows as text."""
        return [
            [each.statistic, _text(each.measured), "" if each.std is None else _text(each.std), _text(each.synthetic)]
            for each in self.comparisons[:first]
        ]

    @property
    def shown_rows(self) -> int:
        """How many statistics are compared."""
        return len(self.comparisons)

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is, whom it protects, and what it is not like."""
        return (
            f"a synthetic graph for {self.name}, {self.graph.vertices:,} vertices; one edge is protected; "
            f"{in_words(self.loss)}; not measured: {'; '.join(UNMEASURED)}"
        )


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.4f}"


def _integers(values: Any) -> NDArray[np.int64]:
    if not isinstance(values, list) or len(values) > _MOST or not all(type(each) is int for each in values):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise TypeError("integers")
    return np.array(values, np.int64)


@refuse_malformed("synthetic graph")
def recompute_synthetic_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the three measurements lose for one edge. Raises `LedgerError` for what cannot be followed."""
    check_edges(certificate)
    plan = MeasurementPlan.from_json(certificate["measured"])
    return total_loss(list(plan.losses), certificate)


def verify_synthetic_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the measurements lose more than is stated."""
    check_within("all measurements together", recompute_synthetic_loss(certificate), stated_in(certificate))


SYNTHETIC_KIND = register(
    ReleaseKind(
        "graph_synthetic",
        GraphSynthesis.from_bytes,
        GraphSynthesis.digests,
        recompute_synthetic_loss,
        verify_synthetic_loss,
    )
)
