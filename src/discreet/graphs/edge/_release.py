"""What was released of a graph with the privacy of edges: counts and ratios of them, and sorted degrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.charts import load_altair
from discreet.errors import ParameterError
from discreet.graphs._directed_graph import Direction
from discreet.graphs.edge._degrees import degree_band, sorted_degrees
from discreet.graphs.edge._measurements import COMPOUND, RECIPROCITY, Measurement, measurement_from_json
from discreet.graphs.edge._pictures import degree_chart
from discreet.graphs.edge._smooth_count import SmoothCount
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease

__all__ = ["GraphCount", "GraphDegrees", "direction_in", "is_directed", "possible_edges", "same_in"]

_MOST_VERTICES = 2**28
_MOST_BITS = 1_000
Read = TypeVar("Read")


@dataclass(frozen=True, repr=False, eq=False)
class GraphCount(JsonRelease):
    """A statistic of a graph, with the privacy of its edges. It may be shown to anyone.

    Attributes
    ----------
    graph, vertices
        The graph of the policy, and its public number of vertices.
    statistic
        What was asked for.
    measurements
        What was measured, with which noise.
    noisy
        The noisy integers, one for each measurement, and two for `reciprocity`.
    loss, certificate
        As of every release; the certificate lists every measurement.
    directed
        Whether the graph is directed, and one arc is protected.
    """

    called = "count of a graph"
    fields = frozenset({"graph", "vertices", "statistic", "measured", "noisy"})
    optional = frozenset({"directed"})
    repeated = frozenset({"graph", "vertices", "statistic", "measured"})
    left_out = "value and error follow from the noisy numbers"

    graph: str
    vertices: int
    statistic: str
    measurements: tuple[Measurement, ...]
    noisy: tuple[int, ...]
    loss: Loss
    certificate: Mapping[str, Any]
    directed: bool = False

    def certified(self, certificate: Mapping[str, Any]) -> GraphCount:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def value(self) -> int | float:
        """The statistic: a noisy integer, or for global clustering three times the triangles by the 2-stars.

        Of a ratio both numbers are kept above 0 and it is at most 1; average clustering is between 0 and 1.
        Degree assortativity, from −1 to 1, is 0 where the noisy numbers leave no variance of degrees. Reciprocity, the
        share of arcs that are returned, is twice the mutual pairs by the arcs, and 0 without arcs.
        """
        if self.statistic == "average clustering":
            return min(max(float(self.noisy[0] * self.measurements[0].unit), 0.0), 1.0)
        if self.statistic == "density":
            pairs = possible_edges(self.vertices, directed=self.directed)
            return min(max(self.noisy[0] / pairs, 0.0), 1.0) if pairs else 0.0
        if self.statistic == "reciprocity":
            return _reciprocity(*self.noisy)
        if self.statistic == "global clustering":
            triangles, stars = self.noisy
            return min(max(3 * triangles, 0) / max(stars, 1), 1.0)
        if self.statistic == "degree assortativity":
            return _degree_assortativity(*self.noisy)
        return self.noisy[0]

    def error(self, level: float = 0.95) -> float | None:
        """How far the value is from the exact one, at most, with probability `level`; None where that is not public.

        The scale of noise for triangles, stars and other subgraphs depends on the graph, and telling it would tell of
        edges. A plan tells the error under an assumption. That of reciprocity is the most that both noisy numbers
        allow. Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        mechanism = self.measurements[0].mechanism
        if isinstance(mechanism, SmoothCount) or len(self.measurements) > 1:
            return None
        if self.statistic == "reciprocity":
            half = int(mechanism.error((1 + level) / 2))
            joined, mutual = self.noisy
            ends = _reciprocity(joined + half, mutual - half), _reciprocity(joined - half, mutual + half)
            return max(abs(end - self.value) for end in ends)
        half = mechanism.error(level)
        pairs = possible_edges(self.vertices, directed=self.directed)
        return half / max(pairs, 1) if self.statistic == "density" else float(half)

    def content(self) -> dict[str, Any]:
        """What was asked for, the noise, and the noisy integers."""
        return {
            "graph": self.graph,
            "vertices": self.vertices,
            "statistic": self.statistic,
            "measured": [each.to_json() for each in self.measurements],
            "noisy": list(self.noisy),
            **({"directed": True} if self.directed else {}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> GraphCount:
        """The inverse of `content`."""
        directed = same_in(content, certificate, is_directed)
        measurements = tuple(measurement_from_json(each, directed=directed) for each in content["measured"])
        noisy = tuple(content["noisy"])
        statistic = str(content["statistic"])
        counted = [""] if directed else COMPOUND.get(statistic, [statistic])
        if len(measurements) != len(counted) or len(noisy) != sum(each.numbers for each in measurements):
            raise ValueError("measurements")
        if (statistic == "reciprocity") != (measurements[0].statistic == RECIPROCITY):
            raise ValueError("reciprocity")
        if not all(type(each) is int for each in noisy) or not isinstance(content["graph"], str):
            raise TypeError("noisy")
        if any(each.bit_length() > _MOST_BITS for each in noisy):
            raise ValueError("noisy")
        return cls(content["graph"], _vertices(content), statistic, measurements, noisy, loss, certificate, directed)

    def derived(self, level: float) -> dict[str, Any]:
        """The value, and its error where that is public."""
        return {"value": self.value, "error": self.error(level)}

    def header(self) -> list[tuple[str, bool]]:
        """The statistic, its value and its error."""
        return [("statistic", False), ("value", True), ("± at most", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The row as text."""
        error = self.error(level)
        value = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.6f}"
        return [[self.statistic, value, "not public" if error is None else f"{error:,.6g}"]]

    @property
    def shown_rows(self) -> int:
        """One."""
        return 1

    def note(self, level: float = 0.95) -> str:
        """What it is, and whom it protects."""
        protected = "arc" if self.directed else "edge"
        return (
            f"graph {self.graph}, {self.vertices:,} vertices; one {protected} is protected; errors at "
            f"{100 * level:.10g} %"
        )


@dataclass(frozen=True, repr=False, eq=False)
class GraphDegrees(JsonRelease):
    """The sorted degrees of a graph, with the privacy of its edges: from the highest, and those of some graph.

    Of a directed graph those of one direction, with the privacy of its arcs.

    Attributes
    ----------
    graph
        The graph of the policy.
    mechanism
        The noise on each sorted degree.
    noisy
        The sorted degrees with noise: int64, of shape (vertices,).
    loss, certificate
        As of every release.
    direction
        Of a directed graph ``"out"`` or ``"in"``, else None.
    """

    called = "list of degrees"
    fields = frozenset({"graph", "noise", "noisy"})
    optional = frozenset({"direction"})
    repeated = frozenset({"graph", "noise"})
    left_out = "degrees follow from the noisy numbers"

    graph: str
    mechanism: Additive
    noisy: NDArray[np.int64]
    loss: Loss
    certificate: Mapping[str, Any]
    direction: Direction | None = None

    def certified(self, certificate: Mapping[str, Any]) -> GraphDegrees:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def vertices(self) -> int:
        """The public number of vertices."""
        return len(self.noisy)

    def degrees(self) -> NDArray[np.int64]:
        """The degrees from the highest: least squares among falling sequences, graphical. Which vertex has which is
        not released. Those of one direction are any numbers of other vertices, as some directed graph has any such.
        """
        return sorted_degrees(self.noisy, directed=self.direction is not None)

    def band(self, level: float = 0.95) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest that each sorted degree can be: all of them together with probability `level`.

        Two arrays, int64, of shape (vertices,). Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        each = 1 - (1 - level) / max(self.vertices, 1)
        return degree_band(self.noisy, int(self.mechanism.error(each)))

    def plot(self, level: float = 0.95) -> Any:
        """An altair chart of the sorted degrees with their band. Raises as `band`, or `MissingExtra` without it."""
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        low, high = self.band(level)
        notes = [
            f"band: all degrees at {100 * level:.10g} %",
            f"one {self._protected} is protected",
            f"cost {in_words(self.loss)}",
        ]
        return degree_chart(self.degrees(), low, high, f"{self._named.capitalize()} of {self.graph}", notes)

    def distribution(self) -> NDArray[np.int64]:
        """How many vertices have each degree from 0 to n − 1: int64, of shape (vertices,)."""
        return np.bincount(self.degrees(), minlength=self.vertices).astype(np.int64)

    def to_arrow(self) -> pa.Table:
        """A row for each degree that some vertex has: ``degree`` and ``vertices``."""
        values, times = np.unique(self.degrees(), return_counts=True)
        return pa.Table.from_pydict({"degree": values, "vertices": times})

    def content(self) -> dict[str, Any]:
        """The noise, and the noisy numbers."""
        return {
            "graph": self.graph,
            "noise": additive_to_json(self.mechanism),
            "noisy": self.noisy.tolist(),
            **({} if self.direction is None else {"direction": self.direction}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> GraphDegrees:
        """The inverse of `content`."""
        noisy = content["noisy"]
        if not isinstance(noisy, list) or len(noisy) > _MOST_VERTICES or not all(type(each) is int for each in noisy):
            raise TypeError("noisy")
        numbers = np.array(noisy, np.int64) if noisy else np.empty(0, np.int64)
        direction = same_in(content, certificate, direction_in)
        return cls(str(content["graph"]), additive_from_json(content["noise"]), numbers, loss, certificate, direction)

    def derived(self, level: float) -> dict[str, Any]:  # noqa: ARG002
        """The degrees."""
        return {"degrees": self.degrees().tolist()}

    def header(self) -> list[tuple[str, bool]]:
        """A degree, and how many vertices have it."""
        return [("degree", True), ("vertices", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The distribution as text, from the lowest degree."""
        table = self.to_arrow().slice(0, first).to_pydict()
        return [[f"{a:,}", f"{b:,}"] for a, b in zip(table["degree"], table["vertices"], strict=True)]

    @property
    def shown_rows(self) -> int:
        """How many degrees some vertex has."""
        return self.to_arrow().num_rows

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is, and whom it protects."""
        return (
            f"{self._named} of {self.graph}, {self.vertices:,} vertices; one {self._protected} is protected; "
            f"{in_words(self.loss)}"
        )

    @property
    def _named(self) -> str:
        return "degrees" if self.direction is None else f"{self.direction}-degrees"

    @property
    def _protected(self) -> str:
        return "edge" if self.direction is None else "arc"


def possible_edges(vertices: int, *, directed: bool) -> int:
    """How many edges, or arcs, so many vertices can have.

    >>> possible_edges(4, directed=False), possible_edges(4, directed=True)
    (6, 12)
    """
    return vertices * (vertices - 1) // (1 if directed else 2)


def is_directed(content: Mapping[str, Any]) -> bool:
    """Whether a release or its certificate is of a directed graph. Raises `TypeError` for what is no such mark."""
    directed = content.get("directed", False)
    if type(directed) is not bool or ("directed" in content and not directed):
        raise TypeError("directed")
    return directed


def direction_in(content: Mapping[str, Any]) -> Direction | None:
    """Which degrees a release or its certificate is of. Raises `TypeError` for what is no direction."""
    direction = content.get("direction")
    if direction not in (None, "out", "in") or ("direction" in content and direction is None):
        raise TypeError("direction")
    return direction


def same_in(
    content: Mapping[str, Any], certificate: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Read]
) -> Read:
    """What a release says, if its certificate says the same. Raises `ValueError` if not."""
    value = read(content)
    if certificate and read(certificate) != value:
        raise ValueError("the release and its certificate disagree")
    return value


def _reciprocity(joined: int, mutual: int) -> float:
    """The share of arcs that are returned, of so many joined pairs, of which so many are mutual.

    >>> _reciprocity(3, 1), _reciprocity(0, -2), _reciprocity(2, 3)
    (0.5, 0.0, 1.0)
    """
    mutual = max(mutual, 0)
    return 2 * mutual / (max(joined, mutual) + mutual) if mutual else 0.0


def _degree_assortativity(edges: int, pairs: int, triples: int, products: int) -> float:
    """The correlation of the degrees of joined vertices, from edges, 2-stars, 3-stars and products of degrees."""
    ends = 2 * max(edges, 1)
    mean = (2 * pairs + ends) / ends
    variance = (6 * triples + 6 * pairs + ends) / ends - mean**2
    return min(max((2 * products / ends - mean**2) / variance, -1.0), 1.0) if variance > 0 else 0.0


def _vertices(content: Mapping[str, Any]) -> int:
    vertices = content["vertices"]
    if type(vertices) is not int or not 0 <= vertices < 2**31:
        raise TypeError("vertices")
    return vertices
