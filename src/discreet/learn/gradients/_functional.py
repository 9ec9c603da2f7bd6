"""The rule of any other module: its own forward, differentiated row by row in one vectorised pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from discreet.errors import ParameterError
from discreet.learn.gradients._capture import Capture, coupled
from discreet.learn.gradients._pieces import Dense, Piece

__all__ = ["functional"]


def functional(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Runs `layer` again on each row as a batch of one. Memory: rows × the layer's own parameters.

    An argument whose first axis is as long as the batch has rows is taken as rows; any other is the same for all.
    Raises `ParameterError` if the module cannot be run so, or its output has no axis of rows.
    """
    rows, parameters = capture.rows, dict(layer.named_parameters(remove_duplicate=False))
    chosen = {name: parameters[name].detach() for name in trained}
    leaves, tree = pytree.tree_flatten((capture.arguments, dict(capture.keywords)))
    by_row = [isinstance(leaf, Tensor) and leaf.shape[:1] == (rows,) for leaf in leaves]
    constant = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    present = [place for place, gradient in enumerate(capture.gradients) if gradient is not None]
    slopes = [gradient for gradient in capture.gradients if gradient is not None]
    if not any(by_row) or any(slope.shape[:1] != (rows,) for slope in slopes):
        raise coupled(capture, "does not have the batch's rows along the first axis of what it is given and gives out")

    def one(tensors: list[Tensor], upstream: list[Tensor]) -> dict[str, Tensor]:
        moved = iter(tensors)
        row = [next(moved).unsqueeze(0) if batched else leaf for leaf, batched in zip(constant, by_row, strict=True)]
        arguments, keywords = pytree.tree_unflatten(row, tree)

        def forward(values: dict[str, Tensor]) -> list[Tensor]:
            result = torch.func.functional_call(layer, values, arguments, keywords, tie_weights=False)
            tensors = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
            return [tensors[place] for place in present]

        pull = torch.func.vjp(forward, chosen)[1]
        return pull([slope.unsqueeze(0) for slope in upstream])[0]

    given = [leaf for leaf, batched in zip(constant, by_row, strict=True) if batched]
    try:
        gradients = torch.func.vmap(one, randomness="error")(given, slopes)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise refused(layer, capture, error) from None
    return {name: Dense(gradients[name].reshape(rows, -1)) for name in sorted(trained)}


def refused(layer: nn.Module, capture: Capture, error: Exception) -> ParameterError:
    # torch's words may show a value of a row; its kind cannot.
    kind: Any = type(error).__name__
    return ParameterError(
        f"layer {capture.name!r} ({type(layer).__name__}) has no rule for per-row gradients, and torch.func cannot run "
        f"it row by row ({kind}): random draws, .item(), branches on values and in-place writes are why; build it of "
        "layers that have a rule (linear, convolution, embedding, normalisation, RNN, LSTM, GRU), or freeze its "
        "parameters"
    )
