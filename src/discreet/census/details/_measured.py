"""What was measured of overlapping groups at one level, and the estimates that follow: all of it post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.census.details._layout import DetailLayout
from discreet.prices import Additive

__all__ = ["LevelCounts", "Shown", "combined_weight", "variance_of"]

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


def combined_weight(first: Additive, second: Additive, cells: int) -> float:
    """How much of the noise of a first total is in the combined total, beside the sum of so many cells.

    Least squares weigh the two by the inverses of their variances.
    """
    sum_variance = cells * variance_of(second)
    return sum_variance / (sum_variance + variance_of(first))


def variance_of(mechanism: Additive) -> float:
    """The variance of noise; never 0."""
    return max(mechanism.std, 1e-6) ** 2


@dataclass(frozen=True, eq=False)
class Shown:
    """The groups and areas of a level that are shown in one way, in the order of groups and then of areas.

    Attributes
    ----------
    groups, areas
        The places of each pair.
    first
        The noisy total of the first stage.
    unbiased
        The noisy cells of the second stage, pairs by cells: right on average, given that these pairs were chosen.
    variance
        Of each cell.
    combined, combined_variance
        The cells that agree with both stages, by least squares, and their variance were nothing chosen by the first.
    totals, totals_variance
        The sums of the unbiased cells.
    combined_totals, combined_totals_variance
        The sums of the combined cells.
    values
        Whole numbers from 0 on near the combined cells.
    """

    groups: Integers
    areas: Integers
    first: Integers
    unbiased: Integers
    variance: float
    combined: Numbers
    combined_variance: float
    totals: Integers
    totals_variance: float
    combined_totals: Numbers
    combined_totals_variance: float
    values: Integers


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Noisy counts of one level.

    Attributes
    ----------
    totals
        Groups by areas, of the first stage.
    cells
        Of each way to show a group the pairs that are shown so, by cells, of the second stage.
    noise
        That of ``totals`` and of ``detail``.
    """

    totals: Integers
    cells: tuple[Integers, ...]
    noise: Mapping[str, Additive]

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Of a total of the first stage, and of a cell of the second."""
        return variance_of(self.noise["totals"]), variance_of(self.noise["detail"])

    def shown(self, layout: DetailLayout, way: int) -> Shown:
        """What is shown in one way."""
        groups, areas = np.nonzero(layout.chosen(self.totals) == way)
        first, unbiased = self.totals[groups, areas], self.cells[way]
        one, each = self.variances
        count = unbiased.shape[1]
        sums = unbiased.sum(axis=1)
        weight = combined_weight(self.noise["totals"], self.noise["detail"], count)
        totals = sums + weight * (first - sums)
        combined = unbiased + ((totals - sums) / count)[:, None]
        return Shown(
            groups=groups.astype(np.int64),
            areas=areas.astype(np.int64),
            first=first,
            unbiased=unbiased,
            variance=each,
            combined=combined,
            combined_variance=each - each**2 / (count * each + one),
            totals=sums,
            totals_variance=count * each,
            combined_totals=totals,
            combined_totals_variance=1 / (1 / one + 1 / (count * each)),
            values=_integers(combined, totals),
        )

    def sizes_fit(self, layout: DetailLayout, areas: int) -> bool:
        """Whether there are as many counts as the totals ask for."""
        if self.totals.shape != (len(layout.codes), areas) or len(self.cells) != len(layout.sizes):
            return False
        pairs = np.bincount(layout.chosen(self.totals).ravel(), minlength=len(layout.sizes))
        return all(
            counts.shape == (chosen, size)
            for counts, chosen, size in zip(self.cells, pairs.tolist(), layout.sizes, strict=True)
        )


def _integers(cells: Numbers, totals: Numbers) -> Integers:
    """Rows of whole numbers from 0 on, near cells, that add up to the rounded totals, or to 0.

    The nearest table that is not negative and adds up (Duchi, Shalev-Shwartz, Singer and Chandra 2008), and of its
    fractions as many of the largest are rounded up as are needed.
    """
    if not cells.size:
        return np.zeros(cells.shape, np.int64)
    wanted = np.maximum(np.rint(totals), 0.0)
    falling = -np.sort(-cells, axis=1)
    places = np.arange(1, cells.shape[1] + 1)
    excess = (np.cumsum(falling, axis=1) - wanted[:, None]) / places
    last = np.maximum((falling > excess).cumsum(axis=1).argmax(axis=1), 0)
    nearest = np.maximum(cells - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
    nearest[wanted == 0] = 0.0
    floors = np.floor(nearest)
    left = np.clip(wanted - floors.sum(axis=1), 0, cells.shape[1])
    rank = np.argsort(np.argsort(-(nearest - floors), axis=1, kind="stable"), axis=1, kind="stable")
    return (floors + (rank < left[:, None])).astype(np.int64)
