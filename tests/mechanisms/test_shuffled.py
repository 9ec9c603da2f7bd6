"""Shuffling as it is run: the exact law of the shuffled reports, over all draws, against the claimed loss."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import RandomizedResponse, Shuffled
from discreet.privacy import approx, mu, pure, rho

ALARM = 1e-12


def law_of_releases(monkeypatch, crowd: Shuffled, values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """`release` is run on every outcome of its coins, other categories and orders, which are equally likely."""
    p, k, n = crowd.randomizer.p, crowd.randomizer.k, crowd.n
    found: dict[tuple[int, ...], Fraction] = {}
    for honest, other, order in product(
        product([False, True], repeat=n), product(range(k - 1), repeat=n), permutations(range(n))
    ):
        monkeypatch.setattr(
            "discreet.mechanisms.randomizers._randomized_response.bernoulli", lambda _, size, x=honest: np.array(x)
        )
        monkeypatch.setattr(
            "discreet.mechanisms.randomizers._randomized_response.uniform_below", lambda _, size, x=other: np.array(x)
        )
        monkeypatch.setattr("discreet.mechanisms.randomizers._shuffled.permutation", lambda size, x=order: np.array(x))
        weight = p ** sum(honest) * (1 - p) ** (n - sum(honest)) / (Fraction(k - 1) ** n * math.factorial(n))
        seen = tuple(crowd.release(np.array(values)).tolist())
        found[seen] = found.get(seen, Fraction(0)) + weight
    assert sum(found.values()) == 1
    return found


def law_of_counts(crowd: Shuffled, values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """How often each category is reported: a convolution over people."""
    p, lie, k = crowd.randomizer.p, crowd.randomizer.lie, crowd.randomizer.k
    law = {(0,) * k: Fraction(1)}
    for value in values:
        grown: dict[tuple[int, ...], Fraction] = {}
        for counts, chance in law.items():
            for report in range(k):
                key = tuple(c + (j == report) for j, c in enumerate(counts))
                grown[key] = grown.get(key, Fraction(0)) + chance * (p if report == value else lie)
        law = grown
    return law


def delta_of(p, q, epsilon: float) -> float:
    grown = Fraction(math.exp(epsilon))
    return float(sum(max(p.get(o, 0) - grown * q.get(o, 0), 0) for o in p.keys() | q.keys()))


@pytest.mark.parametrize(("n", "k"), [(1, 2), (2, 2), (3, 2), (2, 3)])
def test_only_the_counts_of_reports_tell(n, k, monkeypatch) -> None:
    """Every sequence with the same counts is equally likely: the order is uniform, whoever holds what."""
    crowd = Shuffled(RandomizedResponse("3/4", k), n)
    for values in ((0,) * n, (1,) + (0,) * (n - 1), (0,) * (n - 1) + (k - 1,)):
        law, counted = law_of_releases(monkeypatch, crowd, values), law_of_counts(crowd, values)
        for seen, chance in law.items():
            counts = tuple(seen.count(j) for j in range(k))
            orders = math.factorial(n) // math.prod(map(math.factorial, counts))
            assert chance == counted[counts] / orders


@pytest.mark.parametrize(("p", "k", "most"), [("3/4", 2, 1.16), ("9/10", 2, 1.06), ("1/5", 2, 1.14), ("3/4", 3, 2.01)])
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_claimed_loss_covers_the_law_of_shuffled_reports(p, k, most, n) -> None:
    """All data of the others, both directions; how far the claim is above the worst of them, too."""
    crowd = Shuffled(RandomizedResponse(p, k), n)
    loss = crowd.loss()
    for epsilon in (0.1, 0.5, 1.0):
        worst = 0.0
        for others in combinations_with_replacement(range(k), n - 1):
            laws = [law_of_counts(crowd, (mine, *others)) for mine in range(k)]
            worst = max(worst, *(delta_of(a, b, epsilon) for a in laws for b in laws))
        claimed = loss.delta(epsilon)
        assert worst <= claimed * (1 + 1e-12)
        assert claimed <= most * worst + 1e-15
    assert loss.relation == "substitute"


def test_released_reports() -> None:
    crowd = Shuffled(RandomizedResponse(1 - Fraction(1, 10**40), 4), 1000)
    values = np.arange(1000) % 4
    reports = crowd.release(values)
    assert Counter(reports.tolist()) == Counter(values.tolist())
    assert reports.tolist() != values.tolist()
    assert Counter(crowd.shuffle(reports).tolist()) == Counter(values.tolist())
    assert crowd.estimate(reports).proportions == pytest.approx([0.25] * 4)
    assert crowd.error() == crowd.randomizer.error(reports=1000)


def test_where_a_report_goes() -> None:
    """Fails by chance with probability 1e-12 or so: the place of the first of 6 reports is uniform."""
    crowd = Shuffled(RandomizedResponse("0.75"), 6)
    places = [int(np.flatnonzero(crowd.shuffle([1, 0, 0, 0, 0, 0]))[0]) for _ in range(20_000)]
    assert stats.chisquare(np.bincount(places, minlength=6)).pvalue > ALARM


@pytest.mark.parametrize("values", [[], [0, 1], [0, 1, 0, 1], [[0, 1, 0]], 1], ids=str)
def test_another_number_of_reports_is_refused_before_anything_is_drawn(values, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.randomizers._randomized_response.bernoulli", None)
    monkeypatch.setattr("discreet.mechanisms.randomizers._shuffled.permutation", None)
    crowd = Shuffled(RandomizedResponse("0.75"), 3)
    for give in (crowd.release, crowd.shuffle):
        with pytest.raises(ParameterError, match="must be n = 3"):
            give(values)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, None, "3"], ids=str)
def test_bad_numbers_of_people_are_refused(n) -> None:
    with pytest.raises(ParameterError, match="n must"):
        Shuffled(RandomizedResponse("0.75"), n)


def test_other_randomizers_are_refused() -> None:
    with pytest.raises(ParameterError, match="RandomizedResponse"):
        Shuffled(pure(1), 3)
    with pytest.raises(ParameterError, match="from 0 to k"):
        Shuffled(RandomizedResponse("0.75"), 3).release([0, 1, 2])


@pytest.mark.parametrize(("n", "k"), [(1, 2), (100, 2), (10_000, 5), (10**7, 2)])
def test_calibration_is_within_the_spend_and_uses_it(n, k) -> None:
    spend = approx("0.5", 1e-6)
    crowd = Shuffled.calibrate(spend, n=n, k=k)
    assert crowd.loss().fits(spend)
    stronger = RandomizedResponse.from_epsilon(crowd.randomizer.loss().epsilon() * 1.001, k)
    assert not Shuffled(stronger, n).loss().fits(spend)
    assert crowd.randomizer.p >= RandomizedResponse.calibrate(spend, k=k).p * (1 - Fraction(1, 1000))


@pytest.mark.parametrize("spend", [pure("0.5"), rho("0.125"), mu("0.5")], ids=str)
def test_spends_without_a_delta_are_not_amplified(spend) -> None:
    assert Shuffled.calibrate(spend, n=1000).randomizer == RandomizedResponse.calibrate(spend)
