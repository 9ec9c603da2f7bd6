"""A private partition: which neighbouring units of a histogram are measured together, from noisy counts alone.

Two levels of a tree are measured with a part of ε. From these noisy counts, and nothing else, follow segments of units
within which the counts are taken as even, where that costs a range less than the noise of more segments; and units that
hold so much that their cells are measured one by one. The rest of ε measures the segments.
``proofs/private_partition.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["MOST_BUCKETS", "Buckets", "Partition", "partition_of"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
MOST_BUCKETS = 1_024
"""A partition has no more: fewer segments are made, and fewer units are split, the largest first."""
_CROSSED = 0.5
"""Which part of the segments a range crosses, nearly: what the noise of one more costs."""
_CLEAR = 2.0
_SMALL, _NOTHING = 1.5, 2.0


@dataclass(frozen=True, eq=False)
class Partition:
    """Segments of neighbouring units of cells, and which of them are single units whose cells are measured alone.

    Attributes
    ----------
    cells, unit
        How many cells there are, and how many make a unit; the last unit may be smaller.
    starts
        The first units of the segments, rising from 0.
    split
        Whether each segment is a unit whose cells are buckets of their own.

    Raises `ParameterError` for what is none.
    """

    cells: int
    unit: int
    starts: tuple[int, ...]
    split: tuple[bool, ...]

    def __post_init__(self) -> None:
        units = -(-self.cells // self.unit)
        ends = (*self.starts[1:], units)
        rising = all(a < b for a, b in zip(self.starts, ends, strict=True)) if self.starts else False
        single = all(b - a == 1 or not each for a, b, each in zip(self.starts, ends, self.split, strict=False))
        if not rising or self.starts[0] != 0 or len(self.split) != len(self.starts) or not single:
            raise ParameterError("a partition has rising segments from 0, of which single units may be split")

    @cached_property
    def edges(self) -> Places:
        """The first cells of the buckets, and the number of cells."""
        edges = list[int]()
        for start, split in zip(self.starts, self.split, strict=True):
            first = start * self.unit
            edges.extend(range(first, min(first + self.unit, self.cells)) if split else [first])
        return np.array([*edges, self.cells])

    @cached_property
    def segments(self) -> Places:
        """The segment of each bucket."""
        firsts = np.array(self.starts) * self.unit
        return np.searchsorted(firsts, self.edges[:-1], side="right") - 1

    def bucket_sums(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Exact counts of the buckets: private."""
        return np.add.reduceat(counts, self.edges[:-1])

    def segment_sums(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Exact counts of the segments: private."""
        return np.add.reduceat(counts, np.array(self.starts) * self.unit)


def partition_of(units: Numbers, cells: int, unit: int, variance: float, deviation: float) -> Partition:
    """The partition that costs a random range least, by noisy counts of the units. A function of these alone.

    `variance` is that of the noise that a segment will have, and `deviation` that of a unit here. Within a segment a
    range is off by how far the running total strays from a straight line; each segment more has one more noise.
    Quadratic in the units.
    """
    price = _CROSSED * variance
    while len(cuts := _segments(units, price)) > MOST_BUCKETS // 2:
        price *= 2
    worth = 2 * unit / cells * units**2 / 3
    split = (worth > 2 * variance) & (units > _CLEAR * deviation)
    room = (MOST_BUCKETS - len(cuts)) // (unit + 1)
    split[np.argsort(-np.where(split, units, -np.inf), kind="stable")[room:]] = False
    alone = np.flatnonzero(split)
    edges = {*cuts, *alone.tolist(), *(alone + 1).tolist()} - {len(units)}
    starts = tuple(sorted(edges))
    return Partition(cells, unit, starts, tuple(bool(split[start]) for start in starts))


def _segments(units: Numbers, price: float) -> list[int]:
    """The first units of the cheapest segments, by dynamic programming over where the last one begins."""
    count = len(units)
    running = np.concatenate([np.zeros(1), np.cumsum(units)])
    at = np.arange(count + 1.0)
    squares, moments, sums = (
        np.concatenate([np.zeros(1), np.cumsum(each[1:])]) for each in (running**2, at * running, running)
    )
    best, begun = np.zeros(count + 1), np.zeros(count + 1, np.int64)
    for stop in range(1, count + 1):
        first = np.arange(stop)
        size, base = stop - first, running[:stop]
        slope = (running[stop] - base) / size
        total = sums[stop] - sums[:stop]
        moment = moments[stop] - moments[:stop] - first * total
        strayed = (
            squares[stop] - squares[:stop] - 2 * base * total + size * base**2 - 2 * slope * moment
            + slope * base * size * (size + 1) + slope**2 * size * (size + 1) * (2 * size + 1) / 6
        )  # fmt: skip
        costs = best[:stop] + 2 / count * np.maximum(strayed, 0) + price
        begun[stop] = costs.argmin()
        best[stop] = costs[begun[stop]]
    starts = [count]
    while starts[-1] > 0:
        starts.append(int(begun[starts[-1]]))
    return sorted(starts[1:])


@dataclass(frozen=True, eq=False)
class Buckets:
    """The buckets of a partition by least squares over all that was measured of them.

    Attributes
    ----------
    partition
        The buckets.
    estimates, covariance
        Of the counts of the buckets, given the partition. What the partition was made of is among what is measured, so
        an estimate may be bent by the choice; see the proof note.
    """

    partition: Partition
    estimates: Numbers
    covariance: Numbers

    @classmethod
    def measured(
        cls,
        partition: Partition,
        levels: list[tuple[int, Numbers, float]],
        segments: tuple[Numbers, Numbers],
        split: tuple[Numbers, float],
    ) -> Buckets:
        """Least squares over levels of blocks, segments, and cells of those that are split.

        A level is its width, what was measured and its variance; blocks that a bucket crosses are left out. `segments`
        has what was measured of each, and its variance.
        """
        edges, width = partition.edges, np.diff(partition.edges)
        count = len(width)
        rows, measured, variances = list[Numbers](), list[float](), list[float]()
        for size, blocks, variance in levels:
            for block, value in enumerate(blocks.tolist()):
                first, last = block * size, min((block + 1) * size, partition.cells)
                begin, stop = np.searchsorted(edges, [first, last])
                if edges[begin] == first and edges[stop] == last:
                    _add(rows, measured, variances, (np.arange(begin, stop), value, variance), count)
        for segment, (value, variance) in enumerate(zip(*map(np.ndarray.tolist, segments), strict=True)):
            members = np.flatnonzero(partition.segments == segment)
            _add(rows, measured, variances, (members, value, variance), count)
        alone = np.flatnonzero(np.array(partition.split)[partition.segments])
        for bucket, value in zip(alone, split[0].tolist(), strict=True):
            _add(rows, measured, variances, (np.array([bucket]), value, split[1]), count)
        design, weights = np.array(rows), 1 / np.array(variances)
        covariance: Numbers = np.asarray(np.linalg.inv((design.T * weights) @ design), np.float64)
        return cls(partition, covariance @ (design.T @ (weights * np.array(measured))), covariance)

    def query(self, query: Numbers) -> tuple[float, float]:
        """The estimate and the variance of a query's sum, with the counts of a bucket spread evenly over its cells."""
        weights = np.add.reduceat(query, self.partition.edges[:-1]) / np.diff(self.partition.edges)
        return float(weights @ self.estimates), float(weights @ self.covariance @ weights)

    def near_integers(self) -> Places:
        """Whole numbers of 0 or more near the estimates, spread over the cells. A function of noisy numbers alone."""
        partition = self.partition
        member = partition.segments == np.arange(len(partition.starts))[:, None]
        sums, among = member @ self.estimates, member @ self.covariance @ member.T
        small = sums < _SMALL * np.sqrt(np.diagonal(among))
        together = among[np.ix_(small, small)].sum()
        if sums[small].sum() < _NOTHING * np.sqrt(max(together, 0.0)):
            sums = np.where(small, 0.0, sums)
        rounded = _rounded(np.maximum(_simplex(sums, max(float(sums.sum()), 0.0)), 0.0))
        cells, width = np.zeros(partition.cells, np.int64), np.diff(partition.edges)
        for segment, total in enumerate(rounded.tolist()):
            buckets = np.flatnonzero(member[segment])
            counts = _rounded(_simplex(self.estimates[buckets], float(total))) if len(buckets) > 1 else [total]
            for bucket, count in zip(buckets.tolist(), counts, strict=True):
                steps = np.arange(width[bucket] + 1) * int(count) // width[bucket]
                cells[partition.edges[bucket] : partition.edges[bucket + 1]] = np.diff(steps)
        return cells


def _add(
    rows: list[Numbers],
    measured: list[float],
    variances: list[float],
    one: tuple[Places, float, float],
    count: int,
) -> None:
    members, value, variance = one
    row = np.zeros(count)
    row[members] = 1
    rows.append(row)
    measured.append(value)
    variances.append(variance)


def _simplex(values: Numbers, total: float) -> Numbers:
    """The numbers of 0 or more nearest to others that have a given sum."""
    falling = -np.sort(-values)
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = max(int(np.count_nonzero(falling > excess)), 1)
    return np.maximum(values - excess[last - 1], 0.0)


def _rounded(values: Numbers) -> Places:
    """Whole numbers within 1 of others, with their sum to the nearest: the largest fractions are rounded up."""
    rounded = np.floor(values + 1e-9).astype(np.int64)
    missing = round(float(values.sum())) - int(rounded.sum())
    rounded[np.argsort(rounded - values, kind="stable")[: max(missing, 0)]] += 1
    return rounded
