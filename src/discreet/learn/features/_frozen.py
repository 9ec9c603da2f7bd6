"""Features from a network that was trained elsewhere: its weights stay as they are, and rows do not meet."""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.features._map import FeatureMap
from discreet.learn.gradients import Column
from discreet.learn.preparing import FrozenAlgorithm, Preparation, networks_at_hand
from discreet.learn.preparing._features import Reals, cut_at, is_whole, shortened
from discreet.marginals import PublicStream

__all__ = ["Frozen"]

_FLOOR = 1e-6
_LEAST_ROWS, _MOST_ROWS, _MOST_NUMBERS = 4, 65_536, 2**24
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Frozen(FeatureMap):
    """What a network makes of each row, over its L2 norm: the network is a public constant, as one trained elsewhere.

    A copy of it is frozen in eval mode, by `fit` or when first used; training the original later changes nothing. It
    runs in microbatches of one size, the last one filled up with zeros, since a row's numbers may change with how many
    there are. Before the first one, made-up public rows show that neither a row's place nor its company changes a bit
    of its features. That is a test and no proof. Whether the network may be public is the caller's to know: one that
    was trained on private rows without noise is not.

    Parameters
    ----------
    net
        A torch module on the CPU, from float32 rows of the shape to floating-point rows, which are flattened.
    shape
        The shape of what the network reads of one row, as in ``(1, 28, 28)``; None: all columns as a vector.
    rows
        How many rows a microbatch has places for.

    Numbers of a row that are missing, or too large for float32, are 0 to the network; features that are no finite
    number are 0 too.

    >>> frozen = Frozen(nn.Linear(2, 3, bias=False), shape=(2,))
    >>> frozen.transform([[0.5, 0.5], [0.0, 0.0]]).shape, frozen.bounds
    ((2, 3), (-1.0, 1.0))
    """

    def __init__(self, net: nn.Module | None = None, *, shape: tuple[int, ...] | None = None, rows: int = 64) -> None:
        self.net = net
        self.shape = shape
        self.rows = rows

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds of every feature. Raises `ParameterError` where `shape` is to follow from a matrix."""
        cut = cut_at(self._count(self._stated_columns()))
        return (-cut, cut)

    @property
    def digest(self) -> str:
        """SHA-256 of the frozen weights and buffers, with their names, types and shapes, in hexadecimal."""
        return _digest(self._frozen(self._stated_columns()))

    def register(self) -> Self:
        """Let models that were fitted on this network find it, as long as the process runs: those read from files.

        A pipeline that is fitted does so by itself. Raises `ParameterError` without `shape`, and as `transform`.
        """
        self._preparation(Fraction(0))
        return self

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002 - as every transformer has it
        """The same map as a step of a pipeline, which is free; of the weights that the network has now."""
        if self.shape is None:
            raise ParameterError("say the shape of what the network reads, as in Frozen(net, shape=(1, 28, 28))")
        columns = self._width(0)
        if hasattr(self, "_net") and self.net is not None and _what(self.net) != _what(self._net):
            self._freeze(columns)
        net = self._frozen(columns)
        shape, count = tuple(map(int, self.shape)), self._count(columns)
        network, layers, weights = _what(net)
        sides = "x".join(map(str, shape))
        algorithm = FrozenAlgorithm(network, layers, weights, sides, int(self.rows), count)
        private = _PrivateRows(net, shape, int(self.rows), count)
        networks_at_hand[algorithm] = private.features
        return algorithm

    @property
    def statement(self) -> Mapping[str, Any]:
        """Its class, digests of its layers and weights, and how it runs; which does not hold its code."""
        network, layers, weights = _what(self._frozen(self._stated_columns()))
        return {
            "features": "frozen_network",
            "version": 1,
            "network": network,
            "layers": layers,
            "weights": weights,
            "shape": None if self.shape is None else list(self.shape),
            "rows": self.rows,
        }

    def _stated_columns(self) -> int:
        fitted: int | None = getattr(self, "n_features_in_", None)
        if self.shape is None and fitted is None:
            raise ParameterError("say the shape of what the network reads, or fit first; bounds follow from it")
        return self._width(fitted or 0)

    def _width(self, columns: int) -> int:
        if not isinstance(self.net, nn.Module):
            raise ParameterError(f"net is a torch module, as in Frozen(net, shape=(1, 28, 28)), not {self.net!r}")
        if not is_whole(self.rows, _LEAST_ROWS, _MOST_ROWS):
            raise ParameterError(f"rows is a whole number from {_LEAST_ROWS} to {_MOST_ROWS}, not {self.rows!r}")
        shape = self._row_shape(columns)
        if not all(is_whole(each, 1, _MOST_NUMBERS) for each in shape):
            raise ParameterError(f"shape is whole numbers of 1 or more, as in shape=(1, 28, 28), not {shape!r}")
        return math.prod(shape)

    def _row_shape(self, columns: int) -> tuple[int, ...]:
        return (columns,) if self.shape is None else tuple(self.shape)

    def _count(self, columns: int) -> int:
        blank = torch.zeros(self.rows, *self._row_shape(columns))
        return _run(self._frozen(columns), blank).shape[1]

    def _freeze(self, columns: int) -> None:
        net = self.net
        if not isinstance(net, nn.Module):
            raise ParameterError(f"net is a torch module, as in Frozen(net, shape=(1, 28, 28)), not {net!r}")
        if any(each.device.type != "cpu" for each in net.state_dict().values()):
            raise ParameterError("the network is to be on the CPU, where its features are tested: call net.cpu()")
        frozen = copy.deepcopy(net).eval().requires_grad_(requires_grad=False)
        _check_rows_apart(frozen, Column(self._row_shape(columns)), self.rows)
        self._net = frozen

    def _frozen(self, columns: int) -> nn.Module:
        if not hasattr(self, "_net"):
            self._freeze(columns)
        return self._net

    def _map(self, rows: Reals) -> Reals:
        net, shape = self._frozen(rows.shape[1]), self._row_shape(rows.shape[1])
        known = _known(rows, shape)
        outputs = [_run(net, batch)[:count] for batch, count in _microbatches(known, self.rows)]
        return shortened(torch.cat(outputs).double().numpy(), _FLOOR)


@dataclass(frozen=True)
class _PrivateRows:
    """What a network makes of rows of people, of whom nothing shows in an error: a row on which it fails has none."""

    net: nn.Module
    shape: tuple[int, ...]
    rows: int
    count: int

    def features(self, rows: Reals) -> Reals:
        """The features of each row; its own, whatever the others are."""
        outputs: list[Tensor] = []
        for batch, count in _microbatches(_known(rows, self.shape), self.rows):
            output = self._tried(batch)
            if output is None:
                output = torch.cat([self._alone(batch, place) for place in range(count)])
            outputs.append(output[:count])
        return shortened(torch.cat(outputs).double().numpy(), _FLOOR)

    def _alone(self, batch: Tensor, place: int) -> Tensor:
        output = self._tried(_among(torch.zeros_like(batch), batch[place], [0]))
        return torch.zeros(1, self.count) if output is None else output[:1]

    def _tried(self, batch: Tensor) -> Tensor | None:
        """What it makes of a batch; None if it fails, or makes more or fewer features than of public rows."""
        try:
            output = _run(self.net, batch)
        except Exception:  # noqa: BLE001 - whatever it says may be about a row
            return None
        return output if output.shape[1] == self.count else None


def _known(rows: Reals, shape: tuple[int, ...]) -> Tensor:
    """The rows as a network reads them, without what is missing or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = rows.astype(np.float32)
    return torch.from_numpy(np.where(np.isfinite(narrow), narrow, np.float32(0)).reshape(len(rows), *shape))


def _microbatches(known: Tensor, rows: int) -> Iterator[tuple[Tensor, int]]:
    """Batches of one size, the last one filled up with zeros, and how many rows each has."""
    for start in range(0, len(known), rows):
        part = known[start : start + rows]
        batch = torch.zeros(rows, *known.shape[1:])
        batch[: len(part)] = part
        yield batch, len(part)


def _run(net: nn.Module, batch: Tensor) -> Tensor:
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


def _what(net: nn.Module) -> tuple[str, str, str]:
    """What a network is: its class, and digests of its layers as they print themselves, and of its weights."""
    kind, layers = type(net), _ADDRESS.sub("", repr(net))
    return f"{kind.__module__}.{kind.__qualname__}", hashlib.sha256(layers.encode()).hexdigest(), _digest(net)


def _digest(net: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(net.state_dict().items()):
        digest.update(f"{len(name)}:{name}:{tensor.dtype}:{list(tensor.shape)}:".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _check_rows_apart(net: nn.Module, column: Column, rows: int) -> None:
    """Returns if made-up rows have the same output, bit for bit, in every place and company; costs no privacy.

    Raises `ParameterError` that says what changes it.
    """
    stream, before = PublicStream(b"rows of the test of frozen networks"), _digest(net)
    crowds = [column.rows(rows, stream), column.hostile(rows)]
    _same(_run(net, crowds[0]), _run(net, crowds[0]), "between two runs: something draws at random, or remembers")
    for _ in range(2):
        row = column.rows(1, stream)
        own = _run(net, _among(column.blank(rows), row, [0]))[0]
        for crowd in crowds:
            company = "with other rows of the batch: batch statistics, or attention across rows?"
            _same(own, _run(net, _among(crowd, row, [0]))[0], company)
        for crowd in (row.repeat(rows, *(1 for _ in column.shape)), *crowds):
            for parity in (0, 1):
                places = list(range(parity, rows, 2))
                for output in _run(net, _among(crowd, row, places))[places]:
                    _same(own, output, "with a row's place in the batch: use a multiple of 32 rows, or fewer threads")
    if _digest(net) != before:
        raise ParameterError("the network changes its weights or buffers where it runs, and is not frozen")


def _among(crowd: Tensor, row: Tensor, places: list[int]) -> Tensor:
    batch = crowd.clone()
    batch[places] = row
    return batch


def _same(one: Tensor, other: Tensor, change: str) -> None:
    if not torch.equal(one.nan_to_num(), other.nan_to_num()):
        raise ParameterError(f"on made-up rows, the features of a row change {change}")
