"""The limits of probabilities are Clopper and Pearson's, and what they prove is never more than the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet as dp
from discreet.audit.black_box._claim import (
    _ORDERS,
    at_least,
    at_most,
    claim_of,
    epsilon_shown,
    mu_shown,
    rho_shown,
    rho_shown_by_cells,
)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.floats(1e-12, 0.5))
def test_limits_are_the_exact_ones(hits: int, trials: int, alarm: float) -> None:
    """Clopper and Pearson's limits are where what was seen, or more of it, has the probability `alarm`."""
    hits = min(hits, trials)
    low, high = float(at_least(hits, trials, alarm)), float(at_most(hits, trials, alarm))
    slack = 1 + 1e-9
    if hits:
        assert stats.binom.sf(hits - 1, trials, low * slack) == pytest.approx(alarm, rel=1e-5)
    if high < 1:
        assert stats.binom.cdf(hits, trials, high / slack) == pytest.approx(alarm, rel=1e-5)
    else:
        assert stats.binom.cdf(hits, trials, 1 / slack) >= alarm
    assert (low > 0, hits < trials or high == 1) == (hits > 0, True)


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("alarm", [0.3, 0.025, 1e-4])
def test_limits_fail_no_more_often_than_they_may(trials: int, alarm: float) -> None:
    """Summed over all outcomes, for probabilities across the interval and just beside each limit."""
    outcomes = np.arange(trials + 1)
    low, high = at_least(outcomes, trials, alarm), at_most(outcomes, trials, alarm)
    for p in [*np.linspace(0, 1, 101), *(low - 1e-12).clip(0), *(high + 1e-12).clip(0, 1)]:
        chance = stats.binom.pmf(outcomes, trials, p)
        assert chance[low > p].sum() <= alarm * (1 + 1e-9)
        assert chance[high < p].sum() <= alarm * (1 + 1e-9)


laws = st.lists(st.floats(1e-6, 1), min_size=2, max_size=6).map(lambda weights: np.array(weights) / np.sum(weights))


@given(laws, laws, st.integers(1, 62), st.floats(0, 0.5))
def test_no_event_shows_more_than_the_truth(one, other, chosen: int, delta: float) -> None:
    size = min(len(one), len(other))
    p_law, q_law = one[:size] / one[:size].sum(), other[:size] / other[:size].sum()
    members = np.array([chosen >> i & 1 for i in range(size)], dtype=bool)
    p, q = float(p_law[members].sum()), float(q_law[members].sum())
    epsilon = float(epsilon_shown(p, q, delta))
    worst = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p_law, q_law), (q_law, p_law)))
    assert epsilon == 0 or worst >= delta - 1e-9
    ratio = np.log(p_law / q_law)
    orders = np.union1d(1 + np.geomspace(1e-4, 1e4, 400), _ORDERS)
    divergences = [float(np.logaddexp.reduce(order * ratio + np.log(q_law)) / (order - 1) / order) for order in orders]
    assert float(rho_shown(p, q)) <= max(divergences) + 1e-6
    assert max(float(rho_shown(p, q)) - 1e-9, 0) <= rho_shown_by_cells(p_law, q_law) <= max(divergences) + 1e-6


@given(st.floats(0.01, 6), st.floats(-5, 5))
def test_gaussian_noise_shows_its_mu_at_every_threshold(mu: float, threshold: float) -> None:
    """Up to the 1e-9 by which limits are rounded outward, which matters where p is that close to 1."""
    p, q = stats.norm.sf(threshold - mu) * (1 - 1e-9), stats.norm.sf(threshold)
    assert float(mu_shown(p, q)) <= mu
    assert float(mu_shown(p, q)) == pytest.approx(mu, abs=1e-6) or p > 1 - 1e-3


CLAIMS = {
    "pure": dp.pure(1),
    "approx": dp.approx(1, 1e-3),
    "rho": dp.rho("0.5"),
    "rho and delta": dp.rho("0.5", "0.01"),
    "mu": dp.mu(1),
    "gaussian": dp.gaussian(1),
    "discrete": dp.discrete_gaussian(1),
    "laplace": 2 * dp.laplace(2),
    "sampled": dp.gaussian(1).sampled("0.5"),
    "response": dp.randomized_response("3/4", 3),
}
LEAKY = {
    "pure": (0.5, 0.18),
    "approx": (0.5, 0.183),
    "rho": (0.9, 0.2),
    "rho and delta": (0.9, 0.2),
    "mu": (0.51, 0.158),
    "gaussian": (0.51, 0.158),
    "discrete": (0.75, 0.3),
    "laplace": (0.75, 0.26),
    "sampled": (0.5, 0.3),
    "response": (0.75, 0.1249),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_refuted_beyond_its_curve_and_not_before(name: str) -> None:
    """Points that a mechanism within the claim reaches refute nothing; a point clearly below the curve does.

    The curve of a ρ lies below what any one mechanism of that ρ reaches, so Gaussian noise stands for those.
    """
    claim = claim_of(CLAIMS[name], None)
    reached = dp.gaussian(1) if name.startswith("rho") else CLAIMS[name]
    for alpha in (1e-3, 0.05, 0.2, 0.5, 0.9):
        least = reached.tradeoff(alpha)
        assert not claim.refuted_by(1 - least - 1e-6, alpha)
    assert claim.refuted_by(*LEAKY[name])


def test_where_epsilon_is_told() -> None:
    told = {name: claim_of(loss, None).delta for name, loss in CLAIMS.items()}
    assert {name for name, delta in told.items() if delta == 0} == {"pure", "laplace", "response"}
    assert told["approx"] == 1e-3
    assert told["rho and delta"] == pytest.approx(0.010001)
    assert told["rho"] == told["gaussian"] == told["sampled"] == 1e-6
    assert claim_of(dp.rho(1), "0.1").delta == 0.1
    for bad in (1, None, "pure(1)"):
        with pytest.raises(dp.ParameterError, match="a claim is a loss"):
            claim_of(bad, None)  # type: ignore[arg-type]
