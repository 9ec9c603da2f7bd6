"""Canaries through real trainings, and the catalog's entries of learning: nothing sound is refuted, much is shown."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from learning_mutants import MUTANTS
from torch import nn

import discreet as dp
from discreet import audit, learn
from discreet.audit.catalog._learning import learning_entries
from discreet.errors import ParameterError
from discreet.learn.algorithms import ALGORITHMS
from discreet.learn.correlated import CorrelatedNoise

SURE = 1 - 1e-9
MOVING = "CorrelatedGaussian in a training of two steps, whose clip moves"


def trainer(rows: learn.Tensors, **changes: Any) -> learn.Trainer:
    """A layer without bias, whose loss is linear: each canary's gradient is its own coordinate."""
    width = rows.x.shape[1]
    net = nn.Linear(width, width, bias=False)
    settings = {"spend": dp.mu(1), "steps": 4, "rate": 1, "about": 500, **changes}
    return learn.Trainer(
        net, torch.optim.SGD(net.parameters(), lr=0.01), lambda given, y: (given * y).sum(1), rows, **settings
    )


SETTINGS: dict[str, dict[str, Any]] = {
    "everybody": {},
    "coins": {"spend": dp.approx(2, "1e-6"), "rate": "1/4"},
    "epochs": {"rate": None, "epochs": 2},
    "correlated": {"rate": None, "epochs": 2, "noise": "auto"},
    "float": {"arithmetic": "float"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_training_keeps_its_claim(name: str) -> None:
    """False alarm 1e-9 each, by the confidence."""
    verdict = audit.training(
        lambda rows: trainer(rows, **SETTINGS[name]), audit.gradient_canaries(400), confidence=SURE
    )
    assert not verdict.violated and verdict.canaries == 400
    assert verdict.claim == trainer(audit.gradient_canaries(400), **SETTINGS[name]).plan().loss


def test_much_of_the_claim_is_certified() -> None:
    """Usual is 0.51 of μ, give or take 0.07: six standard deviations lie between it and 0.1."""
    verdict = audit.training(trainer, audit.gradient_canaries(1_000))
    assert verdict.mu_lower > 0.1


@pytest.mark.soak
@pytest.mark.parametrize("name", SETTINGS)
def test_ten_thousand_canaries_certify_no_more_than_the_claim(name: str) -> None:
    verdict = audit.training(
        lambda rows: trainer(rows, **SETTINGS[name]), audit.gradient_canaries(10_000), confidence=SURE
    )
    assert not verdict.violated and verdict.epsilon_lower <= verdict.claimed
    if name == "everybody":
        assert 0.1 < verdict.mu_lower <= 1


@pytest.mark.soak
def test_ten_thousand_canaries_see_that_noise_was_halved() -> None:
    """Its μ is 2, and 1 is refuted, as a rule by far."""
    following = CorrelatedNoise.next
    with patch.object(CorrelatedNoise, "next", lambda self, step: following(self, step) // 2):
        verdict = audit.training(trainer, audit.gradient_canaries(10_000))
    assert verdict.violated


def test_people_with_several_rows_are_one_canary_each() -> None:
    """A person's rows are one contribution: with no noise at all it is seen, and with its noise it is not."""
    rows = audit.gradient_canaries(600)
    people = learn.Tensors(rows.x, rows.y, np.arange(600) // 2, 2)
    sound = audit.training(trainer, people, confidence=SURE)
    assert sound.canaries == 300 and not sound.violated
    following = CorrelatedNoise.next
    with patch.object(CorrelatedNoise, "next", lambda self, step: following(self, step) * 0):
        assert audit.training(lambda rows: trainer(rows, spend=dp.mu("0.2")), people, confidence=SURE).violated


def test_a_network_of_several_layers_is_audited_with_rows_of_ones_own() -> None:
    """Rows of random numbers with labels at random: weaker canaries, and no false alarm."""
    torch.manual_seed(1)
    canaries = learn.Tensors(torch.randn(100, 6), torch.randint(2, (100,)))
    others = torch.randn(30, 6), torch.randint(2, (30,))

    def make(rows: learn.Tensors) -> learn.Trainer:
        torch.manual_seed(2)
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
        every = learn.Tensors(torch.cat([rows.x, others[0]]), torch.cat([rows.y, others[1]]))
        optimizer, loss = torch.optim.Adam(net.parameters()), nn.CrossEntropyLoss(reduction="none")
        return learn.Trainer(net, optimizer, loss, every, spend=dp.mu(1), steps=3, rate=1, about=100)

    assert not audit.training(make, canaries, confidence=SURE).violated


def test_what_is_no_training_is_refused() -> None:
    canaries = audit.gradient_canaries(9)
    with pytest.raises(ParameterError, match=r"learn\.Trainer"):
        audit.training(lambda rows: rows, canaries)  # type: ignore[arg-type, return-value]
    with pytest.raises(ParameterError, match=r"learn\.Tensors"):
        audit.training(trainer, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="neighbours by"):
        audit.training(trainer, canaries, dp.randomized_response("3/4"))
    for count in (0, -1, True, 1.5):
        with pytest.raises(ParameterError, match="whole number of canaries"):
            audit.gradient_canaries(count)  # type: ignore[arg-type]


def test_canaries_have_gradients_of_their_own() -> None:
    canaries = audit.gradient_canaries(10, 3.0)
    gradients = (canaries.y.unsqueeze(2) * canaries.x.unsqueeze(1)).flatten(1)
    assert torch.equal(gradients @ gradients.T, 9 * torch.eye(10))


def test_every_algorithm_has_an_entry_and_so_has_training() -> None:
    entries = {entry.name: entry for entry in learning_entries()}
    assert set(entries) == {
        *(f"Model by {name}" for name in ALGORITHMS),
        "Model by search, the best of a random number of tries",
        "CorrelatedGaussian in a training of two steps",
        "CorrelatedGaussian in a training that counts people",
        MOVING,
    }
    canaries = audit.gradient_canaries(1)
    plan = trainer(canaries, spend=dp.approx(2, "1e-6"), steps=2, rate="1/2").plan()
    assert entries["CorrelatedGaussian in a training of two steps"].claim == plan.loss
    halves = {"spend": dp.approx(2, "1e-6"), "steps": 2, "rate": "1/2", "about": learn.NoisyCount("1/2")}
    counted = entries["CorrelatedGaussian in a training that counts people"].claim
    plan = trainer(canaries, **halves).plan()
    assert plan.loss.fits(dp.approx(2, "1e-6")) and counted.epsilon("1e-6") == pytest.approx(plan.loss.epsilon("1e-6"))
    moving: Any = trainer(canaries, spend=dp.mu("0.5"), steps=2, clip=learn.Adaptive(weight=1.0)).plan().loss
    claim: Any = entries[MOVING].claim
    assert moving.mu_squared <= claim.mu_squared == Fraction(1, 4) < moving.mu_squared * (1 + Fraction(1, 10**9))


def test_a_model_held_to_a_twentieth_of_its_claim_is_refuted() -> None:
    """So that its entry could fail: usual is 0.57 of the claim, and five standard deviations below it 0.05."""
    [entry] = [each for each in learning_entries() if each.name == "Model by naive_bayes"]
    assert replace(entry, claim=dp.pure("0.05")).check(samples=4_000).violated


@pytest.mark.soak
@pytest.mark.parametrize("entry", learning_entries(), ids=lambda entry: entry.name)
def test_no_claim_of_learning_is_refuted(entry: audit.Entry) -> None:
    assert not entry.check(confidence=SURE).violated


@pytest.mark.soak
def test_a_clip_that_moves_by_the_exact_count_is_refuted() -> None:
    """So that its entry could fail: the count of norms has no noise, and every move of the clip shows it.

    Every time the mutant is caught without samples, by tests/learn/test_learning_mutants.py.
    """
    [entry] = [each for each in learning_entries() if each.name == MOVING]
    [mutant] = [each for each in MUTANTS if each.name == "a clip moved by the exact count"]
    with mutant.broken():
        assert entry.check(samples=200).violated
