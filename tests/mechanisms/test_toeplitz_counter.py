"""The factor in exact arithmetic, the distance that streams can move, and the law of short streams by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, ToeplitzCounter
from discreet.mechanisms.streams._toeplitz_counter import (
    _GUARD,
    PLACES,
    ToeplitzFactor,
    _prefix_noise,
    _rounded,
    factor_for,
)
from discreet.privacy import MuLoss, PureLoss, approx, fits, mu, pure, rho
from discreet.sensitivity import Norms

ALARM = 1e-12
STEPS = [1, 2, 3, 4, 5, 9, 30, 100]


def column(steps: int) -> list[Fraction]:
    """The first column of C, exactly."""
    factor = factor_for(steps)
    one = Fraction(1, 2**PLACES)
    return [
        Fraction(1),
        *(
            sum((w * one * (d * one) ** j for w, d in zip(factor.weights, factor.decays, strict=True)), Fraction(0))
            for j in range(steps - 1)
        ),
    ]


def square_root(steps: int) -> np.ndarray:
    """1, 1/2, 3/8, …: the first column of the square root of the prefix sums."""
    j = np.arange(1, steps)
    return np.concatenate([[1.0], np.cumprod((2 * j - 1) / (2 * j))])


@pytest.mark.parametrize("steps", STEPS)
def test_the_norm_is_certified(steps: int) -> None:
    squared = sum(each**2 for each in column(steps))
    norm = factor_for(steps).norm(steps)
    assert squared <= norm**2 <= squared * (1 + Fraction(1, 2**37))
    assert all(each > 0 for each in column(steps))  # so a later column, which is shorter, has a smaller norm


@pytest.mark.parametrize("steps", [10**6, 10**9, 2**40])
def test_the_norm_of_long_streams_is_certified(steps: int) -> None:
    factor = factor_for(steps)
    with mpmath.workdps(80):
        one = mpmath.mpf(2) ** PLACES
        pairs = list(product(zip(factor.weights, factor.decays, strict=True), repeat=2))
        squared = 1 + mpmath.fsum(
            w * v / one**2 * (1 - (a * b / one**2) ** (steps - 1)) / (1 - a * b / one**2) for (w, a), (v, b) in pairs
        )
        reach = mpmath.fsum(w / (one - d) for w, d in zip(factor.weights, factor.decays, strict=True))
        norm = factor.norm(steps)
        assert squared <= (mpmath.mpf(norm.numerator) / norm.denominator) ** 2 <= squared * (1 + mpmath.mpf(2) ** -37)
        assert reach <= int(factor.reach()) <= reach + len(factor.decays)


@pytest.mark.parametrize("steps", [*STEPS, 300])
def test_the_inverse_is_that_of_the_dense_matrix(steps: int) -> None:
    first = np.array([float(each) for each in column(steps)])
    dense = np.array([[first[i - j] if i >= j else 0 for j in range(steps)] for i in range(steps)])
    inverse = np.linalg.solve(dense.T, np.tril(np.ones((steps, steps))).T).T
    for step in {1, (steps + 1) // 2, steps}:
        assert factor_for(steps).inverse_squares(step) == pytest.approx((inverse[step - 1] ** 2).sum(), rel=1e-10)
        assert factor_for(steps).inverse_sum(step) == pytest.approx(inverse[step - 1].sum(), rel=1e-10)
    assert inverse[-1].min() > 0


@pytest.mark.parametrize("steps", [10**6, 2**40])
def test_the_inverse_of_long_streams_keeps_its_digits(steps: int) -> None:
    factor = factor_for(steps)
    with mpmath.workdps(50):
        one = mpmath.mpf(2) ** PLACES
        weights, falls = [w / one for w in factor.weights], [1 - d / one for d in factor.decays]
        matrix = mpmath.diag(falls) + mpmath.matrix([[mpmath.sqrt(v * w) for v in weights] for w in weights])
        values, vectors = mpmath.eigsy(matrix)
        parts = [
            mpmath.fsum(mpmath.sqrt(w) * vectors[i, k] for i, w in enumerate(weights)) ** 2 / values[k]
            for k in range(len(weights))
        ]
        rest = 1 / (1 + mpmath.fsum(w / f for w, f in zip(weights, falls, strict=True)))
        terms = [(rest, mpmath.mpf(0)), *zip(parts, values, strict=True)]

        def over_steps(fall: mpmath.mpf) -> mpmath.mpf:
            return (1 - (1 - fall) ** steps) / fall if fall else mpmath.mpf(steps)

        squares = mpmath.fsum(p * r * over_steps(f + g - f * g) for (p, f), (r, g) in product(terms, repeat=2))
        assert factor.inverse_squares(steps) == pytest.approx(float(squares), rel=1e-11)
        assert factor.inverse_sum(steps) == pytest.approx(
            float(mpmath.fsum(p * over_steps(f) for p, f in terms)), rel=1e-11
        )


@pytest.mark.parametrize("steps", [*STEPS, 1000, 10**6])
def test_the_error_is_that_of_the_square_root_to_one_in_a_thousand(steps: int) -> None:
    """Root mean square error of the last step at μ = 1, Δ = 1: ‖C‖·‖B‖, which for the square root is Σ c²."""
    counter = ToeplitzCounter.calibrate(mu(1), 1, steps=steps)
    found = float(counter.sigma) * math.sqrt(factor_for(steps).inverse_squares(steps))
    assert 1 - 1e-9 < found / (square_root(steps) ** 2).sum() < 1.001


def undone(factor: ToeplitzFactor, noise: list[int]) -> list[int]:
    """The draws that give this noise of each step: the definition in fractions, rounded as the mechanism does."""
    draws, state, fine = [], [0] * len(factor.weights), 2**_GUARD
    for new in noise:
        taken = sum(Fraction(w * s, 2**PLACES * fine) for w, s in zip(factor.weights, state, strict=True))
        draws.append(new + math.floor(taken + Fraction(1, 2)))
        state = [math.floor(Fraction(d * s, 2**PLACES)) + new * fine for d, s in zip(factor.decays, state, strict=True)]
    return draws


@given(
    st.integers(1, 12).flatmap(
        lambda steps: st.tuples(
            st.lists(st.integers(-(2**52), 2**52), min_size=steps, max_size=steps),
            st.lists(st.integers(-3, 3), min_size=steps, max_size=steps),
            st.sampled_from([0, 1, 5, 40]),
        )
    )
)
@settings(max_examples=150, deadline=None)
def test_neighbours_need_draws_no_further_apart_than_claimed(drawn) -> None:
    """The proof of μ, run: whatever the draws, the same estimates on a neighbour have draws this near, in L2 norm."""
    draws, move, places = drawn
    steps, moved = len(draws), sum(map(abs, move))
    counter, factor = ToeplitzCounter(steps, 1), factor_for(steps)
    totals = list(_prefix_noise(factor, iter(draws)))
    others = [t - (m << places) for t, m in zip(totals, accumulate(move), strict=True)]
    shifted = undone(factor, [b - a for a, b in zip([0, *others], others, strict=False)])
    assert list(_prefix_noise(factor, iter(shifted))) == others
    apart = sum((a - b) ** 2 for a, b in zip(draws, shifted, strict=True))
    assert apart <= (counter._distance(Fraction(moved), places) * 2**places) ** 2


@pytest.mark.parametrize("steps", [2, 5, 30])
def test_the_distance_is_attained(steps: int) -> None:
    counter, places = ToeplitzCounter(steps, 1), 40
    shifted = undone(factor_for(steps), [-(7 << places)] + [0] * (steps - 1))
    found = math.sqrt(sum(each**2 for each in shifted)) / 2**places
    assert found == pytest.approx(float(counter._distance(Fraction(7), places)), rel=1e-9)


def exact_delta(steps: int, places: int, sigma: float, step: int, epsilon: float, whole: bool) -> float:
    """The hockey-stick divergence of all estimates when one increment moves by one, over all draws that weigh.

    `whole` is what is released; else the estimates are left on the grid of the noise.
    """
    factor, spread = factor_for(steps), sigma * 2**places
    reach = math.ceil(7 * spread)
    mass = [float(mpmath.ncdf((k + 0.5) / spread) - mpmath.ncdf((k - 0.5) / spread)) for k in range(reach + 1)]
    one, other = {}, {}
    for draws in product(range(-reach, reach + 1), repeat=steps):
        weight = math.prod(mass[abs(draw)] for draw in draws)
        for law, moved in ((one, 0), (other, 1)):
            fine = [
                total + (moved << places if t >= step else 0)
                for t, total in enumerate(_prefix_noise(factor, iter(draws)))
            ]
            told = tuple(_rounded(iter(fine), places)) if whole else tuple(fine)
            law[told] = law.get(told, 0.0) + weight
    return sum(max(p - math.exp(epsilon) * other.get(told, 0.0), 0.0) for told, p in one.items())


@pytest.mark.parametrize("whole", [False, True], ids=["grid", "whole"])
@pytest.mark.parametrize(
    ("steps", "places", "sigma", "step"),
    [(1, 2, 1.0, 0), (2, 2, 1.0, 0), (2, 2, 1.0, 1), (2, 1, 2.0, 0), (3, 0, 1.0, 0)],
)
def test_the_stated_loss_covers_the_exact_law(steps, places, sigma, step, whole) -> None:
    distance = ToeplitzCounter(steps, 1)._distance(Fraction(1), places)
    for epsilon in (0.2, 1.0, 2.0):
        claimed = MuLoss((distance / Fraction(sigma)) ** 2).delta(epsilon)
        assert exact_delta(steps, places, sigma, step, epsilon, whole) <= claimed + 1e-10  # draws beyond 7 sigma


def test_without_rounding_on_the_way_the_loss_is_tight() -> None:
    """Two steps: rounding to the grid of the noise moves little here, and the first increment is in both."""
    truth = exact_delta(2, 3, 1.0, 0, 1.0, whole=False)
    norm = MuLoss(factor_for(2).norm(2) ** 2).delta(1.0)
    assert truth == pytest.approx(norm, rel=0.02)


def test_a_norm_of_one_is_caught() -> None:
    """As if noise for a single count would do for all prefix sums."""
    assert exact_delta(2, 2, 1.0, 0, 1.0, whole=False) > 1.1 * MuLoss(Fraction(1)).delta(1.0)


def test_draws_come_from_the_stated_noise(monkeypatch) -> None:
    asked = []

    def scripted(sigma, size):
        asked.append(sigma)
        return np.arange(size) * 2**41 + 2**39

    monkeypatch.setitem(ToeplitzCounter.start.__globals__, "rounded_gaussian", scripted)
    counter = ToeplitzCounter(50, "1.5")
    together = counter.release([3] * 50)
    stream = counter.start()
    assert [stream.add(3) for _ in range(50)] == together
    assert set(asked) == {Fraction(3, 2) * 2**40}
    assert together[0] == 4  # half a unit is rounded up
    first = np.array([float(each) for each in column(50)])
    dense = np.array([[first[i - j] if i >= j else 0 for j in range(50)] for i in range(50)])
    noise = np.cumsum(np.linalg.solve(dense, 2 * np.arange(50) + 0.5))
    assert np.abs(np.array(together) - np.arange(3, 151, 3) - noise).max() <= 0.5 + 1e-9


def test_estimates_have_the_stated_covariance() -> None:
    """Fails by chance with probability 1e-11 or so: six normal statistics at 1e-12, over 6000 streams of 12 steps."""
    steps, draws = 12, 6000
    counter = ToeplitzCounter(steps, 40)
    seen = np.array([counter.release([5] * steps) for _ in range(draws)]) - np.arange(5, 5 * steps + 5, 5)
    first = np.array([float(each) for each in column(steps)])
    dense = np.array([[first[i - j] if i >= j else 0 for j in range(steps)] for i in range(steps)])
    left = 40 * np.tril(np.ones((steps, steps))) @ np.linalg.inv(dense)
    for one, other in ((0, 0), (11, 11), (0, 11), (5, 6), (3, 9), (10, 11)):
        u, v = left[one], left[other]
        expected, spread = u @ v, math.sqrt(((u @ u) * (v @ v) + (u @ v) ** 2) / draws)
        found = float(seen[:, one] @ seen[:, other]) / draws
        assert abs(found - expected) < -stats.norm.ppf(ALARM / 2) * spread + 1
    assert counter.std_at(12) == pytest.approx(math.sqrt(left[11] @ left[11] + 1 / 12), rel=1e-9)


@pytest.mark.parametrize("sigma", ["0.001", "0.4", "1", "10", "1000"])
def test_error_and_std_follow_the_law(sigma: str) -> None:
    """An estimate is off by the rounding of a Gaussian, up to 2**−38 here."""
    counter = ToeplitzCounter(64, sigma)
    spread = float(Fraction(sigma)) * math.sqrt(factor_for(64).inverse_squares(64))
    for level in (0.5, 0.95, 0.999999):
        k = counter.error(level)
        assert 2 * mpmath.ncdf(-(k + 0.5) / spread) <= 1 - level + 1e-15
        assert k == 0 or 2 * mpmath.ncdf(-(k - 0.5) / spread) > (1 - level) * (1 - 1e-6)
    assert counter.std == counter.std_at(64) == pytest.approx(Gaussian(Fraction(spread)).std, rel=1e-9)
    assert all(counter.std_at(t) <= counter.std_at(t + 1) for t in range(1, 64))


@pytest.mark.parametrize("spend", [mu("0.1"), mu("0.1", "1e-9"), rho("0.005"), approx("1", "1e-5"), approx(8, 1e-6)],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize("sensitivity", [1, 5, Norms(5, 7)], ids=["one", "five", "norms"])
@pytest.mark.parametrize("steps", [1, 2, 1000, 10**6])
def test_calibration_is_within_the_spend_and_close(spend, sensitivity, steps) -> None:
    counter = ToeplitzCounter.calibrate(spend, sensitivity, steps=steps)
    assert fits(counter.loss(sensitivity), spend)
    plain = Gaussian.calibrate(spend, 1).sigma * factor_for(steps).norm(steps) * (1 if sensitivity == 1 else 5)
    assert plain <= counter.sigma * (1 + Fraction(1, 2**38)) and counter.sigma <= plain * (1 + Fraction(1, 10**8))


def test_extreme_spends_and_steps() -> None:
    assert ToeplitzCounter.calibrate(mu(10**6), 1, steps=100).release([1] * 100) == list(range(1, 101))
    assert ToeplitzCounter.calibrate(mu(1), 0, steps=100).loss(0) == PureLoss(Fraction(0))
    faint = ToeplitzCounter.calibrate(mu("1e-9"), 1, steps=10**6)
    assert faint.places < 40 and fits(faint.loss(1), mu("1e-9"))
    coarse = ToeplitzCounter(2**40, 2**56)
    assert coarse.places == 0
    assert coarse.loss(1).mu_squared > (factor_for(2**40).norm(2**40) / 2**56) ** 2
    assert coarse.error(0.5) < coarse.error(0.95) < coarse.error(1 - 1e-12)
    assert len(coarse.start().add_all([2**90, -(2**99), 1])) == 3
    for how in ({"sensitivity": "1e17"}, {"spend": mu("1e-17")}, {"sensitivity": "1e12", "spend": mu("1e-6")}):
        with pytest.raises(ParameterError, match="2\\*\\*56"):
            ToeplitzCounter.calibrate(**({"spend": mu(1), "sensitivity": 1, "steps": 10} | how))


@pytest.mark.parametrize("spend", [pure(1), approx(1, 0), 0 * mu(1), rho(1).sampled("0.5")], ids=str)
def test_other_spends_are_refused(spend) -> None:
    with pytest.raises(ParameterError, match=r"TreeCounter|greater than 0|currency"):
        ToeplitzCounter.calibrate(spend, 1, steps=10)


@pytest.mark.parametrize(
    "how",
    [{"steps": 0}, {"steps": 2**40 + 1}, {"steps": True}, {"steps": 2.0}, {"steps": "9"}, {"steps": 10**500},
     {"sigma": 0}, {"sigma": -1}, {"sigma": math.nan}, {"sigma": math.inf}, {"sigma": 2**57}, {"sigma": True}],
    ids=lambda how: f"{next(iter(how))}-{next(iter(how.values()))!s}",
)  # fmt: skip
def test_bad_parameters_are_refused(how) -> None:
    with pytest.raises(ParameterError):
        ToeplitzCounter(**({"steps": 10, "sigma": 1} | how))


def test_bad_questions_are_refused() -> None:
    counter = ToeplitzCounter(10, 1)
    for step in (0, 11, True, 1.0, -1):
        with pytest.raises(ParameterError, match="step"):
            counter.std_at(step)
    for level in (0, 1, 2, "x", math.nan):
        with pytest.raises(ParameterError, match="level"):
            counter.error(level)
    for sensitivity in (-1, math.nan, "x"):
        with pytest.raises(ParameterError, match="sensitivity"):
            counter.loss(sensitivity)
        with pytest.raises(ParameterError, match="sensitivity"):
            ToeplitzCounter.calibrate(mu(1), sensitivity, steps=10)
