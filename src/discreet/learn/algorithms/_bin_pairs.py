"""Noisy counts of bins, by class and two at once, and what they say together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.learn._steps import Measurer, deviation
from discreet.learn.algorithms._bins import BinnedRows, Bins

__all__ = ["Labels", "Pairs", "measured_labels", "measured_pairs"]

_DEPENDENCE = 0.04
"""How far the count of two bins is from what independent inputs would have: the typical share of its mean."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """Noisy counts of rows by bin and class.

    Attributes
    ----------
    counts
        By bin and class.
    variance
        Of the noise of each.
    """

    counts: Numbers
    variance: float

    def pooled(self, more: Labels) -> Labels:
        """Both measurements as one."""
        weight, other = 1 / self.variance, 1 / more.variance
        return Labels((weight * self.counts + other * more.counts) / (weight + other), 1 / (weight + other))

    def shares(self, bins: Bins) -> Numbers:
        """The classes' shares in all rows: nearer to equal ones the less the counts say."""
        sums, classes = self.counts.sum(axis=0) / len(bins.sizes), self.counts.shape[1]
        mean = max(1.0, float(sums.mean()))
        positive = _nearer(sums, mean, self.variance * bins.count / len(bins.sizes) ** 2)
        return np.clip(positive / positive.sum(), 0.02 / classes, 0.98)

    def towards(self, shares: Numbers) -> Numbers:
        """By how many rows of each class a bin has more than its share."""
        return self.counts - shares * self.counts.sum(axis=1, keepdims=True)


def measured_labels(rows: BinnedRows, measurer: Measurer, share: Fraction) -> Labels:
    """Counts of bins by class for a share of the spend: a row adds 1 in each input."""
    noise = measurer.noise_of("labels", share)
    return Labels(measurer.measure("labels", rows.counts(), noise), deviation(noise) ** 2)


@dataclass(frozen=True)
class Pairs:
    """Noisy counts of rows by bin, and by two bins of different inputs.

    Attributes
    ----------
    singles
        By bin.
    counts
        By two bins; 0 where they are of one input.
    variance
        Of the noise of each.
    """

    singles: Numbers
    counts: Numbers
    variance: float

    def rows(self, bins: Bins) -> float:
        """About how many rows there are."""
        return max(1.0, float(self.singles.sum()) / len(bins.sizes))

    def denoised(self, bins: Bins, labels: Labels) -> tuple[Numbers, Numbers]:
        """About how many rows are in each bin, and in each two: the second is positive semi-definite.

        What counts do not say is taken to be as if bins were alike, and inputs independent.
        """
        other = labels.variance * labels.counts.shape[1]
        weight = other / (other + self.variance)
        pooled = weight * self.singles + (1 - weight) * labels.counts.sum(axis=1)
        rows = max(1.0, float(pooled.sum()) / len(bins.sizes))
        singles = np.empty_like(pooled)
        for i, size in enumerate(bins.sizes):
            singles[bins.slice_of(i)] = _nearer(pooled[bins.slice_of(i)], rows / size, weight * self.variance)
        expected = np.outer(singles, singles) / rows
        same = bins.of_input[:, None] == bins.of_input[None]
        typical = _DEPENDENCE**2 * np.outer(singles, singles)
        apart = (self.counts - expected) * typical / (typical + self.variance)
        values, vectors = np.linalg.eigh(np.where(same, np.diag(singles), expected + apart))
        return singles, np.asarray((vectors * np.maximum(values, 0)) @ vectors.T, np.float64)


def _nearer(counts: Numbers, mean: float, variance: float) -> Numbers:
    """Counts moved towards their mean as far as their noise is all that they show; none of them far below it."""
    apart = float(np.square(counts - mean).mean())
    trust = max(0.0, 1 - variance / max(apart, 1e-9))
    return np.maximum(mean + trust * (counts - mean), min(1.0, mean / 10))


def measured_pairs(rows: BinnedRows, measurer: Measurer, share: Fraction) -> Pairs:
    """Counts of bins, alone and two at once, for a share of the spend: of d inputs a row adds d(d + 1)/2 ones."""
    bins = rows.bins
    noise = measurer.noise_of("pairs", share)
    noisy = measurer.measure("pairs", pair_counts(rows), noise)
    counts = np.zeros((bins.count, bins.count))
    start = bins.count
    for i, j in _two_inputs(bins):
        size = bins.sizes[i] * bins.sizes[j]
        block = noisy[start : start + size].reshape(bins.sizes[i], bins.sizes[j])
        counts[bins.slice_of(i), bins.slice_of(j)] = block
        counts[bins.slice_of(j), bins.slice_of(i)] = block.T
        start += size
    return Pairs(noisy[: bins.count], counts, deviation(noise) ** 2)


def pair_counts(rows: BinnedRows) -> NDArray[np.int64]:
    """How many rows are in each bin, then in each bin of one input and each of a later one."""
    sizes = rows.bins.sizes
    columns = [rows.places[:, i].astype(np.int64) for i in range(len(sizes))]
    counts = [np.bincount(column, minlength=size) for column, size in zip(columns, sizes, strict=True)]
    for i, j in _two_inputs(rows.bins):
        counts.append(np.bincount(columns[i] * sizes[j] + columns[j], minlength=sizes[i] * sizes[j]))
    return np.concatenate(counts)


def _two_inputs(bins: Bins) -> list[tuple[int, int]]:
    count = len(bins.sizes)
    return [(i, j) for i in range(count) for j in range(i + 1, count)]
