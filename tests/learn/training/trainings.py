"""A small table, a network and a training of it, for tests and for the processes that tests kill."""

from __future__ import annotations

import random
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import torch
from torch import nn

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError
from discreet.learn.training import _private

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 9, "delta": "1e-4"},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 2,
            "columns": {
                "age": {"type": "float", "bounds": [0, 100]},
                "site": {"type": "string", "keys": ["a", "b"]},
                "sick": {"type": "bool"},
            },
        }
    },
}
QUERY = "SELECT age, site, sick FROM visits"
SPEND = dp.approx(2, "1e-6")


def visits(rows: int = 600) -> pa.Table:
    dice = random.Random(3)
    sick = [dice.random() < 0.5 for _ in range(rows)]
    return pa.table({
        "person": [i // 2 for i in range(rows)],
        "age": [30 + 40 * each + dice.gauss(0, 9) for each in sick],
        "site": ["a" if each else "b" for each in sick],
        "sick": sick,
    })  # fmt: skip


def network(start: int = 1) -> nn.Sequential:
    torch.manual_seed(start)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def training(session: dp.Session, net: nn.Module | None = None, **changes: Any) -> tuple[nn.Module, learn.Trainer]:
    net = network() if net is None else net
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    data = session.records(QUERY, label="sick")
    settings: dict[str, Any] = {"spend": SPEND, "steps": 12, "rate": "0.2", "about": 300, "places": 32}
    loss = nn.CrossEntropyLoss(reduction="none")
    return net, learn.Trainer(net, optimizer, loss, data, **{**settings, **changes})


LOST = 3
"""How a process ends whose count of people was begun by one that was killed, and is lost."""


def broken_off(session: dp.Session, path: Path, at: int, every: int = 4, **changes: Any) -> None:
    """A training that stops in the middle of a step, as one that is killed does."""
    net, trainer = training(session, **changes)
    taken = 0
    for batch in trainer._private.batches(path, every):
        taken += not batch.rehearsal
        if taken == at:
            return
        trainer._private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))


def train(ledger: str, checkpoint: str, steps: int, ready: Connection, *, counted: bool = False) -> None:
    """Train in a process of its own, on a network whose first weights are its own too; people may be counted.

    It sends a message where all is ready to be charged, or to go on.
    """
    torch.set_num_threads(1)
    with dp.connect({"visits": visits()}, POLICY, ledger) as session:
        start = 1 if not Path(checkpoint).exists() else 2
        _, trainer = training(session, network(start), steps=steps, about=learn.NoisyCount() if counted else 300)
        opened = _private.open_training

        def announced(*asked: Any) -> Any:
            ready.send_bytes(b"ready")
            return opened(*asked)

        with patch.object(_private, "open_training", announced):
            try:
                trainer.fit(checkpoint, 1)
            except LedgerError as error:
                if "a count is not drawn twice" not in str(error):
                    raise
                sys.exit(LOST)
