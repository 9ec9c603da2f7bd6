"""Rows from a joint distribution: balanced, so that their marginals are nearer to it than those of independent draws.

Each row alone has the distribution of the model. Rows that agree in what a column depends on take its values in shares
as even as can be: at the places of an additive recurrence with an offset of its own, along the order of the columns
that were drawn before. Source: Niederreiter 1992, section 3.1, for the recurrence; offsets uniform on [0, 1) make each
row's value have exactly the conditional distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.marginals._estimate import Model
from discreet.marginals._stream import PublicStream

__all__ = ["Places", "places_of", "sample_cells"]

_ROOTS = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)
_RADIX = 2**16
Places = NDArray[np.float64]


def sample_cells(model: Model, rows: int, stream: PublicStream) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The cell of each of so many rows in every column, and an order in which rows that are alike are together."""
    tree = model.tree
    drawn: dict[int, NDArray[np.int64]] = {}
    order = np.arange(rows)
    for belief, clique, shared in zip(model.beliefs, tree.cliques, tree.shared, strict=True):
        for place in range(shared, len(clique)):
            column, size = clique[place], tree.sizes[clique[place]]
            joint = belief.sum(axis=tuple(range(place + 1, len(clique)))).reshape(-1, size)
            group = np.zeros(rows, np.int64)
            for before in clique[:place]:
                group = group * tree.sizes[before] + drawn[before]
            order = order[_sorted(group[order], len(joint))]
            drawn[column] = _drawn(joint, group[order], order, len(drawn), stream)
    return [drawn[column] for column in range(len(tree.sizes))], order


def _sorted(groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return np.argsort(groups.astype(np.uint16) if count <= _RADIX else groups, kind="stable")


def _drawn(
    joint: NDArray[np.float64], groups: NDArray[np.int64], order: NDArray[np.int64], turn: int, stream: PublicStream
) -> NDArray[np.int64]:
    """A value for each row, by the joint distribution of group and value; `groups` are those of the rows in `order`."""
    count, size = joint.shape
    ends = np.cumsum(joint, axis=1)
    held = ends[:, -1:]
    ends = np.where(held > 0, ends / np.maximum(held, 1e-300), np.arange(1, size + 1) / size)
    ends[:, -1] = 1.0
    numbers = np.bincount(groups, minlength=count)
    starts = np.cumsum(numbers) - numbers
    places = places_of(np.arange(groups.size) - starts[groups], turn, stream.uniform(count)[groups])
    flat = (ends + np.arange(count)[:, np.newaxis]).ravel()
    cells = np.searchsorted(flat, groups + places, side="right") - groups * size
    values = np.empty(groups.size, np.int64)
    values[order] = np.minimum(cells, size - 1)
    return values


def places_of(ranks: NDArray[np.int64], turn: int, offsets: Places) -> Places:
    """Places in [0, 1) of an additive recurrence that differs from turn to turn, each with an offset."""
    root = _ROOTS[turn % len(_ROOTS)] ** 0.5 * (1 + turn // len(_ROOTS))
    places = ranks * (root % 1)
    places += offsets
    places -= np.floor(places)
    return np.minimum(places, 1 - 2**-53, out=places)
