"""What private training costs: CPU time of a step, with plain SGD at the same batch as 1.

    python bench/learning.py

One thread. Each model runs a batch of 256: plain SGD, exact contributions with their noise (drawn on a thread), and
float contributions without noise. Steps of the three take turns, so that a busy machine slows all of them; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from discreet.learn.gradients import Exact, Fixed, Float, UnitGradients
from discreet.noise import rounded_gaussian

BATCH = 256
ROUNDS = 15


class Block(nn.Module):
    """One layer of a transformer, before-norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        rows, times, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(rows, times, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, times, width)
        x = x + self.out(heads)
        return x + self.down(functional.gelu(self.up(self.after(x))))


class Transformer(nn.Module):
    """Two layers, a classifier on the mean."""

    def __init__(self, words: int = 1000, width: int = 128, times: int = 64) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(times, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1]).expand_as(x)  # each row its own: rows are kept apart
        return self.out(self.norm(self.blocks(self.words(x) + self.places(places))).mean(1))


@dataclass(frozen=True)
class Subject:
    name: str
    model: nn.Module
    x: Tensor
    y: Tensor
    microbatch: int
    wanted_exact: float
    wanted_float: float


def subjects() -> list[Subject]:
    torch.manual_seed(1)
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    cnn = nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
        nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip
    digits, two = torch.randint(0, 10, (BATCH,)), torch.randint(0, 2, (BATCH,))
    return [
        Subject("MLP 784-256-256-10", mlp, torch.randn(BATCH, 784), digits, BATCH, 5, 1.45),
        Subject("Opacus's MNIST CNN", cnn, torch.randn(BATCH, 1, 28, 28), digits, BATCH, 2.3, 1.55),
        Subject("transformer, T=64", Transformer(), torch.randint(0, 1000, (BATCH, 64)), two, 64, 2.5, 1.7),
    ]


def plain_step(subject: Subject) -> Callable[[], None]:
    optimizer = torch.optim.SGD(subject.model.parameters(), 1e-9)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(subject.model(subject.x), subject.y).backward()
        optimizer.step()

    return step


def drawn(gradients: UnitGradients, sigma: int) -> Tensor:
    return torch.from_numpy(rounded_gaussian(sigma, gradients.size)).double()


def private_step(subject: Subject, arithmetic: Exact | Float, pool: ThreadPoolExecutor | None) -> Callable[[], None]:
    """One step; with a pool, its noise is drawn ahead there, and joins the sum before it is scaled."""
    gradients = UnitGradients(subject.model, Fixed(1.0), arithmetic)
    optimizer = torch.optim.SGD(subject.model.parameters(), 1e-9)
    sigma = arithmetic.steps if isinstance(arithmetic, Exact) else 0
    ahead = [pool.submit(drawn, gradients, sigma)] if pool else []

    def step() -> None:
        total = gradients.zeros()
        for start in range(0, BATCH, subject.microbatch):
            part = slice(start, start + subject.microbatch)
            with gradients.listening():
                losses = functional.cross_entropy(subject.model(subject.x[part]), subject.y[part], reduction="none")
                gradients.add(losses, total)
        if pool:
            total += ahead.pop().result()
            ahead.append(pool.submit(drawn, gradients, sigma))
        mean = (total * (gradients.step / BATCH)).float()
        for name, part in gradients.split(mean).items():
            gradients.parameters[name].grad = part
        optimizer.step()
        if pool:
            ahead[-1].exception()  # the next step's noise is this one's cost

    return step


def seconds(step: Callable[[], None]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    print(f"batch {BATCH}, one thread, medians of {ROUNDS} steps in turn, CPU ms")
    print(f"{'model':<22}{'plain':>8}{'exact + noise':>16}{'ratio':>7}{'float':>10}{'ratio':>7}")
    with ThreadPoolExecutor(1) as pool:
        for subject in subjects():
            steps = [plain_step(subject), private_step(subject, Exact(), pool), private_step(subject, Float(), None)]
            for step in steps:
                step()
            times = [[seconds(step) for step in steps] for _ in range(ROUNDS)]
            plain, exact, real = (statistics.median(column) for column in zip(*times, strict=True))
            missed = "" if exact <= subject.wanted_exact * plain else f"  MISSED {subject.wanted_exact}"
            missed += "" if real <= subject.wanted_float * plain else f"  MISSED {subject.wanted_float}"
            print(
                f"{subject.name:<22}{1e3 * plain:>8.1f}{1e3 * exact:>16.1f}{exact / plain:>7.2f}"
                f"{1e3 * real:>10.1f}{real / plain:>7.2f}{missed}",
                flush=True,
            )


if __name__ == "__main__":
    main()
