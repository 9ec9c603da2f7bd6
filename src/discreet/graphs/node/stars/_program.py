"""The linear program of 2-stars under a cap without a list of them: sums over pairs of neighbours, by sorted prices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.graphs.node._patterns import Stars

__all__ = ["Clip", "PricedStars", "StarProgram", "star_program"]

_INT64_BITS = 62
_MOST_TERMS = 3
"""With prices below 2 and offsets up to 2, a pair's remainder is between −5 and 3, so that 3 bits hold it."""
_LIMB_BITS, _LIMBS = 21, 3


@dataclass(frozen=True, slots=True)
class Clip:
    """Weights of stars by what their prices leave of 1: (r + offset)/width, from 0 to 1, in units of the grid."""

    width: int
    offset: int = 0


@dataclass(frozen=True, eq=False)
class StarProgram:
    """The 2-stars of a graph around the vertices that have more of them than the cap. SENSITIVE.

    An item is a centre with one constrained leaf, or with all its others together: no price tells them apart. There
    are at most as many as edges have ends, however many stars there are.

    Attributes
    ----------
    cap
        The most that counts at a vertex.
    rows
        How many vertices are constrained; the row after them stands for all others, whose price is 0.
    free
        How many stars have a centre that is not constrained and has no constrained neighbour.
    centre, leaf, weight
        Of each item, its centre, the row of its leaf, and how many leaves it stands for; ordered by centre.
    centre_row
        The row of each centre.
    starts
        The first item of each centre, and the number of items behind them.
    """

    cap: int
    rows: int
    free: int
    centre: NDArray[np.int64]
    leaf: NDArray[np.int64]
    weight: NDArray[np.int64]
    centre_row: NDArray[np.int64]
    starts: NDArray[np.int64]

    @cached_property
    def bits(self) -> int:
        """How fine a grid of prices can be so that sums over the neighbours of a vertex are of 64 bits."""
        largest = int(np.add.reduceat(self.weight, self.starts[:-1]).max())
        return _INT64_BITS - _MOST_TERMS - largest.bit_length()

    @cached_property
    def backward(self) -> NDArray[np.int64]:
        """The items of each centre the other way round: an involution."""
        return (self.starts[:-1] + self.starts[1:] - 1)[self.centre] - np.arange(len(self.centre))


def star_program(stars: Stars, cap: int) -> StarProgram:
    """The program of 2-stars at a cap that some vertex is above. SENSITIVE."""
    constrained, degrees, n = stars.loads > cap, stars.degrees, stars.vertices
    chosen = np.flatnonzero(constrained)
    row = np.full(n, len(chosen))
    row[chosen] = np.arange(len(chosen))
    arcs = np.concatenate([stars.ends, stars.ends[:, ::-1]])
    arcs = arcs[constrained[arcs[:, 1]]]
    near = np.bincount(arcs[:, 0], minlength=n)
    is_centre = (degrees >= 2) & ((near > 0) | constrained)
    centres = np.flatnonzero(is_centre)
    place = np.cumsum(is_centre) - 1
    arcs = arcs[is_centre[arcs[:, 0]]]
    others = (degrees - near)[centres]
    with_others = np.flatnonzero(others)
    centre = np.concatenate([place[arcs[:, 0]], with_others])
    leaf = np.concatenate([row[arcs[:, 1]], np.full(len(with_others), len(chosen))])
    weight = np.concatenate([np.ones(len(arcs), np.int64), others[with_others]])
    order = np.argsort(centre, kind="stable")
    centre = centre[order]
    starts = np.searchsorted(centre, np.arange(len(centres) + 1))
    met = sum(d * (d - 1) // 2 for d in degrees[centres].tolist())
    return StarProgram(cap, len(chosen), stars.total - met, centre, leaf[order], weight[order], row[centres], starts)


class PricedStars:
    """The stars of a program at prices, in units of a grid: sums over pairs of leaves in exact integers. SENSITIVE.

    A star has a remainder: 1 less the prices of its centre and both leaves. With the items of a centre in order of
    price, each sum over the other leaf is a difference of prefix sums, so that the time is O(m log m) for m items.
    Integers are of 64 bits, or of any size where `prices` are objects. Source: ``proofs/graph_node_stars.md``.

    Parameters
    ----------
    prices
        Of each row, 0 or more and below 2 · `scale`, shape (rows,).
    scale
        How many units make 1.
    """

    def __init__(self, program: StarProgram, prices: NDArray[Any], scale: int) -> None:
        self.program, self.scale, self.prices = program, scale, prices
        padded = np.append(prices, np.zeros(1, prices.dtype))
        self._distinct, rank = np.unique(padded, return_inverse=True)
        self._stride = len(self._distinct) + 1
        keys = program.centre * self._stride + rank.reshape(-1)[program.leaf]
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self.leaf, self.weight = program.leaf[order], program.weight[order]
        self._price = padded[self.leaf]
        self._left = scale - padded[program.centre_row][program.centre] - self._price
        """What centre and leaf leave: the price of another leaf is taken off this."""
        self._first = program.starts[:-1][program.centre]
        self._back = program.backward
        self._back_keys = program.centre * self._stride  # the same forward and backward: of one centre
        self._leaves = _prefix(self.weight)
        self._paid = _prefix(self.weight.astype(prices.dtype) * self._price)  # may wrap: a difference is still exact
        self._itself = self._left - self._price

    def below(self, bound: NDArray[Any]) -> NDArray[np.int64]:
        """For each item, the place of the first item of its centre whose price is not below the bound."""
        ascending = bound[self._back]  # what binary search is fast for
        ranks = np.searchsorted(self._distinct, ascending)
        return np.searchsorted(self._keys, self._back_keys + ranks)[self._back]

    def positive_parts(self, offset: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """For each item, Σ (r + offset)⁺ over all second leaves, itself as well; and where these end."""
        bound = self._left + offset
        end = self.below(bound)
        first = self._first
        return (self._leaves[end] - self._leaves[first]) * bound - (self._paid[end] - self._paid[first]), end

    def clipped(self, clip: Clip) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """For each item, `width` times the weight of the stars of one of its leaves.

        Also the places between which the second leaf has a weight above 0 and below 1, and whether the item itself is
        there: a leaf is no pair with itself.
        """
        above, last = self.positive_parts(clip.offset)
        over, first = self.positive_parts(clip.offset - clip.width)
        itself = self._itself + clip.offset
        inside = (itself > 0) & (itself < clip.width)
        return above - over - np.clip(itself, 0, clip.width), first, last, inside.astype(np.bool_)

    def at_rows(self, each: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum at each row, of a number of the stars of one leaf of each item: as leaves, and as their centre."""
        program, size = self.program, self.program.rows + 1
        twice = np.bincount(program.centre, self.weight * each, minlength=len(program.centre_row))
        sums = np.bincount(self.leaf, each, minlength=size) + np.bincount(program.centre_row, twice / 2, minlength=size)
        return np.asarray(sums[: program.rows], np.float64)

    def leaves_between(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many leaves are between two places of items."""
        return self._leaves[last] - self._leaves[first]

    def dual_estimate(self) -> float:
        """As `dual`, in floats and in stars."""
        parts, _ = self.positive_parts(0)
        each = (parts - np.maximum(self._itself, 0)).astype(np.float64)
        return (
            self.program.cap * float(self.prices.astype(np.float64).sum()) + float(self.weight @ each) / 2
        ) / self.scale

    def dual(self) -> int:
        """The dual value, cap · Σ prices + Σ r⁺ over stars, in units of the grid: exact, never below the value."""
        parts, _ = self.positive_parts(0)
        each = parts - np.maximum(self._itself, 0)
        twice = exact_totals(each, self.weight, np.zeros(len(each), np.int64), 1)[0]
        return self.program.cap * sum(self.prices.tolist()) + twice // 2

    def loads(self, clip: Clip) -> tuple[list[int], int]:
        """`width` times the weight of all stars at each row, and of all stars: exact."""
        each, *_ = self.clipped(clip)
        program, ones = self.program, np.ones(len(self.weight), np.int64)
        as_leaf = exact_totals(each, ones, self.leaf, program.rows + 1)
        centres = [twice // 2 for twice in exact_totals(each, self.weight, program.centre, len(program.centre_row))]
        for place, load in zip(program.centre_row.tolist(), centres, strict=True):
            as_leaf[place] += load
        return as_leaf[: program.rows], sum(centres)


def exact_totals(values: NDArray[Any], weights: NDArray[np.int64], places: NDArray[np.int64], size: int) -> list[int]:
    """Σ weight · value at each of so many places, as integers of any size, for values of 0 or more.

    The weights at one place are below 2**31 together, so that sums of 21 bits of each value are exact in floats.

    >>> exact_totals(np.array([2**61, 3, 2**61]), np.array([3, 1, 1]), np.array([1, 0, 1]), 2) == [3, 2**63]
    True
    """
    if values.dtype == object:
        totals = np.zeros(size, object)
        np.add.at(totals, places, values * weights.astype(object))
        return totals.tolist()
    sums = [0] * size
    for limb in range(_LIMBS):
        part = (values >> (limb * _LIMB_BITS)) & ((1 << _LIMB_BITS) - 1)
        added = np.bincount(places, part * weights, minlength=size)
        sums = [total + (int(each) << (limb * _LIMB_BITS)) for total, each in zip(sums, added.tolist(), strict=True)]
    return sums


def _prefix(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])
