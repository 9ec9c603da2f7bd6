"""Where a network's arithmetic runs: on the CPU, or on an NVIDIA GPU that was seen to add whole numbers exactly."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.marginals import PublicStream

__all__ = ["check_exact", "check_workspace", "described", "device_of", "repeatable", "rows_at_once"]

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
_REPEATABLE = (":4096:8", ":16:8")
"""Of cuBLAS: with either, products are added in the same order each time (its manual, "Results reproducibility")."""
_ON_GPU = 1 << 26
"""Numbers that are written out at a time on a GPU."""
_ROWS, _SIDE = 512, 96
_LEFT, _RIGHT = 2**20, 2**23
"""512 products of numbers below these come to less than 2⁵²."""


def device_of(model: nn.Module) -> torch.device:
    """Where a model is. Raises `ParameterError` if it is in several places, or where its arithmetic was not checked."""
    places = {each.device for each in chain(model.parameters(), model.buffers())}
    if len(places) > 1:
        raise ParameterError(
            f"the network is on {' and '.join(sorted(map(str, places)))}: private training is on one device; move all "
            "of it, parameters and buffers, with .to()"
        )
    (device,) = places
    if device.type not in {"cpu", "cuda"}:
        raise ParameterError(
            f"the network is on {device}; private training is on the CPU or an NVIDIA GPU, where its arithmetic has "
            "been checked: call .cpu() or .cuda()"
        )
    return device


def described(device: torch.device) -> dict[str, str]:
    """What a certificate says of a device that is not the CPU: its model."""
    return {} if device.type == "cpu" else {"device": torch.cuda.get_device_name(device)}


def check_workspace(device: torch.device) -> None:
    """Raise `ParameterError` where cuBLAS may add in another order each time."""
    if device.type == "cuda" and os.environ.get(_WORKSPACE) not in _REPEATABLE:
        raise ParameterError(
            f"exact sums on a GPU need products that are added in the same order each time: leave {_WORKSPACE} unset "
            f"in the environment, or set it to {_REPEATABLE[0]}, before Python starts"
        )


@contextmanager
def repeatable(device: torch.device) -> Generator[None]:
    """On a GPU, only algorithms that add in the same order each time, for as long as this lasts.

    Raises `ParameterError` where a layer has none.
    """
    if device.type != "cuda":
        yield
        return
    settings: Any = torch.utils.deterministic
    cudnn: Any = torch.backends.cudnn
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled, chosen = settings.fill_uninitialized_memory, (cudnn.deterministic, cudnn.benchmark)
    torch.use_deterministic_algorithms(mode=True)
    settings.fill_uninitialized_memory, cudnn.deterministic, cudnn.benchmark = False, True, False
    try:
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        raise ParameterError(
            "a layer adds in another order each time on a GPU, and torch knows no other way; exact sums need one: "
            "train on the CPU, use another layer, or arithmetic='float'"
        ) from None
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        settings.fill_uninitialized_memory, (cudnn.deterministic, cudnn.benchmark) = filled, chosen


def check_exact(device: torch.device) -> None:
    """Raise `ParameterError` unless a device adds whole numbers below 2⁵³ as they are, on public examples.

    Products of float64 matrices, sums of int64 and sums by index are compared with the CPU's integers.
    """
    stream = PublicStream(b"whole numbers whose sums a device is tried on")
    left, right = (_integers(stream, most) for most in (_LEFT, _RIGHT))
    lines = (torch.arange(_ROWS) * 7) % _SIDE
    exact = left.t() @ right
    product = torch.zeros(_SIDE, _SIDE, dtype=torch.float64, device=device)
    product.addmm_(left.double().to(device).t(), right.double().to(device))
    scattered = torch.zeros(_SIDE, _SIDE, dtype=torch.float64, device=device)
    scattered.index_add_(0, lines.to(device), right.double().to(device))
    by_line = torch.zeros(_SIDE, _SIDE, dtype=torch.int64).index_add_(0, lines, right)
    column = right.to(device).sum(0)
    pairs = ((exact, product), (by_line, scattered), (right.sum(0), column))
    if not all(torch.equal(expected, seen.cpu().long()) for expected, seen in pairs):
        raise ParameterError(
            f"sums of whole numbers are not exact on {device}: its products may be emulated by shorter numbers; turn "
            "that off, or train on the CPU; or use arithmetic='float'"
        )


def rows_at_once(values: Tensor, size: int, on_cpu: int) -> int:
    """How many rows, of so many numbers each, are written out at a time: `on_cpu` numbers, which stay in a CPU's cache.

    On a GPU they are far more, in equal parts: its products add in another order where parts differ in size. It is one
    row at least, however many numbers that has.
    """
    if values.device.type == "cpu":
        return max(1, on_cpu // max(1, size))
    rows = max(1, len(values))
    parts = min(rows, max(1, -(-rows * size // _ON_GPU)))
    return rows // next(each for each in range(parts, rows + 1) if rows % each == 0)


def _integers(stream: PublicStream, most: int) -> Tensor:
    uniform = torch.from_numpy(stream.uniform(_ROWS * _SIDE).reshape(_ROWS, _SIDE))
    return ((2 * uniform - 1) * (most - 1)).long()
