"""The planned error against dense matrices, its slopes, and the strategies that are searched for."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from correlated_cases import buffered, exact_matrix, falling_bands
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.learn.correlated import (
    BandedToeplitz,
    Independent,
    MinimumSeparation,
    optimize,
    optimize_blt,
    prefix_error,
    sensitivity_squared,
)
from discreet.learn.correlated._prefix_error import inverse_column, log_error_and_slope


@given(st.one_of(falling_bands(), buffered(), st.just(Independent())), st.integers(1, 12))
def test_it_is_that_of_dense_matrices(strategy, steps) -> None:
    dense = np.array(exact_matrix(strategy, steps), dtype=float)
    prefix = np.linalg.solve(dense.T, np.tril(np.ones((steps, steps))).T).T
    sampling = MinimumSeparation(steps, 1, steps)
    norm = math.sqrt(sensitivity_squared(strategy, sampling))
    assert prefix_error(strategy, sampling) == pytest.approx(np.linalg.norm(prefix) / math.sqrt(steps) * norm)
    assert prefix_error(strategy, sampling, "max") == pytest.approx(np.linalg.norm(prefix, axis=1).max() * norm)


@pytest.mark.parametrize("objective", ["rms", "max"])
@pytest.mark.parametrize("numbers", [(40, 1, 40), (40, 4, 10), (40, 40, 1), (41, 3, 7)])
def test_slopes_are_those_of_differences(objective, numbers) -> None:
    sampling = MinimumSeparation(*numbers)
    column = optimize_blt(*numbers).column(sampling.steps)
    _, slope = log_error_and_slope(column, sampling, objective)
    for place in (0, 1, 5, 39):
        move = np.zeros_like(column)
        move[place] = 1e-6
        ahead, _ = log_error_and_slope(column + move, sampling, objective)
        behind, _ = log_error_and_slope(column - move, sampling, objective)
        assert slope[place] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("size", [1, 2, 3, 17, 1000])
def test_the_inverse_column_inverts(size) -> None:
    column = 1 / np.arange(1.0, size + 1)
    product = np.convolve(column, inverse_column(column))[:size]
    assert np.abs(product - np.eye(1, size)[0]).max() < 1e-12


@pytest.mark.parametrize(("steps", "epochs", "best"), [(512, 1, 2.836), (2048, 8, 10.59), (2048, 16, 17.14)])
def test_bands_are_as_good_as_the_best_that_is_known_and_soon_found(steps, epochs, best) -> None:
    sampling = MinimumSeparation.epochs(steps, epochs)
    begun = time.process_time()
    strategy = optimize(steps, epochs, sampling.separation)
    assert time.process_time() - begun <= 2
    assert prefix_error(strategy, sampling) <= 1.002 * best
    few = optimize_blt(steps, epochs, sampling.separation)
    assert few.state <= 3 and prefix_error(few, sampling) <= 1.06 * best
    independent = math.sqrt((steps + 1) / 2 * epochs)
    assert prefix_error(Independent(), sampling) == pytest.approx(independent)


@pytest.mark.parametrize("objective", ["rms", "max"])
def test_each_objective_is_best_at_itself(objective) -> None:
    sampling, other = MinimumSeparation(300, 3, 100), {"rms": "max", "max": "rms"}[objective]
    for search in (optimize, optimize_blt):
        own, its = search(300, 3, 100, objective=objective), search(300, 3, 100, objective=other)
        assert prefix_error(own, sampling, objective) <= prefix_error(its, sampling, objective)


def test_no_small_change_of_the_bands_is_better() -> None:
    sampling, best = MinimumSeparation(60, 3, 20), optimize(60, 3, 20)
    least = prefix_error(best, sampling)
    for place in range(1, best.bands):
        for move in (-40, 40):
            near = [*best.numerators]
            near[place] += move
            assert prefix_error(BandedToeplitz(tuple(near)), sampling) > least * (1 - 1e-7)


def test_more_bands_than_the_separation_help_where_it_is_short() -> None:
    sampling = MinimumSeparation(512, 128, 4)
    four, twelve = (optimize(512, 128, 4, bands=bands) for bands in (4, 12))
    assert twelve.is_nonincreasing
    assert prefix_error(optimize(512, 128, 4, bands=6), sampling) < prefix_error(Independent(), sampling) * 0.6
    assert prefix_error(twelve, sampling) < prefix_error(four, sampling) * 1.01


def test_full_batches_gain_nothing_from_correlation() -> None:
    assert optimize(100, 100, 1, bands=5) == BandedToeplitz.rounded([1])


@pytest.mark.parametrize("numbers", [(1, 1, 1), (2, 1, 2), (2, 2, 1), (3, 2, 2), (10, 10, 1), (7, 3, 2)])
def test_the_shortest_runs_have_strategies(numbers) -> None:
    sampling = MinimumSeparation(*numbers)
    for bands in range(1, sampling.steps + 1):
        assert prefix_error(optimize(*numbers, bands=bands), sampling) > 0
    assert prefix_error(optimize_blt(*numbers), sampling) > 0


@pytest.mark.parametrize("search", [lambda: optimize(5, bands=0), lambda: optimize(5, bands=6), lambda: optimize(0)])
def test_numbers_out_of_range_are_refused(search) -> None:
    with pytest.raises(ParameterError):
        search()
    with pytest.raises(ParameterError):
        optimize_blt(5, buffers=9)
    with pytest.raises(ParameterError, match="objective"):
        optimize(5, 1, 5, objective="mean")  # type: ignore[arg-type]
