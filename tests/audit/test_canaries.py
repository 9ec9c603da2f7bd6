"""Canaries in training runs: clipped and noisy ones that keep their claim, and broken ones that are caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import bdtrc, expit

import discreet as dp
from discreet.audit.one_run_audit._canaries import Canaries, audit_training
from discreet.audit.one_run_audit._verdict import OneRunVerdict
from discreet.errors import ParameterError

Floats = NDArray[np.float64]
SURE = "0.999999999"


def test_coins_are_fair_and_their_own() -> None:
    """False alarm 1e-9: 20,000 coins, and their neighbours, within 6.2 standard deviations."""
    coins = Canaries(range(20_000)).flip()
    assert coins.dtype == np.bool_
    assert abs(int(coins.sum()) - 10_000) < 6.2 * 20_000**0.5 / 2
    assert abs(int((coins[1:] ^ coins[:-1]).sum()) - 10_000) < 6.2 * 20_000**0.5 / 2
    assert not np.array_equal(coins, Canaries(range(20_000)).flip())


def test_canaries_are_kept_as_they_were() -> None:
    records = [1, 2]
    canaries = Canaries(records)
    records.append(3)
    assert len(canaries) == 2
    assert canaries.relation == "add_remove"
    assert Canaries(np.eye(3)).chosen([False, True, False])[0].tolist() == [0, 1, 0]
    assert Canaries(["a"], instead=["b"]).relation == "substitute"


@pytest.mark.parametrize("make", [lambda: Canaries([]), lambda: Canaries(3), lambda: Canaries([1, 2], instead=[1])])
def test_what_canaries_refuse(make: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize("included", [[True], [1, 0], [[True, False]], [True, False, True]])
def test_coins_must_be_one_for_each_canary(included: Any) -> None:
    with pytest.raises(ParameterError, match="each of the 2 canaries"):
        Canaries(["a", "b"]).chosen(included)


def test_train_runs_once_and_progress_counts() -> None:
    seen: list[tuple[int, int]] = []
    runs: list[int] = []

    def train(chosen: list[int]) -> set[int]:
        runs.append(len(chosen))
        return set(chosen)

    audit_training(
        train, Canaries(range(40)), lambda model, i: i in model, dp.pure(9), progress=lambda *at: seen.append(at)
    )
    assert len(runs) == 1
    assert seen == [(done, 41) for done in range(1, 42)]


def test_the_claim_must_be_for_the_neighbours_of_the_canaries() -> None:
    sampled, swapped = dp.gaussian(1).sampled(0.5), dp.randomized_response("3/4")

    def run(canaries: Canaries, claim: dp.Loss) -> OneRunVerdict:
        return audit_training(lambda chosen: None, canaries, lambda model, i: 0.0, claim)

    assert run(Canaries(range(30)), sampled).canaries == 30
    assert run(Canaries(range(30), instead=range(30)), swapped).canaries == 30
    with pytest.raises(ParameterError, match="neighbours by substitute"):
        run(Canaries(range(30)), swapped)
    with pytest.raises(ParameterError, match="neighbours by add_remove"):
        run(Canaries(range(30), instead=range(30)), sampled)


@pytest.mark.parametrize("score", [lambda model, i: "high", lambda model, i: None, lambda model, i: float("nan")])
def test_a_score_that_is_no_number_is_refused(score: Any) -> None:
    with pytest.raises(ParameterError, match="number"):
        audit_training(lambda chosen: None, Canaries(range(30)), score, dp.pure(1))


@pytest.mark.parametrize(
    ("claim", "options"),
    [(1.0, {}), (dp.pure(1), {"guesses": 31}), (dp.pure(1), {"confidence": 2}), (dp.pure(1), {"delta": 1})],
    ids=["claim", "guesses", "confidence", "delta"],
)
def test_what_is_wrong_is_refused_before_the_training(claim: Any, options: dict[str, Any]) -> None:
    def train(chosen: list[int]) -> None:
        pytest.fail("trained")

    with pytest.raises(ParameterError):
        audit_training(train, Canaries(range(30)), lambda model, i: 0.0, claim, **options)


def test_what_training_raises_comes_through() -> None:
    def train(chosen: list[int]) -> None:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        audit_training(train, Canaries(range(30)), lambda model, i: 0.0, dp.pure(1))


def noisy_step(
    rng: np.random.Generator, *, size: int, noise: float, clip: float = 1.0, made_for: float = 1.0
) -> Callable[[list[int]], Floats]:
    """One step of full-batch gradient descent from 0 that clips at `clip` and adds noise for gradients of `made_for`.

    Canary i has the gradient 5·eᵢ before it is clipped.
    """

    def train(chosen: list[int]) -> Floats:
        gradient = np.zeros(size)
        gradient[chosen] = min(5.0, clip)
        return gradient + noise * made_for * rng.standard_normal(size)

    return train


def read(model: Floats, i: int) -> float:
    return float(model[i])


@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_one_noisy_step_keeps_its_claim_and_a_good_part_of_it_is_certified(noise: float) -> None:
    """False alarm 1e-9: usual are 0.56 and 0.6 of μ, and the shares are six standard deviations below."""
    train = noisy_step(np.random.default_rng(1), size=5000, noise=noise)
    verdict = audit_training(train, Canaries(range(5000)), read, dp.gaussian(noise), delta=1e-5)
    assert 0.3 / noise < verdict.mu_lower < 1 / noise
    assert verdict.epsilon_lower > 0.15 * verdict.claimed


@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_one_noisy_step_keeps_its_claim(noise: float) -> None:
    """False alarm 1e-9, by the confidence."""
    train = noisy_step(np.random.default_rng(1), size=500, noise=noise)
    assert not audit_training(train, Canaries(range(500)), read, dp.gaussian(noise), confidence=SURE).violated


def test_a_step_that_clips_at_c_with_noise_for_half_of_c_is_caught() -> None:
    """Its μ is 2. Usual is a p-value of 1e-3: 0.05 is six standard deviations of its logarithm above."""
    train = noisy_step(np.random.default_rng(2), size=50_000, noise=1.0, made_for=0.5)
    assert audit_training(train, Canaries(range(50_000)), read, dp.gaussian(1)).violated


@pytest.mark.parametrize(
    "broken",
    [{"noise": 0.0}, {"noise": 1.0, "clip": 5.0}],
    ids=["no noise", "no clipping"],
)
def test_a_step_without_noise_or_clipping_is_caught(broken: dict[str, float]) -> None:
    train = noisy_step(np.random.default_rng(3), size=1000, **broken)
    assert audit_training(train, Canaries(range(1000)), read, dp.gaussian(1), delta=1e-5).violated


def logistic_regression(
    rng: np.random.Generator, *, dimension: int, noise: float, steps: int = 20, clip: float = 1.0
) -> Callable[[list[tuple[Floats, int]]], Floats]:
    """Noisy gradient descent on made-up records and canaries; what it returns is every noisy gradient (white box)."""
    xs = rng.standard_normal((200, dimension)) / dimension**0.5
    labels = rng.integers(0, 2, 200)

    def train(chosen: list[tuple[Floats, int]]) -> Floats:
        x = np.concatenate([xs, *(canary[None] for canary, _ in chosen)])
        y = np.concatenate([labels, [label for _, label in chosen]])
        weights, seen = np.zeros(dimension), np.zeros((steps, dimension))
        norms = np.linalg.norm(x, axis=1)
        for step in range(steps):
            slope = expit(x @ weights) - y
            slope *= np.minimum(1, clip / np.maximum(np.abs(slope) * norms, 1e-12))
            seen[step] = slope @ x + noise * clip * rng.standard_normal(dimension)
            weights = weights - 0.001 * seen[step]
        return seen

    return train


def spikes(dimension: int) -> Canaries:
    """Records of label 1 along the axes, so long that their gradient is clipped."""
    return Canaries([(50 * axis, 1) for axis in np.eye(dimension)])


def pulled(seen: Floats, canary: tuple[Floats, int]) -> float:
    """How far all gradients together point along a canary's own: −x for a record of label 1."""
    return float(-seen.sum(axis=0) @ canary[0])


def test_a_logistic_regression_keeps_its_claim() -> None:
    """False alarm 1e-9, by the confidence."""
    train = logistic_regression(np.random.default_rng(4), dimension=500, noise=20**0.5)
    claim = 20 * dp.gaussian("4.4721")
    assert not audit_training(train, spikes(500), pulled, claim, confidence=SURE).violated


@pytest.mark.parametrize("noise", [0.0, 20**0.5 / 20], ids=["no noise", "a twentieth of the noise"])
def test_a_logistic_regression_with_too_little_noise_is_caught(noise: float) -> None:
    train = logistic_regression(np.random.default_rng(5), dimension=500, noise=noise)
    assert audit_training(train, spikes(500), pulled, 20 * dp.gaussian("4.4721"), delta=1e-5).violated


@pytest.mark.parametrize("runs", [60, pytest.param(200, marks=pytest.mark.soak)])
def test_false_alarms_of_correct_training_are_five_in_a_hundred_at_most(runs: int) -> None:
    """False alarm 1e-9: of 60 runs 17 alarms are allowed, of 200 33."""
    rng, canaries, claim = np.random.default_rng(6), Canaries(range(400)), dp.mu(1)
    train = noisy_step(rng, size=400, noise=1.0)
    alarms = sum(audit_training(train, canaries, read, claim).violated for _ in range(runs))
    assert alarms <= next(k for k in range(runs) if bdtrc(k, runs, 0.05) <= 1e-9)


def test_false_alarms_where_the_bound_is_tight() -> None:
    """Every canary's record by randomised response, under substitution: 200 runs; false alarm 1e-9."""
    rng, claim = np.random.default_rng(7), dp.pure(1)
    canaries = Canaries([(i, 1) for i in range(250)], instead=[(i, 0) for i in range(250)])

    def train(chosen: list[tuple[int, int]]) -> NDArray[np.int64]:
        return np.array([value for _, value in chosen]) ^ (rng.random(250) < expit(-1.0))

    def score(model: NDArray[np.int64], canary: tuple[int, int]) -> float:
        return float(model[canary[0]])

    alarms = sum(audit_training(train, canaries, score, claim, guesses=250).violated for _ in range(200))
    assert alarms <= next(k for k in range(200) if bdtrc(k, 200, 0.05) <= 1e-9)
