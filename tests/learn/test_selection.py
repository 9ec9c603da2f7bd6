"""The best of a random number of tries: how many there are, and bounds of its loss beside laws that are worked out."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, norm

import discreet as dp
from discreet.errors import LedgerError, ParameterError
from discreet.learn.selection import (
    Tries,
    delta_of_best,
    epsilon_of_best,
    loss_of_best,
    plan_search,
    prices_of_try,
)
from discreet.prices import price_as_loss
from discreet.privacy import currency

GEOMETRIC = Tries(Fraction(1), Fraction(1, 16), 64)
LAWS = [
    GEOMETRIC,
    Tries(Fraction(1), Fraction(1, 64), 256),
    Tries(Fraction(0), Fraction(1, 50), 64),
    Tries(Fraction(1, 2), Fraction(1, 5), 3),
    Tries(Fraction(0), Fraction(1, 2), 1),
]
LONG = pytest.param(Tries(Fraction(-1, 2), Fraction(1, 400), 1024), marks=pytest.mark.soak)


def best_of(law: Tries, chances: np.ndarray) -> np.ndarray:
    """The law of the best of the tries, each with these chances of results from the worst to the best."""
    weights = np.array(law.weights, float) / sum(law.weights)
    upto = np.concatenate([[0.0], np.cumsum(chances)])
    return np.diff(np.polynomial.polynomial.polyval(upto, np.concatenate([[0.0], weights])))


def neighbours(dice: np.random.Generator, epsilon: float, results: int) -> tuple[np.ndarray, np.ndarray]:
    """Two laws on so many results, whose ratio is nearly e^±ε at each."""
    while True:
        one = dice.dirichlet(np.full(results, dice.choice([0.05, 0.3, 1.0]))) + 1e-6
        sign = dice.choice([-1.0, 1.0], results)
        one /= one.sum()
        other = one * np.exp(sign * epsilon)
        up = sign > 0
        # What is up grows by e^ε, what is down shrinks by some factor between e^-ε and 1, so that all is 1 again.
        factor = (1 - other[up].sum()) / one[~up].sum() if (~up).any() else -1.0
        if math.exp(-epsilon) <= factor <= 1:
            return one, np.where(up, other, one * factor)


@pytest.mark.parametrize("law", [*LAWS, LONG])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_no_pair_loses_more_than_the_pure_bound(law: Tries, epsilon: float) -> None:
    dice = np.random.default_rng(len(law.weights))
    bound = float(epsilon_of_best(law, Fraction(epsilon)))
    for _ in range(100):
        one, other = neighbours(dice, epsilon, int(dice.integers(2, 8)))
        ratios = np.log(best_of(law, one) / best_of(law, other))
        assert np.abs(ratios).max() <= bound * (1 + 1e-7)


def test_the_pure_bound_is_met_nearly() -> None:
    """On top what the other table likes better, about as likely as that nothing beats it; below it what this does."""
    law, epsilon = LAWS[1], 0.5
    losses = []
    for top in np.geomspace(1e-4, 0.3, 60):
        other = np.array([1 - top * math.exp(epsilon) - 1e-9, 1e-9, top * math.exp(epsilon)])
        one = np.array([1 - top - 1e-9 * math.exp(epsilon), 1e-9 * math.exp(epsilon), top])
        losses.append(math.log(best_of(law, one)[1] / best_of(law, other)[1]))
    bound = float(epsilon_of_best(law, Fraction(1, 2)))
    assert 0.98 * bound < max(losses) <= bound
    assert bound < (2 + 1) * epsilon  # Papernot and Steinke's bound, at pure ε, for a shape of 1


@pytest.mark.parametrize("law", [*LAWS, LONG])
@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_no_order_of_gaussian_results_loses_more_than_the_bound(law: Tries, mu: float) -> None:
    """Results are stretches of a line, of which a Gaussian or its neighbour draws one; any order makes them scores."""
    dice = np.random.default_rng(3)
    edges = np.concatenate([[-np.inf], np.linspace(-7, 7, 57), [np.inf]])
    one, other = np.diff(norm.cdf(edges)), np.diff(norm.cdf(edges, loc=mu))
    orders = [np.arange(len(one)), np.arange(len(one))[::-1], *(dice.permutation(len(one)) for _ in range(20))]
    for part in (0.02, 0.2):  # the likeliest under the one, above those under the other
        split = np.searchsorted(edges, norm.isf(part))
        orders.append(np.concatenate([np.arange(split, len(one)), np.arange(split)]))
        orders.append(np.concatenate([np.arange(split), np.arange(split, len(one))[::-1]]))
    for epsilon in (0.3, 0.7, 1.5, 3.0):
        bound = float(delta_of_best(law, Fraction(mu) ** 2, Fraction(epsilon)))
        for order in orders:
            for first, second in ((one, other), (other, one)):
                best, neighbour = best_of(law, first[order]), best_of(law, second[order])
                assert np.maximum(best - math.exp(epsilon) * neighbour, 0).sum() <= bound + 1e-13


def test_the_bound_with_a_delta_is_met_but_for_a_tenth_of_the_noise() -> None:
    """On top what the other table likes better, then what tells most: a tenth less noise breaks the claim."""
    law, spend = Tries.of_mean(Fraction(1), 64), dp.approx(1, "1e-6")
    mu = math.sqrt(prices_of_try(spend, law).total)

    def delta(apart: float) -> float:
        edges = np.concatenate([[-np.inf], np.linspace(-5, 8, 1301), [np.inf]])
        one, other = np.diff(norm.cdf(edges, loc=apart)), np.diff(norm.cdf(edges))
        worst = 0.0
        for top in np.linspace(-3, 0, 13):
            split = int(np.searchsorted(edges, top))
            order = np.concatenate([np.arange(split, len(one)), np.arange(split)])
            best, neighbour = best_of(law, one[order]), best_of(law, other[order])
            worst = max(worst, float(np.maximum(best - math.e * neighbour, 0).sum()))
        return worst

    assert delta(mu) <= 1e-6 < delta(mu / 0.9)


def test_one_try_costs_what_it_costs() -> None:
    law = LAWS[-1]
    assert float(epsilon_of_best(law, Fraction(1))) == pytest.approx(1, abs=1e-8)
    assert float(delta_of_best(law, Fraction(1), Fraction(2))) == pytest.approx(dp.mu(1).delta(2), rel=1e-6)
    assert epsilon_of_best(law, Fraction(10**4)) == 10**4
    assert delta_of_best(GEOMETRIC, Fraction(100), Fraction(1)) == 1


@pytest.mark.parametrize("law", [*LAWS, LONG])
def test_numbers_of_tries_are_drawn_as_often_as_their_weights(law: Tries) -> None:
    """False alarm 1e-9 each, but for the rounding of the test itself."""
    counts = np.bincount([law.draw() for _ in range(2_000)], minlength=law.most + 1)[1:]
    expected = np.array(law.weights, float) / sum(law.weights) * 2_000
    places = np.minimum(np.cumsum(expected) // 40, 2_000 // 40 - 1).astype(int)
    seen, due = (np.bincount(places, weights=each) for each in (counts, expected))
    assert law.most == 1 or chisquare(seen[due > 0], due[due > 0]).pvalue > 1e-9
    assert 1 <= law.mean <= law.most and sum(law.weights) < 2**63


def test_a_number_of_tries_comes_back_from_json_and_nothing_else_does() -> None:
    data = json.loads(json.dumps(GEOMETRIC.to_json()))
    assert Tries.from_json(data) == GEOMETRIC
    bad: list[dict[str, Any]] = [{"shape": "2"}, {"shape": "-1"}, {"shape": 1}, {"stop": "0"}, {"stop": "1"}]
    bad += [{"stop": "1/" + "9" * 30}, {"stop": "9" * 99}, {"most": 0}, {"most": 1025}, {"most": True}, {"most": 2.0}]
    for change in bad:
        with pytest.raises((ValueError, ParameterError)):
            Tries.from_json({**data, **change})
    for mean in (1, 257, 2.5, True):
        with pytest.raises(ParameterError, match="2 to 256"):
            Tries.of_mean(Fraction(1), mean)  # type: ignore[arg-type]
    assert 15 < Tries.of_mean(Fraction(1), 16).mean <= 16


@pytest.mark.parametrize("spend", [dp.pure("0.01"), dp.pure(3), dp.approx(1, "1e-6"), dp.approx("0.05", "1e-9")])
def test_a_try_has_what_the_best_of_all_can_lose(spend: dp.Loss) -> None:
    """And a fiftieth more would be too much."""
    prices = prices_of_try(spend, GEOMETRIC)
    assert loss_of_best(prices.currency, prices.total, GEOMETRIC, spend).fits(spend)
    assert not loss_of_best(prices.currency, prices.total * Fraction(51, 50), GEOMETRIC, spend).fits(spend)
    assert len(str(prices.total)) < 100
    with pytest.raises(LedgerError):
        loss_of_best("rho", prices.total, GEOMETRIC, spend)


@pytest.mark.parametrize("spend", [dp.pure(1), dp.approx(1, "1e-6"), dp.rho("0.1"), dp.mu(1)])
def test_the_rule_takes_what_leaves_a_fit_the_most(spend: dp.Loss) -> None:
    """From sixteen candidates on, a try has at least twice what a part would have; two are paid for."""
    few, many = plan_search(spend, 2), plan_search(spend, 16)
    assert few.way == "all" and few.tries is None
    assert many.way == ("random" if currency(spend) in ("pure", "approx") else "all")
    parts = plan_search(spend, 16, "all")
    if many.way == "random":
        assert many.strength > 2 * parts.strength and "secret random number" in many.explain()
    else:
        assert many == parts and "tenth chooses" in many.explain()


def test_what_is_no_plan_is_refused() -> None:
    for spend in (dp.rho("0.1"), dp.mu(1)):
        with pytest.raises(ParameterError, match="pure ε, or in"):
            plan_search(spend, 9, "random")
        with pytest.raises(ParameterError, match="pure ε, or in"):
            prices_of_try(spend, GEOMETRIC)
        with pytest.raises(ParameterError, match="leave tries out"):
            plan_search(spend, 9, tries=8)
    with pytest.raises(ParameterError, match="way is"):
        plan_search(dp.pure(1), 9, "best")  # type: ignore[arg-type]
    assert plan_search(dp.pure(1), 2, tries=8).way == "random"
    assert plan_search(dp.approx(1, 0), 9).one_try == plan_search(dp.pure(1), 9).one_try
    assert price_as_loss("pure", Fraction(9, 20)) == plan_search(dp.pure(1), 2).one_try
