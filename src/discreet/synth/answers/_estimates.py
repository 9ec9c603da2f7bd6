"""Linear functions of a private table estimated from what was measured, with the noise of each estimate, exactly.

Every measured marginal that holds the columns of a function gives an unbiased estimate of it, in each group whose rows
merging did not mix with others. They are combined by the inverse of their variances. Proof, and what it does not
prove: ``proofs/synth_intervals.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.marginals import Clique, Merge, Numbers, cells
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian

__all__ = [
    "LEAST_STD",
    "Combined",
    "GroupedWeights",
    "MeasuredMarginal",
    "Moments",
    "combine_marginals",
    "moments",
    "places_in",
]

LEAST_STD = 1e-3
"""Noise that hardly ever differs from 0 counts as this much where something is divided by it."""
_KURTOSIS = 3.0
"""The excess kurtosis of Laplace noise."""


@dataclass(frozen=True, eq=False)
class MeasuredMarginal:
    """A marginal as it was measured: of one column by public cells, of several by merged ones."""

    clique: Clique
    counts: Numbers
    mechanism: DiscreteLaplace | DiscreteGaussian | Gaussian

    def sizes(self, public: Sequence[int], merges: Sequence[Merge]) -> tuple[int, ...]:
        """How many cells each column of it has."""
        return tuple(public[i] if self.is_public else merges[i].size for i in self.clique)

    @property
    def is_public(self) -> bool:
        """Whether its cells are the public ones."""
        return len(self.clique) == 1


@dataclass(frozen=True, eq=False)
class GroupedWeights:
    """What a row in each public cell of some columns adds to a sum, and to that of which group; unless unknown."""

    columns: Clique
    weights: Numbers
    groups: NDArray[np.int64]
    known: NDArray[np.bool_]
    is_total: bool


@dataclass(frozen=True, eq=False)
class _Part:
    """A function on the cells of one measured marginal: a weight and a group for each, by group an estimate of it."""

    weights: Numbers
    groups: NDArray[np.int64]
    determined: NDArray[np.bool_]
    estimates: Numbers
    squares: Numbers


@dataclass(frozen=True, eq=False)
class Combined:
    """The estimates of a function by group, NaN where nothing measured determines it, and how they were combined.

    `shares` and `parts` are by the position of the measured marginal.
    """

    values: Numbers
    shares: Mapping[int, Numbers]
    parts: Mapping[int, _Part]
    is_total: bool


def combine_marginals(
    function: GroupedWeights,
    count: int,
    measured: Sequence[MeasuredMarginal],
    public: Sequence[int],
    merges: Sequence[Merge],
) -> Combined:
    """A function estimated in each of `count` groups from all marginals that hold its columns."""
    if function.is_total and count != 1:
        every = combine_marginals(function, 1, measured, public, merges)
        shares = {i: np.repeat(share, count) for i, share in every.shares.items()}
        return Combined(np.repeat(every.values, count), shares, every.parts, is_total=True)
    parts: dict[int, _Part] = {}
    precision: dict[int, Numbers] = {}
    for i, marginal in enumerate(measured):
        if not set(function.columns) <= set(marginal.clique):
            continue
        part = _on_marginal(function, count, marginal, public, merges)
        variances = (marginal.mechanism.std or LEAST_STD) ** 2 * np.where(part.squares > 0, part.squares, 1.0)
        if part.determined.any():
            parts[i], precision[i] = part, np.where(part.determined, 1 / variances, 0.0)
    total = sum(precision.values(), np.zeros(count))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = {i: np.where(total > 0, each / total, 0.0) for i, each in precision.items()}
    values = sum(
        (shares[i] * np.where(shares[i] > 0, part.estimates, 0.0) for i, part in parts.items()), np.zeros(count)
    )
    return Combined(np.where(total > 0, values, np.nan), shares, parts, function.is_total)


def _on_marginal(
    function: GroupedWeights, count: int, marginal: MeasuredMarginal, public: Sequence[int], merges: Sequence[Merge]
) -> _Part:
    sizes = marginal.sizes(public, merges)
    weights, groups, mixed = function.weights, function.groups, ~function.known
    undetermined = np.zeros(count, bool)
    if not marginal.is_public and function.columns:
        into, number = _merged(function.columns, public, merges)
        weights, groups, mixed = _constant_on(into, number, function)
        hit = mixed[into] & ((function.weights != 0) | ~function.known)
        undetermined[function.groups[hit]] = True
    else:
        undetermined[groups[mixed]] = True
    place = places_in(function.columns, marginal.clique, sizes)
    on_cells = np.where(mixed, 0.0, weights)[place]
    of_cells = groups[place]
    return _Part(
        on_cells,
        of_cells,
        ~undetermined,
        np.bincount(of_cells, on_cells * marginal.counts, count).astype(np.float64),
        np.bincount(of_cells, on_cells**2, count).astype(np.float64),
    )


def _merged(columns: Clique, public: Sequence[int], merges: Sequence[Merge]) -> tuple[NDArray[np.int64], int]:
    """The merged cell of each public cell of some columns, in C order, and how many there are."""
    shape = tuple(public[i] for i in columns)
    merged = tuple(merges[i].size for i in columns)
    grid = np.meshgrid(*(merges[i].places for i in columns), indexing="ij", sparse=True)
    into = np.ravel_multi_index([np.broadcast_to(each, shape) for each in grid], merged).ravel()  # pyright: ignore[reportArgumentType, reportCallIssue]
    return into, cells([merges[i].size for i in range(len(merges))], columns)


def _constant_on(
    into: NDArray[np.int64], number: int, function: GroupedWeights
) -> tuple[Numbers, NDArray[np.int64], NDArray[np.bool_]]:
    """Weight and group of each merged cell, and whether it mixes public cells of which these differ."""
    order = np.argsort(into, kind="stable")
    starts = np.searchsorted(into[order], np.arange(number))
    weights, unknown = function.weights[order], ~function.known[order]
    groups = np.where(weights != 0, function.groups[order], -1)
    lowest, highest = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
    first, last = np.minimum.reduceat(groups, starts), np.maximum.reduceat(groups, starts)
    mixed = (lowest != highest) | (first != last) | np.logical_or.reduceat(unknown, starts)
    return highest, np.maximum(last, 0), mixed


def places_in(columns: Clique, clique: Clique, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Of each cell of a marginal that of some of its columns, both in C order."""
    place = np.zeros(sizes, np.int64)
    for column in columns:
        axis = clique.index(column)
        along = np.arange(sizes[axis]).reshape([-1 if i == axis else 1 for i in range(len(sizes))])
        place = place * sizes[axis] + along
    return place.ravel()


@dataclass(frozen=True, eq=False)
class Moments:
    """Of the noise in each row of a column: its standard deviation and excess kurtosis, exactly.

    `single` is the position of the marginal of which one cell's noise is all there is, with coefficient 1; else −1.
    `on_integers` is where the noise is a whole number.
    """

    std: Numbers
    kurtosis: Numbers
    single: NDArray[np.int64]
    on_integers: NDArray[np.bool_]

    def taken(self, rows: NDArray[np.int64]) -> Moments:
        """The same of some rows."""
        return Moments(self.std[rows], self.kurtosis[rows], self.single[rows], self.on_integers[rows])


def moments(
    slopes: Mapping[int, Numbers], functions: Mapping[int, Combined], measured: Sequence[MeasuredMarginal], count: int
) -> Moments:
    """The noise of Σ slope · function in each group, to first order, for functions that share marginals.

    Each cell of each marginal has noise of its own, whose coefficient is the sum over functions of slope, share of the
    marginal, and weight of the cell.
    """
    variance, fourth, ones = np.zeros(count), np.zeros(count), np.zeros(count)
    only, several, integers = np.full(count, -1), np.zeros(count, bool), np.ones(count, bool)
    for i, marginal in enumerate(measured):
        used = [(slopes[j] * functions[j].shares[i], functions[j]) for j in slopes if i in functions[j].shares]
        if not used:
            continue
        second, power = _sums(i, used, count)
        noise = marginal.mechanism
        variance += noise.std**2 * second
        if isinstance(noise, DiscreteLaplace):
            fourth += noise.std**4 * power
        touched = second > 0
        several |= touched & (only >= 0)
        only = np.where(touched, i, only)
        integers &= ~touched | _are_integers(i, used)
        ones = np.where(touched, (np.abs(second - 1) < _ALMOST) & (np.abs(power - 1) < _ALMOST), ones)
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = np.where(variance > 0, _KURTOSIS * fourth / variance**2, 0.0)
    single = np.where((ones > 0) & ~several, only, -1)
    return Moments(np.sqrt(variance), kurtosis, single, integers & (only >= 0) & ~several)


_ALMOST = 1e-9


def _are_integers(i: int, used: Sequence[tuple[Numbers, Combined]]) -> NDArray[np.bool_]:
    """In which groups all coefficients of a marginal's cells are whole numbers."""
    return np.all(
        [
            (np.rint(scale) == scale) & bool((np.rint(function.parts[i].weights) == function.parts[i].weights).all())
            for scale, function in used
        ],
        axis=0,
    )


def _sums(i: int, used: Sequence[tuple[Numbers, Combined]], count: int) -> tuple[Numbers, Numbers]:
    """Of each group the sum over the cells of a marginal of the squares and fourth powers of their coefficients.

    Of the fourth powers of what functions of all rows add outside the group, an upper bound: Minkowski's inequality.
    """
    grouped = [(scale, function.parts[i]) for scale, function in used if not function.is_total]
    totals = [(scale, function.parts[i]) for scale, function in used if function.is_total]
    if not grouped:
        groups = np.zeros(0, np.int64)
        inside = beyond = np.zeros(0)
    else:
        groups = grouped[0][1].groups
        for _, part in grouped[1:]:
            groups = np.where(part.weights != 0, part.groups, groups)
        beyond = sum((scale[groups] * part.weights for scale, part in totals), np.zeros(groups.size))
        inside = sum(
            (np.where(part.weights != 0, scale[part.groups] * part.weights, 0.0) for scale, part in grouped),
            np.zeros(groups.size),
        )
    second = np.bincount(groups, (inside + beyond) ** 2 - beyond**2, count).astype(np.float64)
    power = np.bincount(groups, (inside + beyond) ** 4 - beyond**4, count).astype(np.float64)
    for scale, part in totals:
        for other, its in totals:
            second += scale * other * float(part.weights @ its.weights)
    bound = sum((np.abs(scale) * float((part.weights**4).sum()) ** 0.25 for scale, part in totals), np.zeros(count))
    return np.maximum(second, 0.0), np.maximum(power + bound**4, 0.0)
