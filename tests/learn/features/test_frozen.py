"""Frozen networks: rows do not meet in them, weights stay as they are, and what cannot be shown is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet import learn
from discreet.errors import ParameterError
from discreet.learn.features import Frozen


class Given(nn.Module):
    """A module of one function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, batch: torch.Tensor) -> Any:
        return self.function(batch)


class Counting(nn.Module):
    """It adds up what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return batch


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5), nn.MaxPool2d(3), nn.Flatten()
    )


def test_a_row_has_the_same_features_in_any_company_and_a_network_is_left_as_it_was() -> None:
    net = convolutions()
    assert net.training
    fixed = Frozen(net, shape=(1, 28, 28))
    images = np.random.default_rng(0).uniform(size=(150, 28 * 28))
    rows = fixed.transform(images)
    assert rows.shape == (150, 128)
    assert net.training
    assert all(each.requires_grad for each in net.parameters())
    order = np.random.default_rng(1).permutation(150)
    assert (fixed.transform(images[order]) == rows[order]).all()
    assert (fixed.transform(images[77:78]) == rows[77]).all()
    assert (fixed.transform(images.reshape(150, 1, 28, 28)) == rows).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=0.2)
    lower, upper = fixed.bounds
    assert lower == -upper
    assert (rows >= lower).all()
    assert (rows <= upper).all()


def test_numbers_that_are_none_reach_no_other_row() -> None:
    fixed = Frozen(nn.Linear(3, 2), shape=(3,))
    rows = np.array([[0.1, 0.2, 0.3], [np.nan, 1e300, -1e300], [3e38, 3e38, 3e38]])
    mapped = fixed.transform(rows)
    assert np.isfinite(mapped).all()
    assert (mapped[1] == fixed.transform(np.zeros((1, 3)))).all()
    assert (mapped[0] == fixed.transform(rows[:1])).all()


def test_training_the_original_later_changes_nothing_until_it_is_fitted_again() -> None:
    net = nn.Linear(4, 3)
    fixed = Frozen(net, shape=(4,)).fit(np.zeros((1, 4)))
    rows = np.random.default_rng(0).uniform(size=(5, 4))
    before, digest = fixed.transform(rows), fixed.digest
    with torch.no_grad():
        net.weight += 1
    assert (fixed.transform(rows) == before).all()
    assert fixed.digest == digest
    assert fixed.statement["weights"] == digest
    fixed.fit(rows)
    assert fixed.digest != digest
    assert (fixed.transform(rows) != before).any()


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (Given(lambda batch: batch - batch.mean(0)), "other rows"),
        (Given(lambda batch: torch.softmax(batch @ batch.T, 1) @ batch), "other rows"),
        (Given(lambda batch: nn.functional.dropout(batch, 0.5)), "at random"),
        (Given(lambda batch: batch + torch.arange(len(batch))[:, None]), "place"),
        (nn.BatchNorm1d(4, track_running_stats=False), "other rows"),
        (Counting(), "not frozen"),
        (nn.Linear(5, 2), "does not read"),
        (Given(lambda batch: batch[:1]), "a row for each row"),
        (Given(lambda batch: (batch, batch)), "one tensor"),
        (Given(lambda batch: batch.long()), "floating-point"),
        (Given(lambda batch: batch[:, :0]), "no number"),
        (None, "net is a torch module"),
    ],
)
def test_what_is_no_function_of_a_row_is_refused(net: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Frozen(net, shape=(4,)).transform(np.ones((2, 4)))


def test_parameters_that_are_wrong_say_so() -> None:
    rows = np.ones((2, 4))
    for fixed in (Frozen(nn.Identity(), shape=(3,)), Frozen(nn.Identity(), shape=(0,)), Frozen(nn.Identity(), rows=1)):
        with pytest.raises(ParameterError):
            fixed.fit(rows)
    with pytest.raises(ParameterError, match="shape"):
        _ = Frozen(nn.Identity()).bounds
    assert Frozen(nn.Identity()).fit(rows).bounds == (-1.0, 1.0)
    with pytest.raises(ParameterError, match="CPU"):
        Frozen(nn.Linear(4, 2, device="meta")).fit(rows)


def test_features_go_into_a_trainer() -> None:
    fixed = Frozen(nn.Linear(6, 4), shape=(6,))
    rows = np.random.default_rng(0).uniform(size=(20, 6))
    tensors = learn.Tensors(torch.from_numpy(fixed.transform(rows)).float(), torch.zeros(20, dtype=torch.int64))
    assert tensors.x.shape == (20, 4)


def test_scikit_learn_finds_nothing_wrong() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(Frozen(nn.Identity()), on_skip=None)
    assert len(results) > 40
