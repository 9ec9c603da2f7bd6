"""The exponential mechanism's exact law, over all small utility vectors and their neighbours."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import Exponential
from discreet.mechanisms.selection._candidates import exponents_of, utilities_of
from discreet.privacy import BoundedRangeLoss, approx, as_mu, as_rho, fits, mu, pure, rho

ALARM = 1e-12


def law(mechanism: Exponential, utilities) -> list[mpmath.mpf]:
    """From the definition."""
    factor = 1 if mechanism.monotone else 2
    rate = mechanism.epsilon / (factor * mechanism.sensitivity)
    weights = [mpmath.exp(mpmath.mpf((rate * u).numerator) / (rate * u).denominator) for u in map(Fraction, utilities)]
    return [weight / mpmath.fsum(weights) for weight in weights]


def neighbours(utilities, *, monotone: bool):
    moves = [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]
    for move in moves:
        for step in product(move, repeat=len(utilities)):
            yield tuple(u + s for u, s in zip(utilities, step, strict=True))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("candidates", [2, 3])
def test_stated_range_and_epsilon_by_enumeration(epsilon, candidates, monotone) -> None:
    mechanism = Exponential(epsilon, 1, monotone=monotone)
    stated = float(mechanism.epsilon)
    widest = highest = 0.0
    spread = math.ceil(25 / stated)
    for utilities in product((0, 1, spread), repeat=candidates):
        p = law(mechanism, utilities)
        for other in neighbours(utilities, monotone=monotone):
            losses = [float(mpmath.log(a / b)) for a, b in zip(p, law(mechanism, other), strict=True)]
            widest = max(widest, max(losses) - min(losses))
            highest = max(highest, *map(abs, losses))
    assert stated / 1.001 <= highest <= widest <= stated * (1 + 1e-9)


def test_not_monotone_utilities_break_the_monotone_claim() -> None:
    mechanism = Exponential(1, 1, monotone=True)
    losses = [float(mpmath.log(a / b)) for a, b in zip(law(mechanism, (0, 1)), law(mechanism, (1, 0)), strict=True)]
    assert max(losses) - min(losses) > 1.99


@pytest.mark.parametrize("r", ["0.01", "0.125", "3"])
def test_rho_of_the_worst_pair(r) -> None:
    """The Rényi divergence of every order, over α, is at most ε²/8 (Cesar and Rogers 2021, Lemma 3.4)."""
    mechanism = Exponential.calibrate(rho(r), 1)
    assert mechanism.loss().rho() <= float(Fraction(r)) * (1 + 1e-12)
    assert float(as_rho(mechanism.loss())[0]) >= float(Fraction(r)) * (1 - 1e-11)
    p_all = [law(mechanism, (0, u)) for u in range(-6, 7)]
    q_all = [law(mechanism, (1, u - 1)) for u in range(-6, 7)]
    for p, q in zip(p_all, q_all, strict=True):
        for alpha in map(mpmath.mpf, ("1.001", "1.5", "2", "5", "20")):
            moment = mpmath.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))
            assert mpmath.log(moment) / (alpha - 1) / alpha <= float(Fraction(r)) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("spend", "epsilon"), [(pure("0.3"), "0.3"), (approx("0.3", "1e-6"), "0.3"), (rho("0.5", "1e-6"), "2")]
)
def test_calibration(spend, epsilon) -> None:
    mechanism = Exponential.calibrate(spend, 7, monotone=True)
    assert mechanism == Exponential(epsilon, 7, monotone=True)
    assert fits(mechanism.loss(), spend)


@pytest.mark.parametrize("m", ["1e-3", "0.5", "3", "12"])
def test_calibration_to_mu(m) -> None:
    loss = Exponential.calibrate(mu(m), 1).loss()
    spent = as_mu(loss)
    assert spent is not None
    assert Fraction(m) ** 2 * (1 - Fraction(1, 5000)) <= spent[0] <= Fraction(m) ** 2


def exact_and_float(utilities, rate=Fraction(1, 7)):
    floats, exact = exponents_of(utilities_of(utilities), rate)
    return floats, [exact(i) for i in range(len(floats))]


@pytest.mark.parametrize(
    "utilities",
    [
        [0, 3, -7],
        [2**62, -(2**63), 2**63 - 1],
        [2**63, 0, -(2**80)],
        np.array([2**64 - 1, 0, 2**63 + 1], dtype=np.uint64),
        np.array([-128, 127], dtype=np.int8),
        [0.1, 0.3, -1e16, 5e-324],
        [1.7e308, -1.7e308, 0.0],
        [5e-324, 0.0],
        np.array([0.1, 0.2], dtype=np.float32),
        [Fraction(1, 3), 2**60 + 1, 0.1, Decimal("0.1")],
        [Fraction(10) ** 400, 0],
        [True + 1, np.float64(0.5), np.int64(3)],
    ],
)
@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(1, 2**500), Fraction(2) ** 500, Fraction(10**30, 3)])
def test_exponents_are_exact_and_their_floats_keep_their_promise(utilities, rate) -> None:
    floats, exact = exact_and_float(utilities, rate)
    values = [Fraction(u.item() if isinstance(u, np.generic) else u) for u in utilities]
    assert exact == [(max(values) - value) * rate for value in values]
    for x, true in zip(floats.tolist(), exact, strict=True):
        if math.isinf(x):
            assert true > Fraction(10) ** 307
        else:
            assert abs(Fraction(x) - true) <= max(Fraction(1), true) / 2**50


@pytest.mark.parametrize(
    "utilities",
    [[], [[1, 2]], "ab", [1.0, math.nan], [1.0, math.inf], [-math.inf, 0], np.array([np.nan]), [1, None], [True, False],
     np.array([True]), np.array(["a"]), [1, Decimal("NaN")], [Fraction(1, 2), math.inf], 3, [1j],
     np.array([1, 2], dtype=np.longdouble)],
)  # fmt: skip
def test_what_is_not_a_finite_number_is_refused_before_anything_is_drawn(utilities, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.selection._exponential.uniform_below", None)
    with pytest.raises(ParameterError, match="utilities must be"):
        Exponential(1, 1).release(utilities)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [(0, 1), (-1, 1), (1, 0), (1, -2), (math.nan, 1), (1, math.inf), ("1e200", 1), ("1e-150", "1e50")],
)
def test_bad_parameters_are_refused(epsilon, sensitivity) -> None:
    with pytest.raises(ParameterError, match=r"epsilon|sensitivity"):
        Exponential(epsilon, sensitivity)


def test_frequencies_follow_the_law() -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 100 or more expected per candidate)."""
    mechanism, utilities, draws = Exponential("1.3", 2), [0, 1.5, 3, 3, -2], 10_000
    picked = np.bincount([mechanism.release(utilities) for _ in range(draws)], minlength=5)
    expected = np.array([float(p) for p in law(mechanism, utilities)])
    assert stats.chisquare(picked, expected / expected.sum() * draws).pvalue > ALARM


def test_one_candidate_and_certain_ones() -> None:
    assert Exponential(1, 1).release([math.pi]) == 0
    assert Exponential(1, 1).release([0, 10**6, 0]) == 1
    assert Exponential(10**6, 1).release(np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)) == 0
    assert Exponential(1, 1).release([1e308, -1e308]) == 0


def test_error_holds_exactly() -> None:
    for utilities in product(range(0, 60, 6), repeat=3):
        mechanism = Exponential("0.5", 1)
        reach = mechanism.error("0.9", candidates=3)
        p = law(mechanism, utilities)
        assert sum(q for q, u in zip(p, utilities, strict=True) if max(utilities) - u > reach) <= 0.1


@pytest.mark.parametrize(("candidates", "level"), [(0, 0.9), (True, 0.9), (3, 1), (3, 0)])
def test_bad_error_arguments_are_refused(candidates, level) -> None:
    with pytest.raises(ParameterError):
        Exponential(1, 1).error(level, candidates=candidates)


def test_loss() -> None:
    assert Exponential("0.7", 3).loss() == BoundedRangeLoss(Fraction(7, 10))
