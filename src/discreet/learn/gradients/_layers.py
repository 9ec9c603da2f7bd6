"""Rules of layers with weights: linear, embedding and normalisation."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients._capture import Capture, coupled, one_gradient, one_input
from discreet.learn.gradients._pieces import Dense, Outer, Piece, Scatter, Series

__all__ = [
    "embedding",
    "embedding_bag",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "linear",
    "product",
    "rms_norm",
    "turned_linear",
]


def product(outputs: Tensor, inputs: Tensor) -> Piece:
    """The gradient of a matrix W in y = W x, for x and y of shapes (rows, …, d) and (rows, …, p)."""
    if inputs.dim() == 1:
        inputs, outputs = inputs.unsqueeze(1), outputs.unsqueeze(1)
    if inputs.dim() == 2:
        return Outer(outputs, inputs)
    inputs, outputs = inputs.flatten(1, -2), outputs.flatten(1, -2)
    return Outer(outputs[:, 0], inputs[:, 0]) if inputs.shape[1] == 1 else Series(outputs, inputs)


def linear(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """The layer y = W x + b, along the last axis of whatever lies between it and the rows."""
    assert isinstance(layer, nn.Linear)
    return affine(capture, trained, turned=False)


def turned_linear(_: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """The layer y = Wᵀ x + b."""
    return affine(capture, trained, turned=True)


def affine(capture: Capture, trained: frozenset[str], *, turned: bool) -> dict[str, Piece]:
    inputs, gradient = one_input(capture), one_gradient(capture)
    if inputs.dim() < 2:
        raise coupled(capture, "was given one row without an axis of rows")
    pieces: dict[str, Piece] = {}
    if "weight" in trained:
        pieces["weight"] = product(inputs, gradient) if turned else product(gradient, inputs)
    if "bias" in trained:
        pieces["bias"] = Dense(gradient if gradient.dim() == 2 else gradient.flatten(1, -2).sum(1))
    return pieces


def embedding(layer: nn.Module, capture: Capture, _: frozenset[str]) -> dict[str, Piece]:
    """Rows of a table, looked up. The padding's row gets nothing, as in torch."""
    assert isinstance(layer, nn.Embedding)
    if layer.scale_grad_by_freq:
        raise ParameterError(
            f"embedding {capture.name!r} divides by how often the batch uses a word (scale_grad_by_freq), which "
            "couples its rows; set it to False"
        )
    if layer.max_norm is not None:
        raise ParameterError(
            f"embedding {capture.name!r} changes its table as it reads it (max_norm), which no noise covers; set it "
            "to None"
        )
    inputs, gradient = one_input(capture), one_gradient(capture)
    indices = inputs.reshape(capture.rows, -1).long()
    values = gradient.reshape(capture.rows, -1, layer.embedding_dim)
    if layer.padding_idx is not None:
        values = values.masked_fill((indices == layer.padding_idx).unsqueeze(2), 0)
    return {"weight": Scatter(indices, values, layer.num_embeddings)}


def embedding_bag(layer: nn.Module, capture: Capture, _: frozenset[str]) -> dict[str, Piece]:
    """Bags of the same length, one a row: their sum or mean, with weights or without."""
    assert isinstance(layer, nn.EmbeddingBag)
    named = dict(zip(("input", "offsets", "per_sample_weights"), capture.arguments, strict=False)) | dict(
        capture.keywords
    )
    if (
        named.get("offsets") is not None
        or layer.mode == "max"
        or layer.scale_grad_by_freq
        or layer.max_norm is not None
    ):
        raise ParameterError(
            f"embedding bag {capture.name!r}: private training knows bags of one length, one a row (no offsets), that "
            "are summed or averaged, without scale_grad_by_freq and max_norm"
        )
    indices, gradient = one_input(capture), one_gradient(capture)
    if indices.dim() != 2:
        raise coupled(capture, "was given bags without an axis of rows")
    weights = named.get("per_sample_weights")
    real = torch.ones_like(indices, dtype=gradient.dtype)
    if layer.padding_idx is not None:
        real = (indices != layer.padding_idx).to(gradient.dtype)
    if weights is not None:
        real = real * weights.detach()
    if layer.mode == "mean":
        real = real / real.sum(1, keepdim=True).clamp_min(1)
    return {"weight": Scatter(indices.long(), gradient.unsqueeze(1) * real.unsqueeze(2), layer.num_embeddings)}


def scaled(normal: Tensor, gradient: Tensor, trained: frozenset[str], axes: tuple[int, ...]) -> dict[str, Piece]:
    """The gradients of w and b in y = w · x̂ + b, summed over the axes along which they are shared."""
    pieces: dict[str, Piece] = {}
    if "weight" in trained:
        pieces["weight"] = Dense(shared(normal * gradient, axes))
    if "bias" in trained:
        pieces["bias"] = Dense(shared(gradient, axes))
    return pieces


def shared(values: Tensor, axes: tuple[int, ...]) -> Tensor:
    return (values.sum(axes) if axes else values).flatten(1)


def layer_norm(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Normalised over the last axes."""
    assert isinstance(layer, nn.LayerNorm)
    inputs, gradient = one_input(capture), one_gradient(capture)
    shape = list(layer.normalized_shape)
    between = tuple(range(1, inputs.dim() - len(shape)))
    return scaled(F.layer_norm(inputs, shape, eps=layer.eps), gradient, trained, between)


def rms_norm(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Divided by the root of the mean square over the last axes."""
    assert isinstance(layer, nn.RMSNorm)
    inputs, gradient = one_input(capture), one_gradient(capture)
    shape = list(layer.normalized_shape)
    between = tuple(range(1, inputs.dim() - len(shape)))
    return scaled(F.rms_norm(inputs, shape, eps=layer.eps), gradient, trained, between)


def group_norm(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Normalised over groups of channels, which are the second axis."""
    assert isinstance(layer, nn.GroupNorm)
    inputs, gradient = one_input(capture), one_gradient(capture)
    normal = F.group_norm(inputs, layer.num_groups, eps=layer.eps)
    return scaled(normal, gradient, trained, tuple(range(2, inputs.dim())))


def instance_norm(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Normalised over all but rows and channels."""
    assert isinstance(layer, nn.InstanceNorm1d | nn.InstanceNorm2d | nn.InstanceNorm3d)
    inputs, gradient = one_input(capture), one_gradient(capture)
    axes = 1 if isinstance(layer, nn.InstanceNorm1d) else 2 if isinstance(layer, nn.InstanceNorm2d) else 3
    if inputs.dim() != axes + 2:
        raise coupled(capture, "was given one row without an axis of rows")
    frozen = layer.track_running_stats and not layer.training
    mean, variance = (layer.running_mean, layer.running_var) if frozen else (None, None)
    normal = F.instance_norm(inputs, mean, variance, use_input_stats=not frozen, eps=layer.eps)
    return scaled(normal, gradient, trained, tuple(range(2, inputs.dim())))
