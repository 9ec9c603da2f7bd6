"""How right networks are that discreet's Trainer and Opacus train: one network, spend, sampling, steps, rate and start.

    python bench/learning_opacus.py [--install-peers] [--runs 10]

scikit-learn's 1,797 digits of 8 × 8, a fifth of them for testing, another split and other first weights in each run,
the same for both. Poisson batches of a tenth, 200 steps of SGD, one clip, δ = 1e-5; Opacus finds its noise by its own
accountant of privacy loss distributions. Accuracy on the test rows, which are public here: means over runs with their
standard errors, and that of the difference run by run. CPU seconds of a run, in one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import discreet as dp
from discreet import learn
from peering import HERE, asked, install, python_of

PEERS = "learning"
RATE, STEPS, DELTA, CLIP = 0.1, 200, "1e-5", 1.0
LEARNING_RATES = {"mlp": 1.0, "cnn": 1.0}


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test on."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def split(run: int) -> Split:
    """The digits, as 0 to 1, another fifth for testing in each run."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(run).permutation(len(x))
    x, y, test = (x[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8), y[order], len(x) // 5
    return Split(x[test:], y[test:], x[:test], y[:test])


def network(kind: str, run: int) -> nn.Sequential:
    """A network with the first weights of a run; bench/peers/opacus_peers.py has the same."""
    torch.manual_seed(run)
    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.Tanh(),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def ours(kind: str, run: int, epsilon: float, digits: Split) -> dict[str, float]:
    start = time.process_time()
    net = network(kind, run)
    optimizer = torch.optim.SGD(net.parameters(), LEARNING_RATES[kind])
    data = learn.Tensors(torch.from_numpy(digits.x), torch.from_numpy(digits.y))
    trainer = learn.Trainer(
        net, optimizer, nn.CrossEntropyLoss(reduction="none"), data, spend=dp.approx(epsilon, DELTA), steps=STEPS,
        rate=str(RATE), about=len(digits.y), clip=CLIP, places=256,
    )  # fmt: skip
    trainer.fit()
    seconds = time.process_time() - start
    with torch.no_grad():
        right = net(torch.from_numpy(digits.x_test)).argmax(1).numpy() == digits.y_test
    noise = float(trainer.plan().noise_multiplier)
    return {"accuracy": float(right.mean()), "seconds": seconds, "noise": noise}


def theirs(kind: str, run: int, epsilon: float, digits: Split) -> Any:
    case = {
        "kind": kind, "run": run, "epsilon": epsilon, "delta": float(DELTA), "rate": RATE, "steps": STEPS,
        "clip": CLIP, "learning_rate": LEARNING_RATES[kind], "x": digits.x.tolist(), "y": digits.y.tolist(),
        "x_test": digits.x_test.tolist(), "y_test": digits.y_test.tolist(),
    }  # fmt: skip
    return asked([str(python_of(PEERS)), str(HERE / "peers" / "opacus_peers.py")], case, 1_800)


def mean(values: list[float]) -> str:
    return f"{statistics.mean(values):.4f} ± {statistics.stdev(values) / len(values) ** 0.5:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.install_peers:
        install(PEERS, "learning.txt")
    torch.set_num_threads(1)
    print(f"{arguments.runs} runs, {STEPS} steps, rate {RATE}, δ {DELTA}; accuracy ± its standard error")
    print(f"{'network':8}{'ε':>4}  {'discreet':18}{'Opacus':18}{'difference':20}{'noise':>14}{'CPU s':>14}")
    for kind in LEARNING_RATES:
        for epsilon in (1.0, 3.0):
            pairs = []
            for run in range(arguments.runs):
                digits = split(run)
                pairs.append((ours(kind, run, epsilon, digits), theirs(kind, run, epsilon, digits)))
            if any(peer is None for _, peer in pairs):
                print(f"{kind:8}{epsilon:>4g}  Opacus failed")
                continue
            own, peers = ([each[side]["accuracy"] for each in pairs] for side in (0, 1))
            apart = [a - b for a, b in zip(own, peers, strict=True)]
            noise, seconds = (
                "/".join(f"{statistics.mean(each[side][what] for each in pairs):.3g}" for side in (0, 1))
                for what in ("noise", "seconds")
            )
            print(
                f"{kind:8}{epsilon:>4g}  {mean(own):18}{mean(peers):18}{mean(apart):20}{noise:>14}{seconds:>14}",
                flush=True,
            )


if __name__ == "__main__":
    main()
