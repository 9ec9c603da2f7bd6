"""Whole tensors between the processes of a group, over gloo: nothing that is sent is ever run."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import LedgerError, ParameterError

__all__ = ["HEADER", "Wire"]

HEADER = 3
"""Numbers of a message's head: its kind, and two that the kind explains."""
_MOST_SECONDS = 7 * 24 * 3_600


class Wire:
    """A group of its own within torch.distributed's, of all its processes; what waits longer than `timeout` fails.

    Every process makes one, in the same order. Raises `ParameterError` without a group, and `LedgerError` from every
    method where another process has ended, or is stuck.
    """

    def __init__(self, timeout: float) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise ParameterError(
                "there are no processes to train with: start them with torchrun, and call "
                "torch.distributed.init_process_group('gloo') in each"
            )
        if not 0 < timeout <= _MOST_SECONDS:
            raise ParameterError(f"timeout is a number of seconds, above 0 and at most {_MOST_SECONDS:,}")
        self.rank, self.count = dist.get_rank(), dist.get_world_size()
        with self._reaching():
            group = dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout))
        assert isinstance(group, dist.ProcessGroup)
        self._group = group

    @contextmanager
    def _reaching(self) -> Generator[None]:
        try:
            yield
        except (RuntimeError, ValueError) as error:
            raise LedgerError(
                f"another process of this training has ended or does not answer ({type(error).__name__}): steps that "
                "were begun stay charged; start all processes again, with the same checkpoint"
            ) from None

    def send(self, tensors: Iterable[Tensor], to: int) -> None:
        """Send tensors to a process, which knows their shapes."""
        with self._reaching():
            for each in tensors:
                dist.send(each.contiguous(), to, group=self._group)

    def receive(self, like: Sequence[Tensor]) -> list[Tensor]:
        """Tensors from process 0, of such shapes and types."""
        with self._reaching():
            fresh = [torch.empty_like(each, memory_format=torch.contiguous_format) for each in like]
            for each in fresh:
                dist.recv(each, 0, group=self._group)
        return fresh

    def share(self, tensors: Iterable[Tensor]) -> None:
        """Give all processes the bytes that these tensors have in process 0, in place."""
        with torch.no_grad(), self._reaching():
            for each in tensors:
                if each.numel():
                    values = each.detach().clone(memory_format=torch.contiguous_format)
                    dist.broadcast(values.view(-1).view(torch.uint8), 0, group=self._group)
                    if self.rank:
                        each.copy_(values)

    def share_trained(self, parameters: Sequence[nn.Parameter]) -> None:
        """The same for float32 parameters, in one message."""
        flat = torch.cat([each.detach().flatten() for each in parameters])
        self.share([flat])
        if self.rank:
            with torch.no_grad():
                for part, each in zip(flat.split([each.numel() for each in parameters]), parameters, strict=True):
                    each.copy_(part.view_as(each))

    def share_bytes(self, payload: bytes) -> bytes:
        """The bytes that process 0 has, in all."""
        length = torch.tensor([len(payload)], dtype=torch.int64)
        self.share([length])
        values = np.frombuffer(payload, np.uint8).copy() if not self.rank else np.zeros(int(length), np.uint8)
        self.share([torch.from_numpy(values)])
        return values.tobytes()

    def exchange(self, own: Tensor, sizes: Sequence[int]) -> Generator[Tensor]:
        """What each process in turn has, so many numbers of one type; its own too."""
        for rank, size in enumerate(sizes):
            part = own.contiguous() if rank == self.rank else torch.empty(size, dtype=own.dtype)
            if size:
                with torch.no_grad(), self._reaching():
                    dist.broadcast(part.view(torch.uint8), rank, group=self._group)
            yield part

    def add(self, numbers: NDArray[np.int64], *, failed: bool) -> tuple[NDArray[np.int64], list[int]]:
        """The sum of all processes' whole numbers, in process 0 alone, and which processes say that they failed."""
        state = np.zeros(self.count, np.int64)
        state[self.rank] = failed
        both = torch.from_numpy(np.concatenate([numbers, state]))
        with self._reaching():
            dist.reduce(both, 0, dist.ReduceOp.SUM, group=self._group)
        total = both.numpy()
        return total[: len(numbers)], [int(each) for each in np.flatnonzero(total[len(numbers) :])]
