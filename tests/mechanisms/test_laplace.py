"""Rounded Laplace noise: its loss against the exact law of one number, of a vector and of two releases."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet import privacy
from discreet.errors import ParameterError
from discreet.mechanisms import Laplace
from discreet.privacy import PureLoss, fits
from discreet.sensitivity import Norms


def mass(scale: Fraction, k: int) -> mpmath.mpf:
    """P(k − ½ < scale · L < k + ½)."""
    s, k = mpmath.mpf(scale.numerator) / scale.denominator, abs(k)
    if k == 0:
        return 1 - mpmath.exp(-1 / (2 * s))
    return (mpmath.exp(-(k - mpmath.mpf("0.5")) / s) - mpmath.exp(-(k + mpmath.mpf("0.5")) / s)) / 2


def losses(scale: Fraction, shift: int) -> dict[mpmath.mpf, mpmath.mpf]:
    """The exact distribution of ln(P/Q) under P: outside of the two values it is constant, and tails are summed."""
    s = mpmath.mpf(scale.numerator) / scale.denominator
    tail = mpmath.exp(-1 / (2 * s)) / 2
    far = tail * mpmath.exp(-(shift) / s)
    found = {shift / s: tail, -shift / s: far}
    for k in range(shift + 1):
        p, q = mass(scale, k), mass(scale, k - shift)
        found[mpmath.log(p / q)] = found.get(mpmath.log(p / q), 0) + p
    return found


def both(a: dict, b: dict) -> dict:
    """The distribution of the sum."""
    found: dict = {}
    for (x, p), (y, q) in product(a.items(), b.items()):
        found[x + y] = found.get(x + y, 0) + p * q
    return found


def delta(distribution: dict, epsilon: float) -> mpmath.mpf:
    return mpmath.fsum(p * (1 - mpmath.exp(epsilon - x)) for x, p in distribution.items() if x > epsilon)


@pytest.mark.parametrize("scale", ["1/3", "1", "2.5", "10"])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_stated_loss_covers_the_exact_law(scale: str, shift: int) -> None:
    exact, loss = Fraction(scale), Laplace(scale).loss(shift)
    with mpmath.workdps(40):
        law = losses(exact, shift)
        assert abs(mpmath.fsum(law.values()) - 1) < mpmath.mpf(10) ** -35
        assert abs(max(law) - mpmath.mpf(shift * exact.denominator) / exact.numerator) < mpmath.mpf(10) ** -35
        for share in (0, 0.1, 0.3, 0.5, 0.9, 0.99):
            epsilon = share * shift / float(exact)
            truth = delta(law, epsilon)
            assert truth <= loss.delta(epsilon)
    assert loss.epsilon() == pytest.approx(shift / float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("scale", "shift", "cut"), [("1", 1, 0), ("10", 3, 0), ("7/2", 4, "2/7"), ("2", 5, 1), ("1", 3, 2)]
)
def test_where_the_best_cut_is_a_half_integer_the_claim_is_exact(scale: str, shift: int, cut) -> None:
    """The cut of the continuous law is at (shift − ε scale)/2."""
    assert (shift - Fraction(cut) * Fraction(scale)) % 2 == 1
    epsilon = float(Fraction(cut))
    with mpmath.workdps(40):
        truth = delta(losses(Fraction(scale), shift), epsilon)
    assert float(truth) <= Laplace(scale).loss(shift).delta(Fraction(cut)) <= float(truth) * (1 + 1e-9)


@pytest.mark.parametrize("scale", ["1", "4", "12"])
@pytest.mark.parametrize("move", [(1, 1), (2, 1), (3, 3), (1, 1, 1), (5, 1, 2)], ids=str)
def test_spreading_the_move_costs_less(scale: str, move: tuple[int, ...]) -> None:
    loss = Laplace(scale).loss(sum(move))
    assert loss == Laplace(scale).loss(Norms(sum(move), sum(m * m for m in move)))
    with mpmath.workdps(30):
        law = {mpmath.mpf(0): mpmath.mpf(1)}
        for each in move:
            law = both(law, losses(Fraction(scale), each))
        for share in (0, 0.2, 0.5, 0.8, 0.999):
            epsilon = share * sum(move) / float(Fraction(scale))
            assert delta(law, epsilon) <= loss.delta(epsilon)
        assert delta(law, 0) < 0.99 * loss.delta(0)


@given(st.floats(0.01, 8), st.floats(0.01, 8), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_one_continuous_coordinate_dominates_two(a: float, b: float, share: float) -> None:
    """1 − δ(ε) = e^{ε/2} ∫ √(pq) e^{−|L−ε|/2}: the measure of ``proofs/laplace.md``, integrated in closed form."""
    epsilon = share * (a + b)

    def nearby(y: float) -> float:
        """∫ over the first coordinate's losses, of exp(−(distance of y to them from [−b, b]) / 2), by quadrature."""
        grid = (np.arange(4000) + 0.5) / 4000 * 2 * a - a
        inner = np.exp(-np.maximum(np.abs(y - grid) - b, 0) / 2).mean() * a / 2
        ends = sum(0.5 * np.exp(-max(abs(y - end) - b, 0) / 2) for end in (-a, a))
        return float(inner + ends)

    assert nearby(epsilon) >= 1 - 1e-6


def test_two_releases_are_covered_by_the_composed_loss() -> None:
    mechanism = Laplace(3)
    with mpmath.workdps(30):
        law = both(losses(Fraction(3), 1), losses(Fraction(3), 2))
        composed = mechanism.loss(1) + mechanism.loss(2)
        for epsilon in (0.1, 0.4, 0.8):
            truth = delta(law, epsilon)
            assert truth <= composed.delta(epsilon) <= 1.2 * truth


numbers = st.fractions(min_value=Fraction(1, 1000), max_value=1000)


@given(eps=numbers, sensitivity=numbers)
@settings(max_examples=50, deadline=None)
def test_calibration_spends_exactly_what_is_allowed(eps, sensitivity) -> None:
    mechanism = Laplace.calibrate(dp.pure(eps), sensitivity)
    assert fits(mechanism.loss(sensitivity), dp.pure(eps))
    assert mechanism.scale == max(sensitivity / eps, Fraction(1, 1000))
    assert Laplace.calibrate(dp.approx(eps, "1e-9"), sensitivity) == mechanism


@pytest.mark.parametrize("spend", [dp.rho("0.01"), dp.mu("0.2"), dp.mu("0.2", "1e-9"), dp.rho(3, "1e-6")], ids=str)
def test_calibration_in_other_currencies(spend: dp.Loss) -> None:
    mechanism = Laplace.calibrate(spend, Norms(3, 5))
    assert fits(mechanism.loss(Norms(3, 5)), spend)
    assert not fits(Laplace(mechanism.scale * Fraction(999, 1000)).loss(3), spend)


def test_edges() -> None:
    assert Laplace(1).loss(0) == PureLoss(Fraction(0))
    assert Laplace.calibrate(dp.pure(1), 0).scale == Fraction(1, 1000)
    assert Laplace(5).loss("5/2") == privacy.LaplaceLoss(Fraction(2))
    for spend, sensitivity in ((dp.pure(1), -1), (dp.pure(1), 10**30), (PureLoss(Fraction(0)), 1), (dp.pure(1), None)):
        with pytest.raises(ParameterError):
            Laplace.calibrate(spend, sensitivity)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("scale", ["0.001", "0.4", 1, 10, 31])
def test_error_and_std_follow_the_law(scale) -> None:
    mechanism = Laplace(scale)
    with mpmath.workdps(600):
        s = mpmath.mpf(mechanism.scale.numerator) / mechanism.scale.denominator
        for level in ("0.01", "0.5", "0.95", "0.999999"):
            miss = 1 - mpmath.mpf(Fraction(level).numerator) / Fraction(level).denominator
            k = mechanism.error(level)
            assert mpmath.exp(-(k + mpmath.mpf("0.5")) / s) <= miss
            assert k == 0 or mpmath.exp(-(k - mpmath.mpf("0.5")) / s) > miss
        std = mpmath.sqrt(2 * mpmath.fsum(x * x * mass(mechanism.scale, x) for x in range(1, 1500)))
    assert mechanism.std == pytest.approx(float(std), rel=1e-9)


def test_the_largest_scale() -> None:
    assert Laplace(2**56).error() == pytest.approx(2**56 * 2.995732, rel=1e-6)
    assert Laplace(2**56).std == pytest.approx(2**56.5, rel=1e-12)
