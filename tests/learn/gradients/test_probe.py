"""The probe passes ordinary models, and refuses those in which a row's numbers depend on its place or company."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from discreet.errors import ParameterError
from discreet.learn.gradients import Column, Exact, Normalised, probe
from discreet.marginals import PublicStream
from learn.gradients.reference import Attention, Block, FirstOutput

IMAGE, CLASS, WORDS, NUMBERS = Column((1, 14, 14)), Column((), values=3), Column((8,), values=11), Column((6,))


def entropy(model: nn.Module):
    return lambda x, y: functional.cross_entropy(model(x), y, reduction="none")


class Last(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, -1]


ORDINARY = {
    "mlp": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(196, 33), nn.ReLU(inplace=True), nn.Linear(33, 3)), IMAGE),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 5, 5, 2, padding=2), nn.GroupNorm(1, 5), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Flatten(),
            nn.Linear(180, 3),
        ),
        IMAGE,
    ),
    "transformer": (lambda: nn.Sequential(nn.Embedding(11, 16), Block(16), Last(), nn.Linear(16, 3)), WORDS),
    "attention": (
        lambda: nn.Sequential(nn.Embedding(11, 8), Attention(8, batch_first=True), Last(), nn.Linear(8, 3)), WORDS,
    ),
    "lstm": (
        lambda: nn.Sequential(
            nn.Embedding(11, 6), FirstOutput(nn.LSTM(6, 9, batch_first=True)), Last(), nn.Linear(9, 3)
        ),
        WORDS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("by_unit", [False, True])
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_models_pass(name: str, by_unit: bool) -> None:
    build, column = ORDINARY[name]
    model = build()
    before = [each.clone() for each in model.parameters()]
    probe(model, entropy(model), [column, CLASS], 32, clipping=Normalised(), arithmetic=Exact(2**40), by_unit=by_unit)
    assert all(torch.equal(a, b) and b.requires_grad for a, b in zip(before, model.parameters(), strict=True))


class Centred(nn.Module):
    """Batch statistics by hand."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


class Leaky(nn.Module):
    """Rows that are not zero are told the largest of their neighbours."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1e-6 * x.detach().nan_to_num().clamp(-9, 9).amax(0)


class Dropped(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.5)


class Counting(nn.Module):
    """A buffer that takes in the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        self.mean.copy_(x.detach().nan_to_num().clamp(-9, 9).mean(0))
        return x


class Shared(nn.Module):
    """A table of places, looked up once for all rows."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.table, self.layer = nn.Embedding(times, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x + self.table(torch.arange(x.shape[1]))).mean(1)


class Outside(nn.Module):
    """A weight that is used beside its layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) @ self.layer.weight


def refusal(model: nn.Module, column: Column = NUMBERS, rows: int = 32, loss=None) -> str:
    def squares(x: Tensor) -> Tensor:
        return model(x).square().flatten(1).sum(1)

    with pytest.raises(ParameterError) as caught:
        probe(model, loss or squares, [column], rows)
    assert all(parameter.requires_grad for parameter in model.parameters())
    return str(caught.value)


@pytest.mark.parametrize("layer", [Centred(), Leaky()])
def test_batch_statistics_are_refused(layer: nn.Module) -> None:
    assert "depend on other rows" in refusal(nn.Sequential(nn.Linear(6, 6), layer, nn.Linear(6, 6)))


def test_a_loss_that_compares_rows_is_refused() -> None:
    model = nn.Linear(6, 6)

    def contrastive(x: Tensor) -> Tensor:
        return -torch.log_softmax(model(x) @ model(x).T, 1).diagonal()

    assert "depend on other rows" in refusal(model, loss=contrastive)


def test_a_scalar_loss_is_refused() -> None:
    model = nn.Linear(6, 6)
    assert "reduction='none'" in refusal(model, loss=lambda x: model(x).square().mean())
    assert "reduction='none'" in refusal(model, loss=lambda x: x.sum(1))


def test_what_draws_at_random_is_refused() -> None:
    assert "two runs" in refusal(nn.Sequential(nn.Linear(6, 6), Dropped(), nn.Linear(6, 6)))


def test_what_remembers_rows_is_refused() -> None:
    assert "buffers" in refusal(nn.Sequential(Counting(), nn.Linear(6, 6)))


def test_a_table_that_rows_share_is_refused_also_where_it_is_as_long_as_the_batch() -> None:
    assert "a batch of 32 rows" in refusal(Shared(8), Column((8, 6)))
    assert "depend" in refusal(Shared(32), Column((32, 6)))


def test_a_weight_used_outside_its_layer_is_refused() -> None:
    assert "layer.weight do not add up" in refusal(Outside())


def test_rows_folded_into_an_axis_are_refused() -> None:
    class Folded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x.flatten(0, 1)).view_as(x)

    assert "do not fold" in refusal(Folded(), Column((4, 6)))


def test_few_places_are_refused() -> None:
    assert "4 rows or more" in refusal(nn.Linear(6, 6), rows=3)


def test_made_up_rows_are_public_and_of_the_right_kind() -> None:
    for column, dtype in ((Column((2, 3)), torch.float32), (Column((4,), values=5), torch.int64)):
        rows = column.rows(7, PublicStream(b"x"))
        assert rows.shape == (7, *column.shape) == column.blank(7).shape == column.hostile(7).shape
        assert rows.dtype == column.blank(7).dtype == column.hostile(7).dtype == dtype
        assert torch.equal(rows, column.rows(7, PublicStream(b"x")))
    assert int(Column((50,), values=5).rows(9, PublicStream(b"y")).max()) == 4


def test_without_torch_the_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "import discreet\n"
        "try: import discreet.learn.gradients\n"
        "except discreet.MissingExtra as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert "discreet[torch]" in shown


def test_discreet_and_learning_without_networks_load_no_torch() -> None:
    script = "import sys, discreet, discreet.learn; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "False"
