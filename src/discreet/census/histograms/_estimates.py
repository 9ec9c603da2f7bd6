"""The estimates of a histogram from what was measured of it, and the error of any range: all post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.census.histograms._aware import combined
from discreet.census.histograms._measured import Measured
from discreet.marginals.strategies import (
    Buckets,
    Factorization,
    Partition,
    Workload,
    factorized,
    fitted_tree,
    near_integers,
    nested,
)
from discreet.marginals.trees import LeastSquares

__all__ = ["Estimates", "FactorizationEstimates", "PartitionEstimates", "TreeEstimates"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


class Estimates(Protocol):
    """Of the cells of a merged workload."""

    @property
    def unbiased(self) -> Numbers:
        """The estimates of the cells."""
        ...

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates."""
        ...

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and its variance."""
        ...


class TreeEstimates:
    """By least squares on a tree of blocks."""

    def __init__(self, cells: int, widths: Sequence[int], measured: Sequence[Measured]) -> None:
        self._tree = nested(cells, widths)
        self._squares = LeastSquares(self._tree, (float("inf"), *(each.variance for each in measured)))
        self._levels = self._squares.estimate([None, *(each.numbers for each in measured)])

    @property
    def unbiased(self) -> Numbers:
        """The estimates of the cells."""
        return self._levels[-1]

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates, which add up."""
        return near_integers(self._tree, self._levels, float(np.sqrt(self._squares.posterior[1].mean())))

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and its exact variance."""
        weights = [*[None] * (self._tree.levels - 1), query]
        return float(query @ self._levels[-1]), self._squares.variance(weights)


class FactorizationEstimates:
    """By the rows of a factorisation."""

    def __init__(self, workload: Workload, measured: Measured) -> None:
        self._workload, self._measured = workload, measured

    @cached_property
    def _factorization(self) -> Factorization:
        return factorized(self._workload)

    @property
    def unbiased(self) -> Numbers:
        """The estimates of the cells."""
        return self._cells

    @cached_property
    def _cells(self) -> Numbers:
        return self._factorization.estimate(self._measured.numbers)

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates, by a tree of blocks of them."""
        cells = self._workload.cells
        strategy = fitted_tree(Workload("ranges", cells))
        width = strategy.widths[0]
        middle = np.zeros(cells)
        middle[cells // width // 2 * width :][:width] = 1
        deviation = self.query(middle)[1] ** 0.5
        return near_integers(strategy.tree, strategy.tree.sums(self.unbiased), deviation)

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and its exact variance."""
        variance = self._factorization.variance(query) * self._measured.variance
        return float(query @ self.unbiased), variance


class PartitionEstimates:
    """Unbiased by three levels that are measured whatever they show; integers by all that is measured of a partition.

    What a partition is measured for is bent: its counts are taken as even within a bucket, and its first levels have
    chosen it. It makes the integers, and no estimate is of it.
    """

    def __init__(
        self,
        partition: Partition,
        widths: Sequence[int],
        first: Measured,
        levels: Sequence[Measured],
        parts: Sequence[Measured],
    ) -> None:
        self._partition, self._widths = partition, widths
        self._first, self._levels = first, levels
        self._parts = {each.part: each for each in parts}
        self._plain = TreeEstimates(partition.cells, widths, levels)

    @property
    def unbiased(self) -> Numbers:
        """The estimates of the cells."""
        return self._plain.unbiased

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates of the buckets, spread over their cells."""
        split = np.array(self._partition.split)
        values, variances = np.zeros(len(split)), np.zeros(len(split))
        for which, part in ((~split, self._parts["segments"]), (split, self._parts["split units"])):
            values[which], variances[which] = part.numbers, part.variance
        wide, units, cells = self._levels
        alone = self._partition.edges[:-1][split[self._partition.segments]]
        of_cells = replace(cells, counts=tuple(cells.counts[each] for each in alone.tolist()))
        blocks = [
            (self._widths[0], *combined([self._first, wide])),
            (self._widths[1], units.numbers, units.variance),
        ]
        singly = combined([self._parts["split cells"], of_cells])
        return Buckets.measured(self._partition, blocks, (values, variances), singly).near_integers()

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and its exact variance."""
        return self._plain.query(query)
