"""Training on the ledger: charged whole, given again for free, resumed from checkpoints, refused in words."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn
from trainings import POLICY, QUERY, SPEND, broken_off, network, training, visits

import discreet as dp
from discreet import learn
from discreet.errors import BudgetExceeded, DataError, LedgerError, ParameterError
from discreet.learn.correlated import CyclicPoisson, Independent, MinimumSeparation
from discreet.learn.gradients import Normalised
from discreet.learn.training._checkpoint import read_checkpoint, write_checkpoint
from discreet.learn.training._mechanism import goes_on_after
from discreet.learn.training._rows import Sampler
from discreet.privacy import to_json
from discreet.release import load, verify_loss

pytestmark = pytest.mark.usefixtures("one_database")


def test_training_is_charged_once_and_the_same_one_is_free(session: dp.Session, tmp_path: Path) -> None:
    net, trainer = training(session)
    trained = trainer.fit()
    assert session.spent == SPEND == trained.loss and trained.inputs is not None
    same, again = training(session)
    assert again.fit().to_bytes() == trained.to_bytes() and session.spent == SPEND
    assert all((a == b).all() for a, b in zip(net.state_dict().values(), same.state_dict().values(), strict=True))
    _, named = training(session, name="another")
    named.fit()
    assert session.spent == dp.approx(4, "2e-6")
    trained.save(tmp_path / "sick.net")
    loaded = load(tmp_path / "sick.net")
    assert isinstance(loaded, learn.Network) and loaded.to_bytes() == trained.to_bytes()
    fresh = network(9)
    loaded.load_into(fresh)
    assert (fresh[0].weight == net[0].weight).all()  # type: ignore[index]
    with pytest.raises(ParameterError, match="architecture"):
        loaded.load_into(nn.Linear(3, 3))
    with pytest.raises(BudgetExceeded):
        training(session, spend=dp.approx(6, "1e-6"))[1].fit()


def test_a_certificate_recomputes_the_loss(session: dp.Session) -> None:
    _, trainer = training(session)
    certificate = json.loads(json.dumps(trainer.fit().certificate))
    assert verify_loss(certificate) is None
    noise = certificate["noise"]
    changes: dict[str, Any] = {
        "less noise": {**noise, "sigma": str(2**35)},
        "more steps": {**noise, "taken": {**noise["taken"], "steps": 13}},
        "a higher rate": {**noise, "taken": {**noise["taken"], "rate": "1/4"}},
        "a larger bound": {**noise, "bound": str(2**37)},
        "another sampling": {**noise, "taken": {"sampling": "shuffled", "steps": 12}},
        "everybody": {
            **noise,
            "taken": {"sampling": "MinimumSeparation", "participations": 12, "separation": 1, "steps": 12},
        },
        "nothing": None,
    }
    for change in changes.values():
        with pytest.raises(LedgerError):
            verify_loss({**certificate, "noise": change})
    with pytest.raises(LedgerError):
        verify_loss({**certificate, "loss": {"kind": "approx", "epsilon": "1", "delta": "1/1000000"}})


def test_it_learns(session: dp.Session, table: pa.Table) -> None:
    """Classes that two columns tell apart: a coin is right in more than 390 of 600 with probability 1e-13."""
    net, trainer = training(session, steps=60)
    x = trainer.fit().encode(table)
    right = net(x).argmax(1).numpy() == np.array(table["sick"].to_pylist())
    assert right.sum() > 390


BY_EPOCHS: dict[str, Any] = {"rate": None, "epochs": 3, "places": 256}


class Stopped(Exception):
    """The process was killed."""


def test_a_checkpoint_goes_on_from_the_counter(session: dp.Session, tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    broken_off(session, path, at=20, every=3)
    saved = read_checkpoint(path)
    assert 0 < saved.step < 12 and path.stat().st_mode & 0o077 == 0
    with pytest.raises(LedgerError, match="go on from its checkpoint"):
        training(session)[1].fit()
    with pytest.raises(ParameterError, match="differs in places"):
        training(session, places=16)[1].fit(path)
    with pytest.raises(ParameterError, match="noise, rate or steps"):
        training(session, steps=13)[1].fit(path)
    trained = training(session, network(2))[1].fit(path, 3)
    assert session.spent == SPEND and verify_loss(trained.certificate) is None
    assert read_checkpoint(path).step == 12
    assert training(session)[1].fit().to_bytes() == trained.to_bytes()


def test_dropout_costs_nothing_more_and_a_checkpoint_holds_no_masks(session: dp.Session, tmp_path: Path) -> None:
    def dropping(start: int) -> nn.Sequential:
        return network(start).insert(2, learn.Dropout("0.3"))

    path = tmp_path / "net.ckpt"
    private = learn.Private(
        net := dropping(1), torch.optim.Adam(net.parameters(), lr=0.05), session.records(QUERY, label="sick"),
        spend=SPEND, steps=12, rate="0.2", about=300, places=32,
    )  # fmt: skip
    steps = iter(private.batches(path, 3))
    for batch in steps:
        private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))
        if not batch.rehearsal and read_checkpoint(path).step:
            break
    saved = read_checkpoint(path)
    assert set(saved.weights) == set(network().insert(2, learn.Dropout("0.3")).state_dict())
    _, trainer = training(session, dropping(2))
    assert trainer.plan().noise_multiplier == training(session)[1].plan().noise_multiplier
    trained = trainer.fit(path, 3)
    assert session.spent == SPEND and verify_loss(trained.certificate) is None
    with pytest.raises(ParameterError, match="differs in"):
        training(session, network().insert(2, learn.Dropout("0.4")))[1].fit(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"average": True, "name": "a", "clip": Normalised(2.0)},
        {**BY_EPOCHS, "noise": "auto", "spend": dp.approx(8, "1e-6")},
        {"arithmetic": "float", "spend": None, "multiplier": "1.5", "delta": "1e-6"},
    ],
)
def test_a_training_goes_on_from_its_checkpoint_alone(
    session: dp.Session, tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = tmp_path / "net.ckpt"
    broken_off(session, path, 6, 2, **changes)
    paid, net = session.spent, network(3)
    private = learn.resume(path, session, net, torch.optim.Adam(net.parameters(), lr=0.05))
    assert private.plan() == training(session, **changes)[1].plan()
    for batch in private.batches():
        private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))
    assert private.network is not None and verify_loss(private.network.certificate) is None
    assert session.spent == paid and read_checkpoint(path).step == 12
    assert training(session, **changes)[1].fit().to_bytes() == private.network.to_bytes()


def test_what_is_no_checkpoint_of_this_network_is_not_gone_on_with(session: dp.Session, tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    broken_off(session, path, 6, 2)
    net, other, whole = network(3), nn.Sequential(nn.Linear(4, 2)), read_checkpoint(path)
    adam = torch.optim.Adam(net.parameters(), lr=0.05)
    with pytest.raises(ParameterError, match="another network"):
        learn.resume(path, session, other, torch.optim.Adam(other.parameters(), lr=0.05))
    with pytest.raises(ParameterError, match="differs in optimizer"):
        learn.resume(path, session, net, torch.optim.Adam(net.parameters(), lr=0.5))
    noise = whole.public["noise"]
    forged: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
        "less noise": ({"noise": {**noise, "sigma": str(2**33)}}, ParameterError, "another training"),
        "more noise": ({"noise": {**noise, "sigma": str(2**40)}}, LedgerError, "no such run"),
        "a larger spend": ({"loss": dp.approx(8, "1e-6")}, LedgerError, "no such run"),
        "another clip": ({"clipping": "Fixed(bound=2.0)"}, LedgerError, "no such run"),
        "code": ({"clipping": "Fixed(bound=exit())"}, ParameterError, "states no training"),
        "nothing": ({"noise": None}, ParameterError, "states no training"),
        "another column": ({"query": "SELECT age, site, age > 50 AS sick FROM visits"}, LedgerError, "no such run"),
    }
    for change, kind, words in forged.values():
        public = {**whole.public, **{name: _plain(value) for name, value in change.items()}}
        write_checkpoint(replace(whole, public=public), path)
        with pytest.raises(kind, match=words):
            next(iter(_taken(learn.resume(path, session, net, adam), net)), None)
    write_checkpoint(whole, path)
    private = learn.resume(path, session, net, adam)
    with pytest.raises(ParameterError, match="name no other"):
        next(private.batches(tmp_path / "other.ckpt"))
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        next(private.batches())
    assert session.spent == SPEND


def _plain(value: Any) -> Any:
    return to_json(value) if isinstance(value, dp.Loss) else value


def _taken(private: learn.Private, net: nn.Module) -> Iterator[None]:
    for batch in private.batches():
        if not batch.rehearsal:
            yield
        private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))


def test_of_two_resumes_of_a_checkpoint_one_wins(session: dp.Session, tmp_path: Path) -> None:
    """The second goes on from where the first has moved the counter; the first may then begin no step."""
    path = tmp_path / "net.ckpt"
    broken_off(session, path, at=20, every=3)

    def steps() -> Iterator[None]:
        net, trainer = training(session)
        for batch in trainer._private.batches(path, 2):
            if not batch.rehearsal:
                yield
            trainer._private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))

    first, second = steps(), steps()
    next(first)
    next(second)
    with pytest.raises(LedgerError, match="moved on"):
        list(first)
    list(second)
    assert training(session)[1].fit().loss == SPEND


@pytest.mark.parametrize("noise", ["independent", "auto"])
def test_a_training_in_groups_goes_on_where_a_round_of_them_begins(
    session: dp.Session, tmp_path: Path, noise: str
) -> None:
    """Of 12 steps in 3 epochs the sixth is broken off: two more are lost, and nothing is paid twice."""
    path, changes = tmp_path / "net.ckpt", {**BY_EPOCHS, "noise": noise, "spend": dp.approx(8, "1e-6")}
    broken_off(session, path, 6, 2, **changes)
    assert read_checkpoint(path).step == 4
    _, trainer = training(session, **changes)
    taken: list[int] = []
    for batch in (batches := trainer._private.batches(path, 2)):
        trainer._private.step(nn.functional.cross_entropy(trainer.net(batch.x), batch.y, reduction="none"))
        taken.append(not batch.rehearsal)
    assert sum(taken) == 4 and next(batches, None) is None
    trained = training(session, **changes)[1].fit()
    assert session.spent == dp.approx(8, "1e-6") and verify_loss(trained.certificate) is None
    assert read_checkpoint(path).step == 12


def test_of_one_epoch_that_was_broken_off_the_checkpoint_is_what_is_left(session: dp.Session, tmp_path: Path) -> None:
    path, changes = tmp_path / "net.ckpt", {**BY_EPOCHS, "epochs": 1}
    broken_off(session, path, 6, 2, **changes)
    saved = read_checkpoint(path).weights
    trained = training(session, **changes)[1].fit(path)
    assert all((trained.weights[name] == each).all() for name, each in saved.items()) and session.spent == SPEND


def test_auto_takes_secret_samples_from_groups_where_that_is_planned_to_err_least(session: dp.Session) -> None:
    spend = dp.approx(1, "1e-6")
    _, trainer = training(session, rate=None, epochs=2, noise="auto", steps=64, spend=spend, about=300)
    plan = trainer.plan()
    assert plan.mechanism.sampling == CyclicPoisson(64, "1/16", 2) and plan.mechanism.strategy != Independent()
    assert "person of one of 2 groups in turn with probability 0.0625" in plan.explain()
    _, apart = training(session, rate=None, epochs=2, steps=64, spend=spend, about=300)
    assert plan.mechanism.prefix_std() / plan.divisor < apart.plan().mechanism.prefix_std() / apart.plan().divisor
    assert plan.divisor * plan.grid == pytest.approx(300 / 32)  # a step takes as many people on average
    trained = trainer.fit()
    assert trained.certificate["noise"]["taken"]["groups"] == 2 and verify_loss(trained.certificate) is None
    more = {**trained.certificate["noise"], "taken": {**trained.certificate["noise"]["taken"], "rate": "1/8"}}
    with pytest.raises(LedgerError):
        verify_loss({**trained.certificate, "noise": more})


@pytest.mark.parametrize("sampling", [CyclicPoisson(60, "1/2", 3), CyclicPoisson(60, 1, 4)])
def test_a_sample_from_groups_is_of_the_group_whose_turn_it_is(sampling: CyclicPoisson) -> None:
    """False alarm below 1e-9: each of 200 people is in some step, and the coins of a group of 30 or more differ."""
    sampler = Sampler(learn.Tensors(torch.zeros(200, 1), torch.zeros(200)), sampling, 64)
    steps = [{int(row) for rows, _ in sampler.batches(step) for row in rows} for step in range(60)]
    turns = [set().union(*steps[turn :: sampling.groups]) for turn in range(sampling.groups)]
    assert sum(map(len, turns)) == len(set().union(*turns)) == 200
    assert all(steps[i] == steps[i + sampling.groups] for i in range(10)) == (sampling.rate == 1)


@pytest.mark.parametrize(
    ("sampling", "begun", "after"),
    [
        (MinimumSeparation.epochs(12, 3), 5, 8),
        (MinimumSeparation.epochs(12, 3), 8, 8),
        (MinimumSeparation.epochs(14, 4), 13, 14),
        (MinimumSeparation.epochs(12, 1), 1, 12),
        (CyclicPoisson(12, "1/2", 4), 9, 12),
        (CyclicPoisson(12, "1/2"), 9, 9),
        (MinimumSeparation(9, 9, 1), 5, 5),
    ],
)
def test_what_is_lost_ends_with_a_round(sampling: CyclicPoisson | MinimumSeparation, begun: int, after: int) -> None:
    assert goes_on_after(sampling, begun) == after


def test_groups_without_a_turn_in_each_round_are_not_drawn_anew() -> None:
    with pytest.raises(ParameterError, match="each round"):
        goes_on_after(MinimumSeparation(12, 2, 4), 5)


@pytest.mark.parametrize("fuzzed", range(2))
def test_torn_and_foreign_checkpoints_are_refused(session: dp.Session, tmp_path: Path, fuzzed: int) -> None:
    path = tmp_path / "net.ckpt"
    broken_off(session, path, at=20, every=3)
    whole, dice, bad = path.read_bytes(), random.Random(fuzzed), tmp_path / "bad.ckpt"
    for _ in range(300):
        changed = bytearray(whole)
        place = dice.randrange(len(changed))
        match dice.randrange(3):
            case 0:
                changed[place] ^= 1 << dice.randrange(8)
            case 1:
                del changed[place:]
            case _:
                changed[place:place] = bytes(dice.randrange(256) for _ in range(9))
        bad.write_bytes(bytes(changed))
        with pytest.raises(DataError):
            read_checkpoint(bad)
    with dp.connect({"visits": visits()}, POLICY) as other, pytest.raises(LedgerError, match="no such run"):
        training(other)[1].fit(path)


def test_what_cannot_be_trained_is_refused_before_the_charge(session: dp.Session) -> None:
    data, loss = session.records(QUERY, label="sick"), nn.CrossEntropyLoss(reduction="none")
    bad: dict[str, dict[str, Any]] = {
        "no pure": {"spend": dp.pure(1)},
        "rate=0.01": {"rate": None},
        "secret sample": {"spend": dp.rho(1)},
        "about": {"about": 0},
        "places": {"places": 2},
        "noise is": {"noise": "none"},
        "arithmetic is": {"arithmetic": "double"},
        "must be a loss": {"spend": 1.0},
    }
    for words, change in bad.items():
        with pytest.raises(ParameterError, match=words):
            training(session, **change)[1].fit()
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=1)
    settings: dict[str, Any] = {"spend": SPEND, "steps": 3, "rate": "0.2", "about": 300}
    from torch.utils.data import DataLoader, TensorDataset

    with pytest.raises(ParameterError, match="takes its rows itself"):
        learn.Private(net, optimizer, DataLoader(TensorDataset(torch.zeros(3, 4))), **settings)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="optimiser"):
        learn.Private(net, torch.optim.SGD(network().parameters(), lr=1), data, **settings)
    for wrong in (
        lambda out, y: loss(out, y).mean(),
        lambda out, y: loss(out, y) * out.mean(),
        lambda out, y: loss(out - out.mean(0), y),
    ):
        with pytest.raises(ParameterError):
            learn.Trainer(net, optimizer, wrong, data, **settings).fit()
    normed = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    with pytest.raises(ParameterError):
        learn.Trainer(normed, torch.optim.SGD(normed.parameters(), lr=1), loss, data, **settings).fit()
    private = learn.Private(net, optimizer, data, **settings)
    with pytest.raises(ParameterError, match="once for each batch"):
        private.step(torch.zeros(64))
    batches = private.batches()
    next(batches)
    with pytest.raises(ParameterError, match="without step"):
        next(batches)
    assert session.remaining == dp.approx(9, "1e-4")


def test_a_plan_is_free_and_says_what_it_costs(session: dp.Session) -> None:
    plan = training(session)[1].plan()
    assert plan.loss.fits(SPEND) and not (plan.loss + dp.pure("0.01")).fits(SPEND)
    assert "12 steps" in plan.explain() and "probability 0.2" in plan.explain()
    spend = dp.approx(8, "1e-6")
    assert "correlated" in training(session, rate=None, epochs=3, noise="auto", spend=spend)[1].plan().explain()
    assert session.remaining == dp.approx(9, "1e-4")


@pytest.mark.parametrize(
    "settings", [{"rate": 1}, {"rate": None, "epochs": 3}, {"rate": None, "epochs": 3, "noise": "auto"}]
)
def test_without_amplification_any_currency_is_charged(table: pa.Table, settings: dict[str, Any]) -> None:
    policy = {**POLICY, "budget": {"rho": 1}}
    with dp.connect({"visits": table}, policy) as session:
        trained = training(session, spend=dp.rho(1), **settings)[1].fit()
        assert session.spent == dp.rho(1) and verify_loss(trained.certificate) is None


def test_tensors_charge_nobody_and_have_no_checkpoint(tmp_path: Path) -> None:
    net = network()
    rows = learn.Tensors(torch.rand(50, 4), torch.randint(2, (50,)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = nn.CrossEntropyLoss(reduction="none")
    trainer = learn.Trainer(net, optimizer, loss, rows, spend=SPEND, steps=3, rate="0.5", about=50)
    assert trainer.fit().inputs is None
    with pytest.raises(ParameterError, match="durable counter"):
        trainer.fit(tmp_path / "a.ckpt")


def test_a_noise_states_its_loss_and_that_is_charged(session: dp.Session) -> None:
    _, trainer = training(session, spend=None, multiplier="1.5", delta="1e-6")
    plan = trainer.plan()
    assert plan.noise_multiplier == 1.5 and plan.loss.fits(plan.spend)
    assert not plan.loss.fits(dp.approx(float(plan.loss.epsilon("1e-6")) * 0.999, "1e-6"))
    trained = trainer.fit()
    assert session.spent == plan.spend == trained.loss and verify_loss(trained.certificate) is None
    for change in ({"spend": None}, {"multiplier": 1, "delta": "1e-6"}, {"spend": None, "multiplier": 1}):
        with pytest.raises(ParameterError, match="in its place the noise"):
            training(session, **change)
    with pytest.raises(ParameterError, match="above 0"):
        training(session, spend=None, multiplier=0, delta="1e-6")


def test_averaged_weights_are_the_mean_of_the_second_half_and_survive_a_resume(
    session: dp.Session, tmp_path: Path
) -> None:
    net, trainer = training(session, average=True)
    update, seen = trainer._private._update, []
    move = update.apply

    def moved(*arguments: Any) -> None:
        move(*arguments)
        seen.append(net[0].weight.detach().clone())

    update.apply = moved  # type: ignore[method-assign]
    trainer.fit()
    assert len(seen) == 12
    assert torch.allclose(net[0].weight, torch.stack(seen[6:]).mean(0), atol=1e-6)
    path = tmp_path / "net.ckpt"
    other, first = training(session, average=True, name="b")
    for batch in first._private.batches(path, 4):
        first._private.step(nn.functional.cross_entropy(other(batch.x), batch.y, reduction="none"))
    assert set(read_checkpoint(path).averaged) == set(other.state_dict())


def test_dp_adam_takes_the_noise_off_its_second_moments() -> None:
    """Of a gradient of 10 beside noise of variance 4 a step is 10 / sqrt(10² + 4 − 4): one."""
    dice = np.random.default_rng(1)
    entries = torch.zeros(2, 1_000, requires_grad=True)
    adam = learn.DPAdam([entries], lr=1.0, betas=(0.0, 0.99), floor=0.01)
    adam.noise_variance = 4.0
    for _ in range(400):
        entries.grad = torch.tensor(dice.normal([[0.0], [10.0]], 2.0, (2, 1_000)), dtype=torch.float32)
        before = entries.detach().clone()
        adam.step()
    moved = (before - entries.detach())[1]
    assert abs(float(moved.mean()) - 1) < 0.05
    for wrong in ({"lr": 0}, {"floor": 0}, {"doubt": -1}, {"betas": (0.9, 1)}):
        settings: dict[str, Any] = wrong
        with pytest.raises(ParameterError):
            learn.DPAdam([entries], **settings)
    net = network()
    rows = learn.Tensors(torch.rand(50, 4), torch.randint(2, (50,)))
    optimizer = learn.DPAdam(net.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss(reduction="none")
    trainer = learn.Trainer(net, optimizer, loss, rows, spend=SPEND, steps=3, rate="0.5", about=50)
    assert optimizer.noise_variance == trainer.plan().noise ** 2 > 0
    trainer.fit()
    with pytest.raises(ParameterError, match="independent"):
        learn.Trainer(net, optimizer, loss, rows, spend=dp.mu(1), steps=12, epochs=3, about=50, noise="auto")


def test_dp_adam_takes_short_steps_where_there_is_noise_alone() -> None:
    """No entry moves further in a step than noise of its size by momentum would, whose moments are known so well.

    After t steps the second moment of noise of variance 4 is 4 ± 4·√(2 / t), and is taken for at least four of those.
    Without that doubt, half of the entries are divided by the floor.
    """
    dice = np.random.default_rng(2)
    furthest: dict[float, float] = {}
    for doubt in (4.0, 0.0):
        entries = torch.zeros(10_000, requires_grad=True)
        adam = learn.DPAdam([entries], lr=1.0, betas=(0.0, 0.999), doubt=doubt, floor=1e-4)
        adam.noise_variance = 4.0
        for step in range(1, 101):
            entries.grad = torch.tensor(dice.normal(0, 2.0, 10_000), dtype=torch.float32)
            torch.nn.init.zeros_(entries)
            adam.step()
            by_momentum = entries.grad.abs() / math.sqrt(4 * 4 * math.sqrt(2 / step))
            ratios = entries.detach().abs() / by_momentum
            furthest[doubt] = max(furthest.get(doubt, 0), float(ratios.max()))
    assert 0.99 < furthest[4] < 1.01 and furthest[0] > 1_000
