"""Networks evaluated on private rows: charged, each row by itself, in a module of their architecture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor, nn

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn.evaluation import predictor_of
from discreet.learn.evaluation._question import exact_counts
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
PEOPLE = 400
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 1_000, "delta": "1e-3"},
    "tables": {"t": {"unit": "rows", "columns": {
        "x": {"type": "float", "bounds": [-1, 1], "nullable": False},
        "y": {"type": "bool", "nullable": False},
        "z": {"type": "float", "bounds": [0, 10], "nullable": False},
    }}},
}  # fmt: skip


class Moody(nn.Module):
    """Fails on a batch that holds a row above a half; as a public function it is what it is."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layer = nn.Linear(1, outputs)
        self.is_moody = False

    def forward(self, x: Tensor) -> Tensor:
        if self.is_moody and bool((x[:, 0] == 0.5).any()):
            raise RuntimeError(f"a row is {x.tolist()}")
        return self.layer(x)


class Centred(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1, 2)
        self.is_centred = False

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x - x.mean(0) if self.is_centred else x)


def table() -> pa.Table:
    x = np.round(np.linspace(-1, 1, PEOPLE) * 512) / 512
    return pa.table({"x": x, "y": x > 0, "z": 5 + 4 * x})


def trained(session: dp.Session, net: nn.Module, label: str = "y", loss: Any = None) -> learn.Network:
    data = session.records(f"SELECT x, {label} FROM t", label=label)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    row_loss = loss or nn.CrossEntropyLoss(reduction="none")
    return learn.Trainer(
        net, optimizer, row_loss, data, steps=20, rate="0.5", about=PEOPLE, spend=dp.approx(40, "1e-6"), places=64
    ).fit()


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_network_is_evaluated_like_a_model(outputs: int) -> None:
    def one(scores: Tensor, y: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(scores[:, 0], y.float(), reduction="none")

    net = nn.Linear(1, outputs)
    with dp.connect({"t": table()}, POLICY) as session:
        network = trained(session, net, loss=one if outputs == 1 else None)
        data = session.records("SELECT x, y FROM t", label="y")
        answer = learn.evaluate(network, data, dp.pure(5), net=net)
        assert learn.evaluate(network, data, dp.pure(5), net=nn.Linear(1, outputs)).to_bytes() == answer.to_bytes()
        assert session.spent == dp.approx(45, "1e-6")
    scores = net(network.encode(table().drop_columns(["y", "z"])))
    truth = (scores[:, 0] > 0 if outputs == 1 else scores[:, 1] > scores[:, 0]).numpy() == np.array(table()["y"])
    # Of 4 counts of scale 1/5: all within 5 but with probability 4e-11
    assert abs(answer.estimate("accuracy") - truth.mean()) < 4 * 5 / (PEOPLE - 20)
    assert truth.mean() > 0.7
    assert answer.certificate["model"] == network.digest()
    assert verify_loss(answer.certificate) is None


def test_a_number_is_evaluated() -> None:
    net = nn.Linear(1, 1)

    def squared(numbers: Tensor, z: Tensor) -> Tensor:
        return (numbers[:, 0] - z).square() / 100

    with dp.connect({"t": table()}, POLICY) as session:
        network = trained(session, net, "z", squared)
        answer = learn.evaluate(network, session.records("SELECT x, z FROM t", label="z"), dp.pure(50), net=net)
    off = net(network.encode(table().drop_columns(["y", "z"])))[:, 0].detach().numpy() - np.array(table()["z"])
    assert abs(answer.estimate("mean_absolute_error") - np.abs(off).clip(max=10).mean()) < 0.2


def test_a_row_adds_its_own_counts_in_any_company() -> None:
    net = Moody(2)
    with dp.connect({"t": table()}, POLICY) as session:
        network = trained(session, net)
    predictor = predictor_of(network, net)
    predictor.private.net.is_moody = True
    rng, inputs = np.random.default_rng(1), network.inputs
    assert inputs is not None
    levels = rng.integers(0, 1_025, (150, 1)).astype(np.int32)
    levels[3] = levels[77] = 768  # on which it fails
    levels[5] = -1  # of which the number is not known
    target = rng.integers(0, 2, 150).astype(np.int32)
    cells = np.zeros((150, 0), np.int32)
    every = exact_counts(predictor, Examples(inputs, levels, cells, target))
    alone = [
        exact_counts(predictor, Examples(inputs, levels[i : i + 1], cells[i : i + 1], target[i : i + 1]))
        for i in range(150)
    ]
    assert (sum(alone) == every).all()
    assert all(each.sum() == 1 and each.min() == 0 for each in alone)
    assert exact_counts(predictor, Examples(inputs, levels[:0], cells[:0], target[:0])).tolist() == [0] * 4


def test_what_does_not_fit_is_refused_before_any_charge() -> None:
    net = Centred()
    with dp.connect({"t": table()}, POLICY) as session:
        network = trained(session, net)
        data = session.records("SELECT x, y FROM t", label="y")
        before = session.spent
        with pytest.raises(ParameterError, match="give the module that they were trained in"):
            learn.evaluate(network, data, dp.pure(1))
        with pytest.raises(ParameterError, match="another architecture"):
            learn.evaluate(network, data, dp.pure(1), net=nn.Linear(1, 2))
        net.is_centred = True
        with pytest.raises(ParameterError, match="with other rows of the batch"):
            learn.evaluate(network, data, dp.pure(1), net=net)
        net.is_centred = False
        with pytest.raises(ParameterError, match="trained on"):
            learn.evaluate(network, session.records("SELECT x, z, y FROM t", label="y"), dp.pure(1), net=net)
        model = learn.NaiveBayes(dp.pure(1)).fit(data)
        before = session.spent
        with pytest.raises(ParameterError, match="leave it out"):
            learn.evaluate(model, data, dp.pure(1), net=net)
        wide = nn.Linear(1, 3)
        three = trained(session, wide)
        before = session.spent
        with pytest.raises(ParameterError, match=r"gives out 3 numbers .* each of 2 classes, or one"):
            learn.evaluate(three, data, dp.pure(1), net=wide)
        assert session.spent == before
    rows = learn.Tensors(torch.zeros(8, 1), torch.zeros(8, dtype=torch.int64))
    plain = nn.Linear(1, 2)
    optimizer = torch.optim.SGD(plain.parameters(), lr=1.0)
    loss = nn.CrossEntropyLoss(reduction="none")
    raw = learn.Trainer(plain, optimizer, loss, rows, steps=2, rate="0.5", about=8, spend=dp.approx(4, "1e-6")).fit()
    with pytest.raises(ParameterError, match="trained on tensors"):
        predictor_of(raw, plain)
