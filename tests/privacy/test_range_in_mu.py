"""Bounded range in μ against the worst pairs: two outcomes with the losses t and t − ε. See proofs/exponential.md."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy.special import expit, logit, ndtri

from discreet.mechanisms import Exponential, Quantiles, ReportNoisyMax, TopK
from discreet.privacy import as_mu, bounded_range, mu, nonadaptive, pure

EPSILONS = ["1e-6", "1e-3", "0.1", "0.5", "1", "2", "5", "12"]


def charged(epsilon: str) -> float:
    pair = as_mu(bounded_range(epsilon))
    assert pair is not None
    return math.sqrt(pair[0])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_pair_of_outcomes_needs_more(epsilon: str) -> None:
    """A pair (a, p) has logit p = logit a + ε; by the symmetry of the normal law logits up to 0 are enough."""
    most = charged(epsilon)
    for place in range(-3000, 3001):
        share = float(expit(place / 100))
        needed = ndtri(expit(logit(share) + float(epsilon))) - ndtri(share)
        if math.isfinite(needed):
            assert needed <= most * (1 + 1e-9) + 1e-12, (place, needed, most)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_middle_pair_needs_all_of_it(epsilon: str) -> None:
    half = float(epsilon) / 2
    assert charged(epsilon) == pytest.approx(2 * ndtri(expit(half)), rel=1e-6 if half > 1e-3 else 1e-3)


def test_what_was_fixed_in_advance_costs_no_more_than_what_was_not() -> None:
    assert as_mu(nonadaptive(bounded_range("0.3"), 7)) == as_mu(7 * bounded_range("0.3"))


def test_half_of_it_is_charged_as_pure_epsilon() -> None:
    assert as_mu(bounded_range("0.6")) == as_mu(pure("0.3"))


QUARTILES = ["1/4", "1/2", "3/4"]


@pytest.mark.parametrize("spend", ["0.01", "0.3", "1", "2.5", "20"])
def test_calibrated_picks_use_the_range(spend: str) -> None:
    allowed, budget = Fraction(spend) ** 2, mu(spend)
    for made in (
        Exponential.calibrate(budget, 1),
        ReportNoisyMax.calibrate(budget, 1, noise="gumbel"),
        TopK.calibrate(budget, 1, k=5),
        Quantiles.calibrate(budget, probabilities=QUARTILES, bounds=(0, 9), step=1, method="recursive"),
        Quantiles.calibrate(budget, probabilities=QUARTILES, bounds=(0, 9), step=1, method="joint"),
        Quantiles.calibrate(budget, probabilities=QUARTILES[:2], bounds=(0, 9), step=1, method="joint"),
    ):
        pair = as_mu(made.loss())
        assert pair is not None
        assert 0.999 * allowed <= pair[0] <= allowed, made
