"""What a cell costs that stands for several values of a column: the normalised certainty penalty, from 0 to 1.

Of a number the range of the values over that of the table; of a category the other values over those of the table; with
a hierarchy the other values below the lowest common ancestor. Source: Xu et al. 2006.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.algorithms._groups import Groups
from discreet.anonymize.hierarchies import Hierarchy
from discreet.anonymize.tables import Column

__all__ = ["Extent", "extent_of"]

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class Extent(ABC):
    """How wide cells of one column are."""

    @abstractmethod
    def on_both_sides(self, groups: Groups, codes: _Ints) -> tuple[_Floats, _Floats]:
        """The cost of one cell for all rows of the class up to each row, and of one for those after it."""

    @abstractmethod
    def cut_ranks(self, groups: Groups, codes: _Ints, weights: _Ints) -> _Ints:
        """Where each row's value comes in the order in which its class is to be cut; equal ranks are never cut."""

    def of_classes(self, groups: Groups, codes: _Ints) -> _Floats:
        """The cost of the cell of each class."""
        return self.on_both_sides(groups, codes)[0][groups.ends - 1]


@dataclass(frozen=True)
class _NumberExtent(Extent):
    places: _Floats

    def on_both_sides(self, groups: Groups, codes: _Ints) -> tuple[_Floats, _Floats]:
        (low, high), (low_after, high_after) = groups.ends_on_both_sides(codes, len(self.places))
        extent = float(self.places[-1] - self.places[0]) or 1.0
        return (
            (self.places[high] - self.places[low]) / extent,
            (self.places[high_after] - self.places[low_after]) / extent,
        )

    def cut_ranks(self, groups: Groups, codes: _Ints, weights: _Ints) -> _Ints:  # noqa: ARG002
        return codes


@dataclass(frozen=True)
class _CategoryExtent(Extent):
    size: int

    def on_both_sides(self, groups: Groups, codes: _Ints) -> tuple[_Floats, _Floats]:
        left, right = groups.distinct_on_both_sides(codes, self.size)
        others = max(self.size - 1, 1)
        return (left - 1) / others, np.maximum(right - 1, 0) / others

    def cut_ranks(self, groups: Groups, codes: _Ints, weights: _Ints) -> _Ints:
        return _by_frequency(groups, codes, self.size, weights)


@dataclass(frozen=True)
class _TreeExtent(Extent):
    levels: tuple[_Ints, ...]
    """For each level the group of each value."""
    others: tuple[_Floats, ...]
    """For each level and group: how many values there are below it beside one, over those of the hierarchy."""

    def on_both_sides(self, groups: Groups, codes: _Ints) -> tuple[_Floats, _Floats]:
        left, right = np.ones(len(codes)), np.ones(len(codes))
        after = np.minimum(np.arange(1, len(codes) + 1), groups.ends[groups.of_row] - 1)
        for level, others in zip(self.levels[::-1], self.others[::-1], strict=True):
            at = level[codes]
            before_row, after_row = groups.distinct_on_both_sides(at, len(others))
            left = np.where(before_row == 1, others[at], left)
            right = np.where(after_row == 1, others[at[after]], right)
        return left, right

    def cut_ranks(self, groups: Groups, codes: _Ints, weights: _Ints) -> _Ints:
        """By the children of the lowest common ancestor of the class, frequent ones first."""
        children = self.levels[0][codes]
        chosen = np.zeros(groups.count, bool)
        for level in self.levels[::-1]:
            at = level[codes]
            several = groups.distinct_on_both_sides(at, int(level.max()) + 1)[0][groups.ends - 1] > 1
            first = several & ~chosen
            children = np.where(first[groups.of_row], at, children)
            chosen |= several
        return _by_frequency(groups, children, max(int(level.max()) + 1 for level in self.levels), weights)


def _by_frequency(groups: Groups, codes: _Ints, size: int, weights: _Ints) -> _Ints:
    keys, _ = groups.pairs(codes, size)
    frequency = np.bincount(keys, weights=weights).astype(np.int64)
    return (int(weights.sum()) - frequency[keys]) * size + codes


def extent_of(column: Column, hierarchy: Hierarchy | None) -> Extent:
    """How wide the cells of a column are. Raises `ParameterError` for a value that the hierarchy has not."""
    if hierarchy is not None:
        levels = tuple(hierarchy.groups(column, level) for level in range(hierarchy.height + 1))
        others = [np.zeros(int(level.max()) + 1) for level in levels]
        for height, (level, other) in enumerate(zip(levels, others, strict=True)):
            other[level] = hierarchy.shares(column, height)
        return _TreeExtent(levels, tuple(others))
    return _NumberExtent(column.places) if column.is_number else _CategoryExtent(column.size)
