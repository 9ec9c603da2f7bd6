"""Contributions in floating point: faster, and bounded in real-number arithmetic only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from discreet.learn.gradients._adaptive import balance
from discreet.learn.gradients._clipping import Clipping
from discreet.learn.gradients._device import rows_at_once
from discreet.learn.gradients._exact import blanked, multiplied
from discreet.learn.gradients._pieces import Dense, Outer, Piece, Scatter, Series

__all__ = ["Float"]

CANCELLED = 2.0**-18
"""Share of the square of the sum of lengths that is added to a norm that is a sum of products which cancel."""


CHUNK = 1 << 20
"""Numbers of scaled gradients that are written out at a time."""


@dataclass(frozen=True)
class Float:
    """Sums of clipped gradients in float32.

    Where it is cheaper the norm of a product over time is the sum of inner products (Li et al. 2022), which cancels in
    float32; an allowance for that is added to the norm, so that no unit counts as shorter than it is. Products and sums
    are rounded, and the order of adding shows in their last bits: the bound holds in real-number arithmetic.
    """

    dtype: ClassVar[torch.dtype] = torch.float32
    certificate: ClassVar[str] = (
        "each unit's contribution has a norm of at most the bound in real-number arithmetic; the sums that ran were "
        "rounded floating-point numbers, and no claim is made about their last bits"
    )

    def arrange(self, piece: Piece) -> Piece:
        """What is held of a row's gradient until its norm is known."""
        return cheapest(piece) if isinstance(piece, Series) else piece

    def add(self, pieces: Mapping[str, Piece], clipping: Clipping, active: Tensor, sums: Mapping[str, Tensor]) -> int:
        """Adds each active unit's clipped gradient to `sums`, by parameter. A unit that is not finite adds zeros.

        Returns how many more units a `Fixed` clipping leaves as they are than it clips.
        """
        ready = {name: cheapest(piece) for name, piece in pieces.items()}
        squared = torch.zeros(len(active), device=active.device)
        for piece in ready.values():
            squared += squares(piece)
        valid = active & torch.isfinite(squared)
        norms = torch.where(valid, squared, 0).double().sqrt()
        scale = torch.where(valid, clipping.factors(norms), 0)
        factors = scale.float()
        blank = not bool(valid.all())
        for name, piece in ready.items():
            scaled_sum(blanked(piece, valid) if blank else piece, factors, sums[name])
        return balance(scale, 1.0)


def cheapest(piece: Piece) -> Piece:
    """A product over time stays one where inner products over pairs of times cost less than multiplying it out."""
    match piece:
        case Series(outputs, inputs) if 2 * inputs.shape[1] ** 2 <= inputs.shape[2] * outputs.shape[2]:
            return piece
        case _:
            return multiplied(piece)


def squares(piece: Piece) -> Tensor:
    """Each unit's squared norm in float32, not below the true one where terms cancel."""
    match piece:
        case Outer(outputs, inputs):
            return row_squares(outputs) * row_squares(inputs)
        case Series(outputs, inputs):
            left, right = torch.bmm(outputs, outputs.mT), torch.bmm(inputs, inputs.mT)
            lengths = (left.diagonal(dim1=1, dim2=2) * right.diagonal(dim1=1, dim2=2)).sqrt().sum(1)
            return left.mul_(right).sum((1, 2)).clamp_min_(0) + CANCELLED * lengths.square()
        case Dense(values):
            return row_squares(values)
        case Scatter(_, values, _, owners):
            by_row = row_squares(values.flatten(1))
            if owners is None:
                return by_row
            return by_row.new_zeros(len(by_row) + 1).index_add_(0, owners, by_row)[:-1]


def row_squares(values: Tensor) -> Tensor:
    return torch.linalg.vector_norm(values, dim=1).square()


def scaled_sum(piece: Piece, factors: Tensor, total: Tensor) -> None:
    """Adds the sum over units of factor × gradient."""
    match piece:
        case Outer(outputs, inputs):
            total.view(outputs.shape[1], -1).addmm_((outputs * factors.unsqueeze(1)).mT, inputs)
        case Series(outputs, inputs):
            matrix = total.view(outputs.shape[2], -1)
            chunk = rows_at_once(outputs, outputs[0].numel(), CHUNK)
            for start in range(0, len(outputs), chunk):
                part = slice(start, start + chunk)
                scaled = (outputs[part] * factors[part].view(-1, 1, 1)).flatten(0, 1)
                matrix.addmm_(scaled.mT, inputs[part].flatten(0, 1))
        case Dense(values):
            total.addmv_(values.mT, factors)
        case Scatter(indices, values, height, owners):
            rows = factors if owners is None else torch.cat([factors, factors.new_zeros(1)])[owners]
            scaled = (values * rows.view(-1, 1, 1)).flatten(0, 1)
            total.view(height, -1).index_add_(0, indices.flatten(), scaled)
