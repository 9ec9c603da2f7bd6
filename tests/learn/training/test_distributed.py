"""Training in several processes: the sums of one process, noise drawn once, and an end in words whoever dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from trainings import SPEND, network

from discreet import learn
from discreet.errors import LedgerError, ParameterError
from discreet.learn.correlated import CyclicPoisson
from discreet.learn.training._rows import Sampler
from discreet.learn.training._weights import StillTensors
from discreet.ledger import open_ledger

STEPS, FINISHING = 12, 16
HERE = Path(__file__).parent


def ran(folder: Path, *scenarios: str, script: str = "processes.py") -> None:
    """Groups of processes, one after another; what they write to stderr is a failure."""
    command = [sys.executable, str(HERE / script), str(folder), *scenarios]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=300, check=False, env=environment)
    errors = [line for line in done.stderr.splitlines() if "Traceback" in line or "Error" in line]
    assert done.returncode == 0 and not errors, done.stderr


def words(folder: Path, rank: int) -> Any:
    return json.loads((folder / f"words{rank}.json").read_text())


def check_ledger(path: Path, *, most: int = STEPS + FINISHING) -> int:
    """The chain holds each step once, no more than were charged, and one charge; how many were begun."""
    with open_ledger(str(path)) as opened:
        assert opened.spent == SPEND
        begun: list[int] = []
        for entry in opened.entries():
            if entry.kind == "begin":
                assert entry.steps is not None
                begun.extend(range(entry.steps[0], entry.steps[1] + 1))
    assert begun == list(range(1, len(begun) + 1)) and len(begun) <= most
    return len(begun)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two processes that train in turn; then a pair of which one is killed, and a pair that goes on."""
    folder = tmp_path_factory.mktemp("groups")
    ran(folder, "turns", "killed-1", "resumed=killed-1")
    return folder


@pytest.mark.parametrize("by_unit", [False, True])
def test_two_processes_add_up_what_one_does_bit_for_bit(groups: Path, by_unit: bool) -> None:
    """The same coins and noise: the sums of all steps before noise, and all processes have the same weights."""
    sums = np.load(groups / "turns" / f"sums{by_unit}.npz")
    assert sums["alone"].shape == sums["together"].shape and sums["alone"].any(axis=1).all()
    assert (sums["alone"] == sums["together"]).all()
    ours, theirs = (np.load(groups / "turns" / f"{name}{by_unit}.npz") for name in ("weights", "worker"))
    assert all((ours[name] == theirs[name]).all() for name in ours.files) and len(ours.files) == 4


def test_who_leaves_or_cannot_take_part_ends_it_in_words(groups: Path) -> None:
    first, second = (json.loads((groups / "turns" / f"report{rank}.json").read_text()) for rank in (0, 1))
    expected = {
        "whole": ([], []),
        "again": ([], []),
        "left": ("process 1 has left", "Left"),
        "raised": ("process 1 has left", "ZeroDivisionError"),
        "another": ("nothing is spent", "build the same one"),
        "mixed": ("nothing is spent", "depend on other rows"),
        "moved": ("changed in process 1", "have changed"),
        "led": ("ZeroDivisionError", "process 0 has ended the training"),
        "dropped": ([], []),
    }
    for scenario, both in expected.items():
        for report, part in zip((first, second), both, strict=True):
            assert part == report[scenario] or part in report[scenario][0], (scenario, report[scenario])
    spent = [first[f"spent {scenario}"] for scenario in expected]
    assert [each.split("(")[1].split(",")[0] for each in spent] == ["1", "1", "2", "3", "3", "3", "4", "5", "6"]
    assert first["networks"] == [True, True, *[False] * 6, True]


def test_a_killed_worker_ends_it_and_the_checkpoint_goes_on(groups: Path) -> None:
    """Both launches together have each step once; the second ends it."""
    assert words(groups / "killed-1", 0) == words(groups / "killed-1", 1) == []
    assert check_ledger(groups / "killed-1" / "visits.ledger") > STEPS
    assert json.loads((groups / "killed-1" / "seconds killed-1.json").read_text()) < 60


@pytest.mark.soak
@pytest.mark.parametrize("scenario", ["killed-0", "killed-0:3", "killed-2:3", "stuck-0", "stuck-1", "stuck-1:3"])
def test_no_process_waits_for_one_that_is_killed_or_stuck(tmp_path: Path, scenario: str) -> None:
    name, _, count = scenario.partition(":")
    ran(tmp_path, scenario)
    victim = int(name[-1])
    for rank in range(int(count or 2)):
        if rank != victim:
            assert "LedgerError" in words(tmp_path / name, rank)[0]
    assert json.loads((tmp_path / name / f"seconds {name}.json").read_text()) < 120
    begun = check_ledger(tmp_path / name / "visits.ledger", most=STEPS)
    ran(tmp_path, f"resumed={name}:{count or 2}")
    assert check_ledger(tmp_path / name / "visits.ledger") > max(begun, STEPS)


def test_a_unit_belongs_to_one_process_whoever_else_is_there() -> None:
    """With all its rows, once; and where it goes depends on no other unit."""
    rows = learn.Tensors(torch.zeros(60, 1), torch.zeros(60), np.arange(60) // 3, 3)
    sampler = Sampler(rows, CyclicPoisson(1, 1), 8)
    owners = np.arange(20) % 3
    shares = [list(each) for each in sampler.shares(0, owners, 3)]
    for number, share in enumerate(shares):
        taken = np.concatenate([places for places, _ in share])
        assert sorted(taken) == [row for row in range(60) if owners[row // 3] == number]
        for places, slots in share:
            assert len(np.unique(np.stack([places // 3, slots]), axis=1).T) == len(places) // 3


def test_networks_that_torch_wraps_and_groups_that_are_none_are_refused() -> None:
    net = nn.Sequential(nn.DataParallel(network()), nn.Linear(2, 2))
    rows = learn.Tensors(torch.rand(50, 4), torch.randint(2, (50,)))
    settings: dict[str, Any] = {"spend": SPEND, "steps": 3, "rate": "0.5", "about": 50}
    with pytest.raises(ParameterError, match="bare"):
        learn.Private(net, torch.optim.SGD(net.parameters(), lr=1), rows, **settings)
    for make in (learn.Processes, lambda: learn.Worker(network())):
        with pytest.raises(ParameterError, match="torchrun"):
            make()
    assert not dist.is_initialized()


def test_one_process_is_a_group_too(tmp_path: Path) -> None:
    """And torch's wrappers are refused in it, as floats are, in words that say what to give."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        net = network()
        rows = learn.Tensors(torch.rand(50, 4), torch.randint(2, (50,)))
        settings: dict[str, Any] = {"spend": SPEND, "steps": 3, "rate": "0.5", "about": 50, "places": 32}
        optimizer = torch.optim.SGD(net.parameters(), lr=1)
        loss, still = nn.CrossEntropyLoss(reduction="none"), StillTensors(net, [])
        learn.Trainer(net, optimizer, loss, rows, processes=learn.Processes(), **settings).fit()
        with pytest.raises(LedgerError, match="have changed"):
            still.check()
        with pytest.raises(ParameterError, match="sums of floats"):
            learn.Private(net, optimizer, rows, processes=learn.Processes(), arithmetic="float", **settings)
        with pytest.raises(ParameterError, match="process 0"):
            learn.Worker(net)
        with pytest.raises(ParameterError, match="seconds"):
            learn.Processes(timeout=0)
        wrapped: Sequence[tuple[Any, str]] = [
            (nn.parallel.DistributedDataParallel(network()), r"give net\.module"),
            (fully_shard(network(), mesh=init_device_mesh("cpu", (1,))), r"processes=learn\.Processes\(\)"),
        ]
        for each, what in wrapped:
            with pytest.raises(ParameterError, match=what):
                learn.Private(each, torch.optim.SGD(each.parameters(), lr=1), rows, **settings)
    finally:
        dist.destroy_process_group()
