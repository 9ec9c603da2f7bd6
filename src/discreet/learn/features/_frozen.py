"""Features from a network that was trained elsewhere: its weights stay as they are, and rows do not meet."""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.features._map import FeatureMap
from discreet.learn.gradients import Column, PrivateRows, check_rows_apart, microbatches, outputs_of, tensors_digest
from discreet.learn.preparing import FrozenAlgorithm, Preparation, networks_at_hand
from discreet.learn.preparing._features import Reals, cut_at, is_whole, shortened

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
        return tensors_digest(self._frozen(self._stated_columns()))

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
        private = PrivateRows(net, int(self.rows), count)
        networks_at_hand[algorithm] = lambda rows: _features(private.outputs(_known(rows, shape)))
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
        return outputs_of(self._frozen(columns), blank).shape[1]

    def _freeze(self, columns: int) -> None:
        net = self.net
        if not isinstance(net, nn.Module):
            raise ParameterError(f"net is a torch module, as in Frozen(net, shape=(1, 28, 28)), not {net!r}")
        if any(each.device.type != "cpu" for each in net.state_dict().values()):
            raise ParameterError("the network is to be on the CPU, where its features are tested: call net.cpu()")
        frozen = copy.deepcopy(net).eval().requires_grad_(requires_grad=False)
        check_rows_apart(frozen, Column(self._row_shape(columns)), self.rows)
        self._net = frozen

    def _frozen(self, columns: int) -> nn.Module:
        if not hasattr(self, "_net"):
            self._freeze(columns)
        return self._net

    def _map(self, rows: Reals) -> Reals:
        net, shape = self._frozen(rows.shape[1]), self._row_shape(rows.shape[1])
        known = _known(rows, shape)
        outputs = [outputs_of(net, batch)[:count] for batch, count in microbatches(known, self.rows)]
        return _features(torch.cat(outputs))


def _known(rows: Reals, shape: tuple[int, ...]) -> Tensor:
    """The rows as a network reads them, without what is missing or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = rows.astype(np.float32)
    return torch.from_numpy(np.where(np.isfinite(narrow), narrow, np.float32(0)).reshape(len(rows), *shape))


def _features(outputs: Tensor) -> Reals:
    return shortened(outputs.double().numpy(), _FLOOR)


def _what(net: nn.Module) -> tuple[str, str, str]:
    """What a network is: its class, and digests of its layers as they print themselves, and of its weights."""
    kind, layers = type(net), _ADDRESS.sub("", repr(net))
    return f"{kind.__module__}.{kind.__qualname__}", hashlib.sha256(layers.encode()).hexdigest(), tensors_digest(net)
