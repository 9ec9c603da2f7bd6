"""Features of neighbourhoods as a release: noisy whole numbers by hop, and the array that a learner reads."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs.edge._verify import check_edges
from discreet.graphs.features._aggregation import MOST_COLUMNS, NoisyAggregation
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease, ReleaseKind, check_within, refuse_malformed, register, stated_in

__all__ = ["FEATURES_KIND", "MOST_NUMBERS", "VERTEX", "GraphFeatures", "feature_names", "recompute_features_loss"]

MOST_NUMBERS = 2**26
"""As many numbers a release holds: vertices by columns by hops, and the public vectors."""
VERTEX = "vertex"
_TYPES = ("int16", "int32", "int64")


def feature_names(columns: Sequence[str], hops: int) -> list[str]:
    """The names of the columns of a release, behind that of the vertices.

    >>> feature_names(["age"], 2)
    ['vertex', 'age', 'age, hop 1', 'age, hop 2']
    """
    return [VERTEX, *columns, *(f"{name}, hop {hop}" for hop in range(1, hops + 1) for name in columns)]


@dataclass(frozen=True, repr=False, eq=False)
class GraphFeatures(JsonRelease):
    """Features of each vertex from its neighbourhood, with the privacy of edges. Any learner may read them, for free.

    Attributes
    ----------
    graph
        The graph of the policy.
    aggregation
        The hops, the noise, and how long a vector is at most.
    columns
        The names of the public vectors' columns.
    keys
        The vertices in order: each, or the first of whole numbers that follow each other.
    vectors
        The public vectors, made as long as each other: int64, of shape (vertices, columns).
    noisy
        The noisy sums: int64, of shape (hops, vertices, columns).
    loss, certificate
        As of every release.
    """

    called = "table of features of a graph"
    fields = frozenset({"graph", "aggregation", "columns", "keys", "vertices", "vectors", "noisy"})
    repeated = frozenset({"graph", "aggregation", "columns", "vertices"})

    graph: str
    aggregation: NoisyAggregation
    columns: tuple[str, ...]
    keys: int | tuple[int | str, ...]
    vectors: NDArray[np.int64]
    noisy: NDArray[np.int64]
    loss: Loss
    certificate: Mapping[str, Any]

    def certified(self, certificate: Mapping[str, Any]) -> GraphFeatures:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def vertices(self) -> int:
        """The public number of vertices."""
        return len(self.vectors)

    @property
    def std(self) -> float:
        """The standard deviation of the noise on each number of a sum, of vectors of length 1."""
        return self.aggregation.noise.std / self.aggregation.grid

    def error(self, level: float = 0.95) -> float:
        """How far each number of a sum is off, at most, with probability `level`, of vectors of length 1.

        Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        return self.aggregation.noise.error(level) / self.aggregation.grid

    def to_numpy(self) -> NDArray[np.float64]:
        """What a learner reads: the public vectors, and the noisy sums of each hop, each made as long as 1 again.

        float64, of shape (vertices, (hops + 1) columns), in the order of the vertices.
        """
        return self.aggregation.features(self.vectors, self.noisy)

    def sums(self) -> NDArray[np.float64]:
        """The noisy sums of vectors of length 1 as they are: float64, of shape (hops, vertices, columns)."""
        return self.noisy / self.aggregation.grid

    def to_arrow(self) -> pa.Table:
        """`to_numpy` as a table with a name for each column, behind the vertices in ``vertex``."""
        first: Any = self.keys
        keys: list[Any] = list(range(first, first + self.vertices) if isinstance(first, int) else first)
        arrays = [pa.array(keys), *(pa.array(np.ascontiguousarray(each)) for each in self.to_numpy().T)]
        return pa.Table.from_arrays(arrays, names=feature_names(self.columns, self.aggregation.hops))

    def content(self) -> dict[str, Any]:
        """The noise, the public vectors, and the noisy sums: arrays of whole numbers in base 64, a hop each."""
        return {
            "graph": self.graph,
            "aggregation": self.aggregation.to_json(),
            "columns": list(self.columns),
            "keys": self.keys if isinstance(self.keys, int) else list(self.keys),
            "vertices": self.vertices,
            "vectors": _packed(self.vectors),
            "noisy": [_packed(each) for each in self.noisy],
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> GraphFeatures:
        """The inverse of `content`."""
        aggregation, vertices = NoisyAggregation.from_json(content["aggregation"]), content["vertices"]
        columns, keys = tuple(content["columns"]), content["keys"]
        shape = (vertices, len(columns))
        if type(vertices) is not int or not 0 <= vertices <= MOST_NUMBERS or not 0 < len(columns) <= MOST_COLUMNS:
            raise TypeError("vertices")
        if vertices * len(columns) * (aggregation.hops + 1) > MOST_NUMBERS:
            raise ValueError("numbers")
        if not all(isinstance(each, str) for each in (content["graph"], *columns)):
            raise TypeError("names")
        if type(keys) is not int:
            keys = tuple(keys)
            if len(keys) != vertices or not all(isinstance(key, int | str) for key in keys):
                raise TypeError("keys")
        vectors = _unpacked(content["vectors"], shape)
        if np.square(vectors.astype(object)).sum(axis=1).max(initial=0) > aggregation.grid**2:
            raise ValueError("vectors")
        noisy = np.stack([_unpacked(each, shape) for each in content["noisy"]])
        if len(noisy) != aggregation.hops:
            raise ValueError("hops")
        return cls(content["graph"], aggregation, columns, keys, vectors, noisy, loss, certificate)

    def header(self) -> list[tuple[str, bool]]:
        """A hop, how long a noisy sum is, and how long noise alone would be."""
        return [("hop", True), ("columns", True), ("length of a sum, median", True), ("of noise alone", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """A row for each hop as text."""
        width = len(self.columns)
        alone = f"{self.std * width**0.5:,.3g}"
        lengths = [np.linalg.norm(each, axis=1) for each in self.sums()]
        rows = [[float(np.median(each)) if len(each) else 0.0 for each in lengths]]
        return [[f"{hop}", f"{width:,}", f"{length:,.3g}", alone] for hop, length in enumerate(rows[0], 1)][:first]

    @property
    def shown_rows(self) -> int:
        """How many hops there are."""
        return self.aggregation.hops

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is, and whom it protects."""
        return (
            f"features of {self.graph}, {self.vertices:,} vertices by {len(self.columns) * (self.shown_rows + 1):,}; "
            f"one edge is protected; {in_words(self.loss)}"
        )


def _packed(numbers: NDArray[np.int64]) -> dict[str, str]:
    """Whole numbers in the least of three widths that holds them all, in base 64: little-endian, row by row."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    width = next(each for each in _TYPES if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    narrow = numbers.astype(np.dtype(width).newbyteorder("<"))
    return {"type": width, "data": base64.b64encode(narrow.tobytes()).decode()}


def _unpacked(packed: Mapping[str, Any], shape: tuple[int, int]) -> NDArray[np.int64]:
    if packed["type"] not in _TYPES:
        raise ValueError("type")
    stored = base64.b64decode(packed["data"], validate=True)
    return np.frombuffer(stored, np.dtype(packed["type"]).newbyteorder("<")).reshape(shape).astype(np.int64)


@refuse_malformed("table of features of a graph")
def recompute_features_loss(certificate: Mapping[str, Any]) -> Loss:
    """What all hops lose for one edge. Raises `LedgerError` for what cannot be followed."""
    check_edges(certificate)
    aggregation = NoisyAggregation.from_json(certificate["aggregation"])
    return aggregation.loss()


def verify_features_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the hops lose more than is stated."""
    check_within("all hops together", recompute_features_loss(certificate), stated_in(certificate))


FEATURES_KIND = register(
    ReleaseKind(
        "graph_features",
        GraphFeatures.from_bytes,
        GraphFeatures.digests,
        recompute_features_loss,
        verify_features_loss,
    )
)
