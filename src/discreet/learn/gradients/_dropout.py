"""Dropout whose masks are secure exact coins, a row's own for each row: torch's generator is never asked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet import noise
from discreet.errors import ParameterError
from discreet.marginals import PublicStream
from discreet.rational import Number, rational

__all__ = ["BLANK_MASK", "CROWD_MASKS", "HOSTILE_MASK", "ROW_MASKS", "Dropout", "dropouts_of", "rehearsed", "withheld"]

Masks = Callable[[Fraction, tuple[int, ...]], NDArray[np.bool_]]
"""From the probability that a number is kept, and the shape of a batch, to which of its numbers are."""

BLANK_MASK, ROW_MASKS, CROWD_MASKS, HOSTILE_MASK = 0, (0, 1), (2, 3), 4
"""Masks of a rehearsal by number: the first keeps all, the last nothing, and those between are made up."""


def fresh_masks(keep: Fraction, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """An exact coin of its own for each number, which nobody can draw again."""
    return noise.bernoulli(keep, math.prod(shape)).reshape(shape)


def no_masks(keep: Fraction, shape: tuple[int, ...]) -> NDArray[np.bool_]:  # noqa: ARG001
    """Raises `ParameterError`: a second pass would have other masks than the one that it repeats."""
    raise ParameterError(
        "learn.Dropout was asked for a second mask for the same pass: it is inside a module with trained parameters of "
        "its own, whose forward is run again (give those a module of their own), or in a checkpointed part"
    )


class Dropout(nn.Module):
    """Sets each number to 0 with probability `p` while training, and divides the others by 1 − p.

    In place of `torch.nn.Dropout`, which private training refuses: each row of a batch has a mask of its own, of coins
    from `discreet.noise`, independent of all rows, so that a training's loss is what it is without. Rows are along the
    first axis. A training that goes on from a checkpoint draws fresh masks.

    >>> layer = Dropout("0.25").eval()
    >>> layer, layer(torch.ones(2))
    (Dropout(p=1/4), tensor([1., 1.]))

    Raises `ParameterError` unless 0 ≤ p < 1. Source: Srivastava et al. 2014; ``proofs/learning_training.md``.
    """

    def __init__(self, p: Number = 0.5) -> None:
        super().__init__()
        self.p = rational(p, "p")
        if not 0 <= self.p < 1:
            raise ParameterError("p must be from 0 to 1, and below 1")
        self.masks: Masks = fresh_masks
        """Where masks come from: another place in a rehearsal alone."""
        self.axes: set[int] = set()
        """How long the first axes were in the pass that is listened to: as long as the batch has rows, each."""

    def forward(self, x: Tensor) -> Tensor:
        """`x` with fresh zeros, of the same shape; itself if the module is not training."""
        if not self.training or not self.p:
            return x
        if not x.is_floating_point() or not x.dim():
            raise ParameterError("learn.Dropout takes a tensor of floats, with the rows along its first axis")
        self.axes.add(x.shape[0])
        masks = self.masks
        if "torch._dynamo" in sys.modules:  # otherwise nothing was compiled, and loading the compiler takes a second
            compiler: Any = torch.compiler
            masks = compiler.disable(masks)
        mask = torch.from_numpy(masks(1 - self.p, tuple(x.shape)))
        return x * mask.to(x).mul_(float(1 / (1 - self.p)))

    def extra_repr(self) -> str:
        """As in the module's repr."""
        return f"p={self.p}"


class RehearsedMasks:
    """Public masks of one pass: that of a place by its number, another at each call of the layer.

    Places with the same number have the same mask, so that what a row adds can be compared between places.
    """

    def __init__(self, layer: int, numbers: NDArray[np.int64]) -> None:
        self._layer, self._numbers, self._calls = layer, numbers, 0

    def __call__(self, keep: Fraction, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        stream = PublicStream(f"mask of call {self._calls} of dropout {self._layer} in a rehearsal".encode())
        self._calls += 1
        size = math.prod(shape[1:])
        table = np.zeros((HOSTILE_MASK + 1, size), np.bool_)
        table[BLANK_MASK] = True
        table[1:HOSTILE_MASK] = stream.uniform((HOSTILE_MASK - 1) * size).reshape(-1, size) < float(keep)
        if shape[0] != len(self._numbers):  # refused once the losses are there
            return np.ones(shape, np.bool_)
        return table[self._numbers].reshape(shape)


def dropouts_of(model: nn.Module) -> tuple[Dropout, ...]:
    """The layers of a model that draw masks."""
    return tuple(each for each in model.modules() if isinstance(each, Dropout))


def rehearsed(dropouts: Sequence[Dropout], numbers: Tensor) -> None:
    """The next pass has public masks, by number for each place."""
    for place, each in enumerate(dropouts):
        each.masks = RehearsedMasks(place, numbers.numpy())


@contextmanager
def withheld(dropouts: Sequence[Dropout], masks: Masks = no_masks) -> Generator[None]:
    """No layer draws a mask for as long as this lasts; afterwards each draws as before."""
    before = [each.masks for each in dropouts]
    for each in dropouts:
        each.masks = masks
    try:
        yield
    finally:
        for each, source in zip(dropouts, before, strict=True):
            each.masks = source
