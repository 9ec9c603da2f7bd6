"""The noise that runs, against exact arithmetic; restarts; and the law of short runs by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import cycle

import numpy as np
import pytest
from correlated_cases import ONE, WEIGHT_ONE, buffered, exact_column, exact_matrix, falling_bands, free_bands
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from discreet.errors import ParameterError
from discreet.learn.correlated import (
    BandedToeplitz,
    Blt,
    CorrelatedGaussian,
    CyclicPoisson,
    Independent,
    MinimumSeparation,
    NoiseState,
    _filters,
    _noise,
    _strategies,
    optimize,
    optimize_blt,
)
from discreet.privacy import MuLoss

GUARD = 1 << _strategies.GUARD


def naive(strategy, rows: list[list[int]]) -> list[list[int]]:
    """w for z, an entry at a time in Python ints, as the proof note states it."""
    return [
        list(each)
        for each in zip(*(_one_entry(strategy, list(column)) for column in zip(*rows, strict=True)), strict=True)
    ]


def _one_entry(strategy, noise: list[int]) -> list[int]:
    correlated: list[int] = []
    if isinstance(strategy, Blt):
        buffers = [0] * len(strategy.weights)
        for z in noise:
            total = sum(w * (s // GUARD) for w, s in zip(strategy.weights, buffers, strict=True))
            correlated.append(z - (total + WEIGHT_ONE // 2) // WEIGHT_ONE)
            buffers = [
                s - (a * s // (1 << k)) + GUARD * correlated[-1]
                for (a, k), s in zip(strategy.gaps, buffers, strict=True)
            ]
        return correlated
    numerators = getattr(strategy, "numerators", (ONE,))
    for z in noise:
        total = sum(a * w for a, w in zip(numerators[1:], reversed(correlated), strict=False))
        correlated.append(z - (total + ONE // 2) // ONE)
    return correlated


def filtered(strategy, rows, dtype=np.int64) -> list[list[int]]:
    filter_ = _filters.filter_for(strategy, np.zeros((strategy.state, len(rows[0])), dtype=np.int64))
    return [filter_.step(np.array(row, dtype=dtype)).tolist() for row in rows]


entries = st.one_of(st.integers(-(10**6), 10**6), st.integers(-(2**62), 2**62))
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(entries, min_size=width, max_size=width), min_size=1, max_size=9)
)
any_strategy = st.one_of(free_bands(), falling_bands(), buffered(), st.just(Independent()))


@given(any_strategy, tables)
def test_the_noise_is_that_of_exact_arithmetic_at_any_size(strategy, rows) -> None:
    assert filtered(strategy, rows) == naive(strategy, rows)


@given(any_strategy)
@settings(max_examples=10, deadline=None)
def test_long_rows_are_taken_in_parts(strategy) -> None:
    rows = [[(7919 * (t + 1) * (i + 3)) % 2003 - 1000 for i in range(2 * _filters._CHUNK + 5)] for t in range(3)]
    whole, parts = filtered(strategy, rows), naive(strategy, [row[::997] for row in rows])
    assert [row[::997] for row in whole] == parts


@given(st.one_of(free_bands(), falling_bands()), st.data())
def test_with_bands_what_is_released_is_cx_plus_z_exactly(strategy, data) -> None:
    """Given what was released, the noise that each of two data sets asks for differs by C·(x − x′), to the last bit."""
    steps = data.draw(st.integers(1, 8))
    numbers = st.lists(st.integers(-(10**5), 10**5), min_size=steps, max_size=steps)
    released, x, other = (data.draw(numbers) for _ in range(3))
    matrix = exact_matrix(strategy, steps)
    moved = [sum(c * (a - b) for c, a, b in zip(row, x, other, strict=True)) for row in matrix]
    needed = [needed_noise(strategy, released, each) for each in (x, other)]
    assert [b - a for a, b in zip(*needed, strict=True)] == [ONE * each for each in moved]


@given(buffered(), st.data())
def test_with_buffers_it_is_within_what_is_charged_for_rounding(strategy, data) -> None:
    steps = data.draw(st.integers(1, 8))
    numbers = st.lists(st.integers(-(10**5), 10**5), min_size=steps, max_size=steps)
    released, x, other = (data.draw(numbers) for _ in range(3))
    matrix = exact_matrix(strategy, steps)
    moved = [sum(c * (a - b) for c, a, b in zip(row, x, other, strict=True)) for row in matrix]
    needed = [needed_noise(strategy, released, each) for each in (x, other)]
    off = [Fraction(b - a, ONE) - m for a, b, m in zip(*needed, moved, strict=True)]
    run = CorrelatedGaussian(strategy, MinimumSeparation(max(steps, 2)), 1, bound=1, size=1)
    assert off[0] == 0
    assert sum(each * each for each in off) <= run._rounding**2


def needed_noise(strategy, released: list[int], x: list[int]) -> list[int]:
    """The z with which these sums of contributions are released as `released`."""
    w = [o - ONE * each for o, each in zip(released, x, strict=True)]
    noise: list[int] = []
    for t in range(len(w)):
        noise.append(w[t] - _one_entry(strategy, [*noise, 0])[t])
    return noise


@given(buffered())
def test_buffers_stay_near_the_matrix(strategy) -> None:
    """C·w is z, up to the roundings."""
    rows = [[(-1) ** t * 1000 * (t + 1)] for t in range(12)]
    w = [row[0] for row in naive(strategy, rows)]
    column = exact_column(strategy, 12)
    each = 1 + Fraction(sum(strategy.weights), WEIGHT_ONE) + strategy.reach / GUARD
    for t, row in enumerate(rows):
        assert abs(sum(column[t - s] * w[s] for s in range(t + 1)) - row[0]) <= each


# The noise of a run.


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Noise that tests can predict, and a list of what was drawn."""
    drawn: list[np.ndarray] = []

    def next_noise(sigma: Fraction, size: int) -> np.ndarray:
        drawn.append(np.array([(len(drawn) + 2) * 7919 % 1000 - 500 + 17 * i for i in range(size)], dtype=np.int64))
        return drawn[-1].copy()

    monkeypatch.setattr(_noise, "rounded_gaussian", next_noise)
    return drawn


def run_for(strategy, steps: int = 9, size: int = 4) -> CorrelatedGaussian:
    return CorrelatedGaussian(strategy, MinimumSeparation(steps), 3, bound=1, size=size)


STRATEGIES = [
    Independent(),
    BandedToeplitz.rounded([1]),
    BandedToeplitz.rounded([1, 0.5]),
    BandedToeplitz.rounded([1, 0.9, 0.3, 0.1]),
    Blt.rounded([0.25, 0.4], [0.9, 0.3]),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_correlates_what_it_draws(strategy, planned) -> None:
    noise = run_for(strategy).start()
    noise.draw_ahead()
    noise.draw_ahead()
    rows = [noise.next(t).tolist() for t in range(1, 10)]
    assert rows == naive(strategy, [each.tolist() for each in planned]) and noise.step == 9


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_handed_out_can_be_written_to(strategy, planned) -> None:
    noise, other = run_for(strategy).start(), run_for(strategy).start()
    for t in range(1, 9):
        noise.next(t)[:] = 0
    rows = [other.next(t).tolist() for t in range(1, 9)]
    assert noise.state().step == other.state().step == 8
    assert rows == naive(strategy, [each.tolist() for each in planned[8:]])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("saved", [0, 1, 3, 8])
def test_a_checkpoint_of_the_last_step_goes_on_as_if_nothing_had_been(strategy, saved, planned) -> None:
    noise = run_for(strategy).start()
    rows = [noise.next(t).tolist() for t in range(1, saved + 1)]
    again = run_for(strategy).resume(noise.state(), begun=saved)
    rows += [again.next(t).tolist() for t in range(saved + 1, 10)]
    assert rows == naive(strategy, [each.tolist() for each in planned])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("saved", "begun"), [(0, 3), (2, 3), (2, 7), (None, 4), (None, 0), (None, 9)])
def test_after_a_restart_lost_noise_counts_as_none(strategy, saved, begun, planned) -> None:
    """C·w = z with the entries of C taken out that multiply what is lost; up to roundings."""
    noise, w = run_for(strategy).start(), np.zeros((9, 4))
    state = noise.state() if saved == 0 else None
    for t in range(1, begun + 1):
        row = noise.next(t)
        if saved is not None and t <= saved:
            w[t - 1] = row
        if t == saved:
            state = noise.state()
    again = run_for(strategy).resume(state, begun=begun)
    for t in range(begun + 1, 10):
        w[t - 1] = again.next(t)
    matrix = np.array(exact_matrix(strategy, 9), dtype=float)
    for t in range(begun, 9):
        assert np.abs(matrix[t] @ w - planned[t]).max() <= 3


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_noise_is_never_drawn_for_a_step_twice_or_out_of_turn(strategy) -> None:
    noise = run_for(strategy).start()
    noise.next(1)
    for step in (0, 1, 3, -1, 10):
        with pytest.raises(ParameterError, match="step 2 of 9"):
            noise.next(step)
    for step in range(2, 10):
        noise.next(step)
    with pytest.raises(ParameterError, match="step 10 of 9"):
        noise.next(10)


def test_a_state_of_other_noise_or_of_a_later_step_is_refused() -> None:
    strategy = BandedToeplitz.rounded([1, 0.5])
    run, noise = run_for(strategy), run_for(strategy).start()
    for t in range(1, 4):
        noise.next(t)
    with pytest.raises(ParameterError, match="later step"):
        run.resume(noise.state(), begun=2)
    with pytest.raises(ParameterError, match="not that of this strategy"):
        run_for(strategy, size=5).resume(noise.state(), begun=3)
    with pytest.raises(ParameterError, match="not that of this strategy"):
        run_for(Blt.rounded([0.2, 0.3], [0.9, 0.5])).resume(noise.state(), begun=3)
    with pytest.raises(ParameterError, match="not that of this strategy"):
        run.resume(NoiseState(3, np.zeros((1, 4))), begun=3)
    for step in (-1, 10, "3", 2.0):
        with pytest.raises(ParameterError, match="step of the checkpoint"):
            run.resume(NoiseState(step, noise.state().rows), begun=3)
    for begun in (-1, 10, 2.5, True):
        with pytest.raises(ParameterError):
            run.resume(None, begun=begun)
    assert "rows" not in repr(noise.state())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_far_noise_is_exact_too_and_stays_so_over_a_restart(strategy, monkeypatch) -> None:
    """Beyond 64 bits Python's ints take over: nothing is cut off, which would be seen."""
    rows = [[2**61, -5], [2**70, 1], [3, -(2**63)], [1, 2], [0, 0], [-1, 4], [7, 7]]
    each = iter(rows)

    def far(sigma, size):
        row = next(each)
        return np.array(row, dtype=np.int64 if max(map(abs, row)) < 2**62 else object)

    monkeypatch.setattr(_noise, "rounded_gaussian", far)
    noise = run_for(strategy, size=2).start()
    taken = [noise.next(t).tolist() for t in (1, 2, 3, 4)]
    noise = run_for(strategy, size=2).resume(noise.state(), begun=4)
    taken += [noise.next(t).tolist() for t in (5, 6, 7)]
    assert taken == naive(strategy, rows)


@pytest.mark.parametrize("strategy", [optimize(200, 2, 100, bands=9), optimize_blt(200, 2, 100)])
def test_sums_have_the_error_that_is_planned(strategy) -> None:
    """The root of a mean of 4,000 squares errs by 0.0112; sums over time depend on each other, at most wholly."""
    run = CorrelatedGaussian(strategy, MinimumSeparation(200, 2, 100), 50, bound=1, size=4000)
    noise, total, squares = run.start(), np.zeros(4000), []
    for t in range(1, 201):
        total += noise.next(t) / 2.0**noise.places
        squares.append(float(np.mean(total**2)))
    assert abs(math.sqrt(np.mean(squares)) / run.prefix_std() - 1) < 0.075
    assert abs(math.sqrt(squares[-1]) / run.prefix_std("max") - 1) < 0.1


def test_the_largest_sigma_leaves_64_bits_room_and_more_is_refused() -> None:
    for strategy in (optimize(200, 2, 100, bands=9), optimize_blt(200, 2, 100), optimize(50, 50, 1, bands=3)):
        limit = int(_filters.most_sigma(strategy, 200)) >> 12
        run = CorrelatedGaussian(strategy, MinimumSeparation(200), limit, bound=1, size=50)
        noise = run.start()
        assert all(noise.next(t).dtype == np.int64 for t in range(1, 201))
        assert noise.state().rows.dtype == np.int64
        with pytest.raises(ParameterError, match="coarser grid"):
            CorrelatedGaussian(strategy, MinimumSeparation(200), 2 * limit, bound=1, size=50)


# The law of short runs, by enumeration on a grid of a quarter: the noise that runs, for all z.


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> Callable[..., BandedToeplitz]:
    for module in (_strategies, _filters):
        monkeypatch.setattr(module, "PLACES", 2)
    monkeypatch.setattr(_strategies, "_ONE", 4)
    return lambda *numerators: BandedToeplitz(numerators)


def law(
    run: CorrelatedGaussian,
    x: list[int],
    monkeypatch: pytest.MonkeyPatch,
    begin: Callable | None = None,
    fresh: int = 3,
) -> dict[int, float]:
    """Of what is released, on a grid of a quarter: each z in reach is an entry of one long row.

    Only the first `fresh` steps have noise of their own; later ones reuse it.
    """
    fine = float(run.sigma) * 2**run.strategy.places
    reach = math.ceil(5.5 * fine)
    each = np.arange(-reach, reach + 1)
    chance = ndtr((each + 0.5) / fine) - ndtr((each - 0.5) / fine)
    free = min(fresh, len(x))
    grids = [grid.ravel() for grid in np.meshgrid(*[each] * free, indexing="ij")]
    chances = math.prod(grid.ravel() for grid in np.meshgrid(*[chance] * free, indexing="ij"))
    rows = cycle(grids)
    monkeypatch.setattr(_noise, "rounded_gaussian", lambda sigma, size: next(rows).copy())
    every = CorrelatedGaussian(run.strategy, run.sampling, run.sigma, bound=run.bound, size=grids[0].size)
    noise, released = every.start(), np.zeros(grids[0].size, dtype=np.int64)
    for t, value in enumerate(x, start=1):
        noise = begin(every, noise, t) if begin else noise
        row = 4 * value + noise.next(t)
        assert np.abs(row).max() < 1 << 9
        released = (released << 10) + row + (1 << 9)
    values, places = np.unique(released, return_inverse=True)
    return dict(zip(values.tolist(), np.bincount(places, chances).tolist(), strict=True))


def delta_between(p: dict, q: dict, epsilon: float) -> float:
    return sum(max(0.0, weight - math.exp(epsilon) * q.get(place, 0.0)) for place, weight in p.items())


LEFT_OUT = 1e-6


def within(p: dict, q: dict, loss, *, tight: bool) -> bool:
    """Whether both directions are within a loss at several ε; and whether one is near it somewhere."""
    near = False
    for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0):
        claim = loss.delta(epsilon)
        worse = max(delta_between(p, q, epsilon), delta_between(q, p, epsilon))
        if worse > claim * (1 + 1e-9) + LEFT_OUT:
            return False
        near |= worse > 0.95 * claim
    return near or not tight


@pytest.mark.parametrize(
    ("numerators", "sampling", "moves"),
    [
        ((4, 2), MinimumSeparation(2, 1, 1), [(1, 0), (0, 1)]),
        ((4, 2), MinimumSeparation(2, 2, 1), [(1, 1), (1, -1), (1, 0)]),
        ((4, 4), MinimumSeparation(2, 2, 1), [(1, 1)]),
        ((4, -3), MinimumSeparation(2, 1, 2), [(1, 0)]),
        ((4, 3), MinimumSeparation(3, 2, 2), [(1, 0, 1), (1, 0, -1)]),
        ((4, 2, 1), MinimumSeparation(3, 3, 1), [(1, 1, 1)]),
    ],
)
def test_short_runs_are_within_their_claim_and_the_first_of_these_attains_it(
    numerators, sampling, moves, coarse, monkeypatch
) -> None:
    run = CorrelatedGaussian(coarse(*numerators), sampling, 2 if sampling.steps == 2 else 1, bound=1, size=1)
    without = law(run, [0] * sampling.steps, monkeypatch)
    for place, move in enumerate(moves):
        assert within(law(run, list(move), monkeypatch), without, run.loss, tight=place == 0)


def lose(state_at: int | None, begun: int) -> Callable:
    """A restart before the step after `begun`, from a checkpoint of step `state_at`."""
    states: dict[int, NoiseState] = {}

    def begin(run, noise, t):
        states[t - 1] = noise.state()
        if t != begun + 1:
            return noise
        return run.resume(None if state_at is None else states[state_at], begun=begun)

    return begin


@pytest.mark.parametrize("state_at", [None, 1])
def test_a_restart_costs_nothing_more(state_at, coarse, monkeypatch) -> None:
    run = CorrelatedGaussian(coarse(4, 3, 2), MinimumSeparation(3, 3, 1), 1, bound=1, size=1)
    without = law(run, [0, 0, 0], monkeypatch, lose(state_at, 2))
    assert within(law(run, [1, 1, 1], monkeypatch, lose(state_at, 2)), without, run.loss, tight=False)


def test_samples_from_groups_are_within_their_claim(coarse, monkeypatch) -> None:
    run = CorrelatedGaussian(coarse(4, 3), CyclicPoisson(3, "1/4", groups=2), 1, bound=1, size=1)
    laws = {move: law(run, list(move), monkeypatch) for move in ((0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1))}
    mixed: dict = {}
    for (a, _, b), each in laws.items():
        for place, weight in each.items():
            mixed[place] = mixed.get(place, 0.0) + weight * (1 / 4 if a else 3 / 4) * (1 / 4 if b else 3 / 4)
    assert within(mixed, laws[0, 0, 0], run.loss, tight=False)
    one_block = CorrelatedGaussian(coarse(4, 3), CyclicPoisson(2, "1/4", groups=2), 1, bound=1, size=1)
    zero, one = (law(one_block, [move, 0], monkeypatch) for move in (0, 1))
    mixed = {place: 3 / 4 * zero.get(place, 0.0) + 1 / 4 * one.get(place, 0.0) for place in {*zero, *one}}
    assert within(mixed, zero, one_block.loss, tight=True)


# Mistakes, each of which the enumeration catches.


def test_mutant_noise_reused(coarse, monkeypatch) -> None:
    """A second step with the noise of the first shows the difference without any noise."""
    run = CorrelatedGaussian(coarse(4, 2), MinimumSeparation(2, 1, 2), 2, bound=1, size=1)
    laws = [law(run, [move, 0], monkeypatch, fresh=1) for move in (1, 0)]
    assert not within(*laws, run.loss, tight=False)


def test_mutant_charged_for_one_participation(coarse, monkeypatch) -> None:
    run = CorrelatedGaussian(coarse(4, 2), MinimumSeparation(2, 1, 1), 2, bound=1, size=1)
    assert not within(law(run, [1, 1], monkeypatch), law(run, [0, 0], monkeypatch), run.loss, tight=False)


def test_mutant_charged_for_a_separation_that_does_not_run(coarse, monkeypatch) -> None:
    run = CorrelatedGaussian(coarse(4, 4), MinimumSeparation(3, 2, 2), 1, bound=1, size=1)
    assert not within(law(run, [1, 1, 0], monkeypatch), law(run, [0, 0, 0], monkeypatch), run.loss, tight=False)


def test_mutant_a_restart_that_forgets_how_long_ago_the_checkpoint_was(coarse, monkeypatch) -> None:
    """Noise of step 1 taken back at step 3, as if at step 2, adds the person's first contribution to the second."""
    run = CorrelatedGaussian(coarse(4, 4), MinimumSeparation(3, 2, 2), 1, bound=1, size=1)
    monkeypatch.setattr(_filters._Banded, "skip", lambda self: None)
    without = law(run, [0, 0, 0], monkeypatch, lose(1, 2))
    assert not within(law(run, [1, 0, 1], monkeypatch, lose(1, 2)), without, run.loss, tight=False)


def test_mutant_charged_as_poisson_but_everybody_takes_part(coarse, monkeypatch) -> None:
    run = CorrelatedGaussian(coarse(4, 3), CyclicPoisson(2, "1/4", groups=2), 1, bound=1, size=1)
    assert not within(law(run, [1, 0], monkeypatch), law(run, [0, 0], monkeypatch), run.loss, tight=False)


def test_mutant_without_the_norm_of_the_column(coarse, monkeypatch) -> None:
    run = CorrelatedGaussian(coarse(4, 4), MinimumSeparation(2, 1, 2), 2, bound=1, size=1)
    forgot = MuLoss(1 / run.sigma**2)
    assert not within(law(run, [1, 0], monkeypatch), law(run, [0, 0], monkeypatch), forgot, tight=False)
