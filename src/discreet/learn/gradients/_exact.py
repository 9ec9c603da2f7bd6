"""Contributions as integers on a public grid, with norms that are bounded for what the machine computed.

The proof, with every constant, is in ``proofs/learning_gradients.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from discreet.errors import ParameterError
from discreet.learn.gradients._adaptive import balance
from discreet.learn.gradients._clipping import Clipping
from discreet.learn.gradients._device import rows_at_once
from discreet.learn.gradients._pieces import Dense, Outer, Piece, Scatter, Series, dense

__all__ = ["Exact", "squared_norms"]

BLOCK = 1024
"""Squares that are summed in float32 at a time."""
OUTWARD = 1 + 2.0**-13
"""More than (1 − u)^−(BLOCK + 8), the most that float32 sums of BLOCK squares fall short, with u = 2^−24."""
TINY = 2.0**-125
"""More than what a square below float32's normal numbers loses."""
INWARD = 1 - 2.0**-20
"""Makes up for the roundings of factors, of float64 sums and of float32 products."""
LEAST_FACTOR, MOST_FACTOR = 2.0**-126, 2.0**120
CHUNK = 1 << 19
"""Coordinates that are rounded at a time, so that they stay in the cache."""
EXACT_FROM = 2**53
"""float64 holds all integers below this."""


@dataclass(frozen=True)
class Exact:
    """Sums of integer vectors, each of norm at most `steps`, where one step is bound/steps of the loss's gradient.

    Sums are float64 numbers that are whole and below 2⁵³, so that no order of adding changes them.
    """

    steps: int = 2**36
    dtype: ClassVar[torch.dtype] = torch.float64
    certificate: ClassVar[str] = (
        "each unit's contribution is a vector of integers whose norm is at most the bound, for the numbers that the "
        "machine computed; sums are exact"
    )

    def __post_init__(self) -> None:
        if not 2**16 <= self.steps <= 2**44 or self.steps & (self.steps - 1):
            raise ParameterError(f"steps must be a power of two from 2**16 to 2**44, not {self.steps!r}")

    @property
    def most_units(self) -> int:
        """How many units one sum can hold, for certain."""
        return EXACT_FROM // self.steps - 1

    def arrange(self, piece: Piece) -> Piece:
        """What is held of a row's gradient until its norm is known: products over time are multiplied out."""
        return multiplied(piece) if isinstance(piece, Series) else piece

    def add(self, pieces: Mapping[str, Piece], clipping: Clipping, active: Tensor, sums: Mapping[str, Tensor]) -> int:
        """Adds each active unit's integers to `sums`, by parameter. A unit whose gradient is not finite adds zeros.

        Returns how many more units a `Fixed` clipping leaves as they are than it clips.
        """
        ready, scale = self.prepared(pieces, clipping, active)
        for name, piece in ready.items():
            self._add(piece, scale, sums[name])
        return balance(scale, self.steps / clipping.bound * INWARD)

    def prepared(
        self, pieces: Mapping[str, Piece], clipping: Clipping, active: Tensor
    ) -> tuple[dict[str, Piece], Tensor]:
        """Pieces whose norms are sums of squares, blank where a unit is not finite or active, and each unit's scale."""
        ready = {name: multiplied(piece) for name, piece in pieces.items()}
        squared = torch.zeros(len(active), dtype=torch.float64, device=active.device)
        for piece in ready.values():
            squared += squared_norms(piece)
        valid = active & torch.isfinite(squared)
        norms = torch.where(valid, squared, 0).sqrt()
        scale = clipping.factors(norms) * (self.steps / clipping.bound * INWARD)
        if not bool(valid.all()):
            ready = {name: blanked(piece, valid) for name, piece in ready.items()}
        return ready, torch.where(valid, scale, 0)

    def _add(self, piece: Piece, scale: Tensor, total: Tensor) -> None:
        match piece:
            case Outer(outputs, inputs):
                left, right = self.factored(outputs, inputs, scale)
                total.view(left.shape[1], right.shape[1]).addmm_(left.t(), right)
            case Scatter(indices, values, height):
                width = values.shape[2]
                owners = scale if piece.owners is None else torch.cat([scale, scale.new_zeros(1)])[piece.owners]
                steps = truncated(values.flatten(0, 1), factor(owners).repeat_interleave(values.shape[1]))
                total.view(height, width).index_add_(0, indices.flatten(), steps.double())
            case Dense(values):
                factors = factor(scale)
                chunk = rows_at_once(values, values.shape[1], CHUNK)
                for start in range(0, len(values), chunk):
                    part = slice(start, start + chunk)
                    total += truncated(values[part], factors[part]).sum(0)
            case Series():
                self._add(multiplied(piece), scale, total)

    def factored(self, outputs: Tensor, inputs: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Integers whose products are a row's contribution: the steps' bits are shared so that both are as fine."""
        ratio = inputs.shape[1] / outputs.shape[1]
        bits = max(0, round(math.log2(self.steps) / 2 + math.log2(ratio) / 4))
        _, exponents = torch.frexp(row_squares(inputs).sqrt())
        shifts = (bits - exponents).clamp(-126, 126)
        right = truncated(inputs, power_of_two(shifts))
        left = truncated(outputs, factor(scale * power_of_two(-shifts)))
        return left.double(), right.double()


def power_of_two(exponents: Tensor) -> Tensor:
    """2 to the power of int32 `exponents` from −126 to 127, exactly, as float32."""
    return ((exponents + 127) << 23).view(torch.float32)


def multiplied(piece: Piece) -> Piece:
    """The piece in a form whose norm is a sum of squares, in which nothing cancels.

    Products over time are multiplied out, and repeated lines of tables added.
    """
    match piece:
        case Series():
            return Dense(dense(piece))
        case Scatter():
            return without_repeats(piece)
        case _:
            return piece


def without_repeats(piece: Scatter) -> Scatter:
    """The same table's gradients, where each line that a unit reads has one entry and the others are zero."""
    rows, times = piece.indices.shape
    places = torch.arange(rows * times, device=piece.indices.device)
    owners = places[:rows] if piece.owners is None else piece.owners
    lines = (owners.unsqueeze(1) * piece.height + piece.indices).flatten()
    _, group = torch.unique(lines, return_inverse=True)
    first = torch.full_like(group, len(group)).scatter_reduce_(0, group, places, "amin")
    values = torch.zeros_like(piece.values).flatten(0, 1).index_add_(0, first[group], piece.values.flatten(0, 1))
    return Scatter(piece.indices, values.view(rows, times, -1), piece.height, piece.owners)


def squared_norms(piece: Piece) -> Tensor:
    """At least each unit's squared norm over the numbers in `piece`, in float64; NaN or infinite if those are."""
    match piece:
        case Outer(outputs, inputs):
            return row_squares(outputs) * row_squares(inputs)
        case Scatter(_, values):
            squares = row_squares(values.flatten(1))
            if piece.owners is None:
                return squares
            return squares.new_zeros(len(squares) + 1).index_add_(0, piece.owners, squares)[:-1]
        case Dense(values):
            return row_squares(values)
        case Series():
            return squared_norms(multiplied(piece))


def row_squares(values: Tensor) -> Tensor:
    """At least the sum of squares of each row, exactly as its numbers are, in float64."""
    size = values.shape[1]
    even = size - size % BLOCK
    total = torch.zeros(len(values), dtype=torch.float64, device=values.device)
    if even:
        blocks = values[:, :even].unflatten(1, (-1, BLOCK))
        total += torch.linalg.vector_norm(blocks, dim=2).double().square().sum(1)
    if even < size:
        total += torch.linalg.vector_norm(values[:, even:], dim=1).double().square()
    return total * OUTWARD + size * TINY


def factor(scale: Tensor) -> Tensor:
    """Scales as float32: at most 1 + 2^−24 times as large, and never a number that is not normal."""
    small = torch.where(scale < LEAST_FACTOR, 0, scale.clamp_max(MOST_FACTOR))
    return small.float()


def truncated(values: Tensor, factors: Tensor) -> Tensor:
    """Products of values and factors, row by row, rounded towards zero, as int64."""
    return (values * factors.unsqueeze(1)).long()


def blanked(piece: Piece, valid: Tensor) -> Piece:
    """The piece with zeros for units that are not valid, so that no NaN times zero enters a sum."""
    match piece:
        case Outer(outputs, inputs):
            mask = valid.unsqueeze(1)
            return Outer(torch.where(mask, outputs, 0), torch.where(mask, inputs, 0))
        case Series(outputs, inputs):
            mask = valid.view(-1, 1, 1)
            return Series(torch.where(mask, outputs, 0), torch.where(mask, inputs, 0))
        case Dense(values):
            return Dense(torch.where(valid.unsqueeze(1), values, 0))
        case Scatter(indices, values, height, owners):
            rows = valid if owners is None else torch.cat([valid, valid.new_zeros(1)])[owners]
            return Scatter(indices, torch.where(rows.view(-1, 1, 1), values, 0), height, owners)
