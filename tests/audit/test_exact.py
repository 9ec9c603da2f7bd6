"""Exact mode: brackets against brute force and closed forms, truncated laws, curves, and recipes that are wrong."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.audit.enumeration._distribution import Distribution
from discreet.audit.enumeration._exact import exact
from discreet.audit.enumeration._loss import Side, grown
from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, RandomizedResponse, ReportNoisyMax
from discreet.noise import exp_bounds
from discreet.privacy.theorems import renyi_divergence

sys.path.insert(0, str(Path(__file__).parent))
import door

F = Fraction

pairs_of_laws = st.integers(1, 5).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 20), min_size=n, max_size=n).filter(any)] * 2)
)


def as_law(weights: list[int]) -> dict[int, Fraction]:
    return {i: F(w, sum(weights)) for i, w in enumerate(weights)}


def events(p: dict[int, Fraction], q: dict[int, Fraction]) -> list[tuple[Fraction, Fraction]]:
    subsets = chain.from_iterable(combinations(p, size) for size in range(1, len(p) + 1))
    return [(sum(p[i] for i in s), sum(q[i] for i in s)) for s in subsets]


@given(pairs_of_laws, st.fractions(0, F(9, 10)), st.fractions(0, 5))
def test_the_brackets_hold_the_largest_over_all_events(weights, delta, epsilon) -> None:
    p, q = map(as_law, weights)
    side = Side(Distribution.from_probabilities(p), Distribution.from_probabilities(q))
    low, high = side.epsilon_low(delta)[0], side.epsilon_high(delta)
    with mpmath.workdps(50):
        both = [(a - delta, b) for a, b in events(p, q) if a > delta]
        true = max((mpmath.inf if b == 0 else mpmath.log(mpmath.mpf((a / b).numerator) / (a / b).denominator)
                    for a, b in both), default=mpmath.mpf(0))  # fmt: skip
        assert low <= max(true, 0) <= high
        if math.isfinite(high):
            assert high - low <= 1e-14 * (1 + high)
        grows = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        reached = max(mpmath.mpf(a.numerator) / a.denominator - grows * b.numerator / b.denominator
                      for a, b in events(p, q))  # fmt: skip
        assert side.delta_low(epsilon) <= max(reached, 0) + mpmath.mpf(10) ** -40
        assert side.delta_high(epsilon) >= max(reached, 0) - mpmath.mpf(10) ** -40
    assert side.delta_high(epsilon) - side.delta_low(epsilon) <= 1e-15


@given(
    pairs_of_laws, st.sets(st.tuples(st.booleans(), st.integers(0, 4))), st.fractions(0, F(1, 2)), st.fractions(0, 3)
)
def test_brackets_of_cut_laws_hold_those_of_the_whole(weights, lost, delta, epsilon) -> None:
    whole = [as_law(each) for each in weights]
    cut = [{i: p for i, p in law.items() if (side == 0, i) not in lost} for side, law in enumerate(whole)]
    if not all(any(law.values()) for law in cut):
        return
    exactly, part = Side(*map(Distribution.from_probabilities, whole)), Side(*map(Distribution.from_probabilities, cut))
    assert part.epsilon_low(delta)[0] <= exactly.epsilon_high(delta)
    assert part.epsilon_high(delta) >= exactly.epsilon_low(delta)[0]
    assert part.delta_low(epsilon) <= exactly.delta_high(epsilon)
    assert part.delta_high(epsilon) >= exactly.delta_low(epsilon)
    for order in (1.5, 2.0, 8.0):
        assert part.renyi_low(order) <= exactly.renyi_low(order) + 1e-9 * (1 + exactly.renyi_low(order))


@given(pairs_of_laws, st.sampled_from([1.5, 2.0, 4.0, 32.0]))
def test_renyi_divergence_is_reached(weights, order) -> None:
    p, q = map(as_law, weights)
    true = renyi_divergence(list(map(float, p.values())), list(map(float, q.values())), order)
    found = Side(Distribution.from_probabilities(p), Distribution.from_probabilities(q)).renyi_low(order)
    assert found <= true + 1e-12
    assert found == pytest.approx(true, abs=1e-8)


@given(st.fractions(0, 600))
def test_the_exponential_is_bracketed(epsilon) -> None:
    low, high = grown(epsilon)
    with mpmath.workdps(430):
        true = mpmath.ldexp(mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator), 512)
        assert low <= true <= high
    assert high - low <= low >> 400


def test_a_law_of_its_own_is_private() -> None:
    verdict = exact(lambda _: {0: F(1, 3), 1: F(2, 3)}, [("a", "b")], dp.pure("1e-9"))
    assert verdict.epsilon[0] == 0 and verdict.epsilon[1] <= 1e-15 and verdict.holds and not verdict.violated
    assert verdict.witness == ()


def test_an_output_of_one_side_alone_is_told_at_any_epsilon() -> None:
    def leaks(data, draw):
        return data if draw({True: F(1, 1000), False: F(999, 1000)}) else None

    verdict = exact(leaks, [("a", "b")], dp.pure(600))
    assert verdict.violated and verdict.epsilon == (math.inf, math.inf)
    assert verdict.delta_at_claimed == pytest.approx((0.001, 0.001))
    assert verdict.witness == ("'a'",) and "infinite" in verdict.sentence
    assert exact(leaks, [("a", "b")], dp.approx("0.1", "0.001")).holds
    assert exact(leaks, [("a", "b")], dp.approx("0.1", "0.000999")).violated
    assert json.loads(json.dumps(verdict.to_json()))["epsilon"] == ["inf", "inf"]


def test_both_directions_and_all_pairs_are_looked_at() -> None:
    def one_sided(data):
        return {0: F(1)} if data == 0 else {0: 1 - F(data, 100), 1: F(data, 100)}

    verdict = exact(one_sided, [(0, 1), (0, 3), (0, 2)], dp.approx(1, "0.02"))
    assert verdict.violated and verdict.pair == (1, 1)
    assert verdict.delta_at_claimed[0] == pytest.approx(0.03)


def test_a_claim_that_is_a_curve_is_held_to_all_of_it() -> None:
    """At the δ that is asked nothing is told; at a large ε, one in ten is told for sure."""

    def law(data):
        return {"told": F(1, 10), "a": F(9, 10)} if data else {"told": 0, "a": F(1, 1)}

    at = exact(law, [(0, 1)], dp.mu(2), delta="0.2")
    assert at.epsilon[0] <= at.claimed and at.violated and "epsilon = " in at.broken_at


@pytest.mark.parametrize("sigma", [F(1, 4), F(1, 2)])
def test_a_discrete_gaussian_charged_as_a_continuous_one(sigma) -> None:
    mechanism = DiscreteGaussian(sigma)
    options = {"mass": 1 - F(1, 10**30), "tail": F(1, 10**32)}
    assert door.real_verdict(mechanism.release, [(0, 1)], dp.mu(1 / sigma), **options).violated
    assert door.real_verdict(mechanism.release, [(0, 1)], mechanism.loss(1), **options).holds
    assert not door.real_verdict(mechanism.release, [(0, 1)], dp.rho(1 / (2 * sigma**2)), **options).violated


@pytest.mark.parametrize("claim", [dp.rho("0.125"), dp.discrete_gaussian(2)])
def test_a_little_too_little_gaussian_noise_is_seen(claim) -> None:
    short = DiscreteGaussian("1.98")
    assert door.real_verdict(short.release, [(0, 1)], claim, mass=1 - F(1, 10**30)).violated


def test_a_delta_of_a_billionth_is_seen() -> None:
    """No sample would: δ is exceeded by 2e-10."""

    def mechanism(data):
        return {x + data: p for x, p in door.window(F(1), -20, 40).items()}

    true = exact(mechanism, [(0, 1)], dp.approx(1, "1e-3")).delta_at_claimed[0]
    assert 5e-10 < true < 2e-9
    assert exact(mechanism, [(0, 1)], dp.approx(1, true * 0.8)).violated
    assert exact(mechanism, [(0, 1)], dp.approx(1, true * 1.001), spare=0).holds


def test_too_much_missing_is_undecided() -> None:
    verdict = door.real_verdict(DiscreteLaplace(2).release, [(0, 1)], dp.pure("0.5"), mass="0.9")
    assert not verdict.violated and not verdict.holds and "undecided" in verdict.sentence
    assert verdict.epsilon[0] < 0.5 and verdict.missing <= 1e-9


@pytest.mark.parametrize("scale", ["1/3", 1, 5])
def test_the_real_code_of_discrete_laplace_is_its_closed_form(scale) -> None:
    law = door.real_law(lambda: DiscreteLaplace(scale).release(7))
    q = math.exp(-1 / F(scale))
    for x in range(-3, 4):
        low, high = law.probability(7 + x)
        assert low <= (1 - q) / (1 + q) * q ** abs(x) * (1 + 1e-12) and high >= (1 - q) / (1 + q) * q ** abs(x) * (
            1 - 1e-12
        )
    assert door.exact_epsilon(DiscreteLaplace(scale).release, (0, 1)) == pytest.approx(float(1 / F(scale)), rel=1e-9)


def test_report_noisy_max_is_its_closed_form() -> None:
    """Laplace noise on whole numbers: the chance of the second of two, by a sum over both noises."""
    mechanism, q = ReportNoisyMax(2, 1, "laplace"), math.exp(-1 / float(ReportNoisyMax(2, 1, "laplace").scale))
    weight = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-60, 61)}
    second = math.fsum(a * b for x, a in weight.items() for y, b in weight.items() if y + 1 > x)
    assert door.real_law(lambda: mechanism.release([0, 1])).probability(1)[0] == pytest.approx(second, rel=1e-9)


def test_the_door_is_shut_again() -> None:
    response = RandomizedResponse(p="0.9")
    door.real_law(lambda: response.release([0]), mass=1)
    assert len({tuple(response.release([0] * 64)) for _ in range(8)}) > 1  # false alarm: below 1e-20
    with pytest.raises(ZeroDivisionError):
        door.real_law(lambda: 1 // 0)
    assert len({tuple(response.release([0] * 64)) for _ in range(8)}) > 1


@pytest.mark.parametrize(
    ("mechanism", "match"),
    [
        (lambda: 0, "a function of the data that returns its distribution"),
        (lambda data, draw, more: 0, "a function of the data that returns its distribution"),
        (3, "a function of the data that returns its distribution"),
        (lambda data: 0.5, "must return its distribution"),
        (lambda data: {}, "a distribution must give"),
    ],
)
def test_what_cannot_be_enumerated_is_refused(mechanism, match) -> None:
    with pytest.raises(ParameterError, match=match):
        exact(mechanism, [(0, 1)], dp.pure(1))


def test_arguments_are_checked() -> None:
    def law(data):
        return {data: F(1)}

    with pytest.raises(ParameterError, match="one pair"):
        exact(law, [], dp.pure(1))
    for delta in (-1, 1):
        with pytest.raises(ParameterError, match="delta must be"):
            exact(law, [(0, 1)], dp.pure(1), delta=delta)


@pytest.mark.parametrize("epsilon", [F(40, 7), F(277, 997), F(54, 7), F(1, 3)], ids=str)
def test_a_claim_that_is_attained_holds(epsilon):
    """Randomised response with a cost that is that fraction, or just below it: e^ε from below in 300 bits."""
    low, _ = exp_bounds(epsilon, 300)  # e^−ε · 2^300
    lie = F(low + 1, (1 << 300) + low + 1)
    verdict = exact(lambda x: {x: 1 - lie, 1 - x: lie}, [(0, 1)], dp.pure(epsilon))
    assert not verdict.violated
    assert verdict.holds


def test_sets_and_plain_objects_are_their_content():
    class Plain:
        def __init__(self, told):
            self.told = told

    sets = exact(lambda x: {frozenset([8, 0] if x else [0, 8]): 1}, [(0, 1)], dp.pure(1))
    plain = exact(lambda x, draw: Plain(draw({0: F(1, 2), 1: F(1, 2)})), [(0, 1)], dp.pure(1))
    assert sets.epsilon == (0, 0)
    assert plain.epsilon == (0, 0)


def test_a_claim_in_rho_is_never_proved_by_a_few_orders():
    first, second = {0: 0.9998, 1: 0.0002}, {0: 0.2145, 1: 0.7855}
    broken, fine = (exact(lambda x: second if x else first, [(0, 1)], dp.rho(each)) for each in ("5.27", "6.3"))
    assert broken.violated
    assert not fine.violated and not fine.holds and "not refuted" in fine.sentence


@pytest.mark.parametrize(("options", "message"), [({"spare": -1}, "spare"), ({"pairs": [0]}, "pairs must be")], ids=str)
def test_odd_arguments_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        exact(**{"mechanism": lambda x: {0: 1}, "pairs": [(0, 1)], "claim": dp.pure(1), **options})
