"""Laplace noise in a window: the exact δ by enumeration, the least bound, and the law of what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import TruncatedLaplace
from discreet.noise import _laplace_in_window as _window
from discreet.privacy import ApproxLoss, PureLoss, fits
from discreet.sensitivity import Norms

ALARM = 1e-12  # a chi-square test with the secure source fails by chance with about this probability


def law(scale: Fraction, low: int, high: int) -> dict[int, mpmath.mpf]:
    s = mpmath.mpf(scale.numerator) / scale.denominator
    weight = {x: mpmath.exp(-abs(x) / s) for x in range(low, high + 1)}
    total = mpmath.fsum(weight.values())
    return {x: w / total for x, w in weight.items()}


def hockey_stick(p: dict, q: dict, epsilon: mpmath.mpf) -> mpmath.mpf:
    return mpmath.fsum(max(mass - mpmath.exp(epsilon) * q.get(x, 0), 0) for x, mass in p.items())


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("scale", ["1/20", "0.7", "3", "40"])
@pytest.mark.parametrize("bound", [0, 1, 4, 9])
def test_the_stated_delta_is_the_exact_one(scale: str, bound: int) -> None:
    """At ε = k / scale: for a move of k the δ is as stated, and a smaller move needs no more; both ways."""
    mechanism = TruncatedLaplace(scale, bound)
    with mpmath.workdps(300):
        p = law(mechanism.scale, -bound, bound)
        for k in range(1, 2 * bound + 3):
            epsilon = mpmath.mpf(k) / real(mechanism.scale)
            needed = [
                max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
                for q in ({x + moved: mass for x, mass in p.items()} for moved in range(1, k + 1))
            ]
            assert max(needed) == needed[-1]
            loss = mechanism.loss(k)
            assert loss == mechanism.loss(Norms(k, k * k)) == mechanism.loss(Fraction(k) + Fraction(1, 3))
            if k > 2 * bound:
                assert loss == ApproxLoss(Fraction(0), Fraction(1))
                assert needed[-1] == pytest.approx(1)
                continue
            assert loss.eps == k / mechanism.scale
            tiny = mpmath.mpf(10) ** -290  # of the enumeration's own digits
            assert needed[-1] - tiny <= real(loss.at_delta) <= needed[-1] * (1 + mpmath.mpf(2) ** -59) + tiny


@pytest.mark.parametrize("scale", ["1", "5"])
@pytest.mark.parametrize("move", [(1, 1), (2, 1), (1, 1, 1), (4, 3), (5, 5)], ids=str)
def test_spreading_the_move_costs_less(scale: str, move: tuple[int, ...]) -> None:
    mechanism = TruncatedLaplace(scale, 6)
    loss = mechanism.loss(sum(move))
    with mpmath.workdps(60):
        p = law(mechanism.scale, -6, 6)
        epsilon = mpmath.mpf(sum(move)) / real(mechanism.scale)
        truth = mpmath.mpf(0)
        for xs in product(p, repeat=len(move)):
            own = mpmath.fprod(p[x] for x in xs)
            other = mpmath.fprod(p.get(x - m, 0) for x, m in zip(xs, move, strict=True))
            truth += max(own - mpmath.exp(epsilon) * other, 0)
        assert truth < real(loss.at_delta)


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.1", "1e-6"), ("1", "1e-9"), ("8", "1e-4"), ("0.5", "0.1"), ("3", "1e-40")]
)
def test_calibration_takes_the_least_bound(sensitivity: int, epsilon: str, delta: str) -> None:
    mechanism = TruncatedLaplace.calibrate(dp.approx(epsilon, delta), sensitivity)
    assert mechanism.scale == sensitivity / Fraction(epsilon)
    assert mechanism.loss(sensitivity).at_delta <= Fraction(delta)
    if mechanism.bound:
        assert TruncatedLaplace(mechanism.scale, mechanism.bound - 1).loss(sensitivity).at_delta > Fraction(delta)
    paper = sensitivity / float(epsilon) * math.log1p(math.expm1(float(epsilon)) / (2 * float(delta)))
    assert paper - 1 <= mechanism.bound <= paper + sensitivity + 1  # continuous noise: Geng et al. 2018


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("delta", [0.3, 0.05, 0.001])
def test_no_other_scale_has_a_smaller_bound(epsilon: float, sensitivity: int, delta: float) -> None:
    """A search over scales, in floats; a bound that is smaller by one does not do with any of them."""
    mechanism = TruncatedLaplace.calibrate(dp.approx(epsilon, delta), sensitivity)
    bound = mechanism.bound - 1
    if bound < 0:
        return
    x = np.arange(-bound, bound + 1)
    for scale in float(mechanism.scale) / np.concatenate([np.linspace(0.01, 1.2, 120), np.linspace(1.2, 6, 40)]):
        p = np.exp(-np.abs(x) / scale)
        p = np.concatenate([p / p.sum(), np.zeros(sensitivity)])
        assert np.maximum(p - np.exp(epsilon) * np.roll(p, sensitivity), 0).sum() > delta


@given(st.floats(0.01, 20), st.sampled_from(["0.3", "1e-3", "1e-8", "1e-12"]), st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_calibrated_noise_is_within_its_spend_at_every_move(epsilon: float, delta: str, sensitivity: int) -> None:
    mechanism = TruncatedLaplace.calibrate(dp.approx(epsilon, delta), sensitivity)
    bound = mechanism.bound
    if bound > 400:
        return
    with mpmath.workdps(60):
        p = law(mechanism.scale, -bound, bound)
        for moved in range(1, sensitivity + 1):
            q = {x + moved: mass for x, mass in p.items()}
            assert hockey_stick(p, q, real(Fraction(str(epsilon)))) <= mpmath.mpf(delta)
            assert hockey_stick(q, p, real(Fraction(str(epsilon)))) <= mpmath.mpf(delta)


def test_calibration_in_other_currencies() -> None:
    for spend in (dp.rho("0.02", "1e-6"), dp.mu("0.3", "1e-6"), dp.approx("0.2", "1e-6")):
        mechanism = TruncatedLaplace.calibrate(spend, 4)
        assert fits(mechanism.loss(4), spend)
        assert not fits(TruncatedLaplace(mechanism.scale, mechanism.bound - 1).loss(4), spend)
    for spend in (dp.pure(1), dp.rho(1), dp.mu(1), dp.approx(1, 0), ApproxLoss(Fraction(1), Fraction(1, 10**301))):
        with pytest.raises(ParameterError, match="delta"):
            TruncatedLaplace.calibrate(spend, 1)


@pytest.mark.parametrize(("scale", "bound"), [("0.4", 3), ("3", 0), ("3", 9), ("3", 40), ("50", 7), ("20", 300)])
def test_error_and_std_follow_the_law(scale: str, bound: int) -> None:
    mechanism = TruncatedLaplace(scale, bound)
    with mpmath.workdps(60):
        p = law(mechanism.scale, -bound, bound)
        for level in ("0.01", "0.5", "0.95", "0.999999"):
            k = mechanism.error(level)
            assert mpmath.fsum(p[x] for x in range(-k, k + 1)) >= real(Fraction(level)) - mpmath.mpf(10) ** -50
            assert k == 0 or mpmath.fsum(p[x] for x in range(1 - k, k)) < real(Fraction(level))
        std = mpmath.sqrt(mpmath.fsum(x * x * mass for x, mass in p.items()))
    assert mechanism.std == pytest.approx(float(std), rel=1e-12)
    assert mechanism.error("0.9999999999999999999") <= bound


@pytest.mark.parametrize(
    ("scale", "low", "width"), [("2", -3, 9), ("2", 0, 3), ("9", -2, 5), ("9", -9, 9), ("40", 0, 100)]
)
def test_what_is_drawn_follows_the_law(scale: str, low: int, width: int) -> None:
    lows = np.full(200_000, low)
    drawn = _window.laplace_in_window(Fraction(scale), lows, width)
    assert (lows == low).all()
    p = law(Fraction(scale), low, low + width)
    assert set(drawn.tolist()) <= set(p)
    keep = [x for x in p if p[x] * drawn.size >= 100]
    counts = [int((drawn == x).sum()) for x in keep]
    expected = [float(p[x]) * drawn.size for x in keep]
    rest = drawn.size - sum(counts), drawn.size - sum(expected)
    if rest[1] >= 100:
        counts, expected = [*counts, rest[0]], [*expected, rest[1]]
    scaled = np.array(expected) * sum(counts) / sum(expected)
    assert stats.chisquare(counts, scaled).pvalue > ALARM


def test_every_proposal_in_the_window_is_kept_once(monkeypatch) -> None:
    """Wide windows: proposals have the weights exp(−|x|/scale), so keeping exactly those inside is the law."""
    proposals = iter([np.array([2**70, *range(-9, 8)], dtype=object), np.arange(14) - 8, np.zeros(99, dtype=np.int64)])
    sizes = []
    monkeypatch.setattr(
        _window, "discrete_laplace", lambda scale, size: sizes.append((scale, size)) or next(proposals)[:size]
    )
    drawn = _window.laplace_in_window(Fraction(1), np.full(18, -2), 5)
    assert drawn.dtype == np.int64
    assert sizes == [(1, 18), (1, 12), (1, 6)]
    assert drawn[8:14].tolist() == [-2, -1, 0, 1, 2, 3]  # kept in the first round, where they were proposed
    assert sorted(drawn.tolist()) == sorted([*range(-2, 4), *range(-2, 4), *([0] * 6)])


def test_places_of_a_narrow_window_are_kept_by_their_weight(monkeypatch) -> None:
    asked = {}

    def coins(x: np.ndarray, exact) -> np.ndarray:
        asked.update({round(float(each), 12): exact(i) for i, each in enumerate(x)})
        return np.ones(x.size, dtype=np.bool_)

    monkeypatch.setattr(_window, "bernoulli_exp", coins)
    monkeypatch.setattr(_window, "uniform_below", lambda n, size: np.arange(size) % n)
    drawn = _window.laplace_in_window(Fraction(100), np.full(12, -3), 5)
    assert drawn.tolist() == [-3, -2, -1, 0, 1, 2] * 2
    assert asked == {k / 100: Fraction(k, 100) for k in range(4)}


def test_extremes() -> None:
    widest = TruncatedLaplace(2**56, 2**61)
    assert widest.loss(1).eps == Fraction(1, 2**56)
    assert abs(widest.release(0)) <= 2**61
    assert widest.error() == pytest.approx(2**56 * 2.995732, rel=1e-6)
    assert widest.std == pytest.approx(2**56.5, rel=1e-6)
    assert TruncatedLaplace("0.001", 5).release([2**80, -1]) == [2**80, -1]
    assert 0 < TruncatedLaplace("0.001", 10**6).loss(1).at_delta < Fraction(1, 10**1000)
    flat = TruncatedLaplace(2**56, 1)
    assert set(flat.release([0] * 500)) == {-1, 0, 1}
    assert flat.std == pytest.approx((2 / 3) ** 0.5, rel=1e-12)
    assert float(flat.loss(1).at_delta) == pytest.approx(1 / 3, rel=1e-12)
    assert TruncatedLaplace.calibrate(dp.approx(1, "0.1"), 0).bound == 0
    assert TruncatedLaplace(3, 4).loss(0) == TruncatedLaplace(3, 4).loss("0.5") == PureLoss(Fraction(0))
    assert TruncatedLaplace(3, 4).loss(10**40) == ApproxLoss(Fraction(0), Fraction(1))


@pytest.mark.parametrize(
    "bad",
    [
        (0, 1), (-1, 1), (float("nan"), 1), (2**56 + 1, 1), (True, 1), ("x", 1), (1, -1), (1, 2**61 + 1), (1, 1.0),
        (1, True), (1, "2"), (1, None),
    ],
    ids=str,
)  # fmt: skip
def test_bad_arguments_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        TruncatedLaplace(*bad)


def test_bad_calls_are_refused() -> None:
    for sensitivity in (-1, float("nan"), "x", None, 10**30):
        with pytest.raises(ParameterError):
            TruncatedLaplace.calibrate(dp.approx(1, 1e-6), sensitivity)
    for level in (0, 1, True, "x"):
        with pytest.raises(ParameterError, match="level"):
            TruncatedLaplace(1, 5).error(level)
