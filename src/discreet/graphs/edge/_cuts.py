"""Any cut of a graph from one randomised graph: as a question, as a release, and verified."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import LedgerError, ParameterError
from discreet.graphs._declared import EdgeTable, edge_table
from discreet.graphs.edge._measurements import charged
from discreet.graphs.edge._randomized_graph import (
    CutEstimate,
    RandomizedGraph,
    packed_pairs,
    pairs_between,
    unpacked_pairs,
)
from discreet.graphs.edge._verify import check_edges, total_loss
from discreet.policy import Policy
from discreet.prices import check_spend
from discreet.privacy import Loss
from discreet.rational import from_exact_text
from discreet.release import (
    JsonRelease,
    PreparedQuestion,
    ReleaseContext,
    ReleaseKind,
    Terms,
    check_within,
    refuse_malformed,
    register,
    stated_in,
)

__all__ = ["CUTS_KIND", "GraphCuts", "PreparedCuts", "ReleaseCuts"]

Vertex = str | int | bool
_LONGEST = 100


@dataclass(frozen=True, repr=False, eq=False)
class GraphCuts(JsonRelease):
    """A randomised graph, with the privacy of edges, and any cut from it. It may be shown to anyone.

    Attributes
    ----------
    graph
        The graph of the policy.
    first, named
        The vertices, which are public: whole numbers from `first` on, or those that are `named`, in order; the other is
        None.
    mechanism
        With which probability each pair of vertices was flipped.
    rows
        The randomised graph: bit j of row i, j < i, packed as `RandomizedGraph.release` has it.
    loss, certificate
        As of every release.
    """

    called = "randomised graph"
    fields = frozenset({"graph", "vertices", "first", "named", "noise", "pairs"})
    repeated = frozenset({"graph", "vertices", "noise"})
    left_out = "the number of edges follows from the pairs"

    graph: str
    first: int | None
    named: tuple[Vertex, ...] | None
    mechanism: RandomizedGraph
    rows: NDArray[np.uint8]
    loss: Loss
    certificate: Mapping[str, Any]

    def certified(self, certificate: Mapping[str, Any]) -> GraphCuts:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def vertices(self) -> int:
        """The public number of vertices."""
        return self.mechanism.vertices

    def cut(self, first: Iterable[Vertex], second: Iterable[Vertex] | None = None) -> CutEstimate:
        """The number of edges with an end in each of two sets of vertices, and its standard error. Free, any number.

        Without a second set it is all other vertices. Where sets overlap an edge counts once; a set with itself gives
        the edges within it. Vertices are called as in the data. Sets must be chosen without looking at the graph, or
        from this release: the standard error is that of one cut, and the largest of many is off by more. Raises
        `ParameterError` for what is no vertex.
        """
        some = self._members(first)
        others = ~some if second is None else self._members(second)
        return self.mechanism.estimate(*pairs_between(self.rows, some, others))

    def edges(self) -> CutEstimate:
        """The number of all edges: `PrivateGraph.count` tells it far more exactly for the same spend."""
        every = np.ones(self.vertices, np.bool_)
        return self.mechanism.estimate(*pairs_between(self.rows, every, every))

    def to_arrow(self) -> pa.Table:
        """The edges of the randomised graph, false ones among them: ``a`` and ``b``, by the numbers of vertices from 0.

        What is computed from them as if they were edges is biased; `cut` corrects that.
        """
        bits = np.unpackbits(self.rows, axis=1, bitorder="little", count=self.vertices)
        later, earlier = np.nonzero(bits)
        return pa.table({"a": pa.array(earlier), "b": pa.array(later)})

    def _members(self, vertices: Iterable[Vertex]) -> NDArray[np.bool_]:
        members, listed = np.zeros(self.vertices, np.bool_), list(vertices)
        if self.named is None:
            numbers = [each - (self.first or 0) if isinstance(each, int | np.integer) else -1 for each in listed]
        else:
            places = {each: i for i, each in enumerate(self.named)}
            numbers = [places.get(each, -1) for each in listed]
        for each, number in zip(listed, numbers, strict=True):
            if not 0 <= number < self.vertices:
                raise ParameterError(f"the graph {self.graph} has no vertex {each!r}")
        members[numbers] = True
        return members

    def content(self) -> dict[str, Any]:
        """The vertices, the noise, and the randomised graph in base 64."""
        return {
            "graph": self.graph,
            "vertices": self.vertices,
            "first": self.first,
            "named": None if self.named is None else list(self.named),
            "noise": _to_json(self.mechanism),
            "pairs": b64encode(packed_pairs(self.rows)).decode(),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> GraphCuts:
        """The inverse of `content`."""
        first, named, vertices = content["first"], content["named"], content["vertices"]
        if not isinstance(content["graph"], str) or (first is None) == (named is None):
            raise TypeError("graph")
        if first is not None and type(first) is not int:
            raise TypeError("first")
        if named is not None and (
            len(named) != vertices
            or not all(isinstance(each, str | int) for each in named)
            or len(set(named)) < vertices
        ):
            raise TypeError("named")
        mechanism = _from_json(content["noise"], vertices)
        rows = unpacked_pairs(b64decode(content["pairs"], validate=True), vertices)
        called = None if named is None else tuple(named)
        return cls(content["graph"], first, called, mechanism, rows, loss, certificate)

    def derived(self, level: float) -> dict[str, Any]:
        """The number of all edges."""
        edges = self.edges()
        return {"edges": edges.value, "std": edges.std, "error": edges.error(level)}

    def header(self) -> list[tuple[str, bool]]:
        """A set with itself, and what is estimated."""
        return [("between", False), ("edges", True), ("std", True), ("± at most", True), ("pairs", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The row as text."""
        edges = self.edges()
        numbers = (edges.value, edges.std, edges.error(level))
        return [["all vertices", *(f"{each:,.6g}" for each in numbers), f"{edges.pairs:,}"]]

    @property
    def shown_rows(self) -> int:
        """One."""
        return 1

    def note(self, level: float = 0.95) -> str:
        """What it is, whom it protects, and how often it is wrong."""
        return (
            f"a randomised graph of {self.graph}, {self.vertices:,} vertices; one edge is protected; "
            f"{100 * float(self.mechanism.flip):.3g} % of pairs are flipped; errors at {100 * level:.10g} %"
        )


@dataclass(frozen=True)
class ReleaseCuts:
    """A randomised graph that answers any cut; see `PrivateGraph.cuts`."""

    graph: str
    spend: Loss

    def prepare(self, terms: Terms) -> PreparedCuts:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        table = edge_table(terms.policy, self.graph)
        terms.accept(table.plan.rows.bounded)
        mechanism = RandomizedGraph.calibrate(self.spend, table.vertices)
        return PreparedCuts(table, mechanism, charged(self.spend), terms.policy)


@dataclass(frozen=True)
class PreparedCuts(PreparedQuestion):
    """A randomised graph that was checked; see `discreet.release.Prepared`."""

    kind = "graph_cuts"
    counts: Literal["people", "edges", "arcs"] = field(default="edges", init=False)

    table: EdgeTable
    mechanism: RandomizedGraph
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {"graph": self.table.name, "vertices": self.table.vertices, "noise": _to_json(self.mechanism)}

    def answer(self, context: ReleaseContext) -> GraphCuts:
        """Read the edges, and flip pairs. Its loss is charged."""
        context.step(0, 2)
        graph = self.table.read(context)
        context.step(1, 2)
        rows = self.mechanism.release(graph)
        named: Any = None if self.table.first is not None else tuple(self.table.places)
        bare = GraphCuts(self.table.name, self.table.first, named, self.mechanism, rows, self.loss, {})
        return bare.certified(
            context.certify({**self.stated, **self.asked, "protects": "edge", "answer": bare.digest()})
        )

    def read(self, payload: bytes) -> GraphCuts:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return GraphCuts.from_bytes(payload)


def _to_json(mechanism: RandomizedGraph) -> dict[str, str]:
    return {"mechanism": "RandomizedGraph", "epsilon": str(mechanism.epsilon), "flip": str(mechanism.flip)}


def _from_json(data: Mapping[str, Any], vertices: int) -> RandomizedGraph:
    """The inverse of `_to_json`. Raises `LedgerError` for anything else, also for a flip that ε does not allow."""
    match data:
        case {"mechanism": "RandomizedGraph", "epsilon": str(epsilon), "flip": str(flip)} if len(epsilon) <= _LONGEST:
            mechanism = RandomizedGraph(vertices, from_exact_text(epsilon))
            if str(mechanism.flip) == flip:
                return mechanism
        case _:
            pass
    raise LedgerError("the flips of this randomised graph are not those of its epsilon")


@refuse_malformed("randomised graph")
def recompute_cuts_loss(certificate: Mapping[str, Any]) -> Loss:
    """What the flips of all pairs lose, one of which an edge changes."""
    check_edges(certificate)
    return total_loss([_from_json(certificate["noise"], certificate["vertices"]).loss()], certificate)


def verify_cuts_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the flips lose more than is stated."""
    check_within("the flips of all pairs", recompute_cuts_loss(certificate), stated_in(certificate))


CUTS_KIND = register(
    ReleaseKind("graph_cuts", GraphCuts.from_bytes, GraphCuts.digests, recompute_cuts_loss, verify_cuts_loss)
)
