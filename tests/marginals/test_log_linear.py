"""Log-linear fits: never negative, the minimum that they claim, the counts where nothing is uncertain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.marginals.residuals import _log_linear, centred, log_linear


def parts(columns: int, ways: int) -> list[tuple[int, ...]]:
    return [each for k in range(min(ways, columns) + 1) for each in itertools.combinations(range(columns), k)]


def residuals(counts: np.ndarray, ways: int, deviation: float, seed: int) -> tuple[dict, dict]:
    """Residuals of up to so many columns, with normal noise as if on independent cells."""
    rng = np.random.default_rng(seed)
    values, variances = {}, {}
    for part in parts(counts.ndim, ways):
        marginal = counts.sum(axis=tuple(set(range(counts.ndim)) - set(part))).astype(float)
        values[part] = centred(marginal + deviation * rng.standard_normal(marginal.shape), range(len(part)))
        variances[part] = deviation**2
    return values, variances


def objective(sizes: tuple[int, ...], values: dict, variances: dict, logs: np.ndarray) -> float:
    """What is minimised, by projections of dense arrays: errors by their variances, and interactions by their prior.

    A residual of a marginal whose cells have variance v is Σ e² / v; an interaction u of k columns, in each cell of
    these, Σ u² / s². The interaction of no column is around the logarithm of the measured mean.
    """
    total, counts, every = 0.0, np.exp(logs), range(len(sizes))
    mean = np.log(max(float(values[()]), 1.0) / counts.size)
    for part in parts(len(sizes), len(sizes)):
        rest = tuple(set(every) - set(part))
        deviation = [5.0, 5.0, 3.0, 0.2][min(len(part), 3)]
        centre = mean if part == () else 0.0
        interaction = centred((logs - centre).mean(axis=rest), range(len(part)))
        total += float((interaction**2).sum()) / deviation**2
        if part in values:
            error = centred(counts.sum(axis=rest), range(len(part))) - values[part]
            total += float((error**2).sum()) / variances[part]
    return total / 2


tables = st.lists(st.integers(2, 4), min_size=1, max_size=3).flatmap(
    lambda sizes: st.tuples(
        st.just(tuple(sizes)),
        st.lists(st.integers(0, 60), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes))),
    )
)


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 3), st.sampled_from([0.3, 3.0, 30.0]), st.integers(0, 99))
def test_counts_are_never_negative_and_the_same_each_time(table, ways, deviation, seed) -> None:
    sizes, cells = table
    measured = residuals(np.array(cells).reshape(sizes), ways, deviation, seed)
    counts = log_linear(sizes, *measured)
    assert counts.shape == sizes
    assert np.isfinite(counts).all()
    assert (counts >= 0).all()
    assert np.array_equal(counts, log_linear(sizes, *measured))


@settings(max_examples=40, deadline=None)
@given(tables, st.sampled_from([1e-4, 1e-7]), st.integers(0, 99))
def test_with_hardly_any_noise_they_are_the_counts(table, deviation, seed) -> None:
    sizes, cells = table
    counts = np.array(cells).reshape(sizes)
    measured = residuals(counts, 3, deviation, seed)
    for direct in (_log_linear.DIRECT_CELLS, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_log_linear, "DIRECT_CELLS", direct)
            assert np.abs(log_linear(sizes, *measured) - counts).max() < 0.05


@pytest.mark.parametrize(("ways", "direct"), [(2, True), (3, True), (3, False)])
@pytest.mark.parametrize("deviation", [1.0, 8.0])
def test_they_minimise_what_is_claimed(ways, deviation, direct, monkeypatch) -> None:
    """Where steps go on to the end, no descent by SciPy from there ends lower."""
    sizes = (2, 3, 2)
    rng = np.random.default_rng(ways)
    counts = rng.poisson(np.exp(rng.normal(1, 2, sizes)))
    measured = residuals(counts, ways, deviation, 1)
    monkeypatch.setattr(_log_linear, "_ENOUGH", 1e-7)
    if not direct:
        monkeypatch.setattr(_log_linear, "DIRECT_CELLS", 0)
    ours = log_linear(sizes, *measured)

    def of_logs(logs: np.ndarray) -> float:
        return objective(sizes, *measured, logs.reshape(sizes))

    best = minimize(of_logs, np.log(ours).ravel(), method="BFGS", options={"maxiter": 500})
    assert of_logs(np.log(ours)) <= best.fun + 1e-3


def test_without_columns_it_is_the_total() -> None:
    assert log_linear((), {(): np.array(-3.0)}, {(): 1.0}) == 0
    assert log_linear((), {(): np.array(7.5)}, {(): 1.0}) == 7.5


@pytest.mark.parametrize("total", [-50.0, 0.0, 1e9])
def test_totals_that_no_table_has_are_fitted_too(total) -> None:
    zeros = {(0,): np.zeros(3), (1,): np.zeros(2), (0, 1): np.zeros((3, 2))}
    counts = log_linear((3, 2), {(): np.array(total), **zeros}, dict.fromkeys([(), *zeros], 4.0))
    assert np.isfinite(counts).all()
    assert (counts >= 0).all()
    assert counts.sum() == pytest.approx(max(total, 0), abs=20)


def test_they_are_nearer_than_any_unbiased_number_where_most_cells_are_empty() -> None:
    """A third of the squared error of unbiased numbers cut off at 0, or less, whatever the noise; seeds are fixed."""
    sizes = (8, 9, 10)
    rng = np.random.default_rng(7)
    rows = [rng.choice(size, 4_000, p=np.exp(-np.arange(size)) / np.exp(-np.arange(size)).sum()) for size in sizes]
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(rows), 1)
    for deviation in (1.0, 20.0):
        values, variances = residuals(counts, 3, deviation, 3)
        unbiased = np.zeros(sizes)
        for part, value in values.items():
            rest = [size for column, size in enumerate(sizes) if column not in part]
            shape = [size if column in part else 1 for column, size in enumerate(sizes)]
            unbiased += value.reshape(shape) / np.prod(rest)
        cut = float(((np.maximum(unbiased, 0) - counts) ** 2).mean())
        assert float(((log_linear(sizes, values, variances) - counts) ** 2).mean()) < cut / 3
