"""One-run audits: false alarms, power, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import bdtrc, expit

import discreet as dp
from discreet.audit.one_run_audit._one_run import one_run
from discreet.audit.one_run_audit._verdict import OneRunVerdict
from discreet.errors import ParameterError
from discreet.privacy import as_approx

Coins = NDArray[np.bool_]


def most_alarms(runs: int, share: float = 0.05) -> int:
    """The number of alarms that is exceeded with probability at most 1e-9 if each has probability `share`."""
    return next(k for k in range(runs) if bdtrc(k, runs, share) <= 1e-9)


def responses(epsilon: float, canaries: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], Coins]:
    coins = rng.random(canaries) < 0.5
    return (coins ^ (rng.random(canaries) < expit(-epsilon))) * 1.0, coins


def sums(mu: float, canaries: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], Coins]:
    coins = rng.random(canaries) < 0.5
    return mu * coins + rng.standard_normal(canaries), coins


@pytest.mark.parametrize("guesses", [None, 300])
def test_false_alarms_of_randomized_response_are_five_in_a_hundred_at_most(guesses: int | None) -> None:
    """False alarm 1e-9 for each of the two counts."""
    rng, runs = np.random.default_rng(1), 200
    found = [one_run(*responses(1.0, 300, rng), dp.pure(1), guesses=guesses) for _ in range(runs)]
    assert sum(each.violated for each in found) <= most_alarms(runs)
    assert sum(each.epsilon_lower > 1 for each in found) <= most_alarms(runs)


@pytest.mark.parametrize("canaries", [100, 1000, 10_000])
def test_a_true_claim_is_refuted_nearly_as_often_as_allowed(canaries: int) -> None:
    """Exactly, by enumeration: what is missing is that the number of right guesses is whole."""

    def violated(right: int) -> bool:
        coins = np.arange(canaries) < right
        return one_run(np.zeros(canaries), coins, dp.pure(1), guesses=(canaries, 0)).violated

    mean = expit(1.0) * canaries
    first = next(right for right in range(int(mean), canaries) if bdtrc(right - 1, canaries, expit(1.0)) < 0.05)
    assert violated(first)
    assert not violated(first - 1)
    assert bdtrc(first - 1, canaries, expit(1.0)) > 0.03


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_false_alarms_of_gaussian_sums(mu: float) -> None:
    """False alarm 1e-9 for each of the three counts."""
    rng, runs = np.random.default_rng(3), 200
    claim = dp.mu(mu)
    epsilon = claim.epsilon(1e-5)
    found = [one_run(*sums(mu, 300, rng), claim, delta=1e-5) for _ in range(runs)]
    assert sum(each.violated for each in found) <= most_alarms(runs)
    assert sum(each.epsilon_lower > epsilon for each in found) <= most_alarms(runs)
    assert sum(each.mu_lower > mu for each in found) <= most_alarms(runs)


def test_an_order_that_knows_the_coins_does_not_help_equal_scores() -> None:
    """All scores equal, and the canaries sorted by their coins. False alarm 1e-9."""
    coins = np.arange(200) >= 100
    found = [one_run(np.zeros(200), coins, dp.pure(0.1), guesses=200).violated for _ in range(200)]
    assert sum(found) <= most_alarms(200)


@pytest.mark.parametrize(
    ("epsilon", "canaries", "share"), [(1.0, 1000, 0.5), (1.0, 10_000, 0.75), (2.0, 10_000, 0.8), (4.0, 10_000, 0.8)]
)
def test_power_on_randomized_response(epsilon: float, canaries: int, share: float) -> None:
    """The seed leaves only the ties to chance; the shares are six of their standard deviations below what is usual."""
    verdict = one_run(*responses(epsilon, canaries, np.random.default_rng(4)), dp.pure(epsilon))
    assert verdict.epsilon_lower >= share * epsilon


@pytest.mark.parametrize("mu", [1.0, 2.0])
def test_power_on_gaussian_sums(mu: float) -> None:
    scores, coins = sums(mu, 10_000, np.random.default_rng(5))
    held, refuted = (one_run(scores, coins, dp.mu(each), delta=1e-5) for each in (mu, mu / 2))
    assert not held.violated
    assert refuted.violated
    assert mu / 2 < held.mu_lower == refuted.mu_lower < mu


def test_a_verdict_on_mu_agrees_with_what_is_shown_of_mu() -> None:
    scores, coins = sums(2.0, 2000, np.random.default_rng(6))
    shown = one_run(scores, coins, dp.mu(2)).mu_lower
    assert one_run(scores, coins, dp.mu(shown * 0.999)).violated
    assert not one_run(scores, coins, dp.mu(shown * 1.001)).violated


@pytest.mark.parametrize(("claim", "delta"), [(dp.pure(1), None), (dp.approx(1, 1e-6), None), (dp.rho(0.1), 1e-6)])
def test_an_epsilon_shown_above_the_claim_is_a_violation(claim: dp.Loss, delta: float | None) -> None:
    rng = np.random.default_rng(7)
    for strength in np.linspace(0.5, 4, 8):
        verdict = one_run(*responses(float(strength), 1000, rng), claim, delta=delta)
        if verdict.epsilon_lower > verdict.claimed:
            assert verdict.violated
        assert verdict.violated == (verdict.p_value < 0.05)


@pytest.mark.parametrize(
    "claim",
    [
        dp.pure(0.5),
        dp.approx(0.5, 1e-6),
        dp.rho(0.02),
        dp.mu(0.2),
        dp.gaussian(5),
        dp.laplace(2),
        2 * dp.pure(0.25),
        100 * dp.gaussian(2).sampled(0.01),
        dp.discrete_gaussian(25),
        dp.rdp([2, 8], [0.1, 0.2]),
    ],
    ids=str,
)
def test_every_kind_of_claim_is_refuted_by_a_run_that_hides_nothing(claim: dp.Loss) -> None:
    coins = np.arange(1000) % 2 == 0
    verdict = one_run(coins * 1.0, coins, claim)
    assert verdict.violated
    assert verdict.epsilon_lower > verdict.claimed
    pair = as_approx(claim)
    assert verdict.delta == (1e-6 if pair is None else float(pair[1]))


def test_a_claim_of_everything_is_never_refuted() -> None:
    coins = np.arange(1000) % 2 == 0
    verdict = one_run(coins * 1.0, coins, dp.gaussian("1e-3"), delta=0)
    assert (verdict.violated, verdict.claimed) == (False, math.inf)
    assert json.loads(json.dumps(verdict.to_json()))["claimed"] is None


def test_the_list_of_rules_is_paid_for() -> None:
    coins = np.arange(600) % 2 == 0
    alone = one_run(coins * 1.0, coins, dp.pure(4), guesses=200)
    among = one_run(coins * 1.0, coins, dp.pure(4), guesses=[200, (100, 0), (0, 5)])
    assert among.best == alone.best
    assert among.p_value == pytest.approx(3 * alone.p_value)
    assert among.epsilon_lower < alone.epsilon_lower
    assert [each.count for each in among.guesses] == [200, 100, 5]
    assert [each.correct for each in among.guesses] == [200, 100, 5]


def test_the_rules_that_are_left_out_are_stated_sizes() -> None:
    def sizes(m: int) -> list[int]:
        return [each.count for each in one_run(np.zeros(m), np.ones(m, bool), dp.pure(1)).guesses]

    assert sizes(1000) == [1000, 316, 100, 32]
    assert sizes(7) == [7]


def test_infinite_scores_are_ranked() -> None:
    coins = np.array([True, False] * 50)
    assert one_run(np.where(coins, math.inf, -math.inf), coins, dp.pure(1)).violated


def test_a_million_canaries_are_quick() -> None:
    scores, coins = responses(2.0, 10**6, np.random.default_rng(8))
    assert one_run(scores, coins, dp.pure(2)).epsilon_lower > 1.95


def verdict_of(claim: dp.Loss) -> OneRunVerdict:
    coins = np.arange(500) % 2 == 0
    return one_run(coins * 1.0, coins, claim, guesses=500)


def test_it_says_so() -> None:
    bad, good = verdict_of(dp.pure(1)), verdict_of(dp.pure(9))
    assert bad.sentence.startswith("VIOLATED: the claim, ")
    assert "500 of 500 guesses were right" in bad.sentence
    assert good.sentence.startswith("Not refuted: ")
    assert str(good).endswith("That proves no privacy.")
    told = json.loads(json.dumps(bad.to_json()))
    assert told["violated"] is True
    assert told["guesses"] == [{"inside": 250, "outside": 250, "correct": 500}]
    assert set(told) >= {"claim", "claimed", "confidence", "delta", "epsilon_lower", "mu_lower", "p_value", "sentence"}


FOUR = np.array([True, False, True, False])


@pytest.mark.parametrize(
    ("scores", "included", "options"),
    [
        ([1, 2, 3], FOUR, {}),
        ([[1, 2], [3, 4]], FOUR.reshape(2, 2), {}),
        ([1, 2, 3, math.nan], FOUR, {}),
        (["a", "b", "c", "d"], FOUR, {}),
        ([1j, 2, 3, 4], FOUR, {}),
        ([None, 2, 3, 4], FOUR, {}),
        ([[1], [2, 3]], FOUR, {}),
        ([1, 2, 3, 4], [1, 0, 1, 0], {}),
        ([], np.array([], bool), {}),
        (np.zeros(10**6 + 1), np.zeros(10**6 + 1, bool), {}),
        ([1, 2, 3, 4], FOUR, {"guesses": 5}),
        ([1, 2, 3, 4], FOUR, {"guesses": 0}),
        ([1, 2, 3, 4], FOUR, {"guesses": (3, 2)}),
        ([1, 2, 3, 4], FOUR, {"guesses": []}),
        ([1, 2, 3, 4], FOUR, {"guesses": [1.5]}),
        ([1, 2, 3, 4], FOUR, {"guesses": True}),
        ([1, 2, 3, 4], FOUR, {"guesses": "12"}),
        ([1, 2, 3, 4], FOUR, {"guesses": [(-1, 2)]}),
        ([1, 2, 3, 4], FOUR, {"guesses": 2.0}),
        ([1, 2, 3, 4], FOUR, {"guesses": [1] * 101}),
        ([1, 2, 3, 4], FOUR, {"confidence": 1}),
        ([1, 2, 3, 4], FOUR, {"confidence": 0}),
        ([1, 2, 3, 4], FOUR, {"delta": 1}),
        ([1, 2, 3, 4], FOUR, {"delta": -0.1}),
    ],
    ids=range(24),
)
def test_what_is_refused(scores: Any, included: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        one_run(scores, included, dp.pure(1), **options)


@pytest.mark.parametrize("claim", [1.0, None, "1"])
def test_a_claim_that_is_no_loss_is_refused(claim: Any) -> None:
    with pytest.raises(ParameterError, match="a claim is a loss"):
        one_run([1, 2, 3, 4], FOUR, claim)


def test_a_pair_of_guesses_is_a_rule_of_its_own_in_a_list_and_alone() -> None:
    alone = one_run([1, 2, 3, 4], FOUR, dp.pure(1), guesses=(1, 2))
    listed = one_run([1, 2, 3, 4], FOUR, dp.pure(1), guesses=[(1, 2), 3])
    assert [(each.inside, each.outside) for each in alone.guesses] == [(1, 2)]
    assert [(each.inside, each.outside) for each in listed.guesses] == [(1, 2), (2, 1)]
