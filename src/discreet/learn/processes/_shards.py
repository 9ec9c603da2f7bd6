"""A network that `fully_shard` spread over processes, made whole for as long as private training computes with it.

Contributions are of people, so a process needs all weights for its own. What stays divided is what the optimiser keeps.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.processes._wire import Wire

__all__ = ["Shards", "is_sharded"]

_TORCH = "torch.distributed.fsdp"
_HOOKS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
"""Where modules keep what torch calls around a forward pass, the first two, and around state dictionaries."""
_HYBRID = (
    "shard the network over all processes of the group in one dimension, and over nothing else: "
    "fully_shard(net, mesh=init_device_mesh('cpu', (dist.get_world_size(),)))"
)


def is_sharded(net: nn.Module) -> bool:
    """Whether parameters of a network are spread over processes by `fully_shard`, or by other means of torch."""
    return any(_is_spread(each) for each in net.parameters()) or any(map(_is_of_torch, net.modules()))


class Shards:
    """One process's part of a sharded network and of what its optimiser keeps.

    While it is open, the network holds parameters that are whole and equal in all processes, and torch's own hooks,
    which would gather and free them, are set aside. Once it is closed, all is as before: what was trained is in the
    shards. Whatever is marked as collective is to be called in all processes in the same order.

    Raises `ParameterError` for networks that are sharded otherwise than over all processes, hold them elsewhere than
    they compute, or compute in other types than float32; and for an optimiser of another network's parameters.
    """

    def __init__(self, net: nn.Module, optimizer: torch.optim.Optimizer, wire: Wire) -> None:
        self._net, self._wire = net, wire
        self.optimizer = optimizer
        """That of the shards, as it was given."""
        self._set_aside: list[tuple[dict[int, Any], dict[int, Any]]] = []
        self.is_open = False
        for each in net.modules():
            if _is_of_torch(each):
                _check_policy(each).reshard()
        named = dict(net.named_parameters())
        self._own = {name: each for name, each in named.items() if _is_spread(each)}
        for name, each in self._own.items():
            _check_mesh(name, each, wire.count)
        self._plain = {
            name: nn.Parameter(torch.empty(0), requires_grad=each.requires_grad) for name, each in self._own.items()
        }
        names = {id(each): name for name, each in named.items()}
        try:
            self.layout = [[names[id(each)] for each in group["params"]] for group in optimizer.param_groups]
        except KeyError:
            raise ParameterError(
                "the optimiser has parameters that are not the network's: make it after fully_shard, which replaces "
                "them"
            ) from None

    def open(self) -> None:
        """Give the network whole parameters. Collective."""
        self.close()
        self.is_open = True
        self._hold_aside()
        for name, each in self._plain.items():
            each.data = torch.empty(self._own[name].shape)
        self._replace(self._own, self._plain)
        self.gather()

    def close(self) -> None:
        """Give the network its shards again, and let go what is whole."""
        if not self.is_open:
            return
        self.is_open = False
        self._replace(self._plain, self._own)
        for each in self._plain.values():
            each.data = torch.empty(0)
        for hooks, before in self._set_aside:
            later = {key: hook for key, hook in hooks.items() if key not in before}
            hooks.clear()
            hooks.update(before | later)
        self._set_aside = []

    def gather(self) -> None:
        """Give the whole parameters what all shards hold. Collective."""
        owns = list(self._own.values())
        with torch.no_grad():
            for name, full in zip(self._own, self._gathered(owns), strict=True):
                self._plain[name].copy_(full)

    def keep(self) -> None:
        """Give this process's shards what the whole parameters hold."""
        with torch.no_grad():
            for name, each in self._own.items():
                _local(each).copy_(_local(_part(each, self._plain[name].detach())))

    def step(self, parameters: Mapping[str, nn.Parameter], gradients: Sequence[Tensor]) -> None:
        """Takes the optimiser's step on this process's part of whole gradients, and gathers. Collective."""
        self.optimizer.zero_grad(set_to_none=True)
        for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
            own = self._own.get(name)
            if own is None:
                parameter.grad = gradient.clone()
            else:
                own.grad = _part(own, gradient)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.gather()

    def whole_optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of the whole parameters, as if they had never been sharded; with a state of zeros."""
        others = (each for each in self._net.parameters() if id(each) not in {id(one) for one in self._own.values()})
        memo: dict[int, Any] = {id(each): each for each in others}
        memo |= {id(own): self._plain[name] for name, own in self._own.items()}
        for state in self.optimizer.state.values():
            memo |= {id(each): torch.zeros(each.shape) for each in state.values() if _is_spread(each)}
        copied = copy.deepcopy(self.optimizer, memo)
        for name, value in vars(self.optimizer).items():  # torch copies state and groups alone
            if not callable(value):
                vars(copied).setdefault(name, value)
        return copied

    def optimizer_state(self) -> dict[str, Any]:
        """What the optimisers of all processes keep, whole, as that of one process would state it. Collective."""
        stated = self.optimizer.state_dict()
        state = {number: dict(values) for number, values in sorted(stated["state"].items())}
        spread = [(values, name) for values in state.values() for name in sorted(values) if _is_spread(values[name])]
        for (values, name), full in zip(spread, self._gathered([one[name] for one, name in spread]), strict=True):
            values[name] = full
        return {"state": state, "param_groups": stated["param_groups"]}

    def load_optimizer_state(self, gathered: Mapping[str, Any]) -> None:
        """Give the optimiser of each process its part of a whole state, which process 0 has. Collective."""
        state = _state_from_bytes(self._wire.share_bytes(b"" if self._wire.rank else _state_to_bytes(gathered)))
        owners = [self._own.get(name) for group in self.layout for name in group]
        for number, values in state["state"].items():
            own = owners[number]
            for name, each in values.items():
                if own is not None and isinstance(each, Tensor) and each.dim() and each.shape == own.shape:
                    values[name] = _part(own, each)
        self.optimizer.load_state_dict(state)

    def _gathered(self, spread: Sequence[Tensor]) -> list[Tensor]:
        """Tensors that are spread over processes, whole."""
        fulls = [torch.empty(each.shape, dtype=each.dtype) for each in spread]
        for kind in sorted({each.dtype for each in spread}, key=str):
            chosen = [(each, full) for each, full in zip(spread, fulls, strict=True) if each.dtype == kind]
            parts = [[self._slice(each, full, rank) for each, full in chosen] for rank in range(self._wire.count)]
            own = torch.cat([_local(each).detach().flatten() for each, _ in chosen])
            sizes = [sum(each.numel() for each in of_rank) for of_rank in parts]
            for of_rank, flat in zip(parts, self._wire.exchange(own, sizes), strict=True):
                for target, values in zip(of_rank, flat.split([each.numel() for each in of_rank]), strict=True):
                    target.copy_(values.view(target.shape))
        return fulls

    def _slice(self, spread: Any, full: Tensor, rank: int) -> Tensor:
        """The part of a whole tensor that a process has: equal ones but for the last."""
        dim, count = spread.placements[0].dim, self._wire.count
        size = full.shape[dim]
        each = -(-size // count)
        start = min(rank * each, size)
        return full.narrow(dim, start, min(each, size - start))

    def _replace(self, before: Mapping[str, nn.Parameter], after: Mapping[str, nn.Parameter]) -> None:
        """Wherever the network has a parameter, give it another; what is tied stays tied."""
        names = {id(each): name for name, each in before.items()}
        for module in self._net.modules():
            for name, each in list(module.named_parameters(recurse=False, remove_duplicate=False)):
                if id(each) in names:
                    module.register_parameter(name, after[names[id(each)]])

    def _hold_aside(self) -> None:
        for module in self._net.modules():
            held = [self._without(getattr(module, name)) for name in _HOOKS]
            if _is_of_torch(module) and not all(held[:2]):
                raise ParameterError(
                    "this version of torch shards networks in another way than private training knows: give the "
                    "network before it is sharded"
                )

    def _without(self, hooks: dict[int, Any]) -> bool:
        """Set torch's own aside; whether there were any."""
        ours = [key for key, hook in hooks.items() if str(getattr(hook, "__module__", "")).startswith(_TORCH)]
        if ours:
            self._set_aside.append((hooks, dict(hooks)))
        for key in ours:
            del hooks[key]
        return bool(ours)


def _is_of_torch(module: nn.Module) -> bool:
    return any(kind.__module__.startswith(_TORCH) for kind in type(module).__mro__)


def _is_spread(value: Any) -> bool:
    return isinstance(value, Tensor) and any(
        kind.__module__.startswith("torch.distributed") for kind in type(value).__mro__
    )


def _check_policy(module: Any) -> Any:
    """The module. Raises `ParameterError` if it computes in another type, or keeps its shards elsewhere."""
    from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule

    if not isinstance(module, FSDPModule):
        raise ParameterError(
            f"{type(module).__name__} flattens parameters, whose layers can no longer be told apart: apply "
            "fully_shard to the bare network, and give that with processes=learn.Processes()"
        )
    state: Any = module._get_fsdp_state()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    policy = state._mp_policy  # noqa: SLF001
    types = {policy.param_dtype, policy.reduce_dtype, policy.output_dtype}
    if not types <= {None, torch.float32}:
        raise ParameterError(
            "fully_shard was given a mixed precision policy, and private training is in float32: leave mp_policy out"
        )
    if any(isinstance(each.offload_policy, CPUOffloadPolicy) for each in state._fsdp_param_groups):  # noqa: SLF001
        raise ParameterError(
            "fully_shard was told to offload shards to the CPU, where private training computes anyway: leave "
            "offload_policy out"
        )
    return module


def _check_mesh(name: str, spread: Any, count: int) -> None:
    """Raise `ParameterError` for a parameter that is not in equal parts on the CPUs of all processes in turn."""
    from torch.distributed.tensor import Shard

    mesh = spread.device_mesh
    if mesh.ndim != 1 or mesh.mesh.tolist() != list(range(count)) or type(spread.placements[0]) is not Shard:
        raise ParameterError(f"parameter {name} is spread over {mesh} as {spread.placements}: {_HYBRID}")
    if mesh.device_type != "cpu" or spread.dtype != torch.float32:
        raise ParameterError(
            f"parameter {name} is {spread.dtype} on {mesh.device_type}; private training is in torch.float32 on the "
            "CPU, where its arithmetic has been checked"
        )


def _local(spread: Any) -> Tensor:
    return spread.to_local()


def _part(spread: Any, full: Tensor) -> Tensor:
    """The part of a whole tensor that this process has, spread as another one is."""
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(full, spread.device_mesh, spread.placements, src_data_rank=None)


def _state_to_bytes(state: Mapping[str, Any]) -> bytes:
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {"param_groups": state["param_groups"], "state": {}}
    for number, values in state["state"].items():
        plain["state"][str(number)] = {name: each for name, each in values.items() if not isinstance(each, Tensor)}
        tensors |= {f"{number}.{name}": each.clone() for name, each in values.items() if isinstance(each, Tensor)}
    return safetensors.torch.save(tensors, {"plain": json.dumps(plain)})


def _state_from_bytes(payload: bytes) -> dict[str, Any]:
    head = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
    plain = json.loads(head["__metadata__"]["plain"])
    state: dict[int, dict[str, Any]] = {int(number): dict(values) for number, values in plain["state"].items()}
    for key, each in safetensors.torch.load(payload).items():
        number, name = key.split(".", 1)
        state[int(number)][name] = each
    return {"state": state, "param_groups": plain["param_groups"]}
