"""Partition selection: the stated loss for every count, in exact arithmetic, and for whole sets of keys."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import PartitionSelection
from discreet.mechanisms.thresholds._partition_selection import _thresholds
from discreet.noise import exp_bounds
from discreet.privacy import ApproxLoss, RhoLoss, approx, pure, rho

CASES = [
    ("1", "1e-6", 1),
    ("0.1", "1e-5", 1),
    ("3", "0.2", 1),
    ("2", "1e-15", 7),
    ("0.01", "1e-9", 1),
    ("50", "0.5", 3),
]


def probabilities(choice: PartitionSelection) -> list[Fraction]:
    high, _ = _thresholds(choice.key_epsilon, choice.key_delta)
    return [choice.probability(n) for n in range(high.size + 2)]


@pytest.mark.parametrize(("epsilon", "delta", "keys"), CASES)
def test_every_step_is_within_the_loss_of_one_key_both_ways(epsilon, delta, keys) -> None:
    choice = PartitionSelection(epsilon, delta, keys)
    fall_low, fall_high = exp_bounds(choice.key_epsilon, 400)
    rise = Fraction(2**400, fall_high)  # a little less than e^ε, so passing is proof
    slack = choice.key_delta
    chances = probabilities(choice)
    assert chances[0] == 0
    assert chances[-1] == 1
    for a, b in pairwise(chances):
        assert a <= b <= 1
        for p, q in ((a, b), (b, a), (1 - a, 1 - b), (1 - b, 1 - a)):
            assert p <= rise * q + slack
    assert fall_low <= fall_high


@pytest.mark.parametrize(("epsilon", "delta", "keys"), CASES)
def test_no_step_could_keep_noticeably_more(epsilon, delta, keys) -> None:
    """Against the optimal recursion in real numbers (Desfontaines et al. 2022, Theorem 1)."""
    choice = PartitionSelection(epsilon, delta, keys)
    with mpmath.workprec(300):
        eps = mpmath.mpf(choice.key_epsilon.numerator) / choice.key_epsilon.denominator
        slack = mpmath.mpf(choice.key_delta.numerator) / choice.key_delta.denominator
        best = mpmath.mpf(0)
        for n, chance in enumerate(probabilities(choice)):
            exact = mpmath.mpf(chance.numerator) / chance.denominator
            assert exact <= best <= exact * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(2) ** -100, n
            best = min(mpmath.exp(eps) * best + slack, 1 - mpmath.exp(-eps) * (1 - best - slack), mpmath.mpf(1))


@pytest.mark.parametrize(("epsilon", "delta", "keys"), [("1.5", "0.05", 2), ("0.6", "0.3", 3), ("2", "0.01", 2)])
def test_loss_of_a_whole_release_by_enumeration(epsilon, delta, keys) -> None:
    """The exact hockey-stick divergence of the set of kept keys, at the stated ε, over small counts, both ways."""
    choice = PartitionSelection(epsilon, delta, keys)
    chances = [float(p) for p in probabilities(choice)]
    outcomes = list(product([False, True], repeat=keys))

    def law(counts: tuple[int, ...]) -> list[float]:
        return [
            float(np.prod([chances[n] if kept else 1 - chances[n] for n, kept in zip(counts, outcome, strict=True)]))
            for outcome in outcomes
        ]

    worst, reach = 0.0, min(len(chances) - 1, 6)
    for counts in product(range(reach), repeat=keys):
        p, q = law(counts), law(tuple(n + 1 for n in counts))
        for a, b in ((p, q), (q, p)):
            worst = max(worst, sum(max(x - np.exp(float(choice.epsilon)) * y, 0) for x, y in zip(a, b, strict=True)))
    assert worst <= float(choice.delta) * (1 + 1e-12)
    assert worst >= float(choice.delta) / 1.001  # attained at counts of 0


@pytest.mark.parametrize("keys", [1, 2, 7, 1000, 10**6])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.3", "0.999"])
def test_delta_of_one_key(delta, keys) -> None:
    choice = PartitionSelection(10 * keys, delta, keys)
    with mpmath.workprec(400):
        whole = mpmath.mpf(choice.delta.numerator) / choice.delta.denominator
        each = mpmath.mpf(choice.key_delta.numerator) / choice.key_delta.denominator
        most = 1 - (1 - whole) ** (mpmath.mpf(1) / keys)
        assert most * (1 - mpmath.mpf(2) ** -30) <= each <= most * (1 + mpmath.mpf(2) ** -350)


def test_concentrated_spend() -> None:
    choice = PartitionSelection.calibrate(rho("0.3", "1e-6"), keys=5)
    assert choice.keys * choice.key_epsilon**2 / 2 <= Fraction("0.3")
    assert choice.keys * choice.key_epsilon**2 / 2 >= Fraction("0.3") * (1 - Fraction(1, 2**38))
    loss = choice.loss()
    assert loss == RhoLoss(5 * choice.key_epsilon**2 / 2, Fraction(1, 10**6))
    assert loss.fits(rho("0.3", "1e-6"))


def test_approximate_spend() -> None:
    choice = PartitionSelection.calibrate(approx(1, 1e-6), keys=4)
    assert choice.loss() == ApproxLoss(Fraction(1), Fraction(1, 10**6))
    assert choice.key_epsilon == Fraction(1, 4)


@pytest.mark.parametrize("spend", [pure(1), approx(1, 0), rho(1)])
def test_a_spend_without_delta_is_refused(spend) -> None:
    with pytest.raises(ParameterError, match="needs a delta"):
        PartitionSelection.calibrate(spend, keys=1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys"),
    [(0, 0.1, 1), (-1, 0.1, 1), (1, 0, 1), (1, 1, 1), (1, -0.1, 1), (1, 1e-40, 1), (1, 0.1, 0), (1, 0.1, True),
     (1, 0.1, 1.0), (1e-9, 1e-15, 1), (1, 1e-6, 10**6)],
)  # fmt: skip
def test_bad_parameters_are_refused(epsilon, delta, keys) -> None:
    with pytest.raises(ParameterError):
        PartitionSelection(epsilon, delta, keys)


def test_small_parameters_are_quick() -> None:
    choice = PartitionSelection("1e-4", "1e-15")
    assert choice.probability(10**6) == 1
    assert 0 < choice.probability(1) <= Fraction(1, 10**15)


def test_release() -> None:
    choice = PartitionSelection(1, 1e-6)
    size = len(probabilities(choice))
    kept = choice.release(np.array([[0, size], [size + 5, 0]]))
    assert kept.tolist() == [[False, True], [True, False]]
    assert kept.dtype == bool
    assert choice.release([]).shape == (0,)
    assert choice.release(np.array([2**63], dtype=np.uint64)).tolist() == [True]
    for bad in ([1.0], [-1], ["a"], [True]):
        with pytest.raises(ParameterError, match="counts"):
            choice.release(bad)


@pytest.mark.parametrize("units", [1, 2, 3, 5])
def test_frequencies(units: int) -> None:
    """Off by 7 standard deviations with probability below 1e-11."""
    choice = PartitionSelection("0.5", "0.1")
    p, draws = float(choice.probability(units)), 200_000
    kept = int(choice.release(np.full(draws, units)).sum())
    assert abs(kept - draws * p) <= 7 * np.sqrt(draws * p * (1 - p)) + 1


@pytest.mark.parametrize("units", [-1, 1.0, True])
def test_bad_units_are_refused(units) -> None:
    with pytest.raises(ParameterError, match="units"):
        PartitionSelection(1, 0.1).probability(units)
