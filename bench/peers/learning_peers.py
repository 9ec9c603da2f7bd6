"""What Opacus does with the records of bench/learning.py: a process, JSON in and out."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))


def cancelling(rows: int, number: int) -> tuple[Any, Any]:
    """As in bench/learning.py, which needs discreet."""
    import numpy as np

    rng = np.random.default_rng(number)
    inputs = np.repeat(rng.normal(size=(rows, 1, 20)), 2, axis=1) * 10 ** rng.uniform(-3, 3, size=(rows, 1, 1))
    slopes = rng.normal(size=(rows, 2, 20)) * 10 ** rng.uniform(-3, 3, size=(rows, 1, 1))
    slopes[:, 1] = -slopes[:, 0] * (1 + 1e-6 * rng.integers(0, 100, size=(rows, 1)))
    return inputs.astype(np.float32), slopes.astype(np.float32)


def longest(case: dict[str, Any]) -> float:
    """Of all records: the true norm of the gradient times the factor by which it is clipped, over the bound."""
    layer = GradSampleModuleFastGradientClipping(
        nn.Linear(20, 20, bias=False), max_grad_norm=1.0, use_ghost_clipping=True, loss_reduction="sum"
    )
    worst, batch = 0.0, 1000
    for number in range(case["records"] // batch):
        inputs, slopes = (torch.from_numpy(each) for each in cancelling(batch, number))
        (layer(inputs) * slopes).sum().backward()
        norms = layer.get_norm_sample().double()
        factors = (1 / (norms + 1e-6)).clamp(max=1)
        true = torch.bmm(slopes.double().mT, inputs.double()).flatten(1).norm(dim=1)
        worst = max(worst, float((torch.nan_to_num(factors) * true).max()))
        layer.zero_grad()
    return worst


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps({"longest": longest}[sys.argv[1]](json.load(sys.stdin))))
