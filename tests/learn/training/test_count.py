"""A count of people that is bought: split off the spend, drawn once, the divisor of every process that goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
import torch
from torch import nn
from trainings import POLICY, QUERY, SPEND, network, training, visits

import discreet as dp
from discreet import learn
from discreet.errors import DataError, LedgerError, ParameterError
from discreet.learn.training import _training_run
from discreet.learn.training._checkpoint import packed, read_checkpoint, write_checkpoint
from discreet.learn.training._count import noisy_count
from discreet.ledger import Run
from discreet.mechanisms import Gaussian
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")

COUNT = learn.NoisyCount("0.2")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return visits()


@pytest.fixture
def session(table: pa.Table) -> Iterator[dp.Session]:
    with dp.connect({"visits": table}, POLICY) as opened:
        yield opened


def losses(net: nn.Module, batch: learn.Batch) -> torch.Tensor:
    return nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none")


def broken_off(session: dp.Session, path: Path | None, at: int, **changes: Any) -> learn.Private:
    """A training that stops in the middle of a step, as one that is killed does; 300 people, 12 steps."""
    net, trainer = training(session, **{"about": COUNT, **changes})
    taken = 0
    for batch in trainer._private.batches(path, 2):
        taken += not batch.rehearsal
        if taken == at:
            break
        trainer._private.step(losses(net, batch))
    return trainer._private


def resumed(session: dp.Session, path: Path) -> learn.Private:
    net = network(3)
    private = learn.resume(path, session, net, torch.optim.Adam(net.parameters(), lr=0.05))
    for batch in private.batches():
        private.step(losses(net, batch))
    return private


@pytest.mark.parametrize(
    ("spend", "settings"),
    [
        (dp.approx(1, "1e-6"), {"rate": "0.01", "steps": 500}),
        (dp.approx(1, "1e-6"), {"rate": None, "epochs": 3}),
        (dp.approx(1, "1e-6"), {"rate": None, "epochs": 3, "noise": "auto"}),
        (dp.approx(1, "1e-6"), {"clip": learn.Adaptive()}),
        (dp.approx(1, "1e-6"), {"arithmetic": "float"}),
        (dp.mu(1), {"rate": 1}),
        (dp.rho("0.3"), {"rate": None, "epochs": 3, "noise": "auto"}),
    ],
)
@pytest.mark.parametrize("share", ["0.05", pytest.param(0.25, marks=pytest.mark.soak)])
def test_the_count_and_the_steps_share_one_spend(
    session: dp.Session, spend: dp.Loss, settings: dict[str, Any], share: Any
) -> None:
    """Within the spend, nearly all of it; the count has its share of the μ², and the steps the rest."""
    _, given = training(session, spend=spend, **settings)
    _, trainer = training(session, spend=spend, about=learn.NoisyCount(share), **settings)
    plan, part = trainer.plan(), float(Fraction(str(share)))
    assert plan.count is not None and plan.spend == spend and plan.loss.fits(spend)
    all_of_it = float(1 / Gaussian.calibrate(spend, 1).sigma ** 2)
    assert float(1 / plan.count.sigma**2) == pytest.approx(part * all_of_it, rel=1e-9)
    more = plan.noise_multiplier / given.plan().noise_multiplier
    # With coins, losses are no μ² that adds up: what the count costs of them is a bit less than its share.
    assert 1 < more <= (1 - part) ** -0.5 * (1 + 1e-9)
    smaller = {"epsilon": dp.approx("0.995", "1e-6"), "mu": dp.mu("0.999"), "rho": dp.rho("0.2994")}
    name = "epsilon" if spend == dp.approx(1, "1e-6") else "mu" if spend == dp.mu(1) else "rho"
    assert not plan.loss.fits(smaller[name])


def test_the_plan_says_what_the_count_takes_before_and_after(session: dp.Session) -> None:
    _, trainer = training(session, about=COUNT)
    plan = trainer.plan()
    assert plan.divisor is None and plan.people is None
    with pytest.raises(ParameterError, match="counted when training begins"):
        _ = plan.noise
    assert plan.explain().startswith("people are counted once, ± 10 at 95 %, for 20 % of the spend; the steps have")
    assert "is divided by what a step takes of that count" in plan.explain() and session.spent != SPEND
    trained = trainer.fit()
    people = trained.certificate["about"]["count"]
    after = trainer.plan()
    assert after == replace(plan, people=people, divisor=after.divisor) and session.spent == SPEND
    assert after.divisor is not None and after.divisor * after.grid == pytest.approx(0.2 * people)
    assert f"about {people:,} people were counted" in after.explain() and after.noise > 0
    assert abs(people - 300) < 8 * 5  # 8 times the noise: people and not their 600 rows; false alarm below 1e-14
    _, again = training(session, about=COUNT)
    assert again.fit().to_bytes() == trained.to_bytes() and again.plan() == after and session.spent == SPEND


def test_a_noise_for_the_steps_states_what_both_cost(session: dp.Session) -> None:
    noise: dict[str, Any] = {"spend": None, "multiplier": "1.5", "delta": "1e-6"}
    given, bought = (training(session, about=each, **noise)[1].plan() for each in (300, learn.NoisyCount("0.1")))
    assert bought.mechanism == given.mechanism and bought.count is not None and bought.loss.fits(bought.spend)
    assert float(bought.spend.epsilon("1e-6")) > float(given.spend.epsilon("1e-6"))
    part = float(Gaussian.calibrate(bought.spend, 1).sigma / bought.count.sigma) ** 2
    assert part == pytest.approx(0.1, rel=0.05)
    trained = training(session, about=learn.NoisyCount("0.1"), **noise)[1].fit()
    assert session.spent == bought.spend == trained.loss and verify_loss(trained.certificate) is None


def test_a_certificate_states_the_count_and_its_loss_is_recomputed(session: dp.Session) -> None:
    _, trainer = training(session, about=COUNT)
    certificate = json.loads(json.dumps(trainer.fit().certificate))
    assert verify_loss(certificate) is None
    count, plan = certificate["about"], trainer.plan()
    assert plan.count is not None
    assert count == {"mechanism": "Gaussian", "sigma": str(plan.count.sigma), "count": plan.people}
    changes: dict[str, Any] = {
        "less noise": {**count, "sigma": "1"},
        "a bit less noise": {**count, "sigma": str(Fraction(count["sigma"]) * Fraction(99, 100))},
        "another noise": {"mechanism": "DiscreteLaplace", "scale": "100", "count": 300},
        "no noise": {**count, "sigma": "0"},
        "a long number": {**count, "sigma": "1" * 200},
        "no count": {"mechanism": "Gaussian", "sigma": count["sigma"]},
        "nobody": {**count, "count": 0},
        "a part of one": {**count, "count": 2.5},
        "text": "300",
        "a list": [300],
    }
    for change in changes.values():
        with pytest.raises(LedgerError):
            verify_loss({**certificate, "about": change})
    # The steps alone are within the spend whose rest was for the count: other steps are not.
    less = {**certificate["noise"], "sigma": str(Fraction(certificate["noise"]["sigma"]) * Fraction(99, 100))}
    with pytest.raises(LedgerError):
        verify_loss({**certificate, "noise": less})


def test_a_training_goes_on_with_the_count_of_its_checkpoint(session: dp.Session, tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    with patch.object(_training_run, "noisy_count", side_effect=noisy_count) as drawn:
        first = broken_off(session, path, 12)
        saved = read_checkpoint(path)
        assert saved.people == first.plan().people is not None and 0 < saved.step < 12
        _, second = training(session, network(2), about=COUNT)
        private = second._private
        taken = 0
        for batch in private.batches(path, 2):
            taken += not batch.rehearsal
            private.step(losses(second.net, batch))
            if taken == 20:
                break
        assert private.plan() == first.plan() and private._update.divisor == first._update.divisor
        third = resumed(session, path)
    assert drawn.call_count == 1 and third.plan() == first.plan() and session.spent == SPEND
    assert third.network is not None and verify_loss(third.network.certificate) is None
    assert third.network.certificate["about"]["count"] == saved.people


def test_one_that_ended_before_its_first_checkpoint_goes_on_with_its_count(session: dp.Session, tmp_path: Path) -> None:
    """Killed between the count and the checkpoint: no step has begun, and the ledger has the count."""
    path = tmp_path / "net.ckpt"
    with (
        patch.object(_training_run, "noisy_count", side_effect=noisy_count) as drawn,
        patch("discreet.learn.training._private.write_checkpoint", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        training(session, about=COUNT)[1].fit(path)
    assert not path.exists() and drawn.call_count == 1 and session.spent == SPEND
    with patch.object(_training_run, "noisy_count", side_effect=AssertionError):
        _, trainer = training(session, about=COUNT)
        trained = trainer.fit(path)
    assert trained.certificate["about"]["count"] == trainer.plan().people and session.spent == SPEND


def test_a_count_that_was_begun_and_is_lost_is_not_drawn_again(session: dp.Session, tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    with patch.object(Run, "store", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        training(session, about=COUNT)[1].fit(path)
    with patch.object(_training_run, "noisy_count", side_effect=AssertionError):
        for _ in range(2):
            with pytest.raises(LedgerError, match="a count is not drawn twice"):
                training(session, about=COUNT)[1].fit(path)
    assert session.spent == SPEND
    training(session, about=COUNT, name="anew")[1].fit(path)
    assert session.spent == dp.approx(4, "2e-6")


def test_nothing_is_counted_before_the_charge_and_the_counter(session: dp.Session) -> None:
    """Nor if the engine cannot read: then the run goes on later, with nothing begun."""
    events: list[str] = []
    begin, count = Run.begin, noisy_count

    def begun(self: Run, *arguments: Any, **after: Any) -> range:
        assert session.spent == SPEND
        events.append("begin")
        return begin(self, *arguments, **after)

    def counted(*arguments: Any) -> int:
        events.append("count")
        return count(*arguments)

    with patch.object(Run, "begin", begun), patch.object(_training_run, "noisy_count", counted):
        with (
            patch.object(_training_run.TrainingRun, "read", side_effect=DataError("no such table")),
            pytest.raises(DataError),
        ):
            training(session, about=COUNT)[1].fit()
        assert events == [] and session.spent == SPEND
        training(session, about=COUNT)[1].fit()
    assert events[:3] == ["begin", "count", "begin"] and events.count("count") == 1 and session.spent == SPEND


def test_of_two_that_count_one_wins(session: dp.Session) -> None:
    """The other is told that the run has moved on, and has drawn nothing."""
    _, other = training(session, network(), about=COUNT)
    read = _training_run.TrainingRun.read
    drawn: list[int] = []

    def slow(self: Any) -> learn.Tensors:
        if not drawn:
            drawn.append(1)
            other.fit()
        return read(self)

    with patch.object(_training_run.TrainingRun, "read", slow), pytest.raises(LedgerError, match="moved on"):
        training(session, about=COUNT)[1].fit()
    assert session.spent == SPEND and training(session, about=COUNT)[1].fit().loss == SPEND


def test_checkpoints_with_another_count_are_refused(session: dp.Session, tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    broken_off(session, path, 12)
    saved = read_checkpoint(path)
    assert saved.people is not None
    for people in (saved.people + 1, None):
        write_checkpoint(replace(saved, people=people), path)
        with pytest.raises(ParameterError, match="another count of people"):
            training(session, about=COUNT)[1].fit(path)
    for spoilt in (0, -3, 2.0, "300", True, 1 << 63, [300]):
        path.write_bytes(packed(replace(saved, people=spoilt)))  # type: ignore[arg-type]
        with pytest.raises(DataError):
            read_checkpoint(path)
    write_checkpoint(saved, path)
    for changes in ({"about": 300}, {"about": learn.NoisyCount("0.21")}):
        with pytest.raises(ParameterError, match="differs in about"):
            training(session, **changes)[1].fit(path)
    public: dict[str, Any] = dict(saved.public)
    for forged, kind in (
        ({"mechanism": "Gaussian", "sigma": "1"}, ParameterError),
        ({"mechanism": "Gaussian", "sigma": "exit()"}, ParameterError),
        ({"mechanism": "DiscreteLaplace", "scale": "9"}, ParameterError),
        (None, ParameterError),
        ({"mechanism": "Gaussian", "sigma": "1000"}, LedgerError),
        (300, LedgerError),
    ):
        write_checkpoint(replace(saved, public={**public, "about": forged}), path)
        with pytest.raises(kind):
            resumed(session, path)
    assert session.spent == SPEND


def test_a_training_in_groups_that_goes_on_loses_a_round_and_no_count(session: dp.Session, tmp_path: Path) -> None:
    path, changes = tmp_path / "net.ckpt", {"rate": None, "epochs": 3, "places": 256}
    first = broken_off(session, path, 6, **changes)
    _, trainer = training(session, about=COUNT, **changes)
    taken = 0
    for batch in trainer._private.batches(path, 2):
        taken += not batch.rehearsal
        trainer._private.step(losses(trainer.net, batch))
    assert taken == 4 and trainer.plan() == first.plan() and read_checkpoint(path).step == 12


def test_dp_adam_learns_its_noise_from_the_count(session: dp.Session) -> None:
    net = network()
    adam = learn.DPAdam(net.parameters(), lr=0.01)
    seen: list[float] = []
    adam.register_step_pre_hook(lambda *_: seen.append(adam.noise_variance))
    loss, data = nn.CrossEntropyLoss(reduction="none"), session.records(QUERY, label="sick")
    trainer = learn.Trainer(net, adam, loss, data, spend=SPEND, steps=3, rate="0.2", about=COUNT, places=32)
    assert adam.noise_variance == 0
    trainer.fit()
    assert seen == [trainer.plan().noise ** 2] * 3 and seen[0] > 0


def test_a_clip_that_moves_takes_the_count_too(session: dp.Session) -> None:
    _, trainer = training(session, clip=learn.Adaptive(5.0), about=COUNT)
    trained = trainer.fit()
    people, update = trained.certificate["about"]["count"], trainer._private._update
    assert update._count is not None and update._count.people == pytest.approx(0.2 * people)
    assert update.clip is not None and update.divisor == pytest.approx(0.2 * people * 2**36 / update.clip)
    assert verify_loss(trained.certificate) is None


@pytest.mark.parametrize("spend", [dp.rho("0.5"), dp.mu(1)], ids=["rho", "mu"])
def test_every_currency_that_has_gaussian_noise_buys_a_count(table: pa.Table, spend: dp.Loss) -> None:
    budget = {"rho": 1} if spend == dp.rho("0.5") else {"mu": 2}
    with dp.connect({"visits": table}, {**POLICY, "budget": budget}) as session:
        _, trainer = training(session, spend=spend, rate=1, about=COUNT)
        trained = trainer.fit()
        assert session.spent == spend == trained.loss and trainer.plan().loss.fits(spend)
        certificate = json.loads(json.dumps(trained.certificate))
        assert verify_loss(certificate) is None
        with pytest.raises(LedgerError):
            verify_loss({**certificate, "about": {**certificate["about"], "sigma": "1"}})


def test_a_loop_that_failed_goes_on_in_the_same_object(session: dp.Session, tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    first = broken_off(session, path, 12, clip=learn.Adaptive(5.0))
    people, net = first.plan().people, first._net
    for batch in first.batches(path):
        first.step(losses(net, batch))
    update = first._update
    assert first.plan().people == people is not None and update.clip is not None
    assert update.divisor == pytest.approx(0.2 * people * 2**36 / update.clip)


def test_canaries_go_through_a_training_that_counts_them() -> None:
    def make(rows: learn.Tensors) -> learn.Trainer:
        net = nn.Linear(rows.x.shape[1], rows.x.shape[1], bias=False)
        settings: dict[str, Any] = {"spend": dp.mu("0.25"), "steps": 2, "rate": 1, "about": COUNT}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        return learn.Trainer(net, optimizer, lambda out, y: (out * y).sum(1), rows, **settings)

    verdict = dp.audit.training(make, dp.audit.gradient_canaries(300, 100.0), confidence=1 - 1e-9)
    assert not verdict.violated


def test_tensors_are_counted_in_memory(tmp_path: Path) -> None:
    net, y = network(), torch.randint(2, (500,))
    rows = learn.Tensors(torch.rand(500, 4), y, units=torch.arange(500).numpy() // 5, rows_per_unit=5)
    loss = nn.CrossEntropyLoss(reduction="none")
    trainer = learn.Trainer(
        net, torch.optim.SGD(net.parameters(), lr=0.1), loss, rows, spend=dp.mu(3), steps=2, rate=1,
        about=learn.NoisyCount("0.5"),
    )  # fmt: skip
    trained = trainer.fit()
    assert abs(trained.certificate["about"]["count"] - 100) <= 8 and trained.loss == dp.mu(3)


def test_a_count_is_a_whole_number_of_one_or_more() -> None:
    """Of nobody, with noise of 3, half are below 1 before. False alarm below 1e-9."""
    counts = [noisy_count(Gaussian(3), 0) for _ in range(60)]
    assert min(counts) == 1 < max(counts) and all(type(each) is int for each in counts)
    assert noisy_count(Gaussian(2**56), 0) <= 1 << 62


@pytest.mark.parametrize("share", [0, 1, -1, "1.5", "x", None, float("nan")])
def test_shares_are_between_nothing_and_everything(share: Any) -> None:
    with pytest.raises(ParameterError):
        learn.NoisyCount(share)


def test_what_cannot_be_counted_is_refused_before_the_charge(session: dp.Session) -> None:
    before = session.spent
    with pytest.raises(ParameterError, match="no pure ε"):
        training(session, spend=dp.pure(1), about=COUNT)
    for people in (0, -5, True, 2.5, "300", None, learn.NoisyCount):
        with pytest.raises(ParameterError, match="about is a whole number"):
            training(session, about=people)
    assert session.spent == before
