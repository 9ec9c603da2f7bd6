"""What tests of sharded networks run in groups of processes: python shards.py FOLDER SCENARIO…"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.distributed as dist
from processes import LOSS, PATIENCE, STEPS, UNITS, killed, loop, main, on_ledger, refused, rows
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from trainings import POLICY, QUERY, SPEND, network, visits

import discreet as dp
from discreet import learn, noise
from discreet.learn.training import _training_run
from discreet.learn.training._update import Update

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adam": lambda net: torch.optim.Adam(net.parameters(), lr=0.05),
    "momentum": lambda net: torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9, weight_decay=0.01),
    "dpadam": lambda net: learn.DPAdam(net.parameters(), lr=0.05),
}


class Tied(nn.Module):
    """A table that is read and multiplied by, a layer that is used twice, a frozen one, a number of its own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.again, self.last = nn.Linear(4, 7), nn.Linear(7, 7), nn.Linear(7, 2)
        self.twin = nn.Linear(7, 7)
        self.twin.weight = self.again.weight
        self.scale = nn.Parameter(torch.ones(7))
        self.register_buffer("shift", torch.ones(7) / 3)
        for each in self.first.parameters():
            each.requires_grad = False

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.again(torch.tanh(self.first(x)) + self.shift)) * self.scale
        return self.last(torch.tanh(self.twin(self.again(x))))


NETWORKS: dict[str, Callable[[], nn.Module]] = {"plain": network, "tied": Tied, "counted": network}
"""Where people are counted, the divisor and what `DPAdam` knows of the noise follow from the count."""


def sharded(net: nn.Module, *, inside: bool = True) -> nn.Module:
    """The same network over all processes; layers in groups of their own, or all in one."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    if inside and isinstance(net, nn.Sequential):
        for each in net:
            if list(each.parameters()):
                fully_shard(each, mesh=mesh)
    fully_shard(net, mesh=mesh)
    return net


def whole(net: nn.Module) -> dict[str, np.ndarray]:
    """The weights of a network, gathered by torch's own means."""
    return {
        name: (each.full_tensor() if hasattr(each, "full_tensor") else each).detach().numpy()
        for name, each in net.state_dict().items()
    }


def check_sharded_again(net: nn.Module, *, shard: bool) -> None:
    """Afterwards torch's own hooks gather for a forward pass, and shards are what is at rest."""
    weights = whole(net)
    plain = Tied() if isinstance(net, Tied) else network()
    plain.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
    with torch.no_grad():
        assert (net(torch.ones(3, 4)) == plain(torch.ones(3, 4))).all()
    assert all(hasattr(each, "full_tensor") == shard for each in net.state_dict().values() if each.shape != (7,))


def trained(
    kind: str, optimizer: str, data: learn.Tensors, processes: learn.Processes | None, *, shard: bool
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The sums of all steps before their noise, which is the same in each training, as the coins are."""
    dice = np.random.default_rng(7)
    seen: list[np.ndarray] = []
    move = Update.apply

    def moved(self: Update, exact: np.ndarray, added: np.ndarray, places: int) -> None:
        seen.append(exact.copy())
        move(self, exact, dice.integers(-(2**36), 2**36, len(added)), places)

    net = NETWORKS[kind]()
    net = sharded(net) if shard else net
    settings: dict[str, Any] = {"spend": SPEND, "steps": STEPS, "rate": "0.5", "about": UNITS, "places": 32}
    if kind == "counted":
        settings["about"] = learn.NoisyCount("0.1")
    with (
        patch.object(_training_run, "noisy_count", lambda _, people: people + 7),
        patch.object(noise, "bernoulli", lambda rate, size: dice.random(size) < float(rate)),
        patch.object(Update, "apply", moved),
    ):
        trainer = learn.Trainer(net, OPTIMIZERS[optimizer](net), LOSS, data, processes=processes, **settings)
        released = trainer.fit()
    assert trainer.plan().people == (2 * UNITS + 7 if kind == "counted" else UNITS)
    weights = whole(net)
    check_sharded_again(net, shard=shard)
    assert all((weights[name] == each.numpy()).all() for name, each in released.weights.items())
    return np.array(seen), weights


def alike(rank: int, folder: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Alone, in processes, and in processes that share out the weights: sums and weights of each."""
    data = rows(by_unit=False)
    for kind, optimizer in pairs:
        make = OPTIMIZERS[optimizer]
        for way in ("alone", "processes", "shards") if rank == 0 else ("processes", "shards"):
            name = folder / f"{kind}-{optimizer}-{way}"
            if not rank:
                processes = None if way == "alone" else learn.Processes()
                sums, weights = trained(kind, optimizer, data, processes, shard=way == "shards")
                np.savez(f"{name}-sums.npz", sums)
                np.savez(f"{name}.npz", **weights)
                continue
            net = NETWORKS[kind]()
            net = sharded(net) if way == "shards" else net
            loop(net, learn.Worker(net, optimizer=make(net)))
            np.savez(f"{name}-worker.npz", **whole(net))
            check_sharded_again(net, shard=way == "shards")


def resumed(rank: int, folder: Path) -> None:
    """A training in each of two ways, broken off in the middle, gone on with in each; the noise is always the same."""
    for began in (False, True):
        for ended in (False, True):
            with refused(dp.DiscreetError):
                on_records(rank, folder / f"resumed-{began}-{ended}", shard=began, last=6)
            on_records(rank, folder / f"resumed-{began}-{ended}", shard=ended, last=18)


def on_records(rank: int, folder: Path, *, shard: bool, last: int) -> None:
    """Everybody in each step, and noise that the step says, up to one of them; what the checkpoint held at the end."""
    folder.mkdir(exist_ok=True)
    net = sharded(network()) if shard else network()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    if rank:
        loop(net, learn.Worker(net, optimizer=optimizer))
        return
    move, path = Update.apply, folder / "net.ckpt"
    taken = 0 if last == 6 else 12  # six were begun and are lost

    def moved(self: Update, exact: np.ndarray, added: np.ndarray, places: int) -> None:
        nonlocal taken
        if taken == last:
            raise dp.LedgerError("broken off")
        taken += 1
        move(self, exact, np.random.default_rng(taken).integers(-(2**36), 2**36, len(added)), places)

    with (
        dp.connect({"visits": visits()}, POLICY, str(folder / "visits.ledger")) as session,
        patch.object(noise, "bernoulli", lambda _, size: np.ones(size, bool)),
        patch.object(Update, "apply", moved),
    ):
        settings: dict[str, Any] = {"spend": SPEND, "steps": 18, "rate": "0.5", "about": 300, "places": 64}
        settings |= {"processes": learn.Processes(), "average": True}
        asked = learn.Private(net, optimizer, session.records(QUERY, label="sick"), **settings)
        try:
            loop(net, asked, -1, None, path, 6)
            assert asked.network is not None
            np.savez(folder / "weights.npz", **{name: each.numpy() for name, each in asked.network.weights.items()})
        finally:
            (folder / f"{last}.ckpt").write_bytes(path.read_bytes())


def unlike(rank: int, folder: Path) -> None:
    """What is refused, in words, in each process."""
    count = dist.get_world_size()
    mesh = init_device_mesh("cpu", (count,))
    report: dict[str, list[str]] = {}
    makes: dict[str, Callable[[], nn.Module]] = {
        "half": lambda: fully_shard(network(), mesh=mesh, mp_policy=MixedPrecisionPolicy(torch.bfloat16)),
        "offloaded": lambda: fully_shard(network(), mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=False)),
        "hybrid": lambda: fully_shard(network(), mesh=init_device_mesh("cpu", (1, count), mesh_dim_names=("a", "b"))),
        "here alone": lambda: network() if rank else sharded(network()),
        "there alone": lambda: sharded(network()) if rank else network(),
        "another optimiser": lambda: sharded(network()),
        "made before": lambda: sharded(network()),
        "no optimiser": lambda: sharded(network()),
        "raised": lambda: sharded(network()),
        "whole": lambda: sharded(network()),
    }
    for name, make in makes.items():
        with refused(dp.DiscreetError, ZeroDivisionError) as words:
            net = make()
            kind = torch.optim.SGD if rank and name == "another optimiser" else torch.optim.Adam
            parameters = network().parameters() if name == "made before" else net.parameters()
            optimizer = kind(parameters, lr=0.05)
            if rank:
                asked: Any = learn.Worker(net, PATIENCE, None if name == "no optimiser" else optimizer)
            else:
                settings: dict[str, Any] = {"spend": SPEND, "steps": 3, "rate": "0.5", "about": UNITS, "places": 32}
                data = rows(by_unit=False)
                asked = learn.Private(net, optimizer, data, processes=learn.Processes(PATIENCE), **settings)
            loop(net, asked, 2 if name == "raised" and rank else -1, divide)
        dist.barrier()
        report[name] = words
    (folder / f"report{rank}.json").write_text(json.dumps(report))


def divide(_: Any) -> None:
    raise ZeroDivisionError


def member(scenario: str, rank: int, count: int, folder: Path) -> None:
    """One process of the group."""
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=count)
    match scenario.split("-"):
        case ["daily"]:
            alike(rank, folder, [("plain", "adam"), ("tied", "momentum"), ("counted", "dpadam")])
            resumed(rank, folder)
            unlike(rank, folder)
        case ["all"]:
            alike(rank, folder, product(NETWORKS, OPTIMIZERS))
        case ["killed", victim]:
            on_ledger(rank, folder, killed(signal.SIGKILL) if rank == int(victim) else None, sharded)
        case _:
            on_ledger(rank, folder, None, sharded)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:], member)
