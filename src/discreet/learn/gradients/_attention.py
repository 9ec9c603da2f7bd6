"""The rule of multi-head attention: it is run once more, and its projections are linear layers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from discreet.learn.gradients._capture import Capture, coupled
from discreet.learn.gradients._functional import functional
from discreet.learn.gradients._pieces import Dense, Piece, Series, dense

__all__ = ["attention"]

ARGUMENTS = ("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask", "average_attn_weights")


def attention(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Self- and cross-attention, with masks; added keys (`add_bias_kv`, `add_zero_attn`) are left to `functional`."""
    assert isinstance(layer, nn.MultiheadAttention)
    if layer.bias_k is not None or layer.add_zero_attn:
        return functional(layer, capture, trained)
    named: dict[str, Any] = dict(zip(ARGUMENTS, capture.arguments, strict=False)) | dict(capture.keywords)
    given = [named["query"], named["key"], named["value"]]
    same = given[0] is given[1] is given[2]
    if any(each.dim() != 3 for each in given):
        raise coupled(capture, "was given one row without an axis of rows")
    inputs = [(each if layer.batch_first else each.transpose(0, 1)).detach() for each in given]
    if any(each.shape[0] != capture.rows for each in inputs):
        raise coupled(capture, f"was given other rows than the {capture.rows} of the batch")
    with torch.enable_grad():
        projected = [
            F.linear(each, *projection).requires_grad_()
            for each, projection in zip(inputs, projections(layer), strict=True)
        ]
        context, weights = attend(layer, projected, masks(layer, capture.rows, named))
        bias: Tensor | None = getattr(layer.out_proj, "bias")  # noqa: B009 (torch's types forget that it may be None)
        result = F.linear(context, layer.out_proj.weight.detach(), bias if bias is None else bias.detach())
        if named.get("average_attn_weights", True):
            weights = weights.mean(1)
        outputs = (result if layer.batch_first else result.transpose(0, 1), weights)
        pairs = [(a, b) for a, b in zip(outputs, capture.gradients, strict=False) if b is not None]
        slopes = torch.autograd.grad(
            [a for a, _ in pairs], [*projected, result], [b for _, b in pairs], materialize_grads=True
        )
    *inner, outer = slopes
    pieces: dict[str, Piece] = {
        "out_proj.weight": Series(outer, context.detach()),
        "out_proj.bias": Dense(outer.sum(1)),
        "in_proj_bias": Dense(torch.cat([slope.sum(1) for slope in inner], 1)),
    }
    if same:
        pieces["in_proj_weight"] = Series(torch.cat(inner, 2), inputs[0])
    elif "in_proj_weight" in trained:
        parts = [dense(Series(slope, each)) for slope, each in zip(inner, inputs, strict=True)]
        pieces["in_proj_weight"] = Dense(torch.cat(parts, 1))
    for name, slope, each in zip(("q", "k", "v"), inner, inputs, strict=True):
        pieces[f"{name}_proj_weight"] = Series(slope, each)
    return {name: piece for name, piece in pieces.items() if name in trained}


def projections(layer: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor | None]]:
    """Weight and bias of query, key and value."""
    names = ("in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight")
    joint, bias, *apart = (getattr(layer, name) for name in names)
    weights: list[Tensor] = apart if joint is None else list(joint.chunk(3))
    biases = [None] * 3 if bias is None else [part.detach() for part in bias.chunk(3)]
    return [(weight.detach(), bias) for weight, bias in zip(weights, biases, strict=True)]


def attend(layer: nn.MultiheadAttention, projected: list[Tensor], mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The heads' contexts side by side, (rows, times, size), and their weights, (rows, heads, times, times)."""
    query, key, value = (each.unflatten(2, (layer.num_heads, -1)).transpose(1, 2) for each in projected)
    scores = query @ key.mT / layer.head_dim**0.5
    weights = torch.softmax(scores if mask is None else scores + mask, -1)
    return (weights @ value).transpose(1, 2).flatten(2), weights


def masks(layer: nn.MultiheadAttention, rows: int, named: dict[str, Any]) -> Tensor | None:
    """What is added to the scores, in a shape that (rows, heads, times, times) takes."""
    total: Tensor | None = None
    for name in ("attn_mask", "key_padding_mask"):
        mask: Tensor | None = named.get(name)
        if mask is None:
            continue
        added = (
            torch.zeros_like(mask, dtype=torch.float32).masked_fill_(mask, -torch.inf)
            if mask.dtype == torch.bool
            else mask
        )
        if name == "key_padding_mask":
            added = added[:, None, None, :]
        elif added.dim() == 3:
            added = added.view(rows, layer.num_heads, *added.shape[1:])
        total = added if total is None else total + added
    return total
