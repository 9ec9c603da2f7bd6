"""Membership: attacks succeed where a model remembers, and are at their baseline where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier

from discreet import attack
from discreet.attack.membership import (
    Shadows,
    confidences,
    membership_by_shadows,
    membership_outcome,
    train_shadows,
)
from discreet.errors import ParameterError

METHODS: tuple[Any, ...] = ("lira", "lira-offline", "bayesian", "rmia", "quantile")
ALARM = 1e-9


def people(draws: np.random.Generator, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rows = draws.normal(size=(count, 6))
    return rows, (rows[:, 0] + draws.normal(size=count) > 0).astype(int)


def fit(rows: np.ndarray, labels: np.ndarray) -> Any:
    return RandomForestClassifier(25).fit(rows, labels)


def is_chance(outcome: attack.MembershipOutcome) -> bool:
    """Whether the AUC is within what scores that know nothing have (Mann and Whitney), but for the alarm."""
    members, others = outcome.is_member.sum(), (~outcome.is_member).sum()
    deviation = ((members + others + 1) / (12 * members * others)) ** 0.5
    return abs(outcome.auc - 0.5) <= norm.isf(ALARM / 2) * deviation


@pytest.fixture(scope="module")
def trained() -> Any:
    draws = np.random.default_rng(1)
    rows, labels = people(draws)
    is_member = np.zeros(400, bool)
    is_member[draws.choice(400, 200, replace=False)] = True
    model = fit(rows[is_member], labels[is_member])
    return confidences(model, rows, labels), train_shadows(fit, rows, labels, 8), is_member, rows, labels, model


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_remembers_is_found_out(trained: Any, method: Any) -> None:
    logits, shadows, is_member, rows, *_ = trained
    outcome = membership_by_shadows(logits, shadows, is_member, method=method, features=rows)
    assert outcome.auc_interval(1 - ALARM)[0] > 0.5
    assert outcome.auc > 0.65


@pytest.mark.parametrize("method", ["threshold", *METHODS])
def test_a_model_of_other_people_is_at_the_baseline(method: Any) -> None:
    draws = np.random.default_rng(2)
    model = fit(*people(draws))
    rows, labels = people(draws)
    is_member = np.arange(400) % 2 == 0
    outcome = attack.membership(model, (rows, labels), is_member, train=fit, shadows=4, method=method)
    assert is_chance(outcome)


@pytest.mark.parametrize("mutant", ["control in training", "target in its own shadow"])
def test_mutants_are_caught(mutant: str) -> None:
    """On a model of other people, a broken attack leaves its baseline: the check above refuses it."""
    draws = np.random.default_rng(3)
    rows, labels = people(draws)
    is_member = np.arange(400) % 2 == 0
    if mutant == "control in training":  # members are not among those who were trained, others are
        model = fit(rows[~is_member], labels[~is_member])
        outcome = attack.membership(model, (rows, labels), is_member, method="threshold")
    else:  # the truth decides in which shadow models a person is
        logits = confidences(fit(*people(draws)), rows, labels)
        was_in = np.repeat(is_member[None], 4, axis=0)
        was_in[::2] = True
        was_in[1::2] = False
        was_in[3] = is_member
        shadow = [confidences(fit(rows[each], labels[each]), rows, labels) if each.any() else logits for each in was_in]
        scores = np.where(is_member, shadow[3], logits)
        outcome = membership_outcome(mutant, scores, is_member)
    assert not is_chance(outcome)


def test_everybody_is_in_half_of_the_shadow_models(trained: Any) -> None:
    shadows = trained[1]
    assert (shadows.was_in.sum(axis=0) == 4).all()
    assert (shadows.was_in[::2] == ~shadows.was_in[1::2]).all()


def test_auc_and_rates_by_their_definitions() -> None:
    draws = np.random.default_rng(4)
    scores = draws.integers(0, 5, 60).astype(float)
    is_member = draws.random(60) < 0.4
    outcome = membership_outcome("x", scores, is_member)
    pairs = [(a > b) + (a == b) / 2 for a in scores[is_member] for b in scores[~is_member]]
    assert outcome.auc == pytest.approx(np.mean(pairs))
    for rate in (0.0, 0.1, 0.5, 1.0):
        best = max(
            float((scores[is_member] > t).mean()) for t in [-1.0, *range(5)] if (scores[~is_member] > t).mean() <= rate
        )
        assert outcome.true_rate(rate) == pytest.approx(best)
    guesses = outcome.outcome(2.0)
    assert guesses.right == int(((scores > 2) == is_member).sum())
    assert guesses.baseline == max(is_member.mean(), 1 - is_member.mean())


def test_means_give_their_people_away_and_others_not() -> None:
    draws = np.random.default_rng(5)
    frequency = draws.uniform(0.05, 0.95, 2000)
    genomes = (draws.random((200, 2000)) < frequency).astype(float)
    is_member = np.arange(200) < 100
    published = genomes[is_member].mean(axis=0)
    assert attack.membership_in_means(published, frequency, genomes, is_member).auc > 0.99
    strangers = (draws.random((100, 2000)) < frequency).mean(axis=0)
    assert is_chance(attack.membership_in_means(strangers, frequency, genomes, is_member))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, r, y, i: attack.membership(m, (r, y[:-1]), i, method="threshold"),
        lambda m, r, y, i: attack.membership(m, (r, y), i, method="lira"),
        lambda m, r, y, i: attack.membership(m, (r, y), i, train=fit, method="magic"),
        lambda m, r, y, i: attack.membership(m, (r, y), i, train=fit, shadows=3),
        lambda m, r, y, i: attack.membership(m, (r, y), np.ones(len(y), bool), method="threshold"),
        lambda m, r, y, i: attack.membership(m, (r, y), i[:-1], method="threshold"),
        lambda m, r, y, i: attack.membership(m, (r, y + 7), i, method="threshold"),
        lambda m, r, y, i: attack.membership(lambda rows: rows, (r, y), i, method="threshold"),
        lambda m, r, y, i: membership_by_shadows(r[:, 0], Shadows(r[:, :1].T, i[None]), i, method="threshold"),
        lambda m, r, y, i: membership_outcome("x", [float("nan")] * 4, np.array([True, True, False, False])),
        lambda m, r, y, i: attack.membership_in_means(r[0], r[0][:3], r, i),
    ],
)
def test_what_does_not_fit_is_refused(trained: Any, call: Any) -> None:
    _, _, is_member, rows, labels, model = trained
    with pytest.raises(ParameterError):
        call(model, rows, labels, is_member)
