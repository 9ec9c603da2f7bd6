"""A graph of a session's policy, to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from discreet.errors import ParameterError
from discreet.graphs._declared import declared_graph
from discreet.graphs.edge import (
    CountGraph,
    GraphCount,
    GraphDegrees,
    GraphPlan,
    PreparedCount,
    ReleaseDegrees,
    plan_of,
)
from discreet.policy import DeclaredGraph, Policy
from discreet.privacy import Loss, PureLoss, budget_of, in_words
from discreet.release import Terms
from discreet.session import Session

__all__ = ["PrivateGraph", "open_graph", "plan_count"]


@dataclass(frozen=True, slots=True, eq=False)
class PrivateGraph:
    """A graph behind a session: made by `discreet.graphs.open`. Showing it asks neither the source nor the ledger.

    Attributes
    ----------
    name, declared
        The graph of the policy, and what it declares.
    """

    session: Session
    name: str
    declared: DeclaredGraph

    def __repr__(self) -> str:
        """The graph, and whom it protects."""
        return f"<PrivateGraph {self.name}, which protects one {self.declared.protects}>"

    def count(self, statistic: str, spend: Loss, *, idempotency_key: str | None = None) -> GraphCount:
        """A statistic of the graph with the privacy of its edges. The same question again is free.

        Parameters
        ----------
        statistic
            ``"edges"``, ``"density"``, ``"components"``, ``"largest degree"`` or ``"degeneracy"``, which one edge moves
            by 1 at most; ``"triangles"``, ``"2-stars"`` and stars of more leaves, ``"4-cycles"``, ``"4-cliques"`` and
            larger ones, with noise scaled to smooth sensitivity; ``"global clustering"``, of triangles and 2-stars.
        spend
            ε, or (ε, δ), of which the δ is not needed and not charged; or ρ. Of what an edge moves by 1 also μ.

        Raises
        ------
        QueryError
            For a statistic that there is not, and a graph that protects people; nothing is spent.
        ParameterError
            For a spend that buys no noise; nothing is spent.
        BudgetExceeded, DataError, LedgerError, Cancelled
            As `Session.answer` does.

        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> from discreet import graphs
        >>> vertex = {"type": "int", "bounds": [0, 99], "nullable": False}
        >>> policy = {"version": "1", "budget": {"epsilon": 8},
        ...           "tables": {"calls": {"unit": "rows", "columns": {"a": vertex, "b": vertex}}},
        ...           "graphs": {"friends": {"edges": "calls", "ends": ["a", "b"], "protects": "edge"}}}
        >>> pairs = [(i, j) for i in range(80) for j in range(i)]
        >>> clique = pa.table({"a": [i for i, _ in pairs], "b": [j for _, j in pairs]})
        >>> with dp.connect({"calls": clique}, policy) as session:
        ...     triangles = graphs.open(session, "friends").count("triangles", spend=dp.pure(4))
        >>> abs(triangles.value - 82_160) < 2_000, triangles.error() is None
        (True, True)
        """
        return self.session.answer(CountGraph(self.name, statistic, spend), idempotency_key=idempotency_key)

    def clustering(self, spend: Loss, *, idempotency_key: str | None = None) -> GraphCount:
        """The global clustering coefficient, three times the triangles by the 2-stars: half of the spend for each.

        Raises as `count`.
        """
        return self.count("global clustering", spend, idempotency_key=idempotency_key)

    def degrees(self, spend: Loss, *, idempotency_key: str | None = None) -> GraphDegrees:
        """The sorted degrees, those of some graph, and how many vertices have each. Raises as `count`.

        One edge moves two sorted degrees by 1; noise on each is pooled where degrees are alike. Source: Hay, Li, Miklau
        and Jensen 2009.
        """
        return self.session.answer(ReleaseDegrees(self.name, spend), idempotency_key=idempotency_key)

    def plan(self, statistic: str, spend: Loss, assume: Mapping[str, float] | None = None) -> GraphPlan:
        """What `count` would measure with the same arguments, and how wrong it would be. Costs nothing.

        ``assume={"sensitivity": 300}`` is a public guess of how far one edge moves the count around the graph: for
        triangles, the most common neighbours of two vertices. It changes no noise. Raises as `count` does before its
        charge, and `ParameterError` for another assumption.
        """
        prepared = self.session.prepare(CountGraph(self.name, statistic, spend))
        assert isinstance(prepared, PreparedCount)
        return plan_of(prepared, assume)

    def meaning(self, edges: int, spend: Loss) -> str:
        """What a spend per edge is to a person with so many edges, in words. Costs nothing.

        Neighbours that differ in k edges are k steps apart, so k ε protects them.
        """
        if isinstance(edges, bool) or not isinstance(edges, int) or edges < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"edges must be an integer of 1 or more, got {edges!r}")
        if self.declared.protects == "node":
            return f"A person is protected with {in_words(spend)}, whatever the number of edges."
        kind, (amount, *_) = budget_of(spend)
        together = PureLoss(edges * amount) if kind in ("pure", "approx") else spend.group(edges)
        return (
            f"One edge is protected with {in_words(spend)}. A person with {edges:,} edges is protected with "
            f"{in_words(together)}."
        )


@dataclass(frozen=True, slots=True)
class _Named:
    """Asks a session's policy for a graph: never answered, and so never charged."""

    name: str

    def prepare(self, terms: Terms) -> tuple[str, DeclaredGraph]:
        return declared_graph(terms.policy, self.name)


def open_graph(session: Session, name: str) -> PrivateGraph:
    """A graph of the session's policy. Costs nothing and touches no data. Raises `QueryError` if there is none."""
    looked_up: Any = session.prepare(cast("Any", _Named(name)))
    return PrivateGraph(session, *looked_up)


def plan_count(
    policy: Policy, graph: str, statistic: str, spend: Loss, assume: Mapping[str, float] | None = None
) -> GraphPlan:
    """The plan of a count under a policy alone, before there is a source or a ledger. Raises as `PrivateGraph.plan`."""
    return plan_of(CountGraph(graph, statistic, spend).prepare(Terms.of_policy(policy)), assume)
