"""Junction trees: a joint distribution of many columns as beliefs over a few small sets of them.

A *clique* is a tuple of columns, each a position in `sizes`. The cliques of a tree cover those that it is asked for,
and any two share their common columns along the way between them, so that beliefs of the cliques that agree where they
overlap are the marginals of one joint distribution. Source: Lauritzen and Spiegelhalter 1988; Koller and Friedman 2009,
chapter 10.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clique", "JunctionTree", "Numbers", "cells", "junction_tree", "neighbours_of", "triangulated"]

Clique = tuple[int, ...]
Numbers = NDArray[np.float64]
_WIDEST = 60
Neighbours = tuple[int, ...]
"""For each column those that it is tied to, as a bit mask."""


def cells(sizes: Sequence[int], clique: Iterable[int]) -> int:
    """How many cells the marginal of a clique has."""
    return math.prod(sizes[column] for column in clique)


def neighbours_of(columns: int, cliques: Iterable[Clique], beside: Neighbours = ()) -> Neighbours:
    """The graph in which the columns of each clique are tied to one another, as are those of the graph `beside`.

    >>> neighbours_of(3, [(0, 1), (1, 2)])
    (2, 5, 2)
    """
    masks = list(beside or [0] * columns)
    for clique in cliques:
        mask = sum(1 << column for column in clique)
        for column in clique:
            masks[column] |= mask & ~(1 << column)
    return tuple(masks)


def triangulated(sizes: Sequence[int], neighbours: Neighbours, most: int | None = None) -> list[Clique]:
    """The cliques of a chordal graph around a graph: columns go one by one, the one with the fewest cells first.

    Raises `ValueError`, soon, if the cliques have more than `most` cells together, or one more than 60 columns.

    >>> triangulated([2, 3, 4], neighbours_of(3, [(0, 1), (1, 2)]))
    [(0, 1), (1, 2)]
    """
    masks, left = list(neighbours), set(range(len(neighbours)))
    logs = [math.log(size) for size in sizes]
    weight = {column: sum(logs[other] for other in _columns(masks[column])) for column in left}
    cliques: list[int] = []
    held = 0
    while left:
        column = min(left, key=lambda each: (weight[each] + logs[each], each))
        around = masks[column]
        clique = around | 1 << column
        if most is not None:
            held += cells(sizes, _columns(clique)) if clique.bit_count() <= _WIDEST else most + 1
            if held > most:
                raise ValueError(f"a junction tree would have more than {most:,} cells")
        if not any(clique & other == clique for other in cliques):
            cliques.append(clique)
        left.discard(column)
        for other in _columns(around):
            masks[other] = (masks[other] | around) & ~(clique & ~around) & ~(1 << other)
            weight[other] = sum(logs[each] for each in _columns(masks[other]))
    return [tuple(_columns(mask)) for mask in cliques]


def _columns(mask: int) -> list[int]:
    columns: list[int] = []
    while mask:
        lowest = mask & -mask
        columns.append(lowest.bit_length() - 1)
        mask ^= lowest
    return columns


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """Cliques in an order in which each comes after its parent; see the module docstring.

    Attributes
    ----------
    sizes
        How many cells each column has.
    cliques
        The columns of each clique: those that it shares with its parent first.
    parents
        The position of each clique's parent; -1 where there is none.
    shared
        How many columns, the first ones, each clique shares with its parent.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    shared: tuple[int, ...]

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each clique's array."""
        return tuple(tuple(self.sizes[column] for column in clique) for clique in self.cliques)

    @cached_property
    def cells(self) -> int:
        """How many cells all cliques have together."""
        return sum(map(math.prod, self.shapes))

    def home(self, clique: Clique) -> int:
        """The position of the smallest clique that holds all columns of one. Raises `KeyError` if none does."""
        wanted = set(clique)
        homes = [i for i, each in enumerate(self.cliques) if wanted <= set(each)]
        if not homes:
            raise KeyError(clique)
        return min(homes, key=lambda i: math.prod(self.shapes[i]))

    @cached_property
    def _messages(self) -> tuple[tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]:
        """Of each clique: cells it shares, axes the parent sums out, their order after it, the shape it broadcasts."""
        messages: list[tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []
        for clique, parent, shared in zip(self.cliques, self.parents, self.shared, strict=True):
            if parent < 0:
                messages.append((1, (), (), ()))
                continue
            common, upper = clique[:shared], self.cliques[parent]
            summed = tuple(i for i, column in enumerate(upper) if column not in common)
            rest = [column for column in upper if column in common]
            shape = tuple(self.sizes[column] if column in common else 1 for column in upper)
            messages.append((cells(self.sizes, common), summed, tuple(rest.index(column) for column in common), shape))
        return tuple(messages)

    def beliefs(self, potentials: Sequence[Numbers]) -> list[Numbers]:
        """The marginal of each clique, which sums to one, of the product of exp(potential) over cliques.

        `potentials` is an array for each clique, in its shape; what is in it is overwritten.
        """
        arrays = list(potentials)
        sums: list[Numbers] = [_NOTHING] * len(arrays)
        for i in range(len(arrays) - 1, -1, -1):
            parent, (common, _, order, shape) = self.parents[i], self._messages[i]
            flat = arrays[i].reshape(common, -1)
            highest = flat.max(axis=1)
            np.exp(np.subtract(flat, highest[:, np.newaxis], out=flat), out=flat)
            sums[i] = flat.sum(axis=1)
            if parent >= 0:
                message = (np.log(sums[i]) + highest).reshape([self.sizes[c] for c in self.cliques[i][: len(order)]])
                arrays[parent] += message.transpose(np.argsort(order)).reshape(shape)
        for i, parent in enumerate(self.parents):
            common, summed, order, _ = self._messages[i]
            flat = arrays[i].reshape(common, -1)
            above = 1.0 if parent < 0 else arrays[parent].sum(axis=summed).transpose(order).ravel()
            flat *= (above / sums[i])[:, np.newaxis]
        return arrays

    def covariances(self, beliefs: Sequence[Numbers], values: Sequence[Numbers]) -> list[Numbers]:
        """How the beliefs change with potentials that grow by `values`, an array for each clique: the derivative.

        Of each cell it is the covariance of being in it with the sum over cliques of the values of their cells.
        """
        arrays, below, shares = list(values), [_NOTHING] * len(values), [_NOTHING] * len(values)
        for i in range(len(arrays) - 1, -1, -1):
            parent, (common, _, order, shape) = self.parents[i], self._messages[i]
            belief, value = beliefs[i].reshape(common, -1), arrays[i].reshape(common, -1)
            shares[i] = np.maximum(belief.sum(axis=1), _LEAST)
            below[i] = np.einsum("ij,ij->i", belief, value) / shares[i]
            if parent >= 0:
                message = below[i].reshape([self.sizes[c] for c in self.cliques[i][: len(order)]])
                arrays[parent] = arrays[parent] + message.transpose(np.argsort(order)).reshape(shape)
        for i, parent in enumerate(self.parents):
            common, summed, order, _ = self._messages[i]
            above = 0.0 if parent < 0 else arrays[parent].sum(axis=summed).transpose(order).ravel() / shares[i]
            value = arrays[i].reshape(common, -1) + (above - below[i])[:, np.newaxis]
            arrays[i] = beliefs[i] * value.reshape(beliefs[i].shape)
        return arrays


_NOTHING: Numbers = np.zeros(0)
_LEAST = 1e-300


def junction_tree(sizes: Sequence[int], cliques: Sequence[Clique]) -> JunctionTree:
    """A tree whose cliques hold each of some cliques, and every column.

    >>> tree = junction_tree([2, 3, 4], [(0, 1), (1, 2)])
    >>> tree.cliques, tree.parents, tree.shared
    (((1, 2), (1, 0)), (-1, 0), (0, 1))
    """
    cliques = triangulated(sizes, neighbours_of(len(sizes), cliques))
    sets, seen = [set(clique) for clique in cliques], [False] * len(cliques)
    largest = sorted(range(len(cliques)), key=lambda i: (-cells(sizes, cliques[i]), i))
    order: list[int] = []
    parents: list[int] = []
    ordered: list[Clique] = []
    shared: list[int] = []
    for root in largest:
        waiting = [(0.0, root, -1)]
        while waiting:
            _, i, parent = heapq.heappop(waiting)
            if seen[i]:
                continue
            seen[i] = True
            common = [] if parent < 0 else [column for column in ordered[parent] if column in sets[i]]
            ordered.append((*common, *(column for column in cliques[i] if column not in common)))
            parents.append(parent)
            shared.append(len(common))
            order.append(i)
            for j, other in enumerate(sets):
                if not seen[j] and other & sets[i]:
                    heapq.heappush(waiting, (-len(other & sets[i]), j, len(order) - 1))
    return JunctionTree(tuple(sizes), tuple(ordered), tuple(parents), tuple(shared))
