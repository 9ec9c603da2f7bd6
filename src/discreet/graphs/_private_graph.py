"""A graph of a session's policy, to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from numpy.typing import ArrayLike
from pyarrow import Table

from discreet.errors import ParameterError, QueryError
from discreet.graphs._declared import Counted, declared_graph
from discreet.graphs._directed_graph import Direction
from discreet.graphs._questions import CountGraph, ReleaseDegrees, check_counted
from discreet.graphs.edge import (
    CutsPlan,
    GraphCount,
    GraphCuts,
    GraphDegrees,
    GraphMixing,
    GraphPlan,
    MixingPlan,
    PreparedCount,
    PreparedCuts,
    PreparedMixing,
    ReleaseCuts,
    ReleaseMixing,
    plan_of,
)
from discreet.graphs.features import AggregateFeatures, GraphFeatures
from discreet.graphs.node import Cap, NodePlan, NodePrivateCount, NodePrivateDegrees, PreparedNodeCount
from discreet.graphs.synthetic import GraphSynthesis, SynthesizeGraph
from discreet.policy import DeclaredGraph, Policy
from discreet.privacy import Loss, PureLoss, budget_of, in_words
from discreet.release import Terms
from discreet.session import Session

__all__ = ["PrivateGraph", "open_graph", "plan_graph"]


_PROTECTED = {"edge": "an edge", "node": "a person with all edges"}


@dataclass(frozen=True, slots=True, eq=False)
class PrivateGraph:
    """A graph behind a session: made by `discreet.graphs.open`. Showing it asks neither the source nor the ledger.

    Attributes
    ----------
    name, declared
        The graph of the policy, and what it declares.
    counted
        Where it is counted: in memory, or in the engine that holds its edges.
    """

    session: Session
    name: str
    declared: DeclaredGraph
    counted: Counted = "memory"

    def __repr__(self) -> str:
        """The graph, and whom it protects."""
        protected = "an arc" if self.declared.directed else _PROTECTED[self.declared.protects]
        return f"<PrivateGraph {self.name}, which protects {protected}>"

    def count(
        self, statistic: str, spend: Loss, *, cap: Cap | None = None, idempotency_key: str | None = None
    ) -> GraphCount | NodePrivateCount:
        """A statistic of the graph, with the privacy that the policy declares. The same question again is free.

        Parameters
        ----------
        statistic
            Where edges are protected, ``"edges"``, ``"density"``, ``"components"``, ``"largest degree"`` or
            ``"degeneracy"``, which one edge moves by 1 at most; ``"triangles"``, ``"2-stars"`` and stars of more
            leaves, ``"4-cycles"``, ``"4-cliques"`` and larger ones, and ``"average clustering"``, the mean of local
            clustering over vertices, with noise scaled to smooth sensitivity; ``"global clustering"``, of triangles and
            2-stars; and ``"degree assortativity"``, of four counts. Of a directed graph ``"edges"``, which are arcs,
            ``"density"``, ``"components"`` whatever the directions, ``"largest out-degree"``, ``"largest in-degree"``
            and ``"reciprocity"``, the share of arcs that are returned. Where people are protected, ``"edges"``,
            ``"triangles"``, ``"2-stars"``, ``"3-stars"`` or, if `nodes` lists them, ``"components"``, under a cap.
        spend
            Where edges are protected, ε, or (ε, δ), of which the δ is not needed and not charged; or ρ. Of what an edge
            moves by 1 also μ. Where people are protected, ε, (ε, δ), ρ or μ.
        cap
            Where people are protected, how much at one vertex counts: ``"bought"`` with two fifths of the spend, or
            ``"public"``, as much as `max_degree` allows.

        Raises
        ------
        QueryError
            For a statistic that there is not; nothing is spent.
        ParameterError
            For a spend that buys no noise, a cap where edges are protected, and a graph that protects people without
            `max_degree`; nothing is spent.
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
        asked = CountGraph(self.name, statistic, spend, cap, self.counted)
        return self.session.answer(asked, idempotency_key=idempotency_key)

    def clustering(self, spend: Loss, *, idempotency_key: str | None = None) -> GraphCount:
        """The global clustering coefficient, three times the triangles by the 2-stars: half of the spend for each.

        Raises as `count`, also where people are protected.
        """
        counted = self.count("global clustering", spend, idempotency_key=idempotency_key)
        assert isinstance(counted, GraphCount)
        return counted

    def degrees(
        self,
        spend: Loss,
        *,
        cap: Cap | None = None,
        direction: Direction | None = None,
        idempotency_key: str | None = None,
    ) -> GraphDegrees | NodePrivateDegrees:
        """The degrees: sorted where edges are protected, their distribution where people are. Raises as `count`.

        One edge moves two sorted degrees by 1; noise on each is pooled where degrees are alike. Of a directed graph
        they are those of a `direction`, ``"out"`` or ``"in"``, and one arc moves one of them by 1. Of people, degrees
        above a cap are cut: it is ``"bought"`` with a fifth of the spend, or ``"public"``, `max_degree` itself;
        `QueryError` if the policy names no column of people. Source: Hay, Li, Miklau and Jensen 2009; Day, Li and Lyu
        2016.
        """
        asked = ReleaseDegrees(self.name, spend, cap, direction, self.counted)
        return self.session.answer(asked, idempotency_key=idempotency_key)

    def mixing(self, attribute: str, spend: Loss, *, idempotency_key: str | None = None) -> GraphMixing:
        """How many edges join each two values of a public attribute of vertices, and its assortativity.

        The attribute, ``"dept"`` or ``"people.dept"``, is a column of a public table, with its values as `keys`; the
        table's `key` names the vertex, or the column that `nodes` of the graph names. One edge moves one number by 1.
        Of a directed graph the numbers are of arcs from each value to each.
        `QueryError` if there is no such column. Raises as `count`, also where people are protected. Source:
        ``proofs/graph_mixing.md``.
        """
        _check_in_memory("mixing", self.counted)
        return self.session.answer(ReleaseMixing(self.name, attribute, spend), idempotency_key=idempotency_key)

    def cuts(self, spend: Loss, *, idempotency_key: str | None = None) -> GraphCuts:
        """One randomised graph, from which any number of edges between two sets of vertices follows for nothing.

        Each pair of vertices is flipped with the probability that ε asks for, so errors grow with the root of the
        pairs between the sets: for few sets that are known before, `mixing` is far more exact. `ParameterError` for a
        graph of more than 16,384 vertices, and for an ε below 0.001. Raises as `count`, also where people are
        protected. Source: ``proofs/graph_cuts.md``.
        """
        _check_in_memory("cuts", self.counted)
        return self.session.answer(ReleaseCuts(self.name, spend), idempotency_key=idempotency_key)

    def synthetic(self, spend: Loss, *, idempotency_key: str | None = None) -> GraphSynthesis:
        """A synthetic graph that has the degrees, the clustering by degree and the triangles of the graph, about.

        Half of the spend is for degrees, 35 % for clustering and 15 % for triangles; the graph is generated from these
        noisy numbers alone. Its vertices are nobody. Raises as `count`. Source: Seshadhri, Kolda and Pinar 2012 for the
        generator; ``proofs/graph_synthetic.md``.
        """
        _check_in_memory("synthetic", self.counted)
        return self.session.answer(SynthesizeGraph(self.name, spend), idempotency_key=idempotency_key)

    def features(
        self, vectors: ArrayLike | Table, spend: Loss, hops: int = 2, *, idempotency_key: str | None = None
    ) -> GraphFeatures:
        """Features of each vertex from its neighbourhood, for any learner, with the privacy of edges.

        Each hop sums the neighbours' vectors, all made as long as 1, adds noise, makes the noisy sums as long as 1, and
        the next hop goes on from these. `to_numpy()` of the release is an array (vertices, (hops + 1) columns) that
        scikit-learn takes. Nothing trains here, and what is trained on it is free.

        Parameters
        ----------
        vectors
            **Public**: nothing of the private edges may be in them. An array with a row for each vertex in order, or an
            Arrow table with a column ``vertex`` beside numbers. They are part of the question: others are another one.
        spend
            (ε, δ), ρ or μ, of which each hop takes an equal part; an edge moves two sums of each hop.
        hops
            From 1 to 16.

        Raises
        ------
        QueryError
            Where people are protected: features of a vertex are about one person. Nothing is spent.
        ParameterError
            For a spend without a δ, for vectors that are not a row of finite numbers for each vertex, and for a number
            of hops that is none; nothing is spent.
        BudgetExceeded, DataError, LedgerError, Cancelled
            As `Session.answer` does.

        Source: Sajadmanesh, Shamsabadi, Bellet and Gatica-Perez 2023; ``proofs/graph_features.md``.
        """
        _check_in_memory("features", self.counted)
        asked = AggregateFeatures(self.name, vectors, spend, hops)
        return self.session.answer(asked, idempotency_key=idempotency_key)

    def plan(
        self,
        statistic: str,
        spend: Loss,
        assume: Mapping[str, float] | None = None,
        *,
        cap: Cap | None = None,
        attribute: str | None = None,
    ) -> GraphPlan | MixingPlan | CutsPlan | NodePlan:
        """What `count` would measure with the same arguments, and how wrong it would be. Costs nothing.

        ``"mixing"`` with an `attribute` and ``"cuts"`` are planned too. ``assume={"sensitivity": 300}`` is a public
        guess of how far one edge moves the count around the graph: for triangles, the most common neighbours of two
        vertices. It changes no noise. Raises as `count`, `mixing` and `cuts` do before their charge, and
        `ParameterError` for another assumption, any where the noise is public, and an attribute of what has none.
        """
        asked = _asked(self.name, statistic, spend, cap, attribute, counted=self.counted)
        return _plan_of(self.session.prepare(asked), assume)

    def meaning(self, edges: int, spend: Loss) -> str:
        """What a spend per edge is to a person with so many edges, in words. Costs nothing.

        Neighbours that differ in k edges are k steps apart, so k ε protects them. Of a directed graph edges are arcs,
        out and in: two people who are joined both ways have two between them.
        """
        if isinstance(edges, bool) or not isinstance(edges, int) or edges < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"edges must be an integer of 1 or more, got {edges!r}")
        if self.declared.protects == "node":
            return f"A person is protected with {in_words(spend)}, whatever the number of edges."
        kind, (amount, *_) = budget_of(spend)
        together = PureLoss(edges * amount) if kind in ("pure", "approx") else spend.group(edges)
        one = "arc" if self.declared.directed else "edge"
        return (
            f"One {one} is protected with {in_words(spend)}. A person with {edges:,} {one}s is protected with "
            f"{in_words(together)}."
        )


@dataclass(frozen=True, slots=True)
class _Named:
    """Asks a session's policy for a graph: never answered, and so never charged."""

    name: str
    counted: Counted

    def prepare(self, terms: Terms) -> tuple[str, DeclaredGraph]:
        check_counted(terms, self.name, self.counted)
        return declared_graph(terms.policy, self.name)


def open_graph(session: Session, name: str, *, counted: Counted = "memory") -> PrivateGraph:
    """A graph of the session's policy. Costs nothing and touches no data.

    Parameters
    ----------
    session, name
        The session, and the graph of its policy.
    counted
        Where edges, density, the largest degree, degrees, triangles, stars and global clustering are counted.
        ``"memory"``: the edges are read into this process, some 70 bytes each, and everything can be asked.
        ``"engine"``: the engine that holds them joins and groups them in tables of its own, spills to disk, and hands
        over a few numbers; vertices are whole numbers within bounds. You say which, and no size of the graph does: that
        would tell of its edges. Both give the same integers the same noise, so what was answered one way is free the
        other way.

    Raises `QueryError` if there is no such graph, and for a graph of people in an engine; `ParameterError` for another
    place.
    """
    looked_up: Any = session.prepare(cast("Any", _Named(name, counted)))
    chosen, declared = looked_up
    return PrivateGraph(session, chosen, declared, counted)


def plan_graph(  # noqa: PLR0913 — what `PrivateGraph.plan` takes
    policy: Policy,
    graph: str,
    statistic: str,
    spend: Loss,
    assume: Mapping[str, float] | None = None,
    *,
    cap: Cap | None = None,
    attribute: str | None = None,
    counted: Counted = "memory",
) -> GraphPlan | MixingPlan | CutsPlan | NodePlan:
    """The plan of `PrivateGraph.plan` under a policy alone, before there is a source or a ledger. Raises as that."""
    asked = _asked(graph, statistic, spend, cap, attribute, counted=counted)
    return _plan_of(asked.prepare(Terms.of_policy(policy)), assume)


def _asked(  # noqa: PLR0913
    graph: str, statistic: str, spend: Loss, cap: Cap | None, attribute: str | None, *, counted: Counted
) -> CountGraph | ReleaseMixing | ReleaseCuts:
    if statistic == "mixing" and attribute is None:
        raise ParameterError("mixing is by a public attribute of vertices: name it as attribute")
    if statistic != "mixing" and attribute is not None:
        raise ParameterError(f"an attribute is for mixing, not for {statistic}: leave it out")
    if statistic in ("mixing", "cuts") and cap is not None:
        raise ParameterError(f"{statistic} needs no cap: leave it out")
    if statistic in ("mixing", "cuts"):
        _check_in_memory(statistic, counted)
    if statistic == "cuts":
        return ReleaseCuts(graph, spend)
    if attribute is not None:
        return ReleaseMixing(graph, attribute, spend)
    return CountGraph(graph, statistic, spend, cap, counted)


def _check_in_memory(asked: str, counted: Counted) -> None:
    """Raise `QueryError` if the graph is to be counted in its engine, which cannot answer this."""
    if counted == "engine":
        raise QueryError(
            f'{asked} reads the edges into memory: open the graph with counted="memory", or count triangles, '
            "stars, edges or degrees, which an engine does"
        )


def _plan_of(prepared: Any, assume: Mapping[str, float] | None) -> GraphPlan | MixingPlan | CutsPlan | NodePlan:
    if isinstance(prepared, PreparedCount):
        return plan_of(prepared, assume)
    if assume:
        raise ParameterError("this noise is public, and there is nothing to assume")
    if isinstance(prepared, PreparedMixing):
        return MixingPlan(prepared)
    if isinstance(prepared, PreparedCuts):
        return CutsPlan(prepared)
    assert isinstance(prepared, PreparedNodeCount)
    return NodePlan(prepared)
