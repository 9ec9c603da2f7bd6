"""The sensitivity, by brute force over every way to take part; also of matrices with entries taken out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from correlated_cases import buffered, exact_column, exact_matrix, falling_bands, free_bands, patterns, squared
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.learn.correlated import (
    BandedToeplitz,
    Blt,
    Independent,
    MinimumSeparation,
    optimize,
    sensitivity_squared,
)

STEPS = 8


def worst(strategy, sampling: MinimumSeparation) -> Fraction:
    matrix = exact_matrix(strategy, sampling.steps)
    each = patterns(sampling.steps, sampling.participations, sampling.separation)
    return max(squared(matrix, pattern) for pattern in each)


@st.composite
def samplings(draw: st.DrawFn, least: int = 1) -> MinimumSeparation:
    steps = draw(st.integers(least, STEPS))
    return MinimumSeparation(steps, draw(st.integers(1, steps)), draw(st.integers(least, steps)))


@given(falling_bands(), samplings())
def test_that_of_falling_bands_is_that_of_the_worst_pattern(strategy, sampling) -> None:
    assert sensitivity_squared(strategy, sampling) == worst(strategy, sampling)


@given(free_bands(most=4), samplings(least=4))
def test_that_of_bands_within_the_separation_is_the_worst_whatever_their_signs(strategy, sampling) -> None:
    assert sensitivity_squared(strategy, sampling) == worst(strategy, sampling)


@given(buffered(), samplings())
def test_that_of_buffers_is_at_or_just_above_the_worst(strategy, sampling) -> None:
    exact = worst(strategy, sampling)
    assert exact <= sensitivity_squared(strategy, sampling) <= exact * (1 + Fraction(1, 10**6))


@given(st.one_of(falling_bands(), buffered(), free_bands()), samplings(), st.data())
def test_no_contributions_move_it_further_also_with_entries_taken_out(strategy, sampling, data) -> None:
    """Signs, sizes and directions are free, and so is what a restart loses."""
    try:
        bound = sensitivity_squared(strategy, sampling)
    except ParameterError:
        return
    pattern = data.draw(st.sampled_from(list(patterns(sampling.steps, sampling.participations, sampling.separation))))
    angles = np.array([data.draw(st.floats(0, 6.3)) for _ in pattern])
    sizes = np.array([data.draw(st.floats(0, 1)) for _ in pattern])
    moved = np.zeros((sampling.steps, 2))
    moved[list(pattern)] = (sizes * [np.cos(angles), np.sin(angles)]).T
    matrix = np.array(exact_matrix(strategy, sampling.steps), dtype=float)
    lost = np.array(data.draw(st.lists(st.booleans(), min_size=matrix.size, max_size=matrix.size)))
    matrix[np.tril(lost.reshape(matrix.shape), -1)] = 0
    assert np.sum((matrix @ moved) ** 2) <= float(bound) * (1 + 1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 100, 5000])
@given(strategy=buffered())
@settings(max_examples=20, deadline=None)
def test_a_column_of_buffers_is_bounded_from_above_and_falls(steps, strategy) -> None:
    above, places = strategy.column_above(steps)
    exact = exact_column(strategy, min(steps, 30))
    floats = strategy.column(steps)
    assert above.size == steps and (np.diff(above) <= 0).all()
    for entry, true in zip(above.tolist(), exact, strict=False):
        assert true <= Fraction(entry, 1 << places) <= true + Fraction(1, 1 << 26)
    assert (above / 2.0**places <= floats + 2.0**-26).all()


@pytest.mark.parametrize(
    ("strategy", "sampling"),
    [
        (BandedToeplitz((4096, 1, 2)), MinimumSeparation(9, 2, 2)),
        (BandedToeplitz((4096, 2048, -1)), MinimumSeparation(9, 2, 2)),
        (BandedToeplitz((4096, 0, 4096)), MinimumSeparation(9, 9, 1)),
    ],
)
def test_what_is_not_proved_is_refused(strategy, sampling) -> None:
    with pytest.raises(ParameterError, match="never increase"):
        sensitivity_squared(strategy, sampling)
    assert sensitivity_squared(strategy, MinimumSeparation(9, 1, 1)) > 0  # one participation takes any


def test_long_runs_with_many_participations_are_exact_beyond_64_bits() -> None:
    steps = 1 << 17
    constant = BandedToeplitz((4096,) * 2048)
    ramp = [min(t + 1, 2048) for t in range(steps)]
    assert sensitivity_squared(constant, MinimumSeparation(steps, steps, 1)) == sum(each * each for each in ramp)


@pytest.mark.parametrize(
    "numbers",
    [(0, 1, 1), (5, 0, 1), (5, 6, 1), (5, 1, 6), (5, 1, 0), (2**20 + 1, 1, 1), (True, 1, 1), (5.0, 1, 1), ("5", 1, 1)],
)
def test_schemas_out_of_range_are_refused(numbers) -> None:
    with pytest.raises(ParameterError):
        MinimumSeparation(*numbers)


@pytest.mark.parametrize(
    "make",
    [
        lambda: BandedToeplitz(()),
        lambda: BandedToeplitz((4095,)),
        lambda: BandedToeplitz((4096, 0)),
        lambda: BandedToeplitz((4096, 4097)),
        lambda: BandedToeplitz((4096, True)),
        lambda: BandedToeplitz((4096, 0.5)),  # type: ignore[arg-type]
        lambda: Blt((), ()),
        lambda: Blt((0,), ((1, 1),)),
        lambda: Blt((16384, 1), ((1, 1), (1, 2))),
        lambda: Blt((1,), ((2, 0),)),
        lambda: Blt((1,), ((129, 9),)),
        lambda: Blt((1,), ((1, 32),)),
        lambda: Blt((1,), ((0, 1),)),
    ],
)
def test_strategies_out_of_range_are_refused(make) -> None:
    with pytest.raises(ParameterError):
        make()


# Mistakes, each of which the brute force above would catch.


def test_mutant_a_separation_that_does_not_run() -> None:
    strategy = optimize(8, 2, 4)
    assert sensitivity_squared(strategy, MinimumSeparation(8, 2, 4)) < worst(strategy, MinimumSeparation(8, 2, 1))


def test_mutant_one_participation_alone() -> None:
    strategy = Blt.rounded([0.3], [0.9])
    single = sensitivity_squared(strategy, MinimumSeparation(8, 1, 1))
    assert single * 3 < worst(strategy, MinimumSeparation(8, 3, 2))  # not even that of each, added up


def test_mutant_entries_that_increase() -> None:
    """Steps 0, b, 2b, … are not the worst then."""
    strategy, sampling = BandedToeplitz((4096, 1, 1, 4096)), MinimumSeparation(8, 2, 2)
    assert squared(exact_matrix(strategy, 8), (0, 2)) < worst(strategy, sampling)


def test_independent_noise_pays_for_each_participation() -> None:
    assert sensitivity_squared(Independent(), MinimumSeparation(2048, 8, 256)) == 8
    assert sensitivity_squared(Independent(), MinimumSeparation(10, 8, 3)) == 4  # no more fit


@given(st.one_of(falling_bands(), free_bands(most=3)), st.data())
def test_groups_may_be_drawn_anew_where_an_epoch_ends_and_the_state_is_dropped(strategy, data) -> None:
    """And not elsewhere: two blocks by themselves may cost more than the run."""
    separation = data.draw(st.integers(3 if not strategy.is_nonincreasing else 1, 4))
    steps = data.draw(st.integers(separation + 1, 12))
    most = -(-steps // separation)
    ends = separation * data.draw(st.integers(1, most - 1))
    blocks = [MinimumSeparation(many, -(-many // separation), min(separation, many)) for many in (ends, steps - ends)]
    apart = MinimumSeparation(steps, most, separation)
    assert sum(sensitivity_squared(strategy, each) for each in blocks) <= sensitivity_squared(strategy, apart)


def test_mutant_groups_drawn_anew_within_an_epoch() -> None:
    strategy = BandedToeplitz.rounded([1, 0.5])
    blocks = sum(sensitivity_squared(strategy, MinimumSeparation(many, 1, many)) for many in (3, 5))
    assert blocks > sensitivity_squared(strategy, MinimumSeparation(8, 1, 8))
