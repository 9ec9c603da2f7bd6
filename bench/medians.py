"""One median, many ways: smooth sensitivity, the exponential mechanism, and sample and aggregate, side by side.

    python bench/medians.py [--data adult.data] [--to-the-day] [--repeats 200] [--chunk-repeats 10]

The data are ages: the first column of a comma-separated file without a header, such as UCI Adult; without one a public
sample that looks like it. In whole years hundreds share the median, so that no one person moves it; --to-the-day adds
a fixed part of a year to each. The error is the median of |answer − median of the sample|, in years; the time is CPU
time per release. Every ε stands beside ρ = ε²/2, which is what pure ε costs in ρ. Sample and aggregate starts a process
for each of its chunks, which are few here and not those that would be best, and it is repeated less (0: not at all).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from discreet.mechanisms import Quantiles, SampleAndAggregate, SmoothSensitivity
from discreet.privacy import Loss, approx, pure, rho

BOUNDS = (0, 100)
SIZES = (1_000, 30_000)
EPSILONS = (0.1, 1.0)
DELTA = 1e-6
CHUNKS = 50

Ages = NDArray[np.float64]
Way = Callable[[Ages], float]


def ages(path: Path | None) -> Ages:
    """From the file, or drawn: at least 17, a median of 37, a tail to 90."""
    if path is None:
        return np.clip(np.floor(17 + np.random.default_rng(1).gamma(2.1, 10.2, max(SIZES))), 17, 90)
    return np.loadtxt(path, delimiter=",", usecols=0)


def smooth(spend: Loss, noise: str) -> Way:
    return SmoothSensitivity("median", bounds=BOUNDS, spend=spend, noise=noise).release


def of_chunks(spend: Loss, aggregator: str) -> Way:
    return SampleAndAggregate(
        statistics.median, chunks=CHUNKS, bounds=BOUNDS, spend=spend, aggregator=aggregator
    ).release


def ways(epsilon: float, step: int | None) -> list[tuple[str, str, Way]]:
    """What it is, what it is paid in, and how to release."""
    e, d, r = pure(epsilon), approx(epsilon, DELTA), rho(Fraction(str(epsilon)) ** 2 / 2)
    return [
        ("smooth, Laplace", "ε, δ", smooth(d, "laplace")),
        ("smooth, Student's t", "ε", smooth(e, "student_t")),
        ("smooth, Cauchy", "ε", smooth(e, "cauchy")),
        ("smooth, uniform log-normal", "ρ", smooth(r, "uniform_log_normal")),
        ("smooth, Laplace log-normal", "ρ", smooth(r, "laplace_log_normal")),
        ("exponential mechanism", "ε", Quantiles.calibrate(e, probabilities="1/2", bounds=BOUNDS, step=step).release),
        ("exponential mechanism", "ρ", Quantiles.calibrate(r, probabilities="1/2", bounds=BOUNDS, step=step).release),
        ("mean of chunks", "ε", of_chunks(e, "mean")),
        ("mean of chunks", "ρ", of_chunks(r, "mean")),
        ("median of chunks", "ε, δ", of_chunks(d, "median")),
        ("median of chunks", "ρ", of_chunks(r, "median")),
    ]


def cpu() -> float:
    """Seconds of this process, and of the processes of chunks that have ended."""
    every = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(each.cpu_times()[:4]) for each in every)


def measured(way: Way, x: Ages, repeats: int) -> tuple[float, float]:
    true = np.sort(x)[(x.size - 1) // 2]
    way(x)  # what is loaded once
    start = cpu()
    errors = [abs(way(x) - true) for _ in range(repeats)]
    return statistics.median(errors), (cpu() - start) / repeats


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--to-the-day", action="store_true")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--chunk-repeats", type=int, default=10)
    options = parser.parse_args()
    data, step = ages(options.data), None if options.to_the_day else 1
    if options.to_the_day:
        data = data + np.random.default_rng(2).random(data.size)
    cases = [(n, epsilon) for n in SIZES for epsilon in EPSILONS]
    print(f"ages in {BOUNDS}, δ = {DELTA:g}, ρ = ε²/2; median |error| in years, CPU ms per release")
    print(f"{options.repeats} repeats; {CHUNKS} chunks and {options.chunk_repeats} repeats for those of chunks")
    print(f"{'':28}{'paid in':<8}" + "".join(f"{f'n={n:,} ε={epsilon:g}':>22}" for n, epsilon in cases))
    for i, (name, paid, _) in enumerate(ways(1.0, step)):
        repeats = options.chunk_repeats if "chunks" in name else options.repeats
        if not repeats:
            continue
        cells: list[str] = []
        for n, epsilon in cases:
            error, seconds = measured(ways(epsilon, step)[i][2], data[:n], repeats)
            cells.append(f"{error:>11.3g}{1000 * seconds:>8.1f} ms")
        print(f"{name:<28}{paid:<8}" + "".join(cells))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
