"""Models without per-row gradients are refused in words, and the model is left as it was."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients import Fixed, Float, Normalised, UnitGradients, contributions
from learn.gradients.reference import curved


def lazy() -> nn.Module:
    return nn.LazyLinear(3)


REFUSED = {
    "batch norm": (lambda: nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), "normalises by the batch"),
    "batch norm without statistics": (
        lambda: nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3, track_running_stats=False)).eval(),
        "normalises by the batch",
    ),
    "instance norm with statistics": (
        lambda: nn.Sequential(nn.Conv1d(3, 3, 1), nn.InstanceNorm1d(3, track_running_stats=True)),
        "running statistics",
    ),
    "dropout": (lambda: nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1)), "torch's own generator"),
    "dropout in attention": (lambda: nn.MultiheadAttention(4, 2, dropout=0.1), "torch's own generator"),
    "dropout in an LSTM": (lambda: nn.LSTM(4, 2, 2, dropout=0.1), "torch's own generator"),
    "nothing trained": (lambda: nn.Linear(3, 3).requires_grad_(False), "all are frozen"),
    "no parameter": (nn.Tanh, "all are frozen"),
    "double": (lambda: nn.Linear(3, 3).double(), "torch.float32"),
    "half": (lambda: nn.Linear(3, 3).bfloat16(), "torch.float32"),
    "no shape yet": (lazy, "without a shape"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_model_is_refused(name: str) -> None:
    build, words = REFUSED[name]
    with pytest.raises(ParameterError, match=words):
        UnitGradients(build(), Fixed())


def test_layers_at_rest_are_not_refused() -> None:
    UnitGradients(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.1)).eval(), Fixed())
    UnitGradients(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.0)), Fixed())


class Overwritten(nn.Module):
    """Adds in place to what a layer has been given."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        out = self.second(x)
        x += 1
        return out + x


class Branching(nn.Module):
    """A parameter of its own, and a forward that looks at values."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale if float(x.sum()) > 0 else x + self.scale


@pytest.mark.parametrize(
    ("model", "shape", "words"),
    [
        (Overwritten(), (4, 3), "overwritten in place"),
        (Branching(), (4, 3), "cannot run it row by row"),
        (nn.Embedding(5, 3, scale_grad_by_freq=True), (4, 2), "scale_grad_by_freq"),
        (nn.Embedding(5, 3, max_norm=1.0), (4, 2), "max_norm"),
        (nn.EmbeddingBag(5, 3, mode="max"), (4, 2), "summed or averaged"),
        (nn.LSTM(3, 3), (4, 2, 3), "4 sequences|2 sequences"),
    ],
)
def test_a_pass_is_refused(model: nn.Module, shape: tuple[int, ...], words: str) -> None:
    rows = torch.zeros(shape, dtype=torch.int64) if "Embedding" in type(model).__name__ else torch.ones(shape)

    def losses() -> Tensor:
        out = model(rows)
        return curved(out[0] if isinstance(out, tuple) else out)

    with pytest.raises(ParameterError, match=words):
        contributions(model, losses, Fixed())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())


def test_afterwards_a_model_trains_as_before() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2))
    model[2].bias.requires_grad_(False)
    rows = torch.randn(4, 3)
    total = contributions(model, lambda: curved(model(rows)), Fixed(1e6), arithmetic=Float())
    assert [parameter.requires_grad for parameter in model.parameters()] == [True, True, True, False]
    curved(model(rows)).sum().backward()
    theirs = torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
    assert torch.allclose(total, theirs, atol=1e-5)


def test_a_layer_that_was_switched_on_since_is_refused() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3), nn.Dropout(0.5)).eval()
    gradients = UnitGradients(model, Fixed())
    for place, words in ((1, "normalises by the batch"), (3, "torch's own generator")):
        model[place].train()
        with pytest.raises(ParameterError, match=words), gradients.listening():
            pass
        model.eval()
    with gradients.listening():
        gradients.add(curved(model(torch.randn(4, 3))), gradients.zeros())


def test_what_was_frozen_since_stays_frozen() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    gradients = UnitGradients(model, Fixed())
    model[0].requires_grad_(False)
    with gradients.listening():
        gradients.add(curved(model(torch.randn(4, 3))), gradients.zeros())
    assert [each.requires_grad for each in model.parameters()] == [False, False, True, True]


def test_backward_belongs_inside() -> None:
    model = nn.Linear(3, 3)
    gradients = UnitGradients(model, Fixed())
    with pytest.raises(ParameterError, match="listening"):
        gradients.add(curved(model(torch.zeros(4, 3))), gradients.zeros())


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf"), 1e13])
def test_bounds_are_positive_and_finite(bound: float) -> None:
    for clipping in (Fixed, Normalised, lambda bound: Normalised(1.0, bound)):
        with pytest.raises(ParameterError, match="must be a number from"):
            clipping(bound)
