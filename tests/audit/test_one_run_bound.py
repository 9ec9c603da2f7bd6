"""The bound on right guesses, against enumeration and against all procedures there are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import betaincc, expit, ndtr

from discreet.audit.one_run_audit._bound import epsilon_shown, mu_shown, p_value, p_value_of_mu


def exact_tail(correct: int, guesses: int, odds: int) -> Fraction:
    """Pr[Binomial(guesses, odds / (1 + odds)) ≥ correct]."""
    ways = sum(math.comb(guesses, w) * odds**w for w in range(correct, guesses + 1))
    return Fraction(ways, (1 + odds) ** guesses)


@pytest.mark.parametrize("odds", [1, 2, 7, 50])
@pytest.mark.parametrize("guesses", [1, 2, 10, 300])
def test_without_delta_it_is_the_tail_of_randomized_response(guesses: int, odds: int) -> None:
    for correct in {0, 1, guesses // 2, guesses - 1, guesses}:
        exact = float(exact_tail(correct, guesses, odds))
        found = float(p_value(correct, guesses, guesses, math.log(odds), 0.0))
        assert exact <= found <= min(exact * (1 + 3e-9), 1.0)


def test_tail_and_share_are_right_for_many_guesses() -> None:
    # b(v), exactly, and the tail as b(v) times a short sum of ratios.
    r, odds = 100_000, 3
    for correct in (75_100, 75_300, 76_000, 79_000):
        log_b = math.log(math.comb(r, correct)) + correct * math.log(odds) - r * math.log(1 + odds)
        ratio = math.fsum(np.cumprod(odds * (r - np.arange(correct, r)) / (np.arange(correct, r) + 1)).tolist()) + 1
        tail = math.exp(log_b) * ratio
        assert tail * (1 - 1e-8) <= float(p_value(correct, r, r, math.log(odds), 0.0)) <= tail * (1 + 1e-8)
        term = 1e-6 * r * ratio * (1 - tail) / correct
        found = float(p_value(correct, r, r, math.log(odds), 1e-6))
        assert (tail + term) * (1 - 1e-8) <= found <= (tail + term) * (1 + 2e-6)


def most_right(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """The greatest Pr[W ≥ correct] of all (ε, δ)-private procedures from m coins to guesses, without any symmetry."""
    coins = list(itertools.product((0, 1), repeat=canaries))
    outputs = [
        tuple(dict(zip(places, values, strict=True)).get(i, 2) for i in range(canaries))
        for places in itertools.combinations(range(canaries), guesses)
        for values in itertools.product((0, 1), repeat=guesses)
    ]
    pairs = [(i, j) for i, s in enumerate(coins) for j, t in enumerate(coins) if sum(a != b for a, b in zip(s, t)) == 1]  # noqa: B905
    n, k = len(coins), len(outputs)
    gain = np.zeros(n * k + len(pairs) * k)
    for i, s in enumerate(coins):
        for o, t in enumerate(outputs):
            gain[i * k + o] = -(sum(a == b for a, b in zip(s, t, strict=True)) >= correct) / n
    whole = np.zeros((n, gain.size))
    for i in range(n):
        whole[i, i * k : (i + 1) * k] = 1
    rows, limits = [], []
    for p, (i, j) in enumerate(pairs):
        start = n * k + p * k
        for o in range(k):
            row = np.zeros(gain.size)
            row[i * k + o], row[j * k + o], row[start + o] = 1, -math.exp(epsilon), -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(gain.size)
        row[start : start + k] = 1
        rows.append(row)
        limits.append(delta)
    solved = linprog(gain, A_ub=np.array(rows), b_ub=limits, A_eq=whole, b_eq=np.ones(n))
    assert solved.status == 0
    return -float(solved.fun)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.05), (0.7, 0.02), (1.5, 0.1)])
@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
def test_no_procedure_beats_it_and_one_attains_it(canaries: int, guesses: int, epsilon: float, delta: float) -> None:
    for correct in range(guesses + 1):
        best = most_right(canaries, guesses, correct, epsilon, delta)
        found = float(p_value(correct, guesses, canaries, epsilon, delta))
        assert best <= found + 1e-9, (correct, best, found)
        assert found <= best + 1e-5, (correct, best, found)


def symmetric_most(guesses: int, canaries: int, correct: int, curve: list[tuple[float, float]]) -> float:
    """The same, for procedures under a whole curve, by the law of W alone: (1) of the proof, in both directions."""
    r = guesses
    size = r + 1 + 2 * r * len(curve)
    gain = np.zeros(size)
    gain[correct : r + 1] = -1
    rows, limits = [], []
    for c, (epsilon, delta) in enumerate(curve):
        start, grown = r + 1 + 2 * r * c, math.exp(epsilon)
        for w in range(1, r + 1):
            up, down = np.zeros(size), np.zeros(size)
            up[w], up[w - 1], up[start + w - 1] = w, -grown * (r - w + 1), -1
            down[w], down[w - 1], down[start + r + w - 1] = -grown * w, r - w + 1, -1
            rows += [up, down]
            limits += [0.0, 0.0]
        row = np.zeros(size)
        row[start : start + 2 * r] = 1
        rows.append(row)
        limits.append(canaries * delta)
    total = np.zeros((1, size))
    total[0, : r + 1] = 1
    solved = linprog(gain, A_ub=np.array(rows), b_ub=limits, A_eq=total, b_eq=[1])
    assert solved.status == 0
    return -float(solved.fun)


@pytest.mark.parametrize(("guesses", "canaries"), [(8, 8), (20, 100)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.003), (1.0, 1e-3), (2.0, 0.01)])
def test_it_is_the_optimum_over_laws_of_right_guesses(
    guesses: int, canaries: int, epsilon: float, delta: float
) -> None:
    for correct in (guesses // 2, int(0.8 * guesses), guesses):
        best = symmetric_most(guesses, canaries, correct, [(epsilon, delta)])
        assert best == pytest.approx(float(p_value(correct, guesses, canaries, epsilon, delta)), rel=1e-5)


def gaussian_delta(epsilon: float, mu: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize(
    ("guesses", "canaries", "correct", "mu"), [(20, 20, 18, 0.5), (30, 300, 28, 0.5), (30, 300, 28, 1.0)]
)
def test_the_bound_for_a_curve_is_above_the_optimum_and_near_it(
    guesses: int, canaries: int, correct: int, mu: float
) -> None:
    curve = [(e, gaussian_delta(e, mu)) for e in np.linspace(0, 4, 17)]
    best, found = (
        symmetric_most(guesses, canaries, correct, curve),
        float(p_value_of_mu(correct, guesses, canaries, mu)),
    )
    assert best <= found <= 3 * best


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_guesses_about_a_gaussian_sum_stay_below_the_bound_of_its_mu(mu: float) -> None:
    # Orthogonal canaries, noise 1/μ, guess by the nearer of the two means: each is right with probability Φ(μ/2).
    for correct in range(500, 1001, 10):
        truth = float(betaincc(1000 - correct + 1, correct, ndtr(-mu / 2)))
        assert truth <= float(p_value_of_mu(correct, 1000, 1000, mu))


@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.05])
def test_randomized_response_that_leaks_each_coin_stays_below(delta: float) -> None:
    # Each coin is shown openly with probability δ, and by randomised response otherwise: (ε, δ)-private.
    for epsilon, m in itertools.product((0.0, 1.0, 3.0), (10, 1000)):
        wrong = (1 - delta) * expit(-epsilon)
        for correct in range(1, m + 1):
            assert float(betaincc(m - correct + 1, correct, wrong)) <= float(p_value(correct, m, m, epsilon, delta))


def test_all_coins_leaked_at_once_stay_below() -> None:
    # With probability δ all is shown: the leaks are as dependent as can be.
    m, epsilon, delta = 200, 1.0, 1e-3
    for correct in range(1, m + 1):
        plain = float(betaincc(m - correct + 1, correct, expit(-epsilon)))
        assert delta + (1 - delta) * plain <= float(p_value(correct, m, m, epsilon, delta))


def published(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Steinke, Nasr and Jagielski 2023, Theorem 5.2."""
    tails = betaincc(guesses - np.arange(1, correct + 1) + 1, np.arange(1, correct + 1), expit(-epsilon))
    tails = np.concatenate([[1.0], tails])
    steps = np.arange(1, correct + 1)
    return float(min(1.0, tails[-1] + 2 * canaries * delta * ((tails[correct - steps] - tails[-1]) / steps).max()))


def test_it_is_below_the_published_bound_in_the_upper_half() -> None:
    for guesses, canaries in [(5, 5), (100, 100), (100, 2000)]:
        for correct, epsilon, delta in itertools.product(range(1, guesses + 1, 3), (0.0, 1.0, 4.0), (0.0, 1e-6, 1e-3)):
            ours = float(p_value(correct, guesses, canaries, epsilon, delta))
            if ours <= 0.5:
                assert ours <= published(correct, guesses, canaries, epsilon, delta) * (1 + 3e-9)


def test_near_one_the_published_bound_is_exceeded_by_a_private_procedure() -> None:
    # Never guess all three wrong, as far as (0, 0.05) allows: found among all procedures, with no symmetry assumed.
    assert most_right(3, 3, 1, 0.0, 0.05) > published(1, 3, 3, 0.0, 0.05) + 0.006


def test_where_the_tail_leaves_the_floats_the_bound_still_stands() -> None:
    # f / b is 1 + ρ + … with ρ the odds of one more, and below 1/(1 − ρ).
    r, correct = 100_000, 90_000
    rho = 3 * (r - correct) / (correct + 1)
    found = float(p_value(correct, r, r, math.log(3), 1e-6))
    assert 1e-6 * r / correct * (1 + rho) < found < 1e-6 * r / correct / (1 - rho) * 1.00001


@given(
    st.integers(1, 2000),
    st.floats(0, 1),
    st.floats(0, 12),
    st.floats(0, 3),
    st.floats(0, 0.1),
    st.floats(0, 0.1),
)
def test_it_rises_with_epsilon_and_delta_and_falls_with_right_guesses(
    guesses: int, share: float, epsilon: float, more: float, delta: float, leak: float
) -> None:
    correct = round(share * guesses)
    here = float(p_value(correct, guesses, guesses, epsilon, delta))
    assert here <= float(p_value(correct, guesses, guesses, epsilon + more, delta)) * (1 + 2e-6)
    assert here <= float(p_value(correct, guesses, guesses, epsilon, delta + leak)) * (1 + 2e-6)
    if correct < guesses:
        assert float(p_value(correct + 1, guesses, guesses, epsilon, delta)) <= here * (1 + 2e-6)


@pytest.mark.parametrize("guesses", [1, 30, 1000, 10**6])
@pytest.mark.parametrize("delta", [0.0, 1e-7, 1e-2])
def test_extremes_are_numbers(guesses: int, delta: float) -> None:
    eps = np.array([0.0, 1e-300, 1e-9, 1.0, 20.0, 64.0])
    for correct in {0, 1, guesses // 2, guesses}:
        found = p_value(correct, guesses, 10**6, eps, delta)
        assert bool(((found >= 0) & (found <= 1)).all())
        assert float(found[-1]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("guesses", "canaries", "delta"), [(100, 100, 0.0), (1000, 10_000, 1e-5), (10**6, 10**6, 1e-8)]
)
def test_epsilon_shown_is_where_the_p_value_crosses(guesses: int, canaries: int, delta: float) -> None:
    for correct in (int(0.8 * guesses), int(0.99 * guesses), guesses):
        shown = epsilon_shown(correct, guesses, canaries, delta, 0.05)
        if delta == 0:
            assert shown > 0
        if shown:
            assert float(p_value(correct, guesses, canaries, shown, delta)) < 0.05
        assert float(p_value(correct, guesses, canaries, shown + 1e-6, delta)) >= 0.05 - 1e-4


def test_nothing_is_shown_by_guesses_that_are_no_better_than_chance() -> None:
    assert epsilon_shown(500, 1000, 1000, 0.0, 0.05) == 0.0
    assert mu_shown(500, 1000, 1000, 0.05) == 0.0
    assert mu_shown(0, 10, 1000, 0.05) == 0.0
