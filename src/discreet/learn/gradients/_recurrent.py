"""Rules of RNN, LSTM and GRU: the recurrence is run once more, and its two products per step are linear layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients._capture import Capture, coupled
from discreet.learn.gradients._pieces import Dense, Piece, Series

__all__ = ["recurrent"]

State = tuple[Tensor, ...]
Cell = Callable[[Tensor, Tensor, State], State]


def elman(activation: Callable[[Tensor], Tensor]) -> Cell:
    return lambda ours, past, _: (activation(ours + past),)


def lstm(ours: Tensor, past: Tensor, state: State) -> State:
    entry, forget, new, exit_ = (ours + past).chunk(4, -1)
    cell = torch.sigmoid(forget) * state[1] + torch.sigmoid(entry) * torch.tanh(new)
    return torch.sigmoid(exit_) * torch.tanh(cell), cell


def gru(ours: Tensor, past: Tensor, state: State) -> State:
    reset, update, new = ours.chunk(3, -1)
    past_reset, past_update, past_new = past.chunk(3, -1)
    update = torch.sigmoid(update + past_update)
    candidate = torch.tanh(new + torch.sigmoid(reset + past_reset) * past_new)
    return ((1 - update) * candidate + update * state[0],)


def cell_of(layer: nn.RNNBase) -> Cell:
    if isinstance(layer, nn.LSTM):
        return lstm
    if isinstance(layer, nn.GRU):
        return gru
    return elman(torch.relu if getattr(layer, "nonlinearity", "tanh") == "relu" else torch.tanh)


@dataclass(slots=True)
class Products:
    """The linear products that a run of the recurrence did: their inputs, and their outputs to differentiate by."""

    inputs: list[Tensor] = field(default_factory=list[Tensor])
    outputs: list[Tensor] = field(default_factory=list[Tensor])


def recurrent(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Any number of layers, both directions, projections. Dropout between layers is refused."""
    assert isinstance(layer, nn.RNNBase)
    if layer.dropout and layer.training and layer.num_layers > 1:
        raise ParameterError(
            f"layer {capture.name!r} has dropout between its layers, drawn by torch's own generator; set dropout=0"
        )
    if not trained:
        return {}
    named = dict(zip(("input", "hx"), capture.arguments, strict=False)) | dict(capture.keywords)
    inputs, state = named.get("input"), named.get("hx")
    if not isinstance(inputs, Tensor) or inputs.dim() != 3:
        raise coupled(capture, "was given packed sequences, or one without an axis of rows")
    if not layer.batch_first:
        inputs = inputs.transpose(0, 1)
    if inputs.shape[0] != capture.rows:
        raise coupled(capture, f"was given {inputs.shape[0]} sequences in a batch of {capture.rows} rows")
    with torch.enable_grad():
        products, results = run(layer, inputs.detach(), initial(layer, inputs, state))
        chosen = [
            (result, gradient)
            for result, gradient in zip(results, capture.gradients, strict=True)
            if gradient is not None
        ]
        names = list(products)
        tensors = [tensor for name in names for tensor in products[name].outputs]
        gradients = iter(
            torch.autograd.grad([a for a, _ in chosen], tensors, [b for _, b in chosen], materialize_grads=True)
        )
    pieces: dict[str, Piece] = {}
    for name in names:
        inner, outer = products[name].inputs, products[name].outputs
        slopes = [next(gradients) for _ in outer]
        kept_inputs = inner[0] if inner[0].dim() == 3 else torch.stack(inner, 1)
        slope = slopes[0] if slopes[0].dim() == 3 else torch.stack(slopes, 1)
        if name in trained:
            pieces[name] = Series(slope, kept_inputs.detach())
        bias = name.replace("weight", "bias")
        if bias in trained and bias != name:
            pieces[bias] = Dense(slope.sum(1))
    return pieces


def initial(layer: nn.RNNBase, inputs: Tensor, given: object) -> State:
    """The states at the start, each (layers × directions, rows, size)."""
    if isinstance(given, Tensor):
        return (given.detach(),)
    if isinstance(given, tuple):
        return tuple(each.detach() for each in given)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    hidden = inputs.new_zeros(count, inputs.shape[0], layer.proj_size or layer.hidden_size)
    if not isinstance(layer, nn.LSTM):
        return (hidden,)
    return hidden, inputs.new_zeros(count, inputs.shape[0], layer.hidden_size)


def run(layer: nn.RNNBase, inputs: Tensor, start: State) -> tuple[dict[str, Products], list[Tensor]]:
    """The layer's products by the name of their weight, and what it gives out, as torch lays it out."""
    directions = ("", "_reverse") if layer.bidirectional else ("",)
    products: dict[str, Products] = {}
    ends: list[State] = []
    values = inputs
    for depth in range(layer.num_layers):
        ways: list[Tensor] = []
        for turn, direction in enumerate(directions):
            place = depth * len(directions) + turn
            state = tuple(each[place] for each in start)
            way, end = one_way(layer, values, state, f"l{depth}{direction}", products, backwards=bool(turn))
            ways.append(way)
            ends.append(end)
        values = torch.cat(ways, -1)
    last = [torch.stack(states) for states in zip(*ends, strict=True)]
    return products, [values if layer.batch_first else values.transpose(0, 1), *last]


def one_way(  # noqa: PLR0913
    layer: nn.RNNBase, values: Tensor, state: State, suffix: str, products: dict[str, Products], *, backwards: bool
) -> tuple[Tensor, State]:
    """One layer in one direction: its outputs in the order of time, and its state at the end."""
    cell = cell_of(layer)
    weight = {kind: constant(layer, f"weight_{kind}_{suffix}") for kind in ("ih", "hh", "hr")}
    bias = {kind: constant(layer, f"bias_{kind}_{suffix}") for kind in ("ih", "hh")}

    def product(kind: str, inner: Tensor) -> Tensor:
        matrix = weight[kind]
        assert matrix is not None
        outer = F.linear(inner, matrix, bias.get(kind))
        if not outer.requires_grad:
            outer.requires_grad_()
        record = products.setdefault(f"weight_{kind}_{suffix}", Products())
        record.inputs.append(inner)
        record.outputs.append(outer)
        return outer

    ours = product("ih", values)
    times = range(values.shape[1])
    outputs: dict[int, Tensor] = {}
    for time in reversed(times) if backwards else times:
        state = cell(ours[:, time], product("hh", state[0]), state)
        if weight["hr"] is not None:
            state = product("hr", state[0]), *state[1:]
        outputs[time] = state[0]
    return torch.stack([outputs[time] for time in times], 1), state


def constant(layer: nn.RNNBase, name: str) -> Tensor | None:
    value = getattr(layer, name, None)
    return None if value is None else value.detach()
