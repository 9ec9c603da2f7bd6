"""What was released of mixing: noisy numbers of edges between values of a public attribute, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.charts import chart, load_altair
from discreet.errors import ParameterError
from discreet.graphs.edge._release import is_directed, same_in
from discreet.graphs.edge._verify import check_edges, total_loss
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease, ReleaseKind, check_within, refuse_malformed, register, stated_in
from discreet.sensitivity import Norms

__all__ = ["MIXING_KIND", "MIXING_MOVED", "GraphMixing", "Value"]

Value = str | int | bool
MIXING_MOVED = Norms(1, 1, 1)
"""How far one edge moves the numbers of edges between values: one of them by 1."""
_MOST_VALUES = 1001
_MOST_VERTICES = 2**31


@dataclass(frozen=True, repr=False, eq=False)
class GraphMixing(JsonRelease):
    """How many edges join each two values of a public attribute, with the privacy of edges. It may be shown to anyone.

    Attributes
    ----------
    graph, attribute
        The graph of the policy, and the attribute, as ``"people.dept"``.
    values
        What a vertex can have: those of the policy, and at the end None, for vertices without one of them.
    sizes
        How many vertices have each: public, and exact.
    mechanism
        The noise on each number of edges.
    noisy
        The noisy numbers of edges, for each pair i ≤ j of values, row by row: int64, of shape (v (v + 1)/2,) for v
        values. Of a directed graph those of arcs from each i to each j, of shape (v²,).
    loss, certificate
        As of every release.
    directed
        Whether the graph is directed, and one arc is protected.
    """

    called = "mixing matrix"
    fields = frozenset({"graph", "attribute", "values", "sizes", "noise", "noisy"})
    optional = frozenset({"directed"})
    repeated = frozenset({"graph", "attribute", "noise"})
    left_out = "errors and assortativity follow from the noisy numbers"

    graph: str
    attribute: str
    values: tuple[Value | None, ...]
    sizes: tuple[int, ...]
    mechanism: Additive
    noisy: NDArray[np.int64]
    loss: Loss
    certificate: Mapping[str, Any]
    directed: bool = False

    def certified(self, certificate: Mapping[str, Any]) -> GraphMixing:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """How many pairs of vertices have each two values: public, int64, of the shape of `noisy`."""
        sizes = np.array(self.sizes, np.int64)
        every = np.multiply.outer(sizes, sizes)
        np.fill_diagonal(every, sizes * (sizes - 1) // (1 if self.directed else 2))
        return every[self._cells()]

    def matrix(self) -> NDArray[np.int64]:
        """The noisy numbers of edges as a symmetric matrix: int64, of shape (v, v), in the order of `values`.

        On the diagonal are edges within one value. Unbiased, so that noise may leave a number below 0; it is 0 where no
        pair of vertices is. Of a directed graph arcs are in the row of their tail and the column of their head.
        """
        size = len(self.values)
        matrix = np.zeros((size, size), np.int64)
        matrix[self._cells()] = np.where(self.pairs > 0, self.noisy, 0)
        return matrix if self.directed else matrix + np.triu(matrix, 1).T

    def error(self, level: float = 0.95) -> float:
        """How far each number of edges is from the exact one, at most, with probability `level`.

        Raises `ParameterError` unless 0 < level < 1.
        """
        return float(self.mechanism.error(_checked(level)))

    @property
    def assortativity(self) -> float | None:
        """The assortativity coefficient of the attribute, from −1 to 1: 1 if edges are within values alone.

        It is 1 − (1 − T)/(1 − S), T being the share of edges within a value and S what it would be for ends joined at
        random, tails with heads; None where the noisy numbers leave no edges, or one value alone. What noise adds to S
        on average is taken off. Source: Newman 2003, section II; ``proofs/graph_mixing.md``.
        """
        share = self._shares()
        return None if share is None else min(max(1 - (1 - share[0]) / (1 - share[1]), -1.0), 1.0)

    def assortativity_error(self, level: float = 0.95) -> float | None:
        """How far `assortativity` is from the exact one, about, with probability `level`: None where that is None.

        By the derivative of the coefficient, at the noisy numbers: an approximation, good where noise is small beside
        the number of edges. Raises `ParameterError` unless 0 < level < 1.
        """
        _checked(level)
        share = self._shares()
        if share is None:
            return None
        within, random = share
        edges, tails, heads = self._ends()
        moved = np.add.outer(heads, tails) / edges**2 if self.directed else np.add.outer(heads, tails) / (2 * edges**2)
        joined = moved - 2 * random / edges
        slopes = (np.eye(len(heads)) - within) / edges / (1 - random) - (1 - within) * joined / (1 - random) ** 2
        free = slopes[self._cells()][self.pairs > 0]
        return NormalDist().inv_cdf((1 + level) / 2) * self.mechanism.std * sqrt(float((free**2).sum()))

    def _shares(self) -> tuple[float, float] | None:
        """T and S of the noisy numbers."""
        edges, tails, heads = self._ends()
        if edges <= 0:
            return None
        possible = np.zeros((len(heads), len(heads)), np.int64)
        possible[self._cells()] = self.pairs > 0
        within, across = float(np.trace(possible)), float(np.triu(possible, 1).sum())
        added = self.mechanism.std**2 * (within if self.directed else 4 * within + 2 * across)
        together = float((tails.astype(float) * heads).sum()) - added
        random = together / (edges**2 if self.directed else 4 * edges**2)
        return None if random >= 1 else (float(np.trace(self.matrix())) / edges, random)

    def _ends(self) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """The noisy number of edges, and those of tails and of heads with each value: without directions all ends."""
        matrix = self.matrix()
        if self.directed:
            return int(matrix.sum()), matrix.sum(axis=1), matrix.sum(axis=0)
        ends = matrix.sum(axis=0) + np.diag(matrix)
        return int(np.triu(matrix).sum()), ends, ends

    def _cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows and the columns of `noisy` in a matrix."""
        size = len(self.values)
        if self.directed:
            rows, columns = np.divmod(np.arange(size**2), size)
            return rows, columns
        return np.triu_indices(size)

    def to_arrow(self) -> pa.Table:
        """A row for each two values that some vertices have: ``a``, ``b``, ``edges``, and ``pairs`` of vertices.

        Of a directed graph arcs go from ``a`` to ``b``.
        """
        rows, columns = self._cells()
        pairs = self.pairs
        there = np.flatnonzero(pairs > 0)
        a, b = ([self.values[i] for i in places[there]] for places in (rows, columns))
        return pa.Table.from_pydict({"a": a, "b": b, "edges": self.noisy[there], "pairs": pairs[there]})

    def plot(self, level: float = 0.95) -> Any:
        """An altair heat map of `matrix`, errors at `level`. Raises as `error`, or `MissingExtra` without altair."""
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        matrix, half = self.matrix(), self.error(level)
        names = ["none" if each is None else str(each) for each in self.values]
        some = [i for i, size in enumerate(self.sizes) if size]
        cells = [(i, j) for i in some for j in some if i != j or self.sizes[i] > 1]
        column = self.attribute.rpartition(".")[2]
        ends = (f"{column} of tail", f"{column} of head") if self.directed else (column, f"other {column}")
        table = pa.table(
            {
                ends[0]: pa.array([names[i] for i, _ in cells], pa.string()),
                ends[1]: pa.array([names[j] for _, j in cells], pa.string()),
                "edges": pa.array([int(matrix[cell]) for cell in cells], pa.int64()),
            }
        )
        notes = [
            f"errors at {100 * level:.10g} %",
            f"one {self._protected} is protected",
            f"cost {in_words(self.loss)}",
        ]
        return chart(table, {"edges": [half] * len(cells)}, words={"edges": f"edges of {self.graph}"}, notes=notes)

    def content(self) -> dict[str, Any]:
        """The public values and how many vertices have them, the noise, and the noisy numbers."""
        return {
            "graph": self.graph,
            "attribute": self.attribute,
            "values": list(self.values),
            "sizes": list(self.sizes),
            "noise": additive_to_json(self.mechanism),
            "noisy": self.noisy.tolist(),
            **({"directed": True} if self.directed else {}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> GraphMixing:
        """The inverse of `content`."""
        values, sizes, noisy = content["values"], content["sizes"], content["noisy"]
        if not all(isinstance(content[name], str) for name in ("graph", "attribute")):
            raise TypeError("names")
        if not all(isinstance(each, list) for each in (values, sizes, noisy)) or len(values) > _MOST_VALUES:
            raise TypeError("lists")
        if values[-1] is not None or not all(isinstance(each, str | int) for each in values[:-1]):
            raise TypeError("values")
        if len(set(map(repr, values))) < len(values) or len(sizes) != len(values):
            raise ValueError("values")
        if not all(type(each) is int and 0 <= each < _MOST_VERTICES for each in sizes):
            raise TypeError("sizes")
        directed = same_in(content, certificate, is_directed)
        cells = len(values) ** 2 if directed else len(values) * (len(values) + 1) // 2
        if len(noisy) != cells or not all(type(each) is int for each in noisy):
            raise TypeError("noisy")
        mechanism, numbers = additive_from_json(content["noise"]), np.array(noisy, np.int64)
        names = content["graph"], content["attribute"]
        return cls(*names, tuple(values), tuple(sizes), mechanism, numbers, loss, certificate, directed)

    def derived(self, level: float) -> dict[str, Any]:
        """The error of each number, and the assortativity with its own."""
        return {
            "error": self.error(level),
            "assortativity": self.assortativity,
            "assortativity_error": self.assortativity_error(level),
        }

    def header(self) -> list[tuple[str, bool]]:
        """Two values, and the edges between them."""
        return [("a", False), ("b", False), ("edges", True), ("± at most", True), ("pairs", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The rows as text."""
        half, table = f"{self.error(level):,.6g}", self.to_arrow().slice(0, first).to_pylist()
        shown = [["none" if row[end] is None else str(row[end]) for end in ("a", "b")] for row in table]
        return [[*ends, f"{row['edges']:,}", half, f"{row['pairs']:,}"] for ends, row in zip(shown, table, strict=True)]

    @property
    def shown_rows(self) -> int:
        """How many pairs of values some pair of vertices has."""
        return int((self.pairs > 0).sum())

    def note(self, level: float = 0.95) -> str:
        """What it is, whom it protects, and the assortativity."""
        value, error = self.assortativity, self.assortativity_error(level)
        mixed = "" if value is None or error is None else f"; assortativity {value:.3f} ± {error:.3f}, about"
        return (
            f"{self._protected}s of {self.graph} by {self.attribute}; one {self._protected} is protected; errors at "
            f"{100 * level:.10g} %{mixed}"
        )

    @property
    def _protected(self) -> str:
        return "arc" if self.directed else "edge"


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
    return level


@refuse_malformed("mixing matrix")
def recompute_mixing_loss(certificate: Mapping[str, Any]) -> Loss:
    """What the noise on all numbers loses, one of which an edge moves by 1."""
    check_edges(certificate)
    return total_loss([additive_from_json(certificate["noise"]).loss(MIXING_MOVED)], certificate)


def verify_mixing_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the noise loses more than is stated."""
    check_within("the noise on all numbers of edges", recompute_mixing_loss(certificate), stated_in(certificate))


MIXING_KIND = register(
    ReleaseKind("graph_mixing", GraphMixing.from_bytes, GraphMixing.digests, recompute_mixing_loss, verify_mixing_loss)
)
