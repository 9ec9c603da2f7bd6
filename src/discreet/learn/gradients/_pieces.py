"""Gradients of one parameter, a row each, in the form in which a layer gives them: products are not multiplied out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from discreet.learn.gradients._device import rows_at_once

__all__ = ["Dense", "Outer", "Piece", "Scatter", "Series", "by_unit", "combined", "dense"]


@dataclass(frozen=True, slots=True)
class Outer:
    """Of row i: outputs[i] ⊗ inputs[i], a matrix of rank one. Shapes (rows, p) and (rows, d)."""

    outputs: Tensor
    inputs: Tensor


@dataclass(frozen=True, slots=True)
class Series:
    """Of row i: the sum over t of outputs[i, t] ⊗ inputs[i, t]. Shapes (rows, times, p) and (rows, times, d)."""

    outputs: Tensor
    inputs: Tensor


@dataclass(frozen=True, slots=True)
class Dense:
    """Of row i: values[i], all the parameter's coordinates. Shape (rows, size)."""

    values: Tensor


@dataclass(frozen=True, slots=True)
class Scatter:
    """Of row i: a table of `height` lines, values[i, t] added to line indices[i, t]. Shapes (rows, times, width).

    Several entries of a row may name the same line; `owners` names the unit of each row, or is None before rows are
    put together.
    """

    indices: Tensor
    values: Tensor
    height: int
    owners: Tensor | None = None


Piece = Outer | Series | Dense | Scatter


def dense(piece: Piece) -> Tensor:
    """All coordinates of every row's gradient, (rows, size): rows × size numbers of memory."""
    match piece:
        case Outer(outputs, inputs):
            return torch.bmm(outputs.unsqueeze(2), inputs.unsqueeze(1)).flatten(1)
        case Series(outputs, inputs):
            return torch.bmm(outputs.mT, inputs).flatten(1)
        case Dense(values):
            return values
        case Scatter(indices, values, height, owners):
            rows, _, width = values.shape
            slots = torch.arange(rows, device=values.device) if owners is None else owners
            lines = (slots.unsqueeze(1) * height + indices).flatten()
            out = values.new_zeros((rows + 1) * height, width)
            return out.index_add_(0, lines, values.flatten(0, 1)).view(rows + 1, -1)[:rows]


def combined(pieces: Sequence[Piece]) -> Piece:
    """The sum of several gradients of one parameter: a layer that was used twice, or tied ones.

    Added in the order given. Anything but tables that are looked up is multiplied out, since the norm of a sum
    is not to be had from its parts.
    """
    first, *others = pieces
    if not others:
        return first
    if all(isinstance(piece, Scatter) for piece in pieces):
        tables = [piece for piece in pieces if isinstance(piece, Scatter)]
        indices = torch.cat([table.indices for table in tables], 1)
        return Scatter(indices, torch.cat([table.values for table in tables], 1), tables[0].height)
    total = dense(first).clone()
    for piece in others:
        total += dense(piece)
    return Dense(total)


def by_unit(piece: Piece, units: Tensor) -> Piece:
    """The gradients of units, each the sum over its rows in their order: as many slots of units as there are rows.

    `units` names the slot of each row; the number of rows itself names none, and such rows are left out.
    """
    rows = len(units)
    match piece:
        case Scatter(indices, values, height):
            return Scatter(indices, values, height, units)
        case Dense(values):
            out = values.new_zeros(rows + 1, values.shape[1])
            return Dense(out.index_add_(0, units, values)[:rows])
        case Outer(outputs, inputs) | Series(outputs, inputs):
            kind = type(piece)
            out = outputs.new_zeros(rows + 1, outputs.shape[-1] * inputs.shape[-1])
            chunk = rows_at_once(outputs, out.shape[1], 8 * out.shape[1])
            for start in range(0, rows, chunk):
                part = slice(start, start + chunk)
                out.index_add_(0, units[part], dense(kind(outputs[part], inputs[part])))
            return Dense(out[:rows])
