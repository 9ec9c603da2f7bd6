"""Strategies against dense least squares, by enumeration, and against the bounds that they come near."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.marginals.strategies import (
    COLUMN_NORM,
    Buckets,
    Factorization,
    Partition,
    TreeStrategy,
    Workload,
    fitted_tree,
    near_integers,
    partition_of,
)

WORKLOADS = st.builds(
    lambda kind, cells, ends: (
        Workload(kind, cells)
        if kind != "queries"
        else Workload(
            kind, cells, tuple((min(a, b) % cells, max(min(a, b) % cells, max(a, b) % cells)) for a, b in ends)
        )
    ),
    st.sampled_from(["ranges", "prefixes", "queries"]),
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=6),
)


def matrix(workload: Workload) -> np.ndarray:
    n = workload.cells
    match workload.kind:
        case "ranges":
            ends = [(a, b) for a in range(n) for b in range(a, n)]
        case "prefixes":
            ends = [(0, b) for b in range(n)]
        case _:
            ends = list(workload.ends)
    rows = np.zeros((len(ends), n))
    for row, (a, b) in zip(rows, ends, strict=True):
        row[a : b + 1] = 1
    return rows


@given(WORKLOADS)
def test_gram_count_and_singular_values_are_those_of_the_queries(workload: Workload) -> None:
    rows = matrix(workload)
    assert workload.count == len(rows)
    assert np.allclose(workload.gram(), rows.T @ rows)
    values = np.sort(np.linalg.svd(rows, compute_uv=False))[::-1]
    own = np.sort(workload.singular_values)[::-1]
    assert np.allclose(own[: len(values)], values, atol=1e-5)


@given(WORKLOADS, st.data())
def test_energies_are_mean_squares_of_sums_in_blocks(workload: Workload, data: st.DataObject) -> None:
    profile = np.array(data.draw(st.lists(st.floats(0, 2), min_size=workload.cells, max_size=workload.cells)))
    width = data.draw(st.integers(1, workload.cells))
    starts = np.arange(0, workload.cells, width)
    sums = np.add.reduceat(matrix(workload) * profile, starts, axis=1)
    assert np.allclose(workload.energies(profile, starts), (sums**2).mean(axis=0), rtol=1e-9, atol=1e-9)


@given(WORKLOADS, st.sampled_from([(), (2,), (3,), (4, 2), (12, 4), (10, 5)]), st.data())
@settings(max_examples=30)
def test_trees_are_dense_least_squares(workload: Workload, above: tuple[int, ...], data: st.DataObject) -> None:
    widths = (*(width for width in above if width < workload.cells), 1)
    variances = [float(data.draw(st.integers(1, 50))) for _ in widths]
    strategy = TreeStrategy(workload.cells, widths, (Fraction(1, len(widths)),) * len(widths))
    blocks = [np.add.reduceat(np.eye(workload.cells), np.arange(0, workload.cells, w), axis=0) for w in widths]
    weighted = np.vstack([each / np.sqrt(v) for each, v in zip(blocks, variances, strict=True)])
    covariance = np.linalg.inv(weighted.T @ weighted)
    mean = np.trace(workload.gram() @ covariance) / workload.count
    assert strategy.mean_variance(workload, variances) == pytest.approx(mean, rel=1e-9)
    measured = [np.array(data.draw(st.lists(st.integers(-99, 99), min_size=len(b), max_size=len(b)))) for b in blocks]
    right = sum(each.T @ (y / v) for each, y, v in zip(blocks, measured, variances, strict=True))
    estimated = strategy.least_squares(variances).estimate([None, *measured])[-1]
    assert np.allclose(estimated, covariance @ right, atol=1e-8)


@given(WORKLOADS)
@settings(max_examples=30)
def test_factorizations_are_short_exact_and_dense_least_squares(workload: Workload) -> None:
    merged = workload.merged()
    strategy = Factorization(merged)
    exact = strategy.rows.astype(np.int64)
    assert (exact**2).sum(axis=0).max() <= COLUMN_NORM**2
    counts = np.arange(merged.cells)[::-1] * 7
    measured = strategy.measured(counts)
    assert measured == [int(sum(int(a) * int(b) for a, b in zip(row, counts, strict=True))) for row in exact]
    assert np.allclose(strategy.estimate(np.array(measured, float)), counts, atol=1e-7)
    query = matrix(merged)[0]
    dense = np.linalg.solve(exact.T.astype(float), query)
    assert strategy.variance(query) == pytest.approx(float(dense @ dense), rel=1e-6)
    mean = np.trace(merged.gram() @ np.linalg.inv(exact.T.astype(float) @ exact)) / merged.count
    assert strategy.mean_variance == pytest.approx(mean, rel=2e-3)


@pytest.mark.parametrize("kind", ["ranges", "prefixes"])
def test_factorizations_of_1024_cells_are_near_the_svd_bound(kind: str) -> None:
    workload = Workload(kind, 1024)  # pyright: ignore[reportArgumentType]
    ratio = np.sqrt(Factorization(workload).mean_variance * COLUMN_NORM**2 / workload.bound)
    assert 1 <= ratio <= 1.025
    identity = np.sqrt(np.trace(workload.gram()) / workload.count / workload.bound)
    assert identity > 5


def test_the_fitted_tree_of_4096_cells_has_the_least_error_of_ranges() -> None:
    workload = Workload("ranges", 4096)
    strategy = fitted_tree(workload)
    assert sum(strategy.shares) == 1
    variances = [2 / float(share / 10) ** 2 for share in strategy.shares]
    assert np.sqrt(strategy.mean_variance(workload, variances)) < 165
    binary = TreeStrategy(4096, tuple(2**i for i in range(12, -1, -1)), (Fraction(1, 13),) * 13)
    assert 250 < np.sqrt(binary.mean_variance(workload, [2 * 130.0**2] * 13)) < 290


@given(st.integers(2, 60), st.integers(1, 9), st.data())
@settings(max_examples=30)
def test_integers_are_never_negative_and_near_what_is_there(cells: int, deviation: int, data: st.DataObject) -> None:
    strategy = fitted_tree(Workload("ranges", cells))
    counts = np.array(data.draw(st.lists(st.integers(-20, 400), min_size=cells, max_size=cells)), float)
    whole = near_integers(strategy.tree, strategy.tree.sums(counts), float(deviation))
    assert whole.min() >= 0
    assert whole.dtype == np.int64
    if counts.min() >= 1.5 * deviation:
        assert np.array_equal(whole, counts)


@given(st.lists(st.floats(-50, 400), min_size=8, max_size=40), st.integers(2, 5), st.floats(1, 1000))
def test_a_partition_covers_every_cell_once(units: list[float], unit: int, variance: float) -> None:
    cells = len(units) * unit - 1
    partition = partition_of(np.array(units), cells, unit, variance, 3.0)
    assert partition.edges[0] == 0
    assert partition.edges[-1] == cells
    assert (np.diff(partition.edges) > 0).all()
    counts = np.arange(cells)
    assert partition.segment_sums(counts).sum() == partition.bucket_sums(counts).sum() == counts.sum()
    by_segment = np.bincount(partition.segments, partition.bucket_sums(counts))
    assert np.array_equal(by_segment, partition.segment_sums(counts))


def test_segments_are_the_cheapest_of_all() -> None:
    units, variance = np.array([0.0, 1, 0, 40, 41, 39, 0, 3]), 60.0

    def cost(cuts: tuple[int, ...]) -> float:
        total = 0.0
        for a, b in itertools.pairwise((0, *cuts, len(units))):
            strayed = np.cumsum(units[a:b] - units[a:b].mean())
            total += 2 / len(units) * float(strayed @ strayed) + 0.5 * variance
        return total

    choices = [cuts for k in range(len(units)) for cuts in itertools.combinations(range(1, len(units)), k)]
    best = min(choices, key=cost)
    assert partition_of(units, len(units), 1, variance, 1e9).starts == (0, *best)


@pytest.mark.parametrize("cell", range(12))
def test_one_row_moves_one_way_through_a_partition(cell: int) -> None:
    """By enumeration: a segment that is not split, or a split unit and one of its cells."""
    partition = Partition(12, 3, (0, 2, 3), (False, True, False))
    moved = np.eye(12, dtype=np.int64)[cell]
    split = np.array(partition.split)
    segments, buckets = partition.segment_sums(moved), partition.bucket_sums(moved)
    ways = segments[~split].sum(), segments[split].sum(), buckets[split[partition.segments]].sum()
    assert ways in {(1, 0, 0), (0, 1, 1)}


def test_buckets_are_dense_least_squares() -> None:
    partition = Partition(6, 2, (0, 1), (True, False))
    levels = [(4, np.array([9.0, 5.0]), 2.0), (2, np.array([4.0, 4.0, 6.0]), 4.0)]
    buckets = Buckets.measured(
        partition, levels, (np.array([3.0, 8.0]), np.array([1.0, 2.0])), (np.array([1.0, 4.0]), 3.0)
    )
    rows = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]], float)
    weights = 1 / np.array([4.0, 1, 2, 3, 3])
    right = rows.T @ (weights * np.array([4.0, 3, 8, 1, 4]))
    assert np.allclose(buckets.estimates, np.linalg.solve((rows.T * weights) @ rows, right))
    assert buckets.near_integers().min() >= 0
    assert len(buckets.near_integers()) == 6


def test_what_is_no_workload_tree_or_partition_is_refused() -> None:
    for wrong in (("rings", 4), ("ranges", 0), ("ranges", 3, ((0, 1),)), ("queries", 3), ("queries", 3, ((2, 1),))):
        with pytest.raises(ParameterError):
            Workload(*wrong)  # pyright: ignore[reportArgumentType]
    for widths, shares in (((3, 2, 1), (1, 1, 1)), ((2,), (1,)), ((2, 1), (1, 1)), ((2, 1), (1,))):
        with pytest.raises(ParameterError):
            TreeStrategy(9, widths, tuple(Fraction(share) for share in shares))
    for starts, split in (((1,), (False,)), ((0, 3), (False,)), ((0, 2), (True, False)), ((), ())):
        with pytest.raises(ParameterError):
            Partition(9, 3, starts, split)
    with pytest.raises(ParameterError, match="at most"):
        Factorization(Workload("ranges", 20_000))
