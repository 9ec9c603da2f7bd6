"""What is measured of a graph for an answer: statistics by name, each with its noise, within one spend."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.graphs import counts
from discreet.graphs._declared import AS_UNDIRECTED
from discreet.graphs._directed_graph import DirectedGraph
from discreet.graphs._graph import Graph
from discreet.graphs.counts import (
    Cliques,
    ClusteringSum,
    Count,
    CountedGraph,
    DegreeProducts,
    FourCycles,
    Stars,
    Triangles,
    facts_of,
)
from discreet.graphs.edge._smooth_count import SmoothCount, pure_epsilon
from discreet.prices import Additive, Prices, additive_from_json, additive_to_json, with_noise
from discreet.privacy import ApproxLoss, Loss, PureLoss, RhoLoss, budget_of
from discreet.rational import from_exact_text
from discreet.sensitivity import Norms

__all__ = [
    "COMPOUND",
    "DIRECTED_STATISTICS",
    "RECIPROCITY",
    "STATISTICS",
    "Measurement",
    "additive_prices",
    "charged",
    "countable_in_engine",
    "measurement",
    "measurement_from_json",
    "measurements",
    "subgraph_count",
]

STATISTICS = (
    *("edges", "components", "largest degree", "degeneracy"),
    *("triangles", "4-cycles", "k-stars, as 2-stars", "k-cliques, as 4-cliques", "average clustering"),
    *("global clustering", "degree assortativity"),
)
"""Names of what can be counted, as an error lists them."""


RECIPROCITY = "joined and mutual pairs"
"""What reciprocity is computed from. One arc is the first of its pair, or makes it mutual: one number moves by 1."""

DIRECTED_STATISTICS = ("edges", "density", "reciprocity", "components", "largest out-degree", "largest in-degree")
"""Names of what can be counted of a directed graph."""

COMPOUND: Mapping[str, Mapping[str, Fraction]] = {
    "global clustering": {"triangles": Fraction(1, 2), "2-stars": Fraction(1, 2)},
    "degree assortativity": {
        "edges": Fraction(1, 10),
        "2-stars": Fraction(3, 10),
        "3-stars": Fraction(3, 10),
        "degree products": Fraction(3, 10),
    },
}
"""Statistics of several counts, and which part of the spend each count has."""


def _edges(graph: Graph | CountedGraph) -> int:
    return facts_of(graph).edges()


def _largest_degree(graph: Graph | CountedGraph) -> int:
    return int(facts_of(graph).degree_counts()[0].max(initial=0))


_OF_DEGREES: Mapping[str, Callable[[Graph | CountedGraph], int]] = {
    "edges": _edges,
    "largest degree": _largest_degree,
}
_MOVED_BY_ONE: Mapping[str, Callable[[Any], int]] = {
    **_OF_DEGREES,
    "components": counts.components,
    "degeneracy": counts.degeneracy,
}
_MOVED_BY_ONE_ARC: Mapping[str, Callable[[DirectedGraph], tuple[int, ...]]] = {
    "edges": lambda graph: (graph.arcs,),
    "components": lambda graph: (counts.components(graph.undirected()),),
    "largest out-degree": lambda graph: (int(graph.degrees("out").max(initial=0)),),
    "largest in-degree": lambda graph: (int(graph.degrees("in").max(initial=0)),),
    RECIPROCITY: lambda graph: (graph.arcs - (mutual := graph.mutual_pairs()), mutual),
}
"""Numbers of which one arc moves one by 1 at most, and the others not at all."""
_COUNTED_IN_ENGINE = ("edges", "density", "largest degree", "triangles", "k-stars", "global clustering", "degrees")
_LONGEST = 100
_MOST_BITS = 900
_ONE = Norms(1, 1, 1)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One statistic of a graph with noise.

    Attributes
    ----------
    statistic
        Its name.
    mechanism
        Noise of a public scale for what an edge moves by 1 at most, or a `SmoothCount`.
    """

    statistic: str
    mechanism: Additive | SmoothCount

    @property
    def loss(self) -> Loss:
        """What it loses for one edge."""
        return self.mechanism.loss() if isinstance(self.mechanism, SmoothCount) else self.mechanism.loss(_ONE)

    @property
    def scale_is_public(self) -> bool:
        """Whether the noise is the same for all graphs, so that its error can be told."""
        return not isinstance(self.mechanism, SmoothCount)

    @property
    def unit(self) -> Fraction:
        """What one of the noisy integer is of the statistic."""
        return self.mechanism.statistic.unit if isinstance(self.mechanism, SmoothCount) else Fraction(1)

    @property
    def numbers(self) -> int:
        """How many noisy integers it is."""
        return 2 if self.statistic == RECIPROCITY else 1

    @property
    def pairs(self) -> bool:
        """Whether its noise depends on the neighbours of pairs of vertices."""
        return isinstance(self.mechanism, SmoothCount)

    @property
    def triangles(self) -> bool:
        """Whether it counts triangles."""
        return isinstance(self.mechanism, SmoothCount) and isinstance(self.mechanism.statistic, Triangles)

    def draw(self, graph: Graph | CountedGraph | DirectedGraph) -> tuple[int, ...]:
        """The statistic with noise, as so many integers. Costs `loss`, and charges nobody."""
        if isinstance(self.mechanism, SmoothCount):
            assert isinstance(graph, Graph | CountedGraph)
            return (self.mechanism.release(graph),)
        if isinstance(graph, DirectedGraph):
            exact = _MOVED_BY_ONE_ARC[self.statistic](graph)
        else:
            exact = (_MOVED_BY_ONE[self.statistic](graph),)
        return tuple(with_noise(np.array(exact, np.int64), self.mechanism).tolist())

    def to_json(self) -> dict[str, Any]:
        """The measurement as plain JSON."""
        if isinstance(self.mechanism, SmoothCount):
            noise = {
                "mechanism": "SmoothCount",
                "epsilon": str(self.mechanism.epsilon),
                "shape": self.mechanism.shape,
                "vertices": self.mechanism.statistic.vertices,
            }
        else:
            noise = additive_to_json(self.mechanism)
        return {"statistic": self.statistic, **noise}


def measurement(statistic: object, vertices: int, spend: Loss) -> Measurement:
    """The measurement of a statistic by its name, for a spend.

    Raises `QueryError` for a name that is none, `ParameterError` for a spend that buys no noise.
    """
    if statistic in _MOVED_BY_ONE:
        prices = additive_prices(spend, _ONE)
        return Measurement(str(statistic), prices.measurement(prices.total))
    count = subgraph_count(statistic, vertices)
    return Measurement(str(statistic), SmoothCount.calibrate(spend, count))


def measurements(statistic: str, vertices: int, spend: Loss, *, directed: bool = False) -> tuple[Measurement, ...]:
    """The measurements of a statistic, together for a spend. Raises as `measurement`."""
    if directed:
        return (_of_arcs(statistic, spend),)
    if statistic in COMPOUND:
        counted = COMPOUND[statistic]
        return tuple(measurement(name, vertices, part_of(spend, share)) for name, share in counted.items())
    return (measurement("edges" if statistic == "density" else statistic, vertices, spend),)


def countable_in_engine(measured: tuple[Measurement, ...]) -> None:
    """Raise `QueryError` unless an engine can count all that is measured."""
    for each in measured:
        mechanism = each.mechanism
        reads = mechanism.statistic.reads if isinstance(mechanism, SmoothCount) else ()
        if CountedGraph not in reads and each.statistic not in _OF_DEGREES:
            raise QueryError(
                f"{each.statistic} are counted in memory alone; an engine counts {', '.join(_COUNTED_IN_ENGINE)}: open "
                'the graph with counted="memory", or count one of these'
            )


def measurement_from_json(data: Mapping[str, Any], *, directed: bool = False) -> Measurement:
    """The inverse of `Measurement.to_json`. Raises `LedgerError` or `KeyError` for anything else."""
    match data:
        case {"statistic": str(name), **noise} if directed and name in _MOVED_BY_ONE_ARC:
            return Measurement(name, additive_from_json(dict(noise)))
        case _ if directed:
            raise LedgerError("the certificate names a statistic that no directed graph has")
        case {"statistic": str(name), "mechanism": "SmoothCount", "epsilon": str(epsilon), "shape": int(shape)}:
            if len(epsilon) > _LONGEST:
                raise LedgerError("a mechanism of this release has a parameter longer than any that it is run with")
            try:
                count = subgraph_count(name, data["vertices"])
            except QueryError:
                raise LedgerError("the certificate names a statistic that no graph has") from None
            return Measurement(name, SmoothCount(count, from_exact_text(epsilon), shape))
        case {"statistic": str(name), **noise} if name in _MOVED_BY_ONE:
            return Measurement(name, additive_from_json(dict(noise)))
        case _:
            raise LedgerError("a measurement of this graph is not in the format of this version of discreet")


def additive_prices(spend: Loss, norms: Norms) -> Prices:
    """What a spend buys of noise of a public scale. The δ of an (ε, δ) is not needed: Laplace noise does with ε."""
    kind, (amount, *_) = budget_of(spend)
    return Prices.of_spend(PureLoss(amount) if kind == "approx" and amount > 0 else spend, norms)


def charged(spend: Loss) -> Loss:
    """What is charged for a spend: all of it, but for the δ of an (ε, δ), which no measurement here needs.

    >>> from discreet.privacy import approx
    >>> charged(approx("0.5", "1e-6"))
    pure(0.5)
    """
    kind, (amount, *_) = budget_of(spend)
    return PureLoss(amount) if kind == "approx" else spend


def part_of(spend: Loss, share: Fraction) -> Loss:
    """A share of a spend, for one of several measurements.

    >>> from discreet.privacy import rho
    >>> part_of(rho("0.5"), Fraction(1, 2))
    rho(0.25)
    """
    match budget_of(spend):
        case "rho", (amount, *_):
            return RhoLoss(amount * share, amount * 0)
        case "approx", (amount, delta):
            return ApproxLoss(amount * share, delta * share)
        case "pure", (amount, *_):
            return PureLoss(amount * share)
        case _:
            pure_epsilon(spend)
            raise ParameterError("this spend cannot be divided")


def _of_arcs(statistic: object, spend: Loss) -> Measurement:
    if statistic not in DIRECTED_STATISTICS:
        raise QueryError(
            f"a directed graph has no statistic {statistic!r}; count {', '.join(DIRECTED_STATISTICS)}; or "
            + AS_UNDIRECTED
        )
    measured = {"density": "edges", "reciprocity": RECIPROCITY}.get(str(statistic), str(statistic))
    prices = additive_prices(spend, _ONE)
    return Measurement(measured, prices.measurement(prices.total))


def subgraph_count(name: object, vertices: int) -> Count:
    """The count of a name. Raises `QueryError` for a name that is none, and for a count beyond what floats hold."""
    count = _named_count(name, vertices)
    if count.most.bit_length() > _MOST_BITS:
        raise QueryError(f"{name} of {vertices:,} vertices can be too many to be counted: count smaller ones")
    return count


def _named_count(name: object, vertices: int) -> Count:
    if isinstance(name, str):
        if name == "triangles":
            return Triangles(vertices)
        if name == "4-cycles":
            return FourCycles(vertices)
        if name == "degree products":
            return DegreeProducts(vertices)
        if name == "average clustering":
            return ClusteringSum(vertices)
        parts = re.fullmatch(r"([1-9]\d?)-(stars|cliques)", name)
        if parts is not None:
            size, kind = int(parts[1]), parts[2]
            if kind == "stars" and 2 <= size <= 64:
                return Stars(vertices, size)
            if kind == "cliques" and 3 <= size <= 64:
                return Cliques(vertices, size)
    raise QueryError(f"a graph has no statistic {name!r}; count {', '.join(STATISTICS)}")
