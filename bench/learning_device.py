"""Private training on a GPU: whether its arithmetic is that of the proof there, and what a step takes.

    python bench/learning_device.py [--device cuda] [--speed]

Needs a GPU and torch with CUDA; ``--device cpu`` runs the same checks without. Every check of the exact arithmetic
that the tests run on the CPU is run on the device: sums of whole numbers, gradients of each rule beside float64
autograd of one record on the CPU, the longest contribution in Python's integers, neighbours, the probe, a training
with its checkpoint, and refusals. Then steps of three models: plain SGD, exact with its noise, and float, in wall time.
Exits with 1 if a check fails.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.nn import functional

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn.gradients import Column, Exact, Fixed, Float, Normalised, UnitGradients, probe
from discreet.learn.gradients._device import check_exact
from discreet.learn.gradients._exact import truncated
from discreet.learn.gradients._recorder import Recorder
from learning import BATCH, Subject, cancelling, drawn, squares, subjects

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "learn" / "gradients"))
from reference import CASES, Block, curved, one_by_one

NEAR = 1e-5
"""Largest distance of a row's gradient from float64, relative to its norm; or four times what float32 itself loses."""
PAIRS, RECORDS, ROUNDS = 1_000, 200_000, 15


def squared_length(integers: Tensor) -> int:
    return sum(int(each) ** 2 for each in integers.cpu().tolist())


def summed(
    model: nn.Module, rows: Tensor, gradients: UnitGradients, active: Tensor | None = None, units: Tensor | None = None
) -> Tensor:
    """As the tests' own, where a model's own masks are made on the device, and nothing else is."""
    total = gradients.zeros()
    with gradients.listening(len(rows)):
        with gradients.device:
            losses = curved(model(rows.to(gradients.device)))
        at = {
            name: each.to(gradients.device) for name, each in (("active", active), ("units", units)) if each is not None
        }
        gradients.add(losses, total, **at)
    return total


def rules(device: torch.device) -> str:
    """Each rule beside float64 on the CPU; no contribution above the bound; the sum that of the rows."""
    worst = 0.0
    for case in CASES:
        torch.manual_seed(7)
        model = case.model()
        rows = case.rows(4, torch.Generator().manual_seed(3))
        theirs = one_by_one(model, rows)
        lengths = theirs.norm(dim=1)
        itself = float(((one_by_one(model, rows, dtype=torch.float32) - theirs).norm(dim=1) / lengths).max())
        moved = copy.deepcopy(model).to(device)
        every = torch.arange(4)
        for arithmetic in (Exact(2**40), Float()):
            gradients = UnitGradients(moved, Fixed(1.01 * float(lengths.max())), arithmetic)
            ours = torch.stack([summed(moved, rows, gradients, every == i) for i in range(4)]).double() * gradients.step
            far = float(((ours.cpu() - theirs).norm(dim=1) / lengths).max())
            worst = max(worst, far)
            assert far <= max(NEAR, 4 * itself), (case.name, arithmetic, far, itself)
        gradients = UnitGradients(moved, Normalised(stability=1e-6), Exact(2**40))
        alone = [summed(moved, rows, gradients, every == i) for i in range(4)]
        assert all(0 < squared_length(each) <= 2**80 for each in alone), case.name
        assert torch.equal(summed(moved, rows, gradients), sum(alone)), case.name
        pair = summed(moved, rows, gradients, units=torch.tensor([0, 0, 1, -1]))
        assert squared_length(pair) > 0, case.name
    return f"{len(CASES)} rules, the worst {worst:.1e} from float64"


def neighbours(device: torch.device) -> str:
    models: dict[str, tuple[nn.Module, tuple[int, ...], int | None]] = {
        "mlp": (nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 5)), (20,), None),
        "cnn": (
            nn.Sequential(nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)),
            (1, 8, 8), None,
        ),
        "transformer": (nn.Sequential(nn.Embedding(11, 16), Block(16), nn.Linear(16, 2)), (8,), 11),
    }  # fmt: skip
    generator, count = torch.Generator().manual_seed(5), 32
    places = torch.arange(count)
    for name, (model, shape, words) in models.items():
        moved = model.to(device)
        gradients = UnitGradients(moved, Fixed(0.1))
        for _ in range(PAIRS):
            size = int(torch.randint(2, count + 1, (), generator=generator))
            rows = torch.zeros(count, *shape, dtype=torch.float32 if words is None else torch.int64)
            scale = 10 ** float(torch.randn((), generator=generator))
            rows[:size] = (
                torch.randn(size, *shape, generator=generator) * scale
                if words is None
                else torch.randint(0, words, (size, *shape), generator=generator)
            )
            victim = int(torch.randint(0, size, (), generator=generator))
            without, own = torch.zeros_like(rows), torch.zeros_like(rows)
            without[: size - 1] = torch.cat([rows[:victim], rows[victim + 1 : size]])
            own[0] = rows[victim]
            difference = summed(moved, rows, gradients, places < size) - summed(
                moved, without, gradients, places < size - 1
            )
            assert torch.equal(difference, summed(moved, own, gradients, places < 1)), name
            assert 0 < squared_length(difference) <= Exact().steps ** 2, name
    return f"{PAIRS:,} pairs x {len(models)} models differ by the row's own integers, bit for bit"


def holes(device: torch.device) -> str:
    exact, longest, batch = Exact(), 0.0, 1000
    layer = nn.Linear(20, 20, bias=False).to(device)
    recorder = Recorder(layer)
    for number in range(RECORDS // batch):
        inputs, slopes = (torch.from_numpy(each).to(device) for each in cancelling(batch, number))
        with recorder.listening():
            pieces = recorder.backward((layer(inputs) * slopes).sum((1, 2)))
        ready, scale = exact.prepared(pieces, Fixed(1.0), torch.ones(batch, dtype=torch.bool, device=device))
        values: Any = ready["weight"]
        longest = max(longest, float(squares(truncated(values.values, scale.float()).cpu()).max().sqrt()) / exact.steps)
    assert longest <= 1, longest
    return f"{RECORDS:,} records that cancel: the longest {longest:.6f} of the bound"


def tried(subject: Subject, device: torch.device, places: int, *, by_unit: bool) -> None:
    model = copy.deepcopy(subject.model).to(device)
    words = 1000 if subject.x.dtype == torch.int64 else None
    columns = [Column(tuple(subject.x.shape[1:]), words), Column((), 2 if words else 10)]
    probe(model, lambda x, y: functional.cross_entropy(model(x), y, reduction="none"), columns, places, by_unit=by_unit)


def probes(device: torch.device) -> str:
    seen: list[str] = []
    for subject in subjects():
        for places, by_unit in (
            (32, False),
            (48, False),
            (64, False),
            (64, True),
            (128, False),
            (256, False),
            (256, True),
        ):
            try:
                tried(subject, device, places, by_unit=by_unit)
            except ParameterError as error:
                seen.append(f"{subject.name} at {places}{' by unit' if by_unit else ''} REFUSED: {str(error)[:160]}")
    assert len(seen) < 6, seen
    return "; ".join(seen) or "three models pass at 32 to 256 places, and by unit"


POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 60, "delta": "1e-3"},
    "tables": {"visits": {"unit": "person", "max_rows": 2, "columns": {
        "y": {"type": "int", "keys": [0, 1]},
        **{f"c{i}": {"type": "float", "bounds": [-4, 4]} for i in range(8)},
    }}},
}  # fmt: skip


def training(device: torch.device) -> str:
    """A training on records of people with two rows, left in its middle, and gone on with; and others of each kind."""
    rng = np.random.default_rng(1)
    x, person = rng.normal(size=(2_000, 8)), np.repeat(np.arange(1_000), 2)
    y = (x.sum(1) > 0).astype(int)
    table = pa.table({"person": person, "y": y, **{f"c{i}": x[:, i] for i in range(8)}})
    query = f"SELECT {', '.join(f'c{i}' for i in range(8))}, y FROM visits"

    def net() -> nn.Module:
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), learn.Dropout("0.1"), nn.ReLU(), nn.Linear(16, 2)).to(
            device
        )

    loss = nn.CrossEntropyLoss(reduction="none")
    with (
        tempfile.TemporaryDirectory() as folder,
        dp.connect({"visits": table}, POLICY, f"{folder}/l.ledger") as session,
    ):
        data = session.records(query, label="y")
        settings: dict[str, Any] = {"steps": 60, "rate": "0.2", "about": 1_000, "spend": dp.approx(8, "1e-6")}
        model = net()
        private = learn.Private(model, torch.optim.Adam(model.parameters(), lr=0.02), data, **settings)
        for count, batch in enumerate(private.batches(f"{folder}/net.ckpt", every=5)):
            assert batch.x.device.type == device.type
            private.step(loss(model(batch.x), batch.y))
            if not batch.rehearsal and count > 300:
                break
        model = net()
        again = learn.resume(f"{folder}/net.ckpt", session, model, torch.optim.Adam(model.parameters(), lr=0.02))
        for batch in again.batches():
            again.step(loss(model(batch.x), batch.y))
        network = again.network
        assert network is not None
        if device.type == "cuda":
            assert network.certificate["device"] == torch.cuda.get_device_name(device), network.certificate
        on_cpu = net().cpu().eval()
        network.load_into(on_cpu)
        right = float((on_cpu(torch.from_numpy(x).float() / 4).argmax(1).numpy() == y).mean())
        assert right > 0.8, right
        assert session.remaining is not None
        others: dict[str, dict[str, Any]] = {
            "adaptive": {"clip": learn.Adaptive()},
            "counted": {"about": learn.NoisyCount(0.02)},
            "averaged, float": {"average": True, "arithmetic": "float"},
            "normalised": {"clip": Normalised()},
        }
        for name, more in others.items():
            model = net()
            trainer = learn.Trainer(
                model, torch.optim.SGD(model.parameters(), lr=0.5), loss, data, **{**settings, "name": name, **more}
            )
            assert trainer.fit(f"{folder}/{name}.ckpt").loss is not None
    return f"resumed training on records of people: {right:.1%} right; {', '.join(others)} ran"


def refusals(device: torch.device) -> str:
    words: list[str] = []

    def refused(made: Callable[[], Any], expected: str) -> None:
        said = ""
        try:
            made()
        except ParameterError as error:
            said = str(error)
        assert expected in said, (expected, said)
        words.append(expected)

    def mixed(model: nn.Module, shape: tuple[int, ...], loss: Callable[..., Tensor] | None = None) -> None:
        ours = loss or (lambda x, y: functional.cross_entropy(model(x), y, reduction="none"))
        probe(model, ours, [Column(shape), Column((), 3)], 32)

    linear = nn.Linear(4, 3).to(device)
    refused(
        lambda: mixed(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(device), (4,)), "normalises by the batch"
    )
    refused(
        lambda: mixed(linear, (4,), lambda x, y: functional.cross_entropy(linear(x - x.mean(0)), y, reduction="none")),
        "depend on other rows",
    )
    if device.type == "cuda":
        refused(
            lambda: UnitGradients(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3).to(device)), Fixed()), "on one device"
        )
        pooled = nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(5), nn.Flatten(), nn.Linear(100, 3)).to(device)
        refused(lambda: mixed(pooled, (1, 12, 12)), "adds in another order each time")
        script = (
            "import torch; from torch import nn; from discreet.learn.gradients import UnitGradients, Fixed\n"
            "try: UnitGradients(nn.Linear(2, 2).cuda(), Fixed())\nexcept Exception as e: print(type(e).__name__, e)"
        )
        said = subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":0:0"}, capture_output=True,
            text=True, check=True,
        ).stdout  # fmt: skip
        assert "ParameterError" in said and "CUBLAS_WORKSPACE_CONFIG" in said, said
        words.append("workspace")
    return "; ".join(words)


def step_of(
    subject: Subject, kind: str, batch: int, device: torch.device, pool: ThreadPoolExecutor
) -> Callable[[], None]:
    model = copy.deepcopy(subject.model).to(device)
    x, y = (
        subject.x.repeat(batch // BATCH, *(1 for _ in subject.x.shape[1:])).to(device),
        subject.y.repeat(batch // BATCH).to(device),
    )
    optimizer = torch.optim.SGD(model.parameters(), 1e-9)
    if kind == "plain":

        def plain() -> None:
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return plain
    arithmetic: Exact | Float = Float() if kind == "float" else Exact()
    gradients = UnitGradients(model, Fixed(1.0), arithmetic)
    ahead = [pool.submit(drawn, gradients, Exact().steps)] if kind == "exact + noise" else []

    def step() -> None:
        total = gradients.zeros()
        with gradients.listening():
            gradients.add(functional.cross_entropy(model(x), y, reduction="none"), total)
        if ahead:
            noisy = total.cpu() + ahead.pop().result()
            ahead.append(pool.submit(drawn, gradients, Exact().steps))
            total = noisy.to(device)
        mean = (total * (gradients.step / batch)).float()
        for name, part in gradients.split(mean).items():
            gradients.parameters[name].grad = part
        optimizer.step()

    return step


def timed(step: Callable[[], None], device: torch.device) -> float:
    start = time.perf_counter()
    step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def speed(device: torch.device) -> None:
    kinds = ("plain", "exact + noise", "exact", "float")
    print(f"wall ms a step, medians of {ROUNDS} in turn; in brackets plain = 1; GB at most")
    with ThreadPoolExecutor(1) as pool:
        for subject in subjects():
            for batch in (BATCH, 16 * BATCH):
                steps, most = [step_of(subject, kind, batch, device, pool) for kind in kinds], list[float]()
                for step in steps:
                    if device.type == "cuda":
                        torch.cuda.reset_peak_memory_stats()
                    for _ in range(3):
                        timed(step, device)
                    most.append(torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0)
                times = [[timed(step, device) for step in steps] for _ in range(ROUNDS)]
                medians = [statistics.median(column) for column in zip(*times, strict=True)]
                words = ", ".join(
                    f"{kind} {1e3 * each:.2f} ({each / medians[0]:.1f}; {gb:.2f})"
                    for kind, each, gb in zip(kinds, medians, most, strict=True)
                )
                print(f"  {subject.name:<20} batch {batch:>5}: {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--speed", action="store_true", help="steps alone")
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"
    print(f"torch {torch.__version__} on {name}")
    cudnn: Any = torch.backends.cudnn
    cudnn.allow_tf32 = False  # gradients are compared with float64
    failed = False
    if not options.speed:
        check_exact(device)
        print("sums of whole numbers are exact")
        for check in (rules, neighbours, holes, probes, training, refusals):
            start = time.perf_counter()
            try:
                print(f"{check.__name__}: {check(device)} [{time.perf_counter() - start:.0f} s]", flush=True)
            except Exception:  # noqa: BLE001 - the other checks run all the same
                failed = True
                print(f"{check.__name__} FAILED\n{traceback.format_exc()}", flush=True)
    speed(device)
    sys.exit(failed)


if __name__ == "__main__":
    main()
