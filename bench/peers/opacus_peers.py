"""A network trained by Opacus, for bench/learning_opacus.py: a process, JSON in and out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def network(kind: str, run: int) -> nn.Sequential:
    """As in bench/learning_opacus.py, which needs discreet."""
    torch.manual_seed(run)
    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.Tanh(),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def trained(case: dict[str, Any]) -> dict[str, float]:
    """Train as the case says; accuracy on its test rows."""
    start = time.process_time()
    x, y = torch.tensor(case["x"]), torch.tensor(case["y"])
    noise = get_noise_multiplier(
        target_epsilon=case["epsilon"], target_delta=case["delta"], sample_rate=case["rate"], steps=case["steps"],
        accountant="prv", epsilon_tolerance=0.001,
    )  # fmt: skip
    net = network(case["kind"], case["run"])
    net, optimizer, loader = PrivacyEngine().make_private(
        module=net,
        optimizer=torch.optim.SGD(net.parameters(), case["learning_rate"]),
        data_loader=DataLoader(TensorDataset(x, y), batch_size=round(case["rate"] * len(x))),
        noise_multiplier=noise,
        max_grad_norm=case["clip"],
        poisson_sampling=True,
    )
    taken, loss = 0, nn.CrossEntropyLoss()
    while taken < case["steps"]:
        for rows, classes in loader:
            optimizer.zero_grad()
            loss(net(rows), classes).backward()
            optimizer.step()
            taken += 1
            if taken == case["steps"]:
                break
    seconds = time.process_time() - start
    with torch.no_grad():
        right = net(torch.tensor(case["x_test"])).argmax(1) == torch.tensor(case["y_test"])
    return {"accuracy": float(right.double().mean()), "seconds": seconds, "noise": noise}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps(trained(json.load(sys.stdin))))
