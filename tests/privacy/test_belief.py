"""Posteriors by brute force over priors and outputs."""

from __future__ import annotations

import math

import mpmath
import pytest

from discreet.privacy import approx, gaussian, laplace, mu, pure, rho


def test_a_correlated_prior_reaches_almost_e_to_two_epsilon():
    # THEORY section 1: a feasible epsilon = 1 mechanism moves a correlated prior by 7.34 where e^2 = 7.39.
    low, high = pure(1).posterior("0.001")
    assert 7.34 <= high / 0.001 <= math.exp(2)
    assert math.exp(-2) <= low / 0.001 <= 1 / 7.3


@pytest.mark.parametrize("prior", ["0.001", "0.3", "0.9"])
def test_an_independent_record_by_brute_force(prior):
    p, a = float(prior), math.e
    found = [p * x / (p * x + (1 - p) * y) for x, y in ((a, 1.0), (1.0, a))]
    low, high = pure(1).posterior(prior, independent=True)
    assert low <= min(found) * (1 + 1e-12) and max(found) <= high * (1 + 1e-12)
    assert (low, high) == pytest.approx((min(found), max(found)), rel=1e-9)


def test_the_ends_stay_put():
    for prior in (0, 1):
        assert pure(1).posterior(prior) == (prior, prior)
        assert gaussian(1).posterior(prior, delta="1e-6", independent=True) == (prior, prior)


def test_an_event_is_the_tail_of_the_loss():
    # The odds move by e^L, and L ~ N(1/2, 1): the bound covers the exact two-sided tail and is not far above it.
    low, high = mu(1).posterior("0.5", delta="1e-6", independent=True)
    eps = math.log(high / (1 - high))
    tail = mpmath.ncdf(0.5 - eps) + mpmath.ncdf(-0.5 - eps)
    assert tail <= 1e-6
    assert eps <= 5.9
    assert eps > mu(1).epsilon("1e-6")  # delta is not that probability
    assert low == pytest.approx(1 - high, rel=1e-6)


def test_pure_losses_never_do_worse_with_an_event():
    always = laplace(1).posterior("0.1")
    mostly = laplace(1).posterior("0.1", delta="1e-3")
    assert mostly[1] <= 0.1 * math.exp(2) * (1 + 1e-9)
    assert always[1] <= 0.1 * math.exp(2)


def test_add_remove_counts_twice_for_an_independent_record():
    step = gaussian(2).sampled("0.1")
    one = step.posterior("0.1", delta="1e-3", independent=True)
    assert one == step.under("substitute").posterior("0.1", delta="1e-3", independent=True)
    assert pure(1).sampled("0.5").posterior("0.1", independent=True) == pure(1).sampled("0.5").posterior("0.1")


def test_people_at_risk():
    assert approx(1, "1e-6").at_risk(10_000) == 0.01
    assert (3 * approx(1, "1e-6") + rho(1, "1e-6")).at_risk(1_000_000) == 4.0
    assert pure(1).at_risk(10**9) == 0 == gaussian(1).at_risk(5)
