"""What tests run in groups of processes: python processes.py FOLDER SCENARIO…"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch._dynamo  # every optimiser loads it, and takes a second or two: here it is once, before the forks
import torch.distributed as dist
from torch import Tensor, nn
from trainings import POLICY, QUERY, SPEND, network, visits

import discreet as dp
from discreet import learn, noise
from discreet.learn.training._private import Private
from discreet.learn.training._update import Update

LOSS = nn.CrossEntropyLoss(reduction="none")
STEPS = 6
UNITS = 150
PATIENCE = 25
"""Seconds to wait for another process: the machine may be busy."""
Member = Callable[[str, int, int, Path], None]
"""One process of a group in a scenario: its number, how many there are, and a folder."""


def rows(*, by_unit: bool) -> learn.Tensors:
    torch.manual_seed(4)
    x, y = torch.randn(2 * UNITS, 4), torch.randint(2, (2 * UNITS,))
    return learn.Tensors(x, y, np.arange(2 * UNITS) // 2, 2) if by_unit else learn.Tensors(x, y)


def fixed_sums(data: learn.Tensors, processes: learn.Processes | None) -> tuple[np.ndarray, list[Tensor]]:
    """The sums of all steps before their noise, which is the same in each training, as the coins are."""
    dice = np.random.default_rng(7)
    seen: list[np.ndarray] = []
    move = Update.apply

    def moved(self: Update, exact: np.ndarray, added: np.ndarray, places: int) -> None:
        seen.append(exact.copy())
        move(self, exact, dice.integers(-(2**36), 2**36, len(added)), places)

    net = network()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    settings: dict[str, Any] = {"spend": SPEND, "steps": STEPS, "rate": "0.5", "about": UNITS, "places": 32}
    with (
        patch.object(noise, "bernoulli", lambda rate, size: dice.random(size) < float(rate)),
        patch.object(Update, "apply", moved),
    ):
        learn.Trainer(net, optimizer, LOSS, data, processes=processes, **settings).fit()
    return np.array(seen), list(net.state_dict().values())


def loop(net: nn.Module, asked: Any, at: int = -1, action: Any = None, *path: Any) -> None:
    """A loop of either kind, which does something else at its `at`-th batch of people."""
    taken = 0
    for batch in asked.batches(*path):
        taken += not batch.rehearsal
        if taken == at and not batch.rehearsal:
            action(batch)
        asked.step(LOSS(net(batch.x), batch.y))


def private(session: dp.Session, net: nn.Module, **changes: Any) -> Private:
    settings: dict[str, Any] = {"spend": SPEND, "steps": 12, "rate": "0.5", "about": 300, "places": 32}
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    return Private(net, optimizer, session.records(QUERY, label="sick"), **{**settings, **changes})


@contextlib.contextmanager
def refused(*kinds: type[Exception]) -> Generator[list[str]]:
    words: list[str] = []
    try:
        yield words
    except kinds as error:
        words.append(f"{type(error).__name__}: {error}")


def in_turn(rank: int, folder: Path) -> None:
    """All that processes survive, in one pair of them."""
    report: dict[str, Any] = {}
    for by_unit in (False, True):
        if rank:
            net = network(5)
            loop(net, learn.Worker(net))
            np.savez(folder / f"worker{by_unit}.npz", *(each.numpy() for each in net.state_dict().values()))
            continue
        alone, _ = fixed_sums(rows(by_unit=by_unit), None)
        together, weights = fixed_sums(rows(by_unit=by_unit), learn.Processes())
        np.savez(folder / f"sums{by_unit}.npz", alone=alone, together=together)
        np.savez(folder / f"weights{by_unit}.npz", *(each.numpy() for each in weights))
    with dp.connect({"visits": visits()}, POLICY) if not rank else contextlib.nullcontext() as session:
        for scenario in ("whole", "again", "left", "raised", "another", "mixed", "moved", "led", "dropped"):
            net: Any = network()
            if rank and scenario == "another":
                net = nn.Linear(4, 2)
            if scenario == "dropped":
                net.insert(1, learn.Dropout(0.5))
            if scenario == "moved":
                net.register_buffer("mean", torch.zeros(4))
            others = {"name": "whole" if scenario == "again" else scenario, "spend": dp.approx(1, "1e-6")}
            action: Any = None
            if rank:
                asked: Any = learn.Worker(net)
                action = {"left": left, "raised": raised, "moved": partial(moved, net)}.get(scenario)
            else:
                assert session is not None
                asked = private(session, net, processes=learn.Processes(), **others)
                action = {"led": raised}.get(scenario)
            kinds = (dp.DiscreetError, Left, ZeroDivisionError)
            with refused(*kinds) as words:
                if scenario == "mixed" and rank:
                    for batch in asked.batches():
                        losses = LOSS(net(batch.x), batch.y)
                        asked.step(losses * losses.detach().mean())
                else:
                    loop(net, asked, 2 if action else -1, action)
            report[scenario] = words
            if session is not None:
                report[f"spent {scenario}"] = str(session.spent)
                report.setdefault("networks", []).append(asked.network is not None)
    (folder / f"report{rank}.json").write_text(json.dumps(report))


class Left(Exception):
    """The loop was left."""


def left(_: Any) -> None:
    raise Left


def moved(net: Any, batch: learn.Batch) -> None:
    net.mean.copy_(batch.x[0])


def raised(_: Any) -> None:
    raise ZeroDivisionError


def killed(number: int) -> Any:
    return lambda _: os.kill(os.getpid(), number)


def on_ledger(rank: int, folder: Path, action: Any, made: Callable[[nn.Module], nn.Module] = lambda net: net) -> None:
    """A training with a checkpoint, in which one process may do something in its ninth batch."""
    net = made(network())
    with refused(dp.DiscreetError) as words:
        if rank:
            optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
            loop(net, learn.Worker(net, PATIENCE, optimizer), 9, action or (lambda _: None))
        else:
            with dp.connect({"visits": visits()}, POLICY, str(folder / "visits.ledger")) as session:
                asked = private(session, net, processes=learn.Processes(timeout=PATIENCE))
                loop(net, asked, 9, action or (lambda _: None), folder / "net.ckpt", 2)
    (folder / f"words{rank}.json").write_text(json.dumps(words))


def member(scenario: str, rank: int, count: int, folder: Path) -> None:
    """One process of the group."""
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=count)
    match scenario.split("-"):
        case ["turns"]:
            in_turn(rank, folder)
        case ["killed", victim]:
            on_ledger(rank, folder, killed(signal.SIGKILL) if rank == int(victim) else None)
        case ["stuck", victim]:
            on_ledger(rank, folder, killed(signal.SIGSTOP) if rank == int(victim) else None)
        case _:
            on_ledger(rank, folder, None)


def group(scenario: str, count: int, folder: Path, member: Member) -> float:
    """Run a scenario in as many processes, forked from this one; the seconds until all have ended but a stuck one."""
    (folder / "meeting").unlink(missing_ok=True)
    began, pids = time.monotonic(), list[int]()
    for rank in range(count):
        pid = os.fork()
        if not pid:
            try:
                member(scenario, rank, count, folder)
            except BaseException:  # noqa: BLE001 - whatever it is, the test is to see it
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(0)  # the group's threads may wait for processes that were killed
        pids.append(pid)
    stuck = int(scenario.split("-")[1]) if scenario.startswith("stuck") else None
    for rank, pid in enumerate(pids):
        if rank != stuck:
            os.waitpid(pid, 0)
    seconds = time.monotonic() - began
    if stuck is not None:
        os.kill(pids[stuck], signal.SIGKILL)
        os.waitpid(pids[stuck], 0)
    return seconds


def main(folder: Path, scenarios: Sequence[str], member: Member) -> None:
    """Each scenario, as killed-1:3 for three processes, in a folder of its name; one after an = goes on in that one."""
    torch.set_num_threads(1)
    for each in scenarios:
        name, _, count = each.partition(":")
        scenario, _, place = name.partition("=")
        own = folder / (place or scenario)
        own.mkdir(exist_ok=True)
        seconds = group(scenario, int(count or 2), own, member)
        (own / f"seconds {scenario}.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:], member)
