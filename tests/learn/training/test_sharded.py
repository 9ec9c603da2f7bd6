"""Networks that fully_shard spread over processes: the sums, weights and checkpoints of one process, bit for bit."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_distributed import STEPS, check_ledger, ran, words

ALL = tuple(product(("plain", "tied", "counted"), ("adam", "momentum", "dpadam")))


@pytest.fixture(scope="module")
def daily(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two processes that train in all these ways in turn."""
    folder = tmp_path_factory.mktemp("shards")
    ran(folder, "daily", script="shards.py")
    return folder / "daily"


def check_alike(folder: Path, kind: str, optimizer: str) -> None:
    """Alone, in processes and with shards: sums before noise, and weights in all processes after six steps of it."""

    def arrays(name: str) -> dict[str, np.ndarray]:
        return dict(np.load(folder / f"{kind}-{optimizer}-{name}.npz"))

    alone, *others = (arrays(f"{way}-sums")["arr_0"] for way in ("alone", "processes", "shards"))
    assert alone.any(axis=1).all() and all((alone == each).all() for each in others)
    first = arrays("alone")
    for name in ("processes", "shards", "processes-worker", "shards-worker"):
        weights = arrays(name)
        assert weights.keys() == first.keys()
        assert all((first[each] == weights[each]).all() for each in first), name


@pytest.mark.parametrize(("kind", "optimizer"), [("plain", "adam"), ("tied", "momentum"), ("counted", "dpadam")])
def test_shards_give_the_sums_and_weights_of_one_process_bit_for_bit(daily: Path, kind: str, optimizer: str) -> None:
    check_alike(daily, kind, optimizer)


@pytest.mark.soak
@pytest.mark.parametrize("count", [2, 3])
def test_of_any_optimiser_and_count(tmp_path: Path, count: int) -> None:
    """Of three processes, some have nothing of a bias of two."""
    ran(tmp_path, f"all:{count}", script="shards.py")
    for kind, optimizer in ALL:
        check_alike(tmp_path / "all", kind, optimizer)


def test_a_checkpoint_is_whole_and_goes_on_either_way(daily: Path) -> None:
    """Of shards or not, broken off and gone on with as the other: the same files and the same network."""
    first, *others = (daily / f"resumed-{began}-{ended}" for began in (False, True) for ended in (False, True))
    for name in ("6.ckpt", "18.ckpt"):
        expected = load_file(first / name)
        assert len(expected) == 4 + 3 * 4 + 1 + (4 if name == "18.ckpt" else 0)
        for each in others:
            held = load_file(each / name)
            assert held.keys() == expected.keys() and all((held[key] == expected[key]).all() for key in held)
    expected = dict(np.load(first / "weights.npz"))
    for each in others:
        weights = np.load(each / "weights.npz")
        assert all((weights[key] == expected[key]).all() for key in expected)


def test_what_cannot_work_is_refused_in_words_in_each_process(daily: Path) -> None:
    first, second = (json.loads((daily / f"report{rank}.json").read_text()) for rank in (0, 1))
    expected = {
        "half": ("leave mp_policy out", "leave mp_policy out"),
        "offloaded": ("leave offload_policy out", "leave offload_policy out"),
        "hybrid": ("in one dimension", "in one dimension"),
        "made before": ("make it after fully_shard", "make it after fully_shard"),
        "here alone": ("nothing is spent", "sharded in process 0 and not here"),
        "there alone": ("nothing is spent", "sharded here and not in process 0"),
        "another optimiser": ("nothing is spent", "make the same one in every process"),
        "no optimiser": ("nothing is spent", "optimizer="),
        "raised": ("process 1 has left", "ZeroDivisionError"),
        "whole": ([], []),
    }
    for scenario, both in expected.items():
        for report, part in zip((first, second), both, strict=True):
            assert part == report[scenario] or part in report[scenario][0], (scenario, report[scenario])


@pytest.mark.soak
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_it_and_the_checkpoint_goes_on(tmp_path: Path, victim: int) -> None:
    name = f"killed-{victim}"
    ran(tmp_path, name, script="shards.py")
    assert "LedgerError" in words(tmp_path / name, 1 - victim)[0]
    begun = check_ledger(tmp_path / name / "visits.ledger", most=STEPS)
    ran(tmp_path, f"resumed={name}:3", script="shards.py")
    assert check_ledger(tmp_path / name / "visits.ledger") > max(begun, STEPS)
