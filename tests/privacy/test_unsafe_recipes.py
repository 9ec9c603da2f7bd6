"""Numbers that well-known accountants have claimed below the truth, or as infinite: ours bracket the truth."""

from __future__ import annotations

import math

import mpmath
import pytest

from discreet.privacy import discrete_laplace, gaussian
from discreet.privacy.accounting._comparison import compare


def test_ten_thousand_discrete_laplaces_far_in_the_tail() -> None:
    """Round-off that is not charged makes δ 17.7 times too small here."""
    loss = 10_000 * discrete_laplace(100)
    low, high = loss.bounds(delta=1e-14)
    with mpmath.workdps(60):
        step = mpmath.mpf(1) / 100
        likely = 1 / (1 + mpmath.exp(-step))

        def delta(epsilon: float) -> mpmath.mpf:
            losses = ((k, (2 * k - 10_000) * step) for k in range(10_001))
            return mpmath.fsum(
                mpmath.binomial(10_000, k) * likely**k * (1 - likely) ** (10_000 - k) * (1 - mpmath.exp(epsilon - each))
                for k, each in losses
                if each > epsilon
            )

        assert delta(high) <= 1e-14 <= delta(low) * (1 + mpmath.mpf(10) ** -9)
    assert high - low < 1e-6 * high
    assert loss.delta(low * (1 - 1e-6)) >= 1e-14


def test_a_long_sampled_run_at_a_small_delta() -> None:
    """The truth lies in [4.03461, 4.03501]; 4.03343 has been claimed."""
    loss = 100_000 * gaussian(5).sampled("0.01")
    low, high = loss.bounds(delta="1e-10", gap=2e-4)
    assert low <= 4.03501
    assert 4.03461 <= high <= loss.epsilon("1e-10") * (1 + 4e-4)
    assert loss.epsilon("1e-10") >= 4.03461


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("delta", [1e-15, 1e-16, 1e-20, 1e-30, 1e-100])
def test_a_small_delta_is_no_reason_for_infinity(delta: float) -> None:
    loss = 100 * discrete_laplace(10)
    low, high = loss.bounds(delta=delta)
    assert 0 < low <= high <= 10.0
    run = 1_000 * gaussian(1).sampled("0.01")
    low, high = run.bounds(delta=delta)
    assert 4.85 < low <= high < math.inf
    assert high <= low * (1 + 2e-3)
    assert low <= run.epsilon(delta) <= high * (1 + 1e-5)


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta", "claimed"),
    [("0.01", 1, 1_000, 1e-5, 1.618), ("0.01", 1, 10_000, 1e-5, 6.007), ("0.1", 5, 10_000, 1e-6, 11.131)],
)
def test_the_gaussian_limit_is_below_the_truth_and_said_to_be_no_bound(
    rate: str, noise: int, steps: int, delta: float, claimed: float
) -> None:
    loss = steps * gaussian(noise).sampled(rate)
    limit = next(each for each in compare(loss, delta) if each.name == "Gaussian limit")
    low, _ = loss.bounds(delta=delta)
    assert limit.epsilon == pytest.approx(claimed, abs=2e-3)
    assert limit.epsilon < low
    assert not limit.bound
