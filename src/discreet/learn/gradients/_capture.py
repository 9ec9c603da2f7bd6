"""What a layer was given and what its output's gradient is: all that per-row gradients are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients._pieces import Piece

__all__ = ["Capture", "Rule", "coupled", "grown", "one_gradient", "one_input"]


@dataclass(frozen=True, slots=True)
class Capture:
    """One call of one layer, after the backward pass."""

    name: str
    """The layer's name in the model, for messages."""
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    gradients: tuple[Tensor | None, ...]
    """Of each tensor that the layer gave out, in order; None where the losses do not depend on it."""
    rows: int
    """Rows of the batch, as many as there are losses."""


Rule = Callable[[nn.Module, Capture, frozenset[str]], dict[str, Piece]]
"""From a layer, its capture and the names of its parameters that are trained, to their gradients, a row each."""


def coupled(capture: Capture, what: str) -> ParameterError:
    """That a layer does not keep the rows of the batch apart along the first axis."""
    return ParameterError(
        f"layer {capture.name!r} {what}; every tensor that goes through a trained layer has a first axis of the rows "
        f"of the batch, so that each row's gradient is its own; expand what is shared by all rows, and do not fold "
        f"other axes into the rows; or freeze this layer: .requires_grad_(False)"
    )


def one_input(capture: Capture) -> Tensor:
    """The first argument, with the batch's rows along its first axis. Raises `ParameterError` otherwise."""
    given = capture.arguments[0] if capture.arguments else next(iter(capture.keywords.values()), None)
    if not isinstance(given, Tensor):
        raise coupled(capture, "was given something that is no tensor")
    return grown(capture, given, "was given")


def one_gradient(capture: Capture) -> Tensor:
    """The gradient of the single output. Raises `ParameterError` if its first axis is not the batch's rows."""
    gradient = capture.gradients[0]
    if len(capture.gradients) != 1 or gradient is None:
        raise coupled(capture, "gave out something that is no tensor")
    return grown(capture, gradient, "gave out")


def grown(capture: Capture, tensor: Tensor, what: str) -> Tensor:
    """`tensor`, if it has an axis of rows and one more. Raises `ParameterError` otherwise."""
    if tensor.dim() < 1 or tensor.shape[0] != capture.rows:
        shape = "×".join(str(length) for length in tensor.shape) or "scalar"
        raise coupled(capture, f"{what} a tensor of shape {shape} in a batch of {capture.rows} rows")
    return tensor
