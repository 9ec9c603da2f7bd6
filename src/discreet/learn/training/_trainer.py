"""Private training without a loop of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from discreet.learn.training._network import Network
from discreet.learn.training._plan import TrainingPlan
from discreet.learn.training._private import Private
from discreet.learn.training._rows import Tensors
from discreet.records import Records

__all__ = ["Trainer"]


class Trainer:
    """Trains a network privately: the loop of `Private`, with a loss of each row.

    Parameters
    ----------
    net, optimizer, data, settings
        As of `Private`.
    loss
        From what the network gives out and y to a loss for each row, as ``nn.CrossEntropyLoss(reduction="none")``.
    """

    def __init__(
        self,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Callable[[Tensor, Tensor], Tensor],
        data: Records | Tensors,
        **settings: Any,
    ) -> None:
        self._net, self._loss, self._optimizer = net, loss, optimizer
        self._private = Private(net, optimizer, data, **settings)

    @property
    def net(self) -> nn.Module:
        """The network."""
        return self._net

    @property
    def loss(self) -> Callable[[Tensor, Tensor], Tensor]:
        """The loss of each row."""
        return self._loss

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimiser, whose hooks see every noisy gradient."""
        return self._optimizer

    def plan(self) -> TrainingPlan:
        """What training will cost and how much noise it adds. Free, and touches no data."""
        return self._private.plan()

    def fit(self, checkpoint: str | Path | None = None, every: int = 100) -> Network:
        """Train, or go on from a checkpoint, or get the same network again for free; see `Private.batches`."""
        for batch in self._private.batches(checkpoint, every):
            self._private.step(self._loss(self._net(batch.x), batch.y))
        network = self._private.network
        assert network is not None
        return network
