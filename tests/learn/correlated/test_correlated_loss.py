"""What a run costs, the noise that a spend asks for, which run is chosen, and strategies in certificates."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from correlated_cases import buffered, falling_bands, free_bands
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.learn.correlated import (
    BandedToeplitz,
    Blt,
    CorrelatedGaussian,
    CyclicPoisson,
    Independent,
    MinimumSeparation,
    candidates,
    cheapest,
    optimize,
    optimize_blt,
    sensitivity_squared,
    strategy_from_json,
    strategy_to_json,
)
from discreet.privacy import MuLoss, approx, budget_of, fits, gaussian, mu, pure, rho

APART = MinimumSeparation.epochs(512, 4)
BANDS = BandedToeplitz.rounded([1, 0.5, 0.25])


def test_bands_cost_what_a_gaussian_mechanism_of_their_sensitivity_does() -> None:
    run = CorrelatedGaussian(BANDS, APART, 30, bound="7/2", size=1000)
    assert run.loss == MuLoss(4 * Fraction(21, 16) * Fraction(49, 4) / 900)
    assert run.loss.relation is None


def test_buffers_cost_a_bit_more_for_their_rounding() -> None:
    strategy, bound = optimize_blt(512, 4, 128), 1 << 10
    norm = math.sqrt(sensitivity_squared(strategy, APART))
    for size in (1, 1000, 10**6):
        mu_ = CorrelatedGaussian(strategy, APART, bound, bound=bound, size=size).loss.mu()
        slack = math.sqrt(size * 511) / 4096 / bound
        assert norm + slack <= mu_ <= norm + slack * (2 + float(strategy.reach) / 256) + 1e-9


@pytest.mark.parametrize("spend", [mu(1), rho("1/2"), approx(1, "1e-6"), approx(8, "1e-5")])
@pytest.mark.parametrize(
    ("strategy", "sampling"),
    [
        (Independent(), APART),
        (BANDS, APART),
        (optimize_blt(512, 4, 128), APART),
        (Independent(), CyclicPoisson(512, "1/128")),
        (BANDS, CyclicPoisson(512, "1/32", groups=4)),
        (BANDS, CyclicPoisson(512, 1, groups=128)),
    ],
)
def test_calibrated_noise_is_within_the_spend_and_hardly_below_it(spend, strategy, sampling) -> None:
    def calibrate():
        return CorrelatedGaussian.calibrate(spend, strategy, sampling, bound=100, size=10)

    if isinstance(sampling, CyclicPoisson) and budget_of(spend)[0] != "approx":
        with pytest.raises(ParameterError, match=rf"MinimumSeparation\(steps=512, participations={sampling.blocks}"):
            calibrate()
        return
    run = calibrate()
    assert fits(run.loss, spend)
    less = CorrelatedGaussian(strategy, sampling, run.sigma * Fraction(999, 1000), bound=100, size=10)
    assert not fits(less.loss, spend)


def test_samples_from_groups_cost_a_sampled_gaussian_for_each_block() -> None:
    """c = (1, 3/4) has the norm 5/4."""
    strategy = BandedToeplitz.rounded([1, 0.75])
    run = CorrelatedGaussian(strategy, CyclicPoisson(101, "1/50", groups=2), 20, bound=4, size=3)
    assert run.loss == 51 * gaussian(4).sampled("1/50")
    plain = CorrelatedGaussian(Independent(), CyclicPoisson(100, "1/50"), 20, bound=4, size=3)
    assert plain.loss == 100 * gaussian(5).sampled("1/50")
    everybody = CorrelatedGaussian(strategy, CyclicPoisson(101, 1, groups=2), 20, bound=4, size=3)
    same = CorrelatedGaussian(strategy, MinimumSeparation(102, 51, 2), 20, bound=4, size=3)
    assert everybody.loss.mu() == pytest.approx(same.loss.mu())


@pytest.mark.parametrize("strategy", [BANDS, Blt.rounded([0.2], [0.5])])
def test_samples_from_fewer_groups_than_bands_are_refused(strategy) -> None:
    with pytest.raises(ParameterError, match="as many bands as groups"):
        CorrelatedGaussian(strategy, CyclicPoisson(100, "1/50", groups=2), 20, bound=1, size=3)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"sigma": 0}, "sigma"),
        ({"sigma": "x"}, "sigma"),
        ({"sigma": 2**50}, "sigma"),
        ({"sigma": 2**44}, "coarser grid"),
        ({"bound": 0}, "bound"),
        ({"bound": -1}, "bound"),
        ({"bound": float("nan")}, "bound"),
        ({"size": 0}, "size"),
        ({"size": 1.5}, "size"),
        ({"strategy": "blt"}, "strategy"),
        ({"sampling": 5}, "strategy"),
    ],
)
def test_parameters_out_of_range_are_refused(numbers, words) -> None:
    with pytest.raises(ParameterError, match=words):
        CorrelatedGaussian(**{"strategy": BANDS, "sampling": APART, "sigma": 5, "bound": 1, "size": 2, **numbers})


@pytest.mark.parametrize("numbers", [(0, 1, 1), (5, 0, 1), (5, "3/2", 1), (5, 1, 6), (5, 1, 0), (5, "x", 1)])
def test_samples_out_of_range_are_refused(numbers) -> None:
    with pytest.raises(ParameterError):
        CyclicPoisson(*numbers)


def test_a_pure_epsilon_is_refused() -> None:
    for sampling in (APART, CyclicPoisson(512, "1/128")):
        with pytest.raises(ParameterError, match="pure"):
            CorrelatedGaussian.calibrate(pure(1), Independent(), sampling, bound=1, size=1)
    with pytest.raises(ParameterError, match="pure"):
        cheapest(pure(1), APART, bound=1, size=1)


def test_a_run_is_written_as_the_call_that_makes_it() -> None:
    for sampling in (APART, CyclicPoisson(512, "1/7", groups=128)):
        run = CorrelatedGaussian(BANDS, sampling, "1/3", bound=2, size=5)
        names = {each.__name__: each for each in (BandedToeplitz, CorrelatedGaussian, CyclicPoisson, MinimumSeparation)}
        assert eval(repr(run), names) == run


@pytest.mark.sampled
@pytest.mark.parametrize("spend", [mu(1), approx(1, "1e-6"), approx(8, "1e-6")])
@pytest.mark.parametrize("state", [0, 1, 4])
def test_candidates_fit_the_spend_and_the_memory_and_the_least_error_is_first(spend, state) -> None:
    runs = candidates(spend, APART, bound=1 << 12, size=1000, state=state)
    assert runs[0] == cheapest(spend, APART, bound=1 << 12, size=1000, state=state)
    errors = [run.prefix_std() for run in runs]
    assert errors == sorted(errors) and len({(run.strategy, run.sampling) for run in runs}) == len(runs)
    for run in runs:
        assert fits(run.loss, spend) and run.strategy.state <= state
        if isinstance(run.sampling, CyclicPoisson):
            assert run.sampling.rate * 512 / run.sampling.groups == 4  # as often as those who are four times in it
    has_samples = any(isinstance(run.sampling, CyclicPoisson) for run in runs)
    assert has_samples == (budget_of(spend)[0] == "approx")
    public = candidates(spend, APART, bound=1 << 12, size=1000, state=state, secret_samples=False)
    assert all(run.sampling == APART for run in public)


def test_which_noise_is_cheapest_depends_on_the_spend_and_the_epochs() -> None:
    """A little noise is best correlated, a lot best amplified; a person in nearly all steps gains from neither."""
    often = MinimumSeparation.epochs(512, 64)
    assert isinstance(cheapest(mu(1), APART, bound=1000, size=1000).strategy, Blt)
    assert isinstance(cheapest(approx(8, "1e-6"), APART, bound=1000, size=1000).strategy, Blt)
    assert isinstance(cheapest(approx(1, "1e-6"), often, bound=1000, size=1000).strategy, Independent)
    every_step = MinimumSeparation(512, 512, 1)
    assert cheapest(mu(1), every_step, bound=1000, size=1000).strategy.column(3).tolist() == [1, 0, 0]


def test_candidates_beyond_64_bits_are_left_out() -> None:
    runs = candidates(mu("1/1000"), APART, bound=1 << 24, size=10)
    assert [run.strategy for run in runs] == [Independent()]


@given(st.one_of(falling_bands(), free_bands(), buffered(), st.just(Independent())))
def test_strategies_are_read_back_from_certificates(strategy) -> None:
    assert strategy_from_json(json.loads(json.dumps(strategy_to_json(strategy)))) == strategy


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"strategy": "Independent", "more": 1},
        {"strategy": "Other"},
        {"strategy": "BandedToeplitz"},
        {"strategy": "BandedToeplitz", "numerators": [4096, "1"]},
        {"strategy": "BandedToeplitz", "numerators": 4096},
        {"strategy": "Blt", "weights": [1], "gaps": [1]},
        {"strategy": "Blt", "weights": [1], "gaps": [[1, 1, 1]]},
        {"strategy": "Blt", "weights": [1], "gaps": [[1, "1"]]},
        {"strategy": "Blt", "weights": [1.0], "gaps": [[1, 1]]},
        {"strategy": "Blt", "weights": [1, 1], "gaps": [[1, 1]]},
    ],
)
def test_anything_else_is_no_strategy(data) -> None:
    with pytest.raises(ParameterError):
        strategy_from_json(data)


def test_optimize_is_what_a_schema_asks_for() -> None:
    assert optimize(512, 4, 128).bands == 128
    assert optimize(512, 4, 128, bands=3).state == 2
