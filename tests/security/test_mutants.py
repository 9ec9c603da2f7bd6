"""Recipes that are wrong, with what they really cost: the enumerations that hold ours to their claims catch these.

Others stand beside the mechanism that they imitate: broken sparse vectors in `mechanisms/test_above_threshold.py`, the
published propose-test-release in `mechanisms/test_propose_test_release.py`, the published β of smooth sensitivity in
`mechanisms/test_smooth_sensitivity.py`, false monotone claims in `mechanisms/test_exponential.py`, a discrete Gaussian
charged as a continuous one in `privacy/test_closed_forms.py`, floating-point noise in `test_off_grid.py`, sums of
floats in `test_row_order.py`, counting samplers in `test_timing.py`, and too little noise in `test_calibration.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import mpmath
import pytest

from discreet.mechanisms import DiscreteLaplace, PartitionSelection, RandomizedResponse, SampleAndAggregate
from discreet.mechanisms.numeric._chunks import assignment, draws
from discreet.privacy import gaussian, pure
from discreet.sensitivity import local

Distribution = Mapping[int, float]


def cost(one: Distribution, other: Distribution) -> float:
    """The ε of two laws: the largest log-ratio of any outcome, either way."""
    worst = 0.0
    for outcome in one.keys() | other.keys():
        p, q = one.get(outcome, 0.0), other.get(outcome, 0.0)
        if p or q:
            worst = max(worst, abs(math.log(p / q)) if p and q else math.inf)
    return worst


def laplace(center: int, scale: float, low: int, high: int) -> dict[int, float]:
    """Discrete Laplace noise, conditioned to fall between `low` and `high`."""
    weights = {k: math.exp(-abs(k - center) / scale) for k in range(low, high + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize(("epsilon", "top", "true"), [(1.0, 2, 1.1438), (1.0, 20, 1.2090), (0.1, 200, 0.1826)])
def test_noise_redrawn_until_it_is_within_bounds(epsilon: float, top: int, true: float) -> None:
    """The factor that makes up for the cut depends on the answer: 1.21 for a claimed 1, and towards twice the claim.
    Clamping afterwards costs nothing."""
    costs = [cost(laplace(x, 1 / epsilon, 0, top), laplace(x + 1, 1 / epsilon, 0, top)) for x in range(top)]
    assert max(costs) == pytest.approx(true, abs=1e-4)
    assert max(costs) > epsilon * 1.1

    def clamped(center: int) -> dict[int, float]:
        law = laplace(center, 1 / epsilon, -600, 600 + top)
        inside = {k: p for k, p in law.items() if 0 < k < top}
        ends = {
            0: math.fsum(p for k, p in law.items() if k <= 0),
            top: math.fsum(p for k, p in law.items() if k >= top),
        }
        return inside | ends

    assert max(cost(clamped(x), clamped(x + 1)) for x in range(top)) <= epsilon * (1 + 1e-9)


def test_noise_cut_before_it_is_added() -> None:
    """A bounded noise has a support that moves with the answer."""
    assert cost(laplace(0, 1.0, -20, 20), {k + 1: p for k, p in laplace(0, 1.0, -20, 20).items()}) == math.inf


def test_one_sided_noise() -> None:
    law = {k: math.exp(-k) * (1 - math.exp(-1)) for k in range(40)}
    assert cost(law, {k + 1: p for k, p in law.items()}) == math.inf


def test_noise_scaled_to_local_sensitivity() -> None:
    """Neighbours with the same median, of which one is moved by none of its own neighbours: no noise, and noise."""
    calm, tense = (local("median", x, bounds=(0, 1)) for x in ([0.5, 0.5], [0.5]))
    assert calm == 0 < tense
    assert cost({50: 1.0}, laplace(50, 100 * tense, -500, 500)) == math.inf


def textbook(epsilon: float, delta: float, constant: float) -> float:
    return math.sqrt(2 * math.log(constant / delta)) / epsilon


@pytest.mark.parametrize(
    ("constant", "delta", "fails_from"), [(1, 1e-5, 7.97), (1.25, 1e-5, 8.42), (1, 1e-2, 6.25), (1.25, 1e-2, 6.77)]
)
def test_textbook_gaussian_noise_at_large_epsilon(constant: float, delta: float, fails_from: float) -> None:
    """√(2 ln(c/δ))/ε is proved for ε < 1, too much noise there, and too little from `fails_from` on."""

    def spent(epsilon: float) -> mpmath.mpf:
        with mpmath.workdps(40):
            mu = 1 / mpmath.mpf(textbook(epsilon, delta, constant))
            return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)

    assert spent(fails_from - 0.01) <= delta < spent(fails_from + 0.01)
    assert gaussian(textbook(12, delta, constant)).delta(12) > delta


def test_chunks_of_rounded_up_size() -> None:
    """Adult has 32,561 rows: 6,000 chunks of ⌈n/k⌉ = 6 rows are 5,427, and an answer weighs 1.106 of the claim."""
    rows, chunks = 32_561, 6_000
    made = math.ceil(rows / math.ceil(rows / chunks))
    assert made == 5_427
    assert Fraction(chunks, made) == pytest.approx(1.106, abs=1e-3)
    assert len(assignment([*range(rows)], chunks, draws(rows, rows))) == chunks  # type: ignore[arg-type]
    ours = SampleAndAggregate(math.fsum, chunks=chunks, bounds=(0, 1), spend=pure(1))
    assert ours._noise.loss(2**30).epsilon() == ours.loss().epsilon() == 1


def test_chunks_by_position() -> None:
    """Without its first row every later chunk shifts: all answers move where one may."""

    def answers(x: list[float], size: int = 4) -> list[float]:
        return [x[i] for i in range(0, len(x), size)]

    x = [float(i % 4 == 0) for i in range(40)]
    moved = sum(a != b for a, b in zip(answers(x), answers([*x[1:], 0.0]), strict=True))
    assert moved == 10


def test_a_delta_for_each_key() -> None:
    """κ keys that spend δ each: a person alone in them shows up with 1 − (1 − δ)^κ."""
    keys, delta = 10, Fraction(1, 1000)
    wrong = 1 - (1 - PartitionSelection(1, delta, 1).probability(1)) ** keys
    right = 1 - (1 - PartitionSelection(1, delta, keys).probability(1)) ** keys
    assert wrong > 9 * delta
    assert delta * (1 - Fraction(1, 10**9)) <= right <= delta


def test_the_sign_of_a_randomized_response() -> None:
    """ln(p/(1 − p)) is below 0 for p = 0.2, and no loss is."""
    assert math.log(0.2 / 0.8) == pytest.approx(-1.386, abs=1e-3)
    assert RandomizedResponse("0.2").loss().epsilon() == pytest.approx(1.386, abs=1e-3)


def test_a_substitution_charged_as_a_removal() -> None:
    """A person who moves from one group to another is two steps: noise for one costs twice the claim."""
    mechanism = DiscreteLaplace.calibrate(pure(1), 1)
    assert mechanism.loss(2).epsilon() == 2
