"""Which rule a layer has, and which layers are refused because they couple the rows of a batch or draw at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils import parametrize

from discreet.errors import ParameterError
from discreet.learn.gradients._attention import attention
from discreet.learn.gradients._capture import Rule
from discreet.learn.gradients._convolutions import convolution, transposed
from discreet.learn.gradients._functional import functional
from discreet.learn.gradients._layers import (
    embedding,
    embedding_bag,
    group_norm,
    instance_norm,
    layer_norm,
    linear,
    rms_norm,
    turned_linear,
)
from discreet.learn.gradients._recurrent import recurrent

__all__ = ["ROWS_MAY_BE_SECOND", "Place", "places", "refuse", "uncompiled"]

RULES: tuple[tuple[type[nn.Module], Rule], ...] = (
    (nn.Linear, linear),
    (nn.Conv1d, convolution),
    (nn.Conv2d, convolution),
    (nn.Conv3d, convolution),
    (nn.ConvTranspose1d, transposed),
    (nn.ConvTranspose2d, transposed),
    (nn.ConvTranspose3d, transposed),
    (nn.Embedding, embedding),
    (nn.EmbeddingBag, embedding_bag),
    (nn.LayerNorm, layer_norm),
    (nn.GroupNorm, group_norm),
    (nn.InstanceNorm1d, instance_norm),
    (nn.InstanceNorm2d, instance_norm),
    (nn.InstanceNorm3d, instance_norm),
    (nn.RMSNorm, rms_norm),
    (nn.RNN, recurrent),
    (nn.LSTM, recurrent),
    (nn.GRU, recurrent),
    (nn.MultiheadAttention, attention),
)
WITH_OWN_NAMES = (nn.RNN, nn.LSTM, nn.GRU, nn.MultiheadAttention)
ROWS_MAY_BE_SECOND = WITH_OWN_NAMES
ENTIRE = (nn.MultiheadAttention,)
"""Modules that use the parameters of modules inside them without calling those."""
CONTAINERS = (nn.ParameterList, nn.ParameterDict)
TURNED_LINEAR = ("transformers.pytorch_utils", "Conv1D")
"""By its name, as transformers is no requirement: GPT-2's linear layer, with the weight the other way round."""
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
INSTANCE_NORMS = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.RReLU)


@dataclass(frozen=True, slots=True)
class Place:
    """A layer that is listened to, the names of its trained parameters and the rule for them."""

    name: str
    layer: nn.Module
    trained: frozenset[str]
    rule: Rule


def places(model: nn.Module) -> Iterator[Place]:
    """The layers of `model` that own trained parameters, each once. Frozen parameters are skipped."""
    inside: set[nn.Module] = set()
    for name, layer in model.named_modules():
        if layer in inside:
            continue
        entire = isinstance(layer, ENTIRE) or parametrize.is_parametrized(layer)
        if entire:
            inside.update(layer.modules())
        named = [*layer.named_parameters(recurse=entire, remove_duplicate=False), *in_containers(layer, entire=entire)]
        trained = frozenset(key for key, parameter in named if parameter.requires_grad)
        if trained and not isinstance(layer, CONTAINERS):
            yield Place(name or type(layer).__name__, layer, trained, rule_of(layer, trained))


def in_containers(layer: nn.Module, *, entire: bool) -> Iterator[tuple[str, nn.Parameter]]:
    """Parameters in lists and dictionaries of a module, which have no forward: the module itself is what uses them."""
    for name, child in layer.named_children():
        if isinstance(child, CONTAINERS) and not entire:
            yield from child.named_parameters(name, remove_duplicate=False)


def uncompiled(model: nn.Module) -> nn.Module:
    """The module that `torch.compile` was given, whose parameters and names it is; any other is returned as it is."""
    written = getattr(model, "_orig_mod", model)
    assert isinstance(written, nn.Module)
    return written


def rule_of(layer: nn.Module, trained: frozenset[str]) -> Rule:
    """The rule of a class whose forward `layer` has, with the weights that the class has; else the functional one."""
    if (type(layer).__module__, type(layer).__qualname__) == TURNED_LINEAR and "forward" not in vars(layer):
        return turned_linear
    for kind, rule in RULES:
        if isinstance(layer, kind) and type(layer).forward is kind.forward and "forward" not in vars(layer):
            plain = trained <= {"weight", "bias"} or kind in WITH_OWN_NAMES
            return rule if plain else functional
    return functional


def refuse(model: nn.Module) -> None:
    """Raises `ParameterError` for what no per-row gradient exists of, or whose randomness is not the door's."""
    for name, layer in model.named_modules():
        label = f"{name or 'the model'} ({type(layer).__name__})"
        if isinstance(layer, BATCH_NORMS) and (layer.training or layer.running_mean is None):
            raise ParameterError(
                f"{label} normalises by the batch, which couples its rows, so that no row's share can be bounded; use "
                "GroupNorm, LayerNorm or InstanceNorm, or put this layer in .eval() with fixed public statistics"
            )
        if isinstance(layer, INSTANCE_NORMS) and layer.track_running_stats and layer.training:
            raise ParameterError(
                f"{label} keeps running statistics of private rows, which no noise covers; set "
                "track_running_stats=False"
            )
        if isinstance(layer, DROPOUTS) and layer.training and getattr(layer, "p", 1):
            raise ParameterError(
                f"{label} draws from torch's own generator, which is not secure; use learn.Dropout, set its "
                "probability to 0, or leave it out"
            )
        if isinstance(layer, nn.RNNBase | nn.MultiheadAttention) and layer.dropout and layer.training:
            raise ParameterError(
                f"{label} drops at random by torch's own generator, which is not secure; set dropout=0, and use "
                "learn.Dropout beside it"
            )
        if any(isinstance(parameter, nn.UninitializedParameter) for parameter in layer.parameters(recurse=False)):
            raise ParameterError(f"{label} has parameters without a shape yet; run the model once on a public example")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ParameterError("the model has no trained parameter: all are frozen")
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.dtype != torch.float32:
            raise ParameterError(
                f"parameter {name} is {parameter.dtype}; private training is in torch.float32, where its arithmetic "
                "has been checked"
            )
