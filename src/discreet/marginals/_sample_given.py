"""Rows from a joint distribution in which some columns are given, other ones in each row.

Messages go up the tree first: how likely what is given below a clique is, for each way that the clique may be joined to
it. Rows that agree in what is given have one message. Then cells are drawn downwards, each clique's at once. Source:
Koller and Friedman 2009, section 10.3, with the evidence of many rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.marginals._estimate import Model
from discreet.marginals._junction_tree import Clique, Numbers
from discreet.marginals._sample import places_of
from discreet.marginals._stream import PublicStream

__all__ = ["sample_given"]

Cells = NDArray[np.int64]
_MOST_HELD = 2**22
"""Numbers that are held at once: groups of rows, each with the cells of a clique."""


def sample_given(model: Model, given: Mapping[int, Cells], rows: int, stream: PublicStream) -> list[Cells]:
    """The cell of each of so many rows in every column, where the columns in `given` have the cells given for each row.

    Each row has the distribution of the model on the condition of what is given in it; where that cannot be, of the
    model as far as it goes. Rows that agree in all that matters take values in shares as even as can be.
    """
    tree = model.tree
    nodes = [
        _Node(clique[:shared], clique[shared:], _conditional(belief, shared))
        for belief, clique, shared in zip(model.beliefs, tree.cliques, tree.shared, strict=True)
    ]
    below: list[list[_Message]] = [[] for _ in nodes]
    for i in range(len(nodes) - 1, -1, -1):
        message = _upward(nodes[i], below[i], given, rows)
        if message is not None and tree.parents[i] >= 0:
            below[tree.parents[i]].append(message)
    drawn: dict[int, Cells] = {column: np.asarray(cells, np.int64) for column, cells in given.items()}
    for i, node in enumerate(nodes):
        drawn |= _downward(node, below[i], drawn, rows, stream, turn=i)
    return [drawn[column] for column in range(len(tree.sizes))]


@dataclass(frozen=True, slots=True)
class _Node:
    """A clique: the columns that it shares with its parent, its own, and the distribution of these given those."""

    shared: Clique
    own: Clique
    belief: Numbers

    @property
    def columns(self) -> Clique:
        return (*self.shared, *self.own)


@dataclass(frozen=True, slots=True)
class _Message:
    """How likely what is given below is, for each group of rows and each cell of the columns shared with it."""

    columns: Clique
    groups: Cells
    values: Numbers


def _conditional(belief: Numbers, shared: int) -> Numbers:
    own = tuple(range(shared, belief.ndim))
    held = belief.sum(axis=own, keepdims=True)
    return np.where(held > 0, belief / np.maximum(held, 1e-300), 1 / max(math.prod(belief.shape[shared:]), 1))


def _upward(node: _Node, messages: Sequence[_Message], given: Mapping[int, Cells], rows: int) -> _Message | None:
    fixed = [column for column in node.own if column in given]
    if not fixed and not messages:
        return None
    groups, first = _grouped([*(given[column] for column in fixed), *(each.groups for each in messages)], rows)
    values = np.empty((first.size, *node.belief.shape[: len(node.shared)]))
    shared = tuple(range(1, 1 + len(node.shared)))
    for some in _chunks(first.size, node.belief.size):
        weights = _weighted(node, messages, first[some])
        at = {column: given[column][first[some]] for column in fixed}
        chosen = _at(weights, node.columns, at)
        values[some] = chosen.sum(axis=tuple(i for i in range(1, chosen.ndim) if i not in shared))
    return _Message(node.shared, groups, values)


def _downward(  # noqa: PLR0913, PLR0917
    node: _Node,
    messages: Sequence[_Message],
    drawn: Mapping[int, Cells],
    rows: int,
    stream: PublicStream,
    turn: int,
) -> dict[int, Cells]:
    """The cells of a clique's own columns that are not given."""
    free = [column for column in node.own if column not in drawn]
    if not free or not rows:
        return {column: np.zeros(rows, np.int64) for column in free}
    known = [column for column in node.columns if column in drawn]
    groups, first = _grouped([*(drawn[column] for column in known), *(each.groups for each in messages)], rows)
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(first.size + 1))
    shape = [node.belief.shape[node.columns.index(column)] for column in free]
    flat = np.empty(rows, np.int64)
    for some in _chunks(first.size, node.belief.size):
        at = {column: drawn[column][first[some]] for column in known}
        joint = _at(_weighted(node, messages, first[some]), node.columns, at).reshape(first[some].size, -1)
        alone = _at(_weighted(node, (), first[some]), node.columns, at).reshape(first[some].size, -1)
        joint = np.where(joint.sum(axis=1, keepdims=True) > 0, joint, alone)
        inside = order[ends[some.start] : ends[some.stop]]
        flat[inside] = _pick(joint, groups[inside] - some.start, turn, stream)
    return dict(zip(free, (each.astype(np.int64) for each in np.unravel_index(flat, shape)), strict=True))


def _grouped(columns: Sequence[Cells], rows: int) -> tuple[Cells, Cells]:
    """Of each row its group among those that agree in all columns, and of each group the first row."""
    groups = np.zeros(rows, np.int64)
    for column in columns:
        pairs = groups * (int(column.max(initial=0)) + 1) + column
        groups = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return groups, np.unique(groups, return_index=True)[1].astype(np.int64)


def _chunks(count: int, size: int) -> Iterator[slice]:
    width = max(_MOST_HELD // max(size, 1), 1)
    for begin in range(0, count, width):
        yield slice(begin, min(begin + width, count))


def _weighted(node: _Node, messages: Sequence[_Message], first: Cells) -> Numbers:
    """The distribution of a clique for each of some rows, weighted by what is given below."""
    weights = np.broadcast_to(node.belief, (first.size, *node.belief.shape))
    for each in messages:
        values = each.values[each.groups[first]]
        axes = [node.columns.index(column) for column in each.columns]
        shape = [first.size, *(size if i in axes else 1 for i, size in enumerate(node.belief.shape))]
        weights = weights * values.transpose([0, *(1 + i for i in np.argsort(axes).tolist())]).reshape(shape)
    return weights


def _at(weights: Numbers, columns: Clique, at: Mapping[int, Cells]) -> Numbers:
    """The weights in the cells that some columns have in each row; these columns are gone."""
    left = list(columns)
    for column, cells in at.items():
        axis = 1 + left.index(column)
        moved = np.moveaxis(weights, axis, 1)
        weights = moved[np.arange(cells.size), cells]
        left.remove(column)
    return weights


def _pick(joint: Numbers, groups: Cells, turn: int, stream: PublicStream) -> Cells:
    """A cell for each row, by the weights of its group; `groups` are in order."""
    count, size = joint.shape
    ends = np.cumsum(joint, axis=1)
    held = ends[:, -1:]
    ends = np.where(held > 0, ends / np.maximum(held, 1e-300), np.arange(1, size + 1) / size)
    ends[:, -1] = 1.0
    numbers = np.bincount(groups, minlength=count)
    starts = np.cumsum(numbers) - numbers
    places = places_of(np.arange(groups.size) - starts[groups], turn, stream.uniform(count)[groups])
    flat = (ends + np.arange(count)[:, np.newaxis]).ravel()
    return np.minimum(np.searchsorted(flat, groups + places, side="right") - groups * size, size - 1)
