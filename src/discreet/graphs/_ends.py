"""Pairs of vertices as arrays, from which graphs with directions and without are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError

__all__ = ["as_pairs", "checked_ends", "checked_vertices", "distinct_ends", "ends_table", "numbered_edges"]

_MOST_VERTICES = 2**31
"""A pair of vertices is one number of 62 bits."""


def checked_vertices(vertices: object) -> int:
    """A number of vertices. Raises `ParameterError` for anything else."""
    if isinstance(vertices, bool) or not isinstance(vertices, int | np.integer) or not 0 <= vertices < _MOST_VERTICES:
        raise ParameterError(f"a graph has from 0 to {_MOST_VERTICES - 1} vertices, an integer")
    return int(vertices)


def as_pairs(pairs: ArrayLike) -> NDArray[np.int64]:
    """Pairs as int64, of shape (m, 2). Raises `ParameterError` for anything else."""
    try:
        array = np.asarray(pairs)
    except ValueError:
        raise ParameterError("the edges of a graph are pairs of vertices, of shape (m, 2)") from None
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ParameterError("the edges of a graph are pairs of vertices: integers, of shape (m, 2)")
    return array.astype(np.int64, copy=False)


def checked_ends(vertices: int, pairs: ArrayLike, *, directed: bool) -> NDArray[np.int64] | None:
    """The ends of the edges of a simple graph, to which nobody can write; None if the pairs are not so.

    They are unique, sorted, and of different vertices, of which the smaller comes first unless they are directed.
    """
    ends = as_pairs(pairs)
    ends = ends.copy() if ends is pairs else ends
    tails, heads = ends.T
    keys = tails * vertices + heads
    loops = tails == heads if directed else tails >= heads
    if ends.size and (ends.min() < 0 or ends.max() >= vertices or loops.any() or not (keys[1:] > keys[:-1]).all()):
        return None
    ends.flags.writeable = False
    return ends


def distinct_ends(pieces: Iterable[ArrayLike], n: int, *, directed: bool) -> NDArray[np.int64]:
    """The ends of the edges of a simple graph of n vertices, from any pairs in pieces, with 8 bytes for each pair.

    A piece is let go before the next one is asked for. Raises `ParameterError` for what are no pairs of vertices.
    """
    keys = np.concatenate([np.empty(0, np.int64), *(_keys(as_pairs(piece), n, directed=directed) for piece in pieces)])
    keys.sort()
    first = np.concatenate([[True], keys[1:] != keys[:-1]]) if keys.size else np.empty(0, np.bool_)
    keys = keys if first.all() else keys[first]
    ends = np.empty((len(keys), 2), np.int64)
    np.floor_divide(keys, max(n, 1), out=ends[:, 0])
    np.remainder(keys, max(n, 1), out=ends[:, 1])
    ends.flags.writeable = False
    return ends


def _keys(ends: NDArray[np.int64], n: int, *, directed: bool) -> NDArray[np.int64]:
    """A number for each pair, without loops."""
    if ends.size and (ends.min() < 0 or ends.max() >= n):
        raise ParameterError(f"the vertices of a graph of {n} are the numbers from 0 to {n - 1}")
    tails, heads = ends.T
    if not directed:
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    return (tails * n + heads)[tails != heads]


def numbered_edges(graph: Any) -> tuple[ArrayLike, int]:
    """The edges of a networkx graph, read through its `nodes` and `edges`, whose vertices are numbered in order."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    return [(number[a], number[b]) for a, b in graph.edges(data=False)], len(number)


def ends_table(ends: NDArray[np.int64], a: str, b: str) -> Any:
    """An Arrow table of the ends."""
    import pyarrow as pa

    return pa.table({a: pa.array(ends[:, 0]), b: pa.array(ends[:, 1])})
