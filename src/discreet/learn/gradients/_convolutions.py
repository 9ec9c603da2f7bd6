"""Rules of convolutions in one to three dimensions, and of transposed ones: a product of windows and gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from discreet.learn.gradients._capture import Capture, coupled, one_gradient, one_input
from discreet.learn.gradients._device import rows_at_once
from discreet.learn.gradients._pieces import Dense, Piece, Series

__all__ = ["convolution", "transposed", "windows"]

LARGE = 1 << 17
"""Coordinates from which on a product is kept as its factors, if they are smaller."""
CHUNK = 1 << 18
"""Numbers of patches that are written out at a time."""

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d
Transposed = nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d


def windows(images: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Tensor:
    """The patches that a kernel sees, (rows, channels, kernel's places…, positions…): a view."""
    spatial = images.shape[2:]
    reach = [step * (size - 1) + 1 for step, size in zip(dilation, kernel, strict=True)]
    counts = [(length - far) // step + 1 for length, far, step in zip(spatial, reach, stride, strict=True)]
    steps = images.stride()
    return images.as_strided(
        (*images.shape[:2], *kernel, *counts),
        (
            *steps[:2],
            *(size * step for size, step in zip(steps[2:], dilation, strict=True)),
            *(size * step for size, step in zip(steps[2:], stride, strict=True)),
        ),
        images.storage_offset(),
    )


def grouped(first: Tensor, patches: Tensor, groups: int, axes: int) -> Piece:
    """Of row i and group g: first[i, g] · patches[i, g]ᵀ, over positions.

    `first` is (rows, channels, positions…), and `patches` as `windows` gives them. Patches overlap, so that as numbers
    of their own they take many times an image's memory: they are written out a few rows at a time, unless the
    products would take more.
    """
    rows, channels = first.shape[:2]
    inner = patches.shape[1] // groups * patches.shape[2 : 2 + axes].numel()
    positions = patches.shape[2 + axes :].numel()
    if groups == 1 and channels * inner >= LARGE and 2 * positions**2 <= channels * inner:
        return Series(first.flatten(2).mT, patches.reshape(rows, inner, -1).mT)
    products = first.new_empty(rows, groups, channels // groups, inner)
    outputs = first.reshape(rows, groups, channels // groups, positions)
    chunk = rows_at_once(first, groups * inner * positions, CHUNK)
    for start in range(0, rows, chunk):
        part = slice(start, start + chunk)
        flat = patches[part].reshape(-1, inner, positions)
        torch.bmm(outputs[part].flatten(0, 1), flat.mT, out=products[part].flatten(0, 1))
    return Dense(products.flatten(1))


def convolution(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """Any stride, dilation, groups, padding and padding mode."""
    assert isinstance(layer, Convolution)
    inputs, gradient = one_input(capture), one_gradient(capture)
    axes = len(layer.kernel_size)
    if inputs.dim() != axes + 2:
        raise coupled(capture, "was given one row without an axis of rows")
    pieces: dict[str, Piece] = {}
    if "weight" in trained:
        patches = windows(padded(layer, inputs), layer.kernel_size, layer.stride, layer.dilation)
        pieces["weight"] = grouped(gradient, patches, layer.groups, axes)
    if "bias" in trained:
        pieces["bias"] = Dense(gradient.flatten(2).sum(2))
    return pieces


def padded(layer: Convolution, inputs: Tensor) -> Tensor:
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    sides: list[int] = []
    for size, step, padding in reversed(list(zip(layer.kernel_size, layer.dilation, padding_of(layer), strict=True))):
        total = step * (size - 1)
        sides += [total // 2, total - total // 2] if padding is None else [padding, padding]
    return F.pad(inputs, sides, mode) if any(sides) else inputs.contiguous()


def padding_of(layer: Convolution) -> list[int | None]:
    """On both sides of each axis; None means that the output is as long as the input."""
    if isinstance(layer.padding, str):
        return [None if layer.padding == "same" else 0] * len(layer.kernel_size)
    return list(layer.padding)


def transposed(layer: nn.Module, capture: Capture, trained: frozenset[str]) -> dict[str, Piece]:
    """The transpose of a convolution: windows are of the output's gradient, one for each place of the input."""
    assert isinstance(layer, Transposed)
    inputs, gradient = one_input(capture), one_gradient(capture)
    axes = len(layer.kernel_size)
    if inputs.dim() != axes + 2:
        raise coupled(capture, "was given one row without an axis of rows")
    pieces: dict[str, Piece] = {}
    if "weight" in trained:
        sides = [side for size in reversed([int(each) for each in layer.padding]) for side in (size, size)]
        outer = F.pad(gradient, sides) if any(sides) else gradient.contiguous()
        patches = windows(outer, layer.kernel_size, layer.stride, layer.dilation)
        # Output padding may leave room for one more window than there are places of the input.
        patches = patches[(..., *(slice(0, length) for length in inputs.shape[2:]))]
        pieces["weight"] = grouped(inputs, patches, layer.groups, axes)
    if "bias" in trained:
        pieces["bias"] = Dense(gradient.flatten(2).sum(2))
    return pieces
