"""What `solve` returns fits, and what is slightly cheaper to the owner does not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import Loss, approx, gaussian, laplace, mu, pure, rho, solve

STEP = 1 + 1.01e-4
epsilons = st.floats(0.01, 20)
deltas = st.floats(-12, -2).map(lambda power: 10.0**power)


@given(epsilon=epsilons, delta=deltas, count=st.integers(1, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_least_gaussian_noise(epsilon: float, delta: float, count: int) -> None:
    budget = approx(epsilon, delta)
    noise = solve(lambda noise: count * gaussian(noise), budget)
    assert (count * gaussian(noise)).fits(budget)
    assert not (count * gaussian(noise / STEP)).fits(budget)


@given(epsilon=epsilons, count=st.integers(1, 10**6))
def test_the_least_laplace_noise_is_known(epsilon: float, count: int) -> None:
    scale = solve(lambda scale: count * laplace(scale), pure(epsilon))
    least = count / Fraction(str(epsilon))
    assert least <= Fraction(str(scale)) <= least * Fraction(STEP)


@given(each=st.floats(1e-4, 1), budget=st.floats(1, 1000))
def test_the_most_steps_are_exact(each: float, budget: float) -> None:
    most = Fraction(str(budget)) // Fraction(str(each))
    assert solve(lambda steps: steps * pure(each), pure(budget), integer=True) == most


@pytest.mark.parametrize("allowed", ["0.5", "0.1", "0.02"])
def test_of_values_that_cost_the_same_the_last_is_found(allowed: str) -> None:
    budget = pure(allowed)
    steps = solve(lambda steps: (steps // 10) * pure("0.01"), budget, low=10, integer=True)
    assert steps == 10 * (Fraction(allowed) / Fraction("0.01")) + 9
    noise = solve(lambda noise: laplace(max(int(100 * noise), 1)), budget)
    assert noise == pytest.approx(1 / float(allowed) / 100, rel=1.01e-4)


def test_whole_numbers_beyond_those_of_floats_are_exact() -> None:
    most, each = 10**18 // 7, Fraction(1, 10**15)
    assert solve(lambda steps: pure(steps * each), pure(most * each), high=10**18 + 7, integer=True) == most


@given(r=st.floats(0.01, 10), delta=st.floats(1e-9, 1e-6))
def test_currencies_beside_epsilon(r: float, delta: float) -> None:
    noise = solve(lambda noise: 7 * gaussian(noise) + rho(r / 2, delta), rho(r, 2 * delta))
    assert noise == pytest.approx((7 / r) ** 0.5, rel=2e-4)
    noise = solve(lambda noise: 4 * gaussian(noise), mu(r))
    assert noise == pytest.approx(2 / r, rel=2e-4)


@pytest.mark.parametrize(
    ("make", "cheaper"),
    [
        (lambda noise: 1_000 * gaussian(noise).sampled(0.01), 1 / STEP),
        (lambda rate: 1_000 * gaussian(0.8).sampled(rate), STEP),
        (lambda rate: 1_000 * pure(0.2).sampled(rate), STEP),
    ],
)
def test_numeric_compositions_both_ways(make: object, cheaper: float) -> None:
    assert callable(make)
    budget = approx(2, 1e-6)
    found = solve(make, budget)
    assert make(found).fits(budget)
    assert make(found * cheaper).epsilon(delta=1e-6) >= 2 * (1 - 1e-3)


def test_whole_steps_of_a_numeric_composition() -> None:
    budget = approx(3, 1e-6)
    steps = solve(lambda steps: steps * gaussian(1.1).sampled(0.01), budget, integer=True)
    assert isinstance(steps, int)
    assert (steps * gaussian(1.1).sampled(0.01)).fits(budget)
    assert not ((steps + 1) * gaussian(1.1).sampled(0.01)).fits(budget)


def test_the_example_of_the_docs_is_quick() -> None:
    def make(noise: float) -> Loss:
        return 10_000 * gaussian(noise).sampled(0.01)

    make(1.5).epsilon(delta=1e-6)  # imports
    start = time.process_time()
    noise = solve(make, budget=approx(3, 1e-6))
    assert time.process_time() - start < 2.5  # about 0.3 s on an idle machine
    assert noise == pytest.approx(1.7086, rel=1e-3)


def test_ends_are_kept() -> None:
    budget = approx(1, 1e-6)
    assert 3 <= solve(gaussian, budget, low=3, high=100) < 5
    assert solve(lambda steps: steps * pure(1), pure(7.5), low=2, high=8, integer=True) == 7
    assert solve(lambda x: pure(x).sampled(0.5), pure(1), high=5) < 5


def test_a_gauge_that_promises_too_much_is_not_believed() -> None:
    # A lone pure loss is read in the budget's currency alone; numerically a little more would do.
    epsilon = solve(pure, approx(3, 1e-2))
    assert 3 / STEP <= epsilon <= 3


def refusing(cost: Callable[[float], float], *, above: float = math.inf, below: float = 0) -> Callable[[float], Loss]:
    def make(x: float) -> Loss:
        if not below <= x <= above:
            raise ParameterError("out of range")
        return pure(cost(x))

    return make


def test_an_answer_just_short_of_what_is_refused_is_found() -> None:
    assert solve(refusing(lambda n: 0.01 + n / 90 * 0.99, above=100), pure(1), integer=True) == 90
    assert solve(refusing(lambda n: n / 90, above=90), pure("0.999"), integer=True) == 89
    assert solve(refusing(lambda x: 0.25 / x, below=0.2), pure(1)) == pytest.approx(0.25, rel=2e-4)
    assert solve(refusing(lambda x: x / 77, above=80), pure(1)) == pytest.approx(77, rel=2e-4)
    with pytest.raises(ParameterError, match="every value from 1 to 90 fits"):
        solve(refusing(lambda n: n / 90, above=90), pure(2), integer=True)


@pytest.mark.parametrize("end", [10**400, -(10**400), "1", None])
@pytest.mark.parametrize("integer", [True, False])
def test_an_end_is_a_finite_number(end: object, integer: bool) -> None:
    with pytest.raises(ParameterError, match="finite"):
        solve(lambda x: x * pure(1), pure(1), low=end or 10**310, high=10**312, integer=integer)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("make", "budget", "options", "message"),
    [
        (gaussian, pure(1), {}, "no value from 1e-09 to 1e.09 fits the budget"),
        (gaussian, approx(1, 1e-6), {"high": 2}, "no value from 1e-09 to 2 fits"),
        (gaussian, approx(1, 1e-6), {"low": 9}, "every value from 9 to 1e.09 fits"),
        (lambda x: pure(0.5).sampled(x), pure(1), {}, "every value from 1e-09 to 1 fits"),
        (lambda n: n * pure(2), pure(1), {"integer": True}, "no value from 1 to 1e.12 fits"),
        (lambda _: pure(2), pure(1), {}, "no value from 1e-09 to 1e.09 fits"),
        (lambda _: pure(1), pure(1), {"low": 1, "high": 1}, "every value from 1 to 1 fits"),
        (lambda _: pure(-1), pure(1), {}, "epsilon must be greater than 0"),
        (pure, pure(1), {"low": 0}, "0 < low <= high"),
        (pure, pure(1), {"low": 2, "high": 1}, "0 < low <= high"),
        (pure, pure(1), {"low": float("nan")}, "low"),
        (lambda x: x * pure(1), pure(1), {"high": float("inf"), "integer": True}, "finite"),
        (lambda x: pure(0.5).sampled(x), pure(0.1), {"high": 3, "low": 2}, "rate must be between 0 and 1"),
    ],
)
def test_what_cannot_be_solved_says_so(make: object, budget: Loss, options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        solve(make, budget, **options)  # type: ignore[call-overload]
