"""What can fail without the data fails before the charge, and nothing that a loop does adds a person up twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from trainings import POLICY, QUERY, SPEND, network, visits

import discreet as dp
from discreet import learn
from discreet.errors import Cancelled, DataError, LedgerError, ParameterError
from discreet.learn.training._checkpoint import read_checkpoint
from discreet.learn.training._private import Private
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
WHOLE = dp.approx(9, "1e-4")
LOSS = nn.CrossEntropyLoss(reduction="none")


@pytest.fixture
def session() -> Iterator[dp.Session]:
    with dp.connect({"visits": visits(100)}, POLICY) as opened:
        yield opened


def private(
    session: dp.Session, net: nn.Module, optimizer: torch.optim.Optimizer | None = None, **changes: Any
) -> Private:
    settings: dict[str, Any] = {"spend": SPEND, "steps": 4, "rate": "0.5", "about": 50, "places": 32}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1) if optimizer is None else optimizer
    return Private(net, optimizer, session.records(QUERY, label="sick"), **{**settings, **changes})


def taken(asked: Private, net: nn.Module, *path: Any) -> None:
    for batch in asked.batches(*path):
        asked.step(LOSS(net(batch.x), batch.y))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (torch.optim.LBFGS, "LBFGS takes no step"),
        (torch.optim.SparseAdam, "SparseAdam takes no step"),
        (lambda each: torch.optim.Adam(each, lr=torch.tensor(0.1)), "as floats"),
    ],
)
def test_optimisers_that_cannot_go_on_are_refused_before_the_charge(
    session: dp.Session, tmp_path: Path, make: Callable[[Any], torch.optim.Optimizer], words: str
) -> None:
    net = network()
    with pytest.raises(ParameterError, match=words):
        taken(private(session, net, make(list(net.parameters()))), net, tmp_path / "net.ckpt")
    assert session.remaining == WHOLE


@pytest.mark.parametrize("name", ["DPAdam", "AdamW", "Adagrad", "NAdam"])
def test_others_go_on_also_under_a_schedule_of_rates(session: dp.Session, tmp_path: Path, name: str) -> None:
    """What is tried moves neither the optimiser nor its schedule."""
    net = network()
    kind: Any = learn.DPAdam if name == "DPAdam" else getattr(torch.optim, name)
    optimizer = kind(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    asked, before = private(session, net, optimizer), str(optimizer.state_dict())
    for batch in asked.batches(tmp_path / "net.ckpt", 2):
        asked.step(LOSS(net(batch.x), batch.y))
        if batch.rehearsal:
            assert str(optimizer.state_dict()) == before
    schedule.step()
    assert asked.network is not None and session.spent == SPEND


def test_checkpoints_that_cannot_be_written_are_refused_before_the_charge(session: dp.Session, tmp_path: Path) -> None:
    net = network()
    with pytest.raises(DataError, match="cannot be written"):
        taken(private(session, net), net, tmp_path / "none" / "net.ckpt")
    with pytest.raises(ParameterError, match="100,000"):
        taken(private(session, net), net, tmp_path / "net.ckpt", 100_001)
    with pytest.raises(ParameterError, match="clip"):
        private(session, net, clip="auto")
    assert session.remaining == WHOLE


def test_a_checkpoint_of_another_ledger_is_not_charged_to_this_one(session: dp.Session, tmp_path: Path) -> None:
    net, path = network(), tmp_path / "net.ckpt"
    taken(private(session, net), net, path, 2)
    with dp.connect({"visits": visits(100)}, POLICY) as other:
        fresh = network()
        with pytest.raises(LedgerError, match="nothing is spent"):
            taken(private(other, fresh), fresh, path, 2)
        assert other.remaining == WHOLE
    assert session.spent == SPEND


def test_a_run_that_stops_before_its_first_block_ends_goes_on(session: dp.Session, tmp_path: Path) -> None:
    path, net = tmp_path / "net.ckpt", network()
    asked = private(session, net)
    for batch in asked.batches(path, 3):
        if not batch.rehearsal:
            break
        asked.step(LOSS(net(batch.x), batch.y))
    assert read_checkpoint(path).step == 0
    net = network(5)
    taken(private(session, net), net, path, 3)
    assert session.spent == SPEND and read_checkpoint(path).step == 4


def test_one_loop_at_a_time_takes_the_batches(session: dp.Session) -> None:
    net = network()
    asked = private(session, net)
    first = asked.batches()
    next(first)
    with pytest.raises(ParameterError, match="another loop"):
        next(asked.batches())
    first.close()  # type: ignore[attr-defined]
    taken(asked, net)
    assert asked.network is not None


def test_a_fork_of_a_training_draws_no_noise(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network()
    asked = private(session, net)
    before = [each.detach().clone() for each in net.parameters()]

    def forked() -> None:
        for batch in asked.batches():
            if not batch.rehearsal:
                monkeypatch.setattr(os, "getpid", lambda: -1)
            asked.step(LOSS(net(batch.x), batch.y))

    with pytest.raises(LedgerError, match="forked"):
        forked()
    assert all(torch.equal(*each) for each in zip(before, net.parameters(), strict=True))


def test_gradients_that_a_loop_leaves_behind_move_nothing(session: dp.Session) -> None:
    """A layer that is thawed in the middle of training by a loop that calls backward itself, out of habit."""
    net = network()
    net[2].requires_grad_(False)  # type: ignore[union-attr]
    asked, before = private(session, net), net[2].weight.detach().clone()  # type: ignore[union-attr]
    for batch in asked.batches():
        losses = LOSS(net(batch.x), batch.y)
        asked.step(losses)
        if not batch.rehearsal:
            net[2].requires_grad_(True)  # type: ignore[union-attr]
            (net[2].weight.sum() * batch.x.sum()).backward()  # type: ignore[union-attr]
    assert torch.equal(before, net[2].weight)  # type: ignore[union-attr]


def test_weights_that_changed_since_are_refused_and_tensors_are_trained_once(session: dp.Session) -> None:
    net = network()
    asked = private(session, net)
    with torch.no_grad():
        net[0].weight.zero_()  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="make it anew"):
        taken(asked, net)
    assert session.remaining == WHOLE
    rows = learn.Tensors(torch.rand(50, 4), torch.randint(2, (50,)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trainer = learn.Trainer(net, optimizer, LOSS, rows, spend=SPEND, steps=3, rate="0.5", about=50)
    assert trainer.fit().to_bytes() == trainer.fit().to_bytes()


def test_buffers_that_a_loop_moves_are_not_stored(session: dp.Session, tmp_path: Path) -> None:
    """A mean of private rows in a buffer would be in the file of the network, without noise."""
    net = network()
    net.register_buffer("mean", torch.zeros(4))
    asked = private(session, net)

    def moved() -> None:
        for batch in asked.batches(tmp_path / "net.ckpt", 2):
            if not batch.rehearsal:
                net.mean.copy_(batch.x.mean(0))  # type: ignore[operator, union-attr]
            asked.step(LOSS(net(batch.x), batch.y))

    with pytest.raises(LedgerError, match="buffers"):
        moved()
    assert asked.network is None and not read_checkpoint(tmp_path / "net.ckpt").weights["mean"].any()


def test_a_mean_of_weights_leaves_buffers_as_they_are(session: dp.Session) -> None:
    """A mask of −∞ has no mean: −∞ less −∞ is no number."""
    net = network()
    net.register_buffer("mask", torch.tensor([0.0, float("-inf")]))
    asked = private(session, net, average=True)
    taken(asked, net)
    assert asked.network is not None and asked.network.weights["mask"].tolist() == [0.0, float("-inf")]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))


def test_tied_weights_are_trained_and_stored(session: dp.Session, tmp_path: Path) -> None:
    torch.manual_seed(1)
    net, again = Tied(), Tied()
    asked = private(session, net)
    taken(asked, net, tmp_path / "net.ckpt", 2)
    assert asked.network is not None
    asked.network.load_into(again)
    assert torch.equal(again.second.weight, net.first.weight) and again.second.weight is again.first.weight


def test_a_float_sum_is_charged_for_its_rounding(session: dp.Session) -> None:
    """A sum that is rounded moves by less than one step of the grid more in each entry than what a person adds."""
    exact, rounded = (private(session, network(), arithmetic=each).plan() for each in ("exact", "float"))
    size = exact.mechanism.size
    assert rounded.mechanism.bound >= exact.mechanism.bound + size**0.5
    for each in (exact, rounded):
        assert each.loss.fits(SPEND)


def test_a_certificate_for_other_neighbours_is_refused(session: dp.Session) -> None:
    net = network()
    asked = private(session, net)
    taken(asked, net)
    assert asked.network is not None
    certificate = dict(asked.network.certificate)
    assert verify_loss(certificate) is None
    for relation in ("substitute", None):
        with pytest.raises(LedgerError):
            verify_loss({**certificate, "relation": relation})


def test_a_training_that_another_process_has_ended_gives_that_network(session: dp.Session, tmp_path: Path) -> None:
    """Both have begun all steps; the one that ends later stores no second network."""
    path = tmp_path / "net.ckpt"
    net, other = network(), network()
    asked, second = private(session, net), private(session, other)
    batches = asked.batches(path, 4)
    for batch in batches:
        asked.step(LOSS(net(batch.x), batch.y))
        if not batch.rehearsal:
            break
    taken(second, other, path, 4)  # goes on from the first weights: all steps are lost
    for batch in batches:
        asked.step(LOSS(net(batch.x), batch.y))
    assert second.network is not None and asked.network is not None
    assert asked.network.to_bytes() == second.network.to_bytes()


def test_tokens_are_tried_as_whole_numbers_and_other_numbers_are_refused() -> None:
    net = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(12, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    rows = learn.Tensors(torch.randint(10, (50, 3)), torch.randint(2, (50,)))
    assert learn.Trainer(net, optimizer, LOSS, rows, spend=SPEND, steps=3, rate="0.5", about=50).fit().payload
    for wrong in (torch.float64, torch.int32, torch.bool):
        with pytest.raises(ParameterError, match="float32"):
            learn.Tensors(rows.x.to(wrong), rows.y)


def test_cancel_stops_a_training_which_goes_on_from_its_checkpoint(session: dp.Session, tmp_path: Path) -> None:
    path, net = tmp_path / "net.ckpt", network()
    asked, steps = private(session, net), 0

    def stopped() -> None:
        nonlocal steps
        for batch in asked.batches(path, 1):
            steps += not batch.rehearsal
            if steps == 2:
                session.cancel()
            asked.step(LOSS(net(batch.x), batch.y))

    with pytest.raises(Cancelled):
        stopped()
    assert read_checkpoint(path).step < 4 and session.spent == SPEND
    net = network(5)
    taken(private(session, net), net, path, 1)
    assert session.spent == SPEND and read_checkpoint(path).step == 4


def test_a_network_larger_than_a_ledger_stores_is_refused_before_the_charge(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network()
    asked = private(session, net)
    monkeypatch.setattr("discreet.learn.training._training_run.LARGEST_PAYLOAD", 1_000)
    with pytest.raises(ParameterError, match="largest that a ledger stores"):
        taken(asked, net)
    assert session.remaining == WHOLE
