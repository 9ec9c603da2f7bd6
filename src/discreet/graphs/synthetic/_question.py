"""A synthetic graph as a question: checked under public terms, charged once, then measured and generated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.graphs._declared import EdgeTable, edge_table
from discreet.graphs.edge._measurements import charged
from discreet.graphs.synthetic._measurements import MeasurementPlan
from discreet.graphs.synthetic._release import GraphSynthesis
from discreet.graphs.synthetic._synthesis import synthesize
from discreet.policy import Policy
from discreet.prices import check_spend
from discreet.privacy import Loss
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["PreparedSynthesis", "SynthesizeGraph"]

_STEPS = 3


@dataclass(frozen=True)
class SynthesizeGraph:
    """A graph like a private one; see `PrivateGraph.synthetic`."""

    graph: str
    spend: Loss

    def prepare(self, terms: Terms) -> PreparedSynthesis:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        table = edge_table(terms.policy, self.graph)
        terms.accept(table.plan.rows.bounded)
        plan = MeasurementPlan.calibrate(self.spend, table.vertices)
        return PreparedSynthesis(table, plan, charged(self.spend), terms.policy)


@dataclass(frozen=True)
class PreparedSynthesis(PreparedQuestion):
    """A synthetic graph that was checked; see `discreet.release.Prepared`."""

    kind = "graph_synthetic"
    counts: Literal["people", "edges", "arcs"] = field(default="edges", init=False)

    table: EdgeTable
    plan: MeasurementPlan
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {"graph": self.table.name, "measured": self.plan.to_json()}

    def answer(self, context: ReleaseContext) -> GraphSynthesis:
        """Read the edges, measure, and generate. Its loss is charged."""
        context.step(0, _STEPS)
        graph = self.table.read(context)
        context.step(1, _STEPS)
        measured = self.plan.measure(graph)
        del graph
        context.step(2, _STEPS)
        bare = GraphSynthesis(self.table.name, synthesize(measured), self.loss, {})
        statement = {**self.stated, **self.asked, "protects": "edge", "vertices": self.table.vertices}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> GraphSynthesis:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return GraphSynthesis.from_bytes(payload)
