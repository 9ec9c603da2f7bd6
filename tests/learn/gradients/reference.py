"""Models to take gradients of, and their gradients one record at a time by torch's own autograd in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from discreet.learn.gradients import Exact, Fixed, Float, UnitGradients


def curved(outputs: Tensor) -> Tensor:
    """A loss a row whose gradient tells all coordinates apart."""
    flat = outputs.flatten(1)
    weights = torch.linspace(0.5, 1.5, flat.shape[1], dtype=flat.dtype)
    return (torch.tanh(flat) * weights).sum(1) + (flat * weights).square().sum(1).add(1).log()


def one_by_one(
    model: nn.Module,
    rows: Tensor,
    loss: Callable[[Tensor], Tensor] = curved,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """The gradient of each row alone: (rows, parameters)."""
    twin = copy.deepcopy(model).to(dtype)
    trained = [each for each in twin.parameters() if each.requires_grad]
    gradients: list[Tensor] = []
    for row in rows.split(1):
        losses = loss(twin(row.to(dtype) if row.is_floating_point() else row))
        parts = torch.autograd.grad(losses.sum(), trained, materialize_grads=True)
        gradients.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(gradients)


def sums(
    model: nn.Module,
    rows: Tensor,
    gradients: UnitGradients,
    *,
    active: Tensor | None = None,
    units: Tensor | None = None,
    loss: Callable[[Tensor], Tensor] = curved,
) -> Tensor:
    total = gradients.zeros()
    with gradients.listening(len(rows)):
        gradients.add(loss(model(rows)), total, active=active, units=units)
    return total


def row_by_row(
    model: nn.Module, rows: Tensor, gradients: UnitGradients, loss: Callable[[Tensor], Tensor] = curved
) -> Tensor:
    """What each row of the batch adds to the sum, among all the others: (rows, parameters)."""
    every = torch.arange(len(rows))
    return torch.stack([sums(model, rows, gradients, active=every == i, loss=loss) for i in range(len(rows))])


def distance(
    model: nn.Module, rows: Tensor, arithmetic: Exact | Float, loss: Callable[[Tensor], Tensor] = curved
) -> float:
    """The largest distance from the reference, relative to the norm of the row's gradient."""
    theirs = one_by_one(model, rows, loss)
    lengths = theirs.norm(dim=1)
    gradients = UnitGradients(model, Fixed(1.01 * float(lengths.max())), arithmetic)  # nothing is clipped
    ours = row_by_row(model, rows, gradients, loss).double() * gradients.step
    return float(((ours - theirs).norm(dim=1) / lengths).max())


def rounding(model: nn.Module, rows: Tensor) -> float:
    """How far torch's own gradient of a row in float32 is from that in float64: what the model itself loses."""
    theirs = one_by_one(model, rows)
    return float(((one_by_one(model, rows, dtype=torch.float32) - theirs).norm(dim=1) / theirs.norm(dim=1)).max())


class Block(nn.Module):
    """A layer of a transformer, before-norm, of linear layers alone."""

    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        rows, times, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(rows, times, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, times, width)
        x = x + self.out(heads)
        return x + self.down(functional.gelu(self.up(self.after(x))))


class FirstOutput(nn.Module):
    """Of a recurrent layer, the sequence it gives out, or its state at the end."""

    def __init__(self, layer: nn.Module, *, state: bool = False) -> None:
        super().__init__()
        self.layer, self.state = layer, state

    def forward(self, x: Tensor) -> Tensor:
        turned = not getattr(self.layer, "batch_first", True)
        sequence, end = self.layer(x.transpose(0, 1) if turned else x)
        if self.state:
            end = torch.cat(end, -1) if isinstance(end, tuple) else end
            return end.transpose(0, 1)
        return sequence.transpose(0, 1) if turned else sequence


class Attention(nn.Module):
    """Self-attention by torch's own module, or cross-attention to the reversed sequence."""

    def __init__(self, width: int, *, cross: bool = False, causal: bool = False, **options: bool) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, 2, **options)
        self.cross, self.causal = cross, causal

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        padding = (x[:, :, 0] > 1.5).logical_and(torch.arange(x.shape[1]) > 0)
        x = x if self.layer.batch_first else x.transpose(0, 1)
        other = x.flip(0 if not self.layer.batch_first else 1) if self.cross else x
        out = self.layer(x, other, other, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]
        return out if self.layer.batch_first else out.transpose(0, 1)


class Position(nn.Module):
    """A parameter of its own, without a layer: the functional rule."""

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.linspace(-1, 1, torch.Size(shape).numel()).view(*shape))
        self.layer = nn.Linear(shape[-1], shape[-1])

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x) + self.shift) * self.shift.cos()


class Tied(nn.Module):
    """An embedding whose table is the output layer's too, as in language models."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.tanh(self.table(x)))


class Summed(nn.Module):
    """A layer that is called three times, at different lengths."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        once = self.layer(x)
        return once + self.layer(torch.tanh(once)) + self.layer(x[:, :2]).mean(1, keepdim=True)


class LowRank(nn.Module):
    """A frozen layer with a trained correction of low rank beside it."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = layer.requires_grad_(False)
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(x))


@dataclass(frozen=True)
class Case:
    name: str
    model: Callable[[], nn.Module]
    shape: tuple[int, ...]
    words: int | None = None

    def rows(self, count: int, generator: torch.Generator) -> Tensor:
        if self.words is not None:
            return torch.randint(0, self.words, (count, *self.shape), generator=generator)
        return torch.randn(count, *self.shape, generator=generator)


def tied_linear() -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))
    model[2].weight = model[0].weight
    return model


def reused() -> nn.Module:
    layer = nn.Linear(6, 6)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), layer)


def half_frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.LayerNorm(6))
    model[0].weight.requires_grad_(False)
    model[2].requires_grad_(False)
    model[3].bias.requires_grad_(False)
    return model


def frozen_batch_norm() -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))
    model[1].running_mean.copy_(torch.linspace(-1, 1, 6))
    model[1].eval()
    return model


def embedded(layer: nn.Module, width: int = 6) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Linear(4, width), layer)


CASES = [
    Case("mlp, in place", lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(inplace=True), nn.Linear(8, 3)), (5,)),
    Case("linear with axes", lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)), (4, 6, 5)),
    Case("with axes, in place", lambda: nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 8), nn.ELU(True)), (4, 5)),
    Case("linear without bias", lambda: nn.Sequential(nn.Linear(5, 8, bias=False), nn.Linear(8, 3)), (1, 5)),
    Case("table", lambda: nn.Sequential(nn.Embedding(9, 4, padding_idx=0), nn.Linear(4, 3)), (6,), 9),
    Case("bag, mean", lambda: nn.Sequential(nn.EmbeddingBag(9, 4, padding_idx=0), nn.Linear(4, 3)), (6,), 9),
    Case("bag, sum", lambda: nn.Sequential(nn.EmbeddingBag(9, 4, mode="sum"), nn.Linear(4, 3)), (6,), 9),
    Case("layer norm", lambda: nn.Sequential(nn.Linear(5, 6), nn.LayerNorm(6)), (5,)),
    Case("layer norm over two axes", lambda: nn.Sequential(nn.Linear(5, 6), nn.LayerNorm((4, 6))), (3, 4, 5)),
    Case("rms norm", lambda: nn.Sequential(nn.Linear(5, 6), nn.RMSNorm(6, eps=1e-3)), (3, 5)),
    Case("group norm", lambda: nn.Sequential(nn.Conv1d(4, 6, 1), nn.GroupNorm(3, 6)), (4, 5)),
    Case("instance norm 1", lambda: nn.Sequential(nn.Conv1d(4, 6, 1), nn.InstanceNorm1d(6, affine=True)), (4, 5)),
    Case("instance norm 2", lambda: nn.Sequential(nn.Conv2d(2, 3, 1), nn.InstanceNorm2d(3, affine=True)), (2, 4, 5)),
    Case("instance norm 3", lambda: nn.Sequential(nn.Conv3d(2, 3, 1), nn.InstanceNorm3d(3, affine=True)), (2, 2, 3, 3)),
    Case("batch norm in eval", frozen_batch_norm, (6,)),
    Case("own parameter", lambda: nn.Sequential(nn.Linear(6, 6), Position((5, 6)), nn.Linear(6, 2)), (5, 6)),
    Case("prelu", lambda: nn.Sequential(nn.Linear(6, 6), nn.PReLU(6)), (6,)),
    Case("weight norm", lambda: nn.Sequential(nn.Linear(5, 5), weight_norm(nn.Linear(5, 6))), (5,)),
    Case("attention", embedded(Attention(6, batch_first=True)), (5, 4)),
    Case("attention, causal, rows second", embedded(Attention(6, causal=True)), (5, 4)),
    Case("cross-attention", embedded(Attention(6, batch_first=True, cross=True, bias=False)), (5, 4)),
    Case("attention, other sizes", embedded(Attention(6, batch_first=True, cross=True)), (5, 4)),
    Case("attention, keys added", embedded(Attention(6, batch_first=True, add_bias_kv=True)), (5, 4)),
    Case("torch's own layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (4, 8)),
    Case("transformer", lambda: nn.Sequential(nn.Embedding(11, 8), Block(8), nn.Linear(8, 2)), (5,), 11),
    Case("tied layers", tied_linear, (6,)),
    Case("tied table", lambda: Tied(9, 4), (6,), 9),
    Case("reused", reused, (6,)),
    Case("reused with axes", lambda: nn.Sequential(nn.Linear(4, 6), Summed(nn.Linear(6, 6))), (5, 4)),
    Case("reused convolution", lambda: nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), Summed(nn.LayerNorm(6))), (4, 6)),
    Case("frozen", half_frozen, (6,)),
    Case("low rank", lambda: nn.Sequential(nn.Linear(5, 6).requires_grad_(False), LowRank(nn.Linear(6, 7), 2)), (3, 5)),
]  # fmt: skip
for kind in (nn.RNN, nn.GRU, nn.LSTM):
    for layers, both in ((1, False), (2, True)):
        CASES.append(
            Case(
                f"{kind.__name__}, {layers}",
                lambda kind=kind, layers=layers, both=both: nn.Sequential(
                    nn.Linear(4, 5), FirstOutput(kind(5, 6, layers, batch_first=True, bidirectional=both))
                ),
                (4, 4),
            )
        )
    CASES.append(
        Case(f"{kind.__name__}, state", lambda kind=kind: FirstOutput(kind(4, 6, 2, bias=False), state=True), (4, 4))
    )
CASES.append(Case("LSTM, projected", lambda: FirstOutput(nn.LSTM(4, 6, 2, batch_first=True, proj_size=3)), (4, 4)))
CASES.append(Case("RNN, relu", lambda: FirstOutput(nn.RNN(4, 6, batch_first=True, nonlinearity="relu")), (4, 4)))
