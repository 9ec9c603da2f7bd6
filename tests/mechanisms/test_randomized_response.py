"""Randomized response: its exact law, its estimates enumerated over all counts of reports."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import RandomizedResponse
from discreet.privacy import approx, as_pure, fits, pure, rho

ALARM = 1e-12


@pytest.mark.parametrize("p", ["0.2", "0.75", "0.999", "1/3"])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_stated_epsilon_is_the_worst_log_ratio(p, k) -> None:
    if Fraction(p) * k == 1:
        return
    mechanism = RandomizedResponse(p, k)
    law = [[mechanism.p if report == truth else mechanism.lie for report in range(k)] for truth in range(k)]
    assert all(sum(row) == 1 for row in law)
    worst = max(abs(math.log(a / b)) for one in law for other in law for a, b in zip(one, other, strict=True))
    epsilon = as_pure(mechanism.loss())
    assert epsilon is not None
    assert float(epsilon) == pytest.approx(worst, rel=1e-12)
    assert epsilon >= worst * (1 - 1e-14)


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-9", "0.1", "1", "5", "50", "200"])
@pytest.mark.parametrize("k", [2, 3, 1000, 2**40])
def test_from_epsilon_is_just_below(epsilon, k) -> None:
    mechanism = RandomizedResponse.from_epsilon(epsilon, k)
    with mpmath.workprec(4000):
        p = mpmath.mpf(mechanism.p.numerator) / mechanism.p.denominator
        stated, true = mpmath.mpf(epsilon), mpmath.log(p * (k - 1) / (1 - p))
        assert stated * (1 - mpmath.mpf(10) ** -13) <= true <= stated
    assert fits(mechanism.loss(), pure(epsilon))


@pytest.mark.parametrize("spend", [pure("0.25"), approx("0.25", 1e-6), rho("0.03125")])
def test_calibration(spend) -> None:
    mechanism = RandomizedResponse.calibrate(spend, k=5)
    assert fits(mechanism.loss(), spend)
    assert mechanism == RandomizedResponse.from_epsilon("0.25", 5)


def test_released_reports() -> None:
    mechanism = RandomizedResponse(1 - Fraction(1, 10**40), 4)
    reports = mechanism.release(np.array([[0, 1], [2, 3]], dtype=np.uint8))
    assert reports.tolist() == [[0, 1], [2, 3]]
    assert reports.dtype == np.int64
    assert RandomizedResponse(1 - Fraction(1, 10**40)).release([True, False]).tolist() == [1, 0]
    assert RandomizedResponse("1e-40").release([1, 0]).tolist() == [0, 1]
    assert RandomizedResponse("0.3").release([]).shape == (0,)
    assert RandomizedResponse("0.3").release(1).shape == ()
    assert RandomizedResponse(0.5, 10**15).release([10**15 - 1]).shape == (1,)


@pytest.mark.parametrize("truth", [0, 2, 3])
def test_frequencies_of_reports(truth) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 20,000 or more expected per category)."""
    mechanism, draws = RandomizedResponse("0.6", 4), 200_000
    counts = np.bincount(mechanism.release(np.full(draws, truth)), minlength=4)
    expected = np.full(4, float(mechanism.lie))
    expected[truth] = 0.6
    assert stats.chisquare(counts, expected * draws).pvalue > ALARM


@pytest.mark.parametrize("values", [[2], [-1], [0.0], ["a"], [None], np.array([2**63], dtype=np.uint64)])
def test_values_outside_the_categories_are_refused_before_anything_is_drawn(values, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.randomizers._randomized_response.bernoulli", None)
    with pytest.raises(ParameterError, match="values must be"):
        RandomizedResponse("0.3").release(values)


@pytest.mark.parametrize(
    ("p", "k"),
    [("0.5", 2), ("1/3", 3), (0, 2), (1, 2), (-0.1, 2), (math.nan, 2), (0.3, 1), (0.3, 2.0), (0.3, True), (0.3, 2**63)],
)
def test_bad_parameters_are_refused(p, k) -> None:
    with pytest.raises(ParameterError):
        RandomizedResponse(p, k)


@pytest.mark.parametrize(("epsilon", "k"), [(0, 2), (-1, 2), (1001, 2), (math.inf, 2), (1, 1), (1, 2.0)])
def test_bad_epsilons_are_refused(epsilon, k) -> None:
    with pytest.raises(ParameterError):
        RandomizedResponse.from_epsilon(epsilon, k)


@pytest.mark.parametrize("p", ["0.2", "0.75", "0.9"])
@pytest.mark.parametrize("share", ["0", "0.1", "0.5", "1"])
def test_estimate_of_two_categories_over_all_counts(p, share) -> None:
    """Its mean is π, its variance Warner's, and its interval holds π at the level, exactly summed over n₁."""
    mechanism, n, pi = RandomizedResponse(p), 30, float(Fraction(share))
    truth = float(mechanism.p)
    chance = stats.binom.pmf(np.arange(n + 1), n, pi * truth + (1 - pi) * (1 - truth))
    found = [mechanism.estimate([1] * ones + [0] * (n - ones), level="0.9") for ones in range(n + 1)]
    estimates = np.array([each.proportions[1] for each in found])
    warner = [(truth - 1) / (2 * truth - 1) + ones / ((2 * truth - 1) * n) for ones in range(n + 1)]
    assert estimates == pytest.approx(warner, abs=1e-12)
    mean = float(chance @ estimates)
    variance = pi * (1 - pi) / n + truth * (1 - truth) / (n * (2 * truth - 1) ** 2)
    assert mean == pytest.approx(pi, abs=1e-12)
    assert float(chance @ (estimates - mean) ** 2) == pytest.approx(variance, rel=1e-9)
    stated = float(chance @ np.array([each.variance[1] for each in found]))
    assert stated == pytest.approx(variance * (n - 1) / n, rel=1e-9)
    held = np.array([each.interval[0][1] - 1e-12 <= pi <= each.interval[1][1] + 1e-12 for each in found])
    assert float(chance @ held) >= 0.9
    reach = mechanism.error("0.9", reports=n)
    assert float(chance @ (np.abs(estimates - pi) <= reach)) >= 0.9


def test_estimate_of_many_categories() -> None:
    mechanism = RandomizedResponse("0.6", 4)
    truth = np.array([0.5, 0.25, 0.25, 0.0])
    shares = float(mechanism.lie) + (0.6 - float(mechanism.lie)) * truth
    reports = np.repeat(np.arange(4), (shares * 6000).round().astype(int))
    found = mechanism.estimate(reports)
    assert found.reports == 6000
    assert found.level == 0.95
    assert found.proportions == pytest.approx(truth, abs=1e-3)
    assert found.proportions.sum() == pytest.approx(1)
    assert found.variance == pytest.approx(shares * (1 - shares) / 6000 / (0.6 - 0.4 / 3) ** 2, rel=1e-3)
    low, high = found.interval
    assert ((low >= 0) & (low <= truth) & (truth <= high) & (high <= 1)).all()
    inverted = RandomizedResponse("0.05", 4).estimate(reports)
    assert (inverted.interval[0] <= inverted.interval[1]).all()


def test_extreme_reports() -> None:
    found = RandomizedResponse("0.75").estimate([1] * 50)
    assert found.proportions.tolist() == [-0.5, 1.5]
    assert found.interval[1].tolist() == [0.0, 1.0] or found.interval[1][1] == 1
    assert (found.interval[0] <= found.interval[1]).all()
    one = RandomizedResponse("0.75").estimate([True])
    assert one.interval[0][1] >= 0


def test_bad_reports_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least one report"):
        RandomizedResponse("0.3").estimate([])
    with pytest.raises(ParameterError, match="reports must be"):
        RandomizedResponse("0.3").estimate([2])
    with pytest.raises(ParameterError, match="level"):
        RandomizedResponse("0.3").estimate([1], level=1)
    with pytest.raises(ParameterError, match=r"2\*\*24"):
        RandomizedResponse("0.3", 2**25).estimate([1])
    with pytest.raises(ParameterError, match="reports"):
        RandomizedResponse("0.3").error(reports=0)
