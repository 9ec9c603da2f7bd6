"""What private training costs: CPU time of a step, with plain SGD at the same batch as 1.

    python bench/learning.py [--install-peers]
                             [--holes | --memory | --both | --compiled | --coins | --ledger | --optimizers]

With --holes: of a million records, most of whose gradients cancel over time, the longest contribution over its bound,
counted in integers; beside it Opacus, which clips by a norm in float32. Without, the cost of a step, in one thread.
With --memory: the most memory above the imports, plain SGD's as 1, in a process each: of a batch of 256 at once, and in
microbatches. With --both: the transformer's cost of a step and its memory, in one setting, microbatches of 64, where
both have goals. With --compiled: steps of a compiled transformer beside those of the same one as it was written.
With --coins: whom a step takes, in nanoseconds a person. With --ledger: the wall time of the ledger in a file, and of
checkpoints, in a training of the MLP, beside what its steps would take at 20 ms each. With --optimizers: how right a
small network is on scikit-learn's digits, by optimiser: DPAdam as it is by default, and without its doubt.
Each model runs a batch of 256: plain SGD, exact contributions with their noise (drawn on a thread), and
float contributions without noise. Steps of the three take turns, so that a busy machine slows all of them; medians.
"""

from __future__ import annotations

import copy
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional

import discreet as dp
from discreet import learn
from discreet.learn.correlated import CyclicPoisson
from discreet.learn.gradients import Exact, Fixed, Float, UnitGradients
from discreet.learn.gradients._exact import truncated
from discreet.learn.gradients._pieces import Dense
from discreet.learn.gradients._recorder import Recorder
from discreet.learn.training import _private, _training_run
from discreet.learn.training._rows import Sampler
from discreet.ledger import AccountLedger, Run
from discreet.noise import rounded_gaussian
from peering import HERE, asked, install, python_of

PEERS = "learning"
RECORDS = 1_000_000
BATCH = 256
ROUNDS = 15
MOST_MEMORY = 1.3
"""The goal of the transformer's memory above the imports, plain SGD's as 1."""
MOST_NANOSECONDS = 8
"""Goal of a coin."""
STEP_SECONDS, MOST_SHARE = 0.02, 0.01
"""The goal: checkpoints and the ledger take this share of a run of such steps at most."""
LEDGER_STEPS = 1000
SPLITS = 6


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
        places = torch.arange(x.shape[1], device=x.device).expand_as(x)  # each row its own: rows are kept apart
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


def plain_step(subject: Subject, microbatch: int = BATCH) -> Callable[[], None]:
    """One step of plain SGD; in microbatches, whose gradients torch adds up, where a size is given."""
    optimizer = torch.optim.SGD(subject.model.parameters(), 1e-9)

    def step() -> None:
        optimizer.zero_grad()
        for start in range(0, BATCH, microbatch):
            part = slice(start, start + microbatch)
            losses = functional.cross_entropy(subject.model(subject.x[part]), subject.y[part], reduction="sum")
            (losses / BATCH).backward()
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


def cancelling(rows: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of two vectors, and the gradients of the outputs, which nearly cancel."""
    rng = np.random.default_rng(number)
    inputs = np.repeat(rng.normal(size=(rows, 1, 20)), 2, axis=1) * 10 ** rng.uniform(-3, 3, size=(rows, 1, 1))
    slopes = rng.normal(size=(rows, 2, 20)) * 10 ** rng.uniform(-3, 3, size=(rows, 1, 1))
    slopes[:, 1] = -slopes[:, 0] * (1 + 1e-6 * rng.integers(0, 100, size=(rows, 1)))
    return inputs.astype(np.float32), slopes.astype(np.float32)


def squares(integers: Tensor) -> Tensor:
    """Sums of squares of each row, exactly: in parts of 2^20, as float64 holds them."""
    high, low = integers.div(2**20, rounding_mode="floor"), integers.remainder(2**20)
    parts = [(high * high).sum(1), (high * low).sum(1), (low * low).sum(1)]
    return parts[0].double() * 2.0**40 + parts[1].double() * 2.0**21 + parts[2].double()


def longest_of_ours(rows: int) -> float:
    """The longest contribution of so many records, over its bound."""
    exact, longest, batch = Exact(), 0.0, 1000
    layer = nn.Linear(20, 20, bias=False)
    recorder = Recorder(layer)
    for number in range(rows // batch):
        inputs, slopes = (torch.from_numpy(each) for each in cancelling(batch, number))
        with recorder.listening():
            pieces = recorder.backward((layer(inputs) * slopes).sum((1, 2)))
        ready, scale = exact.prepared(pieces, Fixed(1.0), torch.ones(batch, dtype=torch.bool))
        piece = ready["weight"]
        assert isinstance(piece, Dense)
        integers = truncated(piece.values, scale.float())
        longest = max(longest, float(squares(integers).max().sqrt()) / exact.steps)
    return longest


def holes() -> None:
    torch.set_num_threads(1)
    print(f"{RECORDS:,} records whose gradients cancel over time: the longest contribution over its bound")
    case = {"records": RECORDS}
    opacus = asked([str(python_of(PEERS)), str(HERE / "peers" / "learning_peers.py"), "longest"], case, 3600)
    print(f"  Opacus, ghost clipping: {opacus if opacus is None else f'{opacus:.4g}'}")
    print(f"  discreet, exact: {longest_of_ours(RECORDS):.6f}", flush=True)


def resident(field: str) -> float:
    """MiB of this process, as Linux counts them: VmRSS now, VmHWM at most."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def most_memory(kind: str, place: int, microbatch: int) -> float:
    """MiB above the imports, at most, over eight steps; "noisy" is exact with its noise, drawn on a thread."""
    before = resident("VmRSS")
    subject = replace(subjects()[place], microbatch=microbatch)
    with ThreadPoolExecutor(1) as pool:
        makes: dict[str, Callable[[], Callable[[], None]]] = {
            "plain": lambda: plain_step(subject, microbatch),
            "float": lambda: private_step(subject, Float(), None),
            "exact": lambda: private_step(subject, Exact(), None),
            "noisy": lambda: private_step(subject, Exact(), pool),
        }
        step = makes[kind]()
        Path("/proc/self/clear_refs").write_text("5")  # the most counts from here
        for _ in range(8):
            step()
    return resident("VmHWM") - before


def peak_of_process(kind: str, microbatch: int, *, place: int, variables: dict[str, str]) -> float:
    command = [sys.executable, __file__, "--memory-of", kind, str(place), str(microbatch)]
    return float(subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout)


def memory() -> None:
    print(f"MiB above the imports, batch {BATCH} at once and in microbatches of 64; plain = 1")
    for allocator, words in ({}, "as glibc keeps them"), ({"MALLOC_MMAP_THRESHOLD_": "65536"}, "freed at once"):
        for place, subject in enumerate(subjects()):
            measured = partial(peak_of_process, place=place, variables=os.environ | allocator)
            plain = measured("plain", BATCH)
            ratios = [f"{kind} {measured(kind, size) / plain:.2f} at {size}" for kind in ("float", "exact")
                      for size in (BATCH, 64)]  # fmt: skip
            print(f"{subject.name:<22}{words:<22}plain {plain:6.0f} MiB, " + ", ".join(ratios), flush=True)


def times_in_turn(subject: Subject, pool: ThreadPoolExecutor) -> tuple[float, float, float]:
    """Medians of CPU seconds of a step: plain SGD's, exact with its noise, and float without."""
    plain, exact, real = medians_in_turn(
        [plain_step(subject), private_step(subject, Exact(), pool), private_step(subject, Float(), None)]
    )
    return plain, exact, real


def medians_in_turn(steps: Sequence[Callable[[], None]]) -> list[float]:
    for step in steps:
        step()
    times = [[seconds(step) for step in steps] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def both() -> None:
    """Time and memory of the transformer as `private_step` runs it: the same batch, microbatches and noise in both."""
    torch.set_num_threads(1)
    place = 2
    subject = subjects()[place]
    print(f"{subject.name}, batch {BATCH} in microbatches of {subject.microbatch}, one thread; plain = 1")
    size = subject.microbatch
    with ThreadPoolExecutor(1) as pool:
        steps = [plain_step(subject), private_step(subject, Exact(), pool), private_step(subject, Float(), None)]
        times = medians_in_turn([*steps, plain_step(subject, size)])
    kinds = ("plain", BATCH), ("noisy", size), ("float", size), ("plain", size)
    peaks = [peak_of_process(kind, each, place=place, variables=dict(os.environ)) for kind, each in kinds]
    names = "plain SGD", "exact + noise", "float", "plain, so too"
    wanted = 1.0, subject.wanted_exact, subject.wanted_float, math.inf
    for name, spent, most, peak in zip(names, times, wanted, peaks, strict=True):
        slower, larger = spent / times[0], peak / peaks[0]
        missed = "" if slower <= most else f"  MISSED {most}"
        missed += "" if larger <= MOST_MEMORY else f"  MISSED {MOST_MEMORY} of memory"
        print(f"  {name:<14}{1e3 * spent:7.0f} ms {slower:5.2f}{peak:7.0f} MiB {larger:5.2f}{missed}", flush=True)


def compiled() -> None:
    """Steps in turn of one transformer as it was written, and of its compiled twin; the sums are the same bits."""
    torch.set_num_threads(1)
    written = subjects()[2]
    twin = replace(written, model=torch.compile(copy.deepcopy(written.model), backend="eager"))
    steps = [private_step(each, Exact(), None) for each in (written, twin)]
    for step in steps:
        step()
    times = [[seconds(step) for step in steps] for _ in range(ROUNDS)]
    plain, other = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"transformer, exact: as written {1e3 * plain:.0f} ms, compiled {1e3 * other:.0f} ms, {other / plain:.3f}")


def coins() -> None:
    """Whom a step takes, rows of one person each: medians of wall time a person."""
    print(f"coins of a step, ns a person; goal {MOST_NANOSECONDS}")
    for people in (10**6, 10**7):
        rows = learn.Tensors(torch.zeros(people, 1), torch.zeros(people))
        for rate in ("0.001", "0.01", "0.1"):
            sampler, times = Sampler(rows, CyclicPoisson(5, rate), 64), list[float]()
            for step in range(5):
                start = time.perf_counter()
                next(sampler.batches(step))
                times.append(time.perf_counter() - start)
            median = 1e9 * statistics.median(times) / people
            missed = "" if median <= MOST_NANOSECONDS else f"  MISSED {MOST_NANOSECONDS}"
            print(f"  {people:>10,} people, rate {rate:<5} {median:6.2f}{missed}", flush=True)


def timed(function: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    """The function, whose wall time is added to what its name has taken."""

    def called(*arguments: Any, **keywords: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            spent[name] = spent.get(name, 0) + time.perf_counter() - start

    return called


def ledger() -> None:
    """A training of an MLP of 784 numbers on a ledger in a file, whose calls are timed one by one."""
    torch.set_num_threads(1)
    numbers = [f"c{i}" for i in range(784)]
    columns: dict[str, Any] = {name: {"type": "float", "bounds": [0, 1]} for name in numbers}
    columns["digit"] = {"type": "int", "keys": list(range(10))}
    policy = {
        "version": "1",
        "budget": {"epsilon": 9, "delta": "1e-4"},
        "tables": {"digits": {"unit": "rows", "columns": columns}},
    }
    rng, people = np.random.default_rng(1), 200
    cells: Any = {name: rng.random(people) for name in numbers}
    table = pa.table({**cells, "digit": rng.integers(0, 10, people)})
    for optimizer in (torch.optim.SGD, torch.optim.Adam):
        spent: dict[str, float] = {}
        net = subjects()[0].model
        with tempfile.TemporaryDirectory() as folder, patch.multiple(
            AccountLedger, open_run=timed(AccountLedger.open_run, "charge", spent),
        ), patch.multiple(
            Run, begin=timed(Run.begin, "counter", spent), read=timed(Run.read, "counter", spent),
            store=timed(Run.store, "store", spent), certify=timed(Run.certify, "certificate", spent),
        ), patch.multiple(
            _private, write_checkpoint=timed(_private.write_checkpoint, "checkpoints", spent),
        ), patch.object(
            _training_run, "weights_to_bytes", timed(_training_run.weights_to_bytes, "weights", spent)
        ), dp.connect({"digits": table}, policy, f"{folder}/digits.ledger") as session:  # fmt: skip
            data = session.records(f"SELECT {', '.join(numbers)}, digit FROM digits", label="digit")
            trainer = learn.Trainer(
                net, optimizer(net.parameters(), lr=1e-3), nn.CrossEntropyLoss(reduction="none"), data,
                spend=dp.approx(2, "1e-6"), steps=LEDGER_STEPS, rate="0.1", about=people,
            )  # fmt: skip
            trainer.fit(f"{folder}/net.ckpt")
        share = sum(spent.values()) / (LEDGER_STEPS * STEP_SECONDS)
        missed = "" if share <= MOST_SHARE else f"  MISSED {MOST_SHARE:.0%}"
        parts = ", ".join(f"{name} {1e3 * each:.0f} ms" for name, each in spent.items())
        print(f"{optimizer.__name__}, {LEDGER_STEPS} steps: {parts}; {share:.2%} of steps of 20 ms{missed}", flush=True)


def right_on_digits(make: Callable[[nn.Module], torch.optim.Optimizer], split: int, epsilon: int, steps: int) -> float:
    """The share of 360 public rows that a network of 64-32-10 predicts, trained on the other 1,437."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(split).permutation(len(y))
    inputs, classes = torch.tensor(x[order] / 8 - 1, dtype=torch.float32), torch.tensor(y[order])
    torch.manual_seed(split)
    net, test = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), len(y) // 5 + 1
    data = learn.Tensors(inputs[test:], classes[test:])
    learn.Trainer(
        net, make(net), nn.CrossEntropyLoss(reduction="none"), data, spend=dp.approx(epsilon, "1e-6"), steps=steps,
        rate="0.2", about=len(y) - test,
    ).fit()  # fmt: skip
    with torch.no_grad():
        return float((net(inputs[:test]).argmax(1) == classes[:test]).double().mean())


def optimizers() -> None:
    torch.set_num_threads(1)
    makes: dict[str, Callable[[nn.Module], torch.optim.Optimizer]] = {
        "SGD, 0.5": lambda net: torch.optim.SGD(net.parameters(), lr=0.5),
        "Adam, 0.01": lambda net: torch.optim.Adam(net.parameters(), lr=0.01),
        "DPAdam": lambda net: learn.DPAdam(net.parameters()),
        "DPAdam, no doubt": lambda net: learn.DPAdam(net.parameters(), doubt=0, floor=1e-4),
    }
    for epsilon, steps in ((1, 200), (1, 600), (3, 200)):
        print(f"digits, ε = {epsilon}, δ = 1e-6, {steps} steps of a fifth: right, means of {SPLITS} splits")
        for name, make in makes.items():
            right = [right_on_digits(make, split, epsilon, steps) for split in range(SPLITS)]
            error = statistics.stdev(right) / SPLITS**0.5
            print(f"  {name:<18}{statistics.mean(right):.3f} ± {error:.3f}", flush=True)


def main() -> None:
    if "--install-peers" in sys.argv:
        install(PEERS, "learning.txt")
    if "--memory-of" in sys.argv:
        kind, place, microbatch = sys.argv[-3:]
        torch.set_num_threads(1)
        print(most_memory(kind, int(place), int(microbatch)))
        return
    if "--memory" in sys.argv:
        memory()
        return
    if "--both" in sys.argv:
        both()
        return
    if "--compiled" in sys.argv:
        compiled()
        return
    if "--coins" in sys.argv:
        coins()
        return
    if "--ledger" in sys.argv:
        ledger()
        return
    if "--optimizers" in sys.argv:
        optimizers()
        return
    if "--holes" in sys.argv:
        holes()
        return
    torch.set_num_threads(1)
    print(f"batch {BATCH}, one thread, medians of {ROUNDS} steps in turn, CPU ms")
    print(f"{'model':<22}{'plain':>8}{'exact + noise':>16}{'ratio':>7}{'float':>10}{'ratio':>7}")
    with ThreadPoolExecutor(1) as pool:
        for subject in subjects():
            plain, exact, real = times_in_turn(subject, pool)
            missed = "" if exact <= subject.wanted_exact * plain else f"  MISSED {subject.wanted_exact}"
            missed += "" if real <= subject.wanted_float * plain else f"  MISSED {subject.wanted_float}"
            print(
                f"{subject.name:<22}{1e3 * plain:>8.1f}{1e3 * exact:>16.1f}{exact / plain:>7.2f}"
                f"{1e3 * real:>10.1f}{real / plain:>7.2f}{missed}",
                flush=True,
            )


if __name__ == "__main__":
    main()
