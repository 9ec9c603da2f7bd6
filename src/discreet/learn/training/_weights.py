"""A network's tensors in training: as a file, as digests, what of them may not move, and the mean of those that do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import safetensors.torch
import torch
from torch import Tensor, nn

from discreet.errors import LedgerError

__all__ = ["StillTensors", "WeightMean", "architecture_digest", "weights_digest", "weights_to_bytes"]


def architecture_digest(net: nn.Module) -> str:
    """SHA-256 of a network's modules and the shapes of its parameters."""
    shapes = ", ".join(f"{name} {tuple(each.shape)}" for name, each in net.named_parameters())
    modules = repr(net)
    for each in net.modules():  # which fully_shard gives other names
        first = next(kind for kind in type(each).__mro__ if not kind.__module__.startswith("torch.distributed.fsdp"))
        if first is not type(each):
            modules = modules.replace(f"{type(each).__name__}(", f"{first.__name__}(")
    return hashlib.sha256(f"{modules} {shapes}".encode()).hexdigest()


def weights_digest(net: nn.Module) -> str:
    """SHA-256 of a network's tensors."""
    return hashlib.sha256(weights_to_bytes(net)).hexdigest()


def weights_to_bytes(net: nn.Module) -> bytes:
    """A file of the network's tensors; of tied ones under each name."""
    state = net.state_dict()
    return safetensors.torch.save(
        {name: each.cpu().clone(memory_format=torch.contiguous_format) for name, each in state.items()}
    )


class StillTensors:
    """The tensors that a file of the network has beside those that are trained: training moves none of them."""

    def __init__(self, net: nn.Module, trained: Iterable[Tensor]) -> None:
        self._net, self._trained = net, tuple(trained)
        self._digest = self._digest_now()

    def check(self) -> None:
        """Raise `LedgerError` if one has moved since."""
        if self._digest_now() != self._digest:
            raise LedgerError(
                "buffers or frozen parameters of the network have changed in training, and could carry what rows hold "
                "past the noise: nothing is stored; keep them as they are"
            )

    def _digest_now(self) -> str:
        moved = {each.data_ptr() for each in self._trained}
        digest = hashlib.sha256()
        for name, each in self._net.state_dict().items():
            if each.data_ptr() not in moved or not each.numel():
                digest.update(f"{name} {each.dtype} {tuple(each.shape)}".encode())
                digest.update(each.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        return digest.hexdigest()


class WeightMean:
    """The mean of the weights after each step of the second half: a function of what was released, with less noise."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], steps: int) -> None:
        self._parameters, self._steps = parameters, steps
        self.tensors: dict[str, Tensor] = {}
        """The mean so far, by parameter; empty in the first half."""

    def add(self, step: int) -> None:
        """Takes the weights after this step into the mean."""
        count = step - self._steps // 2
        if count < 1:
            return
        for name, each in self._parameters.items():
            before = self.tensors.setdefault(name, each.detach().clone())
            before += (each.detach() - before) / count

    def load_into(self, net: nn.Module) -> None:
        """Give the network the mean, if there is one."""
        if self.tensors:
            net.load_state_dict({**net.state_dict(), **self.tensors})
