"""Networks that are only run: on microbatches of one size, where no row's outputs depend on another's, as is tried."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients._probe import Column
from discreet.marginals import PublicStream

__all__ = ["PrivateRows", "check_rows_apart", "microbatches", "outputs_of", "tensors_digest"]


@dataclass(frozen=True)
class PrivateRows:
    """What a network makes of rows of people, of whom nothing shows in an error: a row on which it fails has zeros.

    Attributes
    ----------
    net
        It was seen to keep rows apart: see `check_rows_apart`.
    rows
        How many rows a microbatch has.
    count
        How many numbers it returns for a row.
    """

    net: nn.Module
    rows: int
    count: int

    def outputs(self, known: Tensor) -> Tensor:
        """The outputs of each row; its own, whatever the others are."""
        outputs: list[Tensor] = [torch.zeros(0, self.count)]
        for batch, count in microbatches(known, self.rows):
            output = self._tried(batch)
            if output is None:
                output = torch.cat([self._alone(batch, place) for place in range(count)])
            outputs.append(output[:count])
        return torch.cat(outputs)

    def _alone(self, batch: Tensor, place: int) -> Tensor:
        output = self._tried(_among(torch.zeros_like(batch), batch[place], [0]))
        return torch.zeros(1, self.count) if output is None else output[:1]

    def _tried(self, batch: Tensor) -> Tensor | None:
        """What it makes of a batch; None if it fails, or makes more or fewer numbers than of public rows."""
        try:
            output = outputs_of(self.net, batch)
        except Exception:  # noqa: BLE001 - whatever it says may be about a row
            return None
        return output if output.shape[1] == self.count else None


def microbatches(known: Tensor, rows: int) -> Iterator[tuple[Tensor, int]]:
    """Batches of one size, the last one filled up with zeros, and how many rows each has."""
    for start in range(0, len(known), rows):
        part = known[start : start + rows]
        batch = torch.zeros(rows, *known.shape[1:])
        batch[: len(part)] = part
        yield batch, len(part)


def outputs_of(net: nn.Module, batch: Tensor) -> Tensor:
    """What the network makes of a batch, a row each. Raises `ParameterError` if that is no such thing."""
    try:
        with torch.no_grad():
            output = net(batch)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise ParameterError(f"the network does not read rows of the shape {tuple(batch.shape[1:])}: {error}") from None
    if not (isinstance(output, Tensor) and output.is_floating_point() and output.ndim and len(output) == len(batch)):
        raise ParameterError("the network is to return one tensor of floating-point numbers, with a row for each row")
    flat = output.reshape(len(batch), -1)
    if not flat.shape[1]:
        raise ParameterError("the network returns no number for a row")
    return flat


def tensors_digest(net: nn.Module) -> str:
    """SHA-256 of a network's weights and buffers, with their names, types and shapes, in hexadecimal."""
    digest = hashlib.sha256()
    for name, tensor in sorted(net.state_dict().items()):
        digest.update(f"{len(name)}:{name}:{tensor.dtype}:{list(tensor.shape)}:".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def check_rows_apart(net: nn.Module, column: Column, rows: int) -> None:
    """Returns if made-up rows have the same output, bit for bit, in every place and company; costs no privacy.

    Raises `ParameterError` that says what changes it.
    """
    stream, before = PublicStream(b"rows of the test of frozen networks"), tensors_digest(net)
    crowds = [column.rows(rows, stream), column.hostile(rows)]
    _same(
        outputs_of(net, crowds[0]),
        outputs_of(net, crowds[0]),
        "between two runs: something draws at random, or remembers",
    )
    for _ in range(2):
        row = column.rows(1, stream)
        own = outputs_of(net, _among(column.blank(rows), row, [0]))[0]
        for crowd in crowds:
            company = "with other rows of the batch: batch statistics, or attention across rows?"
            _same(own, outputs_of(net, _among(crowd, row, [0]))[0], company)
        for crowd in (row.repeat(rows, *(1 for _ in column.shape)), *crowds):
            for parity in (0, 1):
                places = list(range(parity, rows, 2))
                for output in outputs_of(net, _among(crowd, row, places))[places]:
                    _same(own, output, "with a row's place in the batch: use a multiple of 32 rows, or fewer threads")
    if tensors_digest(net) != before:
        raise ParameterError("the network changes its weights or buffers where it runs, and is not frozen")


def _among(crowd: Tensor, row: Tensor, places: list[int]) -> Tensor:
    batch = crowd.clone()
    batch[places] = row
    return batch


def _same(one: Tensor, other: Tensor, change: str) -> None:
    if not torch.equal(one.nan_to_num(), other.nan_to_num()):
        raise ParameterError(f"on made-up rows, what it makes of a row changes {change}")
