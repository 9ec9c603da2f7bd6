"""The estimates of a histogram from what was measured of it, and the error of any range: all post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates."""
        ...

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and its variance."""
        ...

    def is_unbiased(self, query: Numbers) -> bool:
        """Whether the estimate is right on average, whatever the data."""
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

    def is_unbiased(self, query: Numbers) -> bool:  # noqa: ARG002 - as all estimates have it
        """Always."""
        return True


class FactorizationEstimates:
    """By the rows of a factorisation."""

    def __init__(self, workload: Workload, measured: Measured) -> None:
        self._workload, self._measured = workload, measured

    @cached_property
    def _factorization(self) -> Factorization:
        return factorized(self._workload)

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
        return near_integers(strategy.tree, strategy.tree.sums(self._cells), deviation)

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and its exact variance."""
        variance = self._factorization.variance(query) * self._measured.variance
        return float(query @ self._cells), variance

    def is_unbiased(self, query: Numbers) -> bool:  # noqa: ARG002 - as all estimates have it
        """Always."""
        return True


class PartitionEstimates:
    """By least squares over the buckets of a partition, evenly spread within each."""

    def __init__(
        self, partition: Partition, widths: Sequence[int], levels: Sequence[Measured], parts: Sequence[Measured]
    ) -> None:
        self._partition = partition
        by_part = {each.part: each for each in parts}
        split = np.array(partition.split)
        values, variances = np.zeros(len(split)), np.zeros(len(split))
        for which, part in ((~split, by_part["segments"]), (split, by_part["split units"])):
            values[which], variances[which] = part.numbers, part.variance
        cells = by_part["split cells"]
        blocks = [(width, each.numbers, each.variance) for width, each in zip(widths, levels, strict=True)]
        self._buckets = Buckets.measured(partition, blocks, (values, variances), (cells.numbers, cells.variance))

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates."""
        return self._buckets.near_integers()

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate of a linear query, and the variance that its noise has."""
        return self._buckets.query(query)

    def is_unbiased(self, query: Numbers) -> bool:  # noqa: ARG002 - as all estimates have it
        """Never: counts are spread evenly, and what is measured again was chosen by its own noise."""
        return False
